r"""Bounds for nodes of convex models: linear rows, and curved ones by their tangents [DG86].

A convex row :math:`r(p) \le b` lies above each of its tangents, so a point that satisfies it
satisfies :math:`r(p_0) + \nabla r(p_0) (p - p_0) \le b` for any :math:`p_0`. With tangents in the
place of curved rows the relaxed problem of a node is a least-distance problem, and whatever its
solution, no design of the node is nearer; if it has none, neither has the node. Tangents at the
solution are added until the rows hold there. They hold in all nodes, so few are needed in each.

Whether rows are convex is seen from their tangents at points all over the box.

[DG86] M. Duran, I. Grossmann, An outer-approximation algorithm for a class of mixed-integer
nonlinear programs, Mathematical Programming 36, 307-339, 1986, doi:10.1007/BF02592064.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.least_distance import LeastDistance
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.sqp import Outcome, SolverAnswer

_POINTS = 40  # at which rows are compared with their tangents
_BELOW = 1e-9  # relative distance below a tangent that is rounding
_ROUNDS = 8  # of tangents in a node
_HOLDS = 1e-7  # scaled violation of a curved row that needs no further tangent
_COMMON = 1e-7  # scaled violation at which linear rows have a common point
_MOST = 400  # tangents that are kept


def looks_convex(fs: FeasibleSet, low: Floats, high: Floats) -> bool:
    """Whether curved rows, where they were looked at between low and high (n,), are convex."""
    if fs.is_linear:
        return True
    first = fs.m - fs.n_nonlinear
    upper, lower = np.isfinite(fs.upper[first:]), np.isfinite(fs.lower[first:])
    if np.any(upper & lower) or not np.all(np.isfinite(high - low)):
        return False
    rng = np.random.default_rng(0)
    points = rng.uniform(low, high, (_POINTS, fs.n))
    found = [fs.nonlinear_rows_and_jacobian(p) for p in points]
    side = np.where(upper, 1.0, -1.0)
    values = side * np.array([v for v, _ in found])
    slopes = side[:, None] * np.array([J for _, J in found])
    if not (np.all(np.isfinite(values)) and np.all(np.isfinite(slopes))):
        return False
    for value, slope, p in zip(values, slopes, points, strict=True):
        tangent = value + (points - p) @ slope.T
        size = np.abs(values) + np.abs(tangent) + np.abs(value)
        if np.any(values < tangent - _BELOW * size):
            return False
    return True


class Tangents:
    """The relaxed problems of one repair, with tangents in the place of curved rows."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._qp = LeastDistance()
        self.forget()

    def forget(self) -> None:
        """Forget the tangents: every repair begins without, so that their order does not matter."""
        n = self._set.n
        self._slopes, self._heights = np.zeros((0, n)), np.zeros(0)  # slope p <= height

    def solve(self, problem: Problem, limits: RowLimits, radius_squared: float) -> SolverAnswer:
        """Minimise |z|^2 / 2 subject to the limits; stop at a distance that is too large.

        An answer that was not reached by then, or in a number of rounds, is FAILED: its z is
        nearer than the solution.
        """
        fs, L = self._set, problem.metric.L
        k = fs.m - fs.n_nonlinear
        flat = problem.metric.constant
        low, high = limits[0][:k] - problem.values[:k], limits[1][:k] - problem.values[:k]
        if fs.n_nonlinear and not len(self._slopes):
            self._add(problem.x, np.arange(fs.n_nonlinear))
        for iteration in range(1, _ROUNDS + 1):
            A = np.concatenate((flat, self._slopes @ L))
            beyond = np.full(len(self._heights), np.inf)
            lower = np.concatenate((low, -beyond))
            upper = np.concatenate((high, self._heights - self._slopes @ problem.x))
            z = self._nearest(A, lower, upper)
            if z is None:
                return SolverAnswer(Outcome.INFEASIBLE, np.zeros(fs.n), np.zeros(0), iteration)
            broken = self._broken(problem, limits, z)
            if not len(broken):
                return SolverAnswer(Outcome.CONVERGED, z, np.zeros(0), iteration)
            if float(z @ z) >= radius_squared:
                break
            self._add(problem.x + L @ z, broken)
        return SolverAnswer(Outcome.FAILED, z, np.zeros(0), iteration)

    def _nearest(self, A: Floats, low: Floats, high: Floats) -> Floats | None:
        """Return the shortest z with limits of A z; None if there is none."""
        norms = np.sqrt(np.sum(A * A, axis=1))
        used = (norms > 0) & (np.isfinite(low) | np.isfinite(high))
        if np.any((low[norms == 0] > 0) | (high[norms == 0] < 0)):
            return None
        A, low, high = (
            A[used] / norms[used, None],
            low[used] / norms[used],
            high[used] / norms[used],
        )
        n = A.shape[1]
        z, _ = self._qp(np.eye(n, order="F"), np.zeros(n), A, low, high)
        if not np.all(np.isfinite(z)):
            return None
        change = A @ z
        missing = float(np.maximum(low - change, change - high).max(initial=0.0))
        return z if missing <= _COMMON * (1.0 + float(np.abs(z).max())) else None

    def _broken(self, problem: Problem, limits: RowLimits, z: Floats) -> np.ndarray:
        """Return the nonlinear rows that do not hold at z."""
        fs = self._set
        if not fs.n_nonlinear:
            return np.arange(0)
        first = fs.m - fs.n_nonlinear
        values = fs.values(problem.x + problem.metric.L @ z)[first:]
        excess = np.maximum(limits[0][first:] - values, values - limits[1][first:])
        return np.flatnonzero(excess > _HOLDS * problem.norms[first:])

    def _add(self, p: Floats, rows: np.ndarray) -> None:
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
        self._slopes = np.concatenate((self._slopes, slopes[usable]))[-_MOST:]
        self._heights = np.concatenate((self._heights, heights[usable]))[-_MOST:]
