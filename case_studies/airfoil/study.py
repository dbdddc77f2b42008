"""One seed of the case study, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import archeng
from case_studies.airfoil.cases import CASES, CHECK_NETWORK, simulated_limits
from case_studies.airfoil.model import build_model
from case_studies.airfoil.sections import trimmed
from case_studies.airfoil.simulator import build_simulator, kulfan
from case_studies.shared.forms import Form
from case_studies.shared.seeds import SeedRecord, improvements


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
    form : {"grey", "direct", "black"}
        What the simulator returns.
    """

    case: str
    calls: int
    plain: bool = False
    may_stop: bool = False
    form: Form = "grey"


@dataclass(frozen=True, kw_only=True)
class Record(SeedRecord):
    """What came of one seed.

    Attributes
    ----------
    objective : float
        Of the best design that satisfies everything: drag in counts, or lift over drag; NaN if
        there is none.
    check_objective : float
        The same section by the largest network, at its own best angles; NaN if that one sees it
        stall, or is not confident.
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
    """

    objective: float
    check_objective: float
    calls: int
    infeasible_calls: int
    violating_calls: int
    active: list[str]
    simulated: dict[str, float]
    seconds: float
    simulator_seconds: float
    stopped: str
    design: dict[str, Any]


def run_seed(
    setup: Setup, seed: int, callback: Callable[[archeng.Run], None] | None = None
) -> Record:
    """Search with one seed."""
    case = CASES[setup.case]
    simulator = build_simulator(case, setup.form)
    limits = {"simulated": simulated_limits(case), "sense": case.sense}
    begin = time.perf_counter()
    result = archeng.solve(
        build_model(case, setup.form),
        simulator,
        **(limits if setup.form == "black" else {}),
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
        objective=result.fun if found else np.nan,
        check_objective=np.nan if check is None else check.objective,
        calls=simulator.n_calls,
        infeasible_calls=simulator.n_infeasible,
        violating_calls=sum(bool(e.violated) for e in result.evaluations),
        active=result.active,
        simulated={s.name: s.value for s in result.simulated},
        seconds=seconds,
        simulator_seconds=sum(e.seconds for e in result.evaluations),
        stopped=result.message,
        design={v.name: np.asarray(result.design[v.name]).tolist() for v in result.variables},
        curve=improvements(((e.objective, e.acceptable) for e in result.evaluations), case.sign),
    )
