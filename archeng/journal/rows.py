"""Rows of the journal's tables: records of calls as values, and checksums of what was written."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from archeng.errors import JournalError
from archeng.records import CallRecord

_Column = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # what is written, what is read


def _real(value: float) -> float:
    """Return a float; SQLite does not keep the sign of zero."""
    return float(value) + 0.0


_COUNT: _Column = (int, int)
_TEXT: _Column = (str, str)
_REAL: _Column = (_real, float)
_NULL_OR_REAL: _Column = (
    lambda value: None if math.isnan(value) else _real(value),
    lambda value: math.nan if value is None else float(value),
)
_VECTOR: _Column = (lambda value: value.tobytes(), lambda blob: np.frombuffer(blob, dtype=float))

_COLUMNS = {
    "generation": _COUNT,
    "position": _COUNT,
    "restart": _COUNT,
    "x": _VECTOR,
    "sampled": _VECTOR,
    "objective": _NULL_OR_REAL,
    "status": _TEXT,
    "message": _TEXT,
    "seconds": _REAL,
    "attempts": _COUNT,
    "max_violation": _REAL,
    "repair_kind": _TEXT,
    "repair_solver": _TEXT,
    "repair_iterations": _COUNT,
    "repair_distance_squared": _NULL_OR_REAL,
    "kkt_residual": _NULL_OR_REAL,
}
_DETAILS = ("constraints", "violated", "outputs", "repair_rows", "repair_multipliers")
COLUMNS = (*_COLUMNS, "details")
"""``details`` is JSON: what only some calls have."""


class StoredCall(NamedTuple):
    """A finished call: the position of its candidate, and its record."""

    position: int
    call: CallRecord


def to_row(position: int, call: CallRecord) -> tuple[Any, ...]:
    """Return the values of `COLUMNS` as SQLite gives them back, and their checksum."""
    details = {name: getattr(call, name) for name in _DETAILS if getattr(call, name)}
    if math.isfinite(call.elapsed):
        details["elapsed"] = round(call.elapsed, 3)
    row = [
        write(position if name == "position" else getattr(call, name))
        for name, (write, _) in _COLUMNS.items()
    ]
    row.append(json.dumps(details))
    return (*row, checksum(*row))


def from_row(index: int, row: Sequence[Any]) -> StoredCall:
    """Return position and record of a call."""
    pairs = zip(_COLUMNS.items(), row, strict=False)  # details follow
    columns = {name: read(value) for (name, (_, read)), value in pairs}
    details = json.loads(row[len(_COLUMNS)])
    position: int = columns.pop("position")
    call = CallRecord(
        index=index,
        **columns,
        constraints={str(k): float(v) for k, v in details.get("constraints", {}).items()},
        violated=tuple(str(name) for name in details.get("violated", ())),
        outputs=dict(details.get("outputs", {})),
        repair_rows=tuple(int(j) for j in details.get("repair_rows", ())),
        repair_multipliers=tuple(float(u) for u in details.get("repair_multipliers", ())),
        elapsed=float(details.get("elapsed", math.nan)),
    )
    return StoredCall(position, call)


def checksum(*values: Any) -> int:
    """Return a number that changes with every single bit of the values (CRC-32).

    Values are what SQLite gives back: int, float, str, bytes or None.
    """
    return zlib.crc32(repr(values).encode("utf-8", "backslashreplace"))


def verified(file: Path, table: str, named: str, row: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a row, whose last one is its checksum.

    Rows of files that earlier versions wrote have none (None), and are taken as they are.
    ``named`` says what the first values are, by which the row is known.

    Raises
    ------
    JournalError
        If the values are not those that were written; it names the row.
    """
    *values, stored = row
    if stored is not None and stored != checksum(*values):
        key = ", ".join(str(value) for value in values[: len(named.split(" and "))])
        where = f"table {table}, {named} {key}" if named else f"table {table}"
        raise JournalError(
            f"{file}: the file is damaged: a row is not what was written ({where}). Use a copy "
            "from before the damage."
        )
    return values
