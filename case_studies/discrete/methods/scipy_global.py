"""SciPy's differential evolution with ``integrality``.

Set-up. Population and strategy by default; rows as a ``NonlinearConstraint``, so that it calls f at
feasible designs only. It is not polished, since this would call f at infeasible designs, and
converges to 1e-4 instead of 1e-2, without which it often stops before the target. When it has
converged it begins again with another seed. A category is the number of its row.

Decided by five seeds each on the pressure vessel, the gear train, the cantilever and the spring:
1e-2, 1e-4 and 1e-8, polished at 1e-2 (infeasible designs penalised), ``rand1bin``. None solves
the gear train in most runs; 1e-4 has the least calls on the others, or as few as another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from case_studies.discrete.trial import Trial

CONVERGED = 1e-4
"""Relative spread of the population at which it stops."""


def solve(trial: Trial) -> None:
    """Run it with one seed after the other."""
    rows: list[Any] = []
    if trial.constraints.n_excess:
        rows = [optimize.NonlinearConstraint(trial.constraints.excess, -np.inf, 0.0)]
    while True:
        optimize.differential_evolution(
            trial.objective.finite,
            optimize.Bounds(trial.lower, trial.upper),
            integrality=trial.discrete,
            constraints=rows,
            polish=False,
            tol=CONVERGED,
            rng=trial.new_seed(),
        )
