r"""Random walks of many points on a feasible set, uniform in the long run.

Without curved equalities a step is hit-and-run [S84]: a random direction along the linear
equalities, and a uniform choice among the feasible points on that line. The line ends at the
linear rows (up to rounding errors); the nonlinear ones are found by the shrinking intervals of
slice sampling [N03], which may jump over a gap. So may the shift by a difference of two known
points, which is tried in between.

With curved equalities a step goes along the tangent and back to the manifold by Newton's method on
the normals, and is accepted with the probability that keeps the surface measure invariant, if
the step back would be found as well [ZHG18]. The length t of a step along the tangent u is
uniform on the line between the linear rows, and at most S:

.. math:: \frac{q(y \to x)}{q(x \to y)} = \frac{L_x\, |t|^{d-1}}{L_y\, |t'|^{d-1}},

with L the lengths of the two lines and d the dimension of the manifold. S is learned from the share
of accepted steps.

Lengths are in deviations of the variables. Variables whose range nothing limits have a normal
density around their start instead of a uniform one.

[N03] R. Neal, Slice sampling, Annals of Statistics 31, 2003,
doi:10.1214/aos/1056562461.
[S84] R. Smith, Efficient Monte Carlo procedures for generating points uniformly distributed
over bounded regions, Operations Research 32, 1984, doi:10.1287/opre.32.6.1296.
[ZHG18] E. Zappa, M. Holmes-Cerfon, J. Goodman, Monte Carlo on manifolds: sampling densities and
integrating functions, Communications on Pure and Applied Mathematics 71, 2018,
doi:10.1002/cpa.21783.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.sampling.manifold import Booleans, EqualityManifold, along

_SHRINKS = 40  # of an interval, before a point stays where it is
_ENDLESS = 20.0  # length of the part of an endless line that is looked at
_WIDER = 6.0  # length of an interval, in units of the mean move
_ACCEPTED = 0.6  # share of accepted steps aimed at
_LONGEST = 1e6  # no step is longer
_SPARSE = 500  # directions of few variables that are prepared
_SHORT = 1e-6  # least length along the manifold of such a direction
_ROUNDING = 1e-13  # slope of a row along a line, relative to its gradient, that is none
_RETURNED = 1e-3  # how near a step back has to come, in units of the step


class FeasibleWalk:
    """Points that walk on a feasible set at the same time, each independent of the others.

    They begin at feasible ``points`` (k, n). ``unlimited`` are the variables with a normal density.
    """

    def __init__(
        self,
        manifold: EqualityManifold,
        points: Floats,
        unlimited: Integers,
        rng: np.random.Generator,
    ) -> None:
        self.points, self._first = points.copy(), points
        self._manifold, self._rows, self._rng = manifold, manifold.rows, rng
        self._unlimited = unlimited
        self._line = _LineEnds(manifold)
        self._longest = 2.0
        self._factor: Floats | None = None
        if manifold.curved:
            with np.errstate(over="ignore", invalid="ignore"):
                _, self._gradients, _ = manifold.residuals(self.points)
        else:
            normals = np.zeros((0, points.shape[1]))
            if len(manifold.indices):
                _, jacobian, _ = manifold.residuals(self.points[:1])
                normals = np.linalg.qr(jacobian[0].T)[0].T  # orthonormal, shape (m_e, n)
            moving = np.diag((manifold.scale > 0).astype(float))
            self._tangent = moving - normals.T @ normals
            self._sparse = _sparse_directions(
                normals, self._line.rows * manifold.scale, self._tangent, rng
            )

    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def step(self, learn: bool) -> None:
        """Move every point once.

        ``learn`` says whether lengths and directions of later steps may depend on the points.
        """
        if self._manifold.curved:
            self._curved_step(learn)
            return
        if learn:
            self._factor = _factor(self.points / self._manifold.units)
        if not self._rows.feasible_set.is_linear:
            self._hop()
        self._straight_step(learn)

    # -- no equalities, or linear ones ------------------------------------------------------

    def _straight_step(self, learn: bool) -> None:
        x, rng, scale = self.points, self._rng, self._manifold.scale
        fs = self._rows.feasible_set
        u = self._directions(len(x))
        left, right = self._placed(*self._line.ends(x, u * scale))
        level = self._log_density(x) + np.log1p(-rng.random(len(x)))
        todo = np.flatnonzero(right > left)
        moved = np.zeros(len(x))
        for _ in range(_SHRINKS):
            if len(todo) == 0:
                break
            t = left[todo] + rng.random(len(todo)) * (right[todo] - left[todo])
            y = np.clip(x[todo] + t[:, None] * u[todo] * scale, *fs.bounds)  # rounding errors
            good = self._log_density(y) >= level[todo]
            if not fs.is_linear:
                good &= self._rows.hold(y)
            self.points[todo[good]] = y[good]
            moved[todo[good]] = np.abs(t[good])
            todo, t = todo[~good], t[~good]
            left[todo] = np.where(t < 0, t, left[todo])
            right[todo] = np.where(t < 0, right[todo], t)
        if learn:
            self._longest = float(np.clip(_WIDER * moved.mean(), 1e-9, _ENDLESS))

    def _hop(self) -> None:
        """Shift every point by the difference of two of the first points, if that is feasible.

        This leads from one piece of the feasible set to another one.
        """
        x, rng, scale = self.points, self._rng, self._manifold.scale
        a, b = self._first[rng.integers(len(self._first), size=(2, len(x)))]
        y = x + ((b - a) / self._manifold.units) @ self._tangent * scale
        good = np.log(rng.random(len(x))) < self._log_density(y) - self._log_density(x)
        good &= self._rows.hold(y)
        self.points[good] = y[good]

    def _directions(self, k: int) -> Floats:
        """Directions (k, n): of few variables, in the shape of the set, or any, a third each."""
        rng = self._rng
        u = rng.standard_normal((k, len(self._manifold.scale)))
        kind = rng.integers(3, size=k)
        if self._factor is not None:
            u[kind == 1] = u[kind == 1] @ self._factor.T
        u = u @ self._tangent
        few = np.flatnonzero(kind == 2) if len(self._sparse) else np.zeros(0, dtype=np.intp)
        u[few] = self._sparse[rng.integers(len(self._sparse), size=len(few))]
        return _unit(u)

    def _placed(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return finite intervals (k,) to look for points in, parts of lines with these ends.

        With nonlinear rows the whole line is mostly too long; it is kept for every fourth point,
        because it may lead across a gap. Parts are placed at random around the point.
        """
        k, rng = len(left), self._rng
        short = (rng.random(k) < 0.75) & (not self._rows.feasible_set.is_linear)
        endless = ~(np.isfinite(left) & np.isfinite(right))
        width = np.where(short, self._longest, np.where(endless, _ENDLESS, np.inf))
        part = rng.random(k)
        return np.fmax(left, -part * width), np.fmin(right, (1 - part) * width)

    def _log_density(self, x: Floats) -> Floats:
        fs, i = self._rows.feasible_set, self._unlimited
        z = (x[:, i] - fs.start[i]) / self._manifold.scale[i]
        return np.asarray(-0.5 * np.sum(z**2, axis=1))

    # -- curved equalities ------------------------------------------------------------------

    def _curved_step(self, learn: bool) -> None:
        x, J, rng, scale = self.points, self._gradients, self._rng, self._manifold.scale
        k, power = len(x), self._manifold.dimension - 1
        longest = self._longest * np.exp(0.7 * rng.standard_normal(k))
        u = _unit(along(J, rng.standard_normal(x.shape) * (scale > 0)))
        inside = rng.random(k) < 0.5
        left, right = self._part(x, u, longest, inside)
        t = left + rng.random(k) * (right - left)
        chance = np.log(rng.random(k))
        todo = np.flatnonzero(np.isfinite(t) & (t != 0))
        y, Jy, arrived = self._manifold.along_normals(
            x[todo] + (t[todo, None] * u[todo]) * scale, J[todo]
        )
        arrived &= self._rows.hold(y)
        todo, y, Jy = todo[arrived], y[arrived], Jy[arrived]

        back = along(Jy, (x[todo] - y) / self._manifold.units)
        reach = np.linalg.norm(back, axis=1)
        left_y, right_y = self._part(y, _unit(back), longest[todo], inside[todo])
        ratio = np.log((right - left)[todo] / (right_y - left_y))
        ratio += power * np.log(np.abs(t[todo]) / reach)
        ratio += self._log_density(y) - self._log_density(x[todo])
        good = (chance[todo] < ratio) & (reach <= right_y)
        todo, y, Jy, back, reach = todo[good], y[good], Jy[good], back[good], reach[good]

        again, _, arrived = self._manifold.along_normals(y + back * scale, Jy)
        missed = np.linalg.norm((again - x[todo]) / self._manifold.units, axis=1)
        good = arrived & (missed <= _RETURNED * reach)
        self.points[todo[good]] = y[good]
        self._gradients[todo[good]] = Jy[good]
        if learn:
            accepted = float(np.count_nonzero(good)) / k
            self._longest = float(min(self._longest * np.exp(accepted - _ACCEPTED), _LONGEST))

    def _part(
        self, x: Floats, u: Floats, longest: Floats, inside: Booleans
    ) -> tuple[Floats, Floats]:
        """Return the ends (k,) of tangents: the longest steps, some only up to the linear rows."""
        left, right = self._line.ends(x, u * self._manifold.scale)
        left = np.where(inside, np.maximum(left, -longest), -longest)
        return left, np.where(inside, np.minimum(right, longest), longest)


class _LineEnds:
    """Where lines leave the bounds and the linear rows that are not in the manifold."""

    def __init__(self, manifold: EqualityManifold) -> None:
        fs = manifold.rows.feasible_set
        flat = np.setdiff1d(np.arange(fs.m - fs.n_nonlinear), manifold.indices)
        self._A = fs.constant_jacobian[flat]
        self.rows = self._A[flat >= len(fs.bounded)]
        self._lower = fs.lower[flat] - manifold.rows.offsets[flat]
        self._upper = fs.upper[flat] - manifold.rows.offsets[flat]
        self._level = _ROUNDING * np.linalg.norm(self._A * manifold.scale, axis=1)

    def ends(self, x: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return the ends t <= 0 and t >= 0 (k,) of lines x + t u, perhaps infinite."""
        values, slopes = x @ self._A.T, u @ self._A.T
        a, b = (self._lower - values) / slopes, (self._upper - values) / slopes
        level = np.abs(slopes) <= self._level
        low = np.where(level, -np.inf, np.fmin(a, b)).max(axis=1, initial=-np.inf)
        high = np.where(level, np.inf, np.fmax(a, b)).min(axis=1, initial=np.inf)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _sparse_directions(
    normals: Floats, rows: Floats, tangent: Floats, rng: np.random.Generator
) -> Floats:
    """Directions (r, n) along the manifold in which as few variables as possible change.

    Lines in such directions are longer where many bounds are near, as in the corners of a
    simplex. Half of them also leave one of the linear rows (m_l, n) unchanged. ``tangent`` (n, n)
    projects onto the manifold.
    """
    m, n = normals.shape
    rows = rows[rows.any(axis=1)]  # those of variables that are held say nothing
    u = np.zeros((min(_SPARSE, 20 * n), n))
    for i, row in enumerate(u):
        fixed = normals
        if i % 2 and len(rows):
            fixed = np.concatenate((normals, rows[rng.integers(len(rows)), None]))
        touched = np.flatnonzero(fixed.any(axis=0)) if len(fixed) > m else np.arange(n)
        some = rng.permutation(touched)[: len(fixed) + 1]
        _, _, v = np.linalg.svd(fixed[:, some])
        row[some] = v[-1]
    u = u @ tangent
    u[np.abs(u) < _ROUNDING] = 0.0
    return np.asarray(u[np.linalg.norm(u, axis=1) > _SHORT])


def _factor(z: Floats) -> Floats | None:
    """Factor (n, n) of the covariance of points (k, n), as a shape of directions."""
    if len(z) <= 2 * z.shape[1]:
        return None
    covariance = np.atleast_2d(np.cov(z.T))
    floor = 1e-8 * float(np.trace(covariance)) / len(covariance)
    if not floor > 0:
        return None
    factor = np.linalg.cholesky(covariance + floor * np.eye(len(covariance)))
    return np.asarray(factor, dtype=float)


def _unit(u: Floats) -> Floats:
    length = np.linalg.norm(u, axis=1, keepdims=True)
    return np.asarray(u / np.where(length > 0, length, 1.0))


def walk_lengths(manifold: EqualityManifold) -> tuple[int, int]:
    """Return how many steps forget where a point began, and how many lie between two uses of it.

    Measured on sets whose uniform samples are known (``make bench-sampling``).
    """
    d = manifold.dimension
    if manifold.curved:
        return 60 + 4 * d, 15 + d // 4
    linear = manifold.rows.feasible_set.is_linear
    return (60 if linear else 200) + 12 * d, 10 + d // 2


def unlimited_variables(manifold: EqualityManifold, points: Floats) -> Integers:
    """Return the variables without both bounds that no row with two limits holds in a range."""
    fs = manifold.rows.feasible_set
    open_ended = np.flatnonzero(~fs.boxed)
    if len(open_ended) == 0:
        return open_ended
    two_sided = np.flatnonzero(np.isfinite(fs.upper - fs.lower))
    held = np.zeros(fs.n)
    _, jacobians = manifold.rows.gradients(points[:1], two_sided)
    J = jacobians[0] * manifold.scale
    J = J[np.isfinite(J).all(axis=1)]
    lengths = np.linalg.norm(J, axis=1)
    J = J[lengths > 0] / lengths[lengths > 0, None]
    if len(J):
        _, sizes, V = np.linalg.svd(J, full_matrices=False)
        held = np.sum(V[sizes > 1e-8 * sizes[0]] ** 2, axis=0)
    return open_ended[held[open_ended] < 1 - 1e-6]
