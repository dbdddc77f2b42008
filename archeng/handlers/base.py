"""What all constraint handlers share: the state of a search, its candidates, and the contract.

A handler decides which candidates CMA-ES gets, at which designs the simulator is called for
them, and in which order CMA-ES learns from them. Everything else (sampling, restarts, calls,
journal) is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.known import Found, Known
from archeng.model import FeasibleSet
from archeng.repair import Repair, RepairKind
from archeng.settings import Settings
from archeng.strategy import (
    Parameters,
    State,
    StopReason,
    default_parameters,
    initial_state,
    update,
)

Memory = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Search:
    """State of one restart.

    Attributes
    ----------
    parameters, state
        CMA-ES.
    alpha, d_m : float
        ARCH's ranking coefficient and normalised distance of the mean; NaN for other handlers.
    anchor : ndarray, shape (n,)
        A known feasible point.
    n_active : int
        Active rows at the repaired mean, or in the working set.
    memory : mapping
        What else the handler remembers, as numbers and arrays.
    ended : StopReason or None
        Why the handler expects nothing more of this restart.
    """

    parameters: Parameters
    state: State
    alpha: float
    d_m: float
    anchor: Floats
    n_active: int
    memory: Memory = field(default_factory=dict)
    ended: StopReason | None = None

    @property
    def distribution(self) -> Distribution:
        """The search distribution."""
        return self.state.distribution


@dataclass(frozen=True, eq=False)
class Population:
    """Candidates as sampled (k, n), and the points that are simulated for them.

    ``proposed``: by a model of the objective; CMA-ES does not learn from them.
    """

    sampled: Floats
    repairs: tuple[Repair, ...]
    proposed: bool = False

    def distances_squared(self) -> Floats:
        """Squared Mahalanobis repair distances (k,)."""
        return np.array([r.distance_squared for r in self.repairs])


class Handler(Protocol):
    """How constraints are handled. Pure: everything that changes is in the `Search`."""

    @property
    def outside(self) -> bool:
        """Whether designs that violate constraints are simulated."""

    def begin(self, distribution: Distribution, anchor: Floats, size: int | None) -> Search:
        """Start a restart at a feasible point, with a population size (None: the default)."""

    def populate(
        self, search: Search, rng: np.random.Generator, known: Known
    ) -> tuple[Search, Population]:
        """Make the candidates of the next generation; ``known`` are the calls so far.

        The state of CMA-ES stays as it is.
        """

    def learn(
        self, search: Search, population: Population, found: Found, rng: np.random.Generator
    ) -> Search:
        """Update the search with what the simulator said about the candidates."""

    def conclude(self, search: Search, known: Known) -> Search:
        """Draw conclusions from all calls so far, after :meth:`learn`."""


class Inconclusive:
    """A handler that learns from each generation and nothing else."""

    def conclude(self, search: Search, known: Known) -> Search:
        """Return the search as it is."""
        return search


def begin(distribution: Distribution, anchor: Floats, population_size: int | None) -> Search:
    """Start a restart of CMA-ES with an empty memory."""
    parameters = default_parameters(distribution.n, population_size)
    return Search(parameters, initial_state(distribution), np.nan, np.nan, anchor, 0)


def as_sampled(feasible_set: FeasibleSet, x: Floats) -> Repair:
    """Return the record of a candidate that is not repaired, feasible or not."""
    violation = float(feasible_set.violations(x).max(initial=0.0))
    kind = RepairKind.FEASIBLE if violation == 0 else RepairKind.UNREPAIRED
    return Repair(kind, x, 0.0, violation, 0.0, (), "none", 0)


def as_it_is(x: Floats) -> Repair:
    """Return the certificate of a design that is known to be feasible."""
    return Repair(RepairKind.FEASIBLE, x, 0.0, 0.0, 0.0, (), "none", 0)


def proposed(points: Floats) -> Population:
    """Return proposals (k, n) that are known to be feasible."""
    repairs = (replace(as_it_is(x), kind=RepairKind.PROPOSED) for x in points)
    return Population(points, tuple(repairs), proposed=True)


def updated(search: Search, ordered: Floats, settings: Settings) -> Search:
    """Return the search after CMA-ES has learned from candidates (lambda, n), best first."""
    state = update(search.state, search.parameters, ordered, settings.square_root)
    return replace(search, state=state)


def with_memory(search: Search, **changes: Any) -> Search:
    """Return the search with some entries of its memory changed."""
    return replace(search, memory={**search.memory, **changes})


def last_if_undefined(values: Floats) -> Floats:
    """Return values to sort by: NaN (no result) becomes infinity and comes last."""
    return np.where(np.isnan(values), np.inf, values)
