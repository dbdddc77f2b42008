"""archeng and penalty methods on the fuel blend: the rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import archeng
from case_studies.fuel_blend.gases import gases
from case_studies.fuel_blend.limits import exceeded, limits
from case_studies.fuel_blend.model import build_model
from case_studies.fuel_blend.simulator import Furnace, FurnaceOutputs, HeatCost, blend_cost
from case_studies.shared.comparison import MethodRun
from case_studies.shared.forms import METHODS as FORMS
from case_studies.shared.forms import Form
from case_studies.shared.other_methods import Claim, cma_with_penalty, slsqp
from case_studies.shared.referee import Design, Watched

WEIGHTS = (1e1, 1e2, 1e3, 1e4)
"""Of the penalty, in EUR/GJ for a violation by 100 %."""

RESTARTS = 3
FAILED = 1e3  # EUR/GJ for a call that raises; none does


@dataclass(frozen=True, kw_only=True)
class Run(MethodRun):
    """One run of one method; the limits that are broken are those of the real blend.

    Attributes
    ----------
    failures : int
        Calls that raised.
    total : float
        Sum of the fractions of the design that the method ends with.
    blended, heating_value : float
        Cost of that blend, and MJ/m3, when its fractions are made to add up. It breaks limits that
        it then exceeds by more than 1e-5 of them.
    """

    failures: int
    total: float
    blended: float
    heating_value: float


def solved(
    seed: int,
    calls: int,
    progress: Callable[[object], None] | None = None,
    form: Form = "grey",
) -> tuple[Run, archeng.Result]:
    """Run archeng with restarts until the budget is used up or they are."""
    if form == "grey":
        watched = Watched(FurnaceOutputs(), exceeded, by_outputs)
    else:
        watched = Watched(HeatCost(), exceeded)
    result = archeng.solve(
        build_model(form=form),
        watched,
        max_evaluations=calls,
        restarts=RESTARTS,
        seed=seed,
        callback=progress,
    )
    design = {name: float(result.design[name]) for name in result.design}
    return _run(FORMS[form], seed, watched, Claim(design, result.fun, 0.0)), result


def archeng_run(form: Form, seed: int, calls: int) -> Run:
    """Run archeng in a form and return its row."""
    return solved(seed, calls, form=form)[0]


def by_outputs(design: Design, found: Mapping[str, float]) -> float:
    """Return the cost of what the simulator of the grey form returned."""
    f = Furnace()
    fractions = [float(design[g.name]) for g in gases()]
    fuel = f.volume_flow * sum(blend_cost(fractions, [g.price for g in gases()], f.allowance))
    emissions = f.nox_charge * found["NOx"] + f.monoxide_charge * found["CO"]
    return float((fuel + emissions) / found["heat"])


def penalty_run(
    method: str,
    weight: float,
    seed: int,
    calls: int,
    before: Callable[[Design], dict[str, float]] | None = None,
) -> Run:
    """Run CMA-ES with a quadratic penalty on all rows, of the design that ``before`` makes."""
    watched = Watched(HeatCost(), exceeded)
    claim = cma_with_penalty(
        build_model(form="black"),
        watched,
        weight=weight,
        calls=calls,
        seed=seed,
        failed=FAILED,
        before=before,
    )
    return _run(method, seed, watched, claim)


def slsqp_run(seed: int) -> Run:
    """Run SLSQP from one legal design until it ends by itself."""
    model, watched = build_model(form="black"), Watched(HeatCost(), exceeded)
    start = archeng.sample_feasible(model, 1, seed=seed)[0]
    value, design = slsqp(model, watched, start, failed=FAILED)
    return _run("SLSQP", seed, watched, Claim(design, value, 0.0))


def without_the_sum(seed: int, calls: int) -> Run:
    """Run archeng without the equality: the best that the simulator claims off the simplex."""
    watched = Watched(HeatCost(), exceeded)
    model = build_model(adds_up=False, form="black")
    result = archeng.solve(model, watched, max_evaluations=calls, restarts=RESTARTS, seed=seed)
    design = {name: float(result.design[name]) for name in result.design}
    return _run("archeng without the sum", seed, watched, Claim(design, result.fun, 0.0))


def total(design: Design) -> float:
    """Sum of the fractions."""
    return sum(float(design[g.name]) for g in gases())


def normalised(design: Design) -> dict[str, float]:
    """Return the design with fractions that add up to one: what really comes out of the pipes."""
    whole = total(design)
    fractions = {g.name: float(design[g.name]) / whole for g in gases()}
    return {**{name: float(design[name]) for name in design}, **fractions}


def _run(method: str, seed: int, watched: Watched, claim: Claim) -> Run:
    real = normalised(claim.design)
    return Run(
        method=method,
        seed=seed,
        calls=watched.n_calls,
        illegal=watched.n_illegal,
        failures=sum(watched.failures.values()),
        claimed=claim.value,
        total=total(claim.design),
        blended=HeatCost()(real),
        heating_value=limits(real)["heating value (MJ/m3)"][0],
        broken=exceeded(real, slack=1e-5),
        best=watched.best,
    )


METHODS: dict[str, Callable[[int, int], Run]] = {
    **{name: partial(archeng_run, form) for form, name in FORMS.items()},
    **{f"penalty {w:g}": partial(penalty_run, f"penalty {w:g}", w) for w in WEIGHTS},
    "normalised": partial(penalty_run, "normalised", 1e3, before=normalised),
    "SLSQP": lambda seed, calls: slsqp_run(seed),
}
"""Functions of a seed and the number of calls."""
