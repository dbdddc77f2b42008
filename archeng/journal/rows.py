"""Rows of the journal's tables: records of calls as values, and checksums of what was written."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from archeng.errors import JournalError
from archeng.records import CallRecord, Floats

COLUMNS = (
    "generation", "position", "restart", "x", "sampled", "objective", "status", "message",
    "seconds", "attempts", "max_violation", "repair_kind", "repair_solver", "repair_iterations",
    "repair_distance_squared", "kkt_residual", "details",
)  # fmt: skip
"""``details`` is JSON: what only some calls have."""

_DETAILS = ("constraints", "violated", "outputs", "repair_rows", "repair_multipliers")


def to_row(position: int, e: CallRecord) -> tuple[Any, ...]:
    """Return the values of `COLUMNS` as SQLite gives them back, and their checksum."""
    details = {name: getattr(e, name) for name in _DETAILS if getattr(e, name)}
    if math.isfinite(e.elapsed):
        details["elapsed"] = round(e.elapsed, 3)
    row = (
        int(e.generation),
        int(position),
        int(e.restart),
        e.x.tobytes(),
        e.sampled.tobytes(),
        _null(e.objective),
        str(e.status),
        str(e.message),
        _real(e.seconds),
        int(e.attempts),
        _real(e.max_violation),
        str(e.repair_kind),
        str(e.repair_solver),
        int(e.repair_iterations),
        _null(e.repair_distance_squared),
        _null(e.kkt_residual),
        json.dumps(details),
    )
    return (*row, checksum(*row))


def from_row(index: int, row: Sequence[Any]) -> CallRecord:
    """Return the record of a row."""
    details = json.loads(row[16])
    return CallRecord(
        index=index,
        generation=int(row[0]),
        restart=int(row[2]),
        x=_floats(row[3]),
        sampled=_floats(row[4]),
        objective=_number(row[5]),
        status=str(row[6]),
        message=str(row[7]),
        seconds=float(row[8]),
        attempts=int(row[9]),
        max_violation=float(row[10]),
        repair_kind=str(row[11]),
        repair_solver=str(row[12]),
        repair_iterations=int(row[13]),
        repair_distance_squared=_number(row[14]),
        kkt_residual=_number(row[15]),
        constraints={str(k): float(v) for k, v in details.get("constraints", {}).items()},
        violated=tuple(str(name) for name in details.get("violated", ())),
        outputs=dict(details.get("outputs", {})),
        repair_rows=tuple(int(j) for j in details.get("repair_rows", ())),
        repair_multipliers=tuple(float(u) for u in details.get("repair_multipliers", ())),
        elapsed=float(details.get("elapsed", math.nan)),
    )


def _floats(blob: bytes) -> Floats:
    return np.frombuffer(blob, dtype=float)


def _null(value: float) -> float | None:
    return None if math.isnan(value) else _real(value)


def _real(value: float) -> float:
    """Return a float; SQLite does not keep the sign of zero."""
    return float(value) + 0.0


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


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
