"""The evaluation of a generation: on which pool, and what about calls that do not end well."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from archeng.checks import is_integer, shown
from archeng.errors import SettingsError
from archeng.simulator.asked import Asked
from archeng.simulator.call import Call, CallStatus, Simulator
from archeng.simulator.dask_pool import DASK
from archeng.simulator.design import Design
from archeng.simulator.pools import IN_PROCESS, OF_THE_USER, THREADS, Executor, Pool
from archeng.simulator.processes import PROCESSES

logger = logging.getLogger("archeng")

EXECUTORS: tuple[Executor, ...] = (IN_PROCESS, PROCESSES, THREADS, DASK, OF_THE_USER)
"""Kinds of ``workers=``; the first one that accepts a value has it."""

OnFailure = Literal["rank_last", "raise"]

_RETRIED = (CallStatus.FAILED, CallStatus.INVALID, CallStatus.TIMED_OUT, CallStatus.LOST)
_DEFAULT_RETRIES = {CallStatus.LOST: 1}  # repetitions, without retries=


def check_workers(name: str, value: Any) -> Any:
    """Return a value of ``workers=``, or raise if no executor accepts it."""
    _executor(name, value)
    return value


def _executor(name: str, value: Any) -> Executor:
    for executor in EXECUTORS:
        if executor.accepts(value):
            return executor
    kinds = ", ".join(kind.description for kind in EXECUTORS if kind is not IN_PROCESS)
    raise SettingsError(f"{name} must be one of: {kinds}; got {shown(value)}.")


def declared_width(workers: Any) -> int:
    """Return how many calls ``workers=`` makes at a time; 1 if nobody knows."""
    return _executor("workers", workers).width(workers) or 1


def make_pool(workers: Any, simulator: Simulator, timeout: float | None) -> Pool:
    """Return the pool that ``workers=`` stands for.

    Raises
    ------
    SettingsError
        If it stands for none, or calls there cannot be stopped after ``timeout``.
    """
    if workers is None and timeout is not None:
        workers = 1  # only another process can be stopped
    executor = _executor("workers", workers)
    if timeout is not None and not executor.stops_calls:
        raise SettingsError(
            f"timeout needs worker processes (workers=N); with workers={shown(workers)} a call "
            "cannot be stopped from outside. Put the time limit into the simulator, as "
            "CommandSimulator(timeout=) does."
        )
    return executor.pool(workers, simulator, timeout)


@dataclass(frozen=True)
class FailurePolicy:
    """Seconds that one call may take, how often it is repeated, and when a run gives up.

    The run stops with an error when more calls than ``max_failures`` have failed for good. See
    :func:`archeng.solve`.
    """

    timeout: float | None = None
    retries: Mapping[CallStatus, int] = field(default_factory=lambda: dict(_DEFAULT_RETRIES))
    max_failures: int | None = None
    on_failure: OnFailure = "rank_last"

    def again(self, outcome: Call) -> bool:
        """Whether a call that ended so is to be repeated."""
        return outcome.attempts <= self.retries.get(outcome.status, 0)


def retry_counts(name: str, value: Any) -> dict[CallStatus, int]:
    """Return how often calls are repeated, by how they ended.

    One number holds for exceptions, time-outs and lost workers; a mapping has one for each state.
    """
    if value is None:
        return dict(_DEFAULT_RETRIES)
    if is_integer(value, 0):
        states = (CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.LOST)
        return {state: int(value) for state in states}
    words = [s.value for s in _RETRIED]
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"{name} must be a non-negative integer or a mapping from {words}, got {shown(value)}."
        )
    counts = dict(_DEFAULT_RETRIES)
    for state, count in value.items():
        if not isinstance(state, str) or state not in words or not is_integer(count, 0):
            raise SettingsError(
                f"{name}: {shown(state)}: {shown(count)} is not one of {words} with a "
                "non-negative integer."
            )
        counts[CallStatus(state)] = int(count)
    return counts


class Evaluator:
    """Simulates the designs of one generation after the other on a pool, or whatever is submitted.

    Every answer must be what is ``asked``.
    """

    def __init__(self, pool: Pool, policy: FailurePolicy, asked: Asked) -> None:
        self._pool, self._policy, self._asked = pool, policy, asked
        self._designs: dict[int, Design] = {}  # under way, by key
        self._attempts: dict[int, int] = {}
        self._stopping = False

    def simulate(
        self, designs: Sequence[tuple[int, Design]], first_alone: bool = False
    ) -> Generator[tuple[int, Call], None, None]:
        """Yield (key, outcome) for each (key, design), as they finish.

        ``first_alone``: the others begin when the first one has ended. Closing the iterator early
        kills or forgets what is still under way.
        """
        alone = 1 if first_alone else 0
        self._stopping = False
        try:
            for group in (designs[:alone], designs[alone:]):
                if self._stopping:
                    continue
                for key, design in group:
                    self.submit(key, design)
                while (finished := self.next()) is not None:
                    yield finished
        finally:
            self._pool.abandon()
            self._designs, self._attempts = {}, {}

    def submit(self, key: int, design: Design) -> None:
        """Take a design; it may have to wait for a worker."""
        self._designs[key], self._attempts[key] = design, 0
        self._pool.submit(key, design)

    def next(self) -> tuple[int, Call] | None:
        """Return the next (key, outcome) that is final; None if there is nothing to wait for."""
        while (finished := self._pool.next()) is not None:
            key, outcome = finished
            self._attempts[key] += 1
            counted = replace(outcome, attempts=self._attempts[key])
            outcome = self._asked.completed(counted, self._designs[key].x, self._designs[key].level)
            if self._policy.again(outcome) and not self._stopping:
                logger.info("call %s, repeated: %s", outcome.status, outcome.summary)
                self._pool.submit(key, self._designs[key])
            else:
                del self._designs[key], self._attempts[key]
                return key, outcome
        return None

    def cancel_waiting(self) -> None:
        """Begin no further call of this generation; those under way are still yielded."""
        self._stopping = True
        self._pool.cancel_waiting()

    @property
    def n_workers(self) -> int | None:
        """How many calls can run at a time; None if nobody knows."""
        return self._pool.size

    def close(self) -> None:
        """Give up the workers."""
        self._pool.close()
