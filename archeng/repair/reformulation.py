r"""Rows such as a product of variables, given to the solvers as their logarithm.

A row M(x) >= b > 0 may be hard for Newton's method in one form and easy in another: the gradient of
a product of twenty variables vanishes near the axes, that of its logarithm does not. Any increasing
function of a row has the same feasible set, so the solvers may use the one that suits them; answers
are certified by the row as it was written.

The rows that are reformulated are those with **one limit** that are homogeneous about some centre,
:math:`M(c + t (x - c)) = t^p M(x)` with p > 2 and M = r - r_0, and have a concave root
:math:`M^{1/p}` (so the set is convex), such as products of powers or of linear forms. They are
recognised by their derivatives at a few points, not by their formula. Euler's relations say

.. math:: H (x - c) = (p - 1) g , \qquad q := g^T H^+ g = \frac{p}{p-1} M ,

so q is an affine function of the row; its slope gives p, then x gives c, and the row at c gives
r_0. None of this depends on the coordinates of the design space. In the place of the row the
solvers get :math:`\log M`, undefined where M <= 0. Where the row is dominated by its constant part,
:math:`M = g^T (x - c) / p` has no cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet
from archeng.model.functions import FastFunction

_POINTS = 6  # at which rows are evaluated
_AGREE = 1e-6  # relative errors of Euler's relations
_SAME = 1e-9  # errors of the constant part, relative to it and to the limit
_RANK = 1e-10  # relative singular values that count as zero
_DIGITS = 10  # of the centre, relative to the designs
_MOST = 100  # variables beyond which the examination would take too long
_LEAST_DEGREE = 2.5  # Newton's method needs no help with quadratics
_SMALL = 0.1  # fraction of its limit below which M is taken from its gradient


@dataclass(frozen=True, eq=False)
class Homogeneous:
    """A row r with M = side (r - constant), homogeneous about a centre."""

    row: int  # position among the nonlinear rows
    side: float  # 1 if M has to be large because of the lower limit, -1 because of the upper one
    degree: float
    constant: float
    centre: Floats  # shape (n,)
    limit: float  # least M, positive


@dataclass(frozen=True, eq=False)
class Reformulation:
    """A set as it was written, as the solvers see it, and the rows in which these differ."""

    written: FeasibleSet
    feasible_set: FeasibleSet
    homogeneous: tuple[Homogeneous, ...] = ()  # rows that the solvers see as logarithms

    def slopes(self, values: Floats) -> Floats:
        """Return the derivatives (m,) of rows by those as written, at values (m,) of the former."""
        slopes = np.ones_like(values)
        first = len(values) - self.feasible_set.n_nonlinear
        for h in self.homogeneous:
            slopes[first + h.row] = np.exp(-h.side * values[first + h.row])
        return slopes


def reformulated(feasible_set: FeasibleSet, around: Distribution) -> Reformulation:
    """Reformulate the rows that can be; ``around`` says where to look if no box does."""
    rows = homogeneous_rows(feasible_set, around)
    if not rows:
        return Reformulation(feasible_set, feasible_set)
    return Reformulation(feasible_set, _with_logarithms(feasible_set, rows), rows)


def homogeneous_rows(fs: FeasibleSet, around: Distribution) -> tuple[Homogeneous, ...]:
    """Find the rows that can be reformulated."""
    if fs.is_linear or fs.dependents is not None or not 2 <= fs.n <= _MOST:
        return ()
    nonlinear = slice(fs.m - fs.n_nonlinear, fs.m)
    lower, upper = fs.lower[nonlinear], fs.upper[nonlinear]
    points = _points(fs, around)
    rows = []
    for j in np.flatnonzero(np.isfinite(lower) != np.isfinite(upper)):
        side = 1.0 if np.isfinite(lower[j]) else -1.0
        limit = float(lower[j] if side > 0 else upper[j])
        try:
            with np.errstate(all="ignore"):
                row = _examined(fs, int(j), side, limit, points)
        except np.linalg.LinAlgError:  # no convergence: infinities in disguise
            continue
        if row is not None:
            rows.append(row)
    return tuple(rows)


def _points(fs: FeasibleSet, around: Distribution) -> Floats:
    """Return points (k, n) all over the box, or of the distribution if there is none."""
    rng = np.random.default_rng(0)
    low, high = fs.box()
    if fs.boxed.all():
        return np.asarray(rng.uniform(low, high, (_POINTS, fs.n)))
    return around.mean + around.sigma * around.steps(rng.standard_normal((_POINTS, fs.n)))


def _examined(
    fs: FeasibleSet, j: int, side: float, limit: float, points: Floats
) -> Homogeneous | None:
    """Examine one row by Euler's relations; None if they do not hold."""
    weights = np.zeros(fs.n_nonlinear)
    weights[j] = side
    samples: list[tuple[float, float, Floats, Floats, Floats, Floats]] = []
    for x in points:
        sample = _sampled(fs, j, side, x, weights)
        if sample is None:
            return None
        samples.append((*sample, x))
        if len(samples) < 3:
            continue
        values, q = np.array([sample[:2] for sample in samples]).T
        k, i = int(np.argmax(values)), int(np.argmin(values))
        if not values[k] > values[i]:
            return None
        slope = (q[k] - q[i]) / (values[k] - values[i])
        constant = values[k] - q[k] / slope if slope > 0 else np.nan
        size = np.abs(q) + abs(slope) * np.abs(constant)
        if not np.all(np.abs(slope * (values - constant) - q) <= _AGREE * size) or slope <= 1:
            return None
    degree = slope / (slope - 1)
    if degree < _LEAST_DEGREE:
        return None
    centres = np.array([x - (degree - 1) * w for _, _, _, _, w, x in samples])
    size = float(np.abs(points).max()) + float(np.abs(centres).max())
    centre = np.round(centres[0], _DIGITS - int(np.ceil(np.log10(size))))
    constant = side * float(fs.values(centre)[fs.m - fs.n_nonlinear + j])
    least = side * limit - constant
    scale = abs(constant) + abs(limit)
    if not (np.isfinite(constant) and least > _SAME * scale):
        return None
    positive = 0
    for value, q_k, g, H, _, x in samples:
        M = float(g @ (x - centre)) / degree
        rounding = _AGREE * abs(M) + _SAME * scale
        if abs(value - constant - M) > rounding or abs(q_k / slope - M) > rounding:
            return None
        if M > 0:
            positive += 1
            bend = H - np.outer(g, g) * (degree - 1) / (degree * M)
            if np.linalg.eigvalsh(bend)[-1] > _AGREE * float(np.linalg.norm(H)):
                return None
    if not positive:
        return None
    return Homogeneous(j, side, float(degree), constant, centre, float(least))


def _sampled(
    fs: FeasibleSet, j: int, side: float, x: Floats, weights: Floats
) -> tuple[float, float, Floats, Floats, Floats] | None:
    """Value, q, gradient, Hessian of the row at x, and H^+ g; None if g is not in the range."""
    rows, jacobian = fs.nonlinear_rows_and_jacobian(x)
    (H,) = fs.nonlinear_hessian(x, weights)
    value, g = side * float(rows[j]), side * jacobian[j]
    if not (np.isfinite(value) and np.all(np.isfinite(g)) and np.all(np.isfinite(H))):
        return None
    w, *_ = np.linalg.lstsq(H, g, rcond=_RANK)
    if np.linalg.norm(H @ w - g) > _AGREE * np.linalg.norm(g) or not np.any(g):
        return None
    return value, float(g @ w), g, H, np.asarray(w, dtype=float)


def _with_logarithms(fs: FeasibleSet, homogeneous: tuple[Homogeneous, ...]) -> FeasibleSet:
    """Replace rows r by side log M, which increase with r, and their limits."""
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    x, weights = ca.MX.sym("x", n), ca.MX.sym("w", m_n)
    values, jacobian = fs.nonlinear_rows_and_jacobian.function(x)
    jacobian = ca.project(jacobian, fs.jacobian_sparsity)
    rows, gradients = ca.vertsplit(values), ca.vertsplit(jacobian)
    inner, bent = ca.vertsplit(weights), ca.MX(n, n)
    lower, upper = fs.lower.copy(), fs.upper.copy()
    for h in homogeneous:
        j = h.row
        M = h.side * rows[j] - h.constant
        euler = h.side * ca.mtimes(gradients[j], x - ca.DM(h.centre)) / h.degree
        M = ca.if_else(_SMALL * h.limit < M, M, euler)
        rows[j] = h.side * ca.log(ca.if_else(M > 0, M, 0))
        g = gradients[j]
        gradients[j] = g / M
        inner[j] = inner[j] / M
        bent += h.side * weights[j] * (g.T @ g) / M**2
        limits = lower if h.side > 0 else upper
        limits[m - m_n + j] = h.side * np.log(h.limit)
    values, jacobian = ca.vertcat(*rows), ca.vertcat(*gradients)
    hessian = fs.nonlinear_hessian.function(x, ca.vertcat(*inner))
    hessian = ca.project(hessian, fs.hessian_sparsity) - bent
    flat, _ = ca.vertsplit(fs.all_rows.function(x), [0, m - m_n, m])
    all_rows = ca.vertcat(flat, values)
    return replace(
        fs,
        lower=lower,
        upper=upper,
        all_rows=FastFunction.of("rows", [x], [all_rows]),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [x], [values, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [x, weights], [hessian], (0,)),
        hessian_sparsity=hessian.sparsity(),
    )
