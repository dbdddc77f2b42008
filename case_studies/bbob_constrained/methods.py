"""The methods: archeng, and what else is used for such problems, with the same free constraints.

Constraints are exact and free for all, as functions with derivatives; one call is one evaluation of
the objective. archeng finds its first design by itself; the others begin at COCO's feasible start.
pycma, COBYQA and SLSQP begin again, from random feasible designs, until the budget is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

import archeng
from case_studies.peers.adapters import Method, pycma, quadratic_models
from case_studies.peers.adapters.arch import RESTARTS
from case_studies.peers.case import Case
from case_studies.peers.recorder import Floats

ACCURACY = 1e-12
"""SLSQP stops when it expects less; the last target is 1e-8."""


class Start(Case):
    """A case whose starts are feasible: COCO's, then random ones."""

    def starts(self) -> Iterator[Floats]:
        """Yield feasible designs until the run is over."""
        yield self.start.copy()
        while True:
            self.objective.tick()
            yield archeng.sample_feasible(self.model, 1, seed=self.new_seed()).x[0]


def default(case: Start) -> archeng.Result:
    """Run archeng with its defaults: it ends when it has converged."""
    return _archeng(case, 0)


def restarted(case: Start) -> archeng.Result:
    """Run archeng with restarts until the budget is used, for several optima."""
    return _archeng(case, RESTARTS)


def slsqp(case: Start) -> None:
    """SciPy's SLSQP: exact derivatives of the rows, forward differences of f (n calls)."""
    rows = case.constraints
    for x0 in case.starts():
        minimize(
            case.objective.finite,
            x0,
            method="SLSQP",
            bounds=list(zip(case.lower, case.upper, strict=True)),
            constraints={
                "type": "ineq",
                "fun": lambda x: rows.row_upper - rows.values(x),
                "jac": lambda x: -rows.jacobian(x),
            },
            options={"ftol": ACCURACY, "maxiter": case.objective.calls_left},
        )


def random(case: Start) -> None:
    """Simulate random feasible designs, spread evenly: the floor."""
    for x in archeng.sample_feasible(case.model, case.objective.calls_left, seed=case.seed).x:
        case.objective(x)


def _archeng(case: Start, restarts: int) -> archeng.Result:
    def simulator(design: Any) -> float:
        return case.objective(np.array(design.x))

    return archeng.solve(
        case.model,
        simulator,
        seed=case.seed,
        restarts=restarts,
        max_evaluations=case.objective.calls_left,
        callback=lambda run: case.objective.tick(),
    )


SOLVERS = {
    "archeng": default,
    "archeng-restarts": restarted,
    "pycma": pycma.solve,
    "cobyqa": quadratic_models.solve,
    "slsqp": slsqp,
    "random": random,
}
PACKAGES = {"pycma": "cma", "cobyqa": "cobyqa", "slsqp": "scipy"}


def version(name: str) -> str:
    """Return the version of a method's package, archeng's with a fingerprint of its source."""
    return Method(name, PACKAGES.get(name, "archeng"), "").version
