"""SciPy's methods with differences of the total: objective and simulated constraints.

Set-up. Both in the unit cube: the derivatives of objective and simulated constraints are forward
differences (n calls together, the same for both), those of the explicit constraints are exact.
SLSQP gets the objective divided by its first value, trust-constr as it is: README.md has the counts
behind that. Simulated constraints are divided by the size of their limit, or of their first value.
A failed call gives the worst objective so far and constraints far outside. Both begin again from
the next feasible design when they have converged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from case_studies.greybox.definition import Floats
from case_studies.greybox.trial import Trial
from case_studies.peers.adapters.scipy_local import INSIDE, RADIUS, unit_rows

Value = TypeVar("Value", float, Floats)

FAR = 1e3
"""Sizes by which a failed call violates the simulated constraints."""


def trust_constr(trial: Trial) -> None:
    """Run trust-constr from one start after the other."""
    _with_differences(trial, "trust-constr", {"initial_tr_radius": RADIUS}, 1.0)


def slsqp(trial: Trial) -> None:
    """Run SLSQP from one start after the other."""
    _with_differences(trial, "SLSQP", {"ftol": 1e-12, "maxiter": 1000})


def _with_differences(
    trial: Trial, method: str, options: dict[str, float], size: float | None = None
) -> None:
    """Run a method; the objective is divided by ``size``, by default its first value."""
    total = Total(trial)
    size = total.size if size is None else size
    constraints = unit_rows(trial)
    if total.m:
        constraints.append(
            NonlinearConstraint(
                lambda u: total.rows(trial.from_unit(u)),
                total.lower,
                total.upper,
                jac=lambda u: total.slopes(u)[1:] / total.sizes[:, None],
            )
        )
    for x0 in trial.starts():
        minimize(
            lambda u: total.objective(trial.from_unit(u)) / size,
            np.clip(trial.to_unit(x0), INSIDE, 1 - INSIDE),
            jac=lambda u: total.slopes(u)[0] / size,
            method=method,
            bounds=Bounds(np.zeros(trial.n), np.ones(trial.n), keep_feasible=True),
            constraints=constraints,
            options=options,
        )


class Total:
    """Objective and simulated constraints of a trial, scaled; failed calls are replaced."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        low, high, self.sizes = trial.limits()
        self.lower, self.upper, self.m = low / self.sizes, high / self.sizes, len(low)
        self._worst = float(trial.total(trial.start)[0])
        self.size = abs(self._worst) or 1.0
        self._outside = np.where(np.isfinite(self.upper), self.upper + FAR, self.lower - FAR)

    def objective(self, x: Floats) -> float:
        """Objective at a design."""
        value = self._guarded(lambda: float(self._trial.total(x)[0]), self._worst)
        self._worst = max(self._worst, value)
        return value

    def rows(self, x: Floats) -> Floats:
        """Values (m,) of the simulated constraints over their sizes."""
        return self._guarded(lambda: self._trial.total(x)[1:] / self.sizes, self._outside)

    def slopes(self, u: Floats) -> Floats:
        """Differences (1 + m, n); zero if a call fails."""
        nothing = np.zeros((1 + self.m, self._trial.n))
        return self._guarded(lambda: self._trial.slopes(np.asarray(u, dtype=float)), nothing)

    def _guarded(self, function: Callable[[], Value], otherwise: Value) -> Value:
        self._trial.objective.tick()
        try:
            found = function()
        except Exception:
            return otherwise
        return found if np.all(np.isfinite(found)) else otherwise
