"""SciPy's differential evolution, and the explicit constraints as SciPy's objects.

Set-up of differential evolution. All defaults: ``best1bin``, population 15 n (15 points for each
variable), polished by trust-constr at the end. Linear rows are given as such. It calls f at
feasible designs only, and compares infeasible ones by their violations. When it has converged,
or after its 1000 generations, it begins again from the next start. It cannot take NaN: a failed
call gives the worst value seen so far.
"""

from __future__ import annotations

import inspect
from typing import Any

from scipy import optimize
from scipy.optimize import LinearConstraint, NonlinearConstraint

from case_studies.peers.case import Case


def scipy_constraints(case: Case, exact: bool) -> list[Any]:
    """Linear rows as ``LinearConstraint``, the others as ``NonlinearConstraint``.

    ``exact`` gives equalities two equal limits; else these are their tolerance apart.
    """
    rows, k = case.constraints, case.constraints.n_linear
    low = rows.exact_lower if exact else rows.row_lower
    high = rows.exact_upper if exact else rows.row_upper
    found: list[Any] = []
    if k:
        matrix, constant = rows.linear_part()
        found.append(LinearConstraint(matrix, low[:k] - constant, high[:k] - constant))
    if rows.m > k:
        found.append(
            NonlinearConstraint(
                lambda x: rows.values(x)[k:],
                low[k:],
                high[k:],
                jac=lambda x: rows.jacobian(x)[k:],
            )
        )
    return found


def differential_evolution(case: Case) -> None:
    """Run it from one start after the other."""
    function = optimize.differential_evolution
    seed = "rng" if "rng" in inspect.signature(function).parameters else "seed"
    for x0 in case.starts():
        arguments: dict[str, Any] = {seed: case.new_seed()}
        function(
            case.objective.finite,
            optimize.Bounds(case.lower, case.upper),
            x0=x0,
            constraints=scipy_constraints(case, exact=False),
            **arguments,
        )
