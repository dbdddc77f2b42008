"""nevergrad's differential evolution ``TwoPointsDE`` on whole and real scalars, and choices.

Set-up. Discrete variables are scalars with integer casting, the numbers of levels; categories are
choices. An infeasible design is worse than any objective, by its violation; f is not called there.
Why not the wizard ``NGOpt``: see the comparison of continuous problems, case_studies/peers.
"""

from __future__ import annotations

from typing import Any

import nevergrad as ng
import numpy as np

from case_studies.discrete.trial import Trial


def solve(trial: Trial) -> None:
    """Ask and tell until the recorder stops it."""
    space = ng.p.Tuple(*(_parameter(trial, i) for i in range(trial.n)))
    space.random_state.seed(trial.seed)
    search = ng.optimizers.TwoPointsDE(space, budget=trial.objective.calls_left)
    while True:
        asked = search.ask()
        search.tell(asked, trial.far(np.array(asked.value, dtype=float)))


def _parameter(trial: Trial, i: int) -> Any:
    if trial.unordered[i]:
        return ng.p.Choice(list(range(trial.counts[i])))
    scalar = ng.p.Scalar(lower=trial.lower[i], upper=trial.upper[i])
    return scalar.set_integer_casting() if trial.discrete[i] else scalar
