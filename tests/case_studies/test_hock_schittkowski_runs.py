"""Hock and Schittkowski with archeng: faithful import, the published optimum, no infeasible call.

The import is compared with Pyomo's own values; the runs are refereed by a second copy of the
Pyomo model that checks every bound and constraint at the design that arrives.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray

import archeng
from case_studies.hock_schittkowski import names, problem

pytestmark = pytest.mark.slow

Floats = NDArray[np.float64]

POINTS = 20
EQUALITY_TOLERANCE = 1e-6
ROUNDING = 1e-12
SEED = 1

_KNOWN = {name: problem(name) for name in names()}  # built once: this is read at collection
RUN = [name for name, p in _KNOWN.items() if not p.not_run]
MAXIMISED = [name for name, p in _KNOWN.items() if not p.model.obj.is_minimizing()]


def variables_of(model: Any) -> dict[str, Any]:
    """Return the variables by name, those that References show only once."""
    return {v.name: v for v in model.component_data_objects(pyo.Var)}


def constraints_of(model: Any) -> dict[str, Any]:
    return {c.name: c for c in model.component_data_objects(pyo.Constraint, active=True)}


def load(variables: dict[str, Any], values: Any) -> None:
    for name, variable in variables.items():
        if not variable.fixed:
            variable.set_value(float(values[name]), skip_validation=True)


def number(limit: float | None, default: float) -> float:
    return default if limit is None else float(limit)


# -- the import ----------------------------------------------------------------------------------


def random_value(variable: Any, start: float, rng: np.random.Generator) -> float:
    """Uniform in the bounds; around the start, and inside the bound, where there is no box."""
    if variable.fixed:
        return start
    if variable.lb is not None and variable.ub is not None:
        return float(rng.uniform(variable.lb, variable.ub))
    low, high = number(variable.lb, -math.inf), number(variable.ub, math.inf)
    return float(np.clip(start + rng.normal() * max(abs(start), 1.0), low, high))


def value_or_none(expression: Any) -> float | None:
    """Pyomo's value; None where the formula is undefined."""
    try:
        found = pyo.value(expression)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(found, complex) or not math.isfinite(found) else float(found)


def random_points(model: Any, expressions: list[Any]) -> list[tuple[dict[str, float], Floats]]:
    """Return points at which all expressions are defined, and Pyomo's values there."""
    rng = np.random.default_rng(187)
    variables = variables_of(model)
    starts = {name: float(v.value) for name, v in variables.items()}
    found: list[tuple[dict[str, float], Floats]] = []
    for _ in range(100 * POINTS):
        point = {name: random_value(v, starts[name], rng) for name, v in variables.items()}
        load(variables, point)
        values = [value_or_none(e) for e in expressions]
        if None not in values:
            found.append((point, np.array(values, dtype=float)))
        if len(found) == POINTS:
            break
    return found


@pytest.mark.parametrize("name", names())
def test_the_imported_formulas_have_the_values_of_pyomo(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", logger="pyomo")  # Pyomo reports undefined values as errors
    model = problem(name).model
    imported = archeng.from_pyomo(model, objective=True)
    constraints = constraints_of(model)
    rows = [row for c in imported.constraints for row in c.rows]
    assert [c.name for c in imported.constraints] == list(constraints)
    assert len(rows) == len(constraints)

    bodies = [c.body for c in constraints.values()]
    function = ca.Function("rows", [imported.symbols], [ca.vertcat(*(r.expression for r in rows))])
    slopes = function.jacobian() if rows else None
    objective = imported.objective_function()
    points = random_points(model, [*bodies, model.obj.expr])
    assert len(points) == POINTS
    for point, values in points:
        x = np.array([point[n] for n in imported.element_names()])
        assert objective(x) == pytest.approx(values[-1], rel=ROUNDING, abs=ROUNDING)
        if slopes is None:
            continue
        got = np.asarray(function(x)).reshape(-1)
        terms = np.abs(np.asarray(slopes(x, got).full())) @ np.abs(x)  # size of what is added up
        assert np.all(np.abs(got - values[:-1]) <= ROUNDING * (np.abs(got) + terms + 1.0))


@pytest.mark.parametrize("name", names())
def test_the_imported_limits_bounds_and_starts_are_those_of_pyomo(name: str) -> None:
    model = problem(name).model
    imported = archeng.from_pyomo(model, objective=True)
    for mine, theirs in zip(imported.constraints, constraints_of(model).values(), strict=True):
        (row,) = mine.rows
        assert (row.lower, row.upper) == (number(theirs.lb, -math.inf), number(theirs.ub, math.inf))
        assert mine.equalities() == [theirs.equality]
    variables = variables_of(model)
    assert sorted(imported.element_names()) == sorted(variables)
    for record in imported.variables:
        v = variables[record.name]
        low = v.value if v.fixed else number(v.lb, -math.inf)
        high = v.value if v.fixed else number(v.ub, math.inf)
        assert (record.lower, record.upper, record.start) == (low, high, v.value)
        assert record.unit == ("" if v.get_units() is None else str(v.get_units()))
        if not math.isfinite(low) or not math.isfinite(high):
            assert record.scale == pytest.approx(max(abs(v.value), 1.0) / 5)
    assert imported.objective_sense == ("minimize" if name not in MAXIMISED else "maximize")


@pytest.mark.parametrize("name", names())
def test_the_published_solution_has_no_violations_beyond_its_digits(name: str) -> None:
    p = problem(name)
    imported = archeng.from_pyomo(p.model)
    values = {n: float(v.value) for n, v in variables_of(p.model).items()}
    values.update(zip(p.variables, p.x, strict=True))
    table = imported.violations(values)
    rows = list(table)
    assert len(rows) >= p.inequalities / 2 + p.equalities
    assert all(row.violation <= 1e-3 for row in rows)


# -- the runs ------------------------------------------------------------------------------------


class Referee:
    """The black box: Pyomo's objective (to be minimised), and Pyomo's verdict on every design."""

    def __init__(self, name: str) -> None:
        self._model = problem(name).model
        self._variables = variables_of(self._model)
        self._constraints = list(constraints_of(self._model).values())
        self._sign = 1.0 if self._model.obj.is_minimizing() else -1.0
        self.calls = 0
        self.infeasible: list[tuple[int, str]] = []

    def __call__(self, design: archeng.Design) -> float:
        load(self._variables, design)
        for v in self._variables.values():
            if not number(v.lb, -math.inf) <= v.value <= number(v.ub, math.inf):
                self.infeasible.append((self.calls, v.name))
        for c in self._constraints:
            if not self._holds(c):
                self.infeasible.append((self.calls, c.name))
        self.calls += 1
        return self._sign * pyo.value(self._model.obj)

    @staticmethod
    def _holds(c: Any) -> bool:
        body = pyo.value(c.body)
        low, high = number(c.lb, -math.inf), number(c.ub, math.inf)
        slack = ROUNDING * max(1.0, abs(body)) + (EQUALITY_TOLERANCE if c.equality else 0.0)
        return low - slack <= body <= high + slack


@pytest.mark.parametrize("name", RUN)
def test_reaches_the_published_optimum_without_an_infeasible_call(name: str) -> None:
    p = problem(name)
    referee = Referee(name)
    target = p.objective + p.slack
    result = archeng.solve(
        p.model,
        referee,
        seed=SEED,
        target=target,
        max_evaluations=p.most_calls,
        tolerance=EQUALITY_TOLERANCE,
        **p.options,
    )
    assert result.stop_reason is archeng.StopReason.TARGET
    assert result.fun <= target
    assert result.fun >= p.objective - p.slack
    assert referee.calls == result.nfev <= p.most_calls
    assert referee.infeasible == []
    assert result.n_infeasible_calls == 0


@pytest.mark.parametrize("name", [n for n in MAXIMISED if n in RUN])
def test_without_a_simulator_the_objective_and_its_sense_are_those_of_pyomo(name: str) -> None:
    p = problem(name)
    target = -p.objective - p.slack
    result = archeng.solve(
        p.model, seed=SEED, target=target, max_evaluations=p.most_calls, **p.options
    )
    assert result.stop_reason is archeng.StopReason.TARGET
    assert target <= result.fun <= -p.objective + p.slack
    load(variables_of(p.model), result.design)
    assert pyo.value(p.model.obj) == pytest.approx(result.fun, rel=1e-12)


@pytest.mark.parametrize("name", [n for n in names() if n not in RUN])
def test_no_infeasible_call_in_the_problems_that_are_not_solved(name: str) -> None:
    referee = Referee(name)
    result = archeng.solve(problem(name).model, referee, seed=SEED, max_evaluations=6)
    assert referee.calls == result.nfev > 0
    assert referee.infeasible == []
