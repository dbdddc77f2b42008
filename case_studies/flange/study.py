"""One seed of the case study, and what is kept of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import archeng
from case_studies.flange.model import build_model
from case_studies.flange.rules import Parts
from case_studies.flange.simulator import RingModel
from case_studies.shared.seeds import SeedRecord, improvements

RESTARTS = 1000  # as many as the calls allow


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    """What came of one seed; the objective is the least cost of a design within all limits.

    Attributes
    ----------
    cost : float
        Of the best design, in euros.
    holds : bool
        Whether all simulated limits hold there.
    calls, failed, illegal : int
        Calls of the ring model, those that it could not answer, and those that the referee of
        :mod:`case_studies.flange.rules` finds illegal.
    restarts : int
    seconds : float
    stopped : str
    design : dict
        The best design, by the names of its parts.
    """

    cost: float
    holds: bool
    calls: int
    failed: int
    illegal: int
    restarts: int
    seconds: float
    stopped: str
    design: dict[str, Any]


@cache
def reference() -> dict[str, Any]:
    """Return the best design by exhaustion."""
    path = Path(__file__).with_name("reference.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def run_seed(
    seed: int, calls: int, callback: Callable[[archeng.Run], None] | None = None
) -> Record:
    """Search with one seed.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted; what it had found is no record.
    """
    begin = time.perf_counter()
    simulator = RingModel()
    result = archeng.solve(
        build_model(),
        simulator,
        max_evaluations=calls,
        seed=seed,
        restarts=RESTARTS,
        callback=callback,
    )
    if result.stop_reason is archeng.StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return Record(
        seed=seed,
        cost=result.fun,
        holds=all(s.holds for s in result.simulated),
        calls=simulator.n_calls,
        failed=sum(not e.good for e in result.evaluations),
        illegal=simulator.n_illegal,
        restarts=result.history[-1].restart,
        seconds=time.perf_counter() - begin,
        stopped=result.message,
        design=asdict(Parts.of(result.design)),
        curve=improvements((e.objective, e.acceptable) for e in result.evaluations),
    )
