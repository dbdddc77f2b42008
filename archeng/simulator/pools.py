"""Where calls run, and the one place that says what an executor is.

A *pool* takes designs with :meth:`~Pool.submit` and gives outcomes back, in whatever order they
finish, with :meth:`~Pool.next`. It knows nothing of generations, retries or journals. An `Executor`
says which ``workers=`` it is for and makes the pool. To add one, write a module with a pool and its
`Executor`, and add that to ``EXECUTORS`` in ``evaluate.py``; `Futures` is the pool of everything
that hands out futures.
"""

from __future__ import annotations

import contextlib
import queue
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from archeng.errors import ExecutorError
from archeng.simulator.call import Call, CallStatus, Simulator, call
from archeng.simulator.design import Design
from archeng.simulator.watchdog import kill_trees, owner, watchdog

HEED_SECONDS = 0.2  # longest wait between two looks at Ctrl-C, time limits and deaths


class Pool(Protocol):
    """What the evaluation loop needs.

    ``size`` is the number of calls that can run at a time, None if nobody knows.
    """

    size: int | None

    def submit(self, key: int, design: Design) -> None:
        """Take a design; it may have to wait for its turn."""

    def next(self) -> tuple[int, Call] | None:
        """Return one outcome as soon as there is one; None if there is nothing to wait for."""

    def cancel_waiting(self) -> None:
        """Forget the designs whose call has not begun."""

    def abandon(self) -> None:
        """Forget everything; kill what can be killed."""

    def close(self) -> None:
        """Give up the workers."""


@dataclass(frozen=True)
class Executor:
    """A kind of ``workers=``."""

    description: str  # what the user passes, for messages
    accepts: Callable[[Any], bool]  # whether a value of ``workers=`` stands for this kind
    pool: Callable[[Any, Simulator, float | None], Pool]  # of that value; with a call's time limit
    stops_calls: bool = False  # from outside; otherwise a time limit is refused
    width: Callable[[Any], int | None] = lambda _: None  # calls at a time; None if nobody knows


class InProcess:
    """One call after the other, in this process."""

    def __init__(self, simulator: Simulator) -> None:
        self.size: int | None = 1
        self._simulator = simulator
        self._waiting: deque[tuple[int, Design]] = deque()

    def submit(self, key: int, design: Design) -> None:  # noqa: D102
        self._waiting.append((key, design))

    def next(self) -> tuple[int, Call] | None:  # noqa: D102
        if not self._waiting:
            return None
        key, design = self._waiting.popleft()
        return key, call(self._simulator, design)

    def cancel_waiting(self) -> None:  # noqa: D102
        self._waiting.clear()

    abandon = cancel_waiting

    def close(self) -> None:  # noqa: D102
        self.abandon()
        watchdog.rest()


class Futures:
    """The pool of an executor with ``submit``: threads, `concurrent.futures`, mpi4py, Dask.

    ``submit`` takes a design and returns a future with ``result``, ``cancel`` and
    ``add_done_callback``. ``close`` is called at the end, and does nothing for an executor that
    belongs to the user; ``abandoned`` is called when calls under way are given up.
    """

    def __init__(
        self,
        submit: Callable[[Design], Any],
        close: Callable[[], object] = lambda: None,
        abandoned: Callable[[], object] = lambda: None,
        size: int | None = None,
    ) -> None:
        self.size = size
        self._submit, self._close, self._abandoned = submit, close, abandoned
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._open: dict[int, Any] = {}

    def submit(self, key: int, design: Design) -> None:  # noqa: D102
        try:
            future = self._submit(design)
        except Exception as error:
            raise ExecutorError(
                f"The executor takes no more work ({type(error).__name__}: {error}). Finished "
                "calls are kept; with a journal, resume with another executor."
            ) from error
        self._open[key] = future
        future.add_done_callback(lambda done: self._finished.put((key, done)))

    def next(self) -> tuple[int, Call] | None:  # noqa: D102
        while self._open:
            try:
                key, future = self._finished.get(timeout=HEED_SECONDS)
            except queue.Empty:
                self._waited()
                continue
            if key not in self._open or self._open[key] is not future:
                continue
            del self._open[key]
            try:
                return key, future.result()
            except CancelledError:
                continue
            except ExecutorError:
                raise
            except Exception as error:
                message = f"the executor lost the call ({type(error).__name__}: {error})"
                return key, Call(CallStatus.LOST, message=message)
        return None

    def _waited(self) -> None:
        """Look around after a while in which nothing ended; raise if nothing will."""

    def cancel_waiting(self) -> None:  # noqa: D102
        for key, future in list(self._open.items()):
            with contextlib.suppress(Exception):  # of an executor that is closed already
                if future.cancel():
                    self._open.pop(key, None)

    def abandon(self) -> None:  # noqa: D102
        self.cancel_waiting()
        if self._open:
            self._abandoned()
        self._open.clear()

    def close(self) -> None:  # noqa: D102
        self.abandon()
        self._close()
        watchdog.rest()


def _thread_count(workers: Any) -> int:
    """Return N of ``"threads:N"``, else 0."""
    match = re.fullmatch(r"threads:(\d+)", workers) if isinstance(workers, str) else None
    return int(match[1]) if match else 0


def _threads(workers: Any, simulator: Simulator, timeout: float | None) -> Futures:
    """Return a pool of threads, for simulators that wait for something else."""
    count, me = _thread_count(workers), object()
    executor = ThreadPoolExecutor(count, thread_name_prefix="archeng")

    def owned_call(design: Design) -> Call:
        owner.set(me)
        return call(simulator, design)

    return Futures(
        lambda design: executor.submit(owned_call, design),
        lambda: executor.shutdown(wait=False, cancel_futures=True),
        lambda: kill_trees(me),  # a thread cannot be stopped, the program it waits for can
        count,
    )


def _of_the_user(workers: Any, simulator: Simulator, timeout: float | None) -> Futures:
    """Return a pool around the user's own executor, which stays open afterwards."""
    return Futures(
        lambda design: workers.submit(call, simulator, design), size=_most_workers(workers)
    )


def _most_workers(workers: Any) -> int | None:
    """Return how many calls an executor of `concurrent.futures` makes at a time."""
    count = getattr(workers, "_max_workers", None)
    return count if isinstance(count, int) else None


IN_PROCESS = Executor(
    "None", lambda workers: workers is None, lambda workers, simulator, _: InProcess(simulator)
)
THREADS = Executor(
    '"threads:N"', lambda workers: _thread_count(workers) >= 1, _threads, width=_thread_count
)
OF_THE_USER = Executor(
    "an executor with submit()",
    lambda workers: callable(getattr(workers, "submit", None)),
    _of_the_user,
    width=_most_workers,
)
