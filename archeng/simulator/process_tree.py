"""Ending a process with everything that it started.

Run as a script, this file is the watchdog of a process: it learns on standard input which trees
to end when that process dies, however it dies. It needs only the standard library, so that it
starts in a few milliseconds, and its interpreter is not one that a simulator may block.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

MARK = "ARCHENG_TREE"
"""Environment variable by which processes are known that have lost their parent (Linux)."""

_ROUNDS = 5  # a tree that grows while it is being killed is looked at again
_PAUSE_SECONDS = 0.01  # between two of them
_LOOK_SECONDS = 0.5  # how often the watchdog looks whether its parent lives
_GRACE_SECONDS = 1.0  # in which workers end by themselves, and tidy up, after their parent's death


def kill_tree(pid: int | None, mark: str = "") -> None:
    """Kill a process, its group and its descendants, also those in a session of their own.

    Descendants are found on Linux only: by their parents, and by the mark in their environment.
    Without a process there is only the mark. The process that asks is spared.
    """
    for _ in range(_ROUNDS):
        descendants = list(_tree(pid, mark))
        if pid is not None and pid != os.getpid():
            kill_group(pid)
        for process in descendants:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not descendants:
            return
        time.sleep(_PAUSE_SECONDS)


def kill_group(pid: int) -> None:
    """Kill a process and everything in the group that it leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


def _tree(pid: int | None, mark: str) -> Iterator[int]:
    """Yield the living descendants of a process, and those that carry the mark."""
    parents = dict(_parents())
    for process in parents:
        ancestor: int | None = parents[process]
        while ancestor is not None and ancestor != pid:
            ancestor = parents.get(ancestor)
        below = pid is not None and ancestor == pid
        if process not in (pid, os.getpid()) and (below or _carries(process, mark)):
            yield process


def _parents() -> Iterator[tuple[int, int]]:
    """Yield every process with its parent, without zombies; nothing where there is no /proc."""
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    yield int(name), int(parent)


def _carries(pid: int, mark: str) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return bool(mark) and mark.encode() in file.read()
    return False


def _watch(parent: int) -> None:
    """Read lines ``+mark pid`` and ``-mark`` until the parent is gone; then end what is left.

    A mark comes first without a process, which is about to be started.
    """
    watched: dict[str, int | None] = {}
    text = b""
    while True:
        lives = os.getppid() == parent  # a fork of the parent may keep the pipe open
        ready = select.select([0], [], [], _LOOK_SECONDS if lives else 0.0)[0]
        data = os.read(0, 65536) if ready else b""
        if not data and (ready or not lives):
            break
        *lines, text = (text + data).split(b"\n")
        for line in lines:
            mark, _, pid = line[1:].decode().partition(" ")
            if line.startswith(b"+"):
                watched[mark] = int(pid) if pid else None
            else:
                watched.pop(mark, None)
    if watched:
        time.sleep(_GRACE_SECONDS)
    for mark, process in watched.items():
        kill_tree(process, mark)


if __name__ == "__main__":
    _watch(int(sys.argv[1]))
