"""`Journal`: calls, generations, the candidates of the open generation, and the present state.

Write-ahead logging: others may read while a run writes. Every call is committed, and on disk,
before the run uses it; a generation and the state after it are one transaction. Until it is moved
into the file itself, what was written last is in ``run.db-wal`` beside it: that happens after each
generation, and after each call that took its time. Plain numbers and JSON only: reading a journal
cannot run code.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from archeng.codec import dumps, loads
from archeng.errors import ArchengError, JournalError
from archeng.journal import database
from archeng.journal.database import COLUMNS, StoredCall, checksum, from_row, to_row, verified
from archeng.journal.lock import Lock, is_written
from archeng.records import CallRecord

_STRANGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_Noted = TypeVar("_Noted")
_LATEST, _MOVES = "latest", "moves"  # keys of the header that change
_SLOW = 1.0  # seconds since the log was emptied after which a call empties it as well
_ADD_CALL = (
    f"INSERT INTO calls ({', '.join(COLUMNS)}, checksum) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 1))}) ON CONFLICT (generation, position) DO UPDATE "
    f"SET {', '.join(f'{c} = excluded.{c}' for c in (*COLUMNS, 'checksum'))} "
    "WHERE calls.x = excluded.x AND calls.status NOT IN ('ok', 'reused')"
)
"""Only a failed call of the same design may be made again."""


class Journal:
    """A run on disk.

    Use :meth:`create` for a new run, :meth:`resume` to go on with one (both take the lock), and
    :meth:`read` to look, also while another process writes.

    Attributes
    ----------
    path : Path
    lost_log : bool
        Whether the run was cut off (its process did not close the file), and the log that it
        left beside the file is not there: it was copied without.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self.lost_log = False
        self._connection = connection
        self._lock = lock
        self._emptied = time.monotonic()
        with database.guard(path):
            self._version = database.version_of(connection)

    @classmethod
    def create(cls, path: str | Path, header: Mapping[str, Any], state: Any) -> Journal:
        """Begin a new file; an existing one is never overwritten."""
        file = Path(path).resolve()
        if not file.parent.is_dir():
            raise JournalError(f"{file}: there is no directory {file.parent}.")
        database.check_free(file)
        lock = Lock(file)
        with database.guard(file), _on_error(lock.release):
            database.check_free(file)  # somebody else may have been faster
            new = file.with_name(file.name + ".new")  # a half-made file never has the name
            try:
                database.write_new(new, header, state)
                database.remove(file)  # with what SQLite left beside a deleted one
                new.replace(file)
            except BaseException:
                database.remove(new)
                raise
            connection = database.connect(file, "mode=rw")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        return cls(file, connection, lock)

    @classmethod
    def resume(cls, path: str | Path) -> Journal:
        """Open an existing file to go on with its run."""
        file = database.existing(path)
        logged = has_log(file)
        database.check(file)
        database.check_one_name(file)
        lock = Lock(file)
        with database.guard(file), _on_error(lock.release):
            connection = database.connect(file, "mode=rw")
            with _on_error(connection.close):
                connection.execute("PRAGMA synchronous = FULL")
                problems = connection.execute("PRAGMA quick_check").fetchone()[0]
                if problems != "ok":
                    raise JournalError(f"{file}: the file is damaged ({problems}).")
                journal = cls(file, connection, lock)
                journal._refuse_earlier_versions()
                journal.lost_log = not logged and not journal.latest().get("closed", False)
        return journal

    @classmethod
    def read(cls, path: str | Path, still: bool = False) -> Journal:
        """Open an existing file to look at it.

        ``still`` promises that nobody writes meanwhile: then SQLite does not even make its
        helper files beside it. See :func:`is_still`.
        """
        file = database.existing(path)
        how = "mode=ro&immutable=1" if still else "mode=ro"
        database.check(file, how)
        with database.guard(file):
            return cls(file, database.connect(file, how), None)

    def _refuse_earlier_versions(self) -> None:
        if self._version == database.FORMAT_VERSION:
            return
        seed = "?"
        with (
            contextlib.suppress(sqlite3.Error, JournalError),
            contextlib.closing(Journal.read(self.path)) as earlier,
        ):
            seed = str(earlier.header().get("seed"))
        raise JournalError(
            f"{self.path}: an earlier archeng wrote this journal (version {self._version}). It can "
            "be read, but its run cannot go on as it is. Begin it anew with the same model, "
            f"simulator and options, seed={seed} and reuse={str(self.path)!r}: then the same "
            "designs come up, and no finished call is made again."
        )

    @property
    def running(self) -> bool:
        """Whether some process holds the lock of this journal."""
        return self._lock is not None or is_written(self.path)

    # -- writing ----------------------------------------------------------------------------

    def add_candidates(self, data: Any) -> None:
        """Store the candidates of the generation that begins, before their first call.

        A crash of the machine cannot leave a call without them: they come before it in the log,
        and are on disk at the latest together with it.
        """
        text = dumps(data)
        self._execute("PRAGMA synchronous = NORMAL")
        try:
            self._execute(
                "INSERT OR REPLACE INTO candidates VALUES (1, ?, ?)", text, checksum(text)
            )
        finally:
            self._execute("PRAGMA synchronous = FULL")

    def add_call(self, position: int, e: CallRecord) -> None:
        """Store a finished call; it is on disk when this returns.

        Raises
        ------
        JournalError
            If there is such a call already, unless it is a failed one of the same design.
        """
        row = to_row(position, e)
        cursor = self._execute(_ADD_CALL, *row)
        if cursor.rowcount != 1:
            raise JournalError(
                f"{self.path}: there is a finished call {position} of generation {e.generation} "
                "already, which is not overwritten. Did two processes write?"
            )
        if time.monotonic() - self._emptied > _SLOW:
            self._empty_log()

    def drop_calls(self, generation: int, positions: Sequence[int]) -> None:
        """Forget calls, which will be made again."""
        for position in positions:
            self._execute(
                "DELETE FROM calls WHERE generation = ? AND position = ?", generation, position
            )

    def add_generation(self, generation: int, record: Mapping[str, Any], state: Any) -> None:
        """Store a finished generation and the state of the run after it, as one step."""
        row, text = (generation, dumps(record)), dumps(state)
        self._execute("BEGIN")
        try:
            self._execute(
                "INSERT OR REPLACE INTO generations VALUES (?, ?, ?)", *row, checksum(*row)
            )
            self._execute(
                "UPDATE state SET value = ?, checksum = ? WHERE id = 1", text, checksum(text)
            )
            self._execute("COMMIT")
        except JournalError:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._empty_log()

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run one statement; errors of SQLite are ours."""
        try:
            return self._connection.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise database.trouble(self.path, error) from error

    def _empty_log(self) -> None:
        """Move what is in the log into the file itself, as far as nobody reads it there."""
        self._execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._emptied = time.monotonic()

    def note(self, latest: Mapping[str, Any]) -> None:
        """Store what there is to say of the latest process that wrote: see :meth:`latest`."""
        self._set(_LATEST, latest)

    def add_move(self, move: Mapping[str, Any]) -> None:
        """Store that the run went on where rounding may be another: see :meth:`moves`."""
        self._set(_MOVES, [*self.moves(), move])

    def _set(self, key: str, value: Any) -> None:
        row = (key, dumps(value))
        self._execute("INSERT OR REPLACE INTO header VALUES (?, ?, ?)", *row, checksum(*row))

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
        return {k: v for k, v in self._header() if k not in (_LATEST, _MOVES)}

    def latest(self) -> dict[str, Any]:
        """Return what the latest process noted: its limits, and how it ended; empty if nothing."""
        return self._noted(_LATEST, {})

    def moves(self) -> list[dict[str, Any]]:
        """Return when, and to which machine and libraries, the run was moved."""
        return self._noted(_MOVES, [])

    def _noted(self, key: str, nothing: _Noted) -> _Noted:
        value = dict(self._header(key)).get(key, nothing)
        if not isinstance(value, type(nothing)):
            raise JournalError(f"{self.path}: the file is damaged (header {key!r}).")
        return value

    def _header(self, key: str = "%") -> list[tuple[str, Any]]:
        rows = self._rows("key, value", "header WHERE key LIKE ?", key, named="key")
        return [(str(k), self._json(v)) for k, v in rows]

    @contextlib.contextmanager
    def moment(self) -> Iterator[None]:
        """Everything that is read inside is of one moment, whatever others write meanwhile."""
        self._execute("BEGIN")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def state(self) -> Any:
        """Return the state after the last finished generation."""
        return self._json(self._rows("value", "state")[0][0])

    def candidates(self) -> Any:
        """Return the candidates that were stored last; None if there are none."""
        stored = self._version >= database.CHECKSUMS
        rows = self._rows("value", "candidates") if stored else []
        return self._json(rows[0][0]) if rows else None

    def generations(self) -> list[dict[str, Any]]:
        """Return the records of the finished generations in order."""
        rows = self._rows("generation, record", "generations ORDER BY generation", named="row")
        return [self._json(record) for _, record in rows]

    def calls(self) -> Iterator[StoredCall]:
        """Yield the calls in the run's order."""
        columns = ", ".join(COLUMNS)
        if self._version < database.DETAILS:
            columns = columns.replace("details", "'{}' AS details")
        order, named = "calls ORDER BY generation, position", "generation and position"
        for index, row in enumerate(self._rows(columns, order, named=named)):
            with readable(self.path):
                call = from_row(index, row)
            yield call

    def count(self) -> dict[str, int]:
        """Return the number of calls by status."""
        query = "SELECT status, COUNT(*) FROM calls GROUP BY status"
        return {str(k): n for k, n in self._execute(query)}

    def _rows(
        self, columns: str, rest: str, *arguments: Any, named: str = ""
    ) -> list[Sequence[Any]]:
        """Return rows whose checksums are right; ``named`` says what the first columns are."""
        total = "checksum" if self._version >= database.CHECKSUMS else "NULL"
        with database.guard(self.path):
            query = f"SELECT {columns}, {total} FROM {rest}"
            rows = self._connection.execute(query, arguments).fetchall()
        table = rest.split()[0]
        return [verified(self.path, table, named, row) for row in rows]

    def _json(self, text: str) -> Any:
        with readable(self.path):
            return loads(text)


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


@contextlib.contextmanager
def opened_journal(path: str | Path) -> Iterator[Journal]:
    """Open a journal to look at it; strange contents are errors about that journal."""
    with contextlib.closing(Journal.read(path, is_still(path))) as journal, readable(path):
        yield journal


def is_still(path: str | Path) -> bool:
    """Whether nobody writes a journal, and everything is in its one file."""
    return not has_log(path) and not is_written(Path(path))


def has_log(path: str | Path) -> bool:
    """Whether there is a log beside the file: it belongs to the journal."""
    file = Path(path).resolve()
    return file.with_name(file.name + "-wal").exists()


@contextlib.contextmanager
def _on_error(undo: Callable[[], object]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        undo()
        raise
