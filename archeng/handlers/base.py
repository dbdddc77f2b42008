"""What a constraint handler is: four verbs on a frozen, typed state.

A handler decides which candidates CMA-ES gets, at which designs the simulator is called for
them, and in which order CMA-ES learns from them. Everything else (sampling, restarts, calls,
journal) is the same for all of them. Its verbs take a state and return the next one; it has no
memory of its own, so that a run can be written to a file and read again at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from archeng.checks import unknown_options
from archeng.codec import OMITTED
from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.model import FeasibleSet
from archeng.model.lattice import Lattice
from archeng.noise import Noise
from archeng.outcomes import Limits, Outcomes, PastCalls, Sides
from archeng.repair import Repair, Repairer, RepairKind
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
    """

    population_size: int
    state: State  # CMA-ES
    anchor: Floats  # a known feasible point (n,)
    n_active: int  # active rows at the repaired mean, or in the working set

    @property
    def parameters(self) -> Parameters:
        """Constants of CMA-ES, which follow from its dimension and the population size.

        Categories are none of its dimensions; if there is nothing else, they need the weights only.
        """
        return _parameters(max(self.state.distribution.n, 1), self.population_size)

    @property
    def distribution(self) -> Distribution:
        """The search distribution, over all coordinates."""
        return self.state.distribution if self.state.discrete is None else self.state.sampled


S = TypeVar("S", bound=Search)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Population:
    """Candidates as sampled (k, n), and the points that are simulated for them.

    ``proposed``: by a model of the objective; CMA-ES does not learn from them. ``repeated``: they
    are simulated again if they were before. ``level``: which of several simulators is called, 0
    for the cheapest; None: the finest.
    """

    sampled: Floats
    repairs: tuple[Repair, ...]
    proposed: bool = False
    repeated: bool = field(default=False, metadata=OMITTED)
    level: int | None = field(default=None, metadata=OMITTED)

    def distances_squared(self) -> Floats:
        """Squared Mahalanobis repair distances (k,)."""
        return np.array([r.distance_squared for r in self.repairs])


class RepairsMany(Protocol):
    """Whoever repairs a whole generation."""

    def repair_all(
        self, points: Floats, distribution: Distribution, anchor: Floats | None
    ) -> list[Repair]:
        """Repair points (k, n) in the metric of the distribution."""


@dataclass(frozen=True)
class NoOptions:
    """The options of a handler that has none."""


@dataclass(frozen=True, eq=False)
class HandlerParts:
    """What handlers are made of."""

    repairer: Repairer  # repairs single points; it holds the feasible set
    team: RepairsMany  # repairs whole generations: the repairer itself, or several processes
    settings: Settings
    wide: Distribution  # the initial search distribution, around any mean
    limits: Limits  # of the simulated constraints
    taught: bool = False  # whether earlier runs have taught models of outputs
    width: int = 1  # calls that are made at a time
    noise: Mapping[str, Noise] | None = None  # of the simulator, by name; None: not known
    confidence: float = 0.95  # probability with which noisy constraints are to hold
    asynchronous: bool = False  # whether a design is made whenever a worker is idle
    population_size: int | None = None  # the user's; None: the default

    @property
    def proposals(self) -> int:
        """Designs that models propose at a time."""
        return 1 if self.asynchronous else self.settings.proposals_at(self.width)

    def options(self, kind: type[T]) -> T:
        """Return ``settings.handler_options`` as a dataclass, which checks them.

        Raises
        ------
        SettingsError
            If there is no such option, or its value is refused.
        """
        given = self.settings.handler_options
        names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
        if given.keys() - set(names):
            where = f"handler={self.settings.handler!r}"
            raise SettingsError(unknown_options(where, given.keys() - set(names), names))
        return kind(**given)


class Handler(ABC, Generic[S]):
    """How constraints are handled, by four verbs. Pure: all that changes is in the `Search`.

    A new handler is a subclass in a module of its own, and a line in
    :data:`archeng.runner.handlers.HANDLERS`.
    """

    state_type: type[S]  # what `init` returns: needed to read it from a file
    outside: ClassVar[bool] = False  # whether designs that violate constraints are simulated
    handles_simulated: ClassVar[bool] = False  # whether it handles simulated constraints
    handles_discrete: ClassVar[bool] = False  # whether it handles integers, choices, categories
    asynchronous: ClassVar[bool] = False  # whether it learns from candidates as they come back
    handles_diagonal: ClassVar[bool] = False  # whether CMA-ES may have a diagonal metric
    by_chance: ClassVar[bool] = False  # whether only chance makes samples feasible: no equalities
    multistart: bool = False  # whether restarts are all like the first one: models remember others

    def __init__(self, parts: HandlerParts) -> None:
        self._repairer, self._team = parts.repairer, parts.team
        self._settings, self._limits = parts.settings, parts.limits
        self._set = parts.repairer.feasible_set
        self._options(parts)
        if self.by_chance:
            refuse_equalities(self._set, self._settings.handler)

    @cached_property
    def _sides(self) -> RowSides:
        return RowSides(self._set)

    def _options(self, parts: HandlerParts) -> None:
        """Read ``settings.handler_options``; by default there may be none."""
        parts.options(NoOptions)

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> S:
        """Start a restart at a feasible point, with a population size (None: the default)."""
        plain = plain_search(distribution, anchor, size, self._set.lattice)
        return self.state_type(**vars(plain), **self._memory(distribution))

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        """Return what the other fields of ``state_type`` begin with, by name."""
        return {}

    @abstractmethod
    def ask(self, search: S, rng: np.random.Generator, past: PastCalls) -> tuple[S, Population]:
        """Make the candidates of the next generation; ``past`` are the calls so far.

        The state of CMA-ES stays as it is, unless samples that are not simulated teach it.
        """

    @abstractmethod
    def tell(
        self,
        search: S,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> S:
        """Learn from what the simulator said about the candidates, now among the calls so far."""

    def _unrepaired(self, points: Floats) -> Population:
        """Return points (k, n) as candidates that are simulated as they are, if at all."""
        return Population(points, tuple(as_sampled(self._set, x) for x in points))

    def reconsidered(self, search: S, past: PastCalls) -> S:
        """Think again about what is simulated next: teachers know more than when it was chosen."""
        return search

    # -- asynchronous runs: candidates are made while others are away -------------------------

    def more(self, search: S, rng: np.random.Generator, past: PastCalls, count: int) -> Population:
        """Make candidates for ``count`` idle workers, while those of the last `ask` are away.

        ``past`` has designs that are away, without outcomes. By default as if they had told
        nothing: the state stays as it is.
        """
        return self.ask(search, rng, past)[1]

    def found(self, search: S) -> S:
        """Note that the best design is one of which CMA-ES has not heard."""
        return search

    def waits(self, search: S) -> bool:
        """Whether nothing follows from proposals before the first of them is back."""
        return False

    def stop(self, search: S) -> StopReason | None:
        """Return why nothing more is expected of this restart; None leaves it to CMA-ES's tests."""
        return None


class RowSides:
    """The limits of all rows as functions g(x) <= 0, as penalty and ranking methods want them."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self.sides = Sides.of(feasible_set.lower, feasible_set.upper)

    def __len__(self) -> int:
        return len(self.sides.index)

    def values(self, points: Floats) -> Floats:
        """Return g (p, k) at points (p, n); NaN where a row is undefined."""
        rows = np.array([self._set.values(x) for x in points]).reshape(len(points), -1)
        return self.sides.excess(rows)

    def violations(self, points: Floats) -> Floats:
        """Return max(g, 0), shape (p, k); infinite where a row is undefined or infinite."""
        g = self.values(points)
        return np.where(np.isfinite(g), np.maximum(g, 0.0), np.inf)


def plain_search(
    distribution: Distribution, anchor: Floats, size: int | None, lattice: Lattice | None = None
) -> Search:
    """Start a restart of CMA-ES, for handlers that remember nothing else."""
    size = default_population_size(distribution.n) if size is None else size
    return Search(size, initial_state(distribution, lattice), anchor, 0)


def as_sampled(feasible_set: FeasibleSet, x: Floats) -> Repair:
    """Return the record of a candidate that is not repaired, feasible or not."""
    violation = float(feasible_set.violations(x).max(initial=0.0))
    kind = RepairKind.FEASIBLE if violation == 0 else RepairKind.UNREPAIRED
    return Repair(kind, x, 0.0, violation, 0.0, (), "none", 0)


def until_feasible(
    feasible_set: FeasibleSet, draw: Callable[[int], Floats], size: int, most: int
) -> tuple[tuple[Repair, ...], list[Repair]]:
    """Draw samples until ``size`` are feasible, or ``most`` are drawn.

    ``draw`` returns some samples (k, n), told how many are missing. Returned are ``size``
    candidates, the feasible ones first, and all infeasible samples in the order of sampling.
    """
    feasible: list[Repair] = []
    others: list[Repair] = []
    while len(feasible) < size and len(feasible) + len(others) < most:
        for x in draw(size - len(feasible)):
            record = as_sampled(feasible_set, x)
            (feasible if record.feasible else others).append(record)
            if len(feasible) == size or len(feasible) + len(others) == most:
                break
    return (*feasible, *others[: size - len(feasible)]), others


def refuse_equalities(feasible_set: FeasibleSet, handler: str) -> None:
    """Raise if there is an equality, for handlers that neither repair samples nor follow rows."""
    for row in feasible_set.rows:
        if row.equality:
            raise SettingsError(
                f"handler={handler!r} handles inequalities only: no sample satisfies the equality "
                f'{row} by chance; use "arch".'
            )


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
