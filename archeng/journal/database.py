"""The SQLite file itself: its tables, making it, opening it, and errors of SQLite as ours."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from archeng.checks import file_path
from archeng.codec import dumps
from archeng.errors import JournalError
from archeng.records import CallRecord

_APPLICATION_ID = 0x41524348  # "ARCH"
_SQLITE = b"SQLite format 3\0"  # how its files begin
DETAILS, CHECKSUMS, FORMAT_VERSION = 3, 4, 5
"""Versions that brought the column, then checksums and candidates, then one tree as the state."""

_READABLE = range(2, FORMAT_VERSION + 1)

_SCHEMA = """
CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER);
CREATE TABLE calls (
    generation INTEGER NOT NULL, position INTEGER NOT NULL, restart INTEGER NOT NULL,
    x BLOB NOT NULL, sampled BLOB NOT NULL, objective REAL, status TEXT NOT NULL,
    message TEXT NOT NULL, seconds REAL NOT NULL, attempts INTEGER NOT NULL,
    max_violation REAL NOT NULL, repair_kind TEXT NOT NULL, repair_solver TEXT NOT NULL,
    repair_iterations INTEGER NOT NULL, repair_distance_squared REAL, kkt_residual REAL,
    details TEXT NOT NULL DEFAULT '{}', checksum INTEGER,
    PRIMARY KEY (generation, position)
) WITHOUT ROWID;
CREATE TABLE generations (
    generation INTEGER PRIMARY KEY, record TEXT NOT NULL, checksum INTEGER
);
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL, checksum INTEGER
);
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL, checksum INTEGER
);
"""


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the file's format."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def write_new(file: Path, header: Mapping[str, Any], state: Any) -> None:
    """Write the file of a run that begins, complete and closed."""
    remove(file)
    with contextlib.closing(connect(file, "mode=rwc")) as connection:
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("BEGIN")
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        rows = [(key, dumps(value)) for key, value in header.items()]
        connection.executemany(
            "INSERT INTO header VALUES (?, ?, ?)", [(*row, checksum(*row)) for row in rows]
        )
        text = dumps(state)
        connection.execute("INSERT INTO state VALUES (1, ?, ?)", (text, checksum(text)))
        connection.execute("COMMIT")


def remove(file: Path) -> None:
    """Remove a file and what SQLite keeps beside it."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def connect(file: Path, how: str) -> sqlite3.Connection:
    """Open a file; ``how`` are parameters of SQLite's address, such as ``mode=ro``."""
    text = str(file.resolve())
    quoted = text.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{quoted}?{how}",
        uri=True,
        isolation_level=None,
        timeout=10.0,
        check_same_thread=False,
    )


def check_free(file: Path) -> None:
    """Raise if there is something that a new journal would overwrite."""
    if file.exists() and (not file.is_file() or file.stat().st_size > 0):
        raise JournalError(
            f"{file}: exists already. Go on with that run by archeng.resume({str(file)!r}, "
            "simulator), or choose another file."
        )


def existing(path: str | Path) -> Path:
    """Return the file behind a path: a link and what it points to are one journal."""
    path = file_path("journal", path, JournalError)
    if not path.is_file():
        raise JournalError(f"{path}: there is no such journal.")
    return path.resolve()


def check_one_name(file: Path) -> None:
    """Raise if the file has a second name: its log, and our lock, would be beside each."""
    names = file.stat().st_nlink
    if names > 1:
        raise JournalError(
            f"{file}: the file has {names} names (hard links), and SQLite keeps a log beside each "
            "of them. Copy it to a file of its own and go on with the copy."
        )


def is_database(file: Path) -> bool:
    """Whether a file is an SQLite database, as journals are."""
    with file.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def check(file: Path, how: str = "mode=ro") -> None:
    """Raise unless the file is a journal of this version. Never writes to it."""
    with guard(file):
        ours = is_database(file)
    if not ours:
        raise JournalError(f"{file}: is not an archeng journal.")
    with guard(file), contextlib.closing(connect(file, how)) as connection:
        kind = connection.execute("PRAGMA application_id").fetchone()[0]
        version = version_of(connection)
        if kind != _APPLICATION_ID:
            raise JournalError(f"{file}: is an SQLite file of another program.")
        if version not in _READABLE:
            raise JournalError(
                f"{file}: journal version {version}, this archeng reads {_READABLE[0]} to "
                f"{FORMAT_VERSION}."
            )
        connection.execute("SELECT COUNT(*) FROM state").fetchone()


@contextlib.contextmanager
def guard(file: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise trouble(file, error) from error


def trouble(file: Path, error: Exception) -> JournalError:
    """Return our error for one of SQLite or of the disk, with what to do."""
    if isinstance(error, sqlite3.OperationalError | OSError):
        return JournalError(
            f"{file}: the journal cannot be written or read ({error}). If the disk is full, free "
            "some space; what was finished before is safe, and archeng.resume() goes on from it."
        )
    return JournalError(f"{file}: the file is damaged or not a journal ({error}).")


# -- rows: records of calls as values, and checksums of what was written ----------------------

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
_DETAILS = (
    *("constraints", "violated", "outputs", "gradients", "parameters_read"),
    *("repair_rows", "repair_multipliers", "repair_open", "sent", "level"),
)
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
        gradients=dict(details.get("gradients", {})),
        parameters_read=tuple(str(name) for name in details.get("parameters_read", ())),
        repair_open=bool(details.get("repair_open", False)),
        sent=int(details.get("sent", 0)),
        level=int(details.get("level", 0)),
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
