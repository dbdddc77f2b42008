"""One seed of the case study, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import archeng
from case_studies.airfoil.cases import CASES, CHECK_NETWORK, simulated_limits
from case_studies.airfoil.model import build_model
from case_studies.airfoil.sections import trimmed
from case_studies.airfoil.simulator import SectionDrag, kulfan


@dataclass(frozen=True)
class Setup:
    """How the section is searched.

    Attributes
    ----------
    case : str
        Of `CASES`.
    calls : int
    plain : bool
        ARCH alone, without models of the simulator.
    may_stop : bool
        Whether the search may end by itself before the calls are used up.
    """

    case: str
    calls: int
    plain: bool = False
    may_stop: bool = False


@dataclass(frozen=True)
class Record:
    """What came of one seed.

    Attributes
    ----------
    drag : float
        Of the best design that satisfies everything, counts; NaN if there is none.
    check_drag : float
        The same section by the largest network, at its own best angles; NaN if that one sees it
        stall.
    calls, infeasible_calls : int
        As the simulator counted and judged them.
    violating_calls : int
        Calls that violated a simulated constraint.
    active : list of str
        Explicit constraints that are active at the best design.
    simulated : dict
        Values of the simulated constraints there.
    seconds, simulator_seconds : float
    stopped : str
    design : dict
    curve : list of (calls, counts)
        Least drag after so many calls.
    """

    seed: int
    drag: float
    check_drag: float
    calls: int
    infeasible_calls: int
    violating_calls: int
    active: list[str]
    simulated: dict[str, float]
    seconds: float
    simulator_seconds: float
    stopped: str
    design: dict[str, Any]
    curve: list[tuple[int, float]]

    def calls_to(self, drag: float) -> int | None:
        """Return after how many calls a design had at most this drag; None if never."""
        return next((calls for calls, best in self.curve if best <= drag), None)


def run_seed(
    setup: Setup, seed: int, callback: Callable[[archeng.Run], None] | None = None
) -> Record:
    """Search with one seed."""
    case = CASES[setup.case]
    simulator = SectionDrag(case)
    begin = time.perf_counter()
    result = archeng.solve(
        build_model(case),
        simulator,
        simulated=simulated_limits(case),
        max_evaluations=setup.calls,
        seed=seed,
        callback=callback,
        settings=archeng.Settings(
            surrogate="none" if setup.plain else "auto", stop_tests=setup.may_stop
        ),
    )
    seconds = time.perf_counter() - begin
    found = result.status is not archeng.Status.VIOLATING
    check = trimmed(kulfan(result.design), case, CHECK_NETWORK) if found else None
    return Record(
        seed=seed,
        drag=result.fun if found else np.nan,
        check_drag=np.nan if check is None else check.drag,
        calls=simulator.n_calls,
        infeasible_calls=simulator.n_infeasible,
        violating_calls=sum(bool(e.violated) for e in result.evaluations),
        active=result.active,
        simulated={s.name: s.value for s in result.simulated},
        seconds=seconds,
        simulator_seconds=sum(e.seconds for e in result.evaluations),
        stopped=result.message,
        design={v.name: np.asarray(result.design[v.name]).tolist() for v in result.variables},
        curve=improvements((e.objective, e.acceptable) for e in result.evaluations),
    )


def improvements(calls: Iterable[tuple[float, bool]]) -> list[tuple[int, float]]:
    """Return the steps (calls, best so far) over the calls that satisfy everything."""
    steps: list[tuple[int, float]] = []
    for k, (drag, acceptable) in enumerate(calls, start=1):
        if acceptable and (not steps or drag < steps[-1][1]):
            steps.append((k, drag))
    return steps
