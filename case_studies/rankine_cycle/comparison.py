"""archeng and other methods on the Rankine cycle: rows of the table, a census of the box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import archeng
from case_studies.rankine_cycle.limits import BOUNDS, exceeded
from case_studies.rankine_cycle.model import build_model
from case_studies.rankine_cycle.plant import PLANT, cost_per_power
from case_studies.rankine_cycle.simulator import CycleOutputs, SpecificCost
from case_studies.shared.comparison import MethodRun
from case_studies.shared.forms import METHODS as FORMS
from case_studies.shared.forms import Form
from case_studies.shared.other_methods import cma_with_penalty, evolution, slsqp
from case_studies.shared.referee import Watched

WEIGHTS = (1e4, 1e6)
"""Of the penalty, in $/kW for a violation by 100 %."""

FAILED = 1e5  # $/kW for a call that raises


@dataclass(frozen=True, kw_only=True)
class Run(MethodRun):
    """One run of one method.

    Attributes
    ----------
    failed : int
        Calls that raised.
    failures : dict
        These calls by their exception.
    """

    failed: int
    failures: dict[str, int] = field(repr=False)


def solved(
    seed: int,
    calls: int,
    progress: Callable[[object], None] | None = None,
    form: Form = "grey",
) -> tuple[Run, archeng.Result]:
    """Run archeng."""
    if form == "grey":
        watched = Watched(CycleOutputs(), exceeded, by_outputs)
    else:
        watched = Watched(SpecificCost(), exceeded)
    result = archeng.solve(
        build_model(form=form), watched, max_evaluations=calls, seed=seed, callback=progress
    )
    return _run(FORMS[form], seed, watched, result.fun, exceeded(result.design)), result


def archeng_run(form: Form, seed: int, calls: int) -> Run:
    """Run archeng in a form and return its row."""
    return solved(seed, calls, form=form)[0]


def by_outputs(design: Mapping[str, float], found: Mapping[str, list[float]]) -> float:
    """Return the specific cost of what the simulator of the grey form returned."""
    flows = float(design["working fluid"]), float(design["cooling water"])
    return float(cost_per_power(PLANT, flows, found["work"], found["area"], PLANT.wells))


def penalty_run(method: str, weight: float, guarded: bool, seed: int, calls: int) -> Run:
    """Run CMA-ES with a quadratic penalty on all rows."""
    watched = Watched(Guarded() if guarded else SpecificCost(), exceeded)
    claim = cma_with_penalty(
        build_model(form="black"), watched, weight=weight, calls=calls, seed=seed, failed=FAILED
    )
    return _run(method, seed, watched, claim.value, exceeded(claim.design))


def evolution_run(seed: int, calls: int) -> Run:
    """Run differential evolution, which asks the rows first."""
    watched = Watched(SpecificCost(), exceeded)
    evolution(build_model(form="black"), watched, calls=calls, seed=seed, failed=FAILED)
    return _run("differential evolution", seed, watched, watched.best[-1], [])


def slsqp_run(seed: int) -> Run:
    """Run SLSQP from one legal design until it ends by itself."""
    model, watched = build_model(form="black"), Watched(SpecificCost(), exceeded)
    start = archeng.sample_feasible(model, 1, seed=seed)[0]
    value, design = slsqp(model, watched, start, failed=FAILED)
    return _run("SLSQP", seed, watched, value, exceeded(design, slack=1e-6))


class Guarded(SpecificCost):
    """The simulator with the check that people add after the first surprise."""

    def __call__(self, design: Mapping[str, float]) -> float:
        """Return the specific cost; raise if the plant takes more power than it makes."""
        value = super().__call__(design)
        if value <= 0:
            raise ArithmeticError("net power is negative")
        return value


def census(n: int, seed: int = 0) -> Counter[str]:
    """Say what the simulator does at random designs of the box: what it raises, or returns."""
    rng = np.random.default_rng(seed)
    low, high = np.array(list(BOUNDS.values())).T
    watched, answers = Watched(SpecificCost(), exceeded), Counter[str]()
    for _ in range(n):
        design = dict(zip(BOUNDS, rng.uniform(low, high).tolist(), strict=True))
        illegal = watched.n_illegal
        try:
            value = watched(design)
        except Exception:
            continue
        if watched.n_illegal == illegal:
            answers["a number, legal design"] += 1
        elif value < 0:
            answers["a negative cost, illegal design"] += 1
        else:
            answers["a number, illegal design"] += 1
    return answers + watched.failures


def _run(method: str, seed: int, watched: Watched, claimed: float, broken: list[str]) -> Run:
    return Run(
        method=method,
        seed=seed,
        calls=watched.n_calls,
        illegal=watched.n_illegal,
        failed=sum(watched.failures.values()),
        claimed=claimed,
        broken=broken,
        failures=dict(watched.failures),
        best=watched.best,
    )


METHODS: dict[str, Callable[[int, int], Run]] = {
    **{name: partial(archeng_run, form) for form, name in FORMS.items()},
    **{f"penalty {w:g}": partial(penalty_run, f"penalty {w:g}", w, False) for w in WEIGHTS},
    "guarded penalty 1e+06": partial(penalty_run, "guarded penalty 1e+06", 1e6, True),
    "differential evolution": evolution_run,
    "SLSQP": lambda seed, calls: slsqp_run(seed),
}
"""Functions of a seed and the number of calls."""
