r"""Lexicographic order [ODB99] and epsilon-lexicographic order [HB18] on CMA-ES.

[ODB99] A. I. Oyman, K. Deb, H.-G. Beyer, An Alternative Constraint Handling Method for Evolution
Strategies, CEC 1999, doi:10.1109/CEC.1999.781934.
[HB18] M. Hellwig, H.-G. Beyer, A Matrix Adaptation Evolution Strategy for Constrained
Real-Parameter Optimization, CEC 2018, doi:10.1109/CEC.2018.8477950 (epsilon-MAg-ES), analysed in
arXiv:2405.05005.

==============  ======================================================  ==================
symbol          meaning                                                 name here
==============  ======================================================  ==================
nu(x)           mean of the violations of all limits                    ``violation``
eps(0)          mean nu of the best 90 % of the first generation        ``first_level``
T               generations until eps is 0                              ``generations``
gamma           exponent of its decrease                                ``exponent``
eps(t)          level below which nu counts as 0                        ``level``
==============  ======================================================  ==================

Lexicographic: feasible candidates come first, by f, then the others, by nu. The objective of
an infeasible candidate is never looked at, so it is not simulated. Epsilon-lexicographic:
candidates with nu <= eps(t) are ordered by f as if they were feasible; both f and nu come out of
one simulation there, so all candidates are simulated and the simulator must be defined
everywhere. Failed calls come last in both.

What is certain: the two orders, and of [HB18] eps(0), eps(t) = eps(0) (1 - t/T)^gamma, T = 1000 and
gamma = max(3, (-5 - ln eps(0)) / ln 0.05), which its authors' own program has too. What is ours:
only the orders are taken, on the CMA-ES of all handlers. [ODB99] orders the offspring of a
simple evolution strategy, and its text could not be had: the order is as later publications state
it. epsilon-MAg-ES has a matrix adaptation ES, a population that begins all over the box,
reflects at the bounds and moves some candidates by gradients of the constraints; here bounds are
limits like all others, and eps(0) comes from the first generation of each restart, and counts from
there on; the program keeps it for two. nu of the program is the sum of max(g, 0) and of those |h|
that exceed the tolerance, over the number of constraints; here an equality adds only what exceeds
its tolerance, and the sum is over the number of finite sides of rows. T is at most half of the
generations that the stopping tests leave to a restart (100 + 50 (n + 3)^2 / sqrt(lambda) [H09], 780
for n = 3): with T = 1000 restarts of small problems would end while infeasible candidates still
count as feasible. nu sums violations of different constraints, so factors of the constraints change
the order of infeasible candidates ([SA22 sssec:ranking] counts these orders among those that are
invariant; MCR is).
[SA22] see :mod:`archeng.ranking`, [H09] :mod:`archeng.strategy.stopping`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from archeng.checks import integer
from archeng.distribution import Floats, Integers
from archeng.handlers.base import HandlerParts, Population, Search
from archeng.handlers.rank_based import Ranked
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import most_iterations

_SHARE = 0.9  # of the first generation, whose mean violation is eps(0) [HB18]
_LEAST_EXPONENT = 3.0  # gamma is not smaller [HB18]
# gamma takes eps to exp(-5) when 95 % of the T generations are over, if that needs more [HB18]
_LATE_LOG_LEVEL, _LATE = -5.0, 0.05
_SHARE_OF_RESTART = 0.5  # of the generations of a restart, after which eps is 0 at the latest


class Lexicographic(Ranked[Search]):
    """Feasible candidates by f, then the others by their violation, without a call."""

    outside = False
    state_type = Search

    def _order(
        self, search: Search, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers:
        violation = mean_violation(violations)
        failed = (violation == 0) & ~np.isfinite(f)  # the others are not simulated
        return failed_last(lexicographic_order(f, violation, 0.0), failed)


@dataclass(frozen=True, kw_only=True)
class EpsilonOptions:
    """``epsilon_generations`` of a restart after which only feasible candidates are feasible.

    With stopping tests at most half of the generations that they leave to a restart.
    """

    epsilon_generations: int = 1000

    def __post_init__(self) -> None:
        integer("epsilon_generations", self.epsilon_generations, 1)


@dataclass(frozen=True, eq=False)
class EpsilonSearch(Search):
    """The search with eps(0); None before the first generation."""

    first_level: float | None = None


class EpsilonLexicographic(Ranked[EpsilonSearch]):
    """The lexicographic order with a level of violation that shrinks to zero."""

    state_type = EpsilonSearch

    def _options(self, parts: HandlerParts) -> None:
        self._generations = parts.options(EpsilonOptions).epsilon_generations

    def tell(
        self,
        search: EpsilonSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> EpsilonSearch:
        """Set the first level if there is none; order the candidates and update CMA-ES."""
        if search.first_level is None:
            violation = mean_violation(self._sides.violations(population.sampled))
            search = replace(search, first_level=first_level(violation))
        return super().tell(search, population, outcomes, past, rng)

    def _order(
        self, search: EpsilonSearch, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers:
        generations: float = self._generations
        if self._settings.stop_tests:
            p = search.parameters
            generations = min(generations, latest_end(p.n, p.population_size))
        now = level(search.first_level or 0.0, search.state.generation, generations)
        order = lexicographic_order(f, mean_violation(violations), now)
        return failed_last(order, ~np.isfinite(f))


def latest_end(n: int, population_size: int) -> float:
    """Return the generation from which on eps is 0, if there are stopping tests.

    DEVIATION: [HB18] has T = 1000 whatever n and lambda are (see docs, deviations).
    """
    return _SHARE_OF_RESTART * most_iterations(n, population_size)


def mean_violation(violations: Floats) -> Floats:
    """Return nu (k,) for violations (k, m); 0 if there are no limits.

    DEVIATION: over the sides of rows, equalities beyond their tolerance (see docs, deviations).
    """
    return np.asarray(np.sum(violations, axis=1) / max(violations.shape[1], 1), dtype=float)


def lexicographic_order(f: Floats, violation: Floats, level: float) -> Integers:
    """Order (k,) by violation, up to the level as if it were 0, and then by f [HB18]."""
    return np.lexsort((f, np.where(violation <= level, 0.0, violation)))


def failed_last(order: Integers, failed: NDArray[np.bool_]) -> Integers:
    """Return an order (k,) with candidates whose calls failed (k,) behind all others."""
    return order[np.argsort(failed[order], kind="stable")]


def first_level(violation: Floats) -> float:
    """Return eps(0) for nu (k,) of the first generation [HB18]; undefined ones do not count."""
    best = np.sort(violation)[: math.ceil(_SHARE * len(violation))]
    best = best[np.isfinite(best)]
    return float(best.mean()) if len(best) else 0.0


def level(first: float, generation: int, generations: float) -> float:
    """Return eps(t) [HB18]."""
    if first == 0 or generation >= generations:
        return 0.0
    exponent = max(_LEAST_EXPONENT, (_LATE_LOG_LEVEL - math.log(first)) / math.log(_LATE))
    return first * float((1 - generation / generations) ** exponent)
