r"""The repair problem in whitened coordinates, the scaling of its rows, and the margins.

With y = x + L z and L L^T = sigma^2 C, both problems of [SA22 ssec:repair, 4.1] read

.. math:: \min_z \tfrac12 |z|^2 \quad\text{s.t.}\quad a_j \le r_j(x + L z) \le b_j ,

where the *nearest* problem takes the limits of the model (a little inside, the margin) and the
*intersection* problem pins each violated row to the side that it violates. Rows are divided
by the length of their gradient in z, so neither their units nor those of the variables matter.
A scaled row counts as satisfied if it is within its ``slack`` of the aimed limits: then it
holds exactly, because the aim is a margin inside.

==========  ======================================================  ====================
symbol      meaning                                                 name here
==========  ======================================================  ====================
x           point to repair, shape (n,)                             ``x``
L           factor of the metric, shape (n, n)                      ``L``
z           whitened displacement, shape (n,)                       ``z``
r_j         rows of the feasible set, shape (m,)                    ``values``
|L^T dr_j|  length of the whitened gradient of a row                ``norms``
a, b        limits that the solver aims at, shape (m,)              ``lower``, ``upper``
==========  ======================================================  ====================

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.functions import FastFunction
from archeng.repair.linearised import SparseRows
from archeng.repair.placing import EPSILON, FAR, LARGE_SLOPE, LEAST_SLACK, NOISE, SLAB, placed
from archeng.repair.reformulation import Reformulation

_RANK = 1e-10  # relative singular values that count as zero
_MEETING = 1e-8  # relative distance at which linearised boundaries have a common point
_INSIDE = 0.01  # how far inside the bounds a second start lies, in standard deviations

RowLimits = tuple[Floats, Floats]


class Metric:
    """What all repairs under one search distribution share, computed once per generation.

    ``inner_bounds`` (n,) lie a hundredth of a deviation inside the bounds. ``factor`` is L, or
    its diagonal (n,) if there are many variables and L has no other entries.
    """

    def __init__(self, feasible_set: FeasibleSet, distribution: Distribution) -> None:
        self.distribution, self._set = distribution, feasible_set
        self._constant: Floats | None = None
        self.factor = distribution.sigma * distribution.factor
        if not feasible_set.has_many:
            self.factor = distribution.scaled_factor
        elif self.factor.ndim == 2:
            diagonal = np.diag(self.factor)
            if np.count_nonzero(self.factor) == np.count_nonzero(diagonal):
                self.factor = diagonal
        low, high = feasible_set.bounds
        with np.errstate(over="ignore"):  # bounds of 1e308
            step = np.minimum(_INSIDE * self.spread, (high - low) / 4)
        self.inner_bounds = low + step, high - step

    @cached_property
    def L(self) -> Floats:
        """The factor as a matrix (n, n)."""
        return np.diag(self.factor) if self.factor.ndim == 1 else self.factor

    @cached_property
    def constant(self) -> Floats:
        """The whitened gradients (m_b + m_l, n) of the bound and linear rows."""
        return self._set.constant_jacobian @ self.L

    @cached_property
    def spread(self) -> Floats:
        """Standard deviations (n,) of the variables."""
        if self.factor.ndim == 1:
            return np.abs(self.factor)
        return np.asarray(np.sqrt(np.sum(self.factor**2, axis=1)))

    def lengths(self, rows: SparseRows, nonzeros: Floats) -> Floats:
        """Return the lengths (m,) of the whitened gradients of rows, with these nonzeros."""
        first = rows.m - self._set.n_nonlinear
        if self._constant is None:
            self._constant = rows.lengths(nonzeros, np.arange(first), self.factor)
        curved = rows.lengths(nonzeros, np.arange(first, rows.m), self.factor)
        return np.concatenate((self._constant, curved))

    def displacement(self, z: Floats) -> Floats:
        """Return L z (n,)."""
        return self.factor * z if self.factor.ndim == 1 else self.factor @ z

    def pulled_back(self, v: Floats) -> Floats:
        """Return L^T v (n,)."""
        return self.factor * v if self.factor.ndim == 1 else v @ self.factor


@dataclass(frozen=True, eq=False)
class Problem:
    """One point to repair, with scaled rows. Made by :class:`ProblemMaker`."""

    reformulation: Reformulation
    feasible_set: FeasibleSet  # the one that the solvers see; rows are meant as they are there
    metric: Metric
    x: Floats
    values: Floats  # rows at x, shape (m,)
    norms: Floats  # scale of each row, shape (m,)
    margins: Floats  # how far inside the aim is, in raw units, shape (m,)
    slack: Floats  # scaled tolerance, shape (m,)
    nearest: RowLimits  # of [SA22 eq:nearest, (6)], a margin inside those of the model
    pinned: RowLimits  # of [SA22 eq:intersection, (5)], whether or not there can be a solution
    crowded: bool  # more pinned rows than variables
    ambiguous: bool  # a row cannot be pinned
    box: tuple[Floats, Floats]  # bounds of the answer, enforced to the last bit
    rows: SparseRows | None = None  # if there are many variables

    @cached_property
    def intersection(self) -> RowLimits | None:
        """Limits of [SA22 eq:intersection, (5)]; None if there can be no solution.

        With many variables more pinned rows than variables are not tried.
        """
        if self.ambiguous or (self.crowded and (self.rows is not None or not _can_meet(self))):
            return None
        return self.pinned

    def at(self, z: Floats) -> tuple[Floats, Floats, bool]:
        """Return y = x + L z (n,), its rows (m,), and whether all hold exactly as written.

        The bounds of y are enforced to the last bit.
        """
        fs, written = self.feasible_set, self.reformulation.written
        low, high = self.box
        y = np.minimum(np.maximum(self.x + self.metric.displacement(z), low), high)
        values = fs.values(y)
        return y, values, written.holds(values) if fs is written else written.is_feasible(y)

    def first_start(self) -> Floats:
        """Whitened displacement (n,) at which the solvers begin.

        The point itself if all rows are linear. Nonlinear formulas often have poles, or are
        undefined, outside the bounds: there the start is moved a little inside them.
        """
        if self.feasible_set.is_linear:
            return np.zeros_like(self.x)
        inner_lower, inner_upper = self.metric.inner_bounds
        y = np.minimum(np.maximum(self.x, inner_lower), inner_upper)
        if (y == self.x).all():
            return np.zeros_like(self.x)
        return self.metric.distribution.whiten(y - self.x)

    def held(self, rows: Integers, sides: Floats) -> RowLimits:
        """Return the limits of [SA22 eq:nearest, (6)] with some rows pinned to a side (1 or -1)."""
        lower, upper = self.nearest[0].copy(), self.nearest[1].copy()
        largest = float((self.margins[rows] / self.norms[rows]).max(initial=0.0))
        thickness = max(2 * largest, SLAB) * self.norms[rows]
        high, low = rows[sides > 0], rows[sides < 0]
        lower[high] = np.maximum(upper[high] - thickness[sides > 0], lower[high])
        upper[low] = np.minimum(lower[low] + thickness[sides < 0], upper[low])
        return lower, upper

    def chosen_gradients(self, y: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Scaled whitened gradients (k, n) of chosen rows at y; ``chosen`` is a mask (m,)."""
        if self.rows is None:
            return self.gradients(y)[chosen]
        nonzeros = self.rows.nonzeros(y) / self.norms[self.rows.row]
        J = self.rows.sparse(nonzeros, np.flatnonzero(chosen))
        factor = self.metric.factor
        A = J.toarray() * factor if factor.ndim == 1 else J @ factor
        return np.asarray(A, dtype=float)

    def lagrangian_gradient(self, y: Floats, multipliers: Floats) -> Floats:
        """Return the gradient (n,) of the Lagrangian at y, in whitened coordinates."""
        z = self.metric.distribution.whiten(y - self.x)
        with np.errstate(invalid="ignore"):
            if self.rows is None:
                A = self.gradients(y)
                pull = A.T @ multipliers if np.all(np.isfinite(A)) else np.inf
            else:
                back = self.rows.back(self.rows.nonzeros(y), multipliers / self.norms)
                pull = self.metric.pulled_back(back)
            gradient = np.asarray(z + pull, dtype=float)
        return gradient if np.all(np.isfinite(gradient)) else np.full_like(z, np.inf)

    def gradients(self, y: Floats) -> Floats:
        """Scaled whitened gradients (m, n) of the rows at y."""
        fs = self.feasible_set
        if fs.is_linear:
            return self.metric.constant / self.norms[:, None]
        _, jacobian = fs.nonlinear_rows_and_jacobian(y)
        with np.errstate(invalid="ignore", over="ignore"):
            whitened = np.concatenate((self.metric.constant, jacobian @ self.metric.L))
            return whitened / self.norms[:, None]


class ProblemMaker:
    """Scales the rows at a point to repair and places the limits, by one compiled function."""

    def __init__(self, reformulation: Reformulation, margin: float) -> None:
        self.reformulation, self._margin = reformulation, margin
        self._metric: Metric | None = None

    @cached_property
    def _function(self) -> FastFunction:
        return _build(self.reformulation.feasible_set, self._margin)

    @cached_property
    def _rows(self) -> SparseRows | None:
        """The rows with sparse derivatives, if there are many variables."""
        fs = self.reformulation.feasible_set
        return SparseRows(fs) if fs.has_many else None

    def make(
        self, distribution: Distribution, x: Floats, values: Floats, scale_at: Floats | None = None
    ) -> Problem:
        """Return the problem for x (n,), given the rows there (m,) as they were written.

        Rows are scaled by their gradients at ``scale_at`` (default x).
        """
        metric = self._metric
        if metric is None or metric.distribution is not distribution:
            metric = self._metric = Metric(self.reformulation.written, distribution)
        if self.reformulation.homogeneous:
            values = self.reformulation.feasible_set.values(x)
        at = x if scale_at is None else scale_at
        if self._rows is None:
            block, flags = self._function(x, at, values, metric.L, metric.constant)
        else:
            block, flags = self._placed(self._rows, metric, x, at, values)
        norms, margins, slack, lower, upper, pinned_lower, pinned_upper = block.T
        crowded, ambiguous = flags.tolist()
        return Problem(
            reformulation=self.reformulation,
            feasible_set=self.reformulation.feasible_set,
            metric=metric,
            x=x,
            values=values,
            norms=norms,
            margins=margins,
            slack=slack,
            nearest=(lower, upper),
            pinned=(pinned_lower, pinned_upper),
            crowded=crowded > 0,
            ambiguous=ambiguous > 0,
            box=self.reformulation.feasible_set.bounds,
            rows=self._rows,
        )

    def _placed(
        self, rows: SparseRows, metric: Metric, x: Floats, at: Floats, values: Floats
    ) -> tuple[Floats, Floats]:
        """Return what the compiled function does, by products with sparse rows."""
        nonzeros, same = rows.nonzeros(at), np.array_equal(x, at)
        with np.errstate(all="ignore"):
            length = metric.lengths(rows, nonzeros)
            terms = rows.by_rows(np.abs(nonzeros) * np.abs(at)[rows.variable])
            if same:
                terms = terms + np.abs(values)
            at_point = values, length, terms
            return placed(self.reformulation.feasible_set, self._margin, at_point, same)


def _can_meet(problem: Problem) -> bool:
    """Whether the boundaries pinned at x, linearised there, have a common point."""
    fs, values = problem.feasible_set, problem.values
    pinned = fs.violations_of(values) > 0
    A = problem.gradients(problem.x)[pinned]
    aim = np.where(values > fs.upper, fs.upper, fs.lower)
    b = ((aim - values) / problem.norms)[pinned]
    if not (np.all(np.isfinite(A)) and np.all(np.isfinite(b))):
        return False
    d, *_ = np.linalg.lstsq(A, b, rcond=_RANK)
    return bool(np.abs(A @ d - b).max() <= _MEETING * (1.0 + float(np.abs(b).max())))


def _build(fs: FeasibleSet, margin: float) -> FastFunction:
    """Build (x, at, values, L, K) -> norms, margins, slack, four limits, crowded, ambiguous.

    The margin is in standard deviations of the search distribution across the boundary. It is
    kept above the rounding noise of the row and below a quarter of the width between its
    limits. Bounds need none: they are enforced exactly by clipping.
    """
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    x, at, values = ca.MX.sym("x", n), ca.MX.sym("at", n), ca.MX.sym("values", m)
    L, K = ca.MX.sym("L", n, n), ca.MX.sym("K", m - m_n, n)
    lower, upper = ca.DM(fs.lower), ca.DM(fs.upper)
    jacobian, whitened = ca.DM(fs.constant_jacobian), K
    if m_n:
        _, curved = fs.nonlinear_rows_and_jacobian.function(at)
        curved = ca.project(curved, fs.jacobian_sparsity)
        jacobian, whitened = ca.vertcat(jacobian, curved), ca.vertcat(K, curved @ L)

    excess = ca.fmax(lower - values, values - upper)
    undefined = ca.logic_not(ca.fabs(values) < ca.inf)
    violation = ca.if_else(undefined, 0, ca.fmax(excess, 0))
    length = ca.sqrt(ca.sum2(whitened * whitened))
    defined = ca.logic_and(ca.logic_not(undefined), length < LARGE_SLOPE)
    same = ca.norm_inf(x - at) == 0
    norms = ca.if_else(defined, ca.fmax(length, same * violation / FAR), 1)
    norms = ca.if_else(norms > 0, norms, 1)

    sizes = [np.where(np.isfinite(limit), np.abs(limit), 0.0) for limit in (fs.lower, fs.upper)]
    limit_size = ca.DM(np.maximum(*sizes))
    terms = ca.fabs(jacobian) @ ca.fabs(at) + same * ca.fabs(values)
    noise = NOISE * EPSILON * (limit_size + ca.if_else(defined, terms, 0))
    margins = ca.fmin(ca.fmax(margin * norms, noise), (upper - lower) / 4)
    margins *= ca.DM([0.0] * len(fs.bounded) + [1.0] * (m - len(fs.bounded)))
    slack = ca.fmax(0.5 * margins / norms, LEAST_SLACK)
    inside_lower, inside_upper = lower + margins, upper - margins

    # A pinned row is a slab, thicker than the largest margin of any pinned row, so that
    # boundaries that meet in a point stay consistent in floating point.
    pinned = ca.logic_or(undefined, excess > 0)
    largest = ca.mmax(ca.if_else(pinned, margins / norms, 0))
    thickness = ca.fmax(2 * largest, SLAB) * norms
    has_upper = ca.DM(np.isfinite(fs.upper).astype(float))
    above = ca.logic_and(pinned, ca.if_else(undefined, has_upper, values > upper))
    below = ca.logic_and(pinned, ca.logic_not(above))
    pinned_lower = ca.if_else(above, ca.fmax(inside_upper - thickness, inside_lower), inside_lower)
    pinned_upper = ca.if_else(below, ca.fmin(inside_lower + thickness, inside_upper), inside_upper)

    # More pinned rows than variables meet by coincidence only; an undefined row with two sides
    # cannot be pinned.
    two_sided = ca.DM((np.isfinite(fs.lower) & np.isfinite(fs.upper)).astype(float))
    crowded = ca.sum1(pinned) > n
    ambiguous = ca.sum1(undefined * two_sided) > 0
    block = ca.horzcat(
        norms, margins, slack, inside_lower, inside_upper, pinned_lower, pinned_upper
    )
    outputs = [block, ca.vertcat(crowded, ambiguous)]
    return FastFunction.of("problem", [x, at, values, L, K], outputs, matrices=(0,))
