"""The watchdog of this process: when the process dies, what it has started is ended."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import threading

from archeng.simulator import process_tree
from archeng.simulator.process_tree import MARK

_END_SECONDS = 5.0  # in which the watchdog ends when there is nothing left to watch


def new_mark() -> str:
    """Return a text that nobody else's environment has."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def marked(mark: str) -> dict[str, str]:
    """Return the environment of a process whose tree is to be known; inside a tree, of both."""
    outer = os.environ.get(MARK)
    return {**os.environ, MARK: mark if outer is None else f"{outer} {mark}"}


class Watchdog:
    """A small process of its own that outlives this one for a moment; started when needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._of_parents: list[subprocess.Popen[bytes]] = []  # a fork has one of its own
        self._owner = 0
        self._watched: dict[str, int | None] = {}
        self.needed = os.name == "posix" and _is_python(sys.executable)
        """Whether there can be one, and nobody else watches: a worker is in its parent's tree."""

    def watch(self, mark: str, pid: int | None = None) -> None:
        """End what carries a mark, and the tree of a process, if the present process dies.

        Say the mark before the process is started, then the process: so there is no gap.
        """
        if not self.needed:
            return
        with self._lock:
            if self._owner != os.getpid() or self._process is None:
                self._start()
            self._watched[mark] = pid
            self._tell(_line(mark, pid))

    def forget(self, mark: str) -> None:
        """Do so no longer."""
        with self._lock:
            if self._owner == os.getpid() and mark in self._watched:
                del self._watched[mark]
                self._tell(f"-{mark}\n")

    def rest(self) -> None:
        """End the watchdog if there is nothing to watch."""
        with self._lock:
            if self._owner == os.getpid() and self._process is not None and not self._watched:
                _end(self._process)
                self._process = None

    def _start(self) -> None:
        if self._process is not None and self._owner != os.getpid():
            self._of_parents.append(self._process)
            self._watched = {}
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", process_tree.__file__, str(self._owner)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _tell(self, text: str) -> None:
        """Send a line; a watchdog that somebody has killed is replaced."""
        assert self._process is not None
        try:
            _write(self._process, text)
        except OSError:
            _end(self._process)
            self._start()
            with contextlib.suppress(OSError):
                for mark, pid in self._watched.items():
                    _write(self._process, _line(mark, pid))


def _is_python(executable: str | None) -> bool:
    """Whether a program is Python itself, and not one that has it built in."""
    name = os.path.basename(executable or "")
    return name.startswith(("python", "pypy")) and os.access(str(executable), os.X_OK)


def _line(mark: str, pid: int | None) -> str:
    return f"+{mark}\n" if pid is None else f"+{mark} {pid}\n"


def _write(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    os.write(process.stdin.fileno(), text.encode())


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


watchdog = Watchdog()
atexit.register(watchdog.rest)
