"""What every repair promises: unchanged if feasible, exact feasibility, kinds, certificates."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repair_helpers import (
    NEAREST_ONLY,
    check_certificate,
    deviations,
    feasible_set,
    fix,
    metric,
    polytope,
    random_metric,
)

import archeng
from archeng.errors import SettingsError
from archeng.repair import Repairer, RepairKind
from archeng.settings import Settings

moderate = settings(deadline=None, max_examples=25, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
BALL = feasible_set(3, lambda x: [(ca.sumsqr(x), -np.inf, 1.0)])
BOX = feasible_set(3, lower=[-1, -2, -3], upper=[1, 2, 3])
MIXED = feasible_set(
    3,
    lambda x: [
        (ca.sum1(x), -1.0, 1.0),
        (ca.sumsqr(x), -np.inf, 2.0),
        (x[0] * x[1] - x[2] ** 2, -0.5, np.inf),
    ],
    lower=-1,
    upper=1.5,
)
SPHERE = feasible_set(3, lambda x: [(ca.sumsqr(x), 1.0, 1.0)], tolerance=1e-4)
SETS = {"ball": BALL, "box": BOX, "mixed": MIXED, "sphere": SPHERE}
REPAIRERS = {name: Repairer(fs) for name, fs in SETS.items()}


@pytest.mark.parametrize("name", SETS)
@moderate
@given(seed=seeds)
def test_feasible_input_is_returned_bit_for_bit(name: str, seed: int):
    fs, repairer = SETS[name], REPAIRERS[name]
    rng = np.random.default_rng(seed)
    d = random_metric(3, rng)
    x = repairer.repair(rng.standard_normal(3), d).x
    inside = np.array([x, x * 0.5, x * rng.random()])
    for point in inside:
        if fs.is_feasible(point):
            before = point.tobytes()
            r = repairer.repair(point, random_metric(3, rng, 1e3, 10 ** rng.uniform(-6, 6)))
            assert r.kind is RepairKind.FEASIBLE
            assert r.x.tobytes() == before
            check_certificate(fs, point, d, r)
            assert r.kkt_residual == 0.0


@pytest.mark.parametrize("name", SETS)
@moderate
@given(seed=seeds)
def test_repair_is_feasible_idempotent_and_certified(name: str, seed: int):
    fs, repairer = SETS[name], REPAIRERS[name]
    rng = np.random.default_rng(seed)
    d = random_metric(3, rng, 10 ** rng.uniform(0, 2), 10 ** rng.uniform(-2, 0.5))
    x = d.scaled_factor @ rng.standard_normal(3) * 3 + rng.standard_normal(3)
    before = x.copy()
    r = repairer.repair(x, d)
    np.testing.assert_array_equal(x, before)
    check_certificate(fs, x, d, r)
    again = repairer.repair(r.x, d)
    assert again.kind is RepairKind.FEASIBLE
    assert again.x.tobytes() == r.x.tobytes()


@pytest.mark.parametrize("name", SETS)
def test_repair_does_not_depend_on_what_was_repaired_before(name: str):
    fs = SETS[name]
    rng = np.random.default_rng(1)
    d = random_metric(3, rng)
    points = 2 * rng.standard_normal((15, 3))
    used = Repairer(fs)
    for x in points:
        used.repair(x, d)
    other = random_metric(3, rng)
    for x in points:
        used.repair(x, other)
    for x in points:
        fresh, warm = fix(fs, x, d), used.repair(x, d)
        assert fresh.x.tobytes() == warm.x.tobytes()
        assert (fresh.kind, fresh.active) == (warm.kind, warm.active)


# ----- kinds ---------------------------------------------------------------------------------


@moderate
@given(seed=seeds, n=st.integers(1, 6))
def test_box_repair_is_clipping_in_the_identity_metric(seed: int, n: int):
    rng = np.random.default_rng(seed)
    low = rng.standard_normal(n)
    high = low + rng.uniform(0.1, 3, n)
    fs = feasible_set(n, lower=low, upper=high)
    x = low + (high - low) * rng.uniform(-2, 3, n)
    for chosen in (Settings(), NEAREST_ONLY):
        r = fix(fs, x, metric(np.zeros(n), 10 ** rng.uniform(-1, 1)), chosen)
        np.testing.assert_allclose(r.x, np.clip(x, low, high), rtol=0, atol=1e-8)
        outside = np.flatnonzero((x < low) | (x > high))
        assert set(r.active) == set(outside.tolist())
        if len(outside):
            kind = RepairKind.INTERSECTION if chosen.intersection_first else RepairKind.NEAREST
            assert r.kind is kind


@moderate
@given(seed=seeds)
def test_intersection_pins_all_violated_rows_even_if_another_point_is_nearer(seed: int):
    """In a skewed metric the nearest point of a corner's region may lie on one face only."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    fs = feasible_set(n, lower=-1, upper=1)
    d = random_metric(n, rng, 30.0)
    k = int(rng.integers(1, n + 1))
    x = rng.uniform(-0.5, 0.5, n)
    x[:k] = rng.choice([-1, 1], k) * rng.uniform(1.05, 2.5, k)
    r, nearest = fix(fs, x, d), fix(fs, x, d, NEAREST_ONLY)
    check_certificate(fs, x, d, r)
    assert r.kind is RepairKind.INTERSECTION  # the face of a box is never empty
    np.testing.assert_allclose(r.x[:k], np.sign(x[:k]), atol=1e-8 * 30**0.5)
    assert set(range(k)) <= set(r.active)
    assert r.distance_squared >= nearest.distance_squared * (1 - 1e-9)
    if k == n:
        np.testing.assert_allclose(r.x, np.sign(x), atol=1e-8 * 30**0.5)


def test_intersection_and_nearest_differ_in_a_skewed_metric():
    fs = feasible_set(2, lower=0, upper=1)
    d = metric([0, 0], 1.0, [[1.0, 0.0], [0.95, 0.3]])
    x = np.array([1.5, 1.2])
    pinned, nearest = fix(fs, x, d), fix(fs, x, d, NEAREST_ONLY)
    np.testing.assert_allclose(pinned.x, [1.0, 1.0], atol=1e-8)
    assert pinned.kind is RepairKind.INTERSECTION
    assert pinned.active == (0, 1)
    assert nearest.kind is RepairKind.NEAREST
    assert nearest.active == (0,)
    assert nearest.x[1] < 0.95
    assert nearest.distance_squared < pinned.distance_squared


@pytest.mark.parametrize(
    ("fs", "x"),
    [
        # Three boundaries in general position in the plane.
        (polytope([[1, 0.2], [0.1, 1], [1, 1]], [1, 1, 1.5]), [4.0, 4.0]),
        # Two parallel planes.
        (polytope([[1, 1], [1, 1]], [1, 2]), [3.0, 1.0]),
        # In one dimension.
        (polytope([[1.0], [2.0]], [1, 3]), [4.0]),
        # A boundary that never touches the feasible set.
        (feasible_set(2, lambda x: [(ca.sumsqr(x), -np.inf, 1), (x[0], -np.inf, 3)]), [4.0, 0.0]),
        (
            feasible_set(2, lambda x: [(ca.sumsqr(x), -np.inf, 1), (x[0] + x[1], -np.inf, 3)]),
            [4.0, 1.0],
        ),
        # Two concentric circles.
        (
            feasible_set(
                2, lambda x: [(ca.sumsqr(x), -np.inf, 1), (x[0] ** 2 + x[1] ** 2, -np.inf, 4)]
            ),
            [3.0, 1.0],
        ),
    ],
)
def test_empty_intersection_leads_to_the_nearest_point(fs, x):
    d = metric(np.zeros(fs.n))
    r = fix(fs, x, d)
    assert r.kind is RepairKind.NEAREST
    check_certificate(fs, x, d, r)
    other = fix(fs, x, d, NEAREST_ONLY)
    np.testing.assert_allclose(r.x, other.x, atol=1e-6)


def test_pinned_nonlinear_boundaries_are_met():
    """Two unit balls whose spheres meet: the violated ones stay active, nearly always.

    The intersection is a nonconvex problem that the fast solver may miss now and then.
    """
    n = 4
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        o = rng.standard_normal(n)
        o /= np.linalg.norm(o)
        fs = feasible_set(
            n, lambda x, o=o: [(ca.sumsqr(x), -np.inf, 1.0), (ca.sumsqr(x - ca.DM(o)), -np.inf, 1)]
        )
        x = 0.5 * o + rng.standard_normal(n) * 1.5
        d = random_metric(n, rng, 4.0, 0.5)
        violated = np.flatnonzero(fs.violations(x) > 0)
        r = fix(fs, x, d)
        check_certificate(fs, x, d, r)
        if len(violated):
            found.append(r.kind is RepairKind.INTERSECTION)
        if r.kind is RepairKind.INTERSECTION:
            assert set(violated.tolist()) <= set(r.active)
            np.testing.assert_allclose(fs.values(r.x)[violated], 1.0, atol=1e-6)
    assert len(found) > 20
    assert np.mean(found) >= 0.9


# ----- certificates --------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_certificate_names_the_active_rows_and_is_a_kkt_point(seed: int):
    """Multipliers recomputed from the active rows alone must explain the displacement."""
    rng = np.random.default_rng(seed)
    d = random_metric(3, rng, 5.0)
    x = 2 * rng.standard_normal(3)
    r = fix(MIXED, x, d, NEAREST_ONLY)
    check_certificate(MIXED, x, d, r)
    if r.kind is RepairKind.FEASIBLE:
        return
    values, jacobian = MIXED.values_and_jacobian(r.x)
    size = np.linalg.norm(jacobian @ d.scaled_factor, axis=1)
    gap = np.minimum(values - MIXED.lower, MIXED.upper - values) / size
    assert set(np.flatnonzero(gap < 1e-9).tolist()) <= set(r.active)
    assert np.all(gap[list(r.active)] < 1e-6)
    z = d.whiten(x - r.x)
    A = (jacobian @ d.scaled_factor)[list(r.active)]
    multipliers, *_ = np.linalg.lstsq(A.T, z, rcond=None)
    np.testing.assert_allclose(A.T @ multipliers, z, atol=2e-3 * (1 + np.abs(z).max()))
    upper = (MIXED.upper - values <= values - MIXED.lower)[list(r.active)]
    if np.linalg.matrix_rank(A) == len(A):
        assert np.all(multipliers[upper] * size[list(r.active)][upper] > -1e-3)
        assert np.all(multipliers[~upper] * size[list(r.active)][~upper] < 1e-3)


def test_equality_rows_are_always_active():
    r = fix(SPHERE, [2.0, 0.0, 0.0])
    assert r.active == (0,)
    inside = fix(SPHERE, [1.0, 0.0, 0.0])
    assert inside.kind is RepairKind.FEASIBLE
    assert inside.active == (0,)


def test_equality_rows_are_active_inside_their_tolerance_too():
    """They count in c_act wherever in their band the repaired point lies."""
    fs = feasible_set(
        2, lambda x: [(x[0] + x[1], 1.0, 1.0), (x[0] - x[1], -np.inf, 0.0)], tolerance=0.1
    )
    r = fix(fs, [0.6, 0.42])
    np.testing.assert_allclose(r.x, [0.51, 0.51], atol=1e-7)
    assert r.active == (0, 1)


@pytest.mark.parametrize(
    "x", [[-0.05381656, 0.19171277, 0.01698119], [0.55620589, 0.60747769, 0.08894316]]
)
def test_intersection_is_met_and_active(x):
    """On a thin manifold cut by a wave: an iterate that is merely feasible is no intersection."""
    fs = feasible_set(
        3,
        lambda v: [
            (ca.sumsqr(v), 1.0, 1.0),
            (v[0] + 0.5 * ca.sin(2 * v[1]), -np.inf, 0.6),
        ],
        tolerance=1e-4,
    )
    x = np.array(x)
    F = np.eye(3) + 0.3 * np.random.default_rng(21).standard_normal((3, 3))
    for sigma in (0.02, 0.0466, 0.0941, 0.3):
        d = metric(np.zeros(3), sigma, F)
        r = fix(fs, x, d)
        check_certificate(fs, x, d, r)
        if r.kind is RepairKind.INTERSECTION:
            violated = np.flatnonzero(fs.violations(x) > 0)
            assert set(violated.tolist()) <= set(r.active)
            values, jacobian = fs.values_and_jacobian(r.x)
            size = np.linalg.norm(jacobian @ d.scaled_factor, axis=1)
            gap = np.minimum(values - fs.lower, fs.upper - values) / size
            assert np.all(gap[violated] < 1e-6)


def test_active_rows_of_a_feasible_input_are_those_on_their_limit():
    assert fix(BOX, [1.0, -2.0, 0.5]).active == (0, 1)
    assert fix(BOX, [0.0, 0.0, 0.0]).active == ()


@pytest.mark.parametrize("margin", [0.0, 1e-13, 1e-11])
@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 5.0])
def test_margin_does_not_move_the_point(margin: float, sigma: float):
    d = metric([0, 0, 0], sigma)
    x = np.array([2.0, 3.0, 6.0]) / 7 * (1 + 3 * sigma)
    r = fix(BALL, x, d, Settings(margin=margin))
    check_certificate(BALL, x, d, r)
    exact = np.array([2.0, 3.0, 6.0]) / 7
    assert deviations(d, r.x, exact) < 1e-9 + 1e-13 / sigma
    plane = polytope([[2.0, 3.0, 6.0]], [7.0])
    r = fix(plane, x, d, Settings(margin=margin))
    assert deviations(d, r.x, exact) < 1e-9 + 1e-13 / sigma


# ----- failures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fs",
    [
        feasible_set(2, lambda x: [(x[0] + x[1], 1, np.inf), (2 * x[0] + 2 * x[1], -np.inf, 1)]),
        feasible_set(2, lambda x: [(ca.sumsqr(x), -np.inf, 1), (x[0], 2, np.inf)]),
        feasible_set(2, lambda x: [(ca.sumsqr(x), 1, 1), (ca.sumsqr(x - 3), 1, 1)]),
        feasible_set(2, lambda x: [(ca.exp(x[0]) + x[1] ** 2, -np.inf, -1)]),
        feasible_set(2, lambda x: [(ca.sqrt(x[0]), 1, np.inf), (x[0] + x[1], -np.inf, -9)],
                     lower=-5, upper=0.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("x", [[0.3, 0.2], [4.0, -7.0]])
def test_empty_feasible_set_fails_with_a_positive_violation(fs, x):
    for chosen in (Settings(), NEAREST_ONLY):
        r = fix(fs, x, None, chosen)
        assert r.kind is RepairKind.FAILED
        assert not r.feasible
        assert r.max_violation > 0
        assert r.max_violation == fs.violations(r.x).max()
        assert np.all(np.isfinite(r.x))
        assert np.isfinite(r.distance_squared)


def test_qp_needs_linear_rows():
    with pytest.raises(SettingsError, match="linear"):
        Repairer(BALL, Settings(repair_solver="qp"))
    Repairer(BOX, Settings(repair_solver="qp"))


# ----- one variable --------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "sqp", "ipopt"])
@pytest.mark.parametrize("sigma", [1e-4, 1.0, 50.0])
def test_one_variable(solver: str, sigma: float):
    chosen = Settings(repair_solver=solver)
    box = feasible_set(1, lower=-1, upper=2)
    line = polytope([[3.0]], [6.0])
    square = feasible_set(1, lambda x: [(x**2, 1.0, 4.0)])
    step = 0.5 * min(sigma, 1.0)
    for fs, x, expected in (
        (box, 2 + step, 2.0),
        (box, -1 - step, -1.0),
        (line, 2 + step, 2.0),
        (square, 2 + step, 2.0),
        (square, -2 - step, -2.0),
        (square, 1 - step, 1.0),
        (square, -1 + step, -1.0),
    ):
        d = metric([0.0], sigma)
        r = fix(fs, [x], d, chosen)
        check_certificate(fs, np.array([x]), d, r)
        assert r.x[0] == pytest.approx(expected, abs=1e-7 * max(sigma, 1e-3))


def test_values_and_gradients_have_their_shapes_with_one_variable():
    fs = feasible_set(1, lambda x: [(x**2, 1.0, 4.0), (ca.exp(x), -np.inf, 3.0)], lower=-5, upper=5)
    values, jacobian = fs.values_and_jacobian(np.array([0.5]))
    np.testing.assert_allclose(values, [0.5, 0.25, np.exp(0.5)])
    np.testing.assert_allclose(jacobian, [[1.0], [1.0], [np.exp(0.5)]])


@pytest.mark.parametrize("curved", [False, True])
def test_solve_with_one_variable(curved: bool):
    model = archeng.Model("one")
    x = model.variable("x", lower=0, upper=4)
    if curved:
        model.subject_to(x**2 >= 2)
    result = archeng.solve(model, lambda d: float(d["x"]), max_evaluations=120, seed=1)
    assert result.fun == pytest.approx(2**0.5 if curved else 0.0, abs=1e-6)
