"""Process groups of the external programs that are running, so that none outlives its run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

_running: set[int] = set()
_lock = threading.Lock()


@contextlib.contextmanager
def tracked(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Remember the group that a process leads while the block runs."""
    with _lock:
        _running.add(process.pid)
    try:
        yield
    finally:
        with _lock:
            _running.discard(process.pid)


def kill_group(pid: int) -> None:
    """Kill a process and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


def kill_groups() -> None:
    """Kill every tracked group."""
    with _lock:
        for pid in _running:
            kill_group(pid)
