"""`System`: a model as a list of one-sided limits that can be kept or dropped one by one.

Compiling a model for the search merges bounds, drops rows and raises at the first contradiction.
A diagnosis must name what the engineer wrote, so this form keeps every declared bound and row:

- *quantities* (m + n): the m rows as declared, then the n free variables themselves;
- *limits*: ``side * (quantity - value) <= 0`` with side 1 (at most) or -1 (at least). Equalities
  have two, widened by their tolerance;
- *signs*: a variable with a lower bound of 2 also has the limit "at least 0". If the bound is
  dropped the sign stays: few engineers would think of a negative thickness as the way out.

Variables whose two bounds are equal are constants here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.diagnose.graph import Graph, Guard
from archeng.model.tolerance import typical
from archeng.model.variable import Floats

Bools = NDArray[np.bool_]
SCALING_POINTS = 64
"""Points from which sizes are taken."""


class Kind(StrEnum):
    """Where a limit comes from."""

    ROW = "row"
    BOUND = "bound"
    SIGN = "sign"


@dataclass(frozen=True)
class Limit:
    """``side * (quantity - value) <= 0``."""

    quantity: int
    side: int
    value: float
    kind: Kind


@dataclass(frozen=True)
class Quantity:
    """A row or a free variable: what an engineer calls it and what is known about it."""

    name: str
    source: str
    equality: bool
    linear: bool
    lower: float
    upper: float
    variables: tuple[int, ...]
    fixed: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class System:
    """All limits of a model, with functions of the free variables x (n,).

    Attributes
    ----------
    name : str
    names : tuple of str, length n
    free : tuple of int, length n
        Position of each free variable among all.
    quantities : tuple of Quantity, length m + n
    limits : tuple of Limit
    graphs : tuple of Graph or None, length m
        Operations of each row, None if CasADi cannot show them.
    guards : tuple of (row, Guard)
        What must hold for a row to be defined.
    lower, upper : ndarray, shape (n,)
        Declared bounds.
    inner : tuple of ndarray, shape (n,)
        Bounds of the part of the box in which a design can lie, as far as is known.
    center, scale : ndarray, shape (n,)
        A typical value and a typical change of each variable.
    size, guard_size : ndarray, shapes (m + n,), (guards,)
        Change of a quantity when the variables change by their scales (a median over the box).
    linear, offset : ndarray, shapes (m + n, n), (m + n,)
        Gradients and constants of the linear quantities; zero for the others.
    true, safe, jacobian : casadi.Function
        Quantities as declared; the same with guards appended (m + n + guards), continued to
        where they are undefined; its Jacobian.
    sides : casadi.Function
        Left and right side (m, 2) of the rows; NaN for a row that is not a difference.
    kept : tuple
        What the functions need and CasADi does not keep alive.
    """

    name: str
    names: tuple[str, ...]
    free: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    limits: tuple[Limit, ...]
    graphs: tuple[Graph | None, ...]
    guards: tuple[tuple[int, Guard], ...]
    lower: Floats
    upper: Floats
    inner: tuple[Floats, Floats]
    center: Floats
    scale: Floats
    size: Floats
    guard_size: Floats
    linear: Floats
    offset: Floats
    true: Any
    safe: Any
    jacobian: Any
    sides: Any
    kept: tuple[Any, ...] = ()

    @property
    def n(self) -> int:
        """Number of free variables."""
        return len(self.names)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.quantities) - self.n

    def values(self, points: Floats) -> Floats:
        """Quantities (k, m + n) at points (k, n); NaN or infinite where undefined."""
        if self.n == 0:
            return np.tile(np.asarray(self.true(np.zeros(0)), dtype=float).T, (len(points), 1))
        return np.asarray(self.true(np.asarray(points, dtype=float).T).full(), dtype=float).T

    def excess(self, points: Floats) -> Floats:
        """Return by how much each limit is exceeded (k, limits), in sizes of its quantity."""
        values = self.values(points)
        chosen = [limit.quantity for limit in self.limits]
        side = np.array([limit.side for limit in self.limits], dtype=float)
        value = np.array([limit.value for limit in self.limits], dtype=float)
        with np.errstate(invalid="ignore", over="ignore"):
            excess = side * (values[:, chosen] - value) / self.size[chosen]
        return np.where(np.isfinite(values[:, chosen]), excess, np.inf)

    def owners(self) -> NDArray[np.intp]:
        """Row of each guard."""
        return np.array([row for row, _ in self.guards], dtype=np.intp)

    def sample(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n), uniform in the box, normal around the centre where there is none."""
        return scatter(k, self.lower, self.upper, self.center, self.scale, rng)

    def sample_edges(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n) on faces, edges and corners of the box."""
        points = self.sample(k, rng)
        part = rng.random((k, 1)) ** 2
        end = np.where(rng.random((k, self.n)) < 0.5, self.lower, self.upper)
        moves = (rng.random((k, self.n)) < part) & np.isfinite(end)
        return np.asarray(np.where(moves, end, points), dtype=float)

    def sample_inside(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n) in the inner box."""
        return scatter(k, *self.inner, self.center, self.scale, rng)

    def focused(self, lower: Floats, upper: Floats, rng: np.random.Generator) -> System:
        """Return the system with scales and sizes as they are in a smaller box."""
        center, width = typical(lower, upper, *(2 * [np.full(self.n, np.nan)]))
        known = np.isfinite(lower) & np.isfinite(upper)
        center = np.where(known, center, np.clip(self.center, lower, upper))
        width = np.where(width > 1e-9 * self.scale, width, 0.1 * self.scale)  # one value is left
        scale = np.where(known, np.clip(width, 1e-3 * self.scale, self.scale), self.scale)
        moved = replace(self, inner=(lower, upper), center=center, scale=scale)
        size, guard_size = sizes(moved, rng)
        return replace(moved, size=size, guard_size=guard_size)


def scatter(
    k: int, low: Floats, high: Floats, center: Floats, scale: Floats, rng: np.random.Generator
) -> Floats:
    """Points (k, n): uniform between two bounds, normal around the centre without them."""
    u, z = rng.random((k, len(low))), rng.standard_normal((k, len(low)))
    with np.errstate(invalid="ignore", over="ignore"):
        inside = low + u * (high - low)
    around = np.clip(center + scale * z, low, high)
    return np.asarray(np.where(np.isfinite(inside), inside, around), dtype=float)


def sizes(system: System, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Typical change of the quantities and guards when each variable changes by its scale."""
    total = len(system.quantities)
    if system.n == 0:
        return np.ones(total), np.ones(len(system.guards))
    points = system.sample_inside(SCALING_POINTS, rng)
    defined = np.isfinite(system.values(points))
    lengths = []
    for point in points:
        entries = system.jacobian(point)
        rows, columns = (np.array(t, dtype=np.intp) for t in entries.sparsity().get_triplet())
        with np.errstate(invalid="ignore", over="ignore"):
            terms = (np.array(entries.nonzeros()) * system.scale[columns]) ** 2
        lengths.append(np.bincount(rows, terms, minlength=total + len(system.guards)))
    table = np.sqrt(np.array(lengths))
    table[:, :total] = np.where(defined | ~defined.any(axis=0), table[:, :total], np.nan)
    found = np.array([median(column) for column in table.T])
    return found[:total], found[total:]


def median(values: Floats) -> float:
    """Median of the positive finite values; 1 if there are none."""
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.median(good)) if len(good) else 1.0
