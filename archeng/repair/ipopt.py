"""The rung that is always there: IPOPT on the whitened repair problem, exact derivatives.

One compiled solver serves both problems and all points: the point, the metric and the row
scale are parameters, the limits are arguments of the call. First and second derivatives are
composed from those of the rows, J L and L^T H L, so that sparse rows stay cheap; if only the
diagonal of L is given, they stay sparse.

IPOPT: A. Waechter, L. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, Mathematical Programming 106, 25-57, 2006,
doi:10.1007/s10107-004-0559-y.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.sqp import Effort, Outcome, SolverAnswer

# Tolerances in standard deviations: the rows are scaled. "sb" suppresses the banner.
_OPTIONS = {
    "tol": 1e-9,
    "constr_viol_tol": 1e-10,
    "acceptable_tol": 1e-6,
    "acceptable_constr_viol_tol": 1e-9,
    "bound_relax_factor": 0.0,
    "print_level": 0,
    "sb": "yes",
}


class Ipopt:
    """IPOPT for all repairs of a feasible set."""

    name = "ipopt"

    def __init__(self, feasible_set: FeasibleSet, max_iterations: int) -> None:
        self._set, self._max_iterations = feasible_set, max_iterations
        self._solvers: dict[int, Any] = {}

    def _solver(self, entries: int) -> Any:
        """Return the solver for metrics whose factor has so many entries: n^2, or a diagonal."""
        if entries not in self._solvers:
            self._solvers[entries] = self._made(entries)
            one_thread.look_again()
        return self._solvers[entries]

    def _made(self, entries: int) -> Any:
        fs = self._set
        n, m, m_n = fs.n, fs.m, fs.n_nonlinear
        z, p = ca.MX.sym("z", n), ca.MX.sym("p", n + entries + m)
        weight, multipliers = ca.MX.sym("weight"), ca.MX.sym("multipliers", m)
        x, factor, scale = p[:n], p[n : n + entries], p[n + entries :]
        diagonal = entries == n
        L = ca.diag(factor) if diagonal else ca.reshape(factor, n, n)
        y = x + L @ z
        rows = fs.all_rows.function(y)
        constant = ca.DM(fs.constant_jacobian)
        gradients = (ca.sparsify(constant) if diagonal else constant) @ L
        hessian = weight * ca.MX.eye(n)
        if m_n:
            _, jacobian = fs.nonlinear_rows_and_jacobian.function(y)
            gradients = ca.vertcat(gradients, ca.project(jacobian, fs.jacobian_sparsity) @ L)
            curvature = fs.nonlinear_hessian.function(y, (multipliers * scale)[m - m_n :])
            hessian += L.T @ ca.project(curvature, fs.hessian_sparsity) @ L
        g = rows * scale
        if diagonal:
            scaled = ca.diag(scale) @ gradients
        else:
            scaled = ca.densify(ca.repmat(scale, 1, n) * gradients)
        jac_g = ca.Function(
            "nlp_jac_g",
            [z, p],
            [g, scaled],
            ["x", "p"],
            ["g", "jac_g_x"],
        )
        hess_lag = ca.Function(
            "nlp_hess_l",
            [z, p, weight, multipliers],
            [ca.triu(hessian)],
            ["x", "p", "lam_f", "lam_g"],
            ["triu_hess_gamma_x_x"],
        )
        options: Any = {
            "ipopt": {**_OPTIONS, "max_iter": self._max_iterations},
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            "calc_lam_p": False,
            "calc_lam_x": False,
            "jac_g": jac_g,
            "hess_lag": hess_lag,
        }
        nlp = {"x": z, "p": p, "f": ca.dot(z, z) / 2, "g": g}
        return ca.nlpsol("repair", "ipopt", nlp, options)

    def solve(
        self, problem: Problem, limits: RowLimits, z: Floats, _effort: Effort | None = None
    ) -> SolverAnswer:
        """Minimise |z|^2 / 2 subject to the limits of the rows, starting from ``z``.

        It takes the effort that it was made with.
        """
        scale = 1.0 / problem.norms
        factor = problem.metric.factor.reshape(-1, order="F")
        solver = self._solver(len(factor))
        p = np.concatenate((problem.x, factor, scale))
        result = solver(x0=z, p=p, lbg=limits[0] * scale, ubg=limits[1] * scale)
        stats = solver.stats()
        solution = np.asarray(result["x"], dtype=float).reshape(-1)
        multipliers = np.asarray(result["lam_g"], dtype=float).reshape(-1)
        status = str(stats["return_status"])
        outcome = {
            "Solve_Succeeded": Outcome.CONVERGED,
            "Solved_To_Acceptable_Level": Outcome.CONVERGED,
            "Infeasible_Problem_Detected": Outcome.INFEASIBLE,
        }.get(status, Outcome.FAILED)
        if not np.all(np.isfinite(solution)):
            return SolverAnswer(Outcome.FAILED, np.zeros_like(z), np.zeros_like(scale), 0)
        return SolverAnswer(outcome, solution, multipliers, int(stats["iter_count"]))
