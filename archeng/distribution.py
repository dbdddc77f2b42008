r"""The search distribution N(m, sigma^2 C): sampling, whitening, Mahalanobis distance.

========  ============================================  =================
symbol    meaning                                       name here
========  ============================================  =================
m         mean, shape (n,)                              ``mean``
sigma     step size                                     ``sigma``
C         covariance matrix, shape (n, n)               ``covariance``
F         any factor with F F^T = C, shape (n, n);      ``factor``
          of a diagonal metric its diagonal only, (n,)
L         sigma F, so that L L^T = sigma^2 C            ``scaled_factor``
z         whitened coordinates, x = m + L z             ``z``
========  ============================================  =================

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

_LEAST_EIGENVALUE = 1e-32  # relative to the largest one: below it, rounding decides


@dataclass(frozen=True, eq=False)
class Distribution:
    """A normal distribution with a chosen factor of its covariance matrix.

    ``factor`` and ``inverse_factor`` are matrices (n, n), or diagonals (n,) of a metric that is
    diagonal; the other attributes are matrices either way.

    ``change_costs`` says what it costs to change a category: for the position of each category
    among the coordinates, the squared distances (k,) of ending at each of its k rows. The row
    that was sampled costs nothing, whatever its entry. None if there are no categories.
    """

    mean: Floats
    sigma: float
    factor: Floats
    inverse_factor: Floats
    change_costs: Mapping[int, Floats] | None = None

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.mean)

    @property
    def is_diagonal(self) -> bool:
        """Whether only the diagonals of the factors are kept."""
        return self.factor.ndim == 1

    @property
    def deviations(self) -> Floats:
        """Standard deviations (n,) of the coordinates."""
        if self.is_diagonal:
            return self.sigma * np.abs(self.factor)
        return np.asarray(self.sigma * np.sqrt(np.sum(self.factor**2, axis=1)))

    @property
    def covariance(self) -> Floats:
        """C = F F^T, shape (n, n)."""
        return np.diag(self.factor**2) if self.is_diagonal else self.factor @ self.factor.T

    @property
    def scaled_factor(self) -> Floats:
        """L = sigma F, shape (n, n)."""
        return self.sigma * (np.diag(self.factor) if self.is_diagonal else self.factor)

    def steps(self, z: Floats) -> Floats:
        """Return the steps y = F z of standard normal samples z, both (k, n) [SA22 2.1]."""
        return z * self.factor if self.is_diagonal else z @ self.factor.T

    def whiten(self, difference: Floats) -> Floats:
        """Whitened coordinates L^{-1} d of a difference d, (n,) or (k, n)."""
        if self.is_diagonal:
            return difference * self.inverse_factor / self.sigma
        return difference @ self.inverse_factor.T / self.sigma

    def distance_squared(self, a: Floats, b: Floats) -> float:
        """Squared Mahalanobis distance between two points under sigma^2 C."""
        z = self.whiten(a - b)
        return float(z @ z)


def symmetric_root(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Symmetric square root of a positive matrix, its inverse, and the eigenvalues.

    Eigenvalues are ascending. They are kept above a rounding floor so that the inverse exists.
    """
    eigenvalues, B = np.linalg.eigh(matrix)
    floor = max(float(eigenvalues[-1]), np.finfo(float).tiny) * _LEAST_EIGENVALUE
    roots = np.sqrt(np.maximum(eigenvalues, floor))
    return (B * roots) @ B.T, (B / roots) @ B.T, eigenvalues


def initial_distribution(mean: Floats, deviations: Floats) -> Distribution:
    """Distribution with independent standard deviations (n,) [SA22 ssec:vs-aal-mcr, 7.3].

    sigma is their geometric mean and F the diagonal of the ratios, so that C has
    determinant one and units of the variables do not matter.
    """
    sigma = float(np.exp(np.mean(np.log(deviations))))
    ratio = deviations / sigma
    return Distribution(np.array(mean, dtype=float), sigma, np.diag(ratio), np.diag(1 / ratio))


def diagonal_distribution(distribution: Distribution) -> Distribution:
    """Return the distribution with the same deviations and independent coordinates."""
    if distribution.is_diagonal:
        return distribution
    ratio = distribution.deviations / distribution.sigma
    return Distribution(distribution.mean, distribution.sigma, ratio, 1 / ratio)


def distribution_from_covariance(mean: Floats, covariance: Floats) -> Distribution:
    """Distribution with a full covariance matrix sigma^2 C, sigma^2 its geometric mean."""
    eigenvalues, B = np.linalg.eigh(covariance)
    if eigenvalues[0] <= 0:
        raise np.linalg.LinAlgError("the covariance matrix is not positive definite")
    sigma = float(np.exp(np.mean(np.log(eigenvalues)) / 2))
    roots = np.sqrt(eigenvalues) / sigma
    return Distribution(np.array(mean, dtype=float), sigma, (B * roots) @ B.T, (B / roots) @ B.T)
