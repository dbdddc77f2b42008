"""On convex sets the repaired point is the projection: against exact and independent answers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
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
    slsqp_nearest,
)
from scipy.optimize import linprog

from archeng.repair import Repairer, RepairKind

moderate = settings(deadline=None, max_examples=30, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def random_polytope(rng: np.random.Generator, n: int):
    """A x <= b with a ball of radius at least 0.05 around the point c inside."""
    m = int(rng.integers(1, 3 * n + 2))
    A = rng.standard_normal((m, n))
    c = rng.standard_normal(n)
    b = A @ c + np.linalg.norm(A, axis=1) * rng.uniform(0.05, 1.5, m)
    scale = 10.0 ** rng.uniform(-3, 3, m)
    return A * scale[:, None], b * scale, c


def random_convex_set(rng: np.random.Generator, n: int):
    """Ellipsoids and half-spaces around a common interior point c."""
    c = rng.standard_normal(n)
    ellipsoids = []
    for _ in range(int(rng.integers(1, 3))):
        M = rng.standard_normal((n, n))
        Q = M @ M.T / n + 0.2 * np.eye(n)
        centre = c + 0.3 * rng.standard_normal(n)
        limit = (c - centre) @ Q @ (c - centre) + rng.uniform(0.2, 2)
        ellipsoids.append((Q, centre, limit))
    m = int(rng.integers(0, n + 1))
    A = rng.standard_normal((m, n))
    b = A @ c + rng.uniform(0.1, 1.0, m)

    def rows(x):
        result = [
            (ca.bilin(ca.DM(Q), x - ca.DM(o), x - ca.DM(o)), -np.inf, float(limit))
            for Q, o, limit in ellipsoids
        ]
        return result + [
            (ca.dot(ca.DM(a), x), -np.inf, float(v)) for a, v in zip(A, b, strict=True)
        ]

    return feasible_set(n, rows), c


@moderate
@given(seed=seeds, n=st.integers(1, 7))
def test_projection_onto_polytopes_is_exact(seed: int, n: int):
    rng = np.random.default_rng(seed)
    A, b, c = random_polytope(rng, n)
    fs = polytope(A, b)
    d = random_metric(n, rng, 10 ** rng.uniform(0, 3), 10 ** rng.uniform(-1, 2))
    x = c + rng.uniform(0.5, 4) * (d.scaled_factor @ rng.standard_normal(n))
    assume(not fs.is_feasible(x))
    r = fix(fs, x, d, NEAREST_ONLY)
    check_certificate(fs, x, d, r)
    assert r.kind is RepairKind.NEAREST
    exact = linear_nearest(fs, x, d)
    assert deviations(d, r.x, exact) < 1e-6


@moderate
@given(seed=seeds, n=st.integers(1, 6))
def test_intersection_of_violated_planes(seed: int, n: int):
    """The kind agrees with a linear program's verdict; the point is nearest on the planes."""
    rng = np.random.default_rng(seed)
    A, b, c = random_polytope(rng, n)
    fs = polytope(A, b)
    d = random_metric(n, rng, 10.0)
    x = c + 2 * (d.scaled_factor @ rng.standard_normal(n))
    violated = fs.values(x) > fs.upper
    assume(violated.any())
    size = np.linalg.norm(A, axis=1)
    G, h = A / size[:, None], b / size
    bounds = [(None, None)] * n
    plane = linprog(np.zeros(n), G, h, G[violated], h[violated], bounds)
    r = fix(fs, x, d)
    check_certificate(fs, x, d, r)
    if plane.status == 2:
        assert r.kind is RepairKind.NEAREST
        return
    assert r.kind is RepairKind.INTERSECTION
    assert set(np.flatnonzero(violated).tolist()) <= set(r.active)
    np.testing.assert_allclose((G @ r.x)[violated], h[violated], atol=1e-7)

    # Nothing on the same planes and in the polytope is nearer: check along random directions
    # within the planes, and towards the other points a linear program finds there.
    _, s, vt = np.linalg.svd(G[violated])
    tangent = vt[int(np.sum(s > 1e-10)) :]
    for _ in range(10):
        corner = linprog(rng.standard_normal(n), G, h, G[violated], h[violated], [(-9, 9)] * n)
        if corner.status == 0:
            assert deviations(d, x, corner.x) >= r.distance_squared**0.5 - 1e-6
    for _ in range(50 if len(tangent) else 0):
        y = r.x + 10 ** rng.uniform(-4, 0) * (rng.standard_normal(len(tangent)) @ tangent)
        if np.all(G @ y <= h + 1e-12):
            assert deviations(d, x, y) >= r.distance_squared**0.5 - 1e-6


@moderate
@given(seed=seeds, n=st.integers(2, 5))
def test_projection_onto_convex_sets_agrees_with_slsqp(seed: int, n: int):
    rng = np.random.default_rng(seed)
    fs, c = random_convex_set(rng, n)
    d = random_metric(n, rng, 10 ** rng.uniform(0, 1), 10 ** rng.uniform(-1, 1))
    x = c + rng.uniform(0.5, 3) * (d.scaled_factor @ rng.standard_normal(n))
    assume(not fs.is_feasible(x))
    r = fix(fs, x, d, NEAREST_ONLY)
    check_certificate(fs, x, d, r)
    other = slsqp_nearest(fs, x, d, [x, c])
    # SLSQP's points are feasible to 1e-8 only; where it is less exact, ours is nearer.
    assert r.distance_squared**0.5 <= deviations(d, x, other) + 1e-6
    assert deviations(d, r.x, other) < 1e-6 or r.distance_squared**0.5 < deviations(d, x, other)


@moderate
@given(seed=seeds, n=st.integers(2, 6))
def test_no_feasible_point_is_nearer(seed: int, n: int):
    """Variational inequality: (x - r) M (y - r) <= 0 for all feasible y of a convex set."""
    rng = np.random.default_rng(seed)
    fs, c = random_convex_set(rng, n)
    d = random_metric(n, rng, 10 ** rng.uniform(0, 1.5), 0.7)
    x = c + 3 * (d.scaled_factor @ rng.standard_normal(n))
    assume(not fs.is_feasible(x))
    repairer = Repairer(fs, NEAREST_ONLY)
    r = repairer.repair(x, d)
    check_certificate(fs, x, d, r)
    others = [c + (r.x - c) * t for t in np.linspace(0, 1, 9)]
    others += list(r.x + 10 ** rng.uniform(-6, 0, (200, 1)) * rng.standard_normal((200, n)))
    others += [repairer.repair(r.x + 0.3 * rng.standard_normal(n), d).x for _ in range(10)]
    z = d.whiten(x - r.x)
    for y in others:
        if fs.is_feasible(y):
            assert z @ d.whiten(y - r.x) <= 1e-6 * (1 + np.abs(z).max())
            assert deviations(d, x, y) >= r.distance_squared**0.5 - 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_fine_grid_is_nearer(seed: int):
    rng = np.random.default_rng(seed)
    fs, c = random_convex_set(rng, 2)
    d = random_metric(2, rng, 6.0, 0.8)
    repairer = Repairer(fs, NEAREST_ONLY)
    side = np.linspace(-4, 4, 161)
    grid = c + np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    inside = grid[[fs.is_feasible(y) for y in grid]]
    assert len(inside) > 20
    for _ in range(10):
        x = c + 2.5 * rng.standard_normal(2)
        r = repairer.repair(x, d)
        check_certificate(fs, x, d, r)
        nearest = np.linalg.norm(d.whiten(inside - x), axis=1).min()
        assert r.distance_squared**0.5 <= nearest + 1e-9
        # The grid is fine enough to come near the repaired distance, too.
        assert nearest <= r.distance_squared**0.5 + 0.5


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 30.0])
def test_ball_and_half_space_have_closed_forms(n: int, sigma: float):
    rng = np.random.default_rng(n)
    d = random_metric(n, rng, 1.0, sigma)  # a rotation: distances are Euclidean over sigma
    direction = rng.standard_normal(n)
    direction /= np.linalg.norm(direction)
    ball = feasible_set(n, lambda x: [(ca.sumsqr(x), -np.inf, 4.0)])
    for reach in (0.01, 1.0, 4.0):
        x = direction * (2 + reach * sigma)
        r = fix(ball, x, d)
        check_certificate(ball, x, d, r)
        assert deviations(d, r.x, 2 * direction) < 1e-7
        assert r.distance_squared == pytest.approx(reach**2, rel=1e-6)
        assert r.kind is RepairKind.INTERSECTION
        assert r.active == (0,)
    d = random_metric(n, rng, 20.0, sigma)
    half = polytope([direction], [0.7])
    x = rng.standard_normal(n) * sigma + direction * (0.7 + 3 * sigma * np.sqrt(n))
    r = fix(half, x, d)
    S = d.sigma**2 * d.covariance
    exact = x - S @ direction * (direction @ x - 0.7) / (direction @ S @ direction)
    assert deviations(d, r.x, exact) < 1e-8
    assert r.distance_squared == pytest.approx(
        (direction @ x - 0.7) ** 2 / (direction @ S @ direction), rel=1e-8
    )


def test_projection_onto_an_ellipse_by_bisection():
    """Secular equation of the ellipse x^2/9 + y^2 = 1 in the identity metric."""
    fs = feasible_set(2, lambda x: [(x[0] ** 2 / 9 + x[1] ** 2, -np.inf, 1.0)])
    for x in ([4.0, 2.0], [0.1, 1.5], [-5.0, 0.01], [3.2, -0.2]):
        low, high = 0.0, 100.0
        for _ in range(200):
            t = (low + high) / 2
            y = np.array([9 * x[0] / (9 + t), x[1] / (1 + t)])
            low, high = (t, high) if y[0] ** 2 / 9 + y[1] ** 2 > 1 else (low, t)
        r = fix(fs, x, metric([0, 0]))
        np.testing.assert_allclose(r.x, y, atol=1e-7)
