"""nevergrad with cheap constraints, by its differential evolution ``TwoPointsDE``.

Set-up. A bounded array that begins at the start; all rows together are one cheap constraint (the
least slack, at least 0 where satisfied), as the documentation advises for constraints that cost
nothing. nevergrad then looks for candidates that satisfy it, and sends one that does not if it
finds none; f is called there too. A failed call is NaN, which nevergrad turns into a very large
loss.

The algorithm is ``TwoPointsDE``. The wizard ``NGOpt``, which the documentation names first, chooses
algorithms that do not go together with cheap constraints (version 1.0.12): on g07 it ends with a
``TypeError`` inside nevergrad after one or two calls, on g04 it makes no call in 8 seconds. Told
violations instead, it ends with an error on g07, too. ``CMA`` makes two to four calls in 8 seconds
on these. All this is from one run each on g04, g07 and g24. On g24, with cheap constraints, all
but ``OnePlusOne`` reach the target, ``CMA`` first; on the other two none does, and ``TwoPointsDE``
comes closest.
"""

from __future__ import annotations

from typing import Any

import nevergrad as ng
import numpy as np

from case_studies.peers.case import Case


def solve(case: Case) -> None:
    """Ask and tell until the recorder stops it."""

    def slack(x: Any) -> float:
        return -float(case.constraints.excess(np.asarray(x)).max(initial=-np.inf))

    array = ng.p.Array(init=case.start).set_bounds(case.lower, case.upper)
    array.random_state.seed(case.seed)
    if case.constraints.n_excess:
        array.register_cheap_constraint(slack)
    optimizer = ng.optimizers.TwoPointsDE(array, budget=case.objective.calls_left)
    while True:
        candidate = optimizer.ask()
        optimizer.tell(candidate, case.objective(candidate.value))
