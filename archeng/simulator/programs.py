"""External programs that are running, so that none outlives its run."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

from archeng.simulator.process_tree import kill_tree
from archeng.simulator.watchdog import marked, new_mark, watchdog

owner: ContextVar[object] = ContextVar("owner", default=None)
"""Whose call runs in this thread; programs that it starts belong to the same owner."""

_running: dict[int | None, tuple[object, str, Path | None]] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def tracked(
    start: Callable[[dict[str, str]], subprocess.Popen[bytes]], folder: Path | None
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a program with a marked environment; yield it and the mark while it runs.

    ``folder`` is removed if the program is killed.
    """
    mark = new_mark()
    watchdog.watch(mark)
    pid = None
    try:
        process = start(marked(mark))
        pid = process.pid
        watchdog.watch(mark, pid)
        with _lock:
            _running[pid] = (owner.get(), mark, folder)
        yield process, mark
    finally:
        watchdog.forget(mark)
        with _lock:
            _running.pop(pid, None)


def kill_programs(whose: object = None) -> None:
    """Kill the programs of one owner with all that they started; of all, if there is none."""
    with _lock:
        for pid, (program_owner, mark, folder) in _running.items():
            if whose is None or program_owner is whose:
                kill_tree(pid, mark)
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)
