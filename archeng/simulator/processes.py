"""Calls in worker processes: a pool that survives whatever a simulator does.

Each worker is a fresh interpreter in a session of its own, not a fork: safe with CasADi and
threaded numeric libraries, deaf to the terminal's Ctrl-C, and killed with everything that it
started. The user's script is not imported again, so no ``if __name__ == "__main__"`` is needed.

Parent and worker talk over a connection of their own, which nothing that a simulator prints can
disturb. It is a lifeline, too: when the parent closes it, or dies, the worker ends, with the
programs of its simulator. If it cannot, because C code holds the interpreter, the parent's watchdog
does it. That a *worker* has died is seen by its death: a process that it forked may keep the
connection open.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from numbers import Integral
from typing import Any

import cloudpickle

from archeng.errors import ExecutorError, SettingsError
from archeng.simulator.call import Call, CallStatus, call
from archeng.simulator.pools import HEED_SECONDS, Executor
from archeng.simulator.process_tree import MARK, kill_group, kill_tree
from archeng.simulator.watchdog import Tree, kill_trees, watchdog

_START_SECONDS = 120.0  # in which an interpreter must have started and imported archeng
_GRACE_SECONDS = 2.0  # in which a worker ends by itself, and tidies up, before it is killed
_WORKER = """
import sys
from multiprocessing import connection
kind = getattr(connection, "PipeConnection", connection.Connection)  # of Windows, of others
connection = kind(int(sys.argv.pop()))
sys.path[:] = connection.recv()
from archeng.simulator.processes import serve
serve(connection)
"""


class Workers:
    """A number of worker processes that compute one function; with `call` in it, a pool.

    The function is sent once to each worker; functions of a script or notebook and lambdas are
    sent whole. A task that takes longer than the timeout is killed with its worker.
    """

    def __init__(
        self, function: Callable[[Any], Any], count: int, timeout: float | None = None
    ) -> None:
        self.size: int | None = count
        self._count, self._timeout = count, timeout
        self._function = _pickled(function)
        self._waiting: deque[tuple[int, Any]] = deque()
        self._finished: deque[tuple[int, Any]] = deque()
        self._workers: list[_Worker] = []

    def submit(self, key: int, argument: Any) -> None:
        """Take a task; it waits for an idle worker."""
        self._waiting.append((key, argument))

    def next(self) -> tuple[int, Any] | None:
        """Return the next task that ends, with its value; None if there is nothing to wait for.

        In place of a value stands a `Call` that is not good if the function raised something, if
        the worker died, or if the time was up.
        """
        while not self._finished:
            self._assign()
            busy = self._busy()
            if not busy and not self._finished:
                return None
            for ready in wait([w.connection for w in busy], self._patience(busy)):
                self._collect(next(w for w in busy if w.connection is ready))
            for worker in self._busy():
                if worker.died and not worker.connection.poll():
                    self._lose(worker)
            self._kill_overdue()
        return self._finished.popleft()

    def cancel_waiting(self) -> None:
        """Forget the tasks that no worker has begun."""
        self._waiting.clear()

    def abandon(self) -> None:
        """Forget every task; kill the workers that are busy."""
        self._waiting.clear()
        self._finished.clear()
        for worker in self._busy():
            self._drop(worker)

    def close(self) -> None:
        """End all workers."""
        self.abandon()
        for worker in list(self._workers):
            self._drop(worker)
        watchdog.rest()

    # -- helpers ----------------------------------------------------------------------------

    def _busy(self) -> list[_Worker]:
        return [w for w in self._workers if w.task is not None]

    def _assign(self) -> None:
        """Give waiting tasks to idle workers; start workers while there are too few."""
        for worker in [w for w in self._workers if w.task is None and w.died]:
            self._drop(worker)
        idle = deque(w for w in self._workers if w.task is None)
        while self._waiting and (idle or len(self._workers) < self._count):
            worker = idle.popleft() if idle else self._start()
            worker.task, worker.begin = self._waiting.popleft(), time.monotonic()
            if worker.stage is _Stage.READY:
                self._send(worker)

    def _start(self) -> _Worker:
        try:
            worker = _Worker()
        except OSError as error:
            raise ExecutorError(f"A worker process could not be started: {error}") from error
        self._workers.append(worker)
        return worker

    def _send(self, worker: _Worker) -> None:
        """Send a worker the function, or its task; the clock begins."""
        assert worker.task is not None
        worker.begin = time.monotonic()
        key, argument = worker.task
        ready = worker.stage is _Stage.READY
        message = (key, pickle.dumps(argument)) if ready else (None, self._function)
        try:
            worker.connection.send(message)
        except OSError:
            self._lose(worker)

    def _patience(self, busy: list[_Worker]) -> float:
        """Seconds to wait for an answer: short, so that Ctrl-C and time-outs are heard."""
        if self._timeout is None:
            return HEED_SECONDS
        first = min(w.begin for w in busy) + self._timeout - time.monotonic()
        return min(HEED_SECONDS, max(first, 0.0))

    def _collect(self, worker: _Worker) -> None:
        """Take a message: the worker has started, has unpacked the function, or has a value."""
        try:
            key, good, value = worker.connection.recv()
        except (EOFError, OSError):
            self._lose(worker)
            return
        assert worker.task is not None
        if worker.stage is _Stage.READY:
            if key == worker.task[0]:
                outcome = value if good else Call(CallStatus.FAILED, message=value)
                self._finished.append((key, outcome))
                worker.task = None
            return
        if not good:
            raise ExecutorError(
                "The function cannot be unpacked in a worker process. Define it in a module "
                f"that the workers can import. The worker said:\n{value}"
            )
        starting = worker.stage is _Stage.STARTING
        worker.stage = _Stage.UNPACKING if starting else _Stage.READY
        self._send(worker)

    def _lose(self, worker: _Worker) -> None:
        """Note the end of a worker in the middle of a call."""
        seconds = time.monotonic() - worker.begin
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.tree.process.wait(_GRACE_SECONDS)
        code = worker.tree.process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        if worker.stage is not _Stage.READY:
            raise ExecutorError(
                f"A worker process could not be started, or ended while it took the simulator "
                f"({how}); its own error is on standard error."
            )
        message = f"the worker process died during the call ({how})"
        self._end(worker, Call(CallStatus.LOST, message=message, seconds=seconds))

    def _kill_overdue(self) -> None:
        for worker in self._busy():
            starting = worker.stage is _Stage.STARTING
            limit = _START_SECONDS if starting else self._timeout
            seconds = time.monotonic() - worker.begin
            if limit is None or seconds < limit or worker.connection.poll():
                continue
            if starting:
                raise ExecutorError(f"A worker process has not started within {limit:g} s.")
            unpacked = worker.stage is _Stage.READY
            what = "no answer" if unpacked else "the simulator was not unpacked"
            message = f"{what} within {limit:g} s; the process was killed"
            outcome = Call(
                CallStatus.TIMED_OUT, message=message, seconds=seconds, mistake=not unpacked
            )
            self._end(worker, outcome)

    def _end(self, worker: _Worker, outcome: Call) -> None:
        assert worker.task is not None
        self._finished.append((worker.task[0], outcome))
        self._drop(worker)

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.end()


class _Stage(Enum):
    """What a worker process is at."""

    STARTING = auto()  # the interpreter, and the import of archeng
    UNPACKING = auto()  # the function, which may import modules of the user
    READY = auto()  # for tasks


@dataclass(eq=False)
class _Worker:
    """A worker process as its parent sees it, with the task (key, argument) that it has."""

    task: tuple[int, Any] | None = None
    begin: float = 0.0
    stage: _Stage = _Stage.STARTING

    def __post_init__(self) -> None:
        self.connection, theirs = Pipe()
        inherit: dict[str, Any] = {"pass_fds": [theirs.fileno()]}
        if os.name != "posix":
            os.set_handle_inheritable(theirs.fileno(), True)  # type: ignore[attr-defined,unused-ignore]
            inherit = {"close_fds": False}
        command = [sys.executable, "-P", "-c", _WORKER, str(theirs.fileno())]
        with theirs:
            self.tree = Tree(command, stdin=subprocess.DEVNULL, **inherit)
        with contextlib.suppress(OSError):  # of a process that has died already
            self.connection.send([p for p in sys.path if isinstance(p, str)])

    @property
    def died(self) -> bool:
        """Whether the process has ended."""
        return self.tree.process.poll() is not None

    def end(self) -> None:
        """Close the connection, so that the worker ends its programs; then kill what is left.

        That is the whole tree, or the worker's group only: what an idle worker has put into a
        session of its own is meant to stay.
        """
        self.connection.close()
        process = self.tree.process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        if self.task is not None:
            self.tree.kill()
        else:
            kill_group(process.pid)
        process.wait()
        watchdog.forget(self.tree)


def _pickled(function: Callable[[Any], Any]) -> bytes:
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        raise SettingsError(
            f"workers: the simulator cannot be sent to a worker process ({type(error).__name__}: "
            f"{error}). Open files, connections and the like inside the function, or use "
            'workers="threads:N".'
        ) from error


# -- in the worker process --------------------------------------------------------------------


def serve(connection: Connection[Any, Any]) -> None:
    """Compute for the parent until the connection closes.

    Messages from the parent are (key, pickled argument), the first one without a key is the
    function; those to the parent are (key, whether all is well, value or traceback), without a key
    when the worker has started and when it has unpacked the function.
    """
    watchdog.needed = False
    me, busy = os.getpid(), threading.Event()
    messages: queue.SimpleQueue[tuple[Any, bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, messages, busy), daemon=True).start()
    connection.send((None, True, None))
    function: Callable[[Any], Any] | None = None
    while True:
        key, data = messages.get()
        busy.set()
        try:
            good, value = True, pickle.loads(data)
            if function is None:
                function, value = value, None
            else:
                value = function(value)
        except BaseException:  # a module that calls sys.exit, ...
            good, value = False, traceback.format_exc()
        if os.getpid() != me:  # a process that the user's code forked must not go on as a worker
            os._exit(1)
        busy.clear()
        with contextlib.suppress(OSError):  # a parent that has gone: the end is on its way
            connection.send((key, good, value))


def _listen(
    connection: Connection[Any, Any],
    messages: queue.SimpleQueue[tuple[Any, bytes]],
    busy: threading.Event,
) -> None:
    """Pass messages on; at the end of the connection end the process and the calls in it."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            messages.put(connection.recv())
    kill_trees()
    if busy.is_set():
        kill_tree(os.getpid(), os.environ.get(MARK, ""))
    os._exit(1)


# -- the executor -----------------------------------------------------------------------------


def process_count(workers: Any) -> int:
    """Return the number of processes that ``workers=`` asks for on this machine, else 0."""
    if not isinstance(workers, Integral) or isinstance(workers, bool):
        return 0
    return (os.cpu_count() or 1) if workers == -1 else max(int(workers), 0)


PROCESSES = Executor(
    "a number of processes (-1: one per core)",
    lambda workers: process_count(workers) >= 1,
    lambda workers, simulator, timeout: Workers(
        partial(call, simulator), process_count(workers), timeout
    ),
    stops_calls=True,
    width=process_count,
)
