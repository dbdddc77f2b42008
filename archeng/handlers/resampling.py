"""Resampling and death penalty [SA22 ssec:cht]: candidates are drawn until they are feasible.

Samples that violate a row are thrown away and drawn again, at most ``max_samples`` per
generation. If there are still fewer than lambda feasible ones, infeasible samples fill the
population and rank last, without a call. With ``max_samples`` equal to lambda nothing is drawn
again: the death penalty.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import (
    NeverStops,
    Population,
    Search,
    as_sampled,
    last_if_undefined,
    plain_search,
    updated,
)
from archeng.known import Found, Known
from archeng.model import FeasibleSet
from archeng.repair import Repair
from archeng.settings import Settings
from archeng.strategy import sample


class Resampling(NeverStops):
    """Draws again what violates a row.

    Parameters
    ----------
    feasible_set : FeasibleSet
    settings : Settings
    max_samples : int or None
        Most samples per generation; None for lambda, the death penalty.
    """

    outside = False
    state_type = Search

    def __init__(
        self, feasible_set: FeasibleSet, settings: Settings, max_samples: int | None
    ) -> None:
        self._set, self._settings, self._max_samples = feasible_set, settings, max_samples

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> Search:
        """Start a restart."""
        return plain_search(distribution, anchor, size)

    def ask(
        self, search: Search, rng: np.random.Generator, known: Known
    ) -> tuple[Search, Population]:
        """Sample until lambda candidates are feasible, or the samples are used up."""
        size = search.parameters.population_size
        left = max(self._max_samples or size, size)
        feasible: list[Repair] = []
        others: list[Repair] = []
        while left > 0 and len(feasible) < size:
            for x in sample(search.state, search.parameters, rng)[:left]:
                left -= 1
                record = as_sampled(self._set, x)
                (feasible if record.feasible else others).append(record)
                if len(feasible) == size:
                    break
        chosen = [*feasible, *others[: size - len(feasible)]]
        return search, Population(np.array([r.x for r in chosen]), tuple(chosen))

    def tell(
        self,
        search: Search,
        population: Population,
        found: Found,
        known: Known,
        rng: np.random.Generator,
    ) -> Search:
        """Rank by the objective; candidates without one come last, in the order of sampling."""
        order = np.argsort(last_if_undefined(found.objectives), kind="stable")
        return updated(search, population.sampled[order], self._settings)
