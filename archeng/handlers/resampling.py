"""Resampling and death penalty [SA22 ssec:cht, 2.2.1]: candidates are drawn until feasible.

Samples that violate a row are thrown away and drawn again, at most ``max_samples`` per
generation. If there are still fewer than lambda feasible ones, infeasible samples fill the
population and rank last, without a call. With ``max_samples`` equal to lambda nothing is drawn
again: the death penalty. [SA22] see :mod:`archeng.ranking`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.checks import integer
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    NoOptions,
    Population,
    Search,
    last_if_undefined,
    until_feasible,
    updated,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample


@dataclass(frozen=True, kw_only=True)
class ResamplingOptions:
    """``max_samples`` per generation; not fewer than candidates are drawn in any case."""

    max_samples: int = 500

    def __post_init__(self) -> None:
        integer("max_samples", self.max_samples, 1)


class Resampling(Handler[Search]):
    """Draws again what violates a row."""

    by_chance = True
    state_type = Search

    def _options(self, parts: HandlerParts) -> None:
        self._max_samples = parts.options(ResamplingOptions).max_samples

    def ask(
        self, search: Search, rng: np.random.Generator, past: PastCalls
    ) -> tuple[Search, Population]:
        """Sample until lambda candidates are feasible, or the samples are used up."""
        size = search.parameters.population_size
        most = max(self._max_samples, size)
        chosen, _ = until_feasible(
            self._set, lambda _: sample(search.state, search.parameters, rng), size, most
        )
        return search, Population(np.array([r.x for r in chosen]), chosen)

    def tell(
        self,
        search: Search,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> Search:
        """Rank by the objective; candidates without one come last, in the order of sampling."""
        order = np.argsort(last_if_undefined(outcomes.objectives), kind="stable")
        return updated(search, population.sampled[order], self._settings)


class DeathPenalty(Resampling):
    """Draws once: candidates that violate a row rank last."""

    def _options(self, parts: HandlerParts) -> None:
        parts.options(NoOptions)
        self._max_samples = 1
