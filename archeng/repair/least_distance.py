r"""Dense quadratic programs with any number of rows, by DAQP.

.. math:: \min_d \tfrac12 d^T W d + g^T d \quad\text{s.t.}\quad l \le A d \le h

With :math:`W = R R^T` and :math:`v = R^T d + R^{-1} g` it is the least-distance problem
:math:`\min |v|^2` with limits of :math:`M v`, :math:`M = A R^{-T}`. DAQP would do the same by
itself; the factor and the product are made by LAPACK here, which is two to three times as fast
for a hundred variables [DAQP].

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
R           lower factor of W, shape (n, n)                        ``root``
M           rows in the coordinates v, shape (k, n)                ``M``
l, h        limits, shape (k,)                                     ``low``, ``high``
R^-1 g      minus v at d = 0 without rows, shape (n,)              ``q``
==========  =====================================================  ==============

[DAQP] D. Arnstrom, A. Bemporad, D. Axehill, A dual active-set solver for embedded quadratic
programming using recursive LDL^T updates, IEEE Transactions on Automatic Control 67(8), 4362-4369,
2022, doi:10.1109/TAC.2022.3176430.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.model.functions import FastFunction
from archeng.repair.step import INFINITE, LARGE, daqp

_SMALLEST = 16  # rows of the smallest solver; larger ones are made as they are needed


class LeastDistance:
    """Solves programs of any size; solvers of growing sizes are compiled on first use."""

    def __init__(self) -> None:
        self._solvers: dict[tuple[int, int], FastFunction] = {}

    def __call__(
        self, root: Floats, g: Floats, A: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Return the minimum d (n,) and the multipliers (k,) of the rows.

        If the rows have no common point, they are not satisfied: check.
        """
        q = solved_lower(root, g)
        if not len(A):
            return solved_lower(root, -q, transposed=True), np.zeros(0)
        M = solved_lower(root, A.T).T
        back = M @ q
        low = np.where(low > -LARGE, low + back, -INFINITE)
        high = np.where(high < LARGE, high + back, INFINITE)
        v, multipliers = self._least(M, low, high)
        return solved_lower(root, v - q, transposed=True), multipliers

    def least(self, M: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least v (k,) with limits of M v for M (k, k) of any size, and multipliers."""
        k, size = len(M), _size_for(len(M))
        padded = np.zeros((k, size))
        padded[:, :k] = M
        low, high = np.maximum(low, -INFINITE), np.minimum(high, INFINITE)
        v, multipliers = self._least(padded, low, high)
        return v[:k], multipliers

    def _least(self, M: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least v (n,) with limits of M v, and the multipliers (k,) of the rows."""
        (k, n), size = M.shape, _size_for(len(M))
        if (n, size) not in self._solvers:
            inputs = [ca.MX.sym("M", size, n), ca.MX.sym("low", size), ca.MX.sym("high", size)]
            solution = daqp(ca.MX.eye(n), ca.DM.zeros(n), *inputs)
            self._solvers[n, size] = FastFunction.of("least_distance", inputs, list(solution))
        void = size - k
        v, multipliers = self._solvers[n, size](
            np.concatenate((M, np.zeros((void, n)))),
            np.concatenate((low, np.full(void, -INFINITE))),
            np.concatenate((high, np.full(void, INFINITE))),
        )
        return v, multipliers[:k]


def _size_for(k: int) -> int:
    """Return the number of rows of the solver for k rows."""
    size = _SMALLEST
    while size < k:
        size += size // 4
    return size


def lower_root(W: Floats) -> Floats | None:
    """Return the lower factor R, W = R R^T; None if W is not positive definite."""
    try:
        return np.asfortranarray(np.linalg.cholesky(W))
    except np.linalg.LinAlgError:
        return None


def solved_lower(root: Floats, b: Floats, transposed: bool = False) -> Floats:
    """Return R^-1 b or R^-T b."""
    x, _ = _dtrtrs()(root, b, lower=1, trans=int(transposed))
    return np.asarray(x, dtype=float)


@cache
def _dtrtrs() -> Any:
    """LAPACK's triangular solver, with SciPy's own BLAS on one thread from its first call."""
    from scipy.linalg.lapack import dtrtrs  # here, because it takes longer to import than archeng

    one_thread.look_again()
    return dtrtrs
