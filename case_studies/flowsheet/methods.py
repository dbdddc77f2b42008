"""What is compared: archeng, archeng in all variables, IPOPT with finite differences of the cost.

A method is a function of a `Trial`; it begins with the Pyomo model as its author left it, and calls
``trial.simulator``. What it returns says why it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

import archeng
from archeng.settings import Settings
from case_studies.flowsheet.judge import EDGE, ROUNDING, Verdict
from case_studies.flowsheet.referee import Floats, Formulas, formulas
from case_studies.flowsheet.trial import Ended, Trial

STEP = float(np.sqrt(np.finfo(float).eps))
"""Of a finite difference, relative to the variable (at least 1)."""


def searched(trial: Trial, model: Any, **options: Any) -> Ended:
    """Run archeng without a target, so that it has to find out by itself that it is over."""
    result = archeng.solve(
        model,
        trial.simulator,
        seed=trial.seed,
        max_evaluations=trial.budget,
        max_time=trial.seconds,
        **options,
    )
    claims = result.status is archeng.Status.CONVERGED
    return Ended(result.stop_reason.name, claims, result.n_infeasible_calls)


def default(trial: Trial) -> Ended:
    """Run archeng as it is."""
    return searched(trial, trial.problem.build())


def named(trial: Trial) -> Ended:
    """Run archeng with the independent variables that an engineer would name."""
    return searched(trial, trial.problem.build(), independent=list(trial.problem.independent))


def in_all(trial: Trial) -> Ended:
    """Run archeng in all variables."""
    return searched(trial, trial.problem.build(), settings=Settings(elimination="never"))


class _Slopes(ca.Callback):  # type: ignore[misc]
    """Forward differences of a black box, by one call for each variable."""

    def __init__(self, cost: Callable[[Floats], float], box: tuple[Floats, Floats]) -> None:
        ca.Callback.__init__(self)
        self._cost, self._upper, self._n = cost, box[1], len(box[0])
        self.construct("slopes", {})

    def get_n_in(self) -> int:
        return 2  # x, and the value there

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._n if i == 0 else 1, 1)

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(1, self._n)

    def eval(self, arguments: Any) -> Any:
        x, f = arguments[0].full().reshape(-1), float(arguments[1])
        slopes = np.empty(self._n)
        for k in range(self._n):
            step = STEP * max(1.0, abs(x[k]))
            near = x.copy()
            near[k] += step if x[k] + step <= self._upper[k] else -step
            slopes[k] = (self._cost(near) - f) / (near[k] - x[k])
        return [ca.DM(slopes).T]


class _Cost(ca.Callback):  # type: ignore[misc]
    """A black box as a CasADi function."""

    def __init__(self, cost: Callable[[Floats], float], box: tuple[Floats, Floats]) -> None:
        ca.Callback.__init__(self)
        self._cost, self._n, self._slopes = cost, len(box[0]), _Slopes(cost, box)
        self.construct("cost", {})

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._n, 1)

    def eval(self, arguments: Any) -> Any:
        return [self._cost(arguments[0].full().reshape(-1))]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, *_: Any) -> Any:
        return self._slopes


def ipopt(trial: Trial) -> Ended:
    """Run IPOPT on all variables: exact slopes of the rows, differences of f, no Hessian."""
    given = formulas(trial.problem)
    rows = ca.Function("rows", [given.x], [given.g])
    trial.names, trial.look = given.names, _look(given, rows, trial.allowed)
    x = ca.MX.sym("x", len(given.names))
    cost = _Cost(trial.at, given.box)
    options = {
        "print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "tol": 1e-6,
        "bound_relax_factor": 0.0, "max_iter": 3000,
    }  # fmt: skip
    solver = ca.nlpsol(
        "method",
        "ipopt",
        {"x": x, "f": cost(x), "g": rows(x)},
        {
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "ipopt": options,
        },
    )
    (low, high), (lower, upper) = given.box, given.limits
    start = trial.scattered(given.start, low, high)
    solver(x0=start, lbx=low, ubx=high, lbg=lower, ubg=upper)
    status = str(solver.stats()["return_status"])
    if trial.wall > trial.seconds:  # the cost has become NaN
        return Ended("time", False, None)
    return Ended(status, status == "Solve_Succeeded", None)


def _look(given: Formulas, rows: Any, allowed: Mapping[str, float]) -> Callable[[Floats], Verdict]:
    """Return a judge by the formulas that Pyomo wrote: differences are too many for Pyomo."""
    low, high = given.limits
    limit = np.where(np.isfinite(low), low, high)
    slack = ROUNDING * np.maximum(1.0, np.abs(limit))
    for k in np.flatnonzero(given.equality):
        slack[k] = EDGE * allowed[given.rows[k]]

    def look(x: Floats) -> Verdict:
        g = rows(x).full().reshape(-1)
        off = np.maximum(low - g, g - high)
        over = np.maximum(given.box[0] - x, x - given.box[1])
        bad = [given.rows[k] for k in np.flatnonzero(~(off <= slack))]
        bad += [f"bounds of {given.names[k]}" for k in np.flatnonzero(over > 0)]
        residual, excess = off[given.equality].max(), np.append(off[~given.equality], over).max()
        return Verdict(tuple(bad[:1]), max(float(residual), 0.0), max(float(excess), 0.0))

    return look


METHODS: dict[str, Callable[[Trial], Ended]] = {
    "archeng": default,
    "archeng-all": in_all,
    "ipopt-fd": ipopt,
    "archeng-named": named,
}
AT_ONCE = ("ipopt-fd",)
"""Those with too many calls to keep, which are judged as they are made."""
USUAL = ("archeng", "archeng-all", "ipopt-fd")
"""Those that run unless others are asked for."""
