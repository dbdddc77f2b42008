"""Importer for AMPL ``.nl`` files (text format), by CasADi's `NlpBuilder`.

`NlpBuilder` reads the expressions. Around it, this module checks what it cannot read, and
names that, removes comments and suffixes at which it stops, and reads the names beside the
file. The format: D. M. Gay, "Writing .nl files", Sandia report SAND2005-7907P, 2005.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import ModelError, UnsupportedModelError
from archeng.model.model import Constraint, Model, half_width
from archeng.model.relation import Row

_HEADER_LINES = 10
_OPERATORS = {
    4: "rem", 6: "less", 11: "min", 12: "max", 35: "if-then-else", 47: "atanh", 50: "asinh",
    52: "acosh", 55: "div", 56: "precision", 57: "round", 58: "trunc", 59: "count",
    60: "numberof", 61: "numberof (symbolic)", 62: "atleast", 63: "atmost",
    64: "piecewise-linear term", 65: "symbolic if-then-else", 66: "exactly", 67: "not atleast",
    68: "not atmost", 69: "not exactly", 70: "and (list)", 71: "or (list)", 72: "implies",
    73: "iff", 74: "alldiff", 75: "same", 76: "not same",
}  # fmt: skip
"""Operators of the format that `NlpBuilder` cannot read."""


@dataclass(frozen=True)
class _Header:
    """The counts of the ten header lines that matter here."""

    variables: int
    rows: int
    objectives: int
    logical: int
    complementarity: int
    functions: int
    discrete: int


def from_nl(
    path: str | Path,
    *,
    scale: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    objective: bool = False,
    name: str | None = None,
) -> Model:
    """Import an AMPL ``.nl`` file, as AMPL, GAMS, JuMP and Pyomo write them.

    Parameters
    ----------
    path : str or Path
        A text ``.nl`` file. Names come from the ``.col`` and ``.row`` files beside it; without
        them variables are ``x0``, ``x1``, ... and rows ``c0``, ``c1``, ... Suffixes are ignored.
    scale : mapping, optional
        Initial standard deviation by variable name, for variables without both bounds. By
        default a fifth of the variable's initial value, at least 0.2.
    tolerance : float, optional
        Half-width of equality constraints; 1e-6 by default.
    objective : bool
        Keep the objective (the first one), so that ``archeng.solve(model)`` needs no simulator.
    name : str, optional
        By default the file's name.

    Returns
    -------
    Model

    Raises
    ------
    UnsupportedModelError
        Lists everything in the file that cannot be imported.
    ModelError
        The file cannot be read, is in the binary format, or is damaged.
    """
    file = Path(path)
    lines = _lines(file)
    header = _header(file, lines)
    names = _names(file.with_suffix(".col"), header.variables, "x")
    rows = _names(file.with_suffix(".row"), header.rows, "c")
    segments = list(_segments(lines[_HEADER_LINES:]))
    _check(file, header, segments, rows)
    nlp = _read(file, lines[:_HEADER_LINES], segments)
    return _build(file, header, nlp, names, rows, segments, scale, tolerance, objective, name)


# -- the file -------------------------------------------------------------------------------


def _lines(file: Path) -> list[str]:
    """Lines of the file without comments and trailing blanks."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror or error}).") from error
    if raw[:1] == b"b":
        raise ModelError(
            f"{file}: is a binary .nl file. Write it as text (AMPL: `write gmodel;`, Pyomo and "
            "JuMP do so by default)."
        )
    if raw[:1] != b"g":
        raise ModelError(f"{file}: is not an .nl file; the first character must be `g`.")
    return [_strip(line) for line in raw.decode("utf-8", errors="replace").splitlines()]


def _strip(line: str) -> str:
    """Remove a comment. A string (``h5:a # b``) has none: its length is in the file."""
    text = re.match(r"h(\d+):", line)
    if text:
        return line[: text.end() + int(text[1])]
    return line.split("#", 1)[0].rstrip()


def _header(file: Path, lines: list[str]) -> _Header:
    try:
        if len(lines) < _HEADER_LINES:
            raise ValueError("it has fewer than ten lines")
        numbers = [[int(t) for t in line.split()] for line in lines[1:_HEADER_LINES]]
        sizes, conditions, network, discrete = numbers[0], numbers[1], numbers[4], numbers[5]
        return _Header(
            variables=sizes[0],
            rows=sizes[1],
            objectives=sizes[2],
            logical=sizes[5] if len(sizes) > 5 else 0,
            complementarity=sum(conditions[2:4]),
            functions=network[1] if len(network) > 1 else 0,
            discrete=sum(discrete),
        )
    except (IndexError, ValueError) as error:
        raise ModelError(f"{file}: the header of the .nl file is damaged ({error}).") from error


def _segments(lines: list[str]) -> Iterator[list[str]]:
    """Split the body: a segment begins with its key letter, its other lines never do so.

    (Expression lines begin with n, s, l, v, f, h or o; the others with a number.)
    """
    current: list[str] = []
    for line in lines:
        if re.match(r"[FSVCLOdxrbkKJG]", line):
            if current:
                yield current
            current = []
        if line:
            current.append(line)
    if current:
        yield current


def _names(file: Path, count: int, prefix: str) -> list[str]:
    """Names from a ``.col`` or ``.row`` file (the latter ends with the objectives)."""
    if not file.exists():
        return [f"{prefix}{i}" for i in range(count)]
    names = file.read_text(encoding="utf-8").splitlines()[:count]
    if len(names) < count:
        raise ModelError(
            f"{file}: has {len(names)} names but the .nl file needs {count}; it belongs to "
            "another model. Remove it or write it again."
        )
    return names


def _check(file: Path, header: _Header, segments: list[list[str]], rows: list[str]) -> None:
    """Report at once everything that cannot be imported."""
    problems: dict[str, list[str]] = {}
    if header.discrete:
        problems["variables"] = [f"{header.discrete} are discrete; relax or fix them"]
    if header.functions:
        problems["F segments"] = ["imported functions cannot be differentiated symbolically"]
    if header.logical:
        problems["L segments"] = [f"{header.logical} logical constraints"]
    if header.complementarity:
        problems["r segment"] = [f"{header.complementarity} complementarity conditions"]
    for segment in segments:
        used = sorted(
            {
                _OPERATORS[int(line[1:])]
                for line in segment[1:]
                if re.fullmatch(r"o\d+", line) and int(line[1:]) in _OPERATORS
            }
        )
        if used:
            why = f"{', '.join(used)} cannot be read from a file (Pyomo models: use from_pyomo)"
            problems.setdefault(_segment_name(segment[0], rows), []).append(why)
    if problems:
        raise UnsupportedModelError(f"{file}", problems)


def _segment_name(head: str, rows: list[str]) -> str:
    """Name the owner of an expression segment."""
    kind, digits = head[0], re.match(r"\d+", head[1:])
    index = int(digits[0]) if digits else 0
    if kind == "C" and index < len(rows):
        return f"constraint {rows[index]}"
    return {"O": f"objective {index}", "V": f"common expression {index}"}.get(kind, head)


def _read(file: Path, header: list[str], segments: list[list[str]]) -> Any:
    """Let CasADi read the file without comments and suffixes."""
    kept = [line for segment in segments if segment[0][0] != "S" for line in segment]
    nlp = ca.NlpBuilder()
    with tempfile.TemporaryDirectory(prefix="archeng-nl-") as folder:
        clean = Path(folder) / "model.nl"
        clean.write_text("\n".join([*header, *kept]) + "\n", encoding="utf-8")
        try:
            nlp.import_nl(str(clean), {})
        except (RuntimeError, IndexError) as error:
            reason = str(error).strip().splitlines()[-1]
            raise ModelError(f"{file}: CasADi cannot read this .nl file: {reason}") from error
    return nlp


# -- the model ------------------------------------------------------------------------------


def _build(
    file: Path,
    header: _Header,
    nlp: Any,
    names: list[str],
    rows: list[str],
    segments: list[list[str]],
    scale: Mapping[str, float] | None,
    tolerance: float | None,
    objective: bool,
    name: str | None,
) -> Model:
    model = Model(name or file.stem)
    width = half_width(tolerance, str(file))
    wanted = dict(scale or {})
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        raise ModelError(f"scale: {unknown} are not variables of {file}.")
    symbols = []
    given = {int(line.split()[0]) for s in segments if s[0][0] == "x" for line in s[1:]}
    for i, label in enumerate(names):
        low, high = nlp.x_lb[i], nlp.x_ub[i]
        bounded = np.isfinite(low) and np.isfinite(high)
        guess = float(np.clip(0.0, low, high))
        start = nlp.x_init[i] if i in given else None if bounded else guess
        default = None if start is None or bounded else max(abs(start), 1.0) / 5.0
        symbols.append(
            model.variable(
                label, lower=low, upper=high, start=start, scale=wanted.get(label, default)
            )
        )
    has_goal = header.objectives > 0
    outputs = [ca.vertcat(*nlp.g), nlp.f] if has_goal else [ca.vertcat(*nlp.g)]
    function = ca.Function("nl", [ca.vertcat(*nlp.x)], [ca.densify(o) for o in outputs])
    values = function.expand().call([ca.vertcat(*symbols)], True, False)
    model.add_constraints(
        [
            Constraint(label, (Row(expression, nlp.g_lb[i], nlp.g_ub[i]),), width, file.name)
            for i, (label, expression) in enumerate(
                zip(rows, values[0].nonzeros() if header.rows else [], strict=True)
            )
            if np.isfinite(nlp.g_lb[i]) or np.isfinite(nlp.g_ub[i])
        ]
    )
    if objective:
        if not has_goal:
            raise ModelError(f"There is no simulator, and {file} has no objective.")
        maximize = any(re.match(r"O0\s+1", s[0]) for s in segments)
        model.set_objective(
            -values[1] if maximize else values[1], "maximize" if maximize else "minimize"
        )
    return model
