r"""The repair problem in whitened coordinates, and the scaling of its rows.

With y = x + L z and L L^T = sigma^2 C, both problems of [SA22 ssec:repair] read

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet

EPSILON = float(np.finfo(float).eps)
_NOISE = 8.0  # rounding errors of a row, in units of EPSILON times the size of its terms
_SLAB = 1e-10  # least thickness of a pinned boundary, in deviations across it
_FAR = 100.0  # a row is never scaled as if its boundary were farther than this many deviations


@dataclass(frozen=True, eq=False)
class Metric:
    """What all repairs under one search distribution share.

    ``constant`` (m_b + m_l, n) are the whitened gradients of the bound and linear rows.
    """

    distribution: Distribution
    L: Floats
    constant: Floats

    @classmethod
    def of(cls, feasible_set: FeasibleSet, distribution: Distribution) -> Metric:
        """Whiten the constant gradients once per generation."""
        L = distribution.scaled_factor
        return cls(distribution, L, feasible_set.constant_jacobian @ L)


@dataclass(frozen=True, eq=False)
class Problem:
    """One point to repair, with scaled rows. Built by :func:`make_problem`."""

    feasible_set: FeasibleSet
    metric: Metric
    x: Floats
    values: Floats
    violated: np.ndarray[tuple[int], np.dtype[np.bool_]]
    norms: Floats
    margins: Floats
    slack: Floats

    def point(self, z: Floats) -> Floats:
        """Return y = x + L z."""
        return self.x + self.metric.L @ z

    def clipped_point(self, z: Floats) -> Floats:
        """Return y = x + L z with its bounds enforced to the last bit."""
        y = self.point(z)
        bounded = self.feasible_set.bounded
        k = len(bounded)
        y[bounded] = np.clip(
            y[bounded], self.feasible_set.lower[:k], self.feasible_set.upper[:k]
        )
        return y

    def linearise(self, y: Floats) -> tuple[Floats, Floats]:
        """Row values (m,) and whitened gradients (m, n) at y."""
        fs = self.feasible_set
        values = fs.values(y)
        if fs.is_linear:
            return values, self.metric.constant
        _, jacobian = fs.nonlinear_rows_and_jacobian(y)
        with np.errstate(invalid="ignore", over="ignore"):
            return values, np.concatenate((self.metric.constant, jacobian @ self.metric.L))

    def curvature(self, y: Floats, weights: Floats) -> Floats:
        """Whitened Hessian L^T (sum_j w_j d2r_j) L, shape (n, n)."""
        L = self.metric.L
        return L.T @ self.feasible_set.hessian(y, weights) @ L

    def nearest_limits(self) -> tuple[Floats, Floats]:
        """Limits of the nearest problem [SA22 eq:nearest], a margin inside."""
        fs = self.feasible_set
        return fs.lower + self.margins, fs.upper - self.margins

    def intersection_limits(self) -> tuple[Floats, Floats] | None:
        """Limits of the intersection problem [SA22 eq:intersection]; None if it has no solution.

        A pinned row is a thin slab (at least a margin thick), so that boundaries that meet in a point stay
        consistent in floating point.
        """
        fs = self.feasible_set
        lower, upper = self.nearest_limits()
        pinned = self.violated
        if int(pinned.sum()) > fs.n + int(np.sum(pinned & fs.equality)):
            return None
        undefined = np.isnan(self.values)
        if np.any(undefined & np.isfinite(fs.lower) & np.isfinite(fs.upper)):
            return None
        above = pinned & ((self.values > fs.upper) | (undefined & np.isfinite(fs.upper)))
        below = pinned & ~above
        thickness = np.maximum(self.margins, _SLAB * self.norms)
        lower = np.where(above, np.maximum(upper - thickness, lower), lower)
        upper = np.where(below, np.minimum(lower + thickness, upper), upper)
        return lower, upper

    def scaled(self, values: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Distances to the limits in scaled rows: (lower - r) / norm and (upper - r) / norm."""
        return (lower - values) / self.norms, (upper - values) / self.norms

    def is_feasible(self, values: Floats) -> bool:
        """Whether the rows hold exactly at these values."""
        fs = self.feasible_set
        return bool(np.all((values >= fs.lower) & (values <= fs.upper)))

    def active(self, values: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Rows that reach a limit to within a few margins, or 1e-8 deviations."""
        fs = self.feasible_set
        near = np.maximum(4 * self.margins, 1e-8 * self.norms)
        return np.flatnonzero((values <= fs.lower + near) | (values >= fs.upper - near))


def make_problem(
    feasible_set: FeasibleSet, metric: Metric, x: Floats, values: Floats, margin: float
) -> Problem:
    """Scale the rows at the point to repair and place the margins.

    ``margin`` is in standard deviations of the search distribution across the boundary. It is
    kept above the rounding noise of the row and below a quarter of the width between its
    limits. Bounds need none: they are enforced exactly by clipping.
    """
    fs = feasible_set
    violations = fs.violations_of(values)
    with np.errstate(invalid="ignore", over="ignore"):
        if fs.is_linear:
            jacobian, whitened = fs.constant_jacobian, metric.constant
        else:
            _, curved = fs.nonlinear_rows_and_jacobian(x)
            jacobian = np.concatenate((fs.constant_jacobian, curved))
            whitened = np.concatenate((metric.constant, curved @ metric.L))
        norms = np.sqrt(np.einsum("ij,ij->i", whitened, whitened))
        terms = np.abs(jacobian) @ np.abs(x) + np.abs(values)
    finite = np.isfinite(violations) & np.isfinite(norms)
    norms = np.where(finite, np.maximum(norms, violations / _FAR), 1.0)
    norms = np.where(norms > 0, norms, 1.0)
    limit_size = np.maximum(_size(fs.lower), _size(fs.upper))
    noise = _NOISE * EPSILON * np.where(finite, terms + limit_size, limit_size)
    width = np.where(np.isfinite(fs.upper - fs.lower), fs.upper - fs.lower, np.inf)
    margins = np.minimum(np.maximum(margin * norms, noise), width / 4)
    margins[: len(fs.bounded)] = 0.0
    slack = np.maximum(0.5 * margins / norms, 1e-12)
    return Problem(fs, metric, x, values, violations > 0, norms, margins, slack)


def _size(limit: Floats) -> Floats:
    return np.where(np.isfinite(limit), np.abs(limit), 0.0)
