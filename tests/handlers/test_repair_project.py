"""`Repairer.project`: the nearest feasible point at which chosen limits are reached."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import Vector, isotropic
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from archeng.distribution import Distribution
from archeng.handlers.active_set import reached_limits
from archeng.model import FeasibleSet, Model, compile_model
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings

moderate = settings(deadline=None, max_examples=60, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def random_metric(n: int, rng: np.random.Generator, condition: float, sigma: float) -> Distribution:
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    F = (u * condition ** np.linspace(-0.5, 0.5, n)) @ v
    return Distribution(np.zeros(n), sigma, F, np.linalg.inv(F))


def polytope(rng: np.random.Generator) -> FeasibleSet:
    """Random half-spaces around the origin, and bounds."""
    n, m = int(rng.integers(2, 7)), int(rng.integers(2, 9))
    model = Model("polytope")
    x = model.variable("x", shape=n, lower=-4, upper=4)
    for k in range(m):
        a = rng.standard_normal(n) * 10 ** rng.uniform(-2, 2)
        model.subject_to(
            ca.dot(ca.DM(a), x) <= np.linalg.norm(a) * rng.uniform(0.3, 2), name=f"{k}"
        )
    return compile_model(model)


def curved(rng: np.random.Generator) -> FeasibleSet:
    """Balls around points near the origin, a half-space, a convex and an undulating row."""
    n = int(rng.integers(2, 5))
    model = Model("curved")
    x = model.variable("x", shape=n, lower=-6, upper=6)
    for k in range(2):
        c = rng.standard_normal(n)
        model.subject_to(ca.sumsqr(x - ca.DM(c)) <= (1 + np.linalg.norm(c)) ** 2, name=f"ball {k}")
    model.subject_to(ca.dot(ca.DM(rng.standard_normal(n)), x) <= 0.7, name="half")
    model.subject_to(ca.exp(x[0]) + x[1], lower=-3, upper=2.5, name="exp")
    model.subject_to(x[0] + 0.3 * ca.sin(3 * x[1]) <= 1, name="wave")
    return compile_model(model)


def held_point(
    fs: FeasibleSet, d: Distribution, rng: np.random.Generator
) -> tuple[Vector, np.ndarray, Vector]:
    """A feasible point on the boundary, and some of the limits that are reached there."""
    repairer = Repairer(fs)
    for _ in range(20):
        repair = repairer.repair(rng.standard_normal(fs.n) * 6, d)
        if repair.feasible:
            rows, sides = reached_limits(repairer, repair.x, d)
            if len(rows):
                k = int(rng.integers(1, len(rows) + 1))
                chosen = np.sort(rng.choice(len(rows), k, replace=False))
                return repair.x, rows[chosen], sides[chosen]
    raise AssertionError("no point on the boundary")


def assert_held(
    fs: FeasibleSet, d: Distribution, r: Repair, x: Vector, rows: np.ndarray, sides: Vector
) -> None:
    """Every row holds exactly, and the chosen limits are reached."""
    assert r.kind is RepairKind.INTERSECTION
    assert r.feasible
    assert r.max_violation == 0
    assert fs.is_feasible(r.x)
    values, J = fs.values_and_jacobian(r.x)
    limits = np.where(sides > 0, fs.upper[rows], fs.lower[rows])
    steepness = np.linalg.norm((J @ d.scaled_factor)[rows], axis=1)
    noise = 64 * fs.rounding_noise(r.x)[rows]
    assert np.all(np.abs(values[rows] - limits) <= 1e-6 * steepness + noise)
    assert set(rows) <= set(r.active)
    assert r.distance_squared == pytest.approx(d.distance_squared(x, r.x))
    assert 0 <= r.kkt_residual <= 1e-3


def least_distance(
    fs: FeasibleSet, x: Vector, d: Distribution, rows: np.ndarray, sides: Vector
) -> float:
    """Distance to a polytope with held rows: they are eliminated, the rest by NNLS.

    Lawson and Hanson, Solving Least Squares Problems, chapter 23.
    """
    values, J = fs.values_and_jacobian(x)
    E, limits = (J @ d.scaled_factor)[rows], np.where(sides > 0, fs.upper[rows], fs.lower[rows])
    base, _, rank, _ = np.linalg.lstsq(E, limits - values[rows], rcond=1e-10)
    null = np.linalg.svd(E)[2][rank:].T
    others = np.setdiff1d(np.arange(fs.m), rows)
    low, high = others[np.isfinite(fs.lower[others])], others[np.isfinite(fs.upper[others])]
    at = values + J @ d.scaled_factor @ base
    G = np.concatenate((J[low], -J[high])) @ d.scaled_factor @ null
    h = np.concatenate((fs.lower[low] - at[low], at[high] - fs.upper[high]))
    size = np.maximum(np.linalg.norm(G, axis=1), 1e-12)
    G, h = G / size[:, None], h / size
    unit = max(np.abs(h).max(), 1e-300)
    if null.shape[1] == 0:
        return float(np.linalg.norm(base))
    u, _ = nnls(np.vstack((G.T, h / unit)), np.append(np.zeros(null.shape[1]), 1.0), maxiter=5000)
    r = np.vstack((G.T, h / unit)) @ u - np.append(np.zeros(null.shape[1]), 1.0)
    return float(np.hypot(np.linalg.norm(base), np.linalg.norm(unit * r[:-1] / r[-1])))


@moderate
@given(seeds)
def test_polytopes_against_least_distance_programming(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fs = polytope(rng)
    d = random_metric(fs.n, rng, 10 ** rng.uniform(0, 3), 10 ** rng.uniform(-3, 1))
    anchor, rows, sides = held_point(fs, d, rng)
    x = anchor + d.scaled_factor @ rng.standard_normal(fs.n) * rng.choice([0.1, 1.0, 4.0])
    r = Repairer(fs).project(x, d, rows, sides, anchor)
    assert_held(fs, d, r, x, rows, sides)
    distance, least = np.sqrt(r.distance_squared), least_distance(fs, x, d, rows, sides)
    assert distance == pytest.approx(least, rel=1e-5, abs=1e-5)


def slsqp_distance(
    fs: FeasibleSet,
    x: Vector,
    d: Distribution,
    rows: np.ndarray,
    sides: Vector,
    starts: Sequence[Vector],
) -> float:
    """Distance found by SciPy from the best of several starts."""
    L = d.scaled_factor
    low, high = np.isfinite(fs.lower), np.isfinite(fs.upper)
    limits = np.where(sides > 0, fs.upper[rows], fs.lower[rows])
    size = np.maximum(np.linalg.norm(fs.values_and_jacobian(starts[0])[1] @ L, axis=1), 1e-9)

    def inside(z: Vector) -> Vector:
        v = fs.values(x + L @ z)
        return np.concatenate((((v - fs.lower) / size)[low], ((fs.upper - v) / size)[high]))

    def on(z: Vector) -> Vector:
        return (fs.values(x + L @ z)[rows] - limits) / size[rows]

    best = np.inf
    for start in starts:
        answer = minimize(
            lambda z: 0.5 * z @ z,
            d.whiten(start - x),
            jac=lambda z: z,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": inside}, {"type": "eq", "fun": on}],
            options={"ftol": 1e-14, "maxiter": 300},
        )
        if inside(answer.x).min() > -1e-8 and np.abs(on(answer.x)).max() < 1e-8:
            best = min(best, float(np.linalg.norm(answer.x)))
    return best


@pytest.mark.slow
@settings(deadline=None, max_examples=40, derandomize=True)
@given(seeds)
def test_curved_sets_against_slsqp(seed: int) -> None:
    """Near its anchor the projection is unique; SciPy may only do worse."""
    rng = np.random.default_rng(seed)
    fs = curved(rng)
    d = random_metric(fs.n, rng, 10 ** rng.uniform(0, 1), 10 ** rng.uniform(-2, -0.5))
    anchor, rows, sides = held_point(fs, d, rng)
    x = anchor + d.scaled_factor @ rng.standard_normal(fs.n) * rng.choice([0.1, 0.5, 1.0])
    r = Repairer(fs).project(x, d, rows, sides, anchor)
    assert_held(fs, d, r, x, rows, sides)
    known = slsqp_distance(fs, x, d, rows, sides, [anchor, x])
    assert np.sqrt(r.distance_squared) <= known * (1 + 1e-5) + 1e-5


# -- by hand ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def triangle() -> FeasibleSet:
    model = Model("triangle")
    x = model.variable("x", shape=2, lower=0, upper=9)
    model.subject_to(x[0] + x[1] <= 4, name="sum")
    return compile_model(model)


def row(fs: FeasibleSet, name: str) -> int:
    return next(j for j, info in enumerate(fs.rows) if info.name == name)


@pytest.mark.parametrize(
    ("point", "held", "expected"),
    [
        ([1.0, 1.0], [("sum", 1.0)], [2.0, 2.0]),  # from inside
        ([4.0, 2.0], [("sum", 1.0)], [3.0, 1.0]),  # from outside
        ([9.0, -3.0], [("sum", 1.0)], [4.0, 0.0]),  # where another limit stops it
        ([2.0, 1.0], [("bounds of x[0]", -1.0)], [0.0, 1.0]),
        ([2.0, 7.0], [("bounds of x[0]", -1.0)], [0.0, 4.0]),
        ([3.0, 1.0], [("bounds of x[0]", -1.0), ("sum", 1.0)], [0.0, 4.0]),
        ([3.0, 3.0], [("bounds of x[0]", -1.0), ("bounds of x[1]", -1.0)], [0.0, 0.0]),
    ],
)
def test_a_triangle(
    triangle: FeasibleSet, point: list[float], held: list[tuple[str, float]], expected: list[float]
) -> None:
    rows = np.array([row(triangle, name) for name, _ in held])
    sides = np.array([side for _, side in held])
    d, x = isotropic(point), np.array(point)
    r = Repairer(triangle).project(x, d, rows, sides, np.array(expected))
    assert_held(triangle, d, r, x, rows, sides)
    np.testing.assert_allclose(r.x, expected, atol=1e-8)


def test_the_metric_decides_what_is_near(triangle: FeasibleSet) -> None:
    """With steps along x[0] ten times as long as along x[1], x[0] moves."""
    d = Distribution(np.zeros(2), 1.0, np.diag([10.0, 1.0]), np.diag([0.1, 1.0]))
    rows, sides = np.array([row(triangle, "sum")]), np.array([1.0])
    r = Repairer(triangle).project(np.array([1.0, 1.0]), d, rows, sides, np.array([2.0, 2.0]))
    np.testing.assert_allclose(r.x, [1 + 200 / 101, 1 + 2 / 101], atol=1e-7)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_both_limits_of_a_row_and_of_an_equality(side: float) -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] - x[1], lower=-1, upper=2, name="slab")
    model.subject_to(ca.sumsqr(x) == 9, name="circle", tolerance=0.01)
    fs = compile_model(model)
    rows = np.array([row(fs, "slab"), row(fs, "circle")])
    sides, limit = np.array([side, side]), {-1.0: -1.0, 1.0: 2.0}[side]
    anchor = np.array([2.0, 2.0])
    r = Repairer(fs).project(anchor, isotropic(anchor), rows, sides, anchor)
    assert_held(fs, isotropic(anchor), r, anchor, rows, sides)
    assert r.x[0] - r.x[1] == pytest.approx(limit, abs=1e-7)
    assert r.x @ r.x == pytest.approx(9 + 0.01 * side, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_without_held_rows_it_is_the_nearest_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fs = polytope(rng)
    d = random_metric(fs.n, rng, 10.0, 1.0)
    repairer = Repairer(fs, Settings(handler="arch-nearest"))
    none = np.zeros(0, dtype=np.intp)
    for x in (rng.standard_normal(fs.n) * 5, np.zeros(fs.n)):
        one = repairer.project(x, d, none, np.zeros(0), np.zeros(fs.n))
        two = repairer.repair(x, d, np.zeros(fs.n))
        assert one.kind is two.kind
        assert one.x.tobytes() == two.x.tobytes()


@pytest.mark.parametrize("nonlinear", [False, True])
def test_limits_that_exclude_each_other_fail(nonlinear: bool) -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=5)
    model.subject_to((ca.sumsqr(x) if nonlinear else x[0] + x[1]) <= 4, name="near")
    fs = compile_model(model)
    anchor = np.array([1.0, 1.0])
    rows, sides = np.array([row(fs, "bounds of x[0]"), row(fs, "near")]), np.array([1.0, 1.0])
    r = Repairer(fs).project(anchor, isotropic(anchor), rows, sides, anchor)
    assert r.kind is RepairKind.FAILED
    assert not r.feasible
    assert np.all(np.isfinite(r.x))
    assert np.isinf(r.kkt_residual)


def test_more_limits_than_variables_are_fine_if_they_meet() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=5)
    model.subject_to(x[0] + x[1] <= 2, name="sum")
    model.subject_to(x[0] + 3 * x[1] <= 6, name="steep")
    fs = compile_model(model)
    rows = np.array([row(fs, "bounds of x[0]"), row(fs, "sum"), row(fs, "steep")])
    sides, x0 = np.array([-1.0, 1.0, 1.0]), np.array([1.0, 0.5])
    r = Repairer(fs).project(x0, isotropic(x0), rows, sides, np.array([0.0, 2.0]))
    assert_held(fs, isotropic(x0), r, x0, rows, sides)
    np.testing.assert_allclose(r.x, [0, 2], atol=1e-7)


@pytest.mark.parametrize("solver", ["sqp", "ipopt", "auto"])
def test_every_solver_gives_the_same_point(solver: str) -> None:
    rng = np.random.default_rng(12)
    fs = curved(rng)
    d = random_metric(fs.n, rng, 3.0, 0.3)
    anchor, rows, sides = held_point(fs, d, rng)
    x = anchor + 0.2 * rng.standard_normal(fs.n)
    chosen = Repairer(fs, Settings(repair_solver=solver)).project(x, d, rows, sides, anchor)
    usual = Repairer(fs).project(x, d, rows, sides, anchor)
    assert_held(fs, d, chosen, x, rows, sides)
    np.testing.assert_allclose(chosen.x, usual.x, atol=1e-6)


def test_an_undefined_start_is_no_obstacle() -> None:
    """The anchor is tried when the solvers fail from the point itself."""
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(ca.log(x[0]) + x[1] >= 0, name="log")
    fs = compile_model(model)
    rows, sides = np.array([row(fs, "log")]), np.array([-1.0])
    point, anchor = np.array([-1.0, 1.0]), np.array([1.0, 0.0])
    r = Repairer(fs).project(point, isotropic(point), rows, sides, anchor)
    assert_held(fs, isotropic(point), r, point, rows, sides)
    x0 = np.linspace(0.01, 3, 30001)  # on the curve
    known = np.min((x0 + 1) ** 2 + (-np.log(x0) - 1) ** 2)
    assert r.distance_squared == pytest.approx(known, rel=1e-4)
