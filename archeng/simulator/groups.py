"""Process groups of the external programs that are running, so that none outlives its run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

owner: ContextVar[object] = ContextVar("owner", default=None)
"""Whose call runs in this thread; programs that it starts belong to the same owner."""

_running: dict[int, tuple[object, Path | None]] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def tracked(process: subprocess.Popen[bytes], folder: Path | None) -> Iterator[None]:
    """Remember the group that a process leads, and a folder to be removed if it is killed."""
    with _lock:
        _running[process.pid] = (owner.get(), folder)
    try:
        yield
    finally:
        with _lock:
            _running.pop(process.pid, None)


def kill_group(pid: int) -> None:
    """Kill a process and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


def kill_groups(whose: object = None) -> None:
    """Kill the groups of one owner; of all, if there is none."""
    with _lock:
        for pid, (group_owner, folder) in _running.items():
            if whose is None or group_owner is whose:
                kill_group(pid)
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)
