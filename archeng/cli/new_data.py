"""``archeng new --data old.csv``: a study whose variables and ranges are guessed from a table."""

from __future__ import annotations

import contextlib
import json
import keyword
import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archeng.errors import DataError
from archeng.runner.data_tables import DataTable, csv_table

TEMPLATE = "data"
"""What the made-up template is called."""

_OBJECTIVE = ("objective", "cost", "mass", "weight", "price", "loss", "fitness", "drag", "fun", "f")
_OWN = re.compile(
    r"index|id|no|nr|number|run|date|time|generation|restart|status|seconds|attempts|max_violation"
    r"|repair_\w+|kkt_residual|message|elapsed|(constraints|outputs|parameters)\..*",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s*[\[({]([^\])}]*)[\])}]\s*$")
_ROOM = 0.1  # by which ranges are wider than what the table has, in its width
_MOST_NAMES = 50  # different texts of a column that is a category
_MOST_LEVELS = 200  # between whole numbers that are integers


@dataclass(frozen=True)
class _Guess:
    """A variable that a column may stand for."""

    column: str
    name: str  # in the model
    symbol: str  # in Python
    declared: str  # the line of model.py


@contextlib.contextmanager
def guessed_study(path: Path) -> Iterator[Path]:
    """Make a template for a study out of a table; it is there inside the block.

    Raises
    ------
    DataError
        If the table cannot be read, or has nothing that varies.
    """
    table = csv_table(path)
    objective = _objective(table)
    guesses = [g for c in table.columns if c and c != objective if (g := _guess(table, c))]
    if not guesses:
        raise DataError(
            f"{path}: no column that may be a variable: numbers that differ, or a few texts."
        )
    with tempfile.TemporaryDirectory() as workshop:
        folder = Path(workshop) / TEMPLATE
        folder.mkdir()
        made = {
            "model.py": _model(path.name, guesses),
            "simulator.py": _simulator(guesses),
            "study.toml": _study(path.name, objective, guesses),
            "README.md": _readme(path.name, objective, guesses, len(table)),
        }
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / path.name).write_bytes(path.read_bytes())
        yield folder


def _objective(table: DataTable) -> str | None:
    """Return the column of the objective: by its name, else the last one with numbers."""
    plain = {_UNIT.sub("", c).strip().casefold(): c for c in reversed(table.columns)}
    for name in _OBJECTIVE:
        if name in plain:
            return plain[name]
    numbers = [c for c in table.columns if not _OWN.fullmatch(c) and len(_numbers(table, c)) > 1]
    return numbers[-1] if len(numbers) > 1 else None


def _numbers(table: DataTable, column: str) -> list[float]:
    """Return the numbers of a column; none if it has texts."""
    cells = [table.number(cell) for cell in table.column(column) if cell is not None]
    numbers = [cell for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    return numbers if len(numbers) == len(cells) else []


def _guess(table: DataTable, column: str) -> _Guess | None:
    """Return the variable that a column may be; None if it is none."""
    name = _UNIT.sub("", column.removeprefix("design.")).strip()
    if _OWN.fullmatch(name) or _OWN.fullmatch(column):
        return None
    unit = _UNIT.search(column)
    about = f", unit={json.dumps(unit[1])}" if unit and not unit[1].isdigit() else ""
    name = name if about else column.removeprefix("design.").strip()
    symbol, label = _symbol(name), json.dumps(name, ensure_ascii=False)
    numbers = _numbers(table, column)
    if not numbers:
        cells = [str(cell) for cell in table.column(column) if cell is not None]
        texts = sorted(set(cells))
        if not 1 < len(texts) <= min(_MOST_NAMES, len(cells) // 2):
            return None  # remarks, or the same everywhere
        rows = ", ".join(f"{json.dumps(text, ensure_ascii=False)}: {{}}" for text in texts)
        return _Guess(column, name, symbol, f"{symbol} = model.category({label}, {{{rows}}})")
    low, high = min(numbers), max(numbers)
    if low == high:
        return None
    whole = all(x == round(x) for x in numbers) and high - low < _MOST_LEVELS
    if whole and len(set(numbers)) > 2:
        kind, lower, upper = "integer", f"{low:g}", f"{high:g}"
    else:
        kind, (lower, upper) = "variable", _range(low, high)
    declared = f"{symbol} = model.{kind}({label}, lower={lower}, upper={upper}{about})"
    return _Guess(column, name, symbol, declared)


def _range(low: float, high: float) -> tuple[str, str]:
    """Return bounds a little outside of what was seen, of few digits; a sign is kept."""
    room = _ROOM * (high - low)
    digit = 10.0 ** math.floor(math.log10(high - low) - 1)
    lower = math.floor((low - room) / digit) * digit
    upper = math.ceil((high + room) / digit) * digit
    lower = max(lower, 0.0) if low >= 0 else lower
    if low > 0 and lower == 0.0:
        lower = float(f"{0.9 * low:.2g}")
    upper = min(upper, 0.0) if high <= 0 else upper
    return f"{lower:.6g}", f"{upper:.6g}"


def _symbol(name: str) -> str:
    """Return a name of Python, in any alphabet."""
    word = re.sub(r"\W+", "_", name).strip("_") or "x"
    word = f"x_{word}" if word[0].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) or word == "model" else word


def _model(table: str, guesses: Sequence[_Guess]) -> str:
    lines = "\n".join(guess.declared for guess in guesses)
    return (
        f'"""Variables and explicit constraints, guessed from {table}: correct them."""\n\n'
        'import archeng\n\nmodel = archeng.Model("guessed")\n\n'
        "# The ranges are a little wider than those of the table.\n"
        f"{lines}\n\n"
        "# What must hold for every design, as formulas; the simulator is never called without:\n"
        f"# model.subject_to({guesses[0].symbol} <= ..., name=...)\n"
    )


def _simulator(guesses: Sequence[_Guess]) -> str:
    first = json.dumps(guesses[0].name, ensure_ascii=False)
    return (
        '"""The simulator: what made the table, or its successor."""\n\n\n'
        "def simulator(design):\n"
        '    """Return the objective of a design, or an archeng.Evaluation with constraints."""\n'
        f"    # design[{first}] is a value; archeng.CommandSimulator runs external programs\n"
        "    raise NotImplementedError(\n"
        '        "simulator.py: write here what computes the objective of a design"\n'
        "    )\n"
    )


def _study(table: str, objective: str | None, guesses: Sequence[_Guess]) -> str:
    renamed = {g.name: g.column for g in guesses if g.name != g.column}
    if objective not in (None, "objective"):
        renamed["objective"] = str(objective)
    text = (
        '[study]\nname = "guessed"\n\n[run]\nmax_evaluations = 200\nseed = 1\n'
        f"data = [{_toml(table)}]  # earlier designs teach the models and say where to begin\n"
    )
    if renamed:
        pairs = ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in renamed.items())
        text += f"data_columns = {{ {pairs} }}\n"
    return text


def _toml(text: str) -> Any:
    return json.dumps(text, ensure_ascii=False)


def _readme(table: str, objective: str | None, guesses: Sequence[_Guess], rows: int) -> str:
    goal = "there is no objective in it" if objective is None else f"`{objective}` is the objective"
    listed = "\n".join(f"- `{guess.declared}`" for guess in guesses)
    return (
        f"# guessed\n\nA study guessed from {rows} earlier designs of `{table}`: {goal}, and these "
        f"columns are variables.\n\n{listed}\n\n"
        "What to do: correct the ranges in `model.py`, write the constraints that are formulas "
        "there, and the simulator in `simulator.py`. `archeng check` looks at the model, "
        "`archeng run` begins at the best design of the table and learns from all of it.\n"
    )
