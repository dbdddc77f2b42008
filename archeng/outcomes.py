"""What the simulator has said so far, as arrays: `PastCalls`, and of one generation `Outcomes`.

`Limits` are those of the simulated constraints: quantities that the simulator returns beside the
objective.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers


def _nothing() -> Floats:
    return np.zeros(0)


def _no_columns() -> Floats:
    return np.zeros((0, 0))


class Space(Protocol):
    """Which variables are free, as a feasible set says it."""

    @property
    def n(self) -> int:
        """How many."""

    def reduce(self, full: Floats) -> Floats:
        """Return their part of a full vector."""

    def reduce_gradient(self, full: Floats, gradient: Floats) -> Floats:
        """Return derivatives by them, given those by all variables at a full vector."""

    @property
    def hidden(self) -> Any:
        """Positions in a full vector of variables that follow from others; None: there are none."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits (m,) of the simulated constraints, infinite where there is none."""

    names: tuple[str, ...] = ()
    lower: Floats = field(default_factory=_nothing)
    upper: Floats = field(default_factory=_nothing)

    def after(self, names: tuple[str, ...], lower: Floats, upper: Floats) -> Limits:
        """Return others and then these."""
        return Limits(
            (*names, *self.names),
            np.concatenate((lower, self.lower)),
            np.concatenate((upper, self.upper)),
        )

    def __len__(self) -> int:
        return len(self.names)

    def violations(self, values: Floats) -> Floats:
        """Return how far values (..., m) are outside; infinite where a value is NaN."""
        outside = np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0)
        return np.where(np.isnan(values), np.inf, outside)

    def hold(self, values: Floats) -> NDArray[np.bool_]:
        """Whether all constraints hold, for each row of values (k, m)."""
        return np.asarray(np.all((values >= self.lower) & (values <= self.upper), axis=1))


@dataclass(frozen=True, eq=False)
class Sides:
    """The finite limits (k,) of some quantities as functions g <= 0, lower ones first."""

    index: Integers  # which quantity
    sign: Floats  # 1 for upper, -1 for lower limits
    level: Floats

    @classmethod
    def of(cls, lower: Floats, upper: Floats, units: Floats | None = None) -> Sides:
        """List the finite ones of limits (m,), over units (m,) of the quantities."""
        low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        index = np.concatenate((low, high))
        level = np.concatenate((lower[low], upper[high]))
        sign = np.concatenate((-np.ones(len(low)), np.ones(len(high))))
        return cls(index, sign, level if units is None else level / units[index])

    def excess(self, values: Floats) -> Floats:
        """G (..., k) for values (..., m) of the quantities: positive where a limit is exceeded."""
        return np.asarray(self.sign * (values[..., self.index] - self.level), dtype=float)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the simulator said about the k candidates of one generation; NaN: nothing."""

    objectives: Floats  # (k,), to be minimised
    simulated: Floats = field(default_factory=_no_columns)  # (k, m), of the constraints

    def __post_init__(self) -> None:
        _same_length(self, "simulated")


@dataclass(frozen=True, eq=False)
class Lessons:
    """Outputs (k, q) of designs (k, n) that earlier runs simulated, with other parameters maybe.

    ``apart`` (k, r) says how far the parameters that the simulator looks at were from those of
    now, each in units of its largest difference; no column for one that is the same.
    """

    points: Floats
    outputs: Floats
    apart: Floats


@dataclass(frozen=True, eq=False)
class Teacher:
    """What is known of another function that may resemble the simulator.

    Earlier data, another load case, a cheaper simulator. NaN where something is unknown; columns
    that do not exist are all unknown.
    """

    name: str  # for messages: the name of a file, "coarse simulator"
    points: Floats  # (k, n), free variables, feasible or not
    objectives: Floats  # (k,), to be minimised
    simulated: Floats = field(default_factory=_no_columns)  # (k, m), of the constraints
    outputs: Floats = field(default_factory=_no_columns)  # (k, q), that the model declares

    def __post_init__(self) -> None:
        _same_length(self, "simulated", "outputs")

    def __len__(self) -> int:
        return len(self.objectives)

    def taken(self, chosen: slice | NDArray[Any]) -> Teacher:
        """Return some of the rows."""
        return Teacher(
            self.name,
            self.points[chosen],
            self.objectives[chosen],
            self.simulated[chosen],
            self.outputs[chosen],
        )


@dataclass(frozen=True, eq=False)
class PastCalls:
    """The k designs simulated so far, in the order of the calls.

    NaN where the simulation failed, and for the objective where the design violates an explicit
    constraint.
    """

    points: Floats  # (k, n), free variables
    objectives: Floats  # (k,), to be minimised
    simulated: Floats = field(default_factory=_no_columns)  # (k, m), of the constraints
    outputs: Floats = field(default_factory=_no_columns)  # (k, q), that the model declares
    slopes: Floats | None = None  # (k, q, n) of the outputs, NaN where not given; None: nowhere
    lessons: Lessons | None = None  # of earlier runs, about outputs only
    teachers: tuple[Teacher, ...] = ()  # what is known of functions that may resemble this one
    cheaper: tuple[PastCalls, ...] = ()  # calls of cheaper simulators, the cheapest first

    def __post_init__(self) -> None:
        _same_length(self, "simulated", "outputs")

    def __len__(self) -> int:
        return len(self.objectives)

    def taken(self, chosen: slice | NDArray[Any]) -> PastCalls:
        """Return some of them."""
        return PastCalls(
            self.points[chosen],
            self.objectives[chosen],
            self.simulated[chosen],
            self.outputs[chosen],
            None if self.slopes is None else self.slopes[chosen],
            self.lessons,
            self.teachers,
            self.cheaper,
        )

    def last(self, k: int) -> PastCalls:
        """Return the last k > 0 of them."""
        return self.taken(slice(-k, None))

    def and_pending(self, x: Floats) -> PastCalls:
        """Return them and a design (n,), or designs (k, n), about which nothing is known yet."""
        points = np.atleast_2d(x)
        k = len(points)
        return self._and(
            PastCalls(
                points,
                np.full(k, np.nan),
                np.full((k, self.simulated.shape[1]), np.nan),
                np.full((k, self.outputs.shape[1]), np.nan),
                None if self.slopes is None else np.full((k, *self.slopes.shape[1:]), np.nan),
            )
        )

    def last_and(self, position: int, k: int) -> PastCalls:
        """Return the last k > 0 of them, and the one at a position, first if it is older."""
        recent = self.last(k)
        if position >= len(self) - len(recent):
            return recent
        return self.taken(slice(position, position + 1))._and(recent)

    def _and(self, later: PastCalls) -> PastCalls:
        slopes = None
        if self.slopes is not None and later.slopes is not None:
            slopes = np.concatenate((self.slopes, later.slopes))
        return PastCalls(
            np.concatenate((self.points, later.points)),
            np.concatenate((self.objectives, later.objectives)),
            np.concatenate((self.simulated, later.simulated)),
            np.concatenate((self.outputs, later.outputs)),
            slopes,
            self.lessons,
            self.teachers,
            self.cheaper,
        )


def _same_length(arrays: Outcomes | Teacher | PastCalls, *names: str) -> None:
    """Give arrays without columns their rows."""
    for name in names:
        if getattr(arrays, name).shape[1] == 0:
            object.__setattr__(arrays, name, np.zeros((len(arrays.objectives), 0)))
