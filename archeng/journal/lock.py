"""A lock that the operating system releases when its holder dies."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from archeng.errors import JournalError

if os.name == "nt":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Lock:
    """Hold ``run.db.lock`` while a process writes ``run.db``.

    Raises
    ------
    JournalError
        If another process holds it.
    """

    def __init__(self, journal: Path) -> None:
        path = journal.with_name(journal.name + ".lock")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be written ({error.strerror}).") from error
        try:
            _take(self._descriptor)
        except OSError as error:
            self.release()
            raise JournalError(
                f"{journal}: another process is running with this journal. Wait for it, or look "
                f"at it with `archeng status {journal}`."
            ) from error

        _held.add(self)

    def release(self) -> None:
        """Let others have it."""
        _held.discard(self)
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


_held: set[Lock] = set()


def _forget() -> None:
    """In a forked child: the lock is the parent's alone, and ends with it."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
