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
K           kernel matrix, shape (p, p)                                 ``K``
D           allowed errors (remainder, noise, rounding), diagonal       ``errors``
P           (1, A), shape (p, n + 1)                                    ``P``
==========  ==========================================================  ===============

K is the sum of :math:`\tfrac12\sum_{ij} V_{ij} a_i a_j b_i b_j`, whose interpolant is the quadratic
of least weighted Frobenius norm [Powell 2004], of cubic splines and of cubic radial functions.
Leave-one-out errors are w_k / (M^{-1})_kk [Rippa 1999].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import Prior

_ROUNDING = 1e-13  # allowed error of every equation, relative to K
_SPARSE = 1e-3  # prior variance of an entry that is not needed, relative to the largest


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and what is needed to fit the same designs again.

    Attributes
    ----------
    model : Interpolant
    errors : ndarray, shape (p,)
        Leave-one-out errors.
    size : float
        Standard deviation of an entry of the Hessian, as the data suggest.
    inverse, K_size, variances, prior, A, y
        The system.
    """

    model: Interpolant
    errors: Floats
    size: float
    inverse: Floats
    K_size: float
    variances: Floats
    prior: Prior
    A: Floats
    y: Floats

    def random(self, rng: np.random.Generator) -> Interpolant:
        """Return a random model that fits the data as well as this one (a posterior sample).

        A random quadratic of the size that the data suggest, plus the fit of what is left.
        Where the data determine the model, it equals this one.
        """
        n = self.A.shape[1]
        R = rng.standard_normal((n, n))
        R = self.size * np.sqrt(self.variances) * (R + R.T) / np.sqrt(2)
        rest = self.y - 0.5 * np.sum((self.A @ R) * self.A, axis=1)
        solution = self.inverse @ np.concatenate((rest, np.zeros(n + 1)))
        model = _assemble(self.A, solution, self.K_size, self.variances, self.prior)
        return Interpolant(
            model.constant,
            model.gradient,
            model.hessian + R,
            model.centres,
            model.weights,
            model.spline,
            model.radial,
        )


def fit(A: Floats, y: Floats, prior: Prior) -> Fit | None:
    """Fit a model to objectives y (p,) at A (p, n), p > n + 1; None if the system is singular."""
    n = A.shape[1]
    variances = np.full((n, n), prior.mixed)
    np.fill_diagonal(variances, prior.diagonal)
    fixed = _fixed_kernel(A, prior)
    rhs = np.concatenate((y, np.zeros(n + 1)))
    squares = np.sum(A**2, axis=1)
    for _ in range(prior.rounds):
        M, size = _system(A, fixed, variances, prior, squares)
        solution = _solve(M, rhs)
        if solution is None:
            return None
        hessian = np.abs(_hessian(A, solution[: len(y)], variances))
        largest = float(hessian.max())
        if not largest > 0:
            break
        variances = hessian / largest + _SPARSE
    M, size = _system(A, fixed, variances, prior, squares)
    try:
        inverse = np.asarray(np.linalg.inv(M), dtype=float)
    except np.linalg.LinAlgError:
        return None
    solution = inverse @ rhs
    solution += inverse @ (rhs - M @ solution)
    if not np.all(np.isfinite(solution)):
        return None
    w, diagonal = solution[: len(y)], np.diag(inverse)[: len(y)]
    sure = np.abs(diagonal) > 1e-14 * float(np.abs(diagonal).max())
    errors = np.divide(w, diagonal, out=np.zeros_like(w), where=sure)
    energy = max(float(w @ (y - inverse_tail(A, solution))), 0.0) / max(len(y) - n - 1, 1)
    return Fit(
        model=_assemble(A, solution, size, variances, prior),
        errors=errors,
        size=float(np.sqrt(energy / size)),
        inverse=inverse,
        K_size=size,
        variances=variances if prior.quadratic else np.ones((n, n)),
        prior=prior,
        A=A,
        y=y,
    )


def inverse_tail(A: Floats, solution: Floats) -> Floats:
    """Linear part (p,) of the fitted values."""
    p = len(A)
    return np.asarray(solution[p] + A @ solution[p + 1 :], dtype=float)


def linear(A: Floats, y: Floats) -> Interpolant:
    """Return the linear function of least slope through the first and nearest to all designs."""
    p, n = A.shape
    slope, *_ = np.linalg.lstsq(A - A[0], y - y[0], rcond=1e-10)
    constant = float(y[0] - A[0] @ slope)
    return Interpolant(constant, slope, np.zeros((n, n)), A, np.zeros(p), 0.0, 0.0)


def _system(
    A: Floats, fixed: Floats, variances: Floats, prior: Prior, squares: Floats
) -> tuple[Floats, float]:
    """Return the matrix of the saddle-point system, K scaled to mean size one, and that size."""
    p, n = A.shape
    K = fixed
    if prior.quadratic:
        i, j = np.triu_indices(n)
        products = A[:, i] * A[:, j]
        K = K + (products * (variances[i, j] * np.where(i == j, 0.5, 1.0))) @ products.T
    size = float(np.mean(np.abs(K))) or 1.0
    M = np.zeros((p + n + 1, p + n + 1))
    M[:p, :p] = K / size
    errors = _ROUNDING + prior.noise + prior.remainder * squares**3
    M[np.arange(p), np.arange(p)] += errors
    M[:p, p] = M[p, :p] = 1.0
    M[:p, p + 1 :] = A
    M[p + 1 :, :p] = A.T
    tail = np.arange(p, p + n + 1)
    M[tail, tail] = -_ROUNDING
    return M, size


def _fixed_kernel(A: Floats, prior: Prior) -> Floats:
    """Spline and radial parts (p, p) of the kernel matrix."""
    p = len(A)
    K = np.zeros((p, p))
    if prior.spline:
        for column in A.T:
            gaps = np.abs(column[:, None] - column[None, :])
            K += prior.spline * gaps * gaps * gaps
    if prior.radial:
        squares = np.sum(A**2, axis=1)
        squared = np.maximum(squares[:, None] + squares[None, :] - 2 * A @ A.T, 0.0)
        np.fill_diagonal(squared, 0.0)
        K += prior.radial * squared * np.sqrt(squared)
    return K


def _assemble(
    A: Floats, solution: Floats, size: float, variances: Floats, prior: Prior
) -> Interpolant:
    """Turn the solution of the system into a model."""
    p, n = A.shape
    w = solution[:p] / size
    hessian = _hessian(A, w, variances) if prior.quadratic else np.zeros((n, n))
    tail = solution[p:]
    return Interpolant(float(tail[0]), tail[1:], hessian, A, w, prior.spline, prior.radial)


def _hessian(A: Floats, w: Floats, variances: Floats) -> Floats:
    """Hessian of the quadratic part: V o sum_k w_k a_k a_k^T."""
    return np.asarray(((A.T * w) @ A) * variances, dtype=float)


def _solve(M: Floats, rhs: Floats) -> Floats | None:
    try:
        solution = np.asarray(np.linalg.solve(M, rhs), dtype=float)
    except np.linalg.LinAlgError:
        return None
    return solution if np.all(np.isfinite(solution)) else None
