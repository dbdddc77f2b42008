r"""Constraint vectors of active constraint handling: where limits are, learned from steps [AH12].

Each limit has a vector, a fading mean of the steps that violated it. By it the method knows the
normal of the limit in the metric of the search, from nothing but whether limits are violated, and
takes variance out of the search in that direction.

[AH12] D. V. Arnold, N. Hansen, A (1+1)-CMA-ES for Constrained Optimisation, GECCO 2012,
doi:10.1145/2330163.2330207.

==========  =====================================================  ==================
symbol      meaning                                                name here
==========  =====================================================  ==================
v_j         vector of limit j, one for each side of each row       rows of ``vectors``
y           a step (n,), (x - m) / sigma; in MA-ES the whitened    ``step``
            one, A^{-1} y
c_c         how fast a vector forgets                              ``fading_rate``
A           factor of the covariance matrix, C = A A^T
w_j         A^{-1} v_j                                             ``whitened``
beta        how much of the deviation along w_j is taken           ``strength``
==========  =====================================================  ==================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import Handler, Search

_STRENGTH = 0.1  # beta (n + 2) [AH12]


@dataclass(frozen=True, eq=False)
class VectorSearch(Search):
    """The search with the vectors of the limits (k, n)."""

    vectors: Floats


V = TypeVar("V", bound=VectorSearch)


class VectorHandler(Handler[V]):
    """A handler with constraint vectors, which know nothing at the start of a restart."""

    by_chance = True

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        return {"vectors": np.zeros((len(self._sides), distribution.n))}

    def _learned(
        self, vectors: Floats, d: Distribution, x: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the vectors after a sample x (n,), and which limits (k,) it violates."""
        violated = self._sides.violations(x[None])[0] > 0
        return faded(vectors, violated, (x - d.mean) / d.sigma), violated


def fading_rate(n: int) -> float:
    """Return c_c = 1 / (n + 2) [AH12]."""
    return 1 / (n + 2)


def narrowing_strength(n: int) -> float:
    """Return beta = 0.1 / (n + 2) [AH12]."""
    return _STRENGTH / (n + 2)


def faded(vectors: Floats, violated: NDArray[np.bool_], step: Floats) -> Floats:
    """Return the vectors (k, n) after a step (n,) that violated some limits (k,).

    v_j becomes (1 - c_c) v_j + c_c y for those, and stays for the others [AH12].
    """
    rate = fading_rate(len(step))
    return np.where(violated[:, None], (1 - rate) * vectors + rate * step, vectors)


def normal_projections(whitened: Floats) -> Floats:
    """Return the mean (n, n) of w w^T / w^T w over vectors w (k, n) that are not zero."""
    squares = np.sum(whitened**2, axis=1)
    there = squares > 0
    if not np.any(there):
        return np.zeros((whitened.shape[1],) * 2)
    units = whitened[there] / np.sqrt(squares[there])[:, None]
    return np.asarray(units.T @ units / len(units), dtype=float)


def narrowing(whitened: Floats, strength: float) -> Floats:
    """Return N (n, n), so that A N has less variance along the vectors of violated limits.

    ``whitened`` (k, n) are their w_j. A N = A - beta / k sum_j v_j w_j^T / w_j^T w_j [AH12]: the
    deviation along one w_j shrinks by 1 - beta, and N is positive definite.
    """
    return np.eye(whitened.shape[1]) - strength * normal_projections(whitened)


def narrowed(factor: Floats, inverse: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Return A and its inverse after the vectors v (k, n) of violated limits narrowed it [AH12]."""
    change = narrowing(vectors @ inverse.T, narrowing_strength(len(factor)))
    return factor @ change, np.asarray(np.linalg.solve(change, inverse), dtype=float)
