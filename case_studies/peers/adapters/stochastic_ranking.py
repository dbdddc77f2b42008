"""ISRES (stochastic ranking evolution strategy) of pymoo.

Set-up. The parameters of the documentation's example: 200 offspring, a seventh of them survive,
gamma 0.85, alpha 0.2. Constraints are one-sided rows ("G"). The first population is uniform in the
box, with the start as one of them. It does not stop by itself. It calls f everywhere, and cannot
take NaN: a failed call gives the worst value seen so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.algorithms.soo.nonconvex.isres import ISRES
from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize

from case_studies.peers.case import Case

OFFSPRING, SHARE, GAMMA, ALPHA = 200, 1.0 / 7.0, 0.85, 0.2


def solve(case: Case) -> None:
    """Run ISRES until the recorder stops it."""

    class _Problem(ElementwiseProblem):
        def __init__(self) -> None:
            super().__init__(
                n_var=case.n,
                n_obj=1,
                n_ieq_constr=case.constraints.n_excess,
                xl=case.lower,
                xu=case.upper,
            )

        def _evaluate(self, x: Any, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = case.objective.finite(x)
            out["G"] = case.constraints.excess(x)

    parents = int(np.ceil(OFFSPRING * SHARE))
    first = case.rng.uniform(case.lower, case.upper, size=(parents, case.n))
    first[0] = case.start
    method = ISRES(n_offsprings=OFFSPRING, rule=SHARE, gamma=GAMMA, alpha=ALPHA, sampling=first)
    minimize(_Problem(), method, ("n_gen", 10**9), seed=case.seed, verbose=False)
