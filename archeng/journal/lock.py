"""A lock that the operating system releases when its holder dies."""

from __future__ import annotations

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
            os.close(self._descriptor)
            raise JournalError(
                f"{journal}: another process is running with this journal. Wait for it, or look "
                f"at it with `archeng status {journal}`."
            ) from error

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)
