"""Constraints of Pyomo models: limits, kinds, indices, parameters; what is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import assert_same_rows, base_model, row_values, snapshot

import archeng
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import RowKind, compile_model

INF = np.inf


def limits(m: Any, **options: Any) -> dict[str, tuple[float, float]]:
    model = archeng.from_pyomo(m, **options)
    return {c.name: (c.rows[0].lower, c.rows[0].upper) for c in model.constraints}


def test_limits_of_every_kind() -> None:
    m = base_model()
    body = m.x * m.y
    m.le = pyo.Constraint(expr=body <= 3)
    m.ge = pyo.Constraint(expr=body >= 0.25)
    m.flipped = pyo.Constraint(expr=3 >= body)  # noqa: SIM300
    m.eq = pyo.Constraint(expr=body == 1)
    m.tuple_eq = pyo.Constraint(expr=(body, 1))
    m.ranged = pyo.Constraint(expr=(0.25, body, 3))
    m.inequality = pyo.Constraint(expr=pyo.inequality(0.25, body, 3))
    m.half_above = pyo.Constraint(expr=(None, body, 3))
    m.half_below = pyo.Constraint(expr=(0.25, body, None))
    m.tight = pyo.Constraint(expr=(1, body, 1))
    m.parameter = pyo.Constraint(expr=body <= m.p)
    m.expression = pyo.Constraint(expr=(m.n[1], body, m.p * m.q))
    m.infinite = pyo.Constraint(expr=(0.25, body, INF))
    m.sides = pyo.Constraint(expr=body <= m.z)
    m.sides_eq = pyo.Constraint(expr=body == m.z + 1)
    assert limits(m) == {
        "le": (-INF, 3),
        "ge": (0.25, INF),
        "flipped": (-INF, 3),
        "eq": (1, 1),
        "tuple_eq": (1, 1),
        "ranged": (0.25, 3),
        "inequality": (0.25, 3),
        "half_above": (-INF, 3),
        "half_below": (0.25, INF),
        "tight": (1, 1),
        "parameter": (-INF, 1.7),
        "expression": (-0.3, 1.7 * 2.5),
        "infinite": (0.25, INF),
        "sides": (-INF, 0),
        "sides_eq": (pytest.approx(m.sides_eq.lb), pytest.approx(m.sides_eq.ub)),
    }
    assert_same_rows(m)


def test_violations_have_the_right_sign() -> None:
    m = base_model()
    m.le = pyo.Constraint(expr=m.x + m.y <= m.z)
    m.ge = pyo.Constraint(expr=m.x >= m.y)
    table = archeng.from_pyomo(m).violations([0.5, 2.0, 1.0])
    assert (table["le"].violation, table["ge"].violation) == (1.5, 1.5)


def test_a_row_without_limits_is_not_a_row() -> None:
    m = base_model()
    m.infinite = pyo.Constraint(expr=(-INF, m.x + m.y, INF))
    assert limits(m) == {}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("<=", float("nan")),
        (">=", float("nan")),
        ("==", float("nan")),
        ("<=", -INF),
        (">=", INF),
        ("==", INF),
        ("range", float("nan")),
    ],
)
def test_a_limit_that_no_design_can_meet_is_an_error_and_not_forgotten(
    kind: str, value: float
) -> None:
    m = base_model()
    m.limit = pyo.Param(initialize=value, mutable=True, within=pyo.Any)
    body = m.x + m.y
    m.c = pyo.Constraint(
        expr={
            "<=": body <= m.limit,
            ">=": body >= m.limit,
            "==": body == m.limit,
            "range": (m.limit, body, 3),
        }[kind]
    )
    with pytest.raises(ModelError, match="c"):
        archeng.from_pyomo(m)


@pytest.mark.parametrize("value", [float("nan"), INF])
def test_a_coefficient_that_is_not_finite_names_its_constraint(value: float) -> None:
    m = base_model()
    m.k = pyo.Param(initialize=value, mutable=True, within=pyo.Any)
    m.good = pyo.Constraint(expr=m.x + m.y <= 3)
    m.bad = pyo.Constraint(expr=m.k * m.x + m.y <= 3)
    with pytest.raises(ModelError, match="bad") as caught:
        archeng.from_pyomo(m)
    assert "good" not in str(caught.value)


def test_impossible_constant_parts_are_errors_of_archeng() -> None:
    for build in (
        lambda m: m.e**0.5 * m.x,  # a complex number
        lambda m: pyo.log(m.e) * m.x,
        lambda m: m.x / (m.e + 1),
        lambda m: (m.e + 1) ** -1 * m.x,
    ):
        m = base_model()
        m.e = pyo.Expression(expr=-1.0)
        m.culprit = pyo.Constraint(expr=build(m) <= 1)
        with pytest.raises(ModelError, match="culprit"):
            archeng.from_pyomo(m)


def test_indexed_constraints_lists_and_skips() -> None:
    m = base_model()
    m.v = pyo.Var([1, 2, 3], ["a", "b"], bounds=(0, 1))

    @m.Constraint([1, 2, 3], ["a", "b"])
    def c(b: Any, i: int, s: str) -> Any:
        if i == 2:
            return pyo.Constraint.Skip
        return b.v[i, s] * i <= b.x

    m.list = pyo.ConstraintList()
    m.list.add(m.x + m.y <= 3)
    m.list.add((0, m.z + m.y, 4))
    m.empty = pyo.Constraint()
    m.later = pyo.Constraint([1, 2])
    m.later[2] = m.z >= -1
    model = assert_same_rows(m)
    assert [c.name for c in model.constraints] == [
        *("c[1,a]", "c[1,b]", "c[3,a]", "c[3,b]", "list[1]", "list[2]", "later[2]")
    ]


def test_a_constraint_that_always_holds_restricts_nothing() -> None:
    m = base_model()
    m.c = pyo.Constraint([1, 2], rule=lambda b, i: pyo.Constraint.Feasible if i == 1 else b.x >= 0)
    assert {r.kind for r in compile_model(archeng.from_pyomo(m)).rows} == {RowKind.BOUND}


def test_deactivated_constraints_are_skipped_one_by_one_and_whole() -> None:
    m = base_model()
    m.c = pyo.Constraint([1, 2, 3], rule=lambda b, i: b.x * i <= 1)
    m.d = pyo.Constraint([1, 2], rule=lambda b, i: b.y * i <= 9)
    m.s = pyo.Constraint(expr=m.x <= 0.8)
    m.c[2].deactivate()
    m.d.deactivate()
    m.s.deactivate()
    assert list(limits(m)) == ["c[1]", "c[3]"]
    m.d[1].activate()
    m.s.activate()
    assert list(limits(m)) == ["c[1]", "c[3]", "d[1]", "s"]


def test_parameters_enter_with_their_present_value() -> None:
    m = base_model()
    m.c = pyo.Constraint(expr=m.p * m.x + m.q * m.n[1] <= m.n[2])
    assert_same_rows(m)
    m.p, m.n[2] = 4.0, 6.0
    model = assert_same_rows(m)
    assert model.constraints[0].rows[0].upper == 6
    m.default = pyo.Param([1, 2], default=5.0, mutable=True)
    m.d = pyo.Constraint(expr=m.default[2] * m.x <= 1)
    assert row_values(archeng.from_pyomo(m), [1, 1, 1])["d"] == 5


def test_tolerance_of_equalities() -> None:
    m = base_model()
    m.eq = pyo.Constraint(expr=m.x * m.y == 1)
    m.le = pyo.Constraint(expr=m.x * m.y <= 2)
    fs = compile_model(archeng.from_pyomo(m))
    assert 1e-8 < fs.upper[-2] - fs.lower[-2] < 1e-6
    fs = compile_model(archeng.from_pyomo(m, tolerance=0.125))
    assert (fs.lower[-2], fs.upper[-2], fs.upper[-1]) == (0.875, 1.125, 2)
    assert list(fs.equality[-2:]) == [True, False]
    for wrong in (0, -1, float("nan"), "a"):
        with pytest.raises(ModelError, match="tolerance"):
            archeng.from_pyomo(m, tolerance=wrong)


def test_kinds_of_rows_after_compiling() -> None:
    m = base_model()
    m.w = pyo.Var(bounds=(0, 9))
    m.w.fix(2)
    m.bound = pyo.Constraint(expr=m.x <= 0.8)
    m.linear = pyo.Constraint(expr=m.w * m.x + m.y <= 3)
    m.curved = pyo.Constraint(expr=m.x * m.y <= 3)
    m.only_fixed = pyo.Constraint(expr=m.w**2 <= 5)
    fs = compile_model(archeng.from_pyomo(m))
    kinds = {r.name: r.kind for r in fs.rows}
    assert kinds["linear"] is RowKind.LINEAR
    assert kinds["curved"] is RowKind.NONLINEAR
    assert "bound" not in kinds
    assert "only_fixed" not in kinds
    assert fs.box()[1][0] == 0.8
    assert all(c.source == "Pyomo" for c in archeng.from_pyomo(m).constraints)


def test_a_constraint_on_fixed_variables_only_that_does_not_hold() -> None:
    m = base_model()
    m.w = pyo.Var()
    m.w.fix(2)
    m.wrong = pyo.Constraint(expr=m.w**2 <= 3)
    with pytest.raises(InfeasibleModelError, match="wrong"):
        compile_model(archeng.from_pyomo(m))


def test_the_name_and_the_objective() -> None:
    m = base_model()
    m.o = pyo.Objective(expr=m.x * m.y + m.p, sense=pyo.maximize)
    plain = archeng.from_pyomo(m)
    assert (plain.name, plain.has_objective) == ("base", False)
    model = archeng.from_pyomo(m, objective=True, name="mine")
    assert (model.name, model.objective_sense) == ("mine", "maximize")
    assert model.objective_function()([0.5, 2, 0]) == 0.5 * 2 + 1.7
    m.o.sense = pyo.minimize
    assert archeng.from_pyomo(m, objective=True).objective_sense == "minimize"
    m.o.deactivate()
    with pytest.raises(ModelError, match="objective"):
        archeng.from_pyomo(m, objective=True)
    m.b = pyo.Block()
    m.b.o = pyo.Objective([1, 2], rule=lambda b, i: i * m.x)
    m.b.o[1].deactivate()
    assert archeng.from_pyomo(m, objective=True).objective_function()([0.5, 2, 0]) == 1


def test_importing_changes_nothing() -> None:
    m = base_model()
    m.e = pyo.Expression(expr=m.x * m.y)
    m.c = pyo.Constraint([1, 2], rule=lambda b, i: b.e * i <= b.p)
    m.c[2].deactivate()
    m.b = pyo.Block()
    m.b.v = pyo.Var(domain=pyo.Integers, initialize=2)
    m.b.v.fix()
    m.o = pyo.Objective(expr=m.e)
    before = snapshot(m)
    archeng.from_pyomo(m, objective=True)
    m.b.v.unfix()
    m.b.v.domain = pyo.Any
    unfixed = snapshot(m)
    with pytest.raises(ModelError):
        archeng.from_pyomo(m, objective=True)
    assert snapshot(m) == unfixed
    m.b.v.domain = pyo.Integers
    m.b.v.fix()
    assert snapshot(m) == before
