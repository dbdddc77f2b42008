"""BIPOP restarts [H09]: two regimes, large and small populations, with equal budgets.

The first run has the default population. Large restarts double the population each time;
small ones draw a size and a step size at random, and get at most half the calls of the last
large run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


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
    n_large: int = 0
    large_evaluations: int = 0
    small_evaluations: int = 0
    last_large_evaluations: int = 0

    def first(self) -> Regime:
        """Return the regime of the initial run."""
        return Regime(self.default_size, 1.0, None, large=True)

    def spent(self, regime: Regime, evaluations: int) -> Bipop:
        """Record what a finished restart used."""
        if regime.large:
            return replace(
                self,
                large_evaluations=self.large_evaluations + evaluations,
                last_large_evaluations=evaluations,
            )
        return replace(self, small_evaluations=self.small_evaluations + evaluations)

    def next(self, rng: np.random.Generator) -> tuple[Bipop, Regime]:
        """Return the regime that has spent less so far."""
        if self.n_large > 0 and self.small_evaluations < self.large_evaluations:
            large = self.default_size * 2**self.n_large
            u, v = rng.random(2)
            size = int(self.default_size * (0.5 * large / self.default_size) ** (u**2))
            budget = max(self.last_large_evaluations // 2, size)
            return self, Regime(size, float(10 ** (-2 * v)), budget, large=False)
        updated = replace(self, n_large=self.n_large + 1)
        return updated, Regime(self.default_size * 2**updated.n_large, 1.0, None, large=True)
