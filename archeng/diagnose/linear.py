r"""Elastic linear programs: exact answers for limits on linear quantities.

With x = c + D z, c the centre and D the scales of the variables,

.. math:: \min_{z, s \ge 0} w^T s \quad\text{s.t.}\quad
          \pm (a_k^T x + b_k - v_k) / \sigma_k \le s_k ,

one row for each limit k that is asked for; signs are bounds on z that never give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.diagnose.system import Bools, Kind, Limit, System
from archeng.model.implied import linear_program
from archeng.model.variable import Floats

_CANCELS = 1e-10  # sums this much smaller than their terms are zero
_MARGIN = 1e-9  # least relative gap that counts as a proof


@dataclass(frozen=True, eq=False)
class Elastic:
    """Answer of an elastic problem.

    Attributes
    ----------
    x : ndarray, shape (n,)
    give : ndarray, shape (limits,)
        By how much each limit gives, in sizes of its quantity.
    weight : ndarray, shape (limits,)
        Multiplier of each limit: how much it contributes to the conflict.
    """

    x: Floats
    give: Floats
    weight: Floats


class LinearProgram:
    """Elastic problems over the linear limits of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        q = [limit.quantity for limit in system.limits]
        side = np.array([limit.side for limit in system.limits], dtype=float)
        value = np.array([limit.value for limit in system.limits], dtype=float)
        self.usable = np.array([system.quantities[k].linear for k in q], dtype=bool)
        factor = side / system.size[q]
        self._matrix = factor[:, None] * system.linear[q] * system.scale
        at_center = system.linear[q] @ system.center + system.offset[q]
        self._rest = -factor * (at_center - value)
        self._signs = signs(system)

    def solve(self, active: Bools, weights: Floats | None = None) -> Elastic | None:
        """Minimise the weighted give of the active linear limits; None if the solver fails.

        A weight of infinity means that the limit does not give.
        """
        system = self._system
        soft = active & self.usable & ~self._signs
        chosen = np.flatnonzero(soft)
        n, k = system.n, len(chosen)
        w = np.ones(k) if weights is None else weights[chosen]
        lower, upper = sign_box(system.limits, active, system)
        bounds = [
            *zip(
                (lower - system.center) / system.scale,
                (upper - system.center) / system.scale,
                strict=True,
            ),
            *((0.0, 0.0 if np.isinf(v) else np.inf) for v in w),
        ]
        cost = np.concatenate((np.zeros(n), np.where(np.isinf(w), 0.0, w)))
        matrix = np.hstack((self._matrix[chosen], -np.eye(k)))
        answer = linear_program(cost, matrix, self._rest[chosen], bounds)
        if answer.status != 0:
            return None
        give, weight = np.zeros(len(active)), np.zeros(len(active))
        give[chosen] = answer.x[n:]
        weight[chosen] = -answer.ineqlin.marginals if k else []
        return Elastic(system.center + system.scale * answer.x[:n], give, weight)

    def proves_conflict(self, active: Bools) -> bool:
        """Whether the active linear limits cannot hold together, with a checked certificate."""
        answer = self.solve(active)
        if answer is None:
            return False
        chosen = np.flatnonzero(active & self.usable & ~self._signs)
        lower, upper = sign_box(self._system.limits, active, self._system)
        center, scale = self._system.center, self._system.scale
        return certified(
            self._matrix[chosen],
            self._rest[chosen],
            (lower - center) / scale,
            (upper - center) / scale,
            answer.weight[chosen],
        )

    def extreme(self, active: Bools, quantity: int, side: int) -> float:
        """Largest (side 1) or smallest value of a linear quantity within the active limits.

        Infinite if nothing limits it, NaN if the limits cannot hold together.
        """
        system = self._system
        chosen = np.flatnonzero(active & self.usable & ~self._signs)
        lower, upper = sign_box(system.limits, active, system)
        gradient = system.linear[quantity] * system.scale
        bounds = np.column_stack((lower - system.center, upper - system.center))
        for presolve in (True, False):  # presolve may not tell unbounded from impossible
            answer = linear_program(
                -side * gradient / system.size[quantity],
                self._matrix[chosen],
                self._rest[chosen],
                bounds / system.scale[:, None],
                presolve,
            )
            if answer.status != 4:
                break
        if answer.status == 3:
            return side * np.inf
        if answer.status != 0:
            return np.nan
        at_center = system.linear[quantity] @ system.center + system.offset[quantity]
        return float(at_center + gradient @ answer.x)


def certified(a: Floats, b: Floats, lower: Floats, upper: Floats, y: Floats) -> bool:
    r"""Whether weights y >= 0 prove that A x <= b has no solution between the bounds (Farkas).

    For every such x, :math:`y^T A x \le y^T b`; it is a contradiction if even the smallest value
    of the left side over the bounds is larger. What rounding may have done is allowed for.
    """
    y = np.maximum(y, 0.0)
    sums, terms = y @ a, y @ np.abs(a)
    sums = np.where(np.abs(sums) <= _CANCELS * terms, 0.0, sums)
    ends = np.where(sums > 0, lower, upper)
    used = sums != 0
    if not np.all(np.isfinite(ends[used])):
        return False
    least = float(sums[used] @ ends[used])
    size = float(np.abs(sums[used]) @ np.abs(ends[used]) + y @ np.abs(b))
    return least - float(y @ b) > _MARGIN * size


def signs(system: System) -> Bools:
    """Which limits are signs."""
    return np.array([limit.kind is Kind.SIGN for limit in system.limits], dtype=bool)


def sign_box(limits: Sequence[Limit], active: Bools, system: System) -> tuple[Floats, Floats]:
    """Bounds (n,) that the active signs put on the variables, infinite elsewhere."""
    lower, upper = np.full(system.n, -np.inf), np.full(system.n, np.inf)
    for limit, on in zip(limits, active, strict=True):
        if on and limit.kind is Kind.SIGN:
            (lower if limit.side < 0 else upper)[limit.quantity - system.m] = limit.value
    return lower, upper
