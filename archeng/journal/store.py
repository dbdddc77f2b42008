"""The SQLite file. One table of calls, one of generations, one row with the present state.

Write-ahead logging: others may read while a run writes. Every call is committed, and on disk,
before the run uses it; a generation and the state after it are one transaction. Plain numbers
and JSON only: reading a journal cannot run code.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archeng.errors import ArchengError, JournalError
from archeng.journal.arrays import packed, unpacked
from archeng.journal.lock import Lock, is_held
from archeng.journal.rows import COLUMNS, from_row, to_row
from archeng.records import CallRecord

_APPLICATION_ID = 0x41524348  # "ARCH"
_FORMAT_VERSION = 3
_READABLE = (2, _FORMAT_VERSION)
_STRANGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

_SCHEMA = """
CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE calls (
    generation INTEGER NOT NULL, position INTEGER NOT NULL, restart INTEGER NOT NULL,
    x BLOB NOT NULL, sampled BLOB NOT NULL, objective REAL, status TEXT NOT NULL,
    message TEXT NOT NULL, seconds REAL NOT NULL, attempts INTEGER NOT NULL,
    max_violation REAL NOT NULL, repair_kind TEXT NOT NULL, repair_solver TEXT NOT NULL,
    repair_iterations INTEGER NOT NULL, repair_distance_squared REAL, kkt_residual REAL,
    details TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (generation, position)
) WITHOUT ROWID;
CREATE TABLE generations (generation INTEGER PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL);
"""
_LATEST = "latest"  # the one key of the header that changes
_COLUMNS = ", ".join(COLUMNS)
_OLD = _COLUMNS.replace("details", "'{}' AS details")  # version 2 had none


@dataclass(frozen=True)
class StoredCall:
    """A finished call: where it belongs, and its record."""

    position: int
    evaluation: CallRecord


class Journal:
    """A run on disk.

    Use :meth:`create` for a new run, :meth:`resume` to go on with one (both take the lock), and
    :meth:`read` to look, also while another process writes.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        with _guard(path):
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        self._columns = _COLUMNS if version == _FORMAT_VERSION else _OLD

    @classmethod
    def create(cls, path: str | Path, header: Mapping[str, Any], state: Any) -> Journal:
        """Begin a new file; an existing one is never overwritten."""
        file = Path(path).resolve()
        if not file.parent.is_dir():
            raise JournalError(f"{file}: there is no directory {file.parent}.")
        _check_free(file)
        lock = Lock(file)
        with _guard(file), _release_on_error(lock):
            _check_free(file)  # somebody else may have been faster
            new = file.with_name(file.name + ".new")  # a half-made file never has the name
            try:
                _write_new(new, header, state)
                _remove(file)  # with what SQLite left beside a deleted one
                new.replace(file)
            except BaseException:
                _remove(new)
                raise
            connection = _connect(f"file:{_quoted(file)}?mode=rw")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        return cls(file, connection, lock)

    @classmethod
    def resume(cls, path: str | Path) -> Journal:
        """Open an existing file to go on with its run."""
        file = _existing(path)
        _check(file)
        lock = Lock(file)
        with _guard(file), _release_on_error(lock):
            connection = _connect(f"file:{_quoted(file)}?mode=rw")
            connection.execute("PRAGMA synchronous = FULL")
            problems = connection.execute("PRAGMA quick_check").fetchone()[0]
            if problems != "ok":
                raise JournalError(f"{file}: the file is damaged ({problems}).")
            _upgrade(connection)
        return cls(file, connection, lock)

    @classmethod
    def read(cls, path: str | Path, still: bool = False) -> Journal:
        """Open an existing file to look at it.

        ``still`` promises that nobody writes meanwhile: then SQLite does not even make its
        helper files beside it. See :func:`is_still`.
        """
        file = _existing(path)
        how = "mode=ro&immutable=1" if still else "mode=ro"
        _check(file, how)
        with _guard(file):
            return cls(file, _connect(f"file:{_quoted(file)}?{how}"), None)

    @property
    def running(self) -> bool:
        """Whether some process holds the lock of this journal."""
        return self._lock is not None or is_held(self.path)

    # -- writing ----------------------------------------------------------------------------

    def add_call(self, position: int, e: CallRecord) -> None:
        """Store a finished call; it is on disk when this returns."""
        with _guard(self.path):
            self._connection.execute(
                f"INSERT OR REPLACE INTO calls ({_COLUMNS}) "
                f"VALUES ({','.join('?' * len(COLUMNS))})",
                to_row(position, e),
            )

    def add_generation(self, generation: int, record: Mapping[str, Any], state: Any) -> None:
        """Store a finished generation and the state of the run after it, as one step."""
        with _guard(self.path):
            self._connection.execute("BEGIN")
            try:
                self._connection.execute(
                    "INSERT OR REPLACE INTO generations VALUES (?, ?)", (generation, packed(record))
                )
                self._connection.execute(
                    "UPDATE state SET value = ? WHERE id = 1", (packed(state),)
                )
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def note(self, latest: Mapping[str, Any]) -> None:
        """Store what there is to say of the latest process that wrote: see :meth:`latest`."""
        with _guard(self.path):
            self._connection.execute(
                "INSERT OR REPLACE INTO header VALUES (?, ?)", (_LATEST, packed(latest))
            )

    def close(self) -> None:
        """Close the file and release the lock."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # -- reading ----------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return what was stored when the run began."""
        rows = self._rows("SELECT key, value FROM header WHERE key <> ?", (_LATEST,))
        return {k: self._json(v) for k, v in rows}

    def latest(self) -> dict[str, Any]:
        """Return what the latest process noted: its limits, and how it ended; empty if nothing."""
        rows = self._rows("SELECT value FROM header WHERE key = ?", (_LATEST,))
        return dict(self._json(rows[0][0])) if rows else {}

    @contextlib.contextmanager
    def moment(self) -> Iterator[None]:
        """Everything that is read inside is of one moment, whatever others write meanwhile."""
        with _guard(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def state(self) -> Any:
        """Return the state after the last finished generation."""
        return self._json(self._rows("SELECT value FROM state")[0][0])

    def generations(self) -> list[dict[str, Any]]:
        """Return the records of the finished generations in order."""
        rows = self._rows("SELECT record FROM generations ORDER BY generation")
        return [self._json(row[0]) for row in rows]

    def calls(self, first: int = 0, end: int | None = None) -> Iterator[StoredCall]:
        """Yield the calls of generations ``first`` to ``end`` (exclusive) in the run's order."""
        last = 2**62 if end is None else end
        rows = self._rows(
            f"SELECT {self._columns} FROM calls WHERE generation >= ? AND generation < ? "
            "ORDER BY generation, position",
            (first, last),
        )
        for index, row in enumerate(rows):
            yield StoredCall(row[1], self._record(index, row))

    def count(self) -> dict[str, int]:
        """Return the number of calls by status."""
        return dict(self._rows("SELECT status, COUNT(*) FROM calls GROUP BY status"))

    def _rows(self, query: str, arguments: Sequence[Any] = ()) -> list[Any]:
        with _guard(self.path):
            return self._connection.execute(query, arguments).fetchall()

    def _record(self, index: int, row: Sequence[Any]) -> CallRecord:
        try:
            return from_row(index, row)
        except _STRANGE as error:
            raise JournalError(f"{self.path}: the file is damaged ({error}).") from error

    def _json(self, text: str) -> Any:
        try:
            return unpacked(text)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise JournalError(f"{self.path}: the file is damaged ({error}).") from error


@contextlib.contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Turn whatever strange contents of a journal cause into an error about that journal."""
    try:
        yield
    except ArchengError:
        raise
    except _STRANGE as error:
        raise JournalError(
            f"{path}: the file is damaged ({type(error).__name__}: {error})."
        ) from error


def finished_designs(path: str | Path, names: Sequence[str]) -> dict[bytes, CallRecord]:
    """Return all well-ended calls in a journal, by the bytes of their design.

    Raises
    ------
    JournalError
        If the journal has other variables.
    """
    journal = Journal.read(path)
    try:
        with readable(path):
            stored = journal.header()["element_names"]
            if stored != list(names):
                raise JournalError(
                    f"{path}: cannot be reused, its variables are {stored}, not {list(names)}."
                )
            calls = (stored.evaluation for stored in journal.calls())
            return {e.x.tobytes(): e for e in calls if e.good}
    finally:
        journal.close()


def _check_free(file: Path) -> None:
    if file.exists() and (not file.is_file() or file.stat().st_size > 0):
        raise JournalError(
            f"{file}: exists already. Go on with that run by archeng.resume({str(file)!r}, "
            "simulator), or choose another file."
        )


def _write_new(file: Path, header: Mapping[str, Any], state: Any) -> None:
    """Write the file of a run that begins, complete and closed."""
    _remove(file)
    with contextlib.closing(_connect(f"file:{_quoted(file)}?mode=rwc")) as connection:
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")
        connection.execute("BEGIN")
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.executemany(
            "INSERT INTO header VALUES (?, ?)", [(k, packed(v)) for k, v in header.items()]
        )
        connection.execute("INSERT INTO state VALUES (1, ?)", (packed(state),))
        connection.execute("COMMIT")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Give the file of an older version what this one writes."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT_VERSION:
        return
    connection.execute("BEGIN")
    connection.execute("ALTER TABLE calls ADD COLUMN details TEXT NOT NULL DEFAULT '{}'")
    connection.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")
    connection.execute("COMMIT")


def _remove(file: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False
    )


def _quoted(file: Path) -> str:
    text = str(file.resolve())
    return text.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise JournalError(f"{file}: there is no such journal.")
    return file


def is_written(path: str | Path) -> bool:
    """Whether some process is writing a journal."""
    return is_held(Path(path))


def is_still(path: str | Path) -> bool:
    """Whether nobody writes a journal, and everything is in its one file."""
    file = Path(path)
    return not file.with_name(file.name + "-wal").exists() and not is_held(file)


def _check(file: Path, how: str = "mode=ro") -> None:
    """Raise unless the file is a journal of this version. Never writes to it."""
    with file.open("rb") as stream:
        beginning = stream.read(16)
    if beginning != b"SQLite format 3\0":
        raise JournalError(f"{file}: is not an archeng journal.")
    with _guard(file), contextlib.closing(_connect(f"file:{_quoted(file)}?{how}")) as connection:
        kind = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if kind != _APPLICATION_ID:
            raise JournalError(f"{file}: is an SQLite file of another program.")
        if version not in _READABLE:
            raise JournalError(
                f"{file}: journal version {version}, this archeng reads {_FORMAT_VERSION}."
            )
        connection.execute("SELECT COUNT(*) FROM state").fetchone()


@contextlib.contextmanager
def _release_on_error(lock: Lock) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.release()
        raise


@contextlib.contextmanager
def _guard(file: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with what to do."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise JournalError(
            f"{file}: the journal cannot be written or read ({error}). If the disk is full, free "
            "some space; what was finished before is safe, and archeng.resume() goes on from it."
        ) from error
    except sqlite3.DatabaseError as error:
        raise JournalError(f"{file}: the file is damaged or not a journal ({error}).") from error
