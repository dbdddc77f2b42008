"""`LimitSystem`: a model as one-sided limits that can be kept or dropped one by one.

Compiling a model for the search merges bounds, drops rows and raises at the first contradiction.
A diagnosis must name what the engineer wrote, so this form keeps every declared bound and row:

- *quantities* (m + n): the m rows as declared, then the n free variables themselves;
- *limits*: ``side * (quantity - value) <= 0`` with side 1 (at most) or -1 (at least). Equalities
  have two, widened by their tolerance;
- *signs*: a variable with a lower bound of 2 also has the limit "at least 0". If the bound is
  dropped the sign stays: few engineers would think of a negative thickness as the way out. The
  ends of a list of values count as signs, too.

Variables whose two bounds are equal are constants here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.diagnose.graph import (
    DomainGuard,
    Graph,
    continued,
    dependencies,
    graph_of,
    linear_parts,
    median,
)
from archeng.model import Model
from archeng.model.tolerance import typical
from archeng.model.undefined import free_rows
from archeng.model.variable import Floats

Bools = NDArray[np.bool_]
_SCALING_POINTS = 64  # points of the box from which sizes are taken


class LimitKind(StrEnum):
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
    kind: LimitKind


@dataclass(frozen=True)
class Quantity:
    """A row or a free variable: its name, limits, variables, and the fixed values it depends on.

    ``listed`` says which values a variable has whose bounds are the ends of a list.
    """

    name: str
    source: str
    equality: bool
    linear: bool
    lower: float
    upper: float
    variables: tuple[int, ...]
    fixed: tuple[str, ...]
    listed: str = ""


@dataclass(frozen=True, eq=False)
class LimitSystem:
    """All limits of a model, with functions of the free variables x (n,).

    ``size`` (m + n + guards,) is how much a quantity or the argument of a guard changes when the
    variables change by their scales (a median over the box).
    """

    name: str
    free: tuple[int, ...]  # position of each free variable among all
    quantities: tuple[Quantity, ...]  # m rows, n variables
    limits: tuple[Limit, ...]
    graphs: tuple[Graph | None, ...]  # operations of the m rows, None if CasADi cannot show them
    guards: tuple[tuple[int, DomainGuard], ...]  # what must hold for a row to be defined
    lower: Floats  # declared bounds (n,)
    upper: Floats
    inner: tuple[Floats, Floats]  # bounds (n,) of where a design can lie, as far as is known
    center: Floats  # a typical value of each variable (n,)
    scale: Floats  # a typical change of each variable (n,)
    size: Floats
    linear: Floats  # gradients (m + n, n) of the linear quantities; zero for the others
    offset: Floats  # constants (m + n,) of the linear quantities; zero for the others
    true: Any  # quantities as declared
    safe: Any  # quantities continued to where they are undefined, and guards
    jacobian: Any  # of ``safe``
    compared: Any  # left and right side (m, 2) of the rows; NaN for a row that is no difference
    kept: tuple[Any, ...] = ()  # what the functions need and CasADi does not keep alive

    @property
    def n(self) -> int:
        """Number of free variables."""
        return len(self.free)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.quantities) - self.n

    @property
    def names(self) -> list[str]:
        """Names of the free variables."""
        return [quantity.name for quantity in self.quantities[self.m :]]

    @cached_property
    def quantity(self) -> NDArray[np.intp]:
        """Quantity of each limit."""
        return np.array([limit.quantity for limit in self.limits], dtype=np.intp)

    @cached_property
    def side(self) -> Floats:
        """Side of each limit."""
        return np.array([limit.side for limit in self.limits], dtype=float)

    @cached_property
    def value(self) -> Floats:
        """Value of each limit."""
        return np.array([limit.value for limit in self.limits], dtype=float)

    @cached_property
    def equality(self) -> Bools:
        """Which limits are those of an equality."""
        return np.array([self.quantities[k].equality for k in self.quantity], dtype=bool)

    @property
    def everything(self) -> Bools:
        """All limits."""
        return np.ones(len(self.limits), dtype=bool)

    def of_kind(self, *kinds: LimitKind) -> Bools:
        """Which limits are rows, bounds or signs."""
        return np.array([limit.kind in kinds for limit in self.limits], dtype=bool)

    def only(self, chosen: Iterable[int]) -> Bools:
        """Return the chosen limits as a mask."""
        return np.isin(np.arange(len(self.limits)), list(chosen))

    def with_limit(self, k: int, **changes: Any) -> LimitSystem:
        """Return the system with one limit changed."""
        changed = replace(self.limits[k], **changes)
        return replace(self, limits=(*self.limits[:k], changed, *self.limits[k + 1 :]))

    def box(self, active: Bools, *kinds: LimitKind) -> tuple[Floats, Floats]:
        """Bounds (n,) that the active limits of some kinds put on the variables, or infinite."""
        low, high = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        asked = active & self.of_kind(*kinds)
        for side, ends, tighter in ((-1, low, np.maximum), (1, high, np.minimum)):
            k = np.flatnonzero(asked & (self.side == side))
            tighter.at(ends, self.quantity[k] - self.m, self.value[k])
        return low, high

    def values(self, points: Floats) -> Floats:
        """Quantities (k, m + n) at points (k, n); NaN or infinite where undefined."""
        if self.n == 0:
            return np.tile(np.asarray(self.true(np.zeros(0)), dtype=float).T, (len(points), 1))
        return np.asarray(self.true(np.asarray(points, dtype=float).T).full(), dtype=float).T

    def excess(self, points: Floats) -> Floats:
        """Return by how much each limit is exceeded (k, limits), in sizes of its quantity."""
        values = self.values(points)[:, self.quantity]
        with np.errstate(invalid="ignore", over="ignore"):
            excess = self.side * (values - self.value) / self.size[self.quantity]
        return np.where(np.isfinite(values), excess, np.inf)

    def by_name(self, point: Floats) -> dict[str, float]:
        """Return a point (n,) as values by name."""
        return {name: float(v) for name, v in zip(self.names, point, strict=True)}

    def sample(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n), uniform in the box, normal around the centre where there is none."""
        return _scatter(k, self.lower, self.upper, self.center, self.scale, rng)

    def sample_edges(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n) on faces, edges and corners of the box."""
        points = self.sample(k, rng)
        part = rng.random((k, 1)) ** 2
        end = np.where(rng.random((k, self.n)) < 0.5, self.lower, self.upper)
        moves = (rng.random((k, self.n)) < part) & np.isfinite(end)
        return np.asarray(np.where(moves, end, points), dtype=float)

    def sample_inside(self, k: int, rng: np.random.Generator) -> Floats:
        """Points (k, n) in the inner box."""
        return _scatter(k, *self.inner, self.center, self.scale, rng)

    def focused(self, lower: Floats, upper: Floats, rng: np.random.Generator) -> LimitSystem:
        """Return the system with scales and sizes as they are in a smaller box."""
        center, width = typical(lower, upper, *(2 * [np.full(self.n, np.nan)]))
        finite = np.isfinite(lower) & np.isfinite(upper)
        center = np.where(finite, center, np.clip(self.center, lower, upper))
        width = np.where(width > 1e-9 * self.scale, width, 0.1 * self.scale)  # one value is left
        scale = np.where(finite, np.clip(width, 1e-3 * self.scale, self.scale), self.scale)
        return replace(self, inner=(lower, upper), center=center, scale=scale)._sized(rng)

    def _sized(self, rng: np.random.Generator) -> LimitSystem:
        """Measure how much quantities and guards change when each variable does by its scale."""
        if self.n == 0:
            return self
        points = self.sample_inside(_SCALING_POINTS, rng)
        lengths, _ = self.slopes(points)
        defined, m_n = np.isfinite(self.values(points)), len(self.quantities)
        lengths[:, :m_n] = np.where(defined | ~defined.any(axis=0), lengths[:, :m_n], np.nan)
        return replace(self, size=np.array([median(column) for column in lengths.T]))

    def slopes(self, points: Floats) -> tuple[Floats, Floats]:
        """Scaled gradients of quantities and guards at points (k, n).

        Returns their lengths (k, m + n + guards), and the sums of ``|dq/dx_i x_i|``.
        """
        lengths, terms = np.zeros((2, len(points), len(self.size)))
        for k, point in enumerate(points):
            entries = self.jacobian(point)
            rows, columns = (np.array(t, dtype=np.intp) for t in entries.sparsity().get_triplet())
            values = np.array(entries.nonzeros())
            with np.errstate(invalid="ignore", over="ignore"):
                squares, sizes = (values * self.scale[columns]) ** 2, values * point[columns]
            lengths[k] = np.bincount(rows, squares, minlength=len(self.size))
            terms[k] = np.bincount(rows, np.abs(sizes), minlength=len(self.size))
        return np.sqrt(lengths), terms


def system_of(
    model: Model, rng: np.random.Generator, lists: Mapping[int, str] = MappingProxyType({})
) -> LimitSystem:
    """Build the system of a model with at least one variable.

    ``lists`` says of scalar variables whose bounds are the ends of a list what is in it: these
    bounds count as signs, because there is nothing beyond.
    """
    lower, upper, start, scale = (
        np.concatenate([getattr(v, what) for v in model.variables])
        for what in ("lower", "upper", "start", "scale")
    )
    fixed, free = np.flatnonzero(lower == upper), np.flatnonzero(lower != upper)
    names = model.element_names()
    x, rows, kept = free_rows(model, free, np.where(lower == upper, lower, 0.0))
    low, high = lower[free], upper[free]
    center, width = typical(low, high, start[free], scale[free])
    graphs = [graph_of(row, x) for row in rows]
    points = _scatter(_SCALING_POINTS, low, high, center, width, rng)
    safe, guards = continued(rows, graphs, x, points)
    linear, offset, curved = linear_parts(rows, graphs, x)
    constants = {int(i): f"{names[i]} = {lower[i]:g} (fixed)" for i in fixed}
    quantities = _row_quantities(model, rows, x, curved, constants)
    quantities += [
        Quantity(names[i], "", False, True, lower[i], upper[i], (k,), (), lists.get(int(i), ""))
        for k, i in enumerate(free)
    ]
    everything = ca.vertcat(*safe, x, *(guard.argument for _, guard in guards))
    return LimitSystem(
        name=model.name,
        free=tuple(int(i) for i in free),
        quantities=tuple(quantities),
        limits=_limits(quantities, len(rows)),
        graphs=tuple(graphs),
        guards=tuple(guards),
        lower=low,
        upper=high,
        inner=(low, high),
        center=center,
        scale=width,
        size=np.ones(len(quantities) + len(guards)),
        linear=np.concatenate((linear, np.eye(len(free)))),
        offset=np.concatenate((offset, np.zeros(len(free)))),
        true=ca.Function("rows", [x], [ca.densify(ca.vertcat(*rows, x))]),
        safe=ca.Function("safe", [x], [ca.densify(everything)]),
        jacobian=ca.Function("jacobian", [x], [ca.jacobian(everything, x)]),
        compared=ca.Function("compared", [x], [ca.vertcat(*(_compared(row) for row in rows))]),
        kept=kept,
    )._sized(rng)


def _compared(row: Any) -> Any:
    """Both sides of a difference, as ``a <= b`` is stored; NaN for anything else."""
    if row.is_op(ca.OP_SUB):
        return ca.horzcat(row.dep(0), row.dep(1))
    return ca.DM([[np.nan, np.nan]])


def _row_quantities(
    model: Model, rows: list[Any], x: Any, curved: list[bool], constants: dict[int, str]
) -> list[Quantity]:
    """Rows as declared; ``constants`` says the value of the fixed variables by position."""
    expressions = [r.expression for c in model.constraints for r in c.rows]
    inside, everything = dependencies(rows, x), dependencies(expressions, model.symbols)
    declared = [
        (name, c.source, equal, float(a), float(b))
        for c in model.constraints
        for name, equal, a, b in zip(c.row_names(), c.equalities(), *c.limits(), strict=True)
    ]
    fixed = (tuple(constants[i] for i in indices if i in constants) for indices in everything)
    return [
        Quantity(name, source, equal, not bent, a, b, variables, values)
        for (name, source, equal, a, b), bent, variables, values in zip(
            declared, curved, inside, fixed, strict=True
        )
    ]


def _limits(quantities: list[Quantity], m: int) -> tuple[Limit, ...]:
    limits = []
    for k, quantity in enumerate(quantities):
        for side, value in ((-1, quantity.lower), (1, quantity.upper)):
            zero = abs(value) < np.finfo(float).tiny or quantity.listed != ""
            kind = LimitKind.ROW if k < m else LimitKind.SIGN if zero else LimitKind.BOUND
            if np.isfinite(value):
                limits.append(Limit(k, side, value, kind))
                if kind is LimitKind.BOUND and side * value < 0:
                    limits.append(Limit(k, side, 0.0, LimitKind.SIGN))
    return tuple(limits)


def _scatter(
    k: int, low: Floats, high: Floats, center: Floats, scale: Floats, rng: np.random.Generator
) -> Floats:
    """Points (k, n): uniform between two bounds, normal around the centre without them."""
    u, z = rng.random((k, len(low))), rng.standard_normal((k, len(low)))
    with np.errstate(invalid="ignore", over="ignore"):
        inside = low + u * (high - low)
    around = np.clip(center + scale * z, low, high)
    return np.asarray(np.where(np.isfinite(inside), inside, around), dtype=float)
