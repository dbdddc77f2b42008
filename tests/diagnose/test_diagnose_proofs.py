"""Interval arithmetic, contraction, linear programs of terms: nothing feasible is ruled out."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.diagnose.elastic import certified
from archeng.diagnose.graph import graph_of, guarded
from archeng.diagnose.intervals import EmptyError, forward, inner_box, proves_conflict
from archeng.diagnose.limits import LimitSystem, system_of
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.terms import TermProgram
from archeng.model import Model

UNARY = {
    ca.OP_NEG: np.negative,
    ca.OP_SQ: np.square,
    ca.OP_SQRT: np.sqrt,
    ca.OP_EXP: np.exp,
    ca.OP_LOG: np.log,
    ca.OP_INV: np.reciprocal,
    ca.OP_FABS: np.abs,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_TANH: np.tanh,
    ca.OP_ATAN: np.arctan,
    ca.OP_ASIN: np.arcsin,
    ca.OP_ACOS: np.arccos,
}
BINARY = {
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide,
    ca.OP_FMIN: np.minimum,
    ca.OP_FMAX: np.maximum,
    ca.OP_POW: np.power,
}
NUMBERS = st.floats(-30, 30, allow_nan=False)


def inside(value: float, interval: tuple[float, float]) -> bool:
    return interval[0] <= value <= interval[1]


@pytest.mark.parametrize("op", UNARY)
@given(a=NUMBERS, b=NUMBERS, t=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_ranges_of_one_number(op: int, a: float, b: float, t: float) -> None:
    low, high = min(a, b), max(a, b)
    x = min(max(low + t * (high - low), low), high)
    with np.errstate(all="ignore"):
        value = float(UNARY[op](x))
    if np.isfinite(value):
        assert inside(value, forward(op, [(low, high)]))


@pytest.mark.parametrize("op", BINARY)
@given(a=NUMBERS, b=NUMBERS, c=NUMBERS, d=NUMBERS, t=st.floats(0, 1), u=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_ranges_of_two_numbers(
    op: int, a: float, b: float, c: float, d: float, t: float, u: float
) -> None:
    first, second = (min(a, b), max(a, b)), (min(c, d), max(c, d))
    x = min(max(first[0] + t * (first[1] - first[0]), first[0]), first[1])
    y = min(max(second[0] + u * (second[1] - second[0]), second[0]), second[1])
    if op == ca.OP_POW:  # as CasADi uses it: a constant exponent, or a positive base
        second = (round(y), round(y)) if x < 0 else second
        y = second[0] if x < 0 else y
    with np.errstate(all="ignore"):
        value = float(BINARY[op](x, y))
    if np.isfinite(value):
        assert inside(value, forward(op, [first, second]))


def rows(x: list, numbers: np.random.Generator) -> list:
    """Random rows of three variables, of all sorts."""
    a = numbers.normal(size=6)
    return [
        a[0] * x[0] + a[1] * x[1] * x[2],
        ca.sqrt(x[0] + 1.1) * x[1] + a[2] * x[2] ** 3,
        ca.exp(a[3] * x[0] / 3) - x[1] / (x[2] + 2.5),
        (x[0] + 2) ** 1.7 + a[4] * ca.sin(x[1]) * x[2],
        ca.log(x[2] + 2) * (x[0] - a[5]) ** 2 - x[1],
    ]


def system_through(point: np.ndarray, seed: int) -> LimitSystem:
    """A system whose rows hold at a point with little room."""
    numbers = np.random.default_rng(seed)
    model = Model("through")
    x = [model.variable(f"x{i}", lower=-1, upper=3) for i in range(3)]
    expressions = rows(x, numbers)
    values = ca.Function("f", [ca.vertcat(*x)], [ca.vertcat(*expressions)])(point).full().ravel()
    for k, (e, v) in enumerate(zip(expressions, values, strict=True)):
        room = 1e-3 * numbers.random()
        model.subject_to(e, lower=v - room, upper=v + room, name=f"r{k}")
    return system_of(model, numbers)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_feasible_is_ruled_out(seed: int) -> None:
    point = np.random.default_rng(100 + seed).uniform(-1, 3, 3)
    system = system_through(point, seed)
    everything = np.ones(len(system.limits), dtype=bool)
    assert np.all(system.excess(point[None, :]) <= 0)
    assert not proves_conflict(system, everything, split=True)
    assert not TermProgram(system).proves_conflict(everything)
    box = inner_box(system)
    assert box is not None
    assert np.all(box[0] <= point)
    assert np.all(point <= box[1])
    assert np.all(box[1] - box[0] <= 4 + 1e-12)
    oracle = Oracle(system, system.sample(200, np.random.default_rng(0)), np.random.default_rng(0))
    assert oracle.ask(everything, 8).point is not None


def test_contraction_finds_the_corner() -> None:
    model = Model("corner")
    x = model.variable("x", lower=0, upper=10)
    y = model.variable("y", lower=0, upper=10)
    model.subject_to(ca.exp(x) * y >= 8, name="a")
    model.subject_to(x**2 <= 0.25, name="b")
    box = inner_box(system_of(model, np.random.default_rng(0)))
    assert box is not None
    assert box[1][0] == pytest.approx(0.5)
    assert box[0][1] == pytest.approx(8 / np.exp(0.5))


def test_certificates_are_checked() -> None:
    a, b = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -2.0])  # sum <= 1, sum >= 2
    free = np.full(2, np.inf)
    assert certified(a, b, -free, free, np.array([1.0, 1.0]))
    assert not certified(a, b, -free, free, np.array([1.0, 0.9]))  # not a proof
    assert not certified(a, np.array([1.0, -1.0]), -free, free, np.array([1.0, 1.0]))  # no gap
    assert not certified(a, b, -free, free, np.zeros(2))
    one = np.array([[1.0, 0.0]])  # x <= 1 while x >= 2
    assert certified(one, np.array([1.0]), np.array([2.0, 0.0]), free, np.array([1.0]))


def test_empty_ranges_raise() -> None:
    for op, interval in ((ca.OP_SQRT, (-2.0, -1.0)), (ca.OP_LOG, (-1.0, 0.0))):
        with pytest.raises(EmptyError):
            forward(op, [interval])


@pytest.mark.parametrize(
    ("row", "guards"),
    [
        (lambda x: ca.sqrt(x - 1) + ca.log(x + 2), 2),
        (lambda x: ca.log(ca.sqrt(x) - 1), 2),
        (lambda x: (x - 1) ** 1.5 + x**3 + x**-2, 1),
        (lambda x: ca.asin(x / 3) + ca.acos(x), 2),
        (lambda x: ca.exp(x) * x**2, 0),
    ],
)
def test_guards_and_what_lies_behind(row: object, guards: int) -> None:
    x = ca.SX.sym("x", 1)
    assert callable(row)
    graph = graph_of(row(x), x)
    assert graph is not None
    safe, found = guarded(graph, x, lambda e: 1.0)
    assert len(found) == guards
    true = ca.Function("t", [x], [row(x)])
    both = ca.Function("s", [x], [safe, ca.jacobian(safe, x), *(g.argument for g in found)])
    for value in np.linspace(-5.03, 5.01, 41):
        result, slope, *arguments = (float(v) for v in both.call([value]))
        exact = float(true(value))
        assert np.isfinite(result)
        assert np.isfinite(slope)
        inside_all = all(g.lower < a < g.upper for g, a in zip(found, arguments, strict=True))
        assert inside_all is bool(np.isfinite(exact))
        if inside_all:
            assert result == pytest.approx(exact, rel=1e-9, abs=1e-9)
