r"""Fitting a model to designs, its leave-one-out errors, and random models that fit as well.

The weights w and the linear part t solve the saddle-point system of kernel interpolation

.. math::

    \begin{pmatrix} K + D & P \\ P^T & 0 \end{pmatrix}
    \begin{pmatrix} w \\ t \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
a_k         designs in the coordinates of the model, shape (p, n)       ``A``
y           objectives, normalised and transformed, shape (p,)          ``y``
V           prior variances of the Hessian's entries, shape (n, n)      ``variances``
K           kernel matrix, shape (p, p), scaled to mean size one        ``K``
D           allowed errors (remainder, noise, rounding), diagonal       ``errors``
P           (1, A), shape (p, n + 1)                                    ``P``
==========  ==========================================================  ===============

K is the sum of :math:`\tfrac12\sum_{ij} V_{ij} a_i a_j b_i b_j`, whose interpolant is the quadratic
of least weighted Frobenius norm [P04], of cubic splines and of cubic radial functions.
Leave-one-out errors are w_k / (M^{-1})_kk [R99].

[P04] M. J. D. Powell, Least Frobenius norm updating of quadratic models that satisfy interpolation
conditions, Mathematical Programming 100, 2004, doi:10.1007/s10107-003-0490-7.
[R99] S. Rippa, An algorithm for selecting a good value for the parameter c in radial basis function
interpolation, Advances in Computational Mathematics 11, 1999, doi:10.1023/A:1018975909870.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.surrogate import constants as c
from archeng.surrogate.interpolant import Interpolant

if TYPE_CHECKING:
    from archeng.surrogate.priors import Prior


class Kernels:
    r"""Kernel matrices (p, p) of one set of designs A (p, n), their parts computed once.

    ``systems`` keeps what was made of them, by prior. The entries for the pair (a, b) are

    - quadratic, all variances equal: :math:`\tfrac12 (a^T b)^2`,
    - its diagonal part: :math:`\tfrac12 \sum_i a_i^2 b_i^2`,
    - quadratic, variances V: :math:`\tfrac12\sum_{ij} V_{ij} a_i a_j b_i b_j`,
    - splines: :math:`\sum_i |a_i - b_i|^3`, radial: :math:`|a - b|^3`.
    """

    def __init__(self, A: Floats) -> None:
        self.A = A
        self.systems: dict[Prior, System] = {}

    def even(self, prior: Prior) -> Floats:
        """Return the kernel matrix with the prior's own variances."""
        K = self._bases(prior)
        if prior.mixed:
            K = K + (0.5 * prior.mixed) * self.products**2
        if prior.diagonal != prior.mixed:
            K = K + 0.5 * (prior.diagonal - prior.mixed) * self.diagonal
        return np.asarray(K, dtype=float)

    def uneven(self, prior: Prior, variances: Floats) -> Floats:
        """Return the kernel matrix with other variances (n, n) of the Hessian's entries."""
        i, j, products = self._monomials
        roots = np.sqrt(variances[i, j] * np.where(i == j, 0.5, 1.0))
        half = products * roots
        K = half @ half.T
        return K if not (prior.spline or prior.radial) else K + self._bases(prior)

    @cached_property
    def squares(self) -> Floats:
        """Squared lengths (p,) of the designs."""
        return np.asarray(np.sum(self.A**2, axis=1), dtype=float)

    def _bases(self, prior: Prior) -> Floats:
        """Spline and radial parts."""
        K = np.zeros((len(self.A), len(self.A)))
        if prior.spline:
            K += prior.spline * self._spline
        if prior.radial:
            K += prior.radial * self.radial
        return K

    @cached_property
    def products(self) -> Floats:
        """Scalar products (p, p) of the designs."""
        return self.A @ self.A.T

    @cached_property
    def product_size(self) -> float:
        """Mean size of the scalar products."""
        return float(np.mean(np.abs(self.products)))

    @cached_property
    def diagonal(self) -> Floats:
        """Scalar products (p, p) of the squared coordinates."""
        squared = self.A**2
        return np.asarray(squared @ squared.T, dtype=float)

    @cached_property
    def _monomials(self) -> tuple[Integers, Integers, Floats]:
        """Indices i <= j, and the products a_i a_j (p, n (n + 1) / 2)."""
        i, j = _pairs(self.A.shape[1])
        return i, j, self.A[:, i] * self.A[:, j]

    @cached_property
    def _spline(self) -> Floats:
        K = np.zeros((len(self.A), len(self.A)))
        for column in self.A.T:
            gaps = np.abs(column[:, None] - column[None, :])
            K += gaps * gaps * gaps
        return K

    @cached_property
    def radial(self) -> Floats:
        """Cubed distances (p, p) of the designs."""
        s = self.squares
        squared = np.maximum(s[:, None] + s[None, :] - 2 * self.products, 0.0)
        np.fill_diagonal(squared, 0.0)
        return np.asarray(squared * np.sqrt(squared), dtype=float)


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[Integers, Integers]:
    """Return indices i <= j below n."""
    i, j = np.triu_indices(n)
    return i.astype(np.intp), j.astype(np.intp)


@dataclass(frozen=True, eq=False)
class System:
    """The system for one prior."""

    A: Floats
    prior: Prior
    variances: Floats
    size: float  # what K was divided by
    matrix: Floats  # (p + n + 1, p + n + 1)

    def solve(self, Y: Floats) -> Floats:
        """Weights and linear part, (p + n + 1,) or (p + n + 1, k), for Y (p,) or (p, k).

        NaN if the system is singular.
        """
        rhs = np.zeros((len(self.matrix), *Y.shape[1:]))
        rhs[: len(Y)] = Y
        try:
            return np.asarray(np.linalg.solve(self.matrix, rhs), dtype=float)
        except np.linalg.LinAlgError:
            return np.full(rhs.shape, np.nan)

    def model(self, solution: Floats) -> Interpolant:
        """Turn the solution of the system into a model."""
        p, n = self.A.shape
        w, tail = solution[:p] / self.size, solution[p:]
        hessian = np.zeros((n, n))
        if self.prior.quadratic:
            hessian = _hessian(self.A, w, self.variances)
        spline, radial = self.prior.spline, self.prior.radial
        return Interpolant(float(tail[0]), tail[1:], hessian, self.A, w, spline, radial)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model."""

    solution: Floats  # (p + n + 1,)
    system: System
    y: Floats
    known_diagonal: Floats | None = None  # (p,) of the inverse of the matrix

    @cached_property
    def model(self) -> Interpolant:
        """The model."""
        return self.system.model(self.solution)

    @cached_property
    def errors(self) -> Floats:
        """Leave-one-out errors (p,)."""
        p = len(self.y)
        w, diagonal = self.solution[:p], self.known_diagonal
        if diagonal is None:
            diagonal = np.diag(self.system.solve(np.eye(p)))
        return left_out_errors(w, diagonal)

    @property
    def noise(self) -> float:
        """Variance of the noise that the prior assumes."""
        return self.system.prior.noise

    @property
    def variances(self) -> Floats:
        """Prior variances of the Hessian's entries (n, n)."""
        return self.system.variances

    @property
    def size(self) -> float:
        """Standard deviation of an entry of the Hessian, as the data suggest."""
        A = self.system.A
        p, n = A.shape
        with np.errstate(over="ignore", invalid="ignore"):
            bent = self.y - self.solution[p] - A @ self.solution[p + 1 :]
            energy = float(self.solution[:p] @ bent) / max(p - n - 1, 1)
        return float(np.sqrt(energy / self.system.size)) if 0 < energy < np.inf else 0.0

    def random(self, rng: np.random.Generator) -> Interpolant:
        """Return a random model that fits the data as well as this one (a posterior sample).

        A random quadratic of the size that the data suggest, plus the fit of what is left.
        Where the data determine the model, it equals this one.
        """
        A = self.system.A
        n = A.shape[1]
        R = rng.standard_normal((n, n))
        R = self.size * np.sqrt(self.system.variances) * (R + R.T) / np.sqrt(2)
        rest = self.y - 0.5 * np.sum((A @ R) * A, axis=1)
        model = self.system.model(self.system.solve(rest))
        return replace(model, hessian=model.hessian + R)


def fit(kernels: Kernels, y: Floats, prior: Prior, known: Floats | None = None) -> Fit | None:
    """Fit a model to objectives y (p,), p > n + 1; None if the system is singular.

    ``known`` weights as in :func:`make_system`.
    """
    system = make_system(kernels, prior, y, known)
    if system is None:
        return None
    solution = system.solve(y)
    return Fit(solution, system, y) if np.isfinite(solution).all() else None


def fit_all(system: System, Y: Floats) -> list[Fit | None]:
    """Fit a model to each column of Y (p, k), and prepare their leave-one-out errors.

    One factorisation does both.
    """
    solutions, diagonal = solve_all(system, Y)
    return [
        Fit(column, system, y, diagonal) if np.isfinite(column).all() else None
        for column, y in zip(solutions.T, Y.T, strict=True)
    ]


def solve_all(system: System, Y: Floats) -> tuple[Floats, Floats]:
    """Solutions (p + n + 1, k) for Y (p, k), and the diagonal (p,) of the inverse."""
    p, k = Y.shape
    solutions = system.solve(np.concatenate((Y, np.eye(p)), axis=1))
    return solutions[:, :k], np.diag(solutions[:p, k:]).copy()


def left_out_errors(w: Floats, diagonal: Floats) -> Floats:
    """Leave-one-out errors (p, ...) of weights w (p, ...): w_k / (M^{-1})_kk [R99]."""
    sure = np.abs(diagonal) > c.FIT_SINGULAR * float(np.abs(diagonal).max())
    safe = np.where(sure, diagonal, 1.0).reshape(-1, *[1] * (w.ndim - 1))
    return np.where(sure.reshape(safe.shape), w / safe, 0.0)


def make_system(
    kernels: Kernels, prior: Prior, y: Floats, known: Floats | None = None
) -> System | None:
    """Make the system of a prior.

    The objectives matter only if it is reweighted, unless the weights are ``known`` (n, n).
    """
    if prior.rounds and known is not None:
        return _uneven_system(kernels, prior, known)
    system = _even_system(kernels, prior)
    for _ in range(prior.rounds):
        w = system.solve(y)[: len(y)]
        if not np.isfinite(w).all():
            return None
        entries = np.abs(_hessian(kernels.A, w, system.variances))
        largest = float(entries.max())
        if not 0 < largest < np.inf:
            break
        system = _uneven_system(kernels, prior, entries / largest + c.FIT_SPARSE)
    return replace(system, prior=prior)


def linear(A: Floats, y: Floats, rng: np.random.Generator | None = None) -> Interpolant:
    """Return a linear function through the first and nearest to all designs.

    Fewer than n + 1 designs leave its slope undetermined in some directions. There it is zero,
    or with ``rng`` random, of the size that it has in the others.
    """
    p, n = A.shape
    directions = A[1:] - A[0]
    slope, _, rank, _ = np.linalg.lstsq(directions, y[1:] - y[0], rcond=c.LINEAR_RANK)
    if rng is not None and 0 < rank < n:
        size = float(np.linalg.norm(slope)) / np.sqrt(rank)
        unknown = np.linalg.svd(directions)[2][rank:]
        slope = slope + size * (rng.standard_normal(n - rank) @ unknown)
    constant = float(y[0] - A[0] @ slope)
    return Interpolant(constant, slope, np.zeros((n, n)), A, np.zeros(p), 0.0, 0.0)


def _even_system(kernels: Kernels, prior: Prior) -> System:
    """Return the system with the prior's own variances, made once for these designs."""
    key = replace(prior, name="", rounds=0)
    system = kernels.systems.get(key)
    if system is None:
        n = kernels.A.shape[1]
        variances = np.ones((n, n))
        if prior.quadratic:
            variances = np.full((n, n), prior.mixed)
            np.fill_diagonal(variances, prior.diagonal)
        M, size = _matrix(kernels, kernels.even(prior), prior)
        system = kernels.systems[key] = System(kernels.A, key, variances, size, M)
    return system


def _uneven_system(kernels: Kernels, prior: Prior, variances: Floats) -> System:
    """Return the system with other variances (n, n)."""
    M, size = _matrix(kernels, kernels.uneven(prior, variances), prior)
    return System(kernels.A, prior, variances, size, M)


def _matrix(kernels: Kernels, K: Floats, prior: Prior) -> tuple[Floats, float]:
    """Return the matrix of the system, and what K was divided by."""
    A = kernels.A
    p, n = A.shape
    size = float(np.mean(np.abs(K))) or 1.0
    M = np.zeros((p + n + 1, p + n + 1))
    np.divide(K, size, out=M[:p, :p])
    diagonal, s = np.einsum("ii->i", M), kernels.squares
    diagonal[:p] += c.FIT_ROUNDING + prior.noise + c.FIT_FAR * s**2 + prior.remainder * s**3
    diagonal[p:] = -c.FIT_ROUNDING
    M[:p, p] = M[p, :p] = 1.0
    M[:p, p + 1 :] = A
    M[p + 1 :, :p] = A.T
    return M, size


def _hessian(A: Floats, w: Floats, variances: Floats) -> Floats:
    """Hessian of the quadratic part: V o sum_k w_k a_k a_k^T."""
    return np.asarray(((A.T * w) @ A) * variances, dtype=float)
