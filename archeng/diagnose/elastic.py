r"""Elastic programs: by how little limits have to give so that the others can hold.

With x = c + D z, c the centre and D the scales of the variables, and one give s_k for each limit
k that is asked for,

.. math:: \min_{z, s \ge 0} w^T s \quad\text{s.t.}\quad
          \pm (q_k(c + D z) - v_k) / \sigma_k \le s_k ;

signs are bounds on z that never give. For linear quantities it is a linear program with exact
answers; otherwise IPOPT finds local ones from a given start, with :math:`\epsilon |z - z_0|^2`
added to the cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.blas import one_thread
from archeng.diagnose.limits import Bools, LimitKind, LimitSystem
from archeng.model.implied import linear_program
from archeng.model.variable import Floats

_Program = tuple[Floats, Floats, Floats, Floats]  # a, b, low, high: a z <= b, low <= z <= high
_CANCELS = 1e-10  # sums this much smaller than their terms are zero
_MARGIN = 1e-9  # least relative gap that counts as a proof
_NEAR = 1e-12  # weight of the distance to the start
_TIGHT = 1e-9  # limits nearer to each other than this are an equation for IPOPT
_GUARD = 10.0  # weight of what makes a row undefined
_IPOPT = {  # tighter than its defaults: HOLDS is 1e-8
    "tol": 1e-9,
    "constr_viol_tol": 1e-10,
    "acceptable_tol": 1e-7,
    "acceptable_constr_viol_tol": 1e-9,
    "bound_relax_factor": 0.0,
    "mu_strategy": "adaptive",
    "max_iter": 80,
    "print_level": 0,
    "sb": "yes",
}


class ElasticPoint(NamedTuple):
    """Solution x (n,) of an elastic program.

    ``give`` (limits,) says by how much each limit gives, in sizes of its quantity; ``weight``
    (limits,) is its multiplier: how much it contributes to the conflict.
    """

    x: Floats
    give: Floats
    weight: Floats


class LinearElastic:
    """Elastic linear programs over the linear limits of a system."""

    def __init__(self, system: LimitSystem) -> None:
        self._system = system
        q = system.quantity
        self.usable = np.array([system.quantities[k].linear for k in q], dtype=bool)
        self._soft = self.usable & ~system.of_kind(LimitKind.SIGN)
        factor = system.side / system.size[q]
        self._matrix = factor[:, None] * system.linear[q] * system.scale
        at_center = system.linear[q] @ system.center + system.offset[q]
        self._rest = -factor * (at_center - system.value)

    def _asked(self, active: Bools) -> tuple[NDArray[np.intp], _Program]:
        """Return the active linear limits other than signs, and them with the signs as bounds."""
        system, chosen = self._system, np.flatnonzero(active & self._soft)
        ends = system.box(active, LimitKind.SIGN)
        low, high = ((end - system.center) / system.scale for end in ends)
        return chosen, (self._matrix[chosen], self._rest[chosen], low, high)

    def solve(self, active: Bools, weights: Floats | None = None) -> ElasticPoint | None:
        """Minimise the weighted give of the active linear limits; None if the solver fails.

        A weight of infinity means that the limit does not give.
        """
        system = self._system
        chosen, program = self._asked(active)
        n, w = system.n, np.ones(len(chosen)) if weights is None else weights[chosen]
        answer = elastic_program(*program, w)
        if answer.status != 0:
            return None
        give, weight = np.zeros(len(active)), np.zeros(len(active))
        give[chosen] = answer.x[n:]
        weight[chosen] = -answer.ineqlin.marginals if len(chosen) else []
        return ElasticPoint(system.center + system.scale * answer.x[:n], give, weight)

    def proves_conflict(self, active: Bools, point: ElasticPoint) -> bool:
        """Whether the multipliers of a solution prove that the limits cannot hold together."""
        chosen, program = self._asked(active)
        return certified(*program, point.weight[chosen])

    def extreme(self, active: Bools, quantity: int, side: int) -> float:
        """Largest (side 1) or smallest value of a linear quantity within the active limits.

        Infinite if nothing limits it, NaN if the limits cannot hold together.
        """
        system = self._system
        _, (a, b, low, high) = self._asked(active)
        gradient = system.linear[quantity] * system.scale
        cost = -side * gradient / system.size[quantity]
        bounds = np.column_stack((low, high))
        for presolve in (True, False):  # presolve may not tell unbounded from impossible
            answer = linear_program(cost, a, b, bounds, presolve)
            if answer.status != 4:
                break
        if answer.status == 3:
            return side * np.inf
        if answer.status != 0:
            return np.nan
        at_center = system.linear[quantity] @ system.center + system.offset[quantity]
        return float(at_center + gradient @ answer.x)


def elastic_program(a: Floats, b: Floats, low: Floats, high: Floats, weights: Floats) -> Any:
    """Minimise the weighted give s >= 0 of ``a z - s <= b`` with z between low and high.

    Rows with an infinite weight do not give. Returns what SciPy returns for (z, s).
    """
    k, stiff = len(b), np.isinf(weights)
    cost = np.concatenate((np.zeros(a.shape[1]), np.where(stiff, 0.0, weights)))
    most = np.where(stiff, 0.0, np.inf)
    bounds = [*zip(low, high, strict=True), *((0.0, end) for end in most)]
    return linear_program(cost, np.hstack((a, -np.eye(k))), b, bounds)


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


class NonlinearElastic:
    """Elastic programs over the limits of a system, solved by IPOPT.

    One compiled solver serves all subsets of limits. It has one row for each quantity q (and each
    guard): ``a_q <= q / sigma_q + s_q - t_q <= b_q``, s and t the give of its two limits. A limit
    that is dropped is infinite, one that does not give has s = 0. Bounds may give as rows do only
    with ``bounds_give``; without it the problems are smaller.
    """

    def __init__(self, system: LimitSystem, bounds_give: bool = False) -> None:
        n = system.n
        rows = np.arange(len(system.quantities) + len(system.guards))
        self._used = rows[bounds_give | (rows < system.m) | (rows >= len(system.quantities))]
        self._size = system.size
        kind: Any = ca.MX if system.safe.is_a("MXFunction") else ca.SX
        z, start = kind.sym("z", n), kind.sym("z0", n)
        below, above, w_below, w_above = (kind.sym(name, len(self._used)) for name in "stuv")
        x = ca.DM(system.center) + ca.DM(system.scale) * z
        values = (system.safe(x) / ca.DM(self._size))[self._used.tolist()]
        nlp = {
            "x": ca.vertcat(z, below, above),
            "p": ca.vertcat(start, w_below, w_above),
            "f": ca.dot(w_below, below) + ca.dot(w_above, above) + _NEAR * ca.sumsqr(z - start),
            "g": kind(values) + below - above,
        }
        options: Any = {
            "ipopt": _IPOPT,
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "calc_lam_p": False,
        }
        self._solver = ca.nlpsol("elastic", "ipopt", nlp, options)
        one_thread.look_again()

    def solve(
        self, system: LimitSystem, active: Bools, start: Floats, weights: Floats
    ) -> ElasticPoint | None:
        """Minimise the weighted give of the active limits from ``start``; None on failure.

        The system is that of the solver, perhaps with other limits. A weight of infinity means
        that the limit does not give; bounds need that unless they may give.
        """
        n, used = system.n, self._used
        box, rows, cost = self._asked(system, active, weights)
        z_low, z_high = (box - system.center) / system.scale
        z0 = np.clip((start - system.center) / system.scale, z_low, z_high)
        answer = self._solver(
            x0=np.concatenate((z0, np.zeros(2 * len(used)))),
            p=np.concatenate((z0, cost[:, used].ravel())),
            lbx=np.concatenate((z_low, np.zeros(2 * len(used)))),
            ubx=np.concatenate((z_high, np.where(cost[:, used] > 0, np.inf, 0.0).ravel())),
            lbg=rows[0, used],
            ubg=rows[1, used],
        )
        solution = np.asarray(answer["x"], dtype=float).ravel()
        if not np.all(np.isfinite(solution)):
            return None
        x = np.clip(system.center + system.scale * solution[:n], *box)
        moves, pull = np.zeros((2, len(self._size))), np.zeros(len(self._size))
        moves[:, used] = np.maximum(solution[n:].reshape(2, len(used)), 0.0)
        pull[used] = np.asarray(answer["lam_g"], dtype=float).ravel()
        pull[system.m : system.m + n] += np.asarray(answer["lam_x"], dtype=float).ravel()[:n]
        guards = np.zeros(len(self._size))  # the largest multiplier of the guards of a row
        for g, (row, _) in enumerate(system.guards, start=len(system.quantities)):
            guards[row] = max(guards[row], abs(pull[g]))
        q, soft = system.quantity, active & ~system.of_kind(LimitKind.SIGN)
        give = np.where(soft, moves[(system.side > 0).astype(int), q], 0.0)
        weight = np.where(soft, np.maximum(system.side * pull[q], guards[q]), 0.0)
        return ElasticPoint(x, give, weight)

    def _asked(
        self, system: LimitSystem, active: Bools, weights: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return what the active limits ask for, in the numbering of the solver.

        Bounds (2, n) of the variables; limits (2, quantities and guards), below and above; the cost
        of their give, 0 if they do not. A bound that does not give becomes one of the variable;
        guards are asked for with their rows; limits that are very near to each other become
        equations.
        """
        box = np.array(system.box(active, LimitKind.SIGN))
        rows = np.repeat([[-np.inf], [np.inf]], len(self._size), axis=1)
        cost = np.zeros(rows.shape)
        q, above, stiff = system.quantity, (system.side > 0).astype(int), np.isinf(weights)
        soft = active & ~system.of_kind(LimitKind.SIGN)
        fixed = soft & stiff & system.of_kind(LimitKind.BOUND)
        box[above[fixed], q[fixed] - system.m] = system.value[fixed]
        rest = soft & ~fixed
        rows[above[rest], q[rest]] = system.value[rest] / self._size[q[rest]]
        cost[above[rest], q[rest]] = np.where(stiff, 0.0, weights)[rest]
        asked = set(q[soft].tolist())
        for g, (row, guard) in enumerate(system.guards, start=len(system.quantities)):
            if row in asked:
                rows[:, g] = np.array((guard.lower, guard.upper)) / self._size[g]
                cost[:, g] = _GUARD
        tight = (rows[1] - rows[0] < _TIGHT) & (rows[1] > rows[0])
        rows[:, tight] = (rows[0, tight] + rows[1, tight]) / 2
        return box, rows, cost
