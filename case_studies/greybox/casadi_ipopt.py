"""``SolverFactory("casadi_ipopt")``: the IPOPT that CasADi brings along, as a solver of Pyomo.

Pyomo's trust-region solver needs a solver for its subproblems, and Pyomo's own way to IPOPT an
executable that cannot be had everywhere. This is the same method at its default settings.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from pyomo.core.base.symbol_map import SymbolMap
from pyomo.core.base.var import Var
from pyomo.opt import (
    Solution,
    SolutionStatus,
    SolverFactory,
    SolverResults,
    SolverStatus,
    TerminationCondition,
)

import archeng
from archeng.model import Model

NAME = "casadi_ipopt"


class CasadiIpopt:
    """Solves a Pyomo model without black boxes; what `SolverFactory` returns."""

    def __init__(self, **options: Any) -> None:
        """Take nothing: settings are IPOPT's own."""

    def available(self, exception_flag: bool = True) -> bool:
        """Return True: CasADi has IPOPT in it."""
        return True

    def solve(self, model: Any, **usual: Any) -> SolverResults:
        """Solve from the values of the variables; the options of other solvers mean nothing."""
        imported = archeng.from_pyomo(model, objective=True)
        x, good = minimum(imported)
        results = SolverResults()
        results.solver.status = SolverStatus.ok if good else SolverStatus.warning
        end = TerminationCondition.optimal if good else TerminationCondition.noSolution
        results.solver.termination_condition = end
        results.solution.insert(_solution(model, imported.element_names(), x, results))
        return results


def minimum(model: Model, start: Any = None) -> tuple[Any, bool]:
    """Return where IPOPT ends (n,), and whether that is a local minimum.

    ``start`` (n,) is by default that of the model.
    """
    rows = [row for c in model.constraints for row in c.rows]
    sign = -1.0 if model.objective_sense == "maximize" else 1.0
    problem = {
        "x": model.symbols,
        "f": sign * model.objective,
        "g": ca.vertcat(ca.SX(0, 1), *(row.expression for row in rows)),
    }
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}
    solver = ca.nlpsol("solver", "ipopt", problem, quiet)
    first, lower, upper = (
        np.concatenate([getattr(v, key) for v in model.variables])
        for key in ("start", "lower", "upper")
    )
    first = first if start is None else np.asarray(start, dtype=float)
    answer = solver(
        x0=np.where(np.isfinite(first), first, 0.0),
        lbx=lower,
        ubx=upper,
        lbg=[row.lower for row in rows],
        ubg=[row.upper for row in rows],
    )
    return answer["x"].full().reshape(-1), bool(solver.stats()["success"])


def _solution(model: Any, names: list[str], x: Any, results: Any) -> Solution:
    """Return the values in the form in which Pyomo loads them."""
    solution, symbols = Solution(), SymbolMap()
    solution.status = SolutionStatus.optimal
    variables = {v.name: v for v in model.component_data_objects(Var, active=None)}
    for name, value in zip(names, x.tolist(), strict=True):
        symbols.addSymbol(variables[name], name)
        solution.variable[name] = {"Value": value}
    results._smap = symbols
    return solution


def register() -> None:
    """Make ``SolverFactory("casadi_ipopt")`` known to Pyomo."""
    if NAME not in SolverFactory:
        SolverFactory.register(NAME, doc="IPOPT as it comes with CasADi")(CasadiIpopt)
