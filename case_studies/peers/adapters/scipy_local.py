"""SciPy's local methods: COBYLA (linear models) and trust-constr (finite differences).

Set-up of both. The variables are scaled to the unit cube, because both have one trust region
radius for all variables. They begin again from the next start when they have converged. They
cannot take NaN: a failed call gives the worst value seen so far.

COBYLA: ``rhobeg=0.2`` ("reasonable initial changes"), ``tol=1e-6``, the accuracy of the variables
that a relative accuracy of 1e-4 of f needs. The constraints are one-sided rows.

trust-constr: rows with exact Jacobians and Hessians from CasADi; the gradient of f by forward
differences (n calls each), its Hessian by BFGS, both the defaults; ``initial_tr_radius=0.2``. The
bounds are kept (``keep_feasible``), so that f is defined where it is called.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from case_studies.peers.case import Case
from case_studies.peers.recorder import Floats

RADIUS = 0.2
ACCURACY = 1e-6
INSIDE = 1e-6
"""How far inside the unit cube trust-constr begins."""


def cobyla(case: Case) -> None:
    """Run COBYLA from one start after the other."""
    for x0 in case.starts():
        minimize(
            lambda u: case.objective.finite(case.from_unit(u)),
            case.to_unit(x0),
            method="COBYLA",
            bounds=Bounds(np.zeros(case.n), np.ones(case.n)),
            constraints={
                "type": "ineq",
                "fun": lambda u: -case.constraints.excess(case.from_unit(u)),
            },
            tol=ACCURACY,
            options={"rhobeg": RADIUS, "maxiter": case.objective.calls_left},
        )


def unit_rows(case: Case) -> list[NonlinearConstraint]:
    """Explicit rows of points of the unit cube, with exact derivatives; none without rows."""
    rows, width = case.constraints, case.width

    def hessian(u: Floats, weights: Floats) -> Floats:
        return np.outer(width, width) * rows.hessian(case.from_unit(u), weights)

    if not rows.m:
        return []
    return [
        NonlinearConstraint(
            lambda u: rows.values(case.from_unit(u)),
            rows.exact_lower,
            rows.exact_upper,
            jac=lambda u: rows.jacobian(case.from_unit(u)) * width,
            hess=hessian,
        )
    ]


def trust_constr(case: Case) -> None:
    """Run trust-constr from one start after the other."""
    constraints = unit_rows(case)
    for x0 in case.starts():
        minimize(
            lambda u: case.objective.finite(case.from_unit(u)),
            np.clip(case.to_unit(x0), INSIDE, 1 - INSIDE),
            method="trust-constr",
            bounds=Bounds(np.zeros(case.n), np.ones(case.n), keep_feasible=True),
            constraints=constraints,
            options={"initial_tr_radius": RADIUS},
        )
