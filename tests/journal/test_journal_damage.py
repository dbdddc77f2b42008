"""Damaged journals: a flipped bit is found, and confused types end in an error of archeng."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import bowl, line, solve_case, trace

import archeng
from archeng.cli import main
from archeng.errors import ArchengError, JournalError

TABLES = {
    "header": ("key", "value"),
    "calls": (
        "generation", "position", "restart", "x", "sampled", "objective", "status", "message",
        "seconds", "attempts", "max_violation", "repair_kind", "repair_solver",
        "repair_iterations", "repair_distance_squared", "kkt_residual", "details",
    ),
    "generations": ("generation", "record"),
    "state": ("value",),
    "candidates": ("value",),
}  # fmt: skip
CELLS = [(table, column) for table, columns in TABLES.items() for column in columns]
STRANGE: list[Any] = [
    None, 0, -1, 7, 2**62, 1e308, float("inf"), -1e308, "", "x", "nan", "[]", "{}", "null",
    "[1, 2]", '{"a": 1}', "1e999", b"", b"\x00", b"\xff" * 16, b"12345678" * 2, "\x00", "\u202e",
]  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "run.db"
    solve_case("budget within a generation", journal=path)
    return path


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def uses(path: Path, folder: Path) -> dict[str, Callable[[], Any]]:
    """Everything that reads a journal."""
    copy = folder / "copy.db"

    def resumed() -> Any:
        shutil.copy(path, copy)
        return archeng.resume(copy, bowl, max_evaluations=36)

    return {
        "result": lambda: _shown(archeng.read_journal(path), folder),
        "status": lambda: _command("status", path),
        "csv": lambda: _command("export", path, "--csv", folder / "calls.csv"),
        "json": lambda: _command("export", path, "--json", "--output", folder / "calls.json"),
        "compare": lambda: _command("compare", path, path),
        "reuse": lambda: archeng.solve(line(), bowl, reuse=[path], max_evaluations=3, seed=1),
        "resume": resumed,
    }


def _shown(result: archeng.Result, folder: Path) -> None:
    """The report takes a second or two: it is made for every fifth result."""
    str(result)
    if random.Random(str(result)).random() < 0.2:
        result.report(folder / "run.html")


def _command(*words: Any) -> None:
    """Run a command of the command line; 2 is an error that it has said."""
    if main([str(word) for word in words]) == 2:
        raise JournalError("said on standard error")


def outcome(use: Callable[[], Any]) -> str:
    """What came of it; anything but a result or an error of archeng fails the test."""
    try:
        use()
    except ArchengError:
        return "refused"
    return "used"


# -- checksums --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("calls", "objective", "table calls, generation and position 2, 3"),
        ("calls", "x", "table calls, generation and position 2, 3"),
        ("generations", "record", "table generations, row 2"),
        ("header", "value", "table header, key seed"),
        ("state", "value", "table state"),
    ],
)
def test_a_change_of_one_bit_is_refused_by_name(
    table: str, column: str, words: str, good: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(good, tmp_path))
    where = {
        "calls": "generation = 2 AND position = 3",
        "generations": "generation = 2",
        "header": "key = 'seed'",
    }.get(table, "1")
    with opened(path) as connection:
        (value,) = connection.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
        if isinstance(value, float):
            value += value * 2**-50
        elif isinstance(value, bytes):
            value = bytes([value[0] ^ 1, *value[1:]])
        else:
            place = next(k for k, c in enumerate(value) if c.isdigit())
            value = value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
    for use in ("result", "resume"):
        with pytest.raises(JournalError, match="not what was written") as caught:
            uses(path, tmp_path)[use]()
        assert words in str(caught.value)


@pytest.mark.slow
def test_flipped_bits_are_never_used(good: Path, tmp_path: Path) -> None:
    """Wherever the bit is: refused, or not needed, and then nothing is different."""
    content = good.read_bytes()
    expected = trace(archeng.read_journal(good))
    chance = random.Random(3)
    found: Counter[str] = Counter()
    for _ in range(100):
        place = chance.randrange(len(content))
        path = tmp_path / "run.db"
        path.write_bytes(_flipped(content, place, chance.randrange(8)))
        try:
            result = archeng.read_journal(path)
        except ArchengError:
            found["refused"] += 1
            continue
        assert trace(result) == expected, place
        found["same"] += 1
    assert found["refused"] > 8
    assert found["same"] > 8


def _flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


# -- confused types ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), CELLS, ids=[f"{t}.{c}" for t, c in CELLS])
def test_cells_of_other_types(table: str, column: str, good: Path, tmp_path: Path) -> None:
    chance = random.Random(f"{table}.{column}")
    for value in chance.sample(STRANGE, 3):
        path = tmp_path / "run.db"
        shutil.copy(good, path)
        with contextlib.suppress(sqlite3.IntegrityError), opened(path) as connection:
            (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            rows = "rowid" if table != "calls" else "generation * 100 + position"
            key = connection.execute(
                f"SELECT {rows} FROM {table} LIMIT 1 OFFSET ?", (chance.randrange(count),)
            ).fetchone()[0]
            connection.execute(f"UPDATE {table} SET checksum = NULL")
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {rows} = ?", (value, key))
        for use in uses(path, tmp_path).values():
            outcome(use)


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of everything inside of nested lists and dictionaries."""
    if path:
        yield path
    parts = (
        data if isinstance(data, dict) else dict(enumerate(data if isinstance(data, list) else ()))
    )
    for key, value in parts.items():
        yield from _leaves(value, (*path, key))


INSIDE: list[Any] = [None, -1, 2**70, 1e308, float("nan"), "x", "\x1b[31m", [], {}, [None], True]
DOCUMENTS = [
    *(("header", f"key = '{key}'") for key in ("options", "settings", "wide", "model", "latest",
      "name", "created", "seed", "element_names", "versions", "machine", "fingerprint")),
    ("state", "1"), ("candidates", "1"), ("generations", "generation = 4"),
    ("calls", "generation = 1 AND position = 1"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("table", "where"), DOCUMENTS, ids=[" ".join(d) for d in DOCUMENTS])
def test_values_inside_of_documents(table: str, where: str, good: Path, tmp_path: Path) -> None:
    chance = random.Random(f"{table} {where}")
    column = {"generations": "record", "calls": "details"}.get(table, "value")
    with opened(good) as connection:
        (text,) = connection.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
    places = list(_leaves(json.loads(text))) or [()]
    for place in chance.sample(places, min(len(places), 5)):
        data = json.loads(text)
        value = chance.choice(INSIDE)
        inner = data
        for key in place[:-1]:
            inner = inner[key]
        if place:
            inner[place[-1]] = value
        else:
            data = value
        path = tmp_path / "run.db"
        shutil.copy(good, path)
        with opened(path) as connection:
            connection.execute(
                f"UPDATE {table} SET checksum = NULL, {column} = ? WHERE {where}",
                (json.dumps(data),),
            )
        for name, use in uses(path, tmp_path).items():
            try:
                outcome(use)
            except Exception as error:
                raise AssertionError(f"{name}: {place} = {value!r}") from error
