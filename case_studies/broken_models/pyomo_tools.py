"""Pyomo's tools on the same models: ``python -m case_studies.broken_models.pyomo_tools``.

Compares what `archeng.diagnose` is made of with `pyomo.contrib.fbbt` (interval arithmetic),
`pyomo.contrib.iis.mis` (minimal infeasible sets, here with CasADi's IPOPT) and
`pyomo.contrib.incidence_analysis` (structural rank). The figures are in README.md.
"""

from __future__ import annotations

import logging
import math
import re
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.contrib.fbbt.fbbt import fbbt
from pyomo.contrib.iis.mis import compute_infeasibility_explanation
from pyomo.contrib.incidence_analysis import IncidenceGraphInterface
from pyomo.opt import SolverResults, SolverStatus, TerminationCondition
from pyomo.repn.plugins.nl_writer import NLWriter

from archeng import Model
from archeng.diagnose.findings import dependent
from archeng.diagnose.graph import Graph
from archeng.diagnose.intervals import box_and_rows, proves_conflict
from archeng.diagnose.limits import LimitSystem, system_of
from case_studies.broken_models import MODELS, planting

_OPERATIONS: dict[int, Callable[..., Any]] = {
    ca.OP_ASSIGN: lambda a: a, ca.OP_NEG: lambda a: -a, ca.OP_TWICE: lambda a: 2 * a,
    ca.OP_SQ: lambda a: a**2, ca.OP_INV: lambda a: 1 / a, ca.OP_FABS: abs,
    ca.OP_SQRT: pyo.sqrt, ca.OP_EXP: pyo.exp, ca.OP_LOG: pyo.log, ca.OP_SIN: pyo.sin,
    ca.OP_COS: pyo.cos, ca.OP_TAN: pyo.tan, ca.OP_ATAN: pyo.atan, ca.OP_TANH: pyo.tanh,
    ca.OP_ASIN: pyo.asin, ca.OP_ACOS: pyo.acos, ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b, ca.OP_MUL: lambda a, b: a * b, ca.OP_DIV: lambda a, b: a / b,
    ca.OP_POW: lambda a, b: a**b, ca.OP_CONSTPOW: lambda a, b: a**b,
}  # fmt: skip
_TRIALS = 200  # rows of each size that hold at a point and must not be called impossible


def system(model: Model) -> LimitSystem:
    """Return a model as limits."""
    return system_of(model, np.random.default_rng(0))


def expression(graph: Graph, x: Any) -> Any:
    """Return a row as a Pyomo expression; KeyError for an operation that Pyomo has not."""
    return graph.evaluated(x.__getitem__, float, lambda op, inputs: _OPERATIONS[op](*inputs))[-1]


def as_pyomo(limits: LimitSystem) -> Any:
    """Return a Pyomo model with the variables ``x[i]`` and the constraints ``row[j]``."""
    model = pyo.ConcreteModel()
    box, rows = box_and_rows(limits, limits.everything)

    def bounds(_: Any, i: int) -> Any:
        return tuple(end if math.isfinite(end) else None for end in box[i])

    model.x = pyo.Var(range(limits.n), bounds=bounds, initialize=lambda _, i: limits.center[i])
    model.row = pyo.Constraint(range(limits.m))
    for j, graph, (low, high) in rows:
        body = expression(graph, model.x)
        ends = tuple(end if math.isfinite(end) else None for end in (low, high))
        if not isinstance(body, float):
            model.row[j] = body == low if low == high else (ends[0], body, ends[1])
    model.objective = pyo.Objective(expr=0.0)
    return model


def fbbt_proves(model: Any, **options: Any) -> bool:
    """Whether bound tightening finds a contradiction."""
    try:
        fbbt(model, **options)
    except InfeasibleConstraintException:
        return True
    return False


def compare_proofs(models: dict[str, Model], title: str) -> None:
    """Count the models that contraction, without splitting, calls impossible."""
    counts, seconds, untold = np.zeros(3, dtype=int), np.zeros(2), 0
    for model in models.values():
        limits = system(model)
        begin = time.process_time()
        counts[0] += proves_conflict(limits, limits.everything)
        seconds[0] += time.process_time() - begin
        try:
            first, second = as_pyomo(limits), as_pyomo(limits)
        except KeyError:
            untold += 1
            continue
        begin = time.process_time()
        counts[1] += fbbt_proves(first)
        seconds[1] += time.process_time() - begin
        counts[2] += fbbt_proves(second, feasibility_tol=0.0)
    print(f"{title}: {len(models)} models, called impossible by archeng {counts[0]}, by fbbt "
          f"{counts[1]}, by fbbt without tolerance {counts[2]} ({untold} not expressible); "
          f"seconds {seconds[0]:.2f} and {seconds[1]:.2f}")  # fmt: skip


def compare_rounding(size: float, rng: np.random.Generator) -> None:
    """Count rows of two products that hold exactly at a point and are called impossible."""
    counts = np.zeros(2, dtype=int)
    for _ in range(_TRIALS):
        model, point = Model("rounding"), (rng.uniform(0.1, 1, 3) * math.sqrt(size)).tolist()
        c = rng.uniform(-1, 1, 2).tolist()
        x = [model.variable(f"x{i}", lower=v, upper=math.nextafter(v, math.inf))
             for i, v in enumerate(point)]  # fmt: skip
        a, b, d = map(Fraction, point)
        exact = Fraction(c[0]) * a * b + Fraction(c[1]) * d * d
        limit = float(exact)
        limit = limit if Fraction(limit) <= exact else math.nextafter(limit, -math.inf)
        above = math.nextafter(limit, math.inf)
        model.subject_to(c[0] * x[0] * x[1] + c[1] * x[2] ** 2, lower=limit, upper=above)
        limits = system(model)
        counts += (proves_conflict(limits, limits.everything), fbbt_proves(as_pyomo(limits)))
    print(f"rows of about {size:g} that hold: {_TRIALS}, called impossible by archeng {counts[0]}, "
          f"by fbbt {counts[1]}")  # fmt: skip


class CasadiIpopt:
    """CasADi's IPOPT as a Pyomo solver: Pyomo needs an executable that archeng has not."""

    def available(self) -> bool:
        """Return True: it comes with CasADi."""
        return True

    def solve(self, model: Any, tee: bool = False) -> SolverResults:
        """Solve from the values of the variables, and store the solution in them."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.nl"
            with path.open("w", newline="") as stream:
                written = NLWriter().write(model, stream, linear_presolve=False)
            nlp = ca.NlpBuilder()
            nlp.import_nl(str(path))
        quiet = {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False,
                 "error_on_fail": False, "show_eval_warnings": False}  # fmt: skip
        solver = ca.nlpsol("mis", "ipopt", nlp, quiet)
        x0 = [v.value or 0.0 for v in written.variables]
        answer = solver(x0=x0, lbx=nlp.x_lb, ubx=nlp.x_ub, lbg=nlp.g_lb, ubg=nlp.g_ub)
        for variable, value in zip(written.variables, answer["x"].full().ravel(), strict=True):
            variable.set_value(float(value), skip_validation=True)
        good = ("Solve_Succeeded", "Solved_To_Acceptable_Level")
        condition = TerminationCondition
        results = SolverResults()
        results.solver.status = SolverStatus.ok
        results.solver.termination_condition = (
            condition.optimal if solver.stats()["return_status"] in good else condition.infeasible
        )
        return results


def compare_minimal_sets() -> None:
    """Count the broken models whose planted conflict `mis` names, and nothing else."""
    named, clean, begin = 0, 0, time.process_time()
    for broken in MODELS.values():
        limits = system(broken.build(True))
        messages: list[str] = []
        log = SimpleNamespace(info=messages.append)
        compute_infeasibility_explanation(as_pyomo(limits), CasadiIpopt(), logger=log)
        members = messages[-1].partition("Constraints / bounds in MIS:")[2]
        members = members.partition("Constraints / bounds in guards")[0]
        labels = {limits.quantities[int(j)].name for j in re.findall(r": row\[(\d+)\]", members)}
        for end, i in re.findall(r"(lb|ub) of var x\[(\d+)\]", members):
            sign, ends = (">=", limits.lower) if end == "lb" else ("<=", limits.upper)
            labels.add(f"{limits.names[int(i)]} {sign} {ends[int(i)]:g} (bound)")
        named += broken.planted <= labels
        clean += bool(labels) and labels <= broken.planted | broken.partners
    print(f"mis: planted conflict named in {named} of {len(MODELS)}, and nothing innocent in "
          f"{clean}; {time.process_time() - begin:.1f} s")  # fmt: skip


def compare_ranks() -> None:
    """Count healthy models in which an equality that is there twice is seen as dependent."""
    counts = np.zeros(3, dtype=int)
    for model in {**planting.models(), **{n: b.build(False) for n, b in MODELS.items()}}.values():
        equalities = [c for c in model.constraints if any(c.equalities())]
        if not equalities or not all(system(model).graphs):
            continue
        row = equalities[0].rows[0]
        model.subject_to(2 * row.expression == 2 * row.lower, name="twice")
        limits = system(model)
        point = limits.sample(1, np.random.default_rng(1))[0]
        last = [f.name for f in dependent(limits, point, range(limits.n))]
        equations = pyo.ConcreteModel()
        equations.x, equations.row = pyo.Var(range(limits.n)), pyo.ConstraintList()
        rows = [j for j in range(limits.m) if limits.quantities[j].equality]
        for j in rows:
            equations.row.add(expression(limits.graphs[j], equations.x) == 0)  # type: ignore[arg-type]
        rank = len(IncidenceGraphInterface(equations).maximum_matching())
        counts += (1, "twice" in last, rank < len(rows))
    print(f"equality written twice: {counts[0]} models, seen as dependent by archeng {counts[1]}, "
          f"by incidence analysis {counts[2]}")  # fmt: skip


def main() -> None:
    """Print all comparisons."""
    logging.getLogger("pyomo").setLevel(logging.CRITICAL)
    broken = {name: b.build(True) for name, b in MODELS.items()}
    for kind in ("pair", "cycle"):
        for seed, (name, model) in enumerate(planting.models().items()):
            if planting.plant(model, kind, seed):
                broken[f"{kind} {name}"] = model
    compare_proofs(broken, "broken")
    healthy = {name: b.build(False) for name, b in MODELS.items()} | planting.models()
    compare_proofs(healthy, "healthy")
    rng = np.random.default_rng(1)
    for size in (1.0, 1e6, 1e9, 1e12):
        compare_rounding(size, rng)
    compare_minimal_sets()
    compare_ranks()


if __name__ == "__main__":
    main()
