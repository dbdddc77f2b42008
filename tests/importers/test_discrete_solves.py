"""Discrete models of other packages, solved: the simulator sees values that exist, and only these.

Whether a design is allowed is decided here by plain Python, not by the model.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import write_nl
from pyomo.gdp import Disjunct, Disjunction

import archeng
from archeng import Model

pytestmark = pytest.mark.slow

VESSEL = 6059.714335  # cost of the best pressure vessel in steps of 1/16 inch
OPTIONS = {"seed": 1, "max_evaluations": 200}


def cost(s: float, h: float, r: float, length: float) -> float:
    shell, head = 0.0625 * s, 0.0625 * h
    rolled = 0.6224 * shell * r * length + 3.1661 * shell**2 * length
    return rolled + 1.7781 * head * r**2 + 19.84 * shell**2 * r


def vessel() -> Any:
    m = pyo.ConcreteModel("vessel")
    m.s = pyo.Var(domain=pyo.Integers, bounds=(1, 99))
    m.h = pyo.Var(domain=pyo.RangeSet(1, 99))
    m.r, m.l = pyo.Var(bounds=(10, 200)), pyo.Var(bounds=(10, 200))
    m.hoop = pyo.Constraint(expr=0.0625 * m.s >= 0.0193 * m.r)
    m.cap = pyo.Constraint(expr=0.0625 * m.h >= 0.00954 * m.r)
    m.volume = pyo.Constraint(expr=math.pi * m.r**2 * m.l + 4 / 3 * math.pi * m.r**3 >= 1_296_000)
    m.o = pyo.Objective(expr=cost(m.s, m.h, m.r, m.l))
    return m


def check_vessel(s: float, h: float, r: float, length: float) -> None:
    assert s == round(s)
    assert h == round(h)
    assert min(0.0625 * s - 0.0193 * r, 0.0625 * h - 0.00954 * r) >= -1e-12
    assert math.pi * r**2 * length + 4 / 3 * math.pi * r**3 >= 1_296_000 * (1 - 1e-12)


def test_a_pyomo_model_with_a_simulator_that_takes_the_model() -> None:
    m, kinds = vessel(), set()

    def simulator(copy: Any) -> float:
        values = copy.s.value, copy.h.value, copy.r.value, copy.l.value
        check_vessel(*values)
        kinds.update((type(copy.s.value), type(copy.h.value)))
        return cost(*values)

    options = {**OPTIONS, "simulator_takes": "model"}
    result = archeng.solve(m, simulator, **options)
    assert kinds == {int}
    assert result.fun == pytest.approx(VESSEL, rel=1e-6)
    assert result.n_infeasible_calls == 0
    result.load_into(m)
    assert type(m.s.value) is int
    assert (m.s.value, m.h.value) == (13, 7)


def test_the_same_model_as_an_nl_file(tmp_path: Path) -> None:
    result = archeng.solve(write_nl(vessel(), tmp_path), **OPTIONS)
    assert result.fun == pytest.approx(VESSEL, rel=1e-6)
    assert type(result.design["s"]) is int
    for call in result.evaluations:
        design = dict(zip((v.name for v in result.variables), call.x.tolist(), strict=True))
        check_vessel(design["s"], design["h"], design["r"], design["l"])


def boxes() -> float:
    """Best of n1^2 + n2^2 + x^2 with n1 n2 + x >= 20, by trying all integers."""
    best = math.inf
    for a, b in itertools.product(range(10), repeat=2):
        x = max(0.0, 20.0 - a * b)
        best = min(best, a * a + b * b + x * x) if x <= 3 else best
    return best


def test_an_opti() -> None:
    opti = ca.Opti()
    n, x = opti.variable(2), opti.variable()
    opti.set_domain(n, "integer")
    opti.subject_to(opti.bounded(0, n, 9))
    opti.subject_to(opti.bounded(0, x, 3))
    opti.subject_to(n[0] * n[1] + x >= 20)
    opti.minimize(ca.sumsqr(n) + x**2)
    result = archeng.solve(opti, **OPTIONS)
    assert result.fun == pytest.approx(boxes(), abs=1e-4)
    assert result.design["x_1"].dtype.kind == "i"


def test_an_nlp_dictionary() -> None:
    x = ca.SX.sym("x", 3)
    nlp = {"x": x, "g": x[0] * x[1] + x[2], "f": ca.sumsqr(x)}
    limits = {"lbx": 0, "ubx": [9.7, 9, 3], "lbg": 20, "discrete": [True, True, False]}
    result = archeng.solve(nlp, **limits, **OPTIONS)
    assert result.fun == pytest.approx(boxes(), abs=1e-4)
    assert np.all(result.x[:2] == np.round(result.x[:2]))


def test_minimize_with_integrality() -> None:
    seen = []

    def objective(x: Any) -> float:
        seen.append(x)
        return float(x @ x)

    found = archeng.minimize(
        objective,
        [5.2, 4.9, 1.0],
        bounds=[(0, 9), (0, 9), (0, 3)],
        constraints={"type": "ineq", "fun": lambda x: x[0] * x[1] + x[2] - 20},
        integrality=[1, 1, 0],
        **OPTIONS,
    )
    assert found.fun == pytest.approx(boxes(), abs=1e-4)
    assert all(np.array_equal(x[:2], np.round(x[:2])) for x in seen)
    assert all(x[0] * x[1] + x[2] >= 20 for x in seen)


# -- conditions -----------------------------------------------------------------------------------


def branches() -> Any:
    m = pyo.ConcreteModel("branches")
    m.x, m.y = pyo.Var(bounds=(0, 10)), pyo.Var(bounds=(-5, 5))
    m.low, m.high = Disjunct(), Disjunct()
    m.low.c = pyo.Constraint(expr=m.x**2 + m.y**2 <= 4)
    m.low.e = pyo.Constraint(expr=m.y == 1)
    m.high.c = pyo.Constraint(expr=pyo.log(m.y) + m.x >= 7)
    m.either = Disjunction(expr=[m.low, m.high])
    m.price = pyo.Param(initialize=3, mutable=True)
    m.o = pyo.Objective(
        expr=(m.x - 4) ** 2 + (m.y - 1) ** 2 + m.price * m.high.binary_indicator_var
    )
    return m


@pytest.mark.parametrize(("price", "low"), [(3, True), (-8, False)])
def test_a_disjunction_by_the_solver_of_pyomo(price: float, low: bool) -> None:
    m = branches()
    m.price = price
    results = pyo.SolverFactory("archeng").solve(m, options=OPTIONS)
    assert m.low.indicator_var.value is low
    assert m.high.indicator_var.value is not low
    if low:
        expected = (math.sqrt(3) - 4) ** 2
        assert abs(m.y.value - 1) < 1e-6
    else:
        y = np.linspace(0.5, 5, 100_001)
        expected = float(np.min((3 - np.log(y)) ** 2 + (y - 1) ** 2)) + price
    assert pyo.value(m.o) == pytest.approx(expected, abs=1e-4)
    for call in results.archeng.evaluations:
        x, y, first, second = call.x.tolist()
        assert first + second == 1
        assert (x**2 + y**2 <= 4 and abs(y - 1) < 1e-6) if first else math.log(y) + x >= 7


def test_conditional_equalities_and_undefined_rows_with_a_black_box() -> None:
    model = Model("conditions")
    x = model.variable("x", lower=-2, upper=3)
    y = model.variable("y", lower=0, upper=4)
    b = model.binary("b")
    kind = model.category("kind", {"a": {"price": 3.0}, "b": {"price": 0.2}, "c": {"price": 1.5}})
    model.subject_to(x * y == 1, when=kind.is_("b"), name="hyperbola")
    model.subject_to(ca.sqrt(x) <= 1, when=b, name="root")
    model.subject_to(x + y >= 2, name="sum")
    width = model.constraints[0].half_widths[0]

    def simulator(design: Any) -> float:
        x, y = design["x"], design["y"]
        assert x + y >= 2
        assert design["kind"] != "b" or abs(x * y - 1) <= width
        assert design["b"] == 0 or 0 <= x <= 1
        return (x - 1.5) ** 2 + (y - 0.5) ** 2 + design["kind"]["price"] + design["b"]

    result = archeng.solve(model, simulator, **OPTIONS)
    t = np.linspace(0.5, 3, 100_001)
    expected = float(np.min((t - 1.5) ** 2 + (1 / t - 0.5) ** 2)) + 0.2
    assert result.fun == pytest.approx(expected, abs=1e-4)
    assert result.design["kind"] == "b"
    shown = {row.name: row for row in result.rows}
    assert math.isnan(shown["root"].value)
    assert not shown["root"].active
    assert shown["hyperbola (upper)"].value == pytest.approx(1, abs=1e-6)


def test_a_journal_of_a_model_with_conditions_goes_on_exactly(tmp_path: Path) -> None:
    def model() -> Model:
        m = Model("conditions")
        x, n = m.variable("x", lower=0, upper=5), m.integer("n", lower=0, upper=6)
        m.subject_to(x + n >= 4.3, when=n >= 2, name="enough")
        m.subject_to(x >= 4.6, when=n <= 1, name="wide")
        return m

    def simulator(design: Any) -> float:
        return float((design["x"] - 2) ** 2 + 0.7 * design["n"])

    whole = archeng.solve(model(), simulator, seed=2, max_evaluations=30)
    path = tmp_path / "run.db"
    archeng.solve(model(), simulator, seed=2, max_evaluations=9, journal=path)
    again = archeng.resume(path, simulator, max_evaluations=30)
    assert again.nfev == whole.nfev
    for a, b in zip(whole.evaluations, again.evaluations, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
    best = min((max(0.0, 4.3 - n - 2) ** 2 + 0.7 * n, n) for n in range(2, 7))
    assert whole.fun == pytest.approx(best[0], abs=1e-3)


def test_black_boxes_of_pyomo_with_integers() -> None:
    m = pyo.ConcreteModel("box")
    m.x = pyo.Var(bounds=(0, 4))
    m.n = pyo.Var(domain=pyo.Integers, bounds=(1, 6))
    calls = []

    def expensive(x: float, n: float) -> float:
        calls.append((x, n))
        return x**2 * n

    m.f = pyo.ExternalFunction(function=expensive)
    m.c = pyo.Constraint(expr=m.x + m.n >= 3.5)
    m.d = pyo.Constraint(expr=m.f(m.x, m.n) >= 4)
    m.o = pyo.Objective(expr=m.n + (m.x - 1) ** 2)
    result = archeng.solve(m, **OPTIONS)
    assert calls
    assert all(n == round(n) and x + n >= 3.5 for x, n in calls)
    result.load_into(m)
    assert type(m.n.value) is int
    assert m.x.value**2 * m.n.value >= 4 - 1e-6


def test_black_boxes_of_casadi_with_integers() -> None:
    class Squared(ca.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[list[float]] = []
            self.construct("squared", {"enable_fd": True})

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(2, 1)

        def eval(self, arguments: Any) -> Any:
            self.seen.append(arguments[0].full().reshape(-1).tolist())
            return [arguments[0][0] ** 2 + arguments[0][1]]

    box, x = Squared(), ca.MX.sym("x", 2)
    nlp = {"x": x, "g": ca.sum1(x), "f": box(x)}
    limits = {"lbx": 0, "ubx": [5, 4], "lbg": 5.5, "discrete": [True, False]}
    result = archeng.solve(nlp, black_boxes=[box], **limits, **OPTIONS)
    assert box.seen
    assert all(a == round(a) and a + b >= 5.5 for a, b in box.seen)
    best = min(a * a + max(0.0, 5.5 - a) for a in range(6) if 5.5 - a <= 4)
    assert result.fun == pytest.approx(best, abs=1e-4)
