r"""Kernel matrices of the priors, their parts computed once for all of them.

With designs a_k (p, n), the entries for the pair (a, b) are

- quadratic, all variances equal: :math:`\tfrac12 (a^T b)^2`,
- its diagonal part: :math:`\tfrac12 \sum_i a_i^2 b_i^2`,
- quadratic, variances V: :math:`\tfrac12\sum_{ij} V_{ij} a_i a_j b_i b_j`,
- splines: :math:`\sum_i |a_i - b_i|^3`, radial: :math:`|a - b|^3`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.surrogate.priors import Prior

if TYPE_CHECKING:
    from archeng.surrogate.fit import System


class Kernels:
    """Kernel matrices (p, p) of one set of designs A (p, n).

    ``systems`` keeps what was made of them (:mod:`archeng.surrogate.fit`), by prior.
    """

    def __init__(self, A: Floats) -> None:
        self.A = A
        self.systems: dict[Prior, System] = {}

    def even(self, prior: Prior) -> Floats:
        """Return the kernel matrix with the prior's own variances."""
        K = self._bases(prior)
        if prior.mixed:
            K = K + (0.5 * prior.mixed) * self._products_of_pairs**2
        if prior.diagonal != prior.mixed:
            squared = self.A**2
            K = K + 0.5 * (prior.diagonal - prior.mixed) * (squared @ squared.T)
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
            K += prior.radial * self._radial
        return K

    @cached_property
    def _products_of_pairs(self) -> Floats:
        return self.A @ self.A.T

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
    def _radial(self) -> Floats:
        s = self.squares
        squared = np.maximum(s[:, None] + s[None, :] - 2 * self._products_of_pairs, 0.0)
        np.fill_diagonal(squared, 0.0)
        return np.asarray(squared * np.sqrt(squared), dtype=float)


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[Integers, Integers]:
    """Return indices i <= j below n."""
    i, j = np.triu_indices(n)
    return i.astype(np.intp), j.astype(np.intp)
