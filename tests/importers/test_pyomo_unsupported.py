"""What cannot be imported is reported at once, by full name; what is switched off is fine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest
from importer_helpers import assert_same_rows, base_model, problems
from pyomo.dae import ContinuousSet, DerivativeVar, Integral
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements
from pyomo.network import Arc, Port

import archeng

Build = Callable[[Any], Any]


# -- components ------------------------------------------------------------------------------


def sos(m: Any) -> None:
    m.v = pyo.Var([1, 2], bounds=(0, 1))
    m.bad = pyo.SOSConstraint([1, 2], var=m.v, sos=1, index={1: [1, 2], 2: [1, 2]})


def complementarity(m: Any) -> None:
    m.bad = Complementarity([1, 2], rule=lambda b, i: complements(b.x >= i, b.y >= 1))


def disjunct(m: Any) -> None:
    m.bad = Disjunct([1, 2])
    m.bad[1].c = pyo.Constraint(expr=m.x <= 0.5)


def logical(m: Any) -> None:
    m.flag = pyo.BooleanVar([1, 2])
    m.bad = pyo.LogicalConstraint([1, 2], rule=lambda b, i: b.flag[i])


def boolean(m: Any) -> None:
    m.bad = pyo.BooleanVar([1, 2])


def semicontinuous(m: Any) -> None:
    m.bad = pyo.Var([1, 2], domain=pyo.Set(initialize=[0]) | pyo.RangeSet(2, 3, 0))


def second_objective(m: Any) -> None:
    m.first = pyo.Objective(expr=m.x)
    m.bad = pyo.Objective([1, 2], rule=lambda b, i: i * b.y)


COMPONENTS = [
    *(sos, complementarity, disjunct, logical, boolean, semicontinuous),
    second_objective,
]


@pytest.mark.parametrize("add", COMPONENTS, ids=lambda f: f.__name__)
def test_unsupported_components_at_any_depth(add: Build) -> None:
    m = base_model()
    m.blk = pyo.Block([1, 2])
    for i in (1, 2):
        m.blk[i].inner = pyo.Block()
        inner = m.blk[i].inner
        inner.x, inner.y = pyo.Reference(m.x), pyo.Reference(m.y)
    inner = m.blk[2].inner
    del inner.x, inner.y
    inner.x, inner.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    add(inner)
    found = problems(m, objective=add is second_objective)
    assert any(name.startswith("blk[2].inner.bad") for name in found)


def _fix_or_deactivate(data: Any) -> None:
    data.fix(1) if hasattr(data, "fix") else data.deactivate()


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "one by one"])
@pytest.mark.parametrize("add", COMPONENTS, ids=lambda f: f.__name__)
def test_fixed_and_deactivated_ones_are_no_obstacle(add: Build, whole: bool) -> None:
    m = base_model()
    add(m)
    for name in ("bad", "flag", "one", "two"):
        component = m.component(name)
        if component is not None:
            for data in [component] if whole else list(component.values()):
                _fix_or_deactivate(data)
    archeng.from_pyomo(m, objective=add is second_objective)


@pytest.mark.parametrize("kind", ["constraint", "variable"])
def test_a_component_called_fixed_does_not_hide_its_disjunct(kind: str) -> None:
    m = base_model()
    m.bad = Disjunct()
    m.bad.fixed = pyo.Constraint(expr=m.x >= 0.5) if kind == "constraint" else pyo.Var()
    assert list(problems(m)) == ["bad"]


def test_one_element_that_is_left_on_is_reported() -> None:
    m = base_model()
    semicontinuous(m)
    m.bad[1].fix(2)
    assert list(problems(m)) == ["bad[2]"]
    m.bad[2].fix(2)
    m.bad[1].unfix()
    assert list(problems(m)) == ["bad[1]"]
    archeng.from_pyomo(base_model())


def test_inside_a_deactivated_block_nothing_is_reported() -> None:
    m = base_model()
    m.blk = pyo.Block()
    m.blk.x, m.blk.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    for add in (sos, boolean, semicontinuous, complementarity):
        add(m.blk)
        m.blk.deactivate()
        archeng.from_pyomo(m)
        m.blk.activate()
        problems(m)
        m.blk.del_component("bad")
        m.blk.del_component("v")


def test_disjuncts_fixed_by_pyomo() -> None:
    m = base_model()
    m.one, m.two = Disjunct(), Disjunct()
    m.one.c = pyo.Constraint(expr=m.x <= 0.5)
    m.two.c = pyo.Constraint(expr=m.x >= 0.5)
    m.choice = Disjunction(expr=[m.one, m.two])
    m.one.indicator_var.fix(True)
    m.two.indicator_var.fix(False)
    pyo.TransformationFactory("gdp.fix_disjuncts").apply_to(m)
    assert [c.name for c in archeng.from_pyomo(m).constraints] == ["one.c"]


def test_complementarity_reformulated_by_pyomo() -> None:
    m = base_model()
    complementarity(m)
    pyo.TransformationFactory("mpec.simple_nonlinear").apply_to(m)
    assert_same_rows(m)


@pytest.mark.parametrize("method", ["dae.finite_difference", "dae.collocation"])
def test_differential_equations_before_and_after_discretising(method: str) -> None:
    m = base_model()
    m.t = ContinuousSet(bounds=(0, 1))
    m.s = pyo.Var(m.t, bounds=(0, 5))
    m.ds = DerivativeVar(m.s, wrt=m.t)
    m.ode = pyo.Constraint(m.t, rule=lambda b, t: b.ds[t] == -b.s[t])
    m.area = Integral(m.t, wrt=m.t, rule=lambda b, t: b.s[t])
    m.limit = pyo.Constraint(expr=m.area <= 3)
    found = problems(m)
    assert {"ds", "area"} <= set(found)
    assert "discret" in found["ds"][0]
    pyo.TransformationFactory(method).apply_to(m, nfe=2)
    assert_same_rows(m)


def test_arcs_before_and_after_expanding() -> None:
    m = base_model()
    m.u = pyo.Block([1, 2])
    for i in (1, 2):
        m.u[i].f = pyo.Var(bounds=(0, 3))
        m.u[i].port = Port(initialize={"f": m.u[i].f})
    m.arc = Arc(source=m.u[1].port, dest=m.u[2].port)
    assert list(problems(m)) == ["arc"]
    assert "expand_arcs" in problems(m)["arc"][0]
    pyo.TransformationFactory("network.expand_arcs").apply_to(m)
    (row,) = assert_same_rows(m).constraints
    assert row.rows[0].lower == row.rows[0].upper == 0


def test_several_objectives_matter_only_if_one_is_wanted() -> None:
    m = base_model()
    second_objective(m)
    archeng.from_pyomo(m)
    assert archeng.solve(m, lambda d: d["x"], max_evaluations=3, seed=1).nfev == 3
    assert set(problems(m, objective=True)) == {"bad[1]", "bad[2]"}


def test_all_at_once() -> None:
    m = base_model()
    for k, add in enumerate([sos, complementarity, disjunct, logical, boolean, semicontinuous]):
        m.add_component(f"k{k}", pyo.Block())
        block = m.component(f"k{k}")
        block.x, block.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
        add(block)
    m.u = pyo.Param(mutable=True, within=pyo.Reals)
    m.c = pyo.Constraint(expr=m.x**m.u <= 1)
    m.d = pyo.Constraint(expr=m.u * m.x <= 1)
    found = problems(m)
    assert {f"k{k}.bad" for k in range(5)} <= set(found)
    assert {"k5.bad[1]", "k5.bad[2]", "c", "d"} <= set(found)
