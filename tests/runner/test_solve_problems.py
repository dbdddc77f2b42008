"""`solve` end to end: known optima, an independent feasibility check at every single call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest
from checked_simulator import CheckedSimulator, Row, Vector
from scipy.optimize import linprog

import archeng
from archeng import Model, Settings, Status, StopReason
from archeng.errors import InfeasibleModelError, ModelError

INF = np.inf
EQUALITY = 1e-6


@dataclass(frozen=True)
class Case:
    """A model, the same rows in NumPy, an objective, its optimum, and a ceiling on calls."""

    model: Callable[[], Model]
    rows: Callable[[Vector], Sequence[Row]]
    objective: Callable[[Vector], float]
    optimum: float
    most_calls: int
    accuracy: float = 1e-6
    active: tuple[str, ...] | None = None
    seeds: int = 1  # with more, rounding decides which runs can show that they have converged


def box(x: Vector, low: float, high: float) -> list[Row]:
    return [(float(v), low, high) for v in x]


def halfplane() -> Model:
    model = Model("halfplane")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + 2 * x[1] >= 1, name="line")
    return model


def disc() -> Model:
    model = Model("disc")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(ca.sumsqr(x) <= 2, name="disc")
    return model


def hyperbola() -> Model:
    model = Model("hyperbola")
    x = model.variable("x", lower=0.1, upper=10)
    y = model.variable("y", lower=0.1, upper=10)
    model.subject_to(x * y >= 4, name="product")
    model.subject_to(y - x, lower=-8, upper=2, name="gap")
    return model


# A rotated ellipsoid of condition number 1e6 above a plane.
N = 5
ROTATION, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))
HESSIAN = ROTATION @ np.diag(np.logspace(0, 6, N)) @ ROTATION.T


def ellipsoid() -> Model:
    model = Model("ellipsoid")
    x = model.variable("x", shape=N, lower=-5, upper=5)
    model.subject_to(ca.sum1(x) >= 2, name="plane")
    model.subject_to(x[0] - x[1] <= 1, name="other")
    return model


def ellipsoid_optimum() -> float:
    """Closed form with `plane` active; `other` must then hold by itself."""
    ones = np.ones(N)
    best = 2 * np.linalg.solve(HESSIAN, ones) / (ones @ np.linalg.solve(HESSIAN, ones))
    assert best[0] - best[1] < 1
    assert np.abs(best).max() < 5
    return float(best @ HESSIAN @ best)


# A random bounded polytope with a linear objective: the optimum is a vertex.
LP_A = np.random.default_rng(7).standard_normal((6, 4))
LP_C = np.random.default_rng(8).standard_normal(4)


def polytope() -> Model:
    model = Model("polytope")
    x = model.variable("x", shape=4, lower=-3, upper=3)
    model.subject_to(LP_A @ x <= 1, name="facet")
    return model


def linear_equality() -> Model:
    model = Model("plane")
    x = model.variable("x", shape=3, lower=-5, upper=5)
    model.subject_to(ca.sum1(x) == 1, name="sum")
    return model


def sphere_equality() -> Model:
    model = Model("sphere")
    x = model.variable("x", shape=3, lower=-5, upper=5)
    model.subject_to(ca.sumsqr(x) == 1, name="radius")
    return model


def circle() -> Model:
    model = Model("circle")
    x = model.variable("x", shape=3, lower=-5, upper=5)
    model.subject_to(ca.sumsqr(x) == 4, name="radius")
    model.subject_to(x[2] == x[0] + 1, name="tilt", tolerance=1e-4)
    return model


def segment() -> Model:
    model = Model("segment")
    model.variable("x", lower=-5, upper=5)
    return model


def segment_with_line() -> Model:
    model = Model("line")
    x = model.variable("x", lower=-5, upper=5)
    model.subject_to(3 * x <= 4.5, name="cap")
    return model


def segment_with_curve() -> Model:
    model = Model("curve")
    x = model.variable("x", lower=-5, upper=5)
    model.subject_to(x**3 <= 8, name="cube")
    return model


def segment_with_equality() -> Model:
    model = Model("root")
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(x**2 == 2, name="root")
    return model


def only_bounds() -> Model:
    model = Model("box")
    model.variable("x", shape=3, lower=-2, upper=[1, 2, 3])
    return model


def no_rows() -> Model:
    model = Model("free")
    model.variable("x", shape=2, start=[3, 4], scale=1)
    return model


def one_free() -> Model:
    model = Model("one free")
    x = model.variable("x", shape=5, lower=[0, 1, 2, 3, -5], upper=[0, 1, 2, 3, 5])
    model.subject_to(ca.sum1(x) + x[3] * x[4] <= 4, name="cap")
    return model


def touching() -> Model:
    """A constraint leaves a single value to a variable that was declared free."""
    model = Model("touching")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] >= 5, name="edge")
    return model


def half_bounded() -> Model:
    model = Model("half")
    x = model.variable("x", shape=2, lower=0, start=2, scale=1)
    model.subject_to(x[0] + x[1] >= 1, name="sum")
    return model


def lookup() -> Model:
    model = Model("lookup", symbols="MX")
    x = model.variable("x", lower=0, upper=4)
    y = model.variable("y", lower=0, upper=4)
    table = ca.interpolant("table", "bspline", [np.linspace(0, 4, 9)], np.linspace(0, 4, 9) ** 2)
    model.subject_to(table(x) + y <= 4, name="table")
    return model


def sphere(x: Vector) -> float:
    return float(x @ x)


CASES: dict[str, Case] = {
    "linear constraint": Case(
        halfplane,
        lambda x: [*box(x, -5, 5), (x[0] + 2 * x[1], 1, INF)],
        sphere,
        0.2,
        1500,
        active=("line",),
    ),
    "nonlinear constraint": Case(
        disc,
        lambda x: [*box(x, -5, 5), (x @ x, -INF, 2)],
        lambda x: -x[0] - x[1],
        -2.0,
        1500,
        active=("disc",),
    ),
    "nonlinear, not convex": Case(
        hyperbola,
        lambda x: [*box(x, 0.1, 10), (x[0] * x[1], 4, INF), (x[1] - x[0], -8, 2)],
        lambda x: x[0] + x[1],
        4.0,
        1500,
        active=("product",),
    ),
    "ill-conditioned rotated ellipsoid": Case(
        ellipsoid,
        lambda x: [*box(x, -5, 5), (x.sum(), 2, INF), (x[0] - x[1], -INF, 1)],
        lambda x: float(x @ HESSIAN @ x),
        ellipsoid_optimum(),
        12000,
        active=("plane",),
        seeds=4,
    ),
    "vertex of a polytope": Case(
        polytope,
        lambda x: [*box(x, -3, 3), *((float(v), -INF, 1) for v in LP_A @ x)],
        lambda x: float(LP_C @ x),
        float(linprog(LP_C, LP_A, np.ones(6), bounds=[(-3, 3)] * 4).fun),
        3000,
    ),
    "linear equality": Case(
        linear_equality,
        lambda x: [*box(x, -5, 5), (x.sum(), 1 - EQUALITY, 1 + EQUALITY)],
        sphere,
        1 / 3,
        3000,
        1e-5,
        ("sum",),
    ),
    "nonlinear equality": Case(
        sphere_equality,
        lambda x: [*box(x, -5, 5), (x @ x, 1 - EQUALITY, 1 + EQUALITY)],
        lambda x: x.sum(),
        -np.sqrt(3),
        3000,
        1e-5,
        ("radius",),
    ),
    "two equalities": Case(
        circle,
        lambda x: [
            *box(x, -5, 5),
            (x @ x, 4 - EQUALITY, 4 + EQUALITY),
            (x[2] - x[0] - 1, -1e-4, 1e-4),
        ],
        lambda x: x[1],
        -np.sqrt(3.5),
        3000,
        1e-3,
        ("radius", "tilt"),
    ),
    "one variable, bounds only": Case(
        segment, lambda x: box(x, -5, 5), lambda x: (x[0] - 7) ** 2, 4.0, 600
    ),
    "one variable, inside": Case(
        segment, lambda x: box(x, -5, 5), lambda x: (x[0] - 1.25) ** 2, 0.0, 600
    ),
    "one variable, linear row": Case(
        segment_with_line,
        lambda x: [*box(x, -5, 5), (3 * x[0], -INF, 4.5)],
        lambda x: (x[0] - 7) ** 2,
        5.5**2,
        600,
        active=("cap",),
    ),
    "one variable, nonlinear row": Case(
        segment_with_curve,
        lambda x: [*box(x, -5, 5), (x[0] ** 3, -INF, 8)],
        lambda x: (x[0] - 7) ** 2,
        25.0,
        600,
        active=("cube",),
    ),
    "one variable, equality": Case(
        segment_with_equality,
        lambda x: [*box(x, 0, 5), (x[0] ** 2, 2 - EQUALITY, 2 + EQUALITY)],
        lambda x: -x[0],
        -np.sqrt(2),
        600,
        1e-5,
        ("root",),
    ),
    "bounds only": Case(
        only_bounds,
        lambda x: [(float(v), -2, float(u)) for v, u in zip(x, [1, 2, 3], strict=True)],
        lambda x: float(np.sum((x - 2.5) ** 2)),
        1.5**2 + 0.5**2,
        2000,
    ),
    "no rows at all": Case(no_rows, lambda x: [], sphere, 0.0, 2000),
    "all but one variable fixed": Case(
        one_free,
        lambda x: [
            *((float(v), float(k), float(k)) for k, v in enumerate(x[:4])),
            (x[4], -5, 5),
            (x.sum() + x[3] * x[4], -INF, 4),
        ],
        lambda x: -x.sum(),
        -5.5,
        600,
        active=("cap",),
    ),
    "bounds that leave one value": Case(
        touching,
        lambda x: [(x[0], 5, 5), (x[1], -5, 5)],
        sphere,
        25.0,
        2000,
    ),
    "half-bounded with start and scale": Case(
        half_bounded,
        lambda x: [*box(x, 0, INF), (x[0] + x[1], 1, INF)],
        lambda x: float(np.sum((x - [0.25, -1]) ** 2)),
        0.75**2 + 1,  # at the corner (1, 0)
        2000,
    ),
    "lookup table": Case(
        lookup,
        lambda x: [*box(x, 0, 4), (x[0] ** 2 + x[1], -INF, 4)],
        lambda x: -x[0] - x[1],
        -4.25,
        2000,
        1e-6,
        ("table",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_known_optimum_is_reached_and_every_call_is_feasible(name: str) -> None:
    case, statuses = CASES[name], []
    for seed in range(1, 1 + case.seeds):
        simulator = CheckedSimulator(case.objective, case.rows)
        result = archeng.solve(case.model(), simulator, seed=seed, max_evaluations=case.most_calls)
        simulator.assert_clean(result)
        assert result.fun == pytest.approx(case.optimum, abs=case.accuracy, rel=case.accuracy)
        statuses.append(result.status)
    assert Status.CONVERGED in statuses
    assert case.seeds > 1 or result.success
    assert result.nfev < case.most_calls
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS
    best = min(result.evaluations, key=lambda e: e.objective)
    np.testing.assert_array_equal(result.x, best.x)
    assert result.fun == best.objective == case.objective(result.x)
    if case.active is not None:
        assert set(case.active) <= set(result.active)


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1.0, 1e6])
def test_units_of_the_variables_do_not_matter(unit: float) -> None:
    """Metres or nanometres beside pascals: the same optimum, at about the same cost."""
    model = Model("units")
    x = model.variable("x", lower=-5 * unit, upper=5 * unit)
    y = model.variable("y", lower=-5e9, upper=5e9)
    model.subject_to(x / unit + y / 1e9 >= 1, name="sum")
    model.subject_to((x / unit) * (y / 1e9) <= 0.5, name="product")

    def normal(v: Vector) -> Vector:
        return v / [unit, 1e9]

    simulator = CheckedSimulator(
        lambda v: float(normal(v) @ (normal(v) * [1, 4])),
        lambda v: [
            *box(normal(v), -5, 5),
            (normal(v).sum(), 1, INF),
            (normal(v).prod(), -INF, 0.5),
        ],
    )
    result = archeng.solve(model, simulator, seed=1, max_evaluations=2000)
    simulator.assert_clean(result)
    assert result.fun == pytest.approx(0.8, abs=1e-6)
    assert result.success


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_equal_objectives_at_a_vertex_are_no_convergence(seed: int) -> None:
    """Many samples are repaired to the same corner of the box long before the optimum is found."""
    case = CASES["bounds only"]
    simulator = CheckedSimulator(case.objective, case.rows)
    result = archeng.solve(case.model(), simulator, seed=seed, max_evaluations=400)
    simulator.assert_clean(result)
    assert result.fun == pytest.approx(case.optimum, abs=1e-3)


@pytest.mark.parametrize("settings", [Settings.paper(), Settings(handler="arch-nearest")])
@pytest.mark.parametrize("name", ["nonlinear constraint", "linear equality"])
def test_other_settings_reach_the_optimum_too(name: str, settings: Settings) -> None:
    case = CASES[name]
    simulator = CheckedSimulator(case.objective, case.rows)
    result = archeng.solve(case.model(), simulator, seed=2, settings=settings, max_evaluations=400)
    simulator.assert_clean(result)
    assert result.fun == pytest.approx(case.optimum, abs=1e-3)


@pytest.mark.parametrize("solver", ["qp", "sqp", "ipopt"])
def test_forced_repair_solvers(solver: Any) -> None:
    case = CASES["linear constraint"]
    simulator = CheckedSimulator(case.objective, case.rows)
    settings = Settings(repair_solver=solver)
    result = archeng.solve(case.model(), simulator, seed=3, settings=settings, max_evaluations=100)
    simulator.assert_clean(result)
    assert result.fun == pytest.approx(0.2, abs=5e-2)


def test_qp_needs_linear_rows() -> None:
    with pytest.raises(archeng.errors.SettingsError, match="needs linear rows"):
        archeng.solve(disc(), lambda d: 0.0, settings=Settings(repair_solver="qp"))


# -- starts -----------------------------------------


@pytest.mark.parametrize(
    "start",
    [[5.0, 5.0], [100.0, -70.0], {"x": [4.0, -4.0]}],
)
def test_an_infeasible_start_is_repaired(start: Any) -> None:
    case = CASES["nonlinear constraint"]
    simulator = CheckedSimulator(case.objective, case.rows)
    result = archeng.solve(disc(), simulator, seed=4, start=start, sigma=0.1, max_evaluations=200)
    simulator.assert_clean(result)
    assert result.fun == pytest.approx(-2.0, abs=1e-2)


def test_the_search_begins_around_the_start() -> None:
    result = archeng.solve(
        disc(), lambda d: sphere(d.x), seed=1, start=[0.5, -0.5], sigma=1e-6, max_evaluations=4
    )
    for e in result.evaluations:
        np.testing.assert_allclose(e.x, [0.5, -0.5], atol=1e-4)


def test_a_start_where_a_row_is_undefined() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(ca.log(x[0]) + x[1] >= 0, name="log")
    simulator = CheckedSimulator(sphere, lambda v: [*box(v, -5, 5), (np.log(v[0]) + v[1], 0, INF)])
    result = archeng.solve(model, simulator, seed=1, start=[-4.0, 0.0], sigma=0.5)
    simulator.assert_clean(result)
    # Minimise t^2 + log(t)^2: 2 t + 2 log(t) / t = 0.
    t = 0.6529186404192047
    assert result.fun == pytest.approx(t**2 + np.log(t) ** 2, abs=1e-6)


def test_rows_that_are_infinite_on_the_boundary() -> None:
    """log(x) is -inf at the bound x = 0, where the optimum is."""
    model = Model()
    x = model.variable("x", lower=0, upper=3)
    y = model.variable("y", lower=0, upper=3)
    model.subject_to(ca.log(x) + y <= 1, name="log")
    result = archeng.solve(model, lambda d: d["x"] - d["y"], seed=1)
    t = np.exp(-2.0)  # y = 3 needs x <= exp(-2); smaller x is better, down to 0
    assert result.n_infeasible_calls == 0
    assert -3 <= result.fun <= -3 + t


# -- constraints that are not smooth -----------------------------------------


STEPS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[float, float], Any]]] = {
    "jump": (lambda x, y: x + 5 * (x > 2), lambda x, y: x + 5 * (x > 2)),
    "steps of one": (lambda x, y: ca.floor(x) + y, lambda x, y: np.floor(x) + y),
    "sign": (lambda x, y: y + ca.sign(x - 1) + 1, lambda x, y: y + np.sign(x - 1) + 1),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_in_a_constraint_is_never_overlooked(name: str) -> None:
    """Such a row has the derivative of a bound, but it is not one."""
    symbolic, numeric = STEPS[name]
    model = Model()
    x = model.variable("x", lower=0, upper=5)
    y = model.variable("y", lower=0, upper=5)
    model.subject_to(symbolic(x, y) <= 3, name="step")
    simulator = CheckedSimulator(
        lambda v: -v[0] - v[1], lambda v: [*box(v, 0, 5), (numeric(*v), -INF, 3)]
    )
    result = archeng.solve(model, simulator, seed=1, start=[0.5, 1], max_evaluations=50)
    simulator.assert_clean(result)


# -- empty feasible sets -----------------------------------------


def empty_linear() -> Model:
    model = Model("empty")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] >= 1, name="above", source="a.py:1")
    model.subject_to(x[0] + x[1] <= 0, name="below", source="a.py:2")
    model.subject_to(x[0] - x[1] <= 4, name="innocent", source="a.py:3")
    return model


def empty_nonlinear() -> Model:
    model = Model("empty")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(ca.sumsqr(x) <= 1, name="disc", source="a.py:1")
    model.subject_to(x[0] + x[1] >= 2, name="line", source="a.py:2")
    return model


@pytest.mark.parametrize(
    ("model", "guilty"),
    [
        (empty_linear(), ["above (a.py:1)", "below (a.py:2)"]),
        (empty_nonlinear(), ["disc (a.py:1)", "line (a.py:2)"]),
    ],
)
def test_an_empty_set_is_reported_before_any_call(model: Model, guilty: list[str]) -> None:
    calls: list[Any] = []
    with pytest.raises(InfeasibleModelError) as caught:
        archeng.solve(model, lambda d: calls.append(d) or 0.0, seed=1)
    assert calls == []
    assert set(caught.value.conflicts) == set(guilty)
    for name in guilty:
        assert name in str(caught.value)
    assert "innocent" not in str(caught.value)


def test_contradictory_bounds_are_reported_before_any_call() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=1)
    model.subject_to(x[1] >= 2, name="too high")
    calls: list[Any] = []
    with pytest.raises(InfeasibleModelError, match="too high"):
        archeng.solve(model, lambda d: calls.append(d) or 0.0)
    assert calls == []


def test_an_equality_tolerance_below_rounding_is_reported_before_any_call() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=10)
    model.subject_to(1e12 * x[0] + 1e12 * x[1] == 7e12, name="force balance", tolerance=1e-6)
    calls: list[Any] = []
    with pytest.raises(ModelError, match=r"force balance.*tolerance"):
        archeng.solve(model, lambda d: calls.append(d) or 0.0, seed=1)
    assert calls == []


# -- nowhere to begin -----------------------------------------


@pytest.mark.parametrize("with_row", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"lower": 0}, {"upper": 0}, {"start": 1}, {"scale": 1}, {"lower": 0, "scale": 1}],
)
def test_a_variable_without_bounds_needs_start_and_scale(
    options: dict[str, float], with_row: bool
) -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=1)
    y = model.variable("height", **options)
    if with_row:
        model.subject_to(x + y <= 1)
    calls: list[Any] = []
    with pytest.raises(ModelError, match=r"height.*start= and scale="):
        archeng.solve(model, lambda d: calls.append(d) or 0.0)
    assert calls == []


def test_a_model_of_unbounded_variables_only_needs_start_and_scale() -> None:
    model = Model()
    model.variable("height")
    with pytest.raises(ModelError, match=r"height.*start= and scale="):
        archeng.solve(model, lambda d: 0.0)


def test_no_variables() -> None:
    with pytest.raises(ModelError, match="no variables"):
        archeng.solve(Model(), lambda d: 0.0)


# -- objectives that are hard to rank -----------------------------------------


def test_flat_objective_stops_soon() -> None:
    simulator = CheckedSimulator(
        lambda x: 1.0, lambda x: [*box(x, -5, 5), (x[0] + 2 * x[1], 1, INF)]
    )
    result = archeng.solve(halfplane(), simulator, seed=1)
    simulator.assert_clean(result)
    assert result.fun == 1.0
    assert result.nfev < 200
    assert result.stop_reason in (StopReason.EQUAL_OBJECTIVES, StopReason.TOL_OBJECTIVE)


@pytest.mark.parametrize("offset", [0.0, -1e6, 1e9])
def test_a_constant_offset_of_the_objective_is_harmless(offset: float) -> None:
    result = archeng.solve(halfplane(), lambda d: sphere(d.x) + offset, seed=1)
    assert result.fun - offset == pytest.approx(0.2, abs=1e-6 + 1e-15 * abs(offset))


def test_the_model_is_not_changed_by_solving() -> None:
    model = halfplane()
    before = str(model)
    first = archeng.solve(model, lambda d: sphere(d.x), seed=1, max_evaluations=50)
    second = archeng.solve(model, lambda d: sphere(d.x), seed=1, max_evaluations=50)
    assert str(model) == before
    np.testing.assert_array_equal(first.x, second.x)
