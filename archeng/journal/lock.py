"""A lock that the operating system releases when its holder dies."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from archeng.errors import JournalError

if os.name == "nt":
    import msvcrt

    def _take(descriptor: int, alone: bool = True) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _take(descriptor: int, alone: bool = True) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)


_PATIENCE = 0.25  # seconds: somebody may just be looking, see `is_written`


class Lock:
    """Hold ``run.db.lock`` while a process writes ``run.db``.

    Raises
    ------
    JournalError
        If another process holds it.
    """

    def __init__(self, journal: Path) -> None:
        path = _path(journal)
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be written ({error.strerror}).") from error
        try:
            self._insist()
        except OSError as error:
            self.release()
            raise JournalError(
                f"{journal}: another process is running with this journal. Wait for it, or look "
                f"at it with `archeng status {journal}`."
            ) from error

        _held.add(self)

    def _insist(self) -> None:
        """Take the lock; try for a moment, since those who only look hold it for an instant."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return _take(self._descriptor)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def release(self) -> None:
        """Let others have it."""
        _held.discard(self)
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def is_written(journal: Path) -> bool:
    """Whether some process writes a journal. Makes no file, and keeps nobody from writing."""
    try:
        descriptor = os.open(_path(journal), os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    except OSError:
        return False  # no lock file: nobody has ever written here
    try:
        _take(descriptor, alone=False)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _path(journal: Path) -> Path:
    """Return the lock file, which is one for all symbolic links to a journal."""
    journal = journal.resolve()
    return journal.with_name(journal.name + ".lock")


_held: set[Lock] = set()


def _forget() -> None:
    """In a forked child: the lock is the parent's alone, and ends with it."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
