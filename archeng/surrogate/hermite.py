r"""Models of an output whose gradients the simulator gives: they fit values and slopes.

The functionals :math:`\lambda_k` are values and derivatives at the designs; the system is that of
:mod:`archeng.surrogate.fit` with entries :math:`\lambda_k \lambda_l K` (Hermite-Birkhoff
interpolation [W05, section 16.2]). For the kernels of a quadratic and of a cubic radial function,
with :math:`g = a - b`, :math:`r = |g|`:

.. math::

    \partial_{b_j} \tfrac12 (a^T b)^2 &= (a^T b) a_j, &
    \partial_{a_i} \partial_{b_j} \tfrac12 (a^T b)^2 &= a_j b_i + (a^T b) \delta_{ij}, \\
    \partial_{b_j} r^3 &= -3 r g_j, &
    \partial_{a_i} \partial_{b_j} r^3 &= -3 (r \delta_{ij} + g_i g_j / r).

Errors left out are those of a whole design, its value and its slopes.

[W05] H. Wendland, Scattered Data Approximation, 2005, doi:10.1017/CBO9780511617539.

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
a_k         designs in the coordinates of the model, shape (p, n)       ``A``
y           values (p,), slopes row by row (p n,)                       ``y``
w           weights of the values (p,) and of the slopes (p, n)         ``w, slopes``
==========  ==========================================================  ===============
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.interpolant import Interpolant

_KERNELS = ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))  # weights of the quadratic and the radial kernel


@dataclass(frozen=True, eq=False)
class Hermite:
    """A quadratic and a cubic radial function, by values and slopes."""

    plain: Interpolant  # what the weights of the values make
    slopes: Floats  # weights (p, n) of the slopes, of the radial part

    def value(self, v: Floats) -> float:
        """s(v)."""
        total = self.plain.value(v)
        if self.plain.radial:
            _, r, along = self._at(v)
            total -= 3 * self.plain.radial * float(r @ along)
        return total

    def slope(self, v: Floats) -> Floats:
        """Gradient (n,) of s at v."""
        gradient = self.plain.slope(v)
        if self.plain.radial:
            gaps, r, along = self._at(v)
            steeper = r @ self.slopes + (along * _inverse(r)) @ gaps
            gradient = gradient - 3 * self.plain.radial * steeper
        return gradient

    def bends(self, v: Floats) -> Floats:
        """Hessian (n, n) of s at v."""
        hessian = self.plain.derivatives(v)[1]
        if self.plain.radial:
            gaps, r, along = self._at(v)
            inverse = _inverse(r)
            mixed = (self.slopes.T * inverse) @ gaps
            round_part = float(along @ inverse) * np.eye(len(v))
            bent = mixed + mixed.T + round_part - (gaps.T * (along * inverse**3)) @ gaps
            hessian = hessian - 3 * self.plain.radial * bent
        return hessian

    def _at(self, v: Floats) -> tuple[Floats, Floats, Floats]:
        gaps = v - self.plain.centres
        return gaps, np.sqrt(np.sum(gaps**2, axis=1)), np.sum(self.slopes * gaps, axis=1)


@dataclass(frozen=True, eq=False)
class HermiteFit:
    """A fitted model with leave-one-out errors (p,) of the values."""

    model: Hermite
    errors: Floats


class HermiteSystem:
    """The systems of all kernels for designs A (p, n), solved once for all outputs."""

    def __init__(self, A: Floats) -> None:
        self.A = A
        self._solved: list[tuple[float, float, Floats, float]] = []
        for quadratic, radial in _KERNELS:
            M, size = _matrix(A, quadratic, radial)
            with contextlib.suppress(np.linalg.LinAlgError):
                inverse = np.asarray(np.linalg.inv(M), dtype=float)
                self._solved.append((quadratic, radial, inverse, size))

    def fits(self, y: Floats, slopes: Floats) -> Iterator[HermiteFit]:
        """Yield fits of values y (p,) and slopes (p, n), one for each kernel."""
        (p, n), A = self.A.shape, self.A
        rhs = np.concatenate((y, slopes.reshape(-1), np.zeros(n + 1)))
        for quadratic, radial, inverse, size in self._solved:
            solution = inverse @ rhs
            if not np.isfinite(solution).all():
                continue
            weights, tail = solution[: p * (n + 1)], solution[-n - 1 :]
            w, of_slopes = weights[:p] / size, weights[p:].reshape(p, n) / size
            mixed = A.T @ of_slopes
            hessian = quadratic * ((A.T * w) @ A + mixed + mixed.T)
            plain = Interpolant(float(tail[0]), tail[1:], hessian, A, w, 0.0, radial)
            yield HermiteFit(Hermite(plain, of_slopes), _left_out(inverse, weights, p, n))


def most_with_slopes(n: int) -> int:
    """Return how many designs a model with slopes in n variables is fitted to at most."""
    return max(min(c.HERMITE_ROWS // (n + 1), n + c.HERMITE_SURPLUS), 2)


def _left_out(inverse: Floats, weights: Floats, p: int, n: int) -> Floats:
    """Errors (p,) of the values without the designs' own values and slopes."""
    errors = np.zeros(p)
    for k in range(p):
        block = np.concatenate(([k], p + n * k + np.arange(n)))
        try:
            errors[k] = np.linalg.solve(inverse[np.ix_(block, block)], weights[block])[0]
        except np.linalg.LinAlgError:
            errors[k] = np.nan
    return np.where(np.isfinite(errors), errors, 1.0)


def _matrix(A: Floats, quadratic: float, radial: float) -> tuple[Floats, float]:
    """Return the matrix of the system (p (n + 1) + n + 1 squared), and what K was divided by."""
    p, n = A.shape
    rows = p * (n + 1)
    both = zip(_quadratic_blocks(A), _radial_blocks(A), strict=True)
    values, mixed, second = (quadratic * q + radial * r for q, r in both)
    K = np.zeros((rows, rows))
    K[:p, :p] = values
    K[:p, p:] = mixed.reshape(p, p * n)
    K[p:, :p] = K[:p, p:].T
    K[p:, p:] = second.transpose(0, 2, 1, 3).reshape(p * n, p * n)
    size = float(np.mean(np.abs(K))) or 1.0
    M = np.zeros((rows + n + 1, rows + n + 1))
    M[:rows, :rows] = K / size
    s = np.sum(A**2, axis=1)
    allowed = c.FIT_ROUNDING + c.FIT_FAR * s**2
    M[np.arange(rows), np.arange(rows)] += np.concatenate((allowed, np.repeat(allowed, n)))
    M[np.arange(rows, rows + n + 1), np.arange(rows, rows + n + 1)] = -c.FIT_ROUNDING
    P = np.zeros((rows, n + 1))
    P[:p, 0], P[:p, 1:] = 1.0, A
    P[p:, 1:] = np.tile(np.eye(n), (p, 1))
    M[:rows, rows:], M[rows:, :rows] = P, P.T
    return M, size


def _quadratic_blocks(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Values (p, p); by b (p, p, n); by a and b (p, p, n, n), of the quadratic kernel."""
    products, n = A @ A.T, A.shape[1]
    mixed = products[:, :, None] * A[:, None, :]
    second = A[:, None, None, :] * A[None, :, :, None] + products[:, :, None, None] * np.eye(n)
    return 0.5 * products**2, mixed, second


def _radial_blocks(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same blocks of the cubic radial kernel."""
    gaps, n = A[:, None, :] - A[None, :, :], A.shape[1]
    r = np.sqrt(np.sum(gaps**2, axis=2))
    outer = gaps[:, :, :, None] * gaps[:, :, None, :] * _inverse(r)[:, :, None, None]
    second = -3 * (r[:, :, None, None] * np.eye(n) + outer)
    return r**3, -3 * r[:, :, None] * gaps, second


def _inverse(r: Floats) -> Floats:
    return np.divide(1.0, r, out=np.zeros_like(r), where=r > 0)
