"""`Tree`: a process that was started here, with everything that it starts in turn.

No tree outlives its run. When this process dies, however it dies, its *watchdog* ends them: a small
process of its own that outlives this one for a moment, started when there is something to watch.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from archeng.simulator import process_tree
from archeng.simulator.process_tree import MARK, kill_group, kill_tree

_END_SECONDS = 5.0  # in which the watchdog ends when there is nothing left to watch

owner: ContextVar[object] = ContextVar("owner", default=None)
"""Whose call runs in this thread; trees that it starts belong to the same owner."""


class Tree:
    """Start a process in a session of its own, marked so that its descendants can be found.

    It has the environment of this process and the variables given besides. The folder is removed
    if the tree is killed by :func:`kill_trees`. The options are those of `subprocess.Popen`.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        **options: Any,
    ) -> None:
        self.mark = f"{os.getpid()}-{secrets.token_hex(8)}"  # nobody else's environment has it
        self.owner, self.folder = owner.get(), folder
        self.pid: int | None = None
        outer = os.environ.get(MARK)  # inside a tree there are the marks of both
        marks = {MARK: self.mark if outer is None else f"{outer} {self.mark}"}
        watchdog.watch(self)  # before there is a process, so that there is no gap
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                env={**os.environ, **marks, **(environment or {})},
                start_new_session=True,
                **options,
            )
        except BaseException:
            watchdog.forget(self)
            raise
        self.pid = self.process.pid
        watchdog.watch(self)

    def kill(self) -> None:
        """Kill all of it."""
        kill_tree(self.pid, self.mark)

    def wait(self, timeout: float | None) -> int:
        """Return the exit code; if it takes longer, or at Ctrl-C, kill all of it and raise."""
        try:
            return self.process.wait(timeout)
        finally:
            if self.process.poll() is None:
                self.kill()
                self.process.wait()
            else:
                with contextlib.suppress(Exception):
                    kill_group(self.process.pid)  # children that it left behind
            watchdog.forget(self)


def kill_trees(whose: object = None) -> None:
    """Kill the trees of one owner, by default all that this process has started."""
    for tree in watchdog.trees():
        if whose is None or tree.owner is whose:
            tree.kill()
            if tree.folder is not None:
                shutil.rmtree(tree.folder, ignore_errors=True)


class Watchdog:
    """The trees of this process, and the process that ends them if this one dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._of_parents: list[subprocess.Popen[bytes]] = []
        self.needed = os.name == "posix" and _is_python(sys.executable)
        """Whether there can be one, and nobody else watches: a worker is in its parent's tree."""
        self._after_fork()

    def _after_fork(self) -> None:
        """Begin in a new process, which has started nothing yet."""
        self._lock = threading.Lock()
        self._trees: dict[str, Tree] = {}
        if self._process is not None:
            self._of_parents.append(self._process)
            self._process = None

    def trees(self) -> list[Tree]:
        """Return the trees that live."""
        with self._lock:
            return list(self._trees.values())

    def watch(self, tree: Tree) -> None:
        """End a tree if the present process dies: what carries its mark, and its process."""
        with self._lock:
            self._trees[tree.mark] = tree
            if self.needed:
                self._process = self._process or self._started()
                self._tell(_line(tree))

    def forget(self, tree: Tree) -> None:
        """Do so no longer."""
        with self._lock:
            if self._trees.pop(tree.mark, None) is not None and self._process is not None:
                self._tell(f"-{tree.mark}\n")

    def rest(self) -> None:
        """End the watchdog if there is nothing to watch."""
        with self._lock:
            if self._process is not None and not self._trees:
                _end(self._process)
                self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", process_tree.__file__, str(os.getpid())],
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
            self._process = self._started()
            with contextlib.suppress(OSError):
                _write(self._process, "".join(map(_line, self._trees.values())))


def _is_python(executable: str | None) -> bool:
    """Whether a program is Python itself, and not one that has it built in."""
    name = os.path.basename(executable or "")
    return name.startswith(("python", "pypy")) and os.access(str(executable), os.X_OK)


def _line(tree: Tree) -> str:
    return f"+{tree.mark}\n" if tree.pid is None else f"+{tree.mark} {tree.pid}\n"


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
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watchdog._after_fork)
