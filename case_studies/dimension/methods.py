"""The methods, as adapters of `case_studies.peers`, and SLSQP as an experienced user sets it up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, minimize

import archeng
from case_studies.peers.adapters import Method, arch, pycma, quadratic_models
from case_studies.peers.case import Case
from case_studies.peers.recorder import Floats

START_CANDIDATES = 4
"""Feasible designs that archeng prepares: it has a start, and does not restart here."""


def slsqp(case: Case) -> None:
    """Run SLSQP with forward differences of f (n + 1 calls a gradient) and exact row gradients."""
    rows = case.constraints
    above, below = np.isfinite(rows.exact_upper), np.isfinite(rows.exact_lower)

    def room(x: Floats) -> Floats:
        values = rows.values(x)
        return np.concatenate(
            ((rows.exact_upper - values)[above], (values - rows.exact_lower)[below])
        )

    def slopes(x: Floats) -> Floats:
        gradients = rows.jacobian(x)
        return np.concatenate((-gradients[above], gradients[below]))

    for x0 in case.starts():
        minimize(
            case.objective.finite,
            x0,
            method="SLSQP",
            bounds=Bounds(case.lower, case.upper),
            constraints={"type": "ineq", "fun": room, "jac": slopes},
            options={"maxiter": 10**6, "ftol": 1e-12},
        )


def arch_alone(case: Case) -> None:
    """Run ARCH without models of the objective."""
    arch._solve(case, archeng.Settings(surrogate="none", start_candidates=START_CANDIDATES))


METHODS: dict[str, Callable[[Case], None]] = {
    "archeng": arch.default,
    "ARCH alone": arch_alone,
    "COBYQA": quadratic_models.solve,
    "pycma AL": pycma.solve,
    "SLSQP": slsqp,
}

STRICT = ("archeng", "ARCH alone")
"""Those that are held to exact feasibility; the others are allowed 1e-8."""

PACKAGES = {
    "archeng": "archeng",
    "ARCH alone": "archeng",
    "COBYQA": "cobyqa",
    "pycma AL": "cma",
    "SLSQP": "scipy",
}


def version(method: str) -> str:
    """Return the installed version of a method's package."""
    return Method(method, PACKAGES[method], "").version
