"""What a problem consists of: its definition, and the record that methods get.

Everything is stated twice. The *model* is written with archeng's discrete variables. The *plain*
form has the values that each variable may take, the objective and the limits as formulas of a flat
vector; it knows nothing of archeng, judges every call and serves the other methods. Tests compare
the two.

A flat vector has one number for each scalar variable: the number itself for reals, integers and
lists, the number of the row (from 0) for categories.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng import Model
from case_studies.shared.referee import ROUNDING, Range

Floats = NDArray[np.float64]
Formulas = Callable[[Any, Any], Any]
"""A function of a flat vector and of the module with ``exp``, ``log`` and ``sqrt``."""

RELATIVE = 1e-4
"""The target is this far above the optimum, relative to it; there is no optimum of 0."""

UNDEFINED = 1e10
"""Violation of a row that has no value at a design."""

SAMPLES = 200
"""Random designs from which the sizes of rows are taken."""

NONE = math.inf
"""No limit on this side."""


@dataclass(frozen=True, eq=False)
class Values:
    """What one scalar variable may be.

    Attributes
    ----------
    lower, upper : float
    levels : ndarray or None
        The numbers it may take, ascending; None for a real variable.
    ordered : bool
        Whether near levels are alike; False for categories.
    """

    lower: float
    upper: float
    levels: Floats | None = None
    ordered: bool = True

    def holds(self, value: float) -> bool:
        """Whether a number is one of them; reals are judged up to rounding."""
        if self.levels is not None:
            return bool((self.levels == value).any())
        slack = ROUNDING * max(1.0, abs(self.lower), abs(self.upper))
        return self.lower - slack <= value <= self.upper + slack


def real(lower: float, upper: float) -> Values:
    """Return the values of a real variable."""
    return Values(lower, upper)


def listed(values: Sequence[float] | Floats) -> Values:
    """Return those of a variable that is one of a list of numbers."""
    levels = np.array(sorted(float(v) for v in values))
    return Values(float(levels[0]), float(levels[-1]), levels)


def whole(lower: int, upper: int) -> Values:
    """Return those of a whole number."""
    return listed(range(lower, upper + 1))


def named(count: int) -> Values:
    """Return those of a category: the numbers of its rows."""
    return Values(0.0, count - 1.0, np.arange(float(count)), ordered=False)


def no_limits(x: Any, m: Any) -> list[Range]:
    """Limits of a problem that has none."""
    return []


@dataclass(frozen=True, eq=False, kw_only=True)
class Definition:
    """A problem as it is written down.

    Attributes
    ----------
    title : str
        What is designed.
    family : str
        ``engineering``, ``reliability``, ``process`` or ``minlplib``.
    build : callable
        Returns a new `Model` with variables and explicit constraints.
    space : tuple of Values
        What each scalar variable may be, in the order of the model.
    objective : callable
        ``objective(x, m)``: the black box.
    limits : callable
        ``limits(x, m)``: value, lower and upper limit of each explicit constraint.
    """

    title: str
    family: str
    build: Callable[[], Model]
    space: tuple[Values, ...]
    objective: Formulas
    limits: Formulas = no_limits


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A problem as methods get it.

    Attributes
    ----------
    name : str
    source : Definition
    optimum : float
        Least objective that is known.
    x_opt : ndarray of shape (n,)
        Where it is.
    published : str
        Where the optimum comes from.
    held_out : bool
        Whether it is kept aside: nothing is tuned on it.
    """

    name: str
    source: Definition
    optimum: float
    x_opt: Floats
    published: str
    held_out: bool = False

    @property
    def space(self) -> tuple[Values, ...]:
        """What each scalar variable may be."""
        return self.source.space

    @property
    def n(self) -> int:
        """Number of scalar variables."""
        return len(self.space)

    @property
    def discrete(self) -> int:
        """How many of them are not real."""
        return sum(values.levels is not None for values in self.space)

    @property
    def target(self) -> float:
        """Objective that a run has to reach."""
        return self.optimum + RELATIVE * abs(self.optimum)

    def model(self) -> Model:
        """Return a new model."""
        return self.source.build()

    def objective(self, x: Floats) -> float:
        """Return the objective of a flat vector (n,); NaN where it has none."""
        with np.errstate(all="ignore"):
            return float(self.source.objective(x, np))

    def limits(self, x: Floats) -> Floats:
        """Return value, lower and upper limit (m, 3) of the explicit constraints."""
        with np.errstate(all="ignore"):
            rows = self.source.limits(x, np)
        return np.array(rows, dtype=float).reshape(-1, 3)

    def excess(self, x: Floats) -> Floats:
        """Return how far (k,) each one-sided limit is exceeded; at most 0 where it is met."""
        value, lower, upper = self.limits(x).T
        below, above = self._sides
        found = np.concatenate([(lower - value)[below], (value - upper)[above]])
        return np.where(np.isnan(found), UNDEFINED, found)

    def on_list(self, x: Floats) -> bool:
        """Whether every value of a flat vector (n,) is one that its variable may take."""
        return all(values.holds(v) for values, v in zip(self.space, x.tolist(), strict=True))

    def legal(self, x: Floats) -> bool:
        """Whether a flat vector (n,) is on the lists and meets all limits, up to rounding."""
        return self.on_list(x) and bool((self.excess(x) <= ROUNDING * self.limit_sizes).all())

    def random(self, rng: np.random.Generator) -> Floats:
        """Return a design (n,) on the lists, limits aside."""
        return np.array(
            [
                rng.uniform(v.lower, v.upper) if v.levels is None else rng.choice(v.levels)
                for v in self.space
            ]
        )

    @cached_property
    def limit_sizes(self) -> Floats:
        """Sizes (k,) of the one-sided limits, at least 1: rounding is relative to them."""
        _, lower, upper = np.abs(self.limits(self.x_opt)).T
        below, above = self._sides
        return np.maximum(1.0, np.concatenate([lower[below], upper[above]]))

    @cached_property
    def row_sizes(self) -> Floats:
        """Typical violations (k,) of random designs; other methods add up rows divided by them."""
        rng = np.random.default_rng(0)
        found = np.array([self.excess(self.random(rng)) for _ in range(SAMPLES)])
        sizes = np.median(np.abs(np.where(np.isfinite(found), found, UNDEFINED)), axis=0)
        return np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows (m,) have a lower limit, and which an upper one."""
        _, lower, upper = self.limits(self.x_opt).T
        return np.isfinite(lower), np.isfinite(upper)
