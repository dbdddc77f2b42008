r"""The last rung for reduced models: IPOPT over all variables, the metric on the independents only.

With x = (u, v) and the point u_0 to repair,

.. math:: \min_{u, v} \tfrac12 |L^{-1} (u - u_0)|^2 \quad\text{s.t.}\quad h(u, v) = c, \;
          a \le r(u, v) \le b , \; l \le (u, v) \le m .

Rows and their derivatives stay as sparse as they are, and IPOPT may leave the surface of the
equations on its way: it finds answers where Newton's method for v(u) has none. What it finds is
certified like any answer, by the solution of the equations at its u.

IPOPT: Waechter and Biegler 2006, doi:10.1007/s10107-004-0559-y.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.model.structure.reduced import layout_of
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.sqp import Effort, Outcome, SolverAnswer

_OPTIONS = {
    "tol": 1e-9,
    "constr_viol_tol": 1e-10,
    "acceptable_tol": 1e-6,
    "bound_relax_factor": 0.0,
    "print_level": 0,
    "sb": "yes",
}


class FullSpaceIpopt:
    """IPOPT for all repairs of a reduced feasible set."""

    name = "ipopt"

    def __init__(self, feasible_set: FeasibleSet, max_iterations: int) -> None:
        dependents, whole = feasible_set.dependents, feasible_set.whole
        assert dependents is not None
        assert whole is not None
        self._dependents, self._whole = dependents, whole
        self._layout = layout_of(whole, dependents)
        n = feasible_set.n
        x, g = whole.system.symbolic
        own = dependents.split.independent
        p = type(x).sym("p", n + n * n)
        whiten = ca.reshape(p[n:], n, n)
        distance = ca.sumsqr(ca.mtimes(whiten, x[own.tolist()] - p[:n])) / 2
        options: Any = {
            "ipopt": {**_OPTIONS, "max_iter": max_iterations},
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
        }
        self._solver = ca.nlpsol(
            "repair", "ipopt", {"x": x, "p": p, "f": distance, "g": g}, options
        )
        one_thread.look_again()

    def solve(
        self, problem: Problem, limits: RowLimits, z: Floats, _effort: Effort | None = None
    ) -> SolverAnswer:
        """Minimise the distance subject to the limits of the rows, starting from ``z``."""
        dependents, own = self._dependents, self._dependents.split.independent
        distribution = problem.metric.distribution
        inverse = distribution.inverse_factor / distribution.sigma
        inverse = np.diag(inverse) if inverse.ndim == 1 else inverse
        low, high, row_low, row_high = self._limits(limits)
        first = dependents.full(problem.x + problem.metric.L @ z)
        if not np.all(np.isfinite(first)):
            first = dependents.anchor
        answer = self._solver(
            x0=np.clip(first, low, high),
            p=np.concatenate((problem.x, inverse.reshape(-1, order="F"))),
            lbx=low, ubx=high, lbg=row_low, ubg=row_high,
        )  # fmt: skip
        stats = self._solver.stats()
        x, on_x, on_g = (
            np.asarray(answer[key], dtype=float).reshape(-1) for key in ("x", "lam_x", "lam_g")
        )
        if not np.all(np.isfinite(x)):
            return SolverAnswer(Outcome.FAILED, np.zeros_like(z), np.zeros_like(problem.norms), 0)
        outcome = {
            "Solve_Succeeded": Outcome.CONVERGED,
            "Solved_To_Acceptable_Level": Outcome.CONVERGED,
            "Infeasible_Problem_Detected": Outcome.INFEASIBLE,
        }.get(str(stats["return_status"]), Outcome.FAILED)
        layout = self._layout
        of_rows = np.concatenate(
            (
                on_x[own[layout.bounded]],
                on_g[layout.linear],
                on_x[layout.limited],
                on_g[layout.curved],
            )
        )
        displacement = distribution.whiten(x[own] - problem.x)
        multipliers = of_rows * problem.norms
        return SolverAnswer(outcome, displacement, multipliers, int(stats["iter_count"]))

    def _limits(self, limits: RowLimits) -> tuple[Floats, Floats, Floats, Floats]:
        """Limits of all variables (N,) and all rows (M,), given those of the reduced rows (m,)."""
        layout, whole, own = self._layout, self._whole.limits, self._dependents.split.independent
        ends = np.cumsum([len(layout.bounded), len(layout.linear), len(layout.limited)])
        middle, anchor = whole.middle, self._dependents.anchor
        held = np.ones(len(whole.low), dtype=bool)
        held[own], held[self._dependents.columns] = False, False
        sides = []
        for side, free in zip(limits, (-np.inf, np.inf), strict=True):
            variables = np.full(len(whole.low), free)
            rows = np.where(whole.equality, middle, free)  # those of settled variables hold
            bounds, linear, limited, curved = np.split(side, ends)
            variables[own[layout.bounded]], variables[layout.limited] = bounds, limited
            variables[held] = anchor[held]
            rows[layout.linear], rows[layout.curved] = linear, curved
            sides.append((variables, rows))
        (low, row_low), (high, row_high) = sides
        return low, high, row_low, row_high
