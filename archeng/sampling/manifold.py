r"""The equality manifold of a feasible set, and its rows at many points at once.

Rows :math:`c_j - t_j \le r_j(x) \le c_j + t_j` count as equalities :math:`r_j(x) = c_j` if they
were declared so, or if they leave less than a thousandth of a deviation of room. The dimension
of the manifold is d = n - m_e, with m_e independent equalities.

Coordinates are those of the model divided by the deviations s (n,) of the variables; gradients
have about length one. Variables with a deviation of zero are held where they are: then n is the
number of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.functions import FastFunction

Booleans = NDArray[np.bool_]

_CHUNK = 32  # points evaluated by one call of a compiled function
_THIN = 1e-3  # room that a row leaves, in deviations, below which it counts as an equality
_DEPENDENT = 1e-8  # least length of an independent gradient, after the others are taken out
_STEPS = 8  # of Newton's method, before a point counts as not on the manifold


class RowEvaluator:
    """Evaluates all rows of a feasible set at many points; the compiled functions are kept."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self.feasible_set = feasible_set

    def values(self, x: Floats) -> Floats:
        """Values (k, m) of the rows at points (k, n), bit for bit those of the feasible set."""
        fs = self.feasible_set
        result = np.empty((len(x), fs.m))
        for part, inputs in _chunks(x):
            size = part.stop - part.start
            if size < _CHUNK // 4:
                result[part] = [fs.values(point) for point in x[part]]
            else:
                result[part] = self._values(inputs)[0].T[:size]
        return result

    def hold(self, x: Floats) -> Booleans:
        """Whether every row holds, exactly, at each of the points (k, n)."""
        fs = self.feasible_set
        values = self.values(x)
        return np.asarray(((values >= fs.least) & (values <= fs.most)).all(axis=1))

    def gradients(self, x: Floats, rows: Integers) -> tuple[Floats, Floats]:
        """Values (k, r) and gradients (k, r, n) of some rows at points (k, n)."""
        fs = self.feasible_set
        n_flat = fs.m - fs.n_nonlinear
        flat = rows < n_flat
        values = np.empty((len(x), len(rows)))
        jacobian = np.empty((len(x), len(rows), fs.n))
        constant = fs.constant_jacobian[rows[flat]]
        values[:, flat] = x @ constant.T + self.offsets[rows[flat]]
        jacobian[:, flat] = constant
        if not flat.all():
            curved = rows[~flat] - n_flat
            for part, inputs in _chunks(x):
                v, J = self._jacobian(inputs)
                size = part.stop - part.start
                J = J.reshape(fs.n_nonlinear, fs.n, -1, order="F").transpose(2, 0, 1)
                values[part, ~flat] = v.T[:size, curved]
                jacobian[part, ~flat] = J[:size, curved]
        return values, jacobian

    @cached_property
    def offsets(self) -> Floats:
        """Constant terms (m_b + m_l,) of the bound and linear rows."""
        fs = self.feasible_set
        return fs.values(np.zeros(fs.n))[: fs.m - fs.n_nonlinear]

    @property
    def terms(self) -> int:
        """Size of the rows: operations of one evaluation."""
        return max(int(self.feasible_set.all_rows.function.n_instructions()), 1)

    @cached_property
    def _values(self) -> FastFunction:
        return FastFunction(self.feasible_set.all_rows.function.map(_CHUNK), matrices=(0,))

    @cached_property
    def _jacobian(self) -> FastFunction:
        function = self.feasible_set.nonlinear_rows_and_jacobian.function
        return FastFunction(function.map(_CHUNK), matrices=(0, 1))


def _chunks(x: Floats) -> Iterator[tuple[slice, Floats]]:
    """Slices of points with their transpose (n, _CHUNK), the last one filled up."""
    for first in range(0, len(x), _CHUNK):
        part = slice(first, min(first + _CHUNK, len(x)))
        block = x[part]
        if len(block) < _CHUNK:
            block = np.concatenate((block, np.repeat(block[:1], _CHUNK - len(block), axis=0)))
        yield part, block.T


@dataclass(frozen=True, eq=False)
class EqualityManifold:
    """The independent equalities of a feasible set, scaled."""

    rows: RowEvaluator
    scale: Floats  # deviations s of the variables, shape (n,)
    indices: Integers  # of the rows, shape (m_e,)
    middle: Floats  # c, shape (m_e,)
    room: Floats  # a quarter of t: how near to c the rows are brought, shape (m_e,)
    weights: Floats  # one over the length of the gradients at a first point, shape (m_e,)
    curved: bool  # one of them is not linear

    @property
    def dimension(self) -> int:
        """Dimension d of the manifold."""
        return int(np.count_nonzero(self.scale)) - len(self.indices)

    @cached_property
    def units(self) -> Floats:
        """What coordinates are divided by (n,): infinite for variables that are held."""
        return np.where(self.scale > 0, self.scale, np.inf)

    def residuals(self, x: Floats) -> tuple[Floats, Floats, Booleans]:
        """Scaled residuals (k, m_e), scaled gradients (k, m_e, n), and which points are on it."""
        values, jacobian = self.rows.gradients(x, self.indices)
        gap = values - self.middle
        on = np.asarray((np.abs(gap) <= self.room).all(axis=1))
        return gap * self.weights, jacobian * (self.weights[:, None] * self.scale), on

    @np.errstate(over="ignore", invalid="ignore")
    def nearby(self, x: Floats) -> Floats:
        """Points (k, n) on the manifold near given ones, where Gauss-Newton finds one."""
        if len(self.indices) == 0:
            return x
        y = x.copy()
        todo = np.arange(len(x))
        for _ in range(_STEPS):
            gap, J, on = self.residuals(y[todo])
            usable = ~on & _finite(gap) & _finite(J)
            if not usable.any():
                break
            todo, gap, J = todo[usable], gap[usable], J[usable]
            y[todo] -= times(solve_each(J @ J.transpose(0, 2, 1), gap), J) * self.scale
        return y

    def along_normals(self, start: Floats, normals: Floats) -> tuple[Floats, Floats, Booleans]:
        """Newton's method from points (k, n) along fixed normals (k, m_e, n) to the manifold.

        Returns the points, the gradients there, and which of them are on the manifold.
        """
        y, J, arrived = start.copy(), np.empty_like(normals), np.zeros(len(start), dtype=bool)
        a = np.zeros(normals.shape[:2])
        todo = np.arange(len(start))
        for _ in range(_STEPS):
            gap, gradients, on = self.residuals(y[todo])
            arrived[todo[on]], J[todo[on]] = True, gradients[on]
            usable = ~on & _finite(gap) & _finite(gradients)
            if not usable.any():
                break
            todo, gap, gradients, a = todo[usable], gap[usable], gradients[usable], a[usable]
            normals = normals if usable.all() else normals[usable]
            a -= solve_each(gradients @ normals.transpose(0, 2, 1), gap)
            y[todo] = start[todo] + times(a, normals) * self.scale
        return y, J, arrived


def along(J: Floats, v: Floats) -> Floats:
    """Parts (k, n) of vectors (k, n) along the manifold with gradients J (k, m_e, n)."""
    return v - times(solve_each(J @ J.transpose(0, 2, 1), (J @ v[:, :, None])[:, :, 0]), J)


def times(a: Floats, J: Floats) -> Floats:
    """Return the products (k, n) of vectors (k, m_e) and matrices (k, m_e, n)."""
    return np.asarray((a[:, None, :] @ J)[:, 0, :])


def _finite(array: Floats) -> Booleans:
    """Which of the k entries along the first axis are finite throughout."""
    return np.asarray(np.isfinite(array).all(axis=tuple(range(1, array.ndim))))


def solve_each(M: Floats, b: Floats) -> Floats:
    """Solutions (k, m_e) of small systems; nonsense, but finite, where one is singular."""
    size = np.abs(M).max(axis=(1, 2), initial=1e-300)
    M = M + (1e-14 * size)[:, None, None] * np.eye(M.shape[1])
    try:
        return np.asarray(np.linalg.solve(M, b[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.zeros_like(b)


@np.errstate(over="ignore", invalid="ignore")
def equality_manifold(rows: RowEvaluator, scale: Floats, points: Floats) -> EqualityManifold:
    """Find the equalities by their gradients at feasible points (k, n), and drop dependent ones."""
    fs = rows.feasible_set
    width = fs.upper - fs.lower
    finite = np.flatnonzero(np.isfinite(width))
    _, jacobian = rows.gradients(points, finite)
    norms = np.linalg.norm(jacobian * scale, axis=2)
    sizes = np.median(norms, axis=0)
    thin = fs.equality[finite] | (width[finite] < _THIN * sizes)
    thin &= finite >= len(fs.bounded)
    thin &= np.isfinite(sizes) & (sizes > 0)
    weights = 1 / np.where(thin, sizes, 1.0)
    kept: Integers = np.zeros(0, dtype=np.intp)
    for J in jacobian[:, thin]:
        independent = _independent(J * scale * weights[thin, None])
        if len(independent) > len(kept):
            kept = independent
    of = np.flatnonzero(thin)[kept]
    indices = finite[of]
    middle = (fs.lower[indices] + fs.upper[indices]) / 2
    curved = bool(np.any(indices >= fs.m - fs.n_nonlinear))
    return EqualityManifold(rows, scale, indices, middle, width[indices] / 8, weights[of], curved)


def _independent(J: Floats) -> Integers:
    """Which rows of J (m_e, n) to keep so that the rest depends on them, longest first."""
    rest = J.copy()
    kept: list[int] = []
    for _ in range(min(J.shape)):
        lengths = np.linalg.norm(rest, axis=1)
        i = int(np.argmax(np.where(np.isfinite(lengths), lengths, -1.0)))
        if not lengths[i] > _DEPENDENT:
            break
        kept.append(i)
        q = rest[i] / lengths[i]
        rest = rest - np.outer(rest @ q, q)
    return np.array(sorted(kept), dtype=np.intp)
