"""Variables of Pyomo models: names, bounds, domains, blocks, references, units, starts."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import assert_same_rows, row_values
from pyomo.core.base.units_container import units as u

import archeng
from archeng.errors import ModelError
from archeng.model import Variable

INF = np.inf
TINY = 5e-324


def variables(m: Any, **options: Any) -> dict[str, Variable]:
    return {v.name: v for v in archeng.from_pyomo(m, **options).variables}


def one(domain: Any, bounds: Any = None, **options: Any) -> Variable:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(domain=domain, bounds=bounds, **options)
    return variables(m)["x"]


# -- bounds and domains ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "bounds", "lower", "upper"),
    [
        (pyo.Reals, None, -INF, INF),
        (pyo.Reals, (-2, 3), -2, 3),
        (pyo.Reals, (None, 3), -INF, 3),
        (pyo.Reals, (-2, None), -2, INF),
        (pyo.Reals, (-INF, INF), -INF, INF),
        (pyo.NonNegativeReals, None, 0, INF),
        (pyo.NonNegativeReals, (-2, 3), 0, 3),
        (pyo.NonNegativeReals, (1, 3), 1, 3),
        (pyo.NonPositiveReals, None, -INF, 0),
        (pyo.NonPositiveReals, (-2, 3), -2, 0),
        (pyo.PositiveReals, None, TINY, INF),
        (pyo.PositiveReals, (-1, 3), TINY, 3),
        (pyo.PositiveReals, (0, 3), TINY, 3),
        (pyo.PositiveReals, (0.5, 3), 0.5, 3),
        (pyo.NegativeReals, None, -INF, -TINY),
        (pyo.NegativeReals, (-3, 0), -3, -TINY),
        (pyo.NegativeReals, (-3, -1), -3, -1),
        (pyo.UnitInterval, None, 0, 1),
        (pyo.UnitInterval, (0.25, 7), 0.25, 1),
        (pyo.PercentFraction, None, 0, 1),
        (pyo.RangeSet(-3, 4, 0), None, -3, 4),
        (pyo.RangeSet(-3, 4, 0), (-9, 2), -3, 2),
    ],
)
def test_bounds_are_those_of_the_variable_and_of_its_domain(
    domain: Any, bounds: Any, lower: float, upper: float
) -> None:
    v = one(domain, bounds)
    assert (v.lower[0], v.upper[0]) == (lower, upper)


def test_the_intersection_of_two_domains_keeps_its_open_end() -> None:
    m = pyo.ConcreteModel()
    m.d = pyo.PositiveReals & pyo.RangeSet(-1, 3, 0)
    m.x = pyo.Var(domain=m.d)
    v = variables(m)["x"]
    assert (v.lower[0], v.upper[0]) == (TINY, 3)


def test_bounds_may_be_parameters_and_expressions_of_them() -> None:
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.x = pyo.Var(bounds=(m.p, m.p**2 + 1))
    assert [variables(m)["x"].lower[0], variables(m)["x"].upper[0]] == [2, 5]
    m.p = 3.0
    assert [variables(m)["x"].lower[0], variables(m)["x"].upper[0]] == [3, 10]


@pytest.mark.parametrize("which", ["lower", "upper"])
def test_a_bound_that_is_not_a_number_is_an_error_and_not_forgotten(which: str) -> None:
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=float("nan"), mutable=True, within=pyo.Any)
    m.x = pyo.Var(bounds=(0, 1))
    m.x.setlb(m.p) if which == "lower" else m.x.setub(m.p)
    with pytest.raises(ModelError, match="x"):
        archeng.from_pyomo(m)


def test_contradicting_bounds_are_reported_by_name() -> None:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1])
    m.b[1].w = pyo.Var(bounds=(3, 2))
    m.v = pyo.Var(domain=pyo.PositiveReals, bounds=(-3, 0))
    with pytest.raises(archeng.errors.UnsupportedModelError) as caught:
        archeng.from_pyomo(m)
    assert set(caught.value.problems) == {"b[1].w", "v"}


# -- which variables, and their names --------------------------------------------------------


def test_names_are_pyomos_own_and_in_order_of_declaration() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([3, 1], ["a", "b c"], bounds=(0, 1))
    m.y = pyo.Var(bounds=(0, 1))
    m.b = pyo.Block(["l", 2])
    for key in ("l", 2):
        m.b[key].s = pyo.Block()
        m.b[key].s.v = pyo.Var([1.5, "1", 1], bounds=(0, 1))
    m.k = pyo.Var([("a,b", "c"), ("a", "b,c")], bounds=(0, 1))
    m.l = pyo.VarList(bounds=(0, 1))
    m.l.add()
    expected = [v.name for v in m.component_data_objects(pyo.Var)]
    assert len(set(expected)) == len(expected)
    assert {"x[3,a]", "b[l].s.v[1.5]", "l[1]"} <= set(expected)
    names = [v.name for v in archeng.from_pyomo(m).variables]
    assert sorted(names) == sorted(expected)
    own = [n for n in expected if "." not in n or n.startswith("x")]
    assert [n for n in names if n in own] == own


def test_unused_variables_are_kept_and_sparse_ones_not_invented() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2, 3], bounds=(0, 1), dense=False)
    m.y = pyo.Var(bounds=(0, 1))
    m.c = pyo.Constraint(expr=m.x[2] <= 0.5)
    assert sorted(variables(m)) == ["x[2]", "y"]


def test_fixed_variables_are_constants_whatever_their_domain_and_bounds() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    m.far = pyo.Var(bounds=(0, 1))
    m.n.fix(3)
    m.far.fix(7.5)
    m.c = pyo.Constraint(expr=m.n * m.x + m.far <= 10)
    v = variables(m)
    assert (v["n"].lower[0], v["n"].upper[0]) == (3, 3)
    assert (v["far"].lower[0], v["far"].upper[0]) == (7.5, 7.5)
    assert row_values(archeng.from_pyomo(m), [0.5, 3, 7.5])["c"] == 9
    m.n.unfix()
    m.n.domain = pyo.Reals
    assert variables(m)["n"].upper[0] == 9


def test_references_are_the_variables_they_refer_to() -> None:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1, 2])
    for i in (1, 2):
        m.b[i].v = pyo.Var(bounds=(0, i))
        m.b[i].c = pyo.Constraint(expr=m.b[i].v <= 0.5 * i)
    m.r = pyo.Reference(m.b[:].v)
    m.rc = pyo.Reference(m.b[:].c)
    m.sum = pyo.Constraint(expr=m.r[1] + m.r[2] >= 1)
    model = assert_same_rows(m)
    assert [v.name for v in model.variables] == ["b[1].v", "b[2].v"]
    assert [c.name for c in model.constraints] == ["sum", "b[1].c", "b[2].c"]


def test_a_reference_to_different_kinds_is_no_obstacle() -> None:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1, 2])
    m.b[1].v = pyo.Var(bounds=(0, 1))
    m.b[2].v = pyo.Param(initialize=3)
    m.r = pyo.Reference(m.b[:].v)
    m.empty = pyo.Reference([])
    assert list(variables(m)) == ["b[1].v"]


def test_deactivated_blocks_are_skipped_but_their_variables_used_elsewhere_are_not() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.b = pyo.Block([1, 2, 3])
    for i in (1, 2, 3):
        m.b[i].v = pyo.Var(bounds=(0, i))
        m.b[i].s = pyo.Block()
        m.b[i].s.w = pyo.Var(domain=pyo.Integers)
        m.b[i].s.deactivate()
        m.b[i].c = pyo.Constraint(expr=m.b[i].v <= 0.5)
    m.b[2].deactivate()
    m.b[3].deactivate()
    m.c = pyo.Constraint(expr=m.x + m.b[3].v <= 1)
    model = assert_same_rows(m)
    assert [v.name for v in model.variables] == ["x", "b[1].v", "b[3].v"]
    assert [c.name for c in model.constraints] == ["c", "b[1].c"]


@pytest.mark.parametrize("indexed", [False, True])
def test_a_sub_block_with_variables_from_outside(indexed: bool) -> None:
    m = pyo.ConcreteModel(name="whole")
    m.x = pyo.Var(bounds=(0, 1))
    m.other = pyo.Var(domain=pyo.Integers)
    m.b = pyo.Block([1, 2]) if indexed else pyo.Block()
    block = m.b[1] if indexed else m.b
    block.y = pyo.Var(bounds=(0, 2))
    block.inner = pyo.Block()
    block.inner.c = pyo.Constraint(expr=block.y * m.x <= 1)
    m.c = pyo.Constraint(expr=m.x >= 0.5)
    model = archeng.from_pyomo(block)
    prefix = "b[1]" if indexed else "b"
    assert model.name == prefix
    assert [v.name for v in model.variables] == [f"{prefix}.y", "x"]
    assert row_values(model, [2.0, 0.25]) == {f"{prefix}.inner.c": 0.5}


# -- units, starts, scales -------------------------------------------------------------------


def test_units_are_shown_and_numbers_of_units_are_converted_by_pyomo() -> None:
    m = pyo.ConcreteModel()
    m.l = pyo.Var(bounds=(0, 5), units=u.m)
    m.w = pyo.Var([1, 2], bounds=(0, 5), units=u.kg / u.s**2)
    m.plain = pyo.Var(bounds=(0, 1))
    m.p = pyo.Param(initialize=3.0, mutable=True, units=u.cm)
    m.c = pyo.Constraint(expr=u.convert(m.l, to_units=u.cm) + m.p <= 250 * u.cm)
    m.d = pyo.Constraint(expr=m.l / (2 * u.m) <= 1.5)
    v = variables(m)
    assert v["l"].unit == str(u.m) == "m"
    assert v["w[2]"].unit == str(u.kg / u.s**2)
    assert v["plain"].unit == ""
    model = assert_same_rows(m)
    values = row_values(model, [1.5, 0, 0, 0])
    assert values["c"] == pytest.approx(153, rel=1e-12)
    limits = {c.name: c.rows[0].upper for c in model.constraints}
    assert limits == {"c": 250, "d": 1.5}
    assert " m" in str(model)


def test_initial_values_are_the_start_also_outside_the_bounds() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1), initialize=0.25)
    m.out = pyo.Var(bounds=(0, 1))
    m.out.set_value(3, skip_validation=True)
    m.none = pyo.Var(bounds=(0, 1))
    v = variables(m)
    assert (v["x"].start[0], v["out"].start[0]) == (0.25, 3)
    assert np.isnan(v["none"].start[0])
    assert np.isnan(v["x"].scale[0])


@pytest.mark.parametrize(
    ("bounds", "value", "start", "scale"),
    [
        (None, None, 0, 0.2),
        (None, 30, 30, 6),
        (None, -30, -30, 6),
        (None, 0.01, 0.01, 0.2),
        ((5, None), None, 5, 1),
        ((None, -5), None, -5, 1),
        ((-5, None), None, 0, 0.2),
    ],
)
def test_without_both_bounds_start_and_scale_are_guessed(
    bounds: Any, value: Any, start: float, scale: float, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="archeng"):
        v = one(pyo.Reals, bounds, initialize=value)
    assert (v.start[0], v.scale[0]) == (start, pytest.approx(scale))
    assert any("x" in r.message and "bounds" in r.message for r in caplog.records)


def test_scales_come_from_the_argument_before_the_suffix_before_the_value() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2, 3], initialize=10)
    m.b = pyo.Block()
    m.b.y = pyo.Var()
    m.b.w = pyo.Var([1, 2])
    m.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    m.scaling_factor[m.x[1]] = 0.01
    m.scaling_factor[m.x[2]] = -0.5
    m.b.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    m.b.scaling_factor[m.b.y] = 4
    m.b.scaling_factor[m.b.w] = 10  # the whole container
    v = variables(m, scale={"x[1]": 7})
    assert v["x[1]"].scale[0] == 7
    assert v["x[2]"].scale[0] == pytest.approx(2 / 5)
    assert v["x[3]"].scale[0] == pytest.approx(10 / 5)
    assert v["b.y"].scale[0] == pytest.approx(1 / 20)
    assert v["b.w[2]"].scale[0] == pytest.approx(1 / 50)


def test_scale_of_a_bounded_variable_and_wrong_names() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    assert variables(m, scale={"x": 0.01})["x"].scale[0] == 0.01
    with pytest.raises(ModelError, match="nope"):
        archeng.from_pyomo(m, scale={"x": 1, "nope": 2})
    with pytest.raises(ModelError, match="scale"):
        archeng.from_pyomo(m, scale={"x": -1})
