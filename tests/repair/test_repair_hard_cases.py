"""Undefined rows, manifolds, degenerate vertices, extreme metrics."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from repair_helpers import (
    NEAREST_ONLY,
    check_certificate,
    deviations,
    feasible_set,
    fix,
    linear_nearest,
    metric,
    polytope,
    random_metric,
)

import archeng
from archeng.repair import Repairer, RepairKind
from archeng.settings import Settings

pytestmark = pytest.mark.slow

INF = np.inf
BOTH = pytest.mark.parametrize(
    "chosen", [Settings(), NEAREST_ONLY], ids=["intersection", "nearest"]
)


def feasible_grid(fs, low, high, k: int = 150) -> np.ndarray:
    """The feasible points of a fine grid over a box."""
    axes = [np.linspace(a, b, k + 1) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, fs.n)
    return grid[[fs.is_feasible(y) for y in grid]]


# ----- rows that are undefined or infinitely steep in places --------------------------------

# name: (rows, lower, upper, feasible point, points to repair)
UNDEFINED = {
    "log": (
        lambda x: [(ca.log(x[0]) + x[1], 0.0, INF)], 0, 5, [2.0, 2.0],
        [[-1, 0], [-5, -3], [0, 0], [6, -9], [1e-9, 0.3]],
    ),
    "sqrt": (
        lambda x: [(ca.sqrt(x[0]) - x[1], 0.0, INF)], 0, 4, [2.0, 0.5],
        [[-1, 0.5], [-1, 2], [0, 0.5], [0, 3], [5, 5], [1e-12, 0.5]],
    ),
    "power": (
        lambda x: [(x[0] ** 0.6 + x[1] ** 0.6, 1.0, INF)], 0, 4, [2.0, 2.0],
        [[0, 0], [-1, -1], [0, 0.1], [-1, 0.5], [0.1, 0.1], [-1e-9, 0]],
    ),
    "power, upper limit": (
        lambda x: [(x[0] ** 0.6 + x[1] ** 0.6, -INF, 1.0)], 0, 4, [0.1, 0.1],
        [[0, 2], [2, 2], [-1, 0.5], [0, 1.0001], [-1, 3], [1e-9, 1.5]],
    ),
    "inverse": (
        lambda x: [(1 / x[0] + x[1], -INF, 1.0)], 0, 5, [3.0, 0.2],
        [[0, 0], [0, 2], [1e-12, 0], [0.1, 0.1], [-1, 5], [-1, 1]],
    ),
    "logarithm of a difference": (
        lambda x: [(ca.log(x[0] - x[1]), 0.0, INF)], -5, 5, [3.0, 0.2],
        [[0, 0], [0, 2], [-1, 4], [0.1, 0.1], [0.5, 0]],
    ),
    "arcsine": (
        lambda x: [(ca.asin(x[0]) + x[1], 0.0, INF)], [-1, -3], [1, 3], [0.5, 0.5],
        [[2, 0], [-3, 0], [1, -2], [0, -1], [-1, 0]],
    ),
    "two-sided": (
        lambda x: [(ca.log(x[0]) + x[1], 0.0, 1.0)], 0, 5, [1.0, 0.5],
        [[-1, 0], [-5, -3], [0, 0], [0, 3], [4, 4]],
    ),
    "square root as an equality": (
        lambda x: [(ca.sqrt(x[0]) - x[1], 0.0, 0.0)], 0, 5, [1.0, 1.0],
        [[-1, 0.5], [-2, 2], [3, 3], [4, 0], [0, 1]],
    ),
}  # fmt: skip
UNDEFINED_POINTS = [(name, tuple(x)) for name, case in UNDEFINED.items() for x in case[4]]


# At these points' solutions a row is infinitely steep: no multipliers exist there.
def singular(name: str, x) -> bool:
    return name == "power, upper limit" or (name, x) == ("arcsine", (1, -2))


def undefined_set(name: str):
    rows, low, high, anchor, _ = UNDEFINED[name]
    fs = feasible_set(2, rows, lower=low, upper=high)
    anchor = np.array(anchor)
    assert fs.is_feasible(anchor)
    return fs, anchor


def check_undefined(fs, name: str, x, r) -> None:
    if singular(name, x):
        assert r.feasible
        assert fs.is_feasible(r.x)
        assert r.max_violation == 0.0
    else:
        check_certificate(fs, np.array(x), metric([0, 0]), r)


@BOTH
@pytest.mark.parametrize(("name", "x"), UNDEFINED_POINTS)
def test_undefined_rows_are_repaired(name: str, x, chosen: Settings):
    """With a known feasible point, as every run has one."""
    fs, anchor = undefined_set(name)
    check_undefined(fs, name, x, fix(fs, x, None, chosen, anchor=anchor))


@pytest.mark.parametrize(
    ("name", "x"), [(n, x) for n, x in UNDEFINED_POINTS if n != "logarithm of a difference"]
)
def test_undefined_rows_are_repaired_without_an_anchor(name: str, x):
    """The bounds tell where the rows are defined."""
    fs, _ = undefined_set(name)
    r = fix(fs, x)
    if singular(name, x) and not r.feasible:
        assert r.max_violation > 0
        return
    check_undefined(fs, name, x, r)


@pytest.mark.parametrize("name", ["log", "sqrt", "power", "inverse", "logarithm of a difference"])
def test_undefined_rows_are_repaired_to_the_nearest_point(name: str):
    """These sets are convex: from inside and outside the domain no grid point is nearer."""
    fs, anchor = undefined_set(name)
    low, high = fs.box()
    d = metric([0, 0])
    rng = np.random.default_rng(5)
    repairer = Repairer(fs, NEAREST_ONLY)
    inside = feasible_grid(fs, low, high)
    for _ in range(12):
        x = low + (high - low) * rng.uniform(-0.15, 1.15, 2)
        r = repairer.repair(x, d, anchor)
        check_certificate(fs, x, d, r)
        assert r.distance_squared**0.5 <= np.linalg.norm(inside - x, axis=1).min() + 1e-6


@pytest.mark.parametrize(("name", "x"), UNDEFINED_POINTS)
def test_undefined_rows_without_bounds_never_crash(name: str, x):
    """Nothing tells where the row is defined; a repair may fail, but says so."""
    rows, _, _, anchor, _ = UNDEFINED[name]
    fs = feasible_set(2, rows)
    r = fix(fs, x)
    assert r.feasible == fs.is_feasible(r.x)
    assert np.all(np.isfinite(r.x))
    assert np.isfinite(r.distance_squared)
    if not r.feasible:
        assert r.max_violation > 0
    rescued = fix(fs, x, anchor=np.array(anchor))
    assert rescued.feasible
    assert fs.is_feasible(rescued.x)


@pytest.mark.parametrize(
    ("rows", "x"),
    [
        (lambda v: [(1 / v[0] + v[1], 2.0, INF)], [0.0, 1.0]),
        (lambda v: [(ca.exp(v[0]), 2.0, INF)], [800.0, 1.0]),
        (lambda v: [(ca.log(v[0]), -INF, 1.0)], [0.0, 1.0]),
        (lambda v: [(ca.exp(v[0]), -INF, 2.0)], [800.0, 1.0]),
        (lambda v: [(1 / v[0], -3.0, 2.0)], [0.0, 1.0]),
    ],
)
def test_rows_of_infinite_value_are_judged_consistently(rows, x):
    """The repair, the feasible set and its violations say the same of a row that is infinite."""
    fs = feasible_set(2, rows)
    x = np.array(x)
    assert np.isinf(fs.values(x)).any()
    assert fs.is_feasible(x) == bool(np.all(fs.violations(x) == 0))
    r = fix(fs, x)
    assert np.all(np.isfinite(r.x))
    assert r.feasible == bool(np.all(fs.violations(r.x) == 0))


def test_a_run_survives_rows_that_are_infinite_on_a_bound():
    """Clipping to the bound x = 0 makes 1 / x infinite."""
    model = archeng.Model("pole")
    x = model.variable("x", lower=0, upper=4)
    y = model.variable("y", lower=0, upper=4)
    model.subject_to(1 / x + y >= 2)
    result = archeng.solve(
        model, lambda d: float(d["x"] + (d["y"] - 1) ** 2), max_evaluations=100, seed=1
    )
    assert result.fun < 0.1


# ----- equality manifolds --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_sphere(n: int, tolerance: float, chosen: Settings):
    fs = feasible_set(n, lambda x: [(ca.sumsqr(x), 1.0, 1.0)], tolerance=tolerance)
    rng = np.random.default_rng(n)
    d = random_metric(n, rng, 1.0, 0.5)
    repairer = Repairer(fs, chosen)
    for reach in (0.1, 0.7, 0.999, 1.001, 1.5, 4.0):
        x = rng.standard_normal(n)
        x *= reach / np.linalg.norm(x)
        r = repairer.repair(x, d)
        check_certificate(fs, x, d, r)
        assert r.active == (0,)
        side = 1 + tolerance if reach > 1 else 1 - tolerance
        assert np.linalg.norm(r.x - x / reach * side**0.5) < 1e-6
        assert r.distance_squared**0.5 == pytest.approx(abs(reach - side**0.5) / 0.5, abs=2e-6)


@pytest.mark.parametrize("reach", [1e-1, 1e-2, 1e-4])
def test_sphere_from_near_its_centre(reach: float):
    """The row's gradient is small there; the row is active at the answer all the same."""
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), 1.0, 1.0)])
    direction = np.array([2.0, 3.0, 6.0]) / 7
    d = metric(np.zeros(3))
    r = fix(fs, reach * direction, d)
    check_certificate(fs, reach * direction, d, r)
    np.testing.assert_allclose(r.x, direction, atol=1e-5)
    assert r.active == (0,)


@BOTH
@pytest.mark.parametrize("x", [[0.0, 2.0], [1.0, -2.0], [3.0, 3.0], [1.6, 0.5], [-2.0, 0.3]])
def test_sine_curve(x, chosen: Settings):
    fs = feasible_set(2, lambda v: [(v[1] - ca.sin(v[0]), 0.0, 0.0)], tolerance=1e-8)
    d = metric([0, 0])
    r = fix(fs, x, d, chosen)
    check_certificate(fs, np.array(x), d, r)
    t = np.linspace(x[0] - 4, x[0] + 4, 400_001)
    distance = np.hypot(t - x[0], np.sin(t) - x[1])
    # A stationary point of the distance along the curve; from these points also the nearest.
    assert r.distance_squared**0.5 == pytest.approx(distance.min(), abs=1e-6)


def test_two_equalities_and_a_bound():
    """The circle where a sphere meets a plane, cut by a bound."""
    fs = feasible_set(
        3, lambda x: [(ca.sumsqr(x), 1.0, 1.0), (x[0] + x[1] + x[2], 1.0, 1.0)],
        lower=[-INF, -INF, 0.1],
    )  # fmt: skip
    rng = np.random.default_rng(2)
    repairer = Repairer(fs)
    t = np.linspace(0, 2 * np.pi, 200_001)
    u, v = np.array([1, -1, 0]) / 2**0.5, np.array([1, 1, -2]) / 6**0.5
    circle = 1 / 3 + (2 / 3) ** 0.5 * (np.outer(np.cos(t), u) + np.outer(np.sin(t), v))
    circle = circle[circle[:, 2] >= 0.1]
    hits = []
    for _ in range(20):
        x = 1 / 3 + rng.standard_normal(3)
        d = metric(np.zeros(3), 0.7)
        r = repairer.repair(x, d, np.array([0.0, 0.0, 1.0]))
        check_certificate(fs, x, d, r)
        assert {1, 2} <= set(r.active)
        exact = np.linalg.norm(circle - x, axis=1).min() / 0.7
        if r.kind is RepairKind.NEAREST or x[2] >= 0.1:
            hits.append(r.distance_squared**0.5 <= exact + 1e-4)
    assert np.mean(hits) > 0.8  # nonconvex: a local solution now and then


# ----- degenerate vertices, redundant and duplicated rows ------------------------------------


@BOTH
def test_more_active_rows_than_variables_at_a_vertex(chosen: Settings):
    """A pyramid: five planes through the apex in three dimensions."""
    angles = 2 * np.pi * np.arange(5) / 5
    A = np.column_stack((np.cos(angles), np.sin(angles), np.ones(5)))
    fs = polytope(A, np.ones(5))
    d = metric(np.zeros(3))
    for x in ([0.0, 0.0, 3.0], [0.1, -0.05, 2.0], [0.2, 0.1, 1.5]):
        r = fix(fs, x, d, chosen)
        check_certificate(fs, np.array(x), d, r)
        np.testing.assert_allclose(r.x, [0, 0, 1], atol=1e-7)
        assert r.active == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("seed", range(10))
def test_random_degenerate_cones_are_projected_exactly(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    c = rng.standard_normal(n)
    A = rng.standard_normal((3 * n, n))
    A *= -np.sign(A @ rng.standard_normal(n))[:, None]  # a cone with inside, apex c
    A = np.concatenate((A, A[:2], 3 * A[:2]))
    fs = polytope(A, A @ c)
    d = random_metric(n, rng, 10.0)
    for _ in range(3):
        x = c + 2 * (d.scaled_factor @ rng.standard_normal(n))
        r = fix(fs, x, d, NEAREST_ONLY)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.NEAREST:
            assert deviations(d, r.x, linear_nearest(fs, x, d)) < 1e-6


def skewed_corner(*extra: int):
    """The corner x0 <= 1, x1 <= 1 as general rows, some of them several times."""
    rows = [[1.0, 0.1], [0.1, 1.0]]
    limits = [1.0, 1.0]
    return polytope(rows + [rows[i] for i in extra], limits + [limits[i] for i in extra])


@BOTH
@pytest.mark.parametrize("extra", [(0,), (0, 0), (0, 1), (1, 1, 1)])
def test_duplicated_rows_do_not_change_the_repair(extra, chosen: Settings):
    d = metric([0, 0], 1.0, [[1.0, 0.0], [0.95, 0.3]])
    x = np.array([1.5, 1.2])
    single, several = fix(skewed_corner(), x, d, chosen), fix(skewed_corner(*extra), x, d, chosen)
    assert several.kind is single.kind
    assert deviations(d, single.x, several.x) < 1e-7


@BOTH
def test_redundant_rows_do_not_change_the_repair(chosen: Settings):
    fs = feasible_set(2, lambda x: [(x[0] ** 2 + x[1] ** 2, -INF, 1.0)])
    more = feasible_set(
        2,
        lambda x: [
            (x[0] ** 2 + x[1] ** 2, -INF, 1.0),
            (x[0] + x[1], -INF, 50.0),
            (x[0] - x[1], -60.0, 70.0),
            (x[0] ** 4, -INF, 1e4),
        ],
    )
    rng = np.random.default_rng(8)
    for _ in range(10):
        d, x = random_metric(2, rng, 4.0), 3 * rng.standard_normal(2)
        a, b = fix(fs, x, d, chosen), fix(more, x, d, chosen)
        assert a.kind is b.kind
        assert deviations(d, a.x, b.x) < 1e-7


def test_tangent_boundaries():
    """A disc and its tangent: the gradients at the common point are parallel."""
    fs = feasible_set(2, lambda x: [(ca.sumsqr(x), -INF, 1.0), (x[0], 1.0, INF)])
    d = metric([0, 0])
    r = fix(fs, [0.5, 0.5], d)
    # The set is the single point (1, 0): a repair may fail, but must not invent another.
    if r.feasible:
        np.testing.assert_allclose(r.x, [1, 0], atol=1e-3)
    else:
        assert r.max_violation > 0


# ----- extreme metrics -----------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("sigma", [1e-10, 1e-7, 1e-3, 1.0, 1e3, 1e6])
def test_extreme_step_sizes_on_linear_rows(sigma: float, chosen: Settings):
    """The point is a few deviations outside; rounding of the rows limits the accuracy."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((6, 3))
    fs = polytope(A, np.ones(6))
    vertex = linear_nearest(fs, 5 * np.ones(3), metric(np.zeros(3)))
    d = random_metric(3, rng, 10.0, sigma)
    for _ in range(10):
        x = vertex + 2 * (d.scaled_factor @ rng.standard_normal(3))
        r = fix(fs, x, d, chosen)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.NEAREST:
            assert deviations(d, r.x, linear_nearest(fs, x, d)) < 1e-6 + 1e-13 / sigma


@BOTH
@pytest.mark.parametrize("sigma", [1e-10, 1e-7, 1e-3, 0.1])
def test_extreme_step_sizes_on_nonlinear_rows(sigma: float, chosen: Settings):
    fs = feasible_set(
        3, lambda x: [(ca.sumsqr(x), -INF, 1.0), (x[0] * x[1] + x[2], -INF, 0.8)], upper=0.9
    )
    boundary = fix(fs, [0.2, 0.4, 2.0], metric(np.zeros(3))).x
    rng = np.random.default_rng(1)
    for _ in range(10):
        d = random_metric(3, rng, 10.0, sigma)
        x = boundary + 2 * (d.scaled_factor @ rng.standard_normal(3))
        r = fix(fs, x, d, chosen)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.NEAREST:
            assert r.distance_squared**0.5 <= deviations(d, x, boundary) + 1e-6 + 1e-13 / sigma


@pytest.mark.parametrize("reach", [30.0, 1e3, 1e5])
def test_points_many_deviations_away_are_repaired(reach: float):
    """A start far outside with a small step size."""
    sigma = 4 / reach
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 2))
    for fs in (
        polytope(A, 0.5 * np.ones(4)),
        feasible_set(2, lambda x: [(ca.sumsqr(x), -INF, 1.0)]),
        feasible_set(2, lambda x: [(ca.sumsqr(x), -INF, 1.0), (x[0] - x[1], -0.2, 0.3)]),
        feasible_set(2, lambda x: [(ca.sumsqr(x), 1.0, 1.0)]),
    ):
        d = metric([0, 0], sigma)
        x = np.array([3.0, 4.0])
        r = fix(fs, x, d, NEAREST_ONLY)
        check_certificate(fs, x, d, r)
        unit = fix(fs, x, metric([0, 0]), NEAREST_ONLY)
        np.testing.assert_allclose(r.x, unit.x, atol=1e-6)


@pytest.mark.parametrize("reach", [3.0, 30.0, 100.0, 1e4])
@pytest.mark.parametrize("form", ["bounds", "planes", "curved"])
def test_intersection_many_deviations_away(form: str, reach: float):
    """All violated rows are met, also in a metric in which meeting one is shorter."""
    rows = {
        "bounds": None,
        "planes": lambda x: [(x[0] + 0.1 * x[1], -INF, 1.1), (0.2 * x[0] + x[1], -INF, 1.2)],
        "curved": lambda x: [((x[0] + 2) ** 2, -INF, 9.0), (x[1] + 0.1 * x[0] ** 2, -INF, 1.1)],
    }[form]
    fs = feasible_set(2, rows, upper=1.0 if form == "bounds" else None)
    d = metric([0, 0], 1 / reach, [[1.0, 0.0], [0.95, 0.3]])
    x = np.array([2.5, 2.2])
    r = fix(fs, x, d)
    check_certificate(fs, x, d, r)
    assert r.kind is RepairKind.INTERSECTION
    assert r.active == (0, 1)
    np.testing.assert_allclose(r.x, [1, 1], atol=1e-6)


@BOTH
@pytest.mark.parametrize("condition", [1e3, 1e5])
def test_ill_conditioned_covariance_on_linear_rows(condition: float, chosen: Settings):
    """Condition number of C up to 1e10, that of its factor is the root of it."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        n = int(rng.integers(2, 6))
        A = rng.standard_normal((2 * n, n))
        fs = polytope(A, np.ones(2 * n))
        d = random_metric(n, rng, condition)
        x = 2 * (d.scaled_factor @ rng.standard_normal(n))
        r = fix(fs, x, d, chosen)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.NEAREST:
            assert deviations(d, r.x, linear_nearest(fs, x, d)) < 1e-6


@BOTH
@pytest.mark.parametrize("condition", [1e3, 1e5])
def test_ill_conditioned_covariance_on_nonlinear_rows(condition: float, chosen: Settings):
    rng = np.random.default_rng(4)
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), -INF, 1.0), (x[0] ** 3 + x[1], -INF, 0.5)])
    for _ in range(10):
        d = random_metric(3, rng, condition, condition**-0.5)  # longest axis about 1
        x = np.array([0.5, 0.3, 0.4]) + 2 * (d.scaled_factor @ rng.standard_normal(3))
        r = fix(fs, x, d, chosen)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.NEAREST:  # the origin is feasible
            assert r.distance_squared**0.5 <= deviations(d, x, np.zeros(3))


@pytest.mark.parametrize("size", [1e-6, 1e3, 1e6])
def test_values_of_very_different_size(size: float):
    """Coordinates near 1e6 (or 1e-6) with steps a thousandth of that."""
    fs = feasible_set(2, lambda x: [(x[0] * x[1], -INF, size**2), (x[0] / x[1], 0.5, 2.0)])
    rng = np.random.default_rng(6)
    for _ in range(10):
        d = random_metric(2, rng, 5.0, 1e-3 * size)
        x = size * (1 + 2e-3 * rng.standard_normal(2))
        r = fix(fs, x, d)
        check_certificate(fs, x, d, r)
        if x[0] * x[1] > size**2:
            assert r.active == (0,)
            assert r.x[0] * r.x[1] == pytest.approx(size**2, rel=1e-10)
