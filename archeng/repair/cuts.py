r"""Bounds for nodes: linear rows, tangents of convex ones, and what levels cost [DG86].

A convex row :math:`r(p) \le b` lies above each of its tangents, so a point that satisfies it
satisfies :math:`r(p_0) + \nabla r(p_0) (p - p_0) \le b` for any :math:`p_0`. With tangents in the
place of convex rows, and without the rows that are not convex, the relaxed problem of a node is a
quadratic program. Whatever its solution, no design of the node is nearer; if it has none, neither
has the node. Tangents at the solution are added until the rows hold there. They hold in all nodes,
so few are needed in each.

Between two levels the distance to a cell says too little: half-way between them a sample is in
both cells. But its cost may be taken as linear from level to level. With the deviations
:math:`s_i` of the discrete coordinates and :math:`\rho` the largest eigenvalue of their
correlations, :math:`\delta_i = 1 / (\rho s_i^2)` can be taken out of the metric, and

.. math:: |v|^2 \ge v^T (I - L_d^T \Delta L_d) v + \sum_i \delta_i e_i(w_i) , \quad q = x + L v ,

where :math:`e_i` is the largest convex function with at most the squared distance of
:math:`x_i` to the cell at each level. The right-hand side is what is minimised, with
:math:`(q_i - x_i)^2` in the place of :math:`e_i` where that is more (again by tangents). Without
correlations both sides are equal at levels.

Whether rows are convex is seen from their tangents at points all over the box.

[DG86] M. Duran, I. Grossmann, An outer-approximation algorithm for a class of mixed-integer
nonlinear programs, Mathematical Programming 36, 307-339, 1986, doi:10.1007/BF02592064.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.functions import FastFunction
from archeng.model.lattice import Lattice
from archeng.repair.least_distance import LeastDistance
from archeng.repair.lifted import LiftedSet
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.step import INFINITE, daqp

_POINTS = 40  # at which rows are compared with their tangents
_BELOW = 1e-9  # relative distance below a tangent that is rounding
_ROUNDS = 6  # of tangents in a node
_GAIN = 1e-3  # relative gain of a round below which there is no other
_HOLDS = 1e-7  # scaled violation of a curved row that needs no further tangent
_COMMON = 1e-7  # scaled violation at which linear rows have a common point
_MOST = 4  # tangents of each kind that are kept, for each coordinate
_LEAST = 20  # tangents of each kind that are kept, however few coordinates there are
_FLAT = 0.03  # relative error of a squared distance that needs no further tangent
_LINES = 8  # pieces of the cost of a coordinate that are used, those next to the sample
_LISTED = 200  # levels up to which the cost of a coordinate is made convex
_SMALLEST = 32  # rows of the smallest program; larger ones are made as they are needed
_PROXIMAL = 1e-2  # weight of DAQP's own proximal steps: the program is not strictly convex


def convex_rows(fs: FeasibleSet) -> NDArray[np.bool_]:
    """Which nonlinear rows (m_n,) are convex, as far as points all over the box can tell."""
    first, (low, high) = fs.m - fs.n_nonlinear, fs.bounds
    upper, lower = np.isfinite(fs.upper[first:]), np.isfinite(fs.lower[first:])
    one_sided = upper != lower
    if not one_sided.any() or not np.all(np.isfinite(high - low)):
        return np.zeros(fs.n_nonlinear, dtype=bool)
    points = np.random.default_rng(0).uniform(low, high, (_POINTS, fs.n))
    found = [fs.nonlinear_rows_and_jacobian(p) for p in points]
    side = np.where(upper, 1.0, -1.0)
    values = side * np.array([v for v, _ in found])
    slopes = side[:, None] * np.array([J for _, J in found])
    convex = one_sided & np.isfinite(values).all(axis=0) & np.isfinite(slopes).all(axis=(0, 2))
    with np.errstate(all="ignore"):
        for value, slope, p in zip(values, slopes, points, strict=True):
            tangent = value + (points - p) @ slope.T
            size = np.abs(values) + np.abs(tangent) + np.abs(value)
            convex &= (values >= tangent - _BELOW * size).all(axis=0)
    return np.asarray(convex)


class Range(NamedTuple):
    """Levels, from the numbers low to high (d,), and how far their cells are from the sample."""

    low: Integers
    high: Integers
    apart: Floats
    radius_squared: float  # a squared distance beyond which nothing is looked for


class Bounded(NamedTuple):
    """The least squared distance in a node, and where it is reached; infinite if nowhere."""

    squared: float
    q: Floats
    w: Floats


class Tangents:
    """The bounds of the nodes of one repair after the other."""

    def __init__(self, lifted: LiftedSet) -> None:
        self._lifted, self._set = lifted, lifted.feasible_set
        self.convex = convex_rows(lifted.original)
        self._programs: dict[int, FastFunction] = {}
        self._point = LeastDistance()

    def begin(self, problem: Problem, stretch: float, deviations: Floats) -> None:
        """Begin a repair, without tangents: the order of repairs must not matter.

        ``problem`` says where the sample is and what the metric of (q, w) is.
        """
        n, d, L = self._lifted.n, len(deviations), problem.metric.L
        weights = _listed(self._lifted.lattice) / (deviations**2 * stretch)
        taken = L[self._lifted.lattice.positions][:, :n]
        self._weights, self._taken = weights, taken
        self._W = np.zeros((n + 2 * d, n + 2 * d), order="F")
        self._W[:n, :n] = 2.0 * (np.eye(n) - taken.T @ (weights[:, None] * taken))
        self._g = np.concatenate((np.zeros(n + d), np.ones(d)))
        self._lines(problem, weights)
        self._slopes, self._heights = np.zeros((0, n + d)), np.zeros(0)  # slope p <= height
        if self.convex.any():
            self._add(problem.x, np.flatnonzero(self.convex))

    def _lines(self, problem: Problem, weights: Floats) -> None:
        """Rows t_i >= a + b w_i that make t_i the convex cost of a coordinate."""
        lattice, n = self._lifted.lattice, self._lifted.n
        d, width = len(weights), np.diag(problem.metric.L)[n:]
        rows, least, pieces = [], [], []
        for j, i in enumerate(lattice.positions):
            w0, near = problem.x[n + j], float(problem.x[i])
            for a, b, slope, height in _pieces(lattice, j, near) if weights[j] > 0 else []:
                row = np.zeros(n + 2 * d)
                row[n + j], row[n + d + j] = -weights[j] * slope * width[j], 1.0
                rows.append(row)
                least.append(weights[j] * (height + slope * w0))
                pieces.append((j, a, b))
        self._costs = np.array(rows).reshape(-1, n + 2 * d)
        self._least = np.array(least)
        self._pieces = np.array(pieces, dtype=np.intp).reshape(-1, 3).T
        self._floor = np.hstack((np.zeros((d, n + d)), np.eye(d)))
        self._squares, self._parts = np.zeros((0, n + 2 * d)), np.zeros(0)

    def bound(self, problem: Problem, limits: RowLimits, node: Range) -> Bounded:
        """Return the least squared distance; not all of it if it is beyond the radius."""
        fs, L, n = self._set, problem.metric.L, self._lifted.n
        k, d = fs.m - fs.n_nonlinear, fs.n - n
        flat = problem.metric.constant
        low, high = limits[0][:k] - problem.values[:k], limits[1][:k] - problem.values[:k]
        squared, before = 0.0, -np.inf
        j, a, b = self._pieces
        used = (node.low[j] < b) & (node.high[j] > a) & (node.low[j] < node.high[j])
        floor = np.concatenate((self._weights * node.apart**2, self._least[used]))
        lines = np.concatenate((self._floor, self._costs[used]))
        for _ in range(_ROUNDS):
            curved = self._slopes @ L
            A = np.concatenate((flat, curved))
            A = np.hstack((A, np.zeros((len(A), d))))
            A = np.concatenate((A, lines, self._squares))
            tangents = self._heights - self._slopes @ problem.x
            costs = np.concatenate((floor, self._parts))
            lower = np.concatenate((low, np.full(len(tangents), -np.inf), costs))
            none = np.full(len(costs), np.inf)
            z, best = self._solved(A, lower, np.concatenate((high, tangents, none)))
            if z is None:
                return Bounded(np.inf, problem.x[:n], problem.x[n:])
            p = problem.x + L @ z[: n + d]
            if not best:
                break
            squared = float(z @ self._W @ z) / 2 + float(self._g @ z)
            broken = self._broken(problem, limits, p)
            flat_costs = self._too_flat(z, squared)
            gained = squared - before > _GAIN * squared
            if squared >= node.radius_squared or not gained or not (len(broken) or len(flat_costs)):
                break
            before = squared
            self._add(p, broken)
            self._add_squares(z, flat_costs)
        return Bounded(max(squared, 0.0), p[:n], p[n:])

    def _too_flat(self, z: Floats, squared: float) -> Integers:
        """Return coordinates whose cost at z is well below the square of what q is apart."""
        d = len(self._weights)
        missing = self._weights * (self._taken @ z[: self._lifted.n]) ** 2 - z[-d:]
        return np.flatnonzero(missing > _FLAT * (squared + _FLAT) / d)

    def _add_squares(self, z: Floats, coordinates: Integers) -> None:
        """Add tangents of the squares at z: the cost is at least that of where q is."""
        n, d = self._lifted.n, len(self._weights)
        apart = self._taken[coordinates] @ z[:n]
        rows = np.zeros((len(coordinates), n + 2 * d))
        weights = self._weights[coordinates]
        rows[:, :n] = -(2.0 * weights * apart)[:, None] * self._taken[coordinates]
        rows[np.arange(len(coordinates)), n + d + coordinates] = 1.0
        most = max(_LEAST, _MOST * d)
        self._squares = np.concatenate((self._squares, rows))[-most:]
        self._parts = np.concatenate((self._parts, -weights * apart**2))[-most:]

    def _solved(self, A: Floats, low: Floats, high: Floats) -> tuple[Floats | None, bool]:
        """Return the solution of the program with limits of A z, and whether it is the best.

        If the solver finds none, a point is looked for at which the rows hold; None if there is
        none.
        """
        norms = np.sqrt(np.sum(A * A, axis=1))
        used = (norms > 0) & (np.isfinite(low) | np.isfinite(high))
        if np.any((low[norms == 0] > 0) | (high[norms == 0] < 0)):
            return None, False
        norms = norms[used]
        A, low, high = A[used] / norms[:, None], low[used] / norms, high[used] / norms
        z = self._program(A, low, high)
        if _holds(A, z, low, high):
            return z, True
        n = A.shape[1]
        z, _ = self._point(np.eye(n, order="F"), np.zeros(n), A, low, high)
        return (z, False) if _holds(A, z, low, high) else (None, False)

    def _program(self, A: Floats, low: Floats, high: Floats) -> Floats:
        """Return what the solver says of the program with these rows."""
        (k, n), size = A.shape, _SMALLEST
        while size < k:
            size += size // 4
        if size not in self._programs:
            shapes = {"W": (n, n), "g": (n, 1), "A": (size, n), "low": (size, 1), "high": (size, 1)}
            inputs = [ca.MX.sym(name, *shape) for name, shape in shapes.items()]
            solution, _ = daqp(*inputs, proximal=_PROXIMAL)
            self._programs[size] = FastFunction.of("bound", inputs, [solution])
        rows, unlimited = np.zeros((size, n)), np.full((2, size), INFINITE)
        rows[:k] = A
        unlimited[0, :k], unlimited[1, :k] = np.minimum(-low, INFINITE), np.minimum(high, INFINITE)
        (z,) = self._programs[size](self._W, self._g, rows, -unlimited[0], unlimited[1])
        return z

    def _broken(self, problem: Problem, limits: RowLimits, p: Floats) -> Integers:
        """Return the convex rows that do not hold at p."""
        if not self.convex.any():
            return np.arange(0)
        first = self._set.m - self._set.n_nonlinear
        values = self._set.values(p)[first:]
        excess = np.maximum(limits[0][first:] - values, values - limits[1][first:])
        return np.flatnonzero(self.convex & (excess > _HOLDS * problem.norms[first:]))

    def _add(self, p: Floats, rows: Integers) -> None:
        """Add the tangents at p of some nonlinear rows."""
        fs = self._set
        values, jacobian = fs.nonlinear_rows_and_jacobian(p)
        first = fs.m - fs.n_nonlinear
        upper = np.isfinite(fs.upper[first:][rows])
        side = np.where(upper, 1.0, -1.0)
        limit = np.where(upper, fs.upper[first:][rows], -fs.lower[first:][rows])
        slopes = side[:, None] * jacobian[rows]
        heights = limit - side * values[rows] + slopes @ p
        usable = np.isfinite(heights) & np.all(np.isfinite(slopes), axis=1)
        most = max(_LEAST, _MOST * fs.n)
        self._slopes = np.concatenate((self._slopes, slopes[usable]))[-most:]
        self._heights = np.concatenate((self._heights, heights[usable]))[-most:]


def _holds(A: Floats, z: Floats, low: Floats, high: Floats) -> bool:
    """Whether scaled rows hold at z, but for rounding."""
    change = A @ z
    missing = float(np.maximum(low - change, change - high).max(initial=0.0))
    return missing <= _COMMON * (1.0 + float(np.abs(z).max()))


def _listed(lattice: Lattice) -> Floats:
    """1 for coordinates (d,) whose cost is made convex, 0 for others."""
    few = [len(levels) <= _LISTED for levels in lattice.levels]
    return (np.array(few) & lattice.ordered).astype(float)


def _pieces(lattice: Lattice, j: int, near: float) -> list[tuple[int, int, float, float]]:
    """Pieces of the convex cost of the levels of a coordinate: from, to, slope and height."""
    levels, ends = lattice.levels[j], lattice.ends[j]
    first, last = np.append(-np.inf, ends), np.append(ends, np.inf)
    costs = np.maximum(np.maximum(first - near, near - last), 0.0) ** 2
    corners: list[int] = []
    for k in range(len(levels)):
        while len(corners) > 1 and _above(levels, costs, corners[-2], corners[-1], k):
            corners.pop()
        corners.append(k)
    own = int(np.searchsorted(ends, near, side="right"))
    pieces = sorted(pairwise(corners), key=lambda ab: abs(sum(ab) / 2 - own))
    lines = []
    for a, b in pieces[:_LINES]:
        slope = float((costs[b] - costs[a]) / (levels[b] - levels[a]))
        lines.append((a, b, slope, float(costs[a] - slope * levels[a])))
    return lines


def _above(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    """Whether point b is on or above the line from a to c."""
    return bool((y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a]))
