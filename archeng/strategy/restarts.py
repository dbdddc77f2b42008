"""BIPOP restarts [H09]: two regimes, large and small populations, that share the calls.

The first run has the default population. Large restarts double the population each time;
small ones draw a size and a step size at random, and get at most half the calls of the last
large run.

In [H09] both regimes get the same number of calls. If the shares are *adaptive*, the small restarts
get a quarter of what they had each time a large one finds the best design so far, and four times
as much, up to an equal share, each time a small one does. Only the order of objectives matters
for that.

[H09] Hansen 2009, doi:10.1145/1570256.1570333.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

_SHARE_FACTOR = 4.0  # by which the small restarts' share of the calls grows or shrinks
_LEAST_SHARE = 1 / 16  # of the small restarts
_ROUNDING = 1e-9  # relative difference of objectives that are equal


@dataclass(frozen=True)
class Regime:
    """One restart: its population, the factor on the initial step size, its own budget."""

    population_size: int
    sigma_factor: float
    max_evaluations: int | None
    large: bool


@dataclass(frozen=True)
class Bipop:
    """Bookkeeping of the calls spent in each regime."""

    default_size: int
    adaptive: bool = False  # the small restarts' share depends on which regime finds better designs
    n_large: int = 0  # large restarts so far
    large_evaluations: int = 0  # calls of the large restarts
    small_evaluations: int = 0  # calls of the small ones
    last_large_evaluations: int = 0  # calls of the last large one
    small_share: float = 1.0  # calls of the small restarts per call of the large ones
    lowest: float = math.inf  # best objective of the restarts that have ended

    def first(self) -> Regime:
        """Return the regime of the initial run."""
        return Regime(self.default_size, 1.0, None, large=True)

    def spent(self, regime: Regime, evaluations: int, lowest: float = math.inf) -> Bipop:
        """Record what a finished restart used; ``lowest`` is the best objective so far."""
        judged = self._judged(regime, lowest) if self.adaptive else self
        if regime.large:
            return replace(
                judged,
                large_evaluations=self.large_evaluations + evaluations,
                last_large_evaluations=evaluations,
            )
        return replace(judged, small_evaluations=self.small_evaluations + evaluations)

    def _judged(self, regime: Regime, lowest: float) -> Bipop:
        """Change the small restarts' share if the restart has found the best design so far."""
        share = self.small_share
        if math.isfinite(self.lowest) and self.lowest - lowest > _ROUNDING * abs(lowest):
            more, less = min(share * _SHARE_FACTOR, 1.0), max(share / _SHARE_FACTOR, _LEAST_SHARE)
            share = less if regime.large else more
        return replace(self, small_share=share, lowest=min(lowest, self.lowest))

    def next(self, rng: np.random.Generator) -> tuple[Bipop, Regime]:
        """Return the regime that has spent less of its share so far."""
        small = self.small_share * self.large_evaluations
        if self.n_large > 0 and self.small_evaluations < small:
            large = self.default_size * 2**self.n_large
            u, v = rng.random(2)
            size = int(self.default_size * (0.5 * large / self.default_size) ** (u**2))
            budget = max(self.last_large_evaluations // 2, size)
            return self, Regime(size, float(10 ** (-2 * v)), budget, large=False)
        updated = replace(self, n_large=self.n_large + 1)
        return updated, Regime(self.default_size * 2**updated.n_large, 1.0, None, large=True)
