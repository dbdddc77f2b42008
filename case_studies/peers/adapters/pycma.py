"""pycma: CMA-ES with an augmented Lagrangian, ``cma.fmin_con2``.

Set-up. Variables are scaled by the box (``CMA_stds``), sigma0 is a quarter of its width, as the
documentation advises; the box is given as ``bounds``. Constraints are one-sided rows, an
equality two of them, as it advises too. ``find_feasible_first`` is on without equalities (it
then does not call f before the first feasible design) and off with them, where the documentation
says that it cannot work. When it stops, it begins anew with twice the population from the next
start, as its own ``restarts`` do. A failed call is NaN: pycma samples that candidate again.
"""

from __future__ import annotations

import math

import cma

from case_studies.peers.case import Case


def solve(case: Case) -> None:
    """Run ``fmin_con2`` with growing populations."""
    rows = case.constraints
    population = 4 + int(3 * math.log(case.n))  # pycma's default
    for x0 in case.starts():
        options = {
            "bounds": [case.lower.tolist(), case.upper.tolist()],
            "CMA_stds": case.width.tolist(),
            "popsize": population,
            "seed": case.new_seed(),
            "verbose": -9,
            "maxfevals": 10**9,
        }
        cma.fmin_con2(
            case.objective,
            x0.tolist(),
            0.25,
            constraints=lambda x: rows.excess(x).tolist(),
            find_feasible_first=not rows.equalities,
            options=options,
        )
        population *= 2
