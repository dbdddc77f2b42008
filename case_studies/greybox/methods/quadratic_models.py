"""COBYQA on the total, set up as in :mod:`case_studies.peers.adapters.quadratic_models`.

Simulated constraints and failed calls are treated as in :mod:`case_studies.greybox.methods.totals`.
"""

from __future__ import annotations

from cobyqa import minimize
from scipy.optimize import Bounds, NonlinearConstraint

from case_studies.greybox.methods.totals import Total
from case_studies.greybox.trial import Trial
from case_studies.peers.adapters.quadratic_models import RADIUS
from case_studies.peers.adapters.scipy_global import scipy_constraints


def solve(trial: Trial) -> None:
    """Run COBYQA from one start after the other."""
    total = Total(trial)
    constraints = scipy_constraints(trial, exact=True)
    if total.m:
        constraints.append(NonlinearConstraint(total.rows, total.lower, total.upper))
    for x0 in trial.starts():
        minimize(
            total.objective,
            x0,
            bounds=Bounds(trial.lower, trial.upper),
            constraints=constraints,
            options={
                "scale": True,
                "radius_init": RADIUS,
                "maxfev": max(trial.objective.calls_left, 1),
            },
        )
