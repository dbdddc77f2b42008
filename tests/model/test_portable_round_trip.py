"""Models as plain data and back: the very same numbers, whatever the formula."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from runtime_helpers import bowl, table_model

import archeng
from archeng import Model
from archeng.errors import ModelError
from archeng.model import compile_model, from_data, to_data

UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfinv",
    "exp", "expm1", "fabs", "floor", "log", "log10", "log1p", "logic_not", "sign", "sin", "sinh",
    "sqrt", "tan", "tanh",
]  # fmt: skip
BINARY = [
    "atan2", "constpow", "copysign", "eq", "fmax", "fmin", "fmod", "ge", "gt", "hypot",
    "if_else_zero", "le", "logic_and", "logic_or", "lt", "minus", "ne", "plus", "power",
    "rdivide", "remainder", "times",
]  # fmt: skip
N = 4  # scalar variables
POINTS = np.array(
    [
        [0.3, -0.7, 2.0, 0.5],
        [1.0, 1.0, 1.0, 1.0],
        [-0.0, 0.0, -0.0, 0.0],
        [1e-300, -1e300, 5e-324, 0.1],
        [-2.5, 3.5, -0.5, 100.0],
        [np.pi, np.e, 1 / 3, -1 / 7],
    ]
)
OWN = {
    "if_else_zero": lambda a, b: ca.if_else(a, b, 0),
    "constpow": lambda a, b: ca.constpow(a, 1.7),
}


def apply(name: str, *operands: Any) -> Any:
    return OWN[name](*operands) if name in OWN else getattr(ca, name)(*operands)


@st.composite
def formulas(draw: st.DrawFn) -> Any:
    """A function of N symbols: lists of (operation, operands) that share subexpressions."""
    steps = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(UNARY), st.integers(0, 10**6)),
                st.tuples(st.sampled_from(BINARY), st.integers(0, 10**6), st.integers(0, 10**6)),
                st.tuples(st.just("number"), st.floats(-10, 10)),
            ),
            min_size=1,
            max_size=15,
        )
    )

    def build(symbols: Any) -> list[Any]:
        nodes = [symbols[i] for i in range(N)]
        for name, *operands in steps:
            if name == "number":
                nodes.append(type(symbols)(operands[0]))
            else:
                nodes.append(apply(name, *(nodes[k % len(nodes)] for k in operands)))
        return nodes[N:]

    return build


def model_of(build: Any, kind: str = "SX") -> Model:
    model = Model("random", symbols=kind)
    a = model.variable("a", lower=-10, upper=10)
    b = model.variable("b", shape=2, lower=[-1, -2], upper=[1, 2], start=0.5, unit="mm")
    c = model.variable("c", lower=0, start=1.0, scale=0.1)
    nodes = build(ca.vertcat(a, b, c))
    try:
        for k, node in enumerate(nodes):
            # A relation is no plain expression: three times it is one.
            model.subject_to(3.0 * node, lower=-1.5 * k, upper=k + 0.1, name=f"row {k}")
        model.set_objective(nodes[-1], "maximize")
    except ModelError:
        assume(False)
    return model


def values(model: Model) -> bytes:
    """Every row and the objective at the points, bit for bit (all NaN are one)."""
    rows = [r.expression for c in model.constraints for r in c.rows]
    function = ca.Function("f", [model.symbols], [ca.vertcat(*rows, model.objective)])
    table = np.array([np.asarray(function(p)).reshape(-1) for p in POINTS])
    table[np.isnan(table)] = np.nan
    return table.tobytes()


def stored(model: Model) -> Any:
    data = to_data(model)
    assert data is not None
    return json.loads(json.dumps(data))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(formulas())
def test_random_formulas_keep_every_bit(build: Any) -> None:
    model = model_of(build)
    data = stored(model)
    again = from_data(data)
    assert values(again) == values(model)
    assert stored(again) == data
    assert again.objective_sense == "maximize"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(formulas())
def test_random_formulas_with_mx_symbols(build: Any) -> None:
    model = model_of(build, "MX")
    data = to_data(model)
    assume(data is not None)
    assert values(from_data(json.loads(json.dumps(data)))) == values(model)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_each_operation(name: str, kind: str) -> None:
    count = 1 if name in UNARY else 2
    model = model_of(lambda s: [apply(name, *(s[i] for i in range(count)))], kind)
    again = from_data(stored(model))
    assert values(again) == values(model)
    if kind == "SX":  # CasADi differentiates MX in another order: another last digit
        np.testing.assert_array_equal(jacobian(again), jacobian(model))


def jacobian(model: Model) -> Any:
    derivatives = ca.densify(ca.jacobian(model.objective, model.symbols))
    function = ca.Function("j", [model.symbols], [derivatives])
    return np.array([np.asarray(function(p)).reshape(-1) for p in POINTS])


@pytest.mark.parametrize("number", [0.1, -0.0, 5e-324, 5e307, 1 / 3, 10**15])
def test_numbers_keep_every_bit(number: float) -> None:
    model = model_of(lambda s: [s[0] + number, number * s[1]])
    assert values(from_data(stored(model))) == values(model)


def test_variables_come_back_as_they_were() -> None:
    model = Model("all kinds")
    model.variable("free", start=0.1, scale=1 / 3)
    model.variable("fixed", lower=2, upper=2, unit="Ω")
    model.variable("vector", shape=3, lower=[-1, -np.inf, 0], upper=[np.inf, 1, 0.1], start=0,
                   scale=1)  # fmt: skip
    m = model.variable("matrix", shape=(2, 3), lower=np.arange(6).reshape(2, 3), upper=9)
    model.subject_to(ca.sum2(ca.sum1(m)) == 30, name="sum", tolerance=1e-9)
    again = from_data(stored(model))
    for mine, other in zip(again.variables, model.variables, strict=True):
        assert (mine.name, mine.shape, mine.unit) == (other.name, other.shape, other.unit)
        for key in ("lower", "upper", "start", "scale"):
            assert getattr(mine, key).tobytes() == getattr(other, key).tobytes()
            assert not getattr(mine, key).flags.writeable
    for mine, other in zip(again.constraints, model.constraints, strict=True):
        assert (mine.name, mine.tolerance, mine.source) == (
            other.name, other.tolerance, other.source,
        )  # fmt: skip
        assert [(r.lower, r.upper) for r in mine.rows] == [(r.lower, r.upper) for r in other.rows]
    a, b = compile_model(again), compile_model(model)
    assert [str(r) for r in a.rows] == [str(r) for r in b.rows]


def test_a_model_without_constraints_and_rows_that_are_zero() -> None:
    model = Model("empty")
    model.variable("x", lower=0, upper=1)
    assert from_data(stored(model)).constraints == ()
    model = Model("sparse")
    x = model.variable("x", shape=3, lower=0, upper=1)
    matrix = ca.sparsify(ca.DM([[0, 0, 0], [2, 0, 0], [0, 0, 3]]))
    model.subject_to(ca.mtimes(matrix, x), upper=[1, 1, 2], name="rows")
    model.set_objective(x[1])
    again = from_data(stored(model))
    point = np.array([0.25, 0.5, 0.75])
    rows = [r.expression for r in again.constraints[0].rows]
    f = ca.Function("f", [again.symbols], [ca.vertcat(*rows, again.objective)])
    assert np.asarray(f(point)).reshape(-1).tolist() == [0.0, 0.5, 2.25, 0.5]


# -- what scalar formulas cannot say ---------------------------------------------------------


def with_call(kind: str) -> Model:
    """A model that calls a function which CasADi is told never to write out."""
    model = Model("call", symbols=kind)
    x = model.variable("x", shape=2, lower=-5, upper=5)
    s = x.sym("s")
    function = ca.Function("f", [s], [10 * ca.exp(s)], {"never_inline": True})
    model.subject_to(function(x[0]) <= x[1], name="call")
    return model


@pytest.mark.parametrize("make", [lambda: with_call("SX"), lambda: with_call("MX"), table_model])
def test_calls_and_tables_are_stored_exactly_or_not_at_all(make: Any) -> None:
    model = make()
    data = to_data(model)
    if data is not None:
        again = from_data(json.loads(json.dumps(data)))
        for point in ([0.5, 1.0], [1.5, 2.0], [1.0, 0.0]):
            mine = {v.name: v.value for v in again.violations(point)}
            assert mine == {v.name: v.value for v in model.violations(point)}


@pytest.mark.parametrize("make", [lambda: with_call("SX"), lambda: with_call("MX"), table_model])
def test_a_journal_never_leads_to_illegal_calls(make: Any, tmp_path: Path) -> None:
    """The promise of the package, for models that a journal may not be able to hold."""
    model = make()
    result = archeng.solve(
        model, lambda d: bowl(d) - 3 * d.x[0], journal=tmp_path / "run.db", seed=1,
        max_evaluations=40,
    )  # fmt: skip
    worst = max(model.violations(e.x).maximum for e in result.evaluations)
    assert worst == 0
    alone = archeng.solve(model, lambda d: bowl(d) - 3 * d.x[0], seed=1, max_evaluations=40)
    assert [e.x.tobytes() for e in alone.evaluations] == [e.x.tobytes() for e in result.evaluations]
