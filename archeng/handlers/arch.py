"""ARCH: one generation around CMA-ES, as pure functions of a frozen state [SA22].

The order of events is that of the paper: repair the mean and adapt alpha, sample and repair the
candidates, (simulate), rank by R_T, update CMA-ES with the candidates as sampled: the repaired
points are used for the objective only.

[SA22] N. Sakamoto, Y. Akimoto, Adaptive Ranking-based Constraint Handling for Explicitly
Constrained Black-Box Optimization, Evolutionary Computation 30(4), 2022,
doi:10.1162/evco_a_00310, arXiv:1811.00764. Equations by their label and printed number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import (
    Handler,
    Population,
    RepairsMany,
    Search,
    plain_search,
    updated,
)
from archeng.model.lattice import Lattice
from archeng.outcomes import Outcomes, PastCalls
from archeng.ranking import mean_distance, sphere_step_size, total_order, updated_alpha
from archeng.repair import Repair, Repairer
from archeng.settings import Settings
from archeng.strategy import default_population_size, sample

_COINCIDE = 1e-8  # in standard deviations of the search distribution
_REMEMBERED = 500  # designs among which repeated ones are looked for


@dataclass(frozen=True, eq=False)
class ArchSearch(Search):
    """The search with ARCH's ranking coefficient and normalised distance of the mean."""

    alpha: float
    d_m: float


A = TypeVar("A", bound=ArchSearch)


class Arch(Handler[ArchSearch]):
    """ARCH as a handler. It also ranks by simulated constraints."""

    handles_simulated = True
    handles_discrete = True
    handles_diagonal = True
    asynchronous = True
    state_type = ArchSearch

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> ArchSearch:
        """Start a restart: alpha = 1, d_m = 0 [SA22 ssec:adaptation, 4.3]."""
        return begin(distribution, anchor, size, self._set.lattice)

    def ask(self, search: A, rng: np.random.Generator, past: PastCalls) -> tuple[A, Population]:
        """Adapt alpha, sample and repair the candidates."""
        search = adapt_alpha(search, self._repairer)
        points = past.last(_REMEMBERED).points if self._settings.reuse_designs else None
        return search, sample_population(search, self._team, rng, points)

    def more(self, search: A, rng: np.random.Generator, past: PastCalls, count: int) -> Population:
        """Sample and repair further candidates."""
        points = past.last(_REMEMBERED).points if self._settings.reuse_designs else None
        return sample_population(search, self._team, rng, points, count)

    def tell(
        self,
        search: A,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> A:
        """Rank by R_T and update CMA-ES."""
        violations = self._limits.violations(outcomes.simulated)
        return advance(search, population, outcomes.objectives, self._settings, violations)


def begin(
    distribution: Distribution,
    anchor: Floats,
    population_size: int | None,
    lattice: Lattice | None = None,
) -> ArchSearch:
    """Start a restart: alpha = 1, d_m = 0 [SA22 ssec:adaptation, 4.3]."""
    search = plain_search(distribution, anchor, population_size, lattice)
    return ArchSearch(**vars(search), alpha=1.0, d_m=0.0)


def adapt_alpha(search: A, repairer: Repairer, weights: Floats | None = None) -> A:
    """Repair the mean, measure d_m, adapt alpha.

    ``weights`` (mu,) of the recombination are by default those of our CMA-ES. The dimension is
    the number of all coordinates, categories included.
    """
    s, p, n = search, search.parameters, search.distribution.n
    weights = p.weights if weights is None else weights
    mean = s.distribution.mean
    repair = repairer.repair(mean, s.distribution, s.anchor)
    d_m = mean_distance(
        repair.distance_squared,
        sigma_hat=sphere_step_size(weights, p.population_size, n),
        n=n,
        n_active=len(repair.active),
        population_size=p.population_size,
        default_size=default_population_size(n),
    )
    alpha = updated_alpha(s.alpha, d_m, s.d_m, n, p.population_size)
    anchor = repair.x if repair.feasible else s.anchor
    return replace(s, alpha=alpha, d_m=d_m, anchor=anchor, n_active=len(repair.active))


def sample_population(
    search: Search,
    repairer: RepairsMany,
    rng: np.random.Generator,
    past: Floats | None = None,
    count: int | None = None,
) -> Population:
    """Sample and repair the candidates; ``past`` as in :func:`repair_population`.

    ``count`` of them; None: as many as a generation has.
    """
    parameters = search.parameters
    if count is not None:
        parameters = replace(parameters, population_size=count)
    x = sample(search.state, parameters, rng)
    return repair_population(search, repairer, x, past)


def repair_population(
    search: Search, repairer: RepairsMany, x: Floats, past: Floats | None = None
) -> Population:
    """Repair sampled candidates x (lambda, n).

    ``past`` (k, n) are designs simulated before: repaired points that coincide with one of
    them are replaced by it, so that it need not be simulated again.
    """
    repairs = repairer.repair_all(x, search.distribution, search.anchor)
    return Population(x, tuple(_coincide(repairs, search.distribution, past)))


def _coincide(
    repairs: list[Repair], distribution: Distribution, past: Floats | None
) -> list[Repair]:
    """Make repaired points that differ by rounding only identical, so that they tie in f.

    Samples beyond the same vertex have the same repaired point; solvers return it with
    errors far below any step of the search.
    """
    tolerance = _COINCIDE + _rounding(distribution)
    points = [] if past is None else list(past)
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
    search: A,
    population: Population,
    objectives: Floats,
    settings: Settings,
    violations: Floats | None = None,
) -> A:
    """Rank by R_T [SA22 eq:rt, (7)] and update CMA-ES.

    ``objectives`` (lambda,) are to be minimised; NaN (failed repair or simulation) ranks last.
    ``violations`` (lambda, m) are those of simulated constraints.
    """
    distances = population.distances_squared()
    order = total_order(objectives, distances, search.alpha, violations)
    return updated(search, population.sampled[order], settings)


def _rounding(distribution: Distribution) -> float:
    """Return the rounding errors of a design, in standard deviations of the search distribution."""
    farthest = np.max(np.abs(distribution.mean) / distribution.deviations)
    return 512 * float(np.finfo(float).eps * farthest)
