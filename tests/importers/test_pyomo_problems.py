"""Values, domains and expressions that cannot be imported, and things that are no model."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest
from importer_helpers import assert_same_rows, base_model, problems
from pyomo.core.expr import numeric_expr

import archeng
from archeng.errors import ModelError

# -- variables and expressions ---------------------------------------------------------------


def test_domains_that_are_not_one_interval() -> None:
    m = base_model()
    m.gap = pyo.Var(domain=pyo.UnitInterval | pyo.RangeSet(2, 3, 0))
    m.both = pyo.Var(domain=pyo.Set(initialize=[0]) | pyo.RangeSet(2, 3, 0))
    m.endless = pyo.Var(domain=pyo.RangeSet(0, None, 2))
    m.empty = pyo.Var(domain=pyo.Set(initialize=[1, 4]), bounds=(2, 3))
    m.none = pyo.Var(domain=pyo.Integers, bounds=(2.2, 2.8))
    m.words = pyo.Var(domain=pyo.Set(initialize=["a", "b"]))
    m.anything = pyo.Var(domain=pyo.Any)
    found = problems(m)
    assert set(found) == {"gap", "both", "endless", "empty", "none", "words", "anything"}
    assert "not one interval" in found["gap"][0]
    assert "binary variable and two bounds" in found["both"][0]
    assert "give the variable bounds" in found["endless"][0]
    assert "between 2 and 3" in found["empty"][0]
    assert "none of its values lies between 2.2 and 2.8" in found["none"][0]
    assert any("not one of numbers" in why for why in found["words"])


def test_external_functions_only_where_they_are_used() -> None:
    m = base_model()
    m.f = pyo.ExternalFunction(function=lambda a, b: a + 2 * b)
    archeng.from_pyomo(m)
    m.off = pyo.Constraint(expr=m.f(m.x, m.y) <= 1)
    m.off.deactivate()
    m.constant = pyo.Constraint(expr=m.f(m.p, 1.0) * m.x <= 1)
    m.o = pyo.Objective(expr=m.f(m.x, m.z))
    assert_same_rows(m)
    m.o.deactivate()
    assert archeng.from_pyomo(m).outputs == ()
    m.on = pyo.Constraint(expr=m.z + m.f(m.x, m.y) <= 1)
    assert [o.name for o in archeng.from_pyomo(m).outputs] == ["f(x, y)"]


def test_every_constraint_that_shares_an_unsupported_expression_is_named() -> None:
    m = base_model()
    m.u = pyo.Param(mutable=True, within=pyo.Reals)
    m.e = pyo.Expression(expr=m.u * m.x + m.y)
    m.c = pyo.Constraint([1, 2, 3], rule=lambda b, i: i * b.e <= 1)
    m.fine = pyo.Constraint(expr=m.x + m.y <= 3)
    assert set(problems(m)) == {"c[1]", "c[2]", "c[3]"}


def test_an_unsupported_part_that_is_shared_many_times_is_one_reason() -> None:
    """Depth 22 takes 100 MB if reasons are doubled at each level."""
    m = base_model()
    m.u = pyo.Param(mutable=True, within=pyo.Reals)
    m.e = pyo.Expression(range(23))
    m.e[0] = m.u * m.x
    for k in range(22):
        m.e[k + 1] = m.e[k] + m.e[k]
    m.c = pyo.Constraint(expr=m.e[22] <= 1)
    tracemalloc.start()
    try:
        assert len(problems(m)["c"]) == 1
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_every_reason_within_one_constraint_once() -> None:
    m = base_model()
    m.u = pyo.Param([1, 2, 3, 4], mutable=True, within=pyo.Reals)
    body = m.u[1] * m.x + m.u[4] * m.y + m.x ** m.u[2] + m.u[1] * m.y
    m.c = pyo.Constraint(expr=body <= m.u[3])
    reasons = problems(m)["c"]
    assert len(reasons) == 4
    for word in ("u[1]", "u[2]", "u[3]", "u[4]"):
        assert sum(word in reason for reason in reasons) == 1


def test_values_that_are_missing() -> None:
    m = base_model()
    m.u = pyo.Param(mutable=True, within=pyo.Reals)
    m.w = pyo.Param([1, 2], mutable=True, within=pyo.Reals)
    m.e = pyo.Expression()
    m.i = pyo.Expression([1, 2])
    m.body = pyo.Constraint(expr=m.u * m.x + m.y <= 1)
    m.inside = pyo.Constraint(expr=m.x ** (m.w[2] + 1) <= 1)
    m.upper = pyo.Constraint(expr=m.x + m.y <= m.u)
    m.lower = pyo.Constraint(expr=m.x + m.y >= m.w[1])
    m.both = pyo.Constraint(expr=(m.u, m.x + m.y, m.w[1]))
    m.named = pyo.Constraint(expr=m.e + m.x <= 1)
    m.indexed = pyo.Constraint(expr=m.i[2] * m.x <= 1)
    m.v = pyo.Var(bounds=(m.u, m.w[2]))
    m.fixed = pyo.Var()
    m.fixed.fix()
    m.o = pyo.Objective(expr=m.u * m.x)
    found = problems(m, objective=True)
    assert set(found) == {
        *("body", "inside", "upper", "lower", "both", "named", "indexed", "v", "fixed", "o")
    }
    expected = {
        "body": "u", "inside": "w[2]", "upper": "u", "lower": "w[1]", "named": "e",
        "indexed": "i[2]", "fixed": "no value", "o": "u",
    }  # fmt: skip
    for name, what in expected.items():
        assert what in found[name][0]
    assert len(found["both"]) == 2
    assert len(found["v"]) == 2


def test_variable_limits_of_a_range() -> None:
    m = base_model()
    m.c = pyo.Constraint(expr=(m.y, m.x, 3))
    m.d = pyo.Constraint(expr=(0, m.x, m.y + 1))
    assert set(problems(m)) == {"c", "d"}
    m.y.fix(2)
    rows = {c.name: c.rows[0] for c in archeng.from_pyomo(m).constraints}
    assert (rows["c"].lower, rows["c"].upper, rows["d"].upper) == (2, 3, 3)


def test_boolean_variables_and_unknown_nodes_in_expressions() -> None:
    class Strange(numeric_expr.NumericExpression):
        __slots__ = ()

        def nargs(self) -> int:
            return 1

    m = base_model()
    m.flag = pyo.BooleanVar()
    m.c = pyo.Constraint(expr=pyo.Expr_if(m.flag, m.x, m.y) <= 1)
    m.d = pyo.Constraint(expr=Strange((m.x,)) + m.y <= 1)
    m.e = pyo.Constraint(expr=numeric_expr.UnaryFunctionExpression((m.x,), "gamma", abs) <= 1)
    found = problems(m)
    assert set(found) == {"flag", "c", "d", "e"}
    assert "flag" in found["c"][0]
    assert "Strange" in found["d"][0]
    assert "gamma" in found["e"][0]


# -- not a model -----------------------------------------------------------------------------


def _abstract() -> Any:
    m = pyo.AbstractModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.o = pyo.Objective(rule=lambda b: b.x)
    return m


def _indexed() -> Any:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1, 2], rule=lambda b, i: setattr(b, "x", pyo.Var(bounds=(0, 1))))
    return m.b


def _deactivated() -> Any:
    m = base_model()
    m.o = pyo.Objective(expr=m.x)
    m.deactivate()
    return m


@pytest.mark.parametrize(
    ("make", "word"), [(_abstract, "abstract"), (_indexed, "indexed"), (_deactivated, "deactivat")]
)
def test_models_that_cannot_be_read(make: Callable[[], Any], word: str) -> None:
    for use in (
        archeng.from_pyomo,
        archeng.solve,
        lambda m: archeng.solve(m, lambda d: 0.0),
        lambda m: archeng.solve(m, lambda d: 0.0, simulator_takes="model"),
        lambda m: archeng.sample_feasible(m, 2),
        lambda m: pyo.SolverFactory("archeng").solve(m),
    ):
        with pytest.raises(ModelError, match=word):
            use(make())


@pytest.mark.parametrize("thing", [None, 3, {}, "model", pyo.ConcreteModel, base_model().x])
def test_things_that_are_no_pyomo_model(thing: Any) -> None:
    with pytest.raises(ModelError, match="Pyomo"):
        archeng.from_pyomo(thing)
