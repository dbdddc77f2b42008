"""The CSV of an experiment: whole tasks only, even after a crash in the middle of a line.

Each row ends with the number of rows of its task, ``task_rows``. A line without its end, and a
last task with fewer rows than that, are left from a crash and dropped.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from archeng.errors import JournalError
from archeng.journal.lock import Lock

Task = dict[str, str | int | float]
Row = dict[str, Any]
"""Values are text, numbers, truth values and None."""

COUNT = "task_rows"


class ResultsError(Exception):
    """The result files do not fit what is asked for."""


def label(task: Mapping[str, Any]) -> str:
    """Return the task as one line, ``name=value name=value ...``."""
    return " ".join(f"{name}={_text(value)}" for name, value in task.items())


def read_rows(path: Path) -> list[Row]:
    """Return the rows of all finished tasks, numbers as numbers."""
    columns, lines = _read(path)
    return [
        {c: _value(cell) for c, cell in zip(columns, line, strict=True) if c != COUNT}
        for line in lines
    ]


class Store:
    """The CSV while an experiment runs; one process at a time.

    Parameters
    ----------
    path : Path
        Made if it does not exist, together with its folder.

    Raises
    ------
    ResultsError
        Another process writes to it, or the file is not one of these.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = Lock(path)
        except JournalError as error:
            raise ResultsError(f"{path}: another process is writing to it.") from error
        try:
            self._columns, lines = _read(path)
            self._done = [dict(zip(self._columns, line, strict=True)) for line in lines]
            self._keys: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
            if path.exists():
                _replace(path, self._columns, lines)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Store:
        """Use it as a context: leaving it gives the file to others."""
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def has(self, task: Task) -> bool:
        """Whether the rows of this task are there."""
        names = tuple(task)
        if names not in self._keys:
            missing = [n for n in names if n not in self._columns]
            if self._columns and missing:
                raise ResultsError(f"{self.path} has no column {missing[0]!r}: move it away.")
            self._keys[names] = {tuple(d[n] for n in names) for d in self._done}
        return tuple(_text(v) for v in task.values()) in self._keys[names]

    def append(self, task: Task, rows: Sequence[Row]) -> None:
        """Write the rows of a finished task, all at once."""
        if not rows:
            raise ResultsError(f"the task {label(task)} has no rows.")
        new = not self._columns
        columns = [*rows[0], COUNT] if new else self._columns
        for row in rows:
            if set(row) != set(columns) - {COUNT}:
                raise ResultsError(
                    f"{self.path} has the columns {columns[:-1]}, but the task {label(task)} "
                    f"gives {list(row)}. If the experiment has changed, move the file away."
                )
            if any(_text(row[name]) != _text(value) for name, value in task.items()):
                raise ResultsError(f"a row of the task {label(task)} has another key: {row}.")
        lines = [[_text({**row, COUNT: len(rows)}[c]) for c in columns] for row in rows]
        with self.path.open("ab") as file:
            file.write(_encoded([columns, *lines] if new else lines))
            file.flush()
            os.fsync(file.fileno())
        self._columns = columns


def add_start(path: Path, quick: bool, facts: Mapping[str, Any]) -> None:
    """Note in ``NAME.meta.json`` that a run with these facts (command, commit, ...) begins."""
    meta = read_meta(path)
    if meta["starts"] and meta["quick"] != quick:
        kind = "--quick" if meta["quick"] else "full-size"
        raise ResultsError(f"{path} holds {kind} results: choose another folder with --out.")
    meta = {"quick": quick, "starts": [*meta["starts"], dict(facts)]}
    _meta_path(path).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def read_meta(path: Path) -> dict[str, Any]:
    """Return the notes beside a CSV: ``quick``, and ``starts`` with command, commit, versions."""
    beside = _meta_path(path)
    if not beside.exists():
        return {"quick": False, "starts": []}
    return dict(json.loads(beside.read_text(encoding="utf-8")))


def _meta_path(path: Path) -> Path:
    return path.with_suffix(".meta.json")


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """Column names and the lines of the finished tasks."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1].decode()  # without a half-written last line
    lines = list(csv.reader(io.StringIO(whole)))
    if not lines:
        return [], []
    columns, lines = lines[0], lines[1:]
    if columns[-1] != COUNT or any(len(line) != len(columns) for line in lines):
        raise ResultsError(f"{path} is not a result file of this program.")
    end = 0
    while end < len(lines) and end + int(lines[end][-1]) <= len(lines):
        end += int(lines[end][-1])
    return columns, lines[:end]


def _replace(path: Path, columns: list[str], lines: Iterable[list[str]]) -> None:
    """Write the file anew, unless it is so already."""
    content = _encoded([columns, *lines]) if columns else b""
    if content != path.read_bytes():
        fresh = path.with_suffix(".csv.new")
        fresh.write_bytes(content)
        fresh.replace(path)


def _encoded(lines: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def _text(value: Any) -> str:
    """Return a cell: one line, numbers such that they read back the same."""
    if value is None:
        return ""
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    return " ".join(str(value).split())


def _value(cell: str) -> str | int | float | None:
    if not cell:
        return None
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell
