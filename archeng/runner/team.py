"""`RepairTeam`: the repairs of a generation on several cores, where that pays.

Measured on two cores (``make bench-runtime``): repairs of 4 ms are 1.3 times as fast in threads and
1.65 times in processes, repairs of 0.1 s 1.9 and 1.8 times; CasADi's own parallel map, which could
only evaluate rows, 1.4 times. So: processes, once repairs are slow enough to pay for sending.
The repairs are pure functions, so the answers do not depend on who computes them.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from archeng.distribution import Distribution, Floats
from archeng.errors import ArchengError
from archeng.model import FeasibleSet
from archeng.repair import Repair, Repairer, make_repairer
from archeng.settings import Settings
from archeng.simulator import Call, Workers

logger = logging.getLogger("archeng")

_SLOW_REPAIR = 5e-3  # seconds; below it, sending points to a worker costs more than it saves
_PATIENCE = 5.0  # seconds of repairs before workers are started


class RepairTeam:
    """Repairs whole generations, alone or with worker processes.

    ``count`` of them may be started; fewer than 2 means none.
    """

    def __init__(self, repairer: Repairer, count: int) -> None:
        self._repairer, self._count = repairer, count
        self._workers: Workers | None = None
        self._seconds, self._repairs = 0.0, 0

    def repair_all(
        self, points: Floats, distribution: Distribution, anchor: Floats | None
    ) -> list[Repair]:
        """Repair points (k, n), each as :meth:`Repairer.repair` would."""
        if self._workers is not None:
            return self._shared(points, distribution, anchor)
        begin = time.perf_counter()
        repairs = self._repairer.repair_all(points, distribution, anchor)
        self._seconds += time.perf_counter() - begin
        self._repairs += len(points)
        slow = self._seconds > max(_PATIENCE, _SLOW_REPAIR * self._repairs)
        if self._count >= 2 and slow:
            self._hire()
        return repairs

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def _hire(self) -> None:
        r = self._repairer
        task = _RepairTask(r.feasible_set, r.settings, r.around)
        try:
            self._workers = Workers(task, self._count)
        except ArchengError as error:  # parts of the model cannot be sent
            logger.info("repairs stay in one process: %s", error)
            self._count = 0

    def _shared(
        self, points: Floats, distribution: Distribution, anchor: Floats | None
    ) -> list[Repair]:
        """Deal the points out to the workers; whatever they do not return is done here."""
        assert self._workers is not None
        results: dict[int, Repair] = {}
        dependents = self._repairer.feasible_set.dependents
        start = () if dependents is None else (dependents.anchor,)
        for k in range(min(self._count, len(points))):
            self._workers.submit(k, (points[k :: self._count], distribution, anchor, *start))
        try:
            while (finished := self._workers.next()) is not None:
                k, repairs = finished
                if isinstance(repairs, Call):
                    logger.warning("a repair worker failed: %s", repairs.message)
                else:
                    results.update(zip(range(k, len(points), self._count), repairs, strict=True))
        finally:
            self._workers.abandon()  # after Ctrl-C, no answer may be taken for another's
        return [
            results[i] if i in results else self._repairer.repair(point, distribution, anchor)
            for i, point in enumerate(points)
        ]


class _RepairTask:
    """What a worker computes; its repairer is compiled on first use."""

    def __init__(
        self, feasible_set: FeasibleSet, settings: Settings, around: Distribution | None
    ) -> None:
        self._about = feasible_set, settings, around
        self._repairer: Repairer | None = None

    def __call__(self, argument: tuple[Any, ...]) -> list[Repair]:
        points, distribution, anchor, *start = argument
        if self._repairer is None:
            self._repairer = make_repairer(*self._about)
        dependents = self._repairer.feasible_set.dependents
        if dependents is not None and start:
            dependents.move(*start)
        return self._repairer.repair_all(points, distribution, anchor)
