r"""Regression: what noisy values at designs say about a function, its slopes and their errors.

The function is a random one: linear parts are free, second derivatives normal, and a smooth rest is
that of the cubic radial function (universal kriging [S99 sections 1.2, 1.5]). With values
:math:`y_k = s(a_k) + \varepsilon_k`, :math:`\operatorname{var} \varepsilon_k = \sigma^2 w_k`,

.. math::

    M = \begin{pmatrix} \tau K + \sigma^2 W & P \\ P^T & 0 \end{pmatrix}, \qquad
    \operatorname{E}[\ell s] = m_\ell^T M^{-1} \binom{y}{0}, \qquad
    \operatorname{cov}[\ell s, \ell' s] = k_{\ell \ell'} - m_\ell^T M^{-1} m_{\ell'}

for linear functionals :math:`\ell` of s: its value or its slope at a point. The scales :math:`\tau`
and, unless it is known, :math:`\sigma` are those of the largest restricted likelihood [PT71]: that
of contrasts Z, which the free linear part does not touch. In the eigenvectors of
:math:`Z^T K Z`, with eigenvalues :math:`\lambda_i` and contrasts :math:`z_i`, it is

.. math:: -2 \ln L = \sum_i \ln(\tau \lambda_i + \sigma^2) + z_i^2 / (\tau \lambda_i + \sigma^2).

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
a_k         designs in the coordinates of the model, shape (p, n)       ``A``
y           values, shape (p,)                                          ``y``
w_k         variances of the noise, relative to each other, (p,)        ``weights``
K           kernel matrix, shape (p, p)                                 ``K``
rho         share of the radial function in it                          ``radial``
tau         scale of the function                                       ``scale``
sigma^2     scale of the noise                                          ``noise``
P           (1, A), shape (p, n + 1)                                    ``P``
==========  ==========================================================  ===============

[S99] M. L. Stein, Interpolation of Spatial Data, 1999, doi:10.1007/978-1-4612-1494-6. [PT71] H. D.
Patterson, R. Thompson, Recovery of inter-block information when block sizes are unequal, Biometrika
58, 1971, doi:10.1093/biomet/58.3.545.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.fit import Kernels
from archeng.surrogate.interpolant import Interpolant


@dataclass(frozen=True, eq=False)
class Regression:
    """A function as far as noisy values determine it."""

    A: Floats
    y: Floats
    variances: Floats  # of the noise at the designs (p,)
    scale: float  # of second derivatives, as a variance ...
    share: float  # that of the radial function, relative to it
    ratio: float  # of the mean sizes of both kernels
    inverse: Floats  # of M, (p + n + 1, p + n + 1)
    log_likelihood: float

    @property
    def radial(self) -> float:
        """Scale of the radial function."""
        return self.scale * self.share * self.ratio

    @cached_property
    def _solution(self) -> Floats:
        p = len(self.y)
        return np.asarray(self.inverse[:, :p] @ self.y)

    @cached_property
    def model(self) -> Interpolant:
        """The expected function."""
        p = len(self.y)
        w, tail = self._solution[:p], self._solution[p:]
        hessian = self.scale * ((self.A.T * w) @ self.A)
        return Interpolant(float(tail[0]), tail[1:], hessian, self.A, w, 0.0, self.radial)

    def random(self, v: Floats, count: int, rng: np.random.Generator) -> list[Interpolant]:
        """Return random functions that fit as well, to first order at v (n,).

        The slope there is that of a posterior sample, all else is expected.
        """
        values, axes = np.linalg.eigh(self.slope_covariance(v))
        steps = rng.standard_normal((count, len(v))) * np.sqrt(np.maximum(values, 0.0)) @ axes.T
        return [replace(self.model, gradient=self.model.gradient + step) for step in steps]

    def value(self, v: Floats) -> tuple[float, float]:
        """Return the expected value at v (n,), and its standard deviation."""
        values, deviations = self.values(v[None])
        return float(values[0]), float(deviations[0])

    def values(self, V: Floats) -> tuple[Floats, Floats]:
        """Return expected values (k,) at points (k, n), and their standard deviations."""
        m, prior = self._of_values(V)
        return m @ self._solution, self._deviations(m, prior)

    def difference(self, v: Floats, other: Floats) -> tuple[float, float]:
        """Return the expected value at v minus that at another point, and its deviation."""
        m, _ = self._of_values(np.array([v, other]))
        d = m[0] - m[1]
        prior = self._kernel(v[None], v[None]) + self._kernel(other[None], other[None])
        prior = prior - 2 * self._kernel(v[None], other[None])
        return float(d @ self._solution), float(self._deviations(d[None], prior[:, 0])[0])

    def slope_covariance(self, v: Floats) -> Floats:
        """Covariance (n, n) of the slope at v."""
        m = self._of_slopes(v)
        prior = self.scale * (v @ v * np.eye(len(v)) + np.outer(v, v))
        covariance = prior - m @ self.inverse @ m.T
        return np.asarray((covariance + covariance.T) / 2)

    def told(self, v: Floats, V: Floats) -> tuple[Floats, Floats]:
        """Covariances (k, n) of the slope at v with values at points V (k, n); their variances."""
        slopes = self._of_slopes(v)
        m, prior = self._of_values(V)
        gaps = v - V
        lengths = np.linalg.norm(gaps, axis=1)[:, None]
        cross = self.scale * (V @ v)[:, None] * V + 3 * self.radial * lengths * gaps
        return cross - m @ self.inverse @ slopes.T, self._deviations(m, prior) ** 2

    def covariances(self, V: Floats, v: Floats) -> Floats:
        """Covariances (k,) of values at points (k, n) with that at v (n,)."""
        m, _ = self._of_values(np.concatenate((V, v[None])))
        return np.asarray(self._kernel(V, v[None])[:, 0] - m[:-1] @ self.inverse @ m[-1])

    def _kernel(self, V: Floats, B: Floats) -> Floats:
        """Kernel (k, p) of points (k, n) and (p, n)."""
        products = V @ B.T
        squares = np.sum(V**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2 * products
        return np.asarray(
            0.5 * self.scale * products**2 + self.radial * np.maximum(squares, 0.0) ** 1.5
        )

    def _of_values(self, V: Floats) -> tuple[Floats, Floats]:
        """Functionals (k, p + n + 1) of the values at points (k, n), and prior variances (k,)."""
        m = np.concatenate((self._kernel(V, self.A), np.ones((len(V), 1)), V), axis=1)
        return m, 0.5 * self.scale * np.sum(V**2, axis=1) ** 2

    def _of_slopes(self, v: Floats) -> Floats:
        """Functionals (n, p + n + 1) of the slope at v."""
        n = len(v)
        gaps = v - self.A
        lengths = np.linalg.norm(gaps, axis=1)
        k = self.scale * (self.A @ v)[:, None] * self.A + 3 * self.radial * lengths[:, None] * gaps
        return np.concatenate((k.T, np.zeros((n, 1)), np.eye(n)), axis=1)

    def _deviations(self, m: Floats, prior: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(prior - np.sum((m @ self.inverse) * m, axis=1), 0.0)))


def regress(
    kernels: Kernels,
    y: Floats,
    weights: Floats,
    noise: float | None = None,
    shares: Sequence[float] = c.REGRESSION_SHARES,
) -> Regression | None:
    """Fit values y (p,) at designs; None if there are too few, or they do not differ.

    The variances of the noise are ``noise`` times weights (p,); None: it is found out. ``shares``
    of the radial function are tried.
    """
    A = kernels.A
    p, n = A.shape
    if p < n + 3 or not np.ptp(y) > 0:
        return None
    roots = np.sqrt(weights)
    P = np.column_stack((np.ones(p), A))
    Q, R = np.linalg.qr(P / roots[:, None], mode="complete")
    Z = Q[:, n + 1 :]
    whitened = Z.T / roots
    contrasts = whitened @ y
    quadratic, radial = 0.5 * kernels.products**2, kernels.radial
    ratio = float(np.mean(quadratic)) / (float(np.mean(radial)) or 1.0)
    best: _Scales | None = None
    for share in shares:
        K = quadratic + share * ratio * radial
        values, U = np.linalg.eigh(whitened @ K @ whitened.T)
        found = _likeliest(np.maximum(values, 0.0), (U.T @ contrasts) ** 2, noise, share)
        if best is None or found.log_likelihood > best.log_likelihood:
            best = found
    assert best is not None
    variances = best.noise * weights
    M = np.zeros((p + n + 1, p + n + 1))
    M[:p, :p] = best.scale * (quadratic + best.share * ratio * radial)
    M[:p, :p] += np.diag(variances + c.FIT_ROUNDING * best.scale)
    M[:p, p:], M[p:, :p] = P, P.T
    try:
        inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
    # Likelihoods of different weights are compared: those of contrasts of y itself
    diagonal = np.abs(np.diag(R[: n + 1]))
    log = best.log_likelihood - float(np.sum(np.log(roots)) + np.sum(np.log(diagonal)))
    return Regression(A, y, variances, best.scale, best.share, ratio, inverse, log)


class _Scales(NamedTuple):
    """Scales of function and noise, and how likely the values are with them."""

    log_likelihood: float
    scale: float
    noise: float
    share: float


def _likeliest(values: Floats, squares: Floats, noise: float | None, share: float) -> _Scales:
    """Return the likeliest scales of function and noise, by trying many.

    Of eigenvalues (k,) and squared contrasts (k,).
    """
    mean = float(np.mean(values)) or 1.0
    k = len(values)
    if noise is None:
        ratios = c.REGRESSION_RATIOS / mean  # function over noise
        spread = ratios[:, None] * values + 1.0
        sigma = np.sum(squares / spread, axis=1) / k
        sigma = np.maximum(sigma, np.finfo(float).tiny)
        log = -0.5 * (np.sum(np.log(spread), axis=1) + k * np.log(sigma))
        scales, noises = ratios * sigma, sigma
    else:
        scales = c.REGRESSION_SCALES * max(float(np.mean(squares)), noise) / mean
        spread = scales[:, None] * values + noise
        log = -0.5 * np.sum(np.log(spread) + squares / spread, axis=1)
        noises = np.full(len(scales), noise)
    i = int(np.argmax(log))
    return _Scales(float(log[i]), float(scales[i]), float(noises[i]), share)
