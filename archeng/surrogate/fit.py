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
of least weighted Frobenius norm [Powell 2004], of cubic splines and of cubic radial functions.
Leave-one-out errors are w_k / (M^{-1})_kk [Rippa 1999].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.kernels import Kernels
from archeng.surrogate.priors import Prior

_ROUNDING = 1e-12  # allowed error of every equation, relative to K
_FAR = 1e-9  # the same at distance one; it grows with the fourth power
_SPARSE = 1e-3  # prior variance of an entry that is not needed, relative to the largest


@dataclass(frozen=True, eq=False)
class System:
    """The system for one prior.

    Attributes
    ----------
    A : ndarray, shape (p, n)
    prior : Prior
    variances : ndarray, shape (n, n)
    size : float
        What K was divided by.
    matrix : ndarray, shape (p + n + 1, p + n + 1)
    """

    A: Floats
    prior: Prior
    variances: Floats
    size: float
    matrix: Floats

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
    """A fitted model.

    Attributes
    ----------
    solution : ndarray, shape (p + n + 1,)
    system : System
    y : ndarray, shape (p,)
    known_diagonal : ndarray, shape (p,), optional
        Of the inverse of the matrix.
    """

    solution: Floats
    system: System
    y: Floats
    known_diagonal: Floats | None = None

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
        sure = np.abs(diagonal) > 1e-14 * float(np.abs(diagonal).max())
        return np.divide(w, diagonal, out=np.zeros_like(w), where=sure)

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


def fit(kernels: Kernels, y: Floats, prior: Prior) -> Fit | None:
    """Fit a model to objectives y (p,), p > n + 1; None if the system is singular."""
    system = make_system(kernels, prior, y)
    return None if system is None else fit_with(system, y)


def fit_with(system: System, y: Floats) -> Fit | None:
    """Fit a model with a system that is there already; None if it is singular."""
    solution = system.solve(y)
    if not np.all(np.isfinite(solution)):
        return None
    return Fit(solution, system, y)


def fit_all(system: System, Y: Floats) -> list[Fit | None]:
    """Fit a model to each column of Y (p, k), and prepare their leave-one-out errors.

    One factorisation does both.
    """
    p, k = Y.shape
    solutions = system.solve(np.concatenate((Y, np.eye(p)), axis=1))
    diagonal = np.diag(solutions[:p, k:]).copy()
    return [
        Fit(column, system, y, diagonal) if np.isfinite(column).all() else None
        for column, y in zip(solutions.T[:k], Y.T, strict=True)
    ]


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
        system = _uneven_system(kernels, prior, entries / largest + _SPARSE)
    return replace(system, prior=prior)


def linear(A: Floats, y: Floats, rng: np.random.Generator | None = None) -> Interpolant:
    """Return a linear function through the first and nearest to all designs.

    Fewer than n + 1 designs leave its slope undetermined in some directions. There it is zero,
    or with ``rng`` random, of the size that it has in the others.
    """
    p, n = A.shape
    directions = A[1:] - A[0]
    slope, _, rank, _ = np.linalg.lstsq(directions, y[1:] - y[0], rcond=1e-10)
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
    diagonal[:p] += _ROUNDING + prior.noise + _FAR * s**2 + prior.remainder * s**3
    diagonal[p:] = -_ROUNDING
    M[:p, p] = M[p, :p] = 1.0
    M[:p, p + 1 :] = A
    M[p + 1 :, :p] = A.T
    return M, size


def _hessian(A: Floats, w: Floats, variances: Floats) -> Floats:
    """Hessian of the quadratic part: V o sum_k w_k a_k a_k^T."""
    return np.asarray(((A.T * w) @ A) * variances, dtype=float)
