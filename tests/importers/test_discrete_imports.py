"""Integers, binaries, discrete sets and disjunctions from other packages."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import problems, row_values, write_nl
from pyomo.gdp import Disjunct, Disjunction

import archeng
from archeng.errors import ModelError
from archeng.model import ModelValues, Variable, compile_model, from_scipy
from archeng.model.domain import Kind


def variable(m: Any, name: str) -> Variable:
    return next(v for v in archeng.from_pyomo(m).variables if v.name == name)


# -- domains of Pyomo ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "bounds", "kind", "limits"),
    [
        (pyo.Integers, (0.2, 5.7), Kind.INTEGER, (1, 5)),
        (pyo.Integers, (-3, 4), Kind.INTEGER, (-3, 4)),
        (pyo.NonNegativeIntegers, (None, 6), Kind.INTEGER, (0, 6)),
        (pyo.NegativeIntegers, (-4, None), Kind.INTEGER, (-4, -1)),
        (pyo.Binary, None, Kind.BINARY, (0, 1)),
        (pyo.Boolean, None, Kind.BINARY, (0, 1)),
        (pyo.Integers, (0, 1), Kind.BINARY, (0, 1)),
        (pyo.RangeSet(2, 6), None, Kind.INTEGER, (2, 6)),
        (pyo.RangeSet(2, 6), (3, 99), Kind.INTEGER, (3, 6)),
        (pyo.RangeSet(1, 10, 3), None, Kind.CHOICE, (1, 10)),
        (pyo.RangeSet(0, 2, 0.5), (0.4, 9), Kind.CHOICE, (0.5, 2)),
        (pyo.RangeSet(0, None, 2), (3, 9), Kind.CHOICE, (4, 8)),
    ],
)
def test_domains(domain: Any, bounds: Any, kind: Kind, limits: tuple[float, float]) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.v = pyo.Var(domain=domain, bounds=bounds)
    m.o = pyo.Objective(expr=m.x + m.v)
    found = variable(m, "v")
    assert found.domain.kind is kind
    assert (found.lower[0], found.upper[0]) == limits


def test_sets_of_numbers_are_choices_and_starts_are_the_nearest_values() -> None:
    m = pyo.ConcreteModel()
    m.plates = pyo.Set(initialize=[8, 4, 6.5, 12])
    m.t = pyo.Var(domain=m.plates, bounds=(5, None), initialize=7.5)
    m.whole = pyo.Var(domain=pyo.Set(initialize=[3, 4, 5]), initialize=4.4)
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 9), initialize=3.6)
    model = archeng.from_pyomo(m)
    t, whole, n = model.variables
    assert t.domain.choices == (6.5, 8, 12)
    assert t.start.tolist() == [8]
    assert whole.domain.kind is Kind.INTEGER
    assert whole.start.tolist() == [4]
    assert n.start.tolist() == [4]
    lattice = compile_model(model).lattice
    assert lattice is not None
    assert [each.tolist() for each in lattice.levels] == [[6.5, 8, 12], [3, 4, 5], list(range(10))]


def test_integers_without_bounds_are_bounded_by_rows_or_named() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4))
    m.n = pyo.Var(domain=pyo.NonNegativeIntegers)
    m.c = pyo.Constraint(expr=2 * m.n + m.x <= 9)
    m.o = pyo.Objective(expr=m.x)
    lattice = compile_model(archeng.from_pyomo(m)).lattice
    assert lattice is not None
    assert lattice.levels[0].tolist() == [0, 1, 2, 3, 4]
    m.c.deactivate()
    with pytest.raises(ModelError, match=r"Integer 'n': needs a lower and an upper bound"):
        archeng.solve(m, max_evaluations=5)


def test_fixed_integers_keep_any_value() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4))
    m.n = pyo.Var(domain=pyo.Integers)
    m.n.fix(2.5)
    fs = compile_model(archeng.from_pyomo(m))
    assert fs.lattice is None
    assert fs.template.tolist() == [0, 2.5]


def test_values_are_loaded_as_whole_numbers() -> None:
    m = pyo.ConcreteModel()
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    m.x = pyo.Var(bounds=(0, 9))
    ModelValues(m, ["n", "x"]).set({"n": 3.0, "x": 3.0})
    assert type(m.n.value) is int
    assert type(m.x.value) is float


def test_equalities_do_not_eliminate_discrete_variables() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4))
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 20))
    m.f = pyo.ExternalFunction(function=lambda a: a**2)
    m.c = pyo.Constraint(expr=m.n == 2 * m.f(m.x))
    m.o = pyo.Objective(expr=m.x)
    model = archeng.from_pyomo(m)
    assert [v.name for v in model.variables] == ["x", "n"]
    assert [c.name for c in model.simulated] == ["c"]


# -- disjunctions -------------------------------------------------------------------------------


def two_branches(xor: bool = True) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.y = pyo.Var(bounds=(-5, 5))
    m.low, m.high = Disjunct(), Disjunct()
    m.low.c = pyo.Constraint(expr=m.x**2 <= 9)
    m.low.e = pyo.Constraint(expr=m.y == 1)
    m.high.c = pyo.Constraint(expr=pyo.log(m.y) + m.x >= 7)
    m.either = Disjunction(expr=[m.low, m.high], xor=xor)
    m.o = pyo.Objective(expr=m.x)
    return m


@pytest.mark.parametrize("xor", [True, False])
def test_disjunctions_have_their_exact_meaning(xor: bool) -> None:
    model = archeng.from_pyomo(two_branches(xor))
    names = [v.name for v in model.variables]
    assert names == ["x", "y", "low.binary_indicator_var", "high.binary_indicator_var"]
    assert [v.domain.kind for v in model.variables[2:]] == [Kind.BINARY] * 2
    fs = compile_model(model)
    seen = set()
    for x, y, low, high in itertools.product((0, 2, 6, 8), (-1, 1, 2), (0, 1), (0, 1)):
        expected = low + high == 1 if xor else low + high >= 1
        expected &= not low or (x**2 <= 9 and y == 1)
        expected &= not high or (y > 0 and np.log(max(y, 1)) + x >= 7)
        design = np.array([x, y, low, high], dtype=float)
        assert fs.is_feasible(design) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_nested_disjunctions() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.a, m.b = Disjunct(), Disjunct()
    m.a.inner1, m.a.inner2 = Disjunct(), Disjunct()
    m.a.inner1.c = pyo.Constraint(expr=m.x <= 1)
    m.a.inner2.c = pyo.Constraint(expr=m.x >= 9)
    m.a.either = Disjunction(expr=[m.a.inner1, m.a.inner2])
    m.b.c = pyo.Constraint(expr=m.x == 5)
    m.either = Disjunction(expr=[m.a, m.b])
    m.o = pyo.Objective(expr=m.x)
    model = archeng.from_pyomo(m)
    fs = compile_model(model)
    names = [v.name.split(".binary")[0] for v in model.variables]

    def feasible(x: float, *chosen: str) -> bool:
        return fs.is_feasible(np.array([x, *(float(n in chosen) for n in names[1:])]))

    assert feasible(0.5, "a", "a.inner1")
    assert feasible(9.5, "a", "a.inner2")
    assert not feasible(5, "a", "a.inner1")
    assert not feasible(0.5, "a")
    assert not feasible(0.5, "a", "a.inner1", "a.inner2")
    assert feasible(5, "b")
    assert not feasible(4, "b")


def test_the_same_designs_as_by_big_m() -> None:
    ours = compile_model(archeng.from_pyomo(two_branches()))
    m = two_branches()
    m.y.setlb(0.5)
    pyo.TransformationFactory("gdp.bigm").apply_to(m)
    theirs = compile_model(archeng.from_pyomo(m))
    assert theirs.lattice is not None
    both = [ours.free_names.index(name) for name in theirs.free_names]
    count = 0
    for x, y, k in itertools.product(np.linspace(0, 10, 21), (0.5, 1, 4), (0, 1)):
        design = np.array([x, y, k, 1 - k])
        assert ours.is_feasible(design) == theirs.is_feasible(design[both])
        count += ours.is_feasible(design)
    assert 5 < count < 100


def test_indicators_of_fixed_and_deactivated_disjuncts() -> None:
    m = two_branches()
    m.high.deactivate()
    fs = compile_model(archeng.from_pyomo(m))
    assert "high.c" not in [row.name for row in fs.rows]
    m = two_branches()
    m.low.indicator_var.fix(True)
    rows = {row.name: row.equality for row in compile_model(archeng.from_pyomo(m)).rows}
    assert rows["low.c"] is False


def test_disjuncts_in_no_disjunction_are_a_problem() -> None:
    m = two_branches()
    m.either.deactivate()
    assert set(problems(m)) == {"low", "high"}
    assert "in no disjunction" in problems(m)["low"][0]


def test_values_of_indicators_are_loaded() -> None:
    m = two_branches()
    names = ["x", "low.binary_indicator_var", "high.binary_indicator_var"]
    ModelValues(m, names).set(dict(zip(names, (2.0, 1.0, 0.0), strict=True)))
    assert m.low.indicator_var.value is True
    assert m.high.indicator_var.value is False


def test_logical_constraints_after_their_transformation() -> None:
    m = two_branches()
    m.flag = pyo.BooleanVar()
    m.rule = pyo.LogicalConstraint(expr=m.flag.implies(m.low.indicator_var))
    found = problems(m)
    assert set(found) == {"flag", "rule"}
    assert "logical_to_linear" in found["rule"][0]
    pyo.TransformationFactory("core.logical_to_linear").apply_to(m)
    fs = compile_model(archeng.from_pyomo(m))
    k = [i for i, name in enumerate(fs.free_names) if "flag" in name]
    assert len(k) == 1
    order = ["x", "y", "low.binary_indicator_var", "high.binary_indicator_var"]
    for low, flag in itertools.product((0, 1), repeat=2):
        design = np.zeros(fs.n)
        for name, value in zip(order, (2 if low else 9, 1, low, 1 - low), strict=True):
            design[fs.free_names.index(name)] = value
        design[k] = flag
        assert fs.is_feasible(design) == (not flag or low == 1)


# -- .nl files, CasADi, SciPy ---------------------------------------------------------------------


def mixed() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4))
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0.5, 6), initialize=2.4)
    m.k = pyo.Var(domain=pyo.Integers, bounds=(-2, 2))
    m.b = pyo.Var(domain=pyo.Binary)
    m.c = pyo.Constraint(expr=m.x * m.n + m.b <= 9)
    m.d = pyo.Constraint(expr=m.x + m.k >= 1)
    m.o = pyo.Objective(expr=(m.n - 3) ** 2 + m.x + m.b)
    return m


def test_nl_files_have_the_same_variables_and_rows(tmp_path: Path) -> None:
    ours = archeng.from_pyomo(mixed())
    theirs = archeng.from_nl(write_nl(mixed(), tmp_path))
    there = {v.name: v for v in theirs.variables}
    assert set(there) == {"x", "n", "k", "b"}
    for v in ours.variables:
        other = there[v.name]
        assert (v.domain, v.lower[0], v.upper[0]) == (other.domain, other.lower[0], other.upper[0])
    assert there["n"].lower.tolist() == [1]
    assert there["n"].start.tolist() == [2]
    design = {"x": 1.5, "n": 4.0, "k": -1.0, "b": 1.0}
    at = [row_values(model, model.flat(design)) for model in (ours, theirs)]
    assert at[0] == pytest.approx(at[1])


def test_vectors_of_an_opti() -> None:
    opti = ca.Opti()
    n, x = opti.variable(3), opti.variable()
    opti.set_domain(n, "integer")
    opti.subject_to(opti.bounded(0.5, n, 4.5))
    opti.subject_to(opti.bounded(0, x, 1))
    opti.set_initial(n, [1.2, 2.7, 9])
    model = archeng.from_opti(opti, names=["n", "x"])
    assert [v.domain.kind for v in model.variables] == [Kind.INTEGER, Kind.REAL]
    assert model.variables[0].start.tolist() == [1, 3, 9]
    lattice = compile_model(model).lattice
    assert lattice is not None
    assert [each.tolist() for each in lattice.levels] == [[1, 2, 3, 4]] * 3


def test_integrality_as_in_scipy() -> None:
    bounds = [(0, 5.5), (0.5, 3), (0, 1)]
    model = from_scipy([1.3, 1.2, 0.4], bounds=bounds, integrality=[1, 0, True])
    assert [v.name for v in model.variables] == ["x[0]", "x[1]", "x[2]"]
    assert [v.domain.kind for v in model.variables] == [Kind.INTEGER, Kind.REAL, Kind.INTEGER]
    assert model.variables[0].start.tolist() == [1]
    (whole,) = from_scipy([1.3, 1.2, 0.4], bounds=bounds, integrality=1).variables
    assert whole.lower.tolist() == [0, 1, 0]
    assert whole.upper.tolist() == [5, 3, 1]
    (real,) = from_scipy([1.3, 1.2, 0.4], bounds=bounds, integrality=[0, 0, 0]).variables
    assert real.domain.kind is Kind.REAL
    names = from_scipy([1.3, 2], bounds=bounds[:2], integrality=[1, 0], names=["a", "b"])
    assert [v.name for v in names.variables] == ["a", "b"]
    for wrong, match in (
        ([2, 0, 0], "semi-continuous variables are not supported"),
        (3, "semi-continuous"),
        ([0.5, 0, 0], "must be 0 .real. or 1 .integer., got 0.5"),
        ([1, 0], "must be a number or have 3 entries"),
    ):
        with pytest.raises(ModelError, match=match):
            from_scipy([1, 1, 0], bounds=bounds, integrality=wrong)
    with pytest.raises(ModelError, match="needs a lower and an upper bound"):
        compile_model(from_scipy([1.0, 1.0], integrality=[1, 0]))
