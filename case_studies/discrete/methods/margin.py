"""CMA-ES with margin of the package ``cmaes``: CatCMAwM, and CMAwM where there are no categories.

Set-up. CatCMAwM gets real variables as intervals, discrete ones as the numbers of their levels,
binaries as categories (as its documentation advises), and all its defaults. CMAwM begins at a
feasible design with sigma a sixth of the box, in coordinates scaled to 0..1. An infeasible design
is worse than all feasible ones so far, by its violation. When a run has converged, or has made no
progress for `PATIENCE` generations, it begins again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cmaes import CatCMAwM, CMAwM

from case_studies.discrete.trial import Trial

PATIENCE = 150
"""Generations without a better value after which a run is given up."""

SIGMA = 1 / 6
"""Of CMAwM, in units of the box."""


def catcmawm(trial: Trial) -> None:
    """Run CatCMAwM with one seed after the other."""
    unordered = trial.unordered | (trial.counts == 2)
    z_places = np.flatnonzero(trial.discrete & ~unordered)
    c_places, x_places = np.flatnonzero(unordered), np.flatnonzero(~trial.discrete)

    def coordinates(found: Any) -> Any:
        u = np.empty(trial.n)
        if len(x_places):
            u[x_places] = found.x
        if len(z_places):
            u[z_places] = found.z
        if len(c_places):
            u[c_places] = np.argmax(found.c, axis=1)[: len(c_places)]
        return u

    while True:
        search = CatCMAwM(
            x_space=[[trial.lower[i], trial.upper[i]] for i in x_places] or None,
            z_space=[list(range(trial.counts[i])) for i in z_places] or None,
            c_space=[int(trial.counts[i]) for i in c_places] or None,
            seed=trial.new_seed(),
        )
        _run(trial, search, coordinates, lambda found: found, stops=len(x_places) > 0)


def cmawm(trial: Trial) -> None:
    """Run CMAwM with one seed after the other."""
    low, width = trial.lower, trial.width
    steps = np.where(trial.discrete, 1 / width, 0.0)

    def coordinates(found: Any) -> Any:
        return low + found[0] * width

    for start in trial.starts():
        search = CMAwM(
            mean=(start - low) / width,
            sigma=SIGMA,
            bounds=np.tile([0.0, 1.0], (trial.n, 1)),
            steps=steps,
            seed=trial.new_seed(),
        )
        _run(trial, search, coordinates, lambda found: found[1], stops=True)


def _run(trial: Trial, search: Any, coordinates: Any, told: Any, stops: bool) -> None:
    """Ask and tell until there is no progress; ``stops``: or its own conditions say so."""
    best, since = np.inf, 0
    while since <= PATIENCE and not (stops and search.should_stop()):
        found = [search.ask() for _ in range(search.population_size)]
        values = [trial.worse(coordinates(one)) for one in found]
        search.tell([(told(one), value) for one, value in zip(found, values, strict=True)])
        since = 0 if min(values) < best else since + 1
        best = min(best, *values)
