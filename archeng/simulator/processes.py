"""A pool of worker processes that survives whatever a simulator does.

Each worker is a fresh interpreter in a session of its own, not a fork: safe with CasADi and
threaded numeric libraries, deaf to the terminal's Ctrl-C, and killed with everything that it
started. That it has died is seen by its death: a process that it forked may keep its connection
open. The user's script is not imported again, so no ``if __name__ == "__main__"`` is needed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, Listener, wait
from typing import Any

import cloudpickle

from archeng.errors import ExecutorError, SettingsError
from archeng.simulator.call import Call, CallStatus, Simulator, call
from archeng.simulator.design import Design
from archeng.simulator.process_tree import kill_group, kill_tree
from archeng.simulator.watchdog import marked, new_mark, watchdog
from archeng.simulator.worker import VARIABLE

_START_SECONDS = 120.0
_GRACE_SECONDS = 2.0
_BEGIN = f"""
import json, os, sys
sys.path[:] = json.loads(os.environ["{VARIABLE}"])["path"]
from archeng.simulator.worker import main
main()
"""


@dataclass
class _Worker:
    """A worker process, and the task it is busy with; at first it unpacks the function."""

    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    mark: str
    unpacked: bool = False
    task: tuple[int, Any] | None = None
    begin: float = 0.0

    def kill(self) -> None:
        """End the process; if it is busy, with everything that it started."""
        _end(self.process, self.mark, tree=self.task is not None)
        self.connection.close()

    @property
    def dead(self) -> bool:
        """Whether the process has ended, and has left no message."""
        return self.process.poll() is not None and not self.connection.poll()


def _end(process: subprocess.Popen[bytes], mark: str, tree: bool = True) -> None:
    """Cut the lifeline, so that the worker ends its programs; then kill what is left.

    That is the whole tree, or the worker's group only: what an idle worker has put into a session
    of its own is meant to stay.
    """
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    if tree:
        kill_tree(process.pid, mark)
    else:
        kill_group(process.pid)
    process.wait()
    watchdog.forget(mark)


@dataclass(frozen=True)
class Ended:
    """How a task ended: with a value, or with the end of its worker (or of its time)."""

    value: Any = None
    problem: str = ""
    status: CallStatus = CallStatus.OK
    seconds: float = 0.0
    mistake: bool = False


class Workers:
    """A number of worker processes that compute one function.

    Parameters
    ----------
    function : callable
        Sent once to each worker; functions of a script or notebook and lambdas are sent whole.
    count : int
    timeout : float or None
        A task that takes longer is killed with its worker.
    """

    def __init__(
        self, function: Callable[[Any], Any], count: int, timeout: float | None = None
    ) -> None:
        self._payload = ([p for p in sys.path if isinstance(p, str)], _pickled(function))
        self._timeout = timeout
        self._count = count
        self._waiting: deque[tuple[int, Any]] = deque()
        self._finished: deque[tuple[int, Ended]] = deque()
        self._workers: list[_Worker] = []
        self._key = secrets.token_bytes(32)
        self._listener = Listener(_address(), authkey=self._key)
        place = self._listener.address
        self._place = place.decode() if isinstance(place, bytes) else place

    def submit(self, key: int, argument: Any) -> None:
        """Take a task; it waits for an idle worker."""
        self._waiting.append((key, argument))

    def next(self) -> tuple[int, Ended] | None:
        """Return the next task that ends; None if there is nothing to wait for."""
        while not self._finished:
            self._assign()
            busy = self._busy()
            if not busy and not self._finished:
                return None
            for ready in wait([w.connection for w in busy], self._patience(busy)):
                self._collect(next(w for w in busy if w.connection is ready))
            for worker in [w for w in self._busy() if w.dead]:
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
        self._listener.close()
        watchdog.rest()

    # -- helpers ----------------------------------------------------------------------------

    def _busy(self) -> list[_Worker]:
        return [w for w in self._workers if w.task is not None]

    def _assign(self) -> None:
        """Give waiting designs to idle workers; start workers while there are too few."""
        idle = [w for w in self._workers if w.task is None]
        for worker in [w for w in idle if w.process.poll() is not None]:  # killed while idle
            self._drop(worker)
            idle.remove(worker)
        wanted = min(len(self._waiting) - len(idle), self._count - len(self._workers))
        if wanted > 0:
            idle += self._start(wanted)
        for worker in idle:
            if not self._waiting:
                return
            worker.task, worker.begin = self._waiting.popleft(), time.monotonic()
            if worker.unpacked:
                self._send(worker)

    def _send(self, worker: _Worker) -> None:
        """Send a worker its task; the clock begins."""
        worker.begin = time.monotonic()
        try:
            worker.connection.send(worker.task)
        except OSError:
            self._lose(worker)

    def _patience(self, busy: list[_Worker]) -> float:
        """Seconds to wait for an answer: short, so that Ctrl-C and time-outs are heard."""
        if self._timeout is None:
            return 0.2
        first = min(w.begin for w in busy) + self._timeout - time.monotonic()
        return min(0.2, max(first, 0.0))

    def _collect(self, worker: _Worker) -> None:
        try:
            key, good, value = worker.connection.recv()
        except (EOFError, OSError):
            self._lose(worker)
            return
        assert worker.task is not None
        if not worker.unpacked:
            if not good:
                raise ExecutorError(
                    "The function cannot be unpacked in a worker process. Define it in a module "
                    f"that the workers can import. The worker said:\n{value}"
                )
            worker.unpacked = True
            self._send(worker)
        elif key == worker.task[0]:
            ended = Ended(value) if good else Ended(problem=value, status=CallStatus.FAILED)
            self._finished.append((key, ended))
            worker.task = None

    def _lose(self, worker: _Worker) -> None:
        """Note the end of a worker in the middle of a call."""
        seconds = time.monotonic() - worker.begin
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(_GRACE_SECONDS)
        code = worker.process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        if not worker.unpacked:
            self._drop(worker)
            raise ExecutorError(
                f"A worker process ended while it took the simulator ({how}); its own error is on "
                "standard error."
            )
        message = f"the worker process died during the call ({how})"
        self._end(worker, Ended(None, message, CallStatus.LOST, seconds))

    def _kill_overdue(self) -> None:
        if self._timeout is None:
            return
        for worker in self._busy():
            seconds = time.monotonic() - worker.begin
            if seconds >= self._timeout and not worker.connection.poll():
                what = "no answer" if worker.unpacked else "the simulator was not unpacked"
                message = f"{what} within {self._timeout:g} s; the process was killed"
                status, mistake = CallStatus.TIMED_OUT, not worker.unpacked
                self._end(worker, Ended(None, message, status, seconds, mistake))

    def _end(self, worker: _Worker, ended: Ended) -> None:
        assert worker.task is not None
        key = worker.task[0]
        self._drop(worker)
        self._finished.append((key, ended))

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _start(self, count: int) -> list[_Worker]:
        """Start workers side by side and send them the simulator."""
        settings = {"path": self._payload[0], "address": self._place, "key": self._key.hex()}
        processes: dict[int, subprocess.Popen[bytes]] = {}
        marks: dict[int, str] = {}
        try:
            for _ in range(count):
                mark = new_mark()
                watchdog.watch(mark)
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _BEGIN],
                    stdin=subprocess.PIPE,
                    env={**marked(mark), VARIABLE: json.dumps(settings)},
                    start_new_session=True,
                )
                processes[process.pid], marks[process.pid] = process, mark
                watchdog.watch(mark, process.pid)
            started = []
            for _ in range(count):
                connection = self._accept(processes)
                pid = connection.recv()
                connection.send(self._payload)
                started.append(_Worker(processes[pid], connection, marks[pid]))
        except BaseException as error:
            for process in processes.values():
                _end(process, marks[process.pid])
            if isinstance(error, OSError | EOFError):
                raise ExecutorError(
                    f"A worker process could not be started, or ended while it took the simulator "
                    f"({type(error).__name__}: {error}); its own error is on standard error."
                ) from error
            raise
        self._workers += started
        return started

    def _accept(self, processes: dict[int, subprocess.Popen[bytes]]) -> Connection[Any, Any]:
        """Wait until a new process connects, or report that one could not start."""
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and all(p.poll() is None for p in processes.values()):
            if os.name != "posix" or wait([self._listener._listener._socket], 0.1):  # type: ignore[attr-defined]
                return self._listener.accept()
        codes = [p.poll() for p in processes.values()]
        raise ExecutorError(
            f"A worker process could not be started (exit codes {codes}); its error is on "
            "standard error."
        )


class Processes:
    """The pool of calls in worker processes."""

    def __init__(self, simulator: Simulator, count: int, timeout: float | None = None) -> None:
        self.size: int | None = count
        self._workers = Workers(partial(call, simulator), count, timeout)

    def submit(self, key: int, design: Design) -> None:  # noqa: D102
        self._workers.submit(key, design)

    def next(self) -> tuple[int, Call] | None:  # noqa: D102
        answer = self._workers.next()
        if answer is None:
            return None
        key, ended = answer
        if ended.status is CallStatus.OK:
            return key, ended.value
        nan = float("nan")
        return key, Call(ended.status, nan, ended.problem, ended.seconds, mistake=ended.mistake)

    def cancel_waiting(self) -> None:  # noqa: D102
        self._workers.cancel_waiting()

    def abandon(self) -> None:  # noqa: D102
        self._workers.abandon()

    def close(self) -> None:  # noqa: D102
        self._workers.close()


def _address() -> Any:
    """Where workers connect: a name that leaves no file behind, where there is such a thing."""
    if sys.platform == "linux":
        return f"\0archeng-{os.getpid()}-{secrets.token_hex(8)}"
    return ("127.0.0.1", 0)


def _pickled(function: Callable[[Any], Any]) -> bytes:
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        raise SettingsError(
            f"workers: the simulator cannot be sent to a worker process ({type(error).__name__}: "
            f"{error}). Open files, connections and the like inside the function, or use "
            'workers="threads:N".'
        ) from error
