"""pycma with ``integer_variables``.

Set-up. Scaled by the box, sigma0 a quarter of it, integers as the numbers of levels, the box as
``bounds``. An infeasible design is worse than all feasible ones so far, by its violation:
``fmin_con2`` would call f at infeasible designs. When it stops it begins anew from the next start
with twice the population. A category is the number of its row.
"""

from __future__ import annotations

import math

import cma
import numpy as np

from case_studies.discrete.trial import Trial

LARGEST = 16
"""The population is doubled up to so many times its default, then it begins small again."""


def solve(trial: Trial) -> None:
    """Run it with growing populations."""
    default = 4 + int(3 * math.log(trial.n))
    population = default
    for start in trial.starts():
        options = {
            "bounds": [trial.lower.tolist(), trial.upper.tolist()],
            "CMA_stds": trial.width.tolist(),
            "integer_variables": np.flatnonzero(trial.discrete).tolist(),
            "popsize": population,
            "seed": trial.new_seed(),
            "verbose": -9,
        }
        search = cma.CMAEvolutionStrategy(start.tolist(), 0.25, options)
        while not search.stop():
            points = search.ask()
            search.tell(points, [trial.worse(np.asarray(u)) for u in points])
        population = default if population >= LARGEST * default else 2 * population
