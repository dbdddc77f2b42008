"""Methods that rank objective and violations: MCR [G17] and stochastic ranking [RY00].

Both simulate the candidates as sampled, so the simulator must be defined everywhere.

[G17] R. de Paula Garcia, B. S. L. P. de Lima, A. C. de Castro Lemonge, B. P. Jacob, A rank-based
constraint handling technique for engineering design optimization problems solved by genetic
algorithms, Computers and Structures 187, 2017, doi:10.1016/j.compstruc.2017.03.023.
[RY00] T. P. Runarsson, X. Yao, Stochastic Ranking for Constrained Evolutionary Optimization, IEEE
Transactions on Evolutionary Computation 4(3), 2000, doi:10.1109/4235.873238.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from archeng.checks import is_real, shown
from archeng.distribution import Floats, Integers
from archeng.errors import SettingsError
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    Population,
    S,
    Search,
    last_if_undefined,
    updated,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample


class Ranked(Handler[S]):
    """Samples, and orders the candidates by objectives and violations."""

    outside = True

    def ask(self, search: S, rng: np.random.Generator, past: PastCalls) -> tuple[S, Population]:
        """Sample; nothing is repaired."""
        return search, self._unrepaired(sample(search.state, search.parameters, rng))

    def tell(
        self,
        search: S,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> S:
        """Order the candidates and update CMA-ES."""
        f = last_if_undefined(outcomes.objectives)
        order = self._order(search, f, self._sides.violations(population.sampled), rng)
        return updated(search, population.sampled[order], self._settings)

    @abstractmethod
    def _order(
        self, search: S, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers: ...


class MultipleConstraintRanking(Ranked[Search]):
    """MCR: the sum of the ranks in the objective and in each violation."""

    state_type = Search

    def _order(
        self, search: Search, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers:
        return np.argsort(mcr_fitness(f, violations), kind="stable")


@dataclass(frozen=True, kw_only=True)
class StochasticRankingOptions:
    """``ranking_probability`` of comparing by the objective though a candidate is infeasible."""

    ranking_probability: float = 0.45

    def __post_init__(self) -> None:
        p = self.ranking_probability
        if not is_real(p) or not 0 <= p <= 1:
            raise SettingsError(
                f"ranking_probability must be a number between 0 and 1, got {shown(p)}."
            )


class StochasticRanking(Ranked[Search]):
    """Stochastic ranking: a bubble sort that now and then ignores the violations."""

    state_type = Search

    def _options(self, parts: HandlerParts) -> None:
        self._probability = parts.options(StochasticRankingOptions).ranking_probability

    def _order(
        self, search: Search, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers:
        total = np.sum(violations**2, axis=1)
        return stochastic_order(f, total, self._probability, rng)


def competition_ranks(values: Floats) -> Floats:
    """Return ranks (k,): one plus the number of better values; ties share the best rank."""
    better = np.searchsorted(np.sort(values), values, side="left")
    return np.asarray(1.0 + better, dtype=float)


def mcr_fitness(f: Floats, violations: Floats) -> Floats:
    """Return the fitness (k,) of [G17] for f (k,) and violations (k, m), to be minimised.

    Ranks of each violation and of the number of violated constraints are added up; the rank
    of the objective joins once there is a feasible candidate. [G17] does not say how ties
    rank: here they share the best rank.
    """
    count = np.sum(violations > 0, axis=1)
    fitness = competition_ranks(count.astype(float))
    for column in violations.T:
        fitness = fitness + competition_ranks(column)
    return fitness + competition_ranks(f) if np.any(count == 0) else fitness


def stochastic_order(
    f: Floats, violation: Floats, probability: float, rng: np.random.Generator
) -> Integers:
    """Order (k,) by the bubble sort of [RY00 Fig. 1], at most k sweeps.

    Neighbours are compared by f if both are feasible, or else with the given probability;
    otherwise by their violation.
    """
    order = np.arange(len(f))
    for _ in range(len(f)):
        swapped = False
        for j, u in enumerate(rng.random(len(f) - 1)):
            a, b = order[j], order[j + 1]
            by_objective = (violation[a] == 0 and violation[b] == 0) or u < probability
            values = f if by_objective else violation
            if values[a] > values[b]:
                order[j], order[j + 1] = b, a
                swapped = True
        if not swapped:
            break
    return order
