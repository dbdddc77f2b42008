"""Pyomo models with many equations: solved, loaded back, and judged by Pyomo itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import minimize

import archeng
from archeng import Design
from archeng.model import compile_model

STEPS = 36


def rod() -> Any:
    """A rod that is heated in two stages and cools by itself, step by step, implicitly."""
    m = pyo.ConcreteModel("rod")
    m.first, m.second = (pyo.Var(bounds=(0, 40), initialize=10) for _ in range(2))
    m.begin = pyo.Var(bounds=(10, 40), initialize=20)
    m.t = pyo.Var(range(STEPS + 1), bounds=(0, 90), initialize=25)
    m.at_first = pyo.Constraint(expr=m.t[0] == m.begin)

    @m.Constraint(range(STEPS))
    def step(m: Any, i: int) -> Any:
        heat = m.first if 2 * i < STEPS else m.second
        loss = 0.2 * (m.t[i + 1] - 20) + 1e-5 * m.t[i + 1] ** 3
        return m.t[i + 1] - m.t[i] == (heat - loss) / 4

    m.even = pyo.Constraint(expr=m.t[STEPS] - m.t[STEPS // 2] <= 4)
    m.energy = pyo.Constraint(expr=m.first**2 + m.second**2 <= 500)
    return m


def with_cost(m: Any) -> Any:
    m.cost = pyo.Objective(
        expr=(m.t[STEPS] - 55) ** 2 / 10 + m.first**2 / 40 + m.second**2 / 20 + (m.begin - 25) ** 2
    )
    return m


def temperatures(u: Any) -> Any:
    """Return t (STEPS + 1,), by Newton's method one step after the other."""
    t = [u[2]]
    for i in range(STEPS):
        heat, x = (u[0] if 2 * i < STEPS else u[1]), t[-1]
        for _ in range(30):
            gap = x - t[-1] - (heat - 0.2 * (x - 20) - 1e-5 * x**3) / 4
            x -= gap / (1 + (0.2 + 3e-5 * x**2) / 4)
        t.append(x)
    return np.array(t)


def cost(u: Any, last: float) -> float:
    return float((last - 55) ** 2 / 10 + u[0] ** 2 / 40 + u[1] ** 2 / 20 + (u[2] - 25) ** 2)


def least() -> float:
    """Return the least cost by SciPy over the three independent variables."""
    rows = [
        lambda u: 4 - temperatures(u)[STEPS] + temperatures(u)[STEPS // 2],
        lambda u: 500 - u[0] ** 2 - u[1] ** 2,
        lambda u: 90 - temperatures(u).max(),
    ]
    found = minimize(
        lambda u: cost(u, temperatures(u)[STEPS]), [10.0, 10.0, 20.0], method="SLSQP",
        bounds=[(0, 40), (0, 40), (10, 40)], options={"ftol": 1e-13, "maxiter": 300},
        constraints=[{"type": "ineq", "fun": row} for row in rows],
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def simulate(design: Design) -> float:
    u = [design["first"], design["second"], design["begin"]]
    return cost(u, design["t[36]"])


def judged(m: Any, tolerances: dict[str, float]) -> list[str]:
    """Which constraints and bounds Pyomo finds violated."""
    found = []
    for c in m.component_data_objects(pyo.Constraint, active=True):
        room = tolerances.get(c.name, 1e-12) + 1e-12
        value = pyo.value(c.body)
        low, high = (pyo.value(side) for side in (c.lower, c.upper))
        if (low is not None and value < low - room) or (high is not None and value > high + room):
            found.append(f"{c.name}: {value}")
    for v in m.component_data_objects(pyo.Var):
        if not v.lb <= v.value <= v.ub:
            found.append(f"{v.name}: {v.value}")
    return found


def allowed(m: Any) -> dict[str, float]:
    return {
        name: width
        for c in archeng.from_pyomo(m).constraints
        for name, width in zip(c.row_names(), c.half_widths, strict=False)
    }


@pytest.mark.parametrize("independent", [None, ["first", "second", "begin"]])
def test_a_pyomo_model_with_a_simulator(independent: Any) -> None:
    m = rod()
    fs = compile_model(archeng.from_pyomo(m, independent=independent))
    assert fs.n == 3
    assert independent is None or set(fs.free_names) == set(independent)
    result = archeng.solve(m, simulate, seed=1, max_evaluations=150, independent=independent)
    assert result.success
    assert result.fun == pytest.approx(least(), rel=1e-4)
    widths = allowed(m)
    assert max(widths.values()) < 1e-3
    for e in result.evaluations:  # Pyomo judges every call
        for name, value in zip(archeng.from_pyomo(m).element_names(), e.x, strict=True):
            m.find_component(name).set_value(value, skip_validation=True)
        assert judged(m, widths) == []
    result.load_into(m)
    assert judged(m, widths) == []
    assert pyo.value(m.begin) == result.design["begin"]
    u = [pyo.value(v) for v in (m.first, m.second, m.begin)]
    loaded = [pyo.value(m.t[i]) for i in range(STEPS + 1)]
    np.testing.assert_allclose(loaded, temperatures(u), rtol=1e-6)


def test_a_pyomo_model_with_its_own_objective() -> None:
    m = with_cost(rod())
    result = archeng.solve(m, seed=1, max_evaluations=200)
    assert result.fun == pytest.approx(least(), rel=1e-4)
    result.load_into(m)
    assert pyo.value(m.cost) == pytest.approx(result.fun, rel=1e-12)
    assert judged(m, allowed(m)) == []


def test_the_solver_factory() -> None:
    m = with_cost(rod())
    options = {"seed": 1, "max_evaluations": 200}
    results = pyo.SolverFactory("archeng").solve(m, options=options)
    assert pyo.check_optimal_termination(results)
    assert judged(m, allowed(m)) == []
    assert pyo.value(m.cost) == pytest.approx(least(), rel=1e-4)
