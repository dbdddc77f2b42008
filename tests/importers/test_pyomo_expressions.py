"""Every kind of Pyomo expression node: the imported row has Pyomo's own value."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import assert_same_expression, assert_same_rows, base_model, row_values
from pyomo.core.expr import logical_expr, numeric_expr, relational_expr

import archeng

Expr = Callable[[Any], Any]

UNARY: dict[str, Expr] = {
    "exp": lambda m: pyo.exp(m.z),
    "log": lambda m: pyo.log(m.y),
    "log10": lambda m: pyo.log10(m.y),
    "sin": lambda m: pyo.sin(m.z),
    "cos": lambda m: pyo.cos(m.z),
    "tan": lambda m: pyo.tan(m.x),
    "asin": lambda m: pyo.asin(m.x),
    "acos": lambda m: pyo.acos(m.x),
    "atan": lambda m: pyo.atan(m.z),
    "sinh": lambda m: pyo.sinh(m.z),
    "cosh": lambda m: pyo.cosh(m.z),
    "tanh": lambda m: pyo.tanh(m.z),
    "asinh": lambda m: pyo.asinh(m.z),
    "acosh": lambda m: pyo.acosh(m.y),
    "atanh": lambda m: pyo.atanh(m.x),
    "sqrt": lambda m: pyo.sqrt(m.y),
    "ceil": lambda m: pyo.ceil(2.7 * m.z),
    "floor": lambda m: pyo.floor(2.7 * m.z),
    "abs": lambda m: abs(m.z),
    "negation": lambda m: -m.z,
    "negated product": lambda m: -(m.x * m.z),
}

ARITHMETIC: dict[str, Expr] = {
    "sum": lambda m: m.x + m.y + m.z,
    "sum with constants": lambda m: 3 + m.x - m.y + m.p - 4.5,
    "difference of products": lambda m: m.x * m.y - m.y * m.z,
    "product": lambda m: m.x * m.y * m.z,
    "monomials": lambda m: 2 * m.x - 3.5 * m.z,
    "monomial of a parameter": lambda m: m.p * m.x + (m.p + m.q) * m.z,
    "division": lambda m: m.x / m.y,
    "division by a number": lambda m: m.x / 7,
    "division of a number": lambda m: 7 / m.y,
    "division by a parameter": lambda m: m.z / m.p,
    "square": lambda m: m.z**2,
    "cube": lambda m: m.z**3,
    "seventh power": lambda m: m.z**7,
    "power one": lambda m: m.z**1 + m.x,
    "power zero": lambda m: m.z**0 + m.x,
    "negative power": lambda m: m.z**-3,
    "root": lambda m: m.x**0.5,
    "fractional": lambda m: m.y**2.37,
    "negative fractional": lambda m: m.y**-1.25,
    "parameter exponent": lambda m: m.y**m.p,
    "variable exponent": lambda m: m.y**m.z,
    "number to a variable": lambda m: 2.5**m.z,
    "parameter to a variable": lambda m: m.p**m.z,
    "power of a power": lambda m: (m.x**m.y) ** m.z,
    "quicksum": lambda m: pyo.quicksum([m.x, m.y * m.z, 3]),
    "linear sum": lambda m: pyo.sum_product({1: 2.0, 2: -3.0}, {1: m.x, 2: m.y}, index=[1, 2]),
    "LinearExpression": lambda m: numeric_expr.LinearExpression(
        constant=2.5, linear_coefs=[2.0, -0.5, 3], linear_vars=[m.x, m.y, m.z]
    ),
    "LinearExpression, parameters": lambda m: numeric_expr.LinearExpression(
        [m.p, numeric_expr.MonomialTermExpression((m.p, m.x)), m.z]
    ),
    "MonomialTermExpression": lambda m: numeric_expr.MonomialTermExpression((m.n[1], m.z)),
    "min": lambda m: numeric_expr.MinExpression((m.x, m.z)),
    "min of three": lambda m: numeric_expr.MinExpression((m.z, m.x, 0.3 * m.y)),
    "max": lambda m: numeric_expr.MaxExpression((m.x, m.z)),
    "max of three": lambda m: numeric_expr.MaxExpression((m.z, m.x, 0.3 * m.y)),
    "min with a number": lambda m: numeric_expr.MinExpression((m.z, 0.25)),
    "numpy numbers": lambda m: np.float64(2.5) * m.x + np.int64(3) + np.float32(0.5) * m.z,
}

WITHOUT_VARIABLES: dict[str, Expr] = {
    "NPV sum": lambda m: (m.p + m.q + 1) * m.x,
    "NPV product": lambda m: (m.p * m.n[1]) * m.x,
    "NPV division": lambda m: (m.n[2] / m.p) * m.x,
    "NPV reciprocal": lambda m: (1 / m.p) * m.x,
    "NPV power": lambda m: (m.p ** m.n[1]) * m.x,
    "NPV negation": lambda m: (-m.p) * m.x + (-m.n[1]),
    "NPV abs": lambda m: abs(m.n[1]) * m.x,
    "NPV functions": lambda m: (
        pyo.exp(m.p) * m.x + pyo.log(m.p) + pyo.sin(m.n[2]) + pyo.atanh(m.n[1]) - pyo.floor(m.p)
    ),
    "NPV min and max": lambda m: (
        numeric_expr.NPV_MinExpression((m.p, m.n[1])) * m.x
        + numeric_expr.NPV_MaxExpression((m.p, m.n[1]))
    ),
    "NPV if": lambda m: pyo.Expr_if(m.p >= 1, m.p, m.n[1]) * m.x,
    "NPV condition": lambda m: pyo.Expr_if(m.p >= 1, m.x, m.z),
    "NPV condition, else": lambda m: pyo.Expr_if(m.p >= 2, m.x, m.z),
    "NPV equality": lambda m: pyo.Expr_if(m.p == m.q, m.x, m.z),
    "NPV ranged": lambda m: pyo.Expr_if(pyo.inequality(1, m.p, 2), m.x, m.z),
}

CONDITIONS: dict[str, Expr] = {
    "<=": lambda m: m.z <= 0,
    "<": lambda m: m.z < 0,
    ">=": lambda m: m.z >= 0,
    ">": lambda m: m.z > 0,
    "==": lambda m: m.z == 0,
    "of two variables": lambda m: m.z <= m.x,
    "strict, of two variables": lambda m: m.z < m.x,
    "ranged": lambda m: pyo.inequality(-1, m.z, 0),
    "ranged strict": lambda m: pyo.inequality(-1, m.z, 0, strict=True),
    "ranged strict below": lambda m: relational_expr.RangedExpression((-1, m.z, 0), (True, False)),
    "ranged strict above": lambda m: relational_expr.RangedExpression((-1, m.z, 0), (False, True)),
    "not equal": lambda m: relational_expr.NotEqualExpression((m.z, 0)),
    "and": lambda m: logical_expr.AndExpression([m.z <= 0, m.x >= 0.5]),
    "or": lambda m: logical_expr.OrExpression([m.z <= 0, m.x >= 0.5]),
    "not": lambda m: logical_expr.NotExpression((m.z <= 0,)),
}

# x, y, z: both sides of every condition above, and exactly on its border
BORDERS = [(x, 2.0, z) for x in (0.25, 0.5, 0.75) for z in (-1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0)]


@pytest.mark.parametrize("build", UNARY.values(), ids=list(UNARY))
def test_functions(build: Expr) -> None:
    m = base_model()
    assert_same_expression(m, build(m))


@pytest.mark.parametrize("build", ARITHMETIC.values(), ids=list(ARITHMETIC))
def test_arithmetic(build: Expr) -> None:
    m = base_model()
    assert_same_expression(m, build(m))


@pytest.mark.parametrize("build", WITHOUT_VARIABLES.values(), ids=list(WITHOUT_VARIABLES))
def test_parts_without_variables(build: Expr) -> None:
    m = base_model()
    assert_same_expression(m, build(m))


@pytest.mark.parametrize("build", CONDITIONS.values(), ids=list(CONDITIONS))
def test_if_on_both_sides_and_on_the_border(build: Expr) -> None:
    m = base_model()
    expression = pyo.Expr_if(build(m), 3 + m.x, 50 * m.y)
    assert_same_expression(m, expression, np.array(BORDERS))


def test_the_table_of_functions_is_all_of_pyomos() -> None:
    """A function that a later Pyomo adds must not go unnoticed."""
    m = base_model()
    found = set()
    for function in vars(pyo).values():
        if inspect.isfunction(function) and function.__module__ == pyo.exp.__module__:
            try:
                node = function(m.y)
            except (AttributeError, TypeError):
                continue
            if isinstance(node, numeric_expr.UnaryFunctionExpression):
                found.add(node.getname())
    assert found == set(UNARY) - {"abs", "negation", "negated product"}


def test_if_is_nested_and_its_other_branch_may_be_undefined() -> None:
    m = base_model()
    inner = pyo.Expr_if(m.z >= 1, m.x, pyo.sqrt(m.z))
    m.row = pyo.Constraint(expr=(None, pyo.Expr_if(m.z >= 0, inner, -m.z), 9))
    assert_same_rows(m, np.array([(0.5, 2.0, z) for z in (0.0, 0.25, 1.0, 1.5)]))
    model = archeng.from_pyomo(m)  # Pyomo evaluates both branches, CasADi's value is the right one
    assert row_values(model, [0.5, 2.0, -1.0])["row"] == 1.0


def test_everything_together() -> None:
    m = base_model()
    m.b = pyo.Block()
    m.b.e = pyo.Expression(expr=pyo.exp(m.x) * m.y ** (m.p - 1) / (1 + m.z**2))
    m.c1 = pyo.Constraint(expr=m.b.e - pyo.log(m.y) * m.b.e >= m.q * m.p)
    m.c2 = pyo.Constraint(expr=(m.n[1], m.b.e**2 + abs(m.z) - m.b.e, 10))
    m.c3 = pyo.Constraint(expr=m.b.e == m.z)
    assert_same_rows(m)


@pytest.mark.parametrize("depth", [20, 60])
def test_shared_expressions_are_converted_once(depth: int) -> None:
    """Without sharing, depth 20 takes several seconds, and depth 60 for ever."""
    m = base_model()
    m.e = pyo.Expression(range(depth + 1))
    m.e[0] = m.x
    for k in range(depth):
        m.e[k + 1] = 0.5 * (m.e[k] + m.e[k])
    m.row = pyo.Constraint(expr=m.e[depth] + m.e[depth - 1] <= 10)
    begin = time.perf_counter()
    model = archeng.from_pyomo(m)
    assert row_values(model, [0.4, 2.0, 1.0])["row"] == pytest.approx(0.8, rel=1e-12)
    assert time.perf_counter() - begin < 1


def test_shared_expressions_follow_a_later_change() -> None:
    """Nothing of an earlier import may be remembered."""
    m = base_model()
    m.e = pyo.Expression(expr=m.x)
    m.row = pyo.Constraint(expr=m.e + m.y <= 10)
    assert row_values(archeng.from_pyomo(m), [0.5, 2.0, 0.0])["row"] == 2.5
    m.e.set_value(3 * m.x)
    m.p = 0.25
    m.other = pyo.Constraint(expr=m.p * m.e <= 10)
    values = row_values(archeng.from_pyomo(m), [0.5, 2.0, 0.0])
    assert values == {"row": 3.5, "other": 0.375}


@pytest.mark.parametrize("named", [False, True])
def test_deep_expressions_do_not_exhaust_the_stack(named: bool) -> None:
    m = base_model()
    depth = 3000
    m.e = pyo.Expression(range(depth + 1))
    expression: Any = m.x
    for k in range(depth):
        expression = pyo.sin(expression)
        if named:
            m.e[k] = expression
            expression = m.e[k]
    m.row = pyo.Constraint(expr=expression <= 1)
    value = 0.5
    for _ in range(depth):
        value = float(np.sin(value))
    assert row_values(archeng.from_pyomo(m), [0.5, 2, 0])["row"] == pytest.approx(value, rel=1e-12)


def test_a_named_expression_that_is_a_number() -> None:
    m = base_model()
    m.e = pyo.Expression(expr=2.0)
    m.g = pyo.Expression(expr=m.p * 2)
    minimum = numeric_expr.MinExpression((m.e, m.g))
    m.row = pyo.Constraint(
        expr=(None, m.e * m.x + minimum + abs(m.e) + pyo.exp(m.e) + m.e**m.g - m.e / m.g, 99)
    )
    m.cond = pyo.Constraint(
        expr=(None, pyo.Expr_if(pyo.inequality(1, m.e, 3), m.x, m.y) - pyo.floor(m.g), 99)
    )
    assert_same_rows(m)
