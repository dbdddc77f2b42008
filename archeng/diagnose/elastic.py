r"""Elastic nonlinear programs with IPOPT: local answers from a given start.

.. math:: \min_{z, s, t \ge 0} w^T s + w^T t + \epsilon |z - z_0|^2 \quad\text{s.t.}\quad
          a_q \le q(c + D z) / \sigma_q + s_q - t_q \le b_q ,

one row for each quantity q (and each guard), s and t the give of its two limits. One compiled
solver serves all subsets of limits: a limit that is dropped is infinite, one that does not give
has s = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.diagnose.linear import Elastic, sign_box
from archeng.diagnose.system import Bools, Kind, Limit, System
from archeng.model.variable import Floats

_NEAR = 1e-12  # weight of the distance to the start
_TIGHT = 1e-9  # limits nearer to each other than this are an equation for IPOPT
_GUARD = 10.0  # weight of what makes a row undefined
_OPTIONS = {
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


class ElasticProgram:
    """Elastic problems over all limits of a system, solved by IPOPT.

    Parameters
    ----------
    system : System
    bounds_give : bool
        Whether bounds may give as rows do. Without that the problems are smaller.
    """

    def __init__(self, system: System, bounds_give: bool = False) -> None:
        self._system = system
        n = system.n
        self._total = len(system.quantities) + len(system.guards)
        rows = np.arange(self._total)
        inner = bounds_give | (rows < system.m) | (rows >= len(system.quantities))
        self._used = [int(q) for q in rows[inner]]
        total = len(self._used)
        self._size = np.concatenate((system.size, system.guard_size))
        kind: Any = ca.MX if system.safe.is_a("MXFunction") else ca.SX
        z, start = kind.sym("z", n), kind.sym("z0", n)
        below, above = kind.sym("s", total), kind.sym("t", total)
        w_below, w_above = kind.sym("u", total), kind.sym("v", total)
        x = ca.DM(system.center) + ca.DM(system.scale) * z
        values = (system.safe(x) / ca.DM(self._size))[self._used]
        nlp = {
            "x": ca.vertcat(z, below, above),
            "p": ca.vertcat(start, w_below, w_above),
            "f": ca.dot(w_below, below) + ca.dot(w_above, above) + _NEAR * ca.sumsqr(z - start),
            "g": kind(values) + below - above,
        }
        options: Any = {
            "ipopt": _OPTIONS,
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "calc_lam_p": False,
        }
        self._solver = ca.nlpsol("elastic", "ipopt", nlp, options)
        one_thread.look_again()

    def solve(
        self,
        active: Bools,
        start: Floats,
        weights: Floats | None = None,
        limits: Sequence[Limit] | None = None,
    ) -> Elastic | None:
        """Minimise the weighted give of the active limits from ``start``; None on failure.

        Parameters
        ----------
        active : ndarray of bool, shape (limits,)
        start : ndarray, shape (n,)
        weights : ndarray, shape (limits,), optional
            Cost of each limit's give; infinity means that it does not give. Default 1. Bounds
            need infinity unless they may give.
        limits : sequence of Limit, optional
            Other limits in the place of those of the system.
        """
        system, n = self._system, self._system.n
        limits = system.limits if limits is None else limits
        soft = [k for k in map(int, np.flatnonzero(active)) if limits[k].kind is not Kind.SIGN]
        w = np.ones(len(limits)) if weights is None else weights
        demand = _Demand.nothing(self._total, *sign_box(limits, active, system))
        for k in soft:
            demand.add(limits[k], float(w[k]), self._size, system.m)
        self._guard({limits[k].quantity for k in soft}, demand)
        demand.join_tight()
        low, high = ((side - system.center) / system.scale for side in (demand.low, demand.high))
        z0 = np.clip((start - system.center) / system.scale, low, high)
        used = self._used
        most = np.where(demand.gives[:, used], np.inf, 0.0).ravel()
        answer = self._solver(
            x0=np.concatenate((z0, np.zeros(2 * len(used)))),
            p=np.concatenate((z0, demand.cost[:, used].ravel())),
            lbx=np.concatenate((low, np.zeros(2 * len(used)))),
            ubx=np.concatenate((high, most)),
            lbg=demand.lower[used],
            ubg=demand.upper[used],
        )
        solution = np.asarray(answer["x"], dtype=float).ravel()
        if not np.all(np.isfinite(solution)):
            return None
        x = np.clip(system.center + system.scale * solution[:n], demand.low, demand.high)
        moves, pull = np.zeros((2, self._total)), np.zeros(self._total)
        moves[:, used] = np.maximum(solution[n:].reshape(2, len(used)), 0.0)
        pull[used] = np.asarray(answer["lam_g"], dtype=float).ravel()
        pull[system.m : system.m + n] += np.asarray(answer["lam_x"], dtype=float).ravel()[:n]
        give, weight = np.zeros(len(limits)), np.zeros(len(limits))
        for k in soft:
            q, side = limits[k].quantity, limits[k].side
            give[k] = moves[int(side > 0), q]
            weight[k] = max(side * pull[q], self._guard_pull(q, pull), 0.0)
        return Elastic(x, give, weight)

    def _guard(self, asked: set[int], demand: _Demand) -> None:
        """Switch on the guards of the rows that are asked for."""
        for g, (row, guard) in enumerate(self._system.guards):
            if row in asked:
                q = len(self._system.quantities) + g
                demand.lower[q] = guard.lower / self._size[q]
                demand.upper[q] = guard.upper / self._size[q]
                demand.cost[:, q], demand.gives[:, q] = _GUARD, True

    def _guard_pull(self, row: int, pull: Floats) -> float:
        """Largest multiplier of the guards of a row."""
        first = len(self._system.quantities)
        found = [abs(pull[first + g]) for g, (r, _) in enumerate(self._system.guards) if r == row]
        return max(found, default=0.0)


@dataclass(eq=False)
class _Demand:
    """What one elastic problem asks for, in the numbering of the solver.

    ``lower``, ``upper`` (quantities and guards), ``low``, ``high`` (variables); ``cost`` and
    ``gives`` have one row for the lower and one for the upper limits.
    """

    lower: Floats
    upper: Floats
    low: Floats
    high: Floats
    cost: Floats
    gives: Bools

    @classmethod
    def nothing(cls, total: int, low: Floats, high: Floats) -> _Demand:
        """Ask for nothing but the signs of the variables."""
        lower, upper = np.full(total, -np.inf), np.full(total, np.inf)
        return cls(lower, upper, low, high, np.zeros((2, total)), np.zeros((2, total), dtype=bool))

    def add(self, limit: Limit, weight: float, size: Floats, m: int) -> None:
        """Ask for a limit; a bound that does not give becomes one of the variable."""
        q, above, stiff = limit.quantity, int(limit.side > 0), bool(np.isinf(weight))
        if stiff and limit.kind is Kind.BOUND:
            (self.high if above else self.low)[q - m] = limit.value
            return
        (self.upper if above else self.lower)[q] = limit.value / size[q]
        self.cost[above, q] = 0.0 if stiff else weight
        self.gives[above, q] = not stiff

    def join_tight(self) -> None:
        """Turn limits that are very near to each other into equations."""
        tight = (self.upper - self.lower < _TIGHT) & (self.upper > self.lower)
        self.lower[tight] = self.upper[tight] = (self.lower[tight] + self.upper[tight]) / 2
