"""From ``workers=`` to a pool, and the loop that repeats calls as the policy says."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from archeng.checks import shown
from archeng.errors import SettingsError
from archeng.known import Limits
from archeng.simulator.call import Call, Simulator, checked
from archeng.simulator.dask_pool import dask_pool, is_dask
from archeng.simulator.design import Design
from archeng.simulator.policy import FailurePolicy
from archeng.simulator.pools import InProcess, Pool, foreign, threads
from archeng.simulator.processes import Processes

logger = logging.getLogger("archeng")


def make_pool(workers: Any, simulator: Simulator, timeout: float | None) -> Pool:
    """Return the pool that ``workers=`` stands for.

    Raises
    ------
    SettingsError
        If it stands for none, or calls there cannot be stopped after ``timeout``.
    """
    if workers is None and timeout is not None:
        workers = 1  # only another process can be stopped
    if workers is None:
        return InProcess(simulator)
    count = process_count(workers)
    if count >= 1:
        return Processes(simulator, count, timeout)
    if timeout is not None:
        raise SettingsError(
            f"timeout needs worker processes (workers=N); with workers={workers!r} a call cannot "
            "be stopped from outside. Put the time limit into the simulator, as "
            "CommandSimulator(timeout=) does."
        )
    match = re.fullmatch(r"threads:(\d+)", workers) if isinstance(workers, str) else None
    if match and int(match[1]) >= 1:
        return threads(simulator, int(match[1]))
    if is_dask(workers):
        return dask_pool(simulator, workers)
    if callable(getattr(workers, "submit", None)):
        return foreign(simulator, workers)
    raise SettingsError(
        'workers must be a number of processes (-1: one per core), "threads:N", an executor '
        "with submit(), a Dask client, or the address of a Dask scheduler; got "
        f"{shown(workers)}."
    )


def process_count(workers: Any) -> int:
    """Return the number of processes that ``workers=`` asks for on this machine, else 0."""
    if not isinstance(workers, Integral) or isinstance(workers, bool):
        return 0
    return (os.cpu_count() or 1) if workers == -1 else max(int(workers), 0)


class Evaluator:
    """Simulates the designs of one generation after the other on a pool.

    Parameters
    ----------
    pool : Pool
    policy : FailurePolicy
    limits : Limits
        Of the constraints whose values every answer must have.
    """

    def __init__(self, pool: Pool, policy: FailurePolicy, limits: Limits | None = None) -> None:
        self._pool, self._policy = pool, policy
        self._limits = limits or Limits()
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
                if not self._stopping:
                    yield from self._outcomes(dict(group))
        finally:
            self._pool.abandon()

    def _outcomes(self, designs: Mapping[int, Design]) -> Generator[tuple[int, Call], None, None]:
        attempts: dict[int, int] = {}
        for key, design in designs.items():
            self._pool.submit(key, design)
        while (finished := self._pool.next()) is not None:
            key, outcome = finished
            attempts[key] = attempts.get(key, 0) + 1
            outcome = checked(replace(outcome, attempts=attempts[key]), self._limits)
            if self._policy.again(outcome) and not self._stopping:
                logger.info("call %s, repeated: %s", outcome.status, outcome.summary)
                self._pool.submit(key, designs[key])
            else:
                yield key, outcome

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
