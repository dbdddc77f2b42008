"""What a constraint handler is: four verbs on a frozen, typed state.

A handler decides which candidates CMA-ES gets, at which designs the simulator is called for
them, and in which order CMA-ES learns from them. Everything else (sampling, restarts, calls,
journal) is the same for all of them. Its verbs take a state and return the next one; it has no
memory of its own, so that a run can be written to a file and read again at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeVar

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
    default_population_size,
    initial_state,
    update,
)

_parameters = lru_cache(maxsize=64)(default_parameters)


@dataclass(frozen=True, eq=False)
class Search:
    """State of one restart. Handlers that remember more have a subclass.

    All fields, also those of subclasses, are numbers, texts, enumerations, arrays, None, or
    frozen dataclasses and tuples of these: what a file can hold.

    Attributes
    ----------
    population_size : int
    state : State
        CMA-ES.
    anchor : ndarray, shape (n,)
        A known feasible point.
    n_active : int
        Active rows at the repaired mean, or in the working set.
    """

    population_size: int
    state: State
    anchor: Floats
    n_active: int

    @property
    def parameters(self) -> Parameters:
        """Constants of CMA-ES, which follow from the dimension and the population size."""
        return _parameters(self.state.distribution.n, self.population_size)

    @property
    def distribution(self) -> Distribution:
        """The search distribution."""
        return self.state.distribution


S = TypeVar("S", bound=Search)


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


class Handler(Protocol[S]):
    """How constraints are handled. Pure: everything that changes is in the `Search`."""

    @property
    def outside(self) -> bool:
        """Whether designs that violate constraints are simulated."""

    @property
    def state_type(self) -> type[S]:
        """What :meth:`init` returns: needed to read it from a file."""

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> S:
        """Start a restart at a feasible point, with a population size (None: the default)."""

    def ask(self, search: S, rng: np.random.Generator, known: Known) -> tuple[S, Population]:
        """Make the candidates of the next generation; ``known`` are the calls so far.

        The state of CMA-ES stays as it is.
        """

    def tell(
        self,
        search: S,
        population: Population,
        found: Found,
        known: Known,
        rng: np.random.Generator,
    ) -> S:
        """Learn from what the simulator said about the candidates, now among the calls so far."""

    def stop(self, search: S) -> StopReason | None:
        """Return why nothing more is expected of this restart, if that is so."""


class NeverStops:
    """A handler that leaves it to the tests of CMA-ES when a restart ends."""

    def stop(self, search: Search) -> StopReason | None:
        """Return None: there is always something to expect."""
        return None


def plain_search(distribution: Distribution, anchor: Floats, size: int | None) -> Search:
    """Start a restart of CMA-ES, for handlers that remember nothing else."""
    size = default_population_size(distribution.n) if size is None else size
    return Search(size, initial_state(distribution), anchor, 0)


def as_sampled(feasible_set: FeasibleSet, x: Floats) -> Repair:
    """Return the record of a candidate that is not repaired, feasible or not."""
    violation = float(feasible_set.violations(x).max(initial=0.0))
    kind = RepairKind.FEASIBLE if violation == 0 else RepairKind.UNREPAIRED
    return Repair(kind, x, 0.0, violation, 0.0, (), "none", 0)


def as_it_is(x: Floats) -> Repair:
    """Return the certificate of a design that is known to be feasible."""
    return Repair(RepairKind.FEASIBLE, x, 0.0, 0.0, 0.0, (), "none", 0)


def updated(search: S, ordered: Floats, settings: Settings) -> S:
    """Return the search after CMA-ES has learned from candidates (lambda, n), best first."""
    state = update(search.state, search.parameters, ordered, settings.square_root)
    return replace(search, state=state)


def last_if_undefined(values: Floats) -> Floats:
    """Return values to sort by: NaN (no result) becomes infinity and comes last."""
    return np.where(np.isnan(values), np.inf, values)
