"""COBYQA: derivative-free trust region SQP with quadratic models, package ``cobyqa``.

Set-up. ``scale=True`` (variables in [-1, 1]) and ``radius_init=0.2``, a tenth of the box, as the
documentation advises for scaled problems. Linear rows are given as
such, equalities with equal limits. It begins again from
the next start when it has converged. It takes NaN as a failed call by itself.
"""

from __future__ import annotations

from cobyqa import minimize
from scipy.optimize import Bounds

from case_studies.peers.adapters.scipy_global import scipy_constraints
from case_studies.peers.case import Case

RADIUS = 0.2


def solve(case: Case) -> None:
    """Run COBYQA from one start after the other."""
    for x0 in case.starts():
        minimize(
            case.objective,
            x0,
            bounds=Bounds(case.lower, case.upper),
            constraints=scipy_constraints(case, exact=True),
            options={"scale": True, "radius_init": RADIUS, "maxfev": case.objective.calls_left},
        )
