"""Problems whose formulas are known here and hidden from archeng as far as the case says.

Five suites: ``textbook`` (engineering problems, all constraints simulated), ``mixed`` (CEC 2006,
half of the constraints simulated), ``cec2006`` and ``hock_schittkowski`` (all constraints
explicit), ``greybox`` (objective and constraints are formulas of outputs).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import archeng
from archeng.model import Model
from case_studies import cec2006, engineering, hock_schittkowski
from case_studies.cec2006.g10_g15 import G14_ENERGY
from case_studies.cec2006.suite import definition as cec_definition
from case_studies.claims import cooling_chain
from case_studies.claims.definition import Case, Floats, Formulas, Limits, formulas_of
from case_studies.engineering.suite import definition as engineering_definition
from case_studies.greybox import suite as composites
from case_studies.greybox.referee import EXACT, whole
from case_studies.mixed.problems import NAMES as MIXED
from case_studies.mixed.problems import half_simulated

TEXTBOOK = ("welded_beam", "spring", "pressure_vessel", "speed_reducer", "cantilever_stepped")
HS_TOLERANCE = 1e-6
"""Of equalities of the Hock-Schittkowski problems."""
NOT_CEC2006 = ("g02", "g17", "g20")
"""g02 has hundreds of local optima, g17 jumps (no work for IPOPT), g20 has no feasible point."""


def names(suite: str) -> list[str]:
    """Names of the problems of a suite."""
    if suite == "textbook":
        return [*TEXTBOOK, cooling_chain.NAME]
    if suite == "mixed":
        return list(MIXED)
    if suite == "cec2006":
        return [name for name in cec2006.names() if name not in NOT_CEC2006]
    if suite == "greybox":
        return composites.names()
    every = hock_schittkowski.names()
    return [name for name in every if not hock_schittkowski.problem(name).not_run]


def case(suite: str, name: str) -> Case:
    """Build a problem."""
    if name == cooling_chain.NAME:
        return _hidden(cooling_chain.whole_model(), cooling_chain.SIMULATED, cooling_chain.OPTIMUM)
    builders = {
        "textbook": _textbook,
        "mixed": _mixed,
        "cec2006": _cec2006,
        "hock_schittkowski": _hock_schittkowski,
        "greybox": _composite,
    }
    return builders[suite](name)


def _textbook(name: str) -> Case:
    definition = engineering_definition(name)
    model = definition.build()
    symbols = np.empty(model.n_variables, dtype=object)
    symbols[:] = ca.vertsplit(model.symbols)
    model.set_objective(ca.SX(definition.objective(symbols)))
    every = tuple(constraint.name for constraint in model.constraints)
    return _hidden(model, every, engineering.problem(name).f_opt)


def _hidden(whole: Model, hidden: tuple[str, ...], known: float) -> Case:
    """Take some constraints of a model with an objective away; its simulator returns them."""
    model = Model(whole.name)
    old = whole.symbols
    new = [
        model.variable(v.name, lower=v.lower, upper=v.upper, shape=len(v.lower))
        for v in whole.variables
    ]
    x = ca.vertcat(*new)
    limits: dict[str, Limits] = {}
    expressions = {}
    for constraint in whole.constraints:
        lower, upper = constraint.limits()
        for row, label, low, high in zip(
            constraint.rows, constraint.row_names(), lower, upper, strict=True
        ):
            if constraint.name in hidden:
                limits[label] = (_side(low), _side(high))
                expressions[label] = row.expression
            else:
                expression = ca.substitute(ca.SX(row.expression), old, x)
                _subject_to(model, expression, row.lower, row.upper, label, constraint.tolerance)
    values = ca.Function("values", [old], [whole.objective, *expressions.values()])
    simulator = partial(_simulate, values, tuple(expressions))
    return Case(model, simulator, limits, formulas_of(whole), known)


def _subject_to(
    model: Model, expression: Any, low: float, high: float, label: str, tolerance: float
) -> None:
    if low == high:
        model.subject_to(expression == low, name=label, tolerance=tolerance)
        return
    if np.isfinite(low):
        model.subject_to(expression >= low, name=f"{label} (at least)")
    if np.isfinite(high):
        model.subject_to(expression <= high, name=label)


def _side(limit: float) -> float | None:
    return float(limit) if np.isfinite(limit) else None


def _simulate(values: Any, names: tuple[str, ...], design: archeng.Design) -> archeng.Evaluation:
    objective, *rows = (float(value) for value in values(design.x))
    return archeng.Evaluation(objective, constraints=dict(zip(names, rows, strict=True)))


def _mixed(name: str) -> Case:
    model, simulator, limits = half_simulated(name)
    return Case(model, simulator, dict(limits), _cec_formulas(name), cec2006.problem(name).f_opt)


def _cec2006(name: str) -> Case:
    p = cec2006.problem(name)
    return Case(p.model, p.objective, {}, _cec_formulas(name), p.f_opt)


def _cec_formulas(name: str) -> Formulas:
    model = cec2006.problem(name).model
    symbols = np.empty(model.n_variables, dtype=object)
    symbols[:] = ca.vertsplit(model.symbols)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # NumPy's functions of CasADi's symbols
        model.set_objective(ca.SX(_OBJECTIVES.get(name, cec_definition(name).objective)(symbols)))
    return formulas_of(model)


def _g14(x: Any) -> Any:
    """Objective of g14, without the test for a zero."""
    total = sum(x)
    return sum(xi * (c + ca.log(xi / total)) for xi, c in zip(x, G14_ENERGY, strict=True))


_OBJECTIVES: dict[str, Callable[[Any], Any]] = {"g14": _g14}


def _hock_schittkowski(name: str) -> Case:
    p = hock_schittkowski.problem(name)
    model = archeng.from_pyomo(p.model, objective=True, tolerance=HS_TOLERANCE)
    sign = 1.0 if model.objective_sense == "minimize" else -1.0
    objective = ca.Function("objective", [model.symbols], [sign * model.objective])
    known = formulas_of(model, sign)
    return Case(model, partial(_value, objective), {}, known, float(p.objective), dict(p.options))


def _value(objective: Any, design: archeng.Design) -> float:
    return float(objective(design.x))


def _composite(name: str) -> Case:
    """Return a composite problem: its model has outputs and formulas of them."""
    p = composites.problem(name)
    formulas, pieces = whole(composites.definition(name))

    def with_largest(x: Floats) -> Floats:
        return np.append(x, float(pieces(x).full().max()))

    begin = None if pieces is None else with_largest
    return Case(p.model, p.simulate, {}, formulas, p.optimum, begin=begin, ipopt=EXACT)
