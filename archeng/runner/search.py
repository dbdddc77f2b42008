"""One generation of ARCH around CMA-ES, as pure functions of a frozen state.

The order of events is that of [SA22]: repair the mean and adapt alpha, sample and repair the
candidates, (simulate), rank by R_T, update CMA-ES with the candidates as sampled: the repaired
points are used for the objective only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.ranking import mean_distance, sphere_step_size, total_order, updated_alpha
from archeng.repair import Repair, Repairer
from archeng.settings import Settings
from archeng.strategy import (
    Parameters,
    State,
    default_parameters,
    default_population_size,
    initial_state,
    sample,
    update,
)

_COINCIDE = 1e-8  # in standard deviations of the search distribution


def _rounding(distribution: Distribution) -> float:
    """Return the rounding errors of a design, in standard deviations of the search distribution."""
    deviations = distribution.sigma * np.sqrt(np.sum(distribution.factor**2, axis=1))
    return 512 * float(np.finfo(float).eps * np.max(np.abs(distribution.mean) / deviations))


@dataclass(frozen=True, eq=False)
class Search:
    """State of one restart: CMA-ES, the ranking coefficient, and a known feasible point."""

    parameters: Parameters
    state: State
    alpha: float
    d_m: float
    anchor: Floats
    n_active: int

    @property
    def distribution(self) -> Distribution:
        """The search distribution."""
        return self.state.distribution


@dataclass(frozen=True, eq=False)
class Population:
    """Candidates as sampled (lambda, n), and their repairs."""

    sampled: Floats
    repairs: tuple[Repair, ...]

    def distances_squared(self) -> Floats:
        """Squared Mahalanobis repair distances (lambda,)."""
        return np.array([r.distance_squared for r in self.repairs])


def begin(distribution: Distribution, anchor: Floats, population_size: int | None) -> Search:
    """Start a restart: alpha = 1, d_m = 0 [SA22 ssec:adaptation]."""
    parameters = default_parameters(distribution.n, population_size)
    return Search(parameters, initial_state(distribution), 1.0, 0.0, anchor, 0)


def adapt_alpha(search: Search, repairer: Repairer) -> Search:
    """Repair the mean, measure d_m, adapt alpha."""
    s, p = search, search.parameters
    mean = s.distribution.mean
    repair = repairer.repair(mean, s.distribution, s.anchor)
    d_m = mean_distance(
        repair.distance_squared,
        sigma_hat=sphere_step_size(p.weights, p.population_size, p.n),
        n=p.n,
        n_active=len(repair.active),
        population_size=p.population_size,
        default_size=default_population_size(p.n),
    )
    alpha = updated_alpha(s.alpha, d_m, s.d_m, p.n, p.population_size)
    anchor = repair.x if repair.feasible else s.anchor
    return replace(s, alpha=alpha, d_m=d_m, anchor=anchor, n_active=len(repair.active))


class Repairs(Protocol):
    """Whoever repairs a whole generation."""

    def repair_all(
        self, points: Floats, distribution: Distribution, anchor: Floats | None
    ) -> list[Repair]:
        """Repair points (k, n) in the metric of the distribution."""


def sample_population(
    search: Search,
    repairer: Repairs,
    rng: np.random.Generator,
    known: Floats | None = None,
) -> Population:
    """Sample and repair the candidates.

    ``known`` (k, n) are designs simulated before: repaired points that coincide with one of
    them are replaced by it, so that it need not be simulated again.
    """
    x = sample(search.state, search.parameters, rng)
    repairs = repairer.repair_all(x, search.distribution, search.anchor)
    return Population(x, tuple(_coincide(repairs, search.distribution, known)))


def _coincide(
    repairs: list[Repair], distribution: Distribution, known: Floats | None
) -> list[Repair]:
    """Make repaired points that differ by rounding only identical, so that they tie in f.

    Samples beyond the same vertex have the same repaired point; solvers return it with
    errors far below any step of the search.
    """
    tolerance = _COINCIDE + _rounding(distribution)
    points = [] if known is None else list(known)
    whitened = list(distribution.whiten(np.reshape(points, (-1, distribution.n))))
    result = []
    for repair in repairs:
        if repair.feasible:
            z = distribution.whiten(repair.x)
            same: list[int] = []
            if whitened:
                gaps = np.abs(np.array(whitened) - z).max(axis=1)
                same = np.flatnonzero(gaps < tolerance).tolist()
            if same:
                repair = replace(repair, x=points[same[0]])
            else:
                points.append(repair.x)
                whitened.append(z)
        result.append(repair)
    return result


def advance(
    search: Search, population: Population, objectives: Floats, settings: Settings
) -> Search:
    """Rank by R_T [SA22 eq:rt] and update CMA-ES.

    ``objectives`` (lambda,) are to be minimised; NaN (failed repair or simulation) ranks last.
    """
    order = total_order(objectives, population.distances_squared(), search.alpha)
    state = update(search.state, search.parameters, population.sampled[order], settings.square_root)
    return replace(search, state=state)
