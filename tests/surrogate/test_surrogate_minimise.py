"""Minimising a model over the feasible set: exactly feasible, lower, and where it is known."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import (
    Quadratic,
    coefficients,
    designs,
    feasible_set,
    few,
    least,
    minimise,
    moderate,
    plain_frame,
    random_frame,
    random_polytope,
    seeds,
)

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet
from archeng.repair import Repairer
from archeng.surrogate import Frame
from archeng.surrogate.fit import Kernels, fit
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.minimise import Minimum
from archeng.surrogate.priors import Prior

INF = np.inf


def valley(H: Floats, at: Floats) -> Interpolant:
    """(v - at) H (v - at) / 2 as a model."""
    n = len(at)
    empty = np.zeros((1, n)), np.zeros(1)
    return Interpolant(float(0.5 * at @ H @ at), -H @ at, H, *empty, 0.0, 0.0)


def slope(g: Floats) -> Interpolant:
    n = len(g)
    return Interpolant(0.0, g, np.zeros((n, n)), np.zeros((1, n)), np.zeros(1), 0.0, 0.0)


def in_designs(model: Interpolant, frame: Frame, scale: float) -> Callable[[Floats], float]:
    """The model as a function of designs."""
    return lambda x: model.value(frame.coordinates(x) / scale)


def check(
    found: Minimum,
    model: Interpolant,
    frame: Frame,
    scale: float,
    fs: FeasibleSet,
    start: Floats,
    radius: float,
) -> None:
    """What holds for every minimum."""
    x, f = found.x, in_designs(model, frame, scale)
    assert fs.is_feasible(x)
    assert frame.distance(x) <= radius * (1 + 1e-9)
    assert found.value == pytest.approx(f(x), rel=1e-9, abs=1e-9)
    assert found.value < f(start)


def found_from(
    model: Interpolant,
    fs: FeasibleSet,
    start: Floats,
    frame: Frame | None = None,
    scale: float = 1.0,
    radius: float = INF,
) -> Floats:
    """Minimise, check the certificate, and return the design."""
    frame = frame or plain_frame(np.zeros(fs.n))
    found = minimise(model, frame, scale, Repairer(fs), start, radius)
    assert found is not None
    check(found, model, frame, scale, fs, start, radius)
    return found.x


# -- known minima -------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_a_separable_valley_in_a_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    H, at = np.diag(10 ** rng.uniform(-1, 1, n)), 3 * rng.standard_normal(n)
    fs = feasible_set(n, lower=-1.0, upper=2.0)
    x = found_from(valley(H, at), fs, np.zeros(n))
    np.testing.assert_allclose(x, np.clip(at, -1, 2), atol=1e-6)


@moderate
@given(seed=seeds)
def test_a_slope_ends_in_a_corner(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    g = np.sign(rng.standard_normal(n)) * rng.uniform(0.1, 3, n)
    x = found_from(slope(g), feasible_set(n, lower=-1.0, upper=2.0), np.zeros(n))
    np.testing.assert_allclose(x, np.where(g > 0, -1, 2), atol=1e-6)


def test_a_valley_beyond_a_line() -> None:
    """By hand: the multiplier of x + y <= 1 in the metric of H."""
    H, at = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([2.0, 1.0])
    fs = feasible_set(2, lambda x: [(x[0] + x[1], -INF, 1.0)])
    normal = np.linalg.solve(H, np.ones(2))
    expected = at - normal * (at.sum() - 1) / normal.sum()
    np.testing.assert_allclose(found_from(valley(H, at), fs, np.zeros(2)), expected, atol=1e-6)


@moderate
@given(seed=seeds)
def test_valleys_in_polytopes_in_any_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    fs = random_polytope(rng, n)
    frame, scale = random_frame(rng, np.zeros(n)), 10 ** rng.uniform(-2, 2)
    q = Quadratic(rng, n, convex=True)
    q.gradient *= 3 * scale
    q.hessian *= scale**2
    model, start = q.model(), np.zeros(n)
    f = in_designs(model, frame, scale)
    known = least(fs, f, [start])
    found = minimise(model, frame, scale, Repairer(fs), start, INF)
    assert found is not None
    check(found, model, frame, scale, fs, start, INF)
    assert found.value - known <= 1e-4 * (f(start) - known)


def test_a_curved_inequality() -> None:
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), -INF, 4.0), (x[0] * x[1] + x[2], -INF, 1.0)])
    rng = np.random.default_rng(0)
    for _ in range(6):
        at = 3 * rng.standard_normal(3)
        model = valley(np.diag([1.0, 4.0, 0.5]), at)
        f = in_designs(model, plain_frame(np.zeros(3)), 1.0)
        known = least(fs, f, [np.zeros(3)])
        x = found_from(model, fs, np.zeros(3))
        assert f(x) - known <= 1e-4 * (f(np.zeros(3)) - known)


def test_a_curved_equality() -> None:
    """On a sphere, nearest to a point outside it."""
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), 4.0, 4.0)])
    rng, unit = np.random.default_rng(1), Distribution(np.zeros(3), 1.0, np.eye(3), np.eye(3))
    for _ in range(6):
        at = rng.standard_normal(3)
        at *= 3 / np.linalg.norm(at)
        start = Repairer(fs).repair(np.array([0.5, -1.5, 1.0]) + 0.2 * at, unit).x
        x = found_from(valley(np.eye(3), at), fs, start)
        np.testing.assert_allclose(x, at * 2 / 3, atol=2e-2)
        assert np.linalg.norm(x - at) <= 1 + 1e-4


def test_equalities_and_a_slope_in_a_plane() -> None:
    """A linear programme with an equality row: the vertex."""
    fs = feasible_set(3, lambda x: [(ca.sum1(x), 1.0, 1.0)], lower=0.0, upper=1.0)
    x = found_from(slope(np.array([3.0, 1.0, 2.0])), fs, np.full(3, 1 / 3))
    np.testing.assert_allclose(x, [0, 1, 0], atol=1e-5)


def test_a_saddle_is_left_downhill() -> None:
    """Along the direction of negative curvature, to the boundary."""
    model = Interpolant(
        0.0, np.array([0.1, 0.1]), np.diag([1.0, -1.0]), np.zeros((1, 2)), np.zeros(1), 0.0, 0.0
    )
    fs = feasible_set(2, lower=-2.0, upper=2.0)
    x = found_from(model, fs, np.zeros(2))
    assert x[1] == pytest.approx(-2, abs=1e-6)
    assert x[0] == pytest.approx(-0.1, abs=1e-2)


@pytest.mark.parametrize("prior", [Prior("radial", radial=1.0), Prior("additive", spline=1.0)])
def test_models_that_are_no_quadratics(prior: Prior) -> None:
    """Not worse than SciPy from the same start."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        fs = random_polytope(rng, 2)
        A = designs(rng, coefficients(2) + 4, 2)
        found = fit(Kernels(A), np.sum((A - 0.6) ** 4, axis=1), prior)
        assert found is not None
        f = in_designs(found.model, plain_frame(np.zeros(2)), 1.0)
        start = np.zeros(2)
        known = least(fs, f, [start])
        if f(start) - known > 1e-3:
            x = found_from(found.model, fs, start)
            assert f(x) - known <= 0.01 * (f(start) - known)


# -- contract -----------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_any_quadratic_within_a_radius(seed: int) -> None:
    """Feasible, near, never worse."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    fs = random_polytope(rng, n)
    frame = random_frame(rng, 0.02 * rng.standard_normal(n))
    scale, radius = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-3, 1)
    model, start = Quadratic(rng, n).model(), frame.centre
    found = minimise(model, frame, scale, Repairer(fs), start, radius)
    if found is not None:
        check(found, model, frame, scale, fs, start, radius)


@pytest.mark.parametrize("n", [1, 2])
def test_a_set_that_ends_a_little_beyond_the_radius(n: int) -> None:
    """The centre lies inside and the slope is not zero: something can be gained."""
    model = valley(np.eye(n), 3 * np.eye(n)[0])
    fs = feasible_set(n, lower=-4.0, upper=1.25)
    x = found_from(model, fs, np.zeros(n), radius=1.0)
    assert x[0] > 0.5


@few
@given(seed=seeds)
def test_curved_sets_within_a_radius(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(3)
    fs = feasible_set(
        3,
        lambda x: [
            (ca.sumsqr(x - ca.DM(c)), -INF, (1 + np.linalg.norm(c)) ** 2),
            (x[0] + 0.3 * ca.sin(3 * x[1]), -INF, 1.0),
            (ca.exp(x[0]) + x[1] * x[2], -2.0, 2.5),
        ],
    )
    frame, radius = random_frame(rng, np.zeros(3), 3.0), 10 ** rng.uniform(-2, 1)
    model = Quadratic(rng, 3).model()
    found = minimise(model, frame, 1.0, Repairer(fs), np.zeros(3), radius)
    assert found is not None
    check(found, model, frame, 1.0, fs, np.zeros(3), radius)


@few
@given(seed=seeds)
def test_a_small_radius_is_made_use_of(seed: int) -> None:
    """At least half of what a slope could gain within it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    g, radius = rng.standard_normal(n), 10 ** rng.uniform(-3, 0)
    fs = feasible_set(n, lower=-9.0, upper=9.0)
    found = minimise(slope(g), plain_frame(np.zeros(n)), 1.0, Repairer(fs), np.zeros(n), radius)
    assert found is not None
    assert -found.value >= 0.5 * radius * np.linalg.norm(g)


def test_a_start_that_is_the_minimum() -> None:
    inside = valley(np.diag([1.0, 2.0]), np.array([0.5, 0.25]))
    outside = valley(np.diag([1.0, 2.0]), np.array([3.0, 3.0]))
    fs = feasible_set(2, lower=-1.0, upper=1.0)
    centre = plain_frame(np.zeros(2))
    for model, start in ((inside, np.array([0.5, 0.25])), (outside, np.ones(2))):
        assert minimise(model, centre, 1.0, Repairer(fs), start, INF) is None


def test_a_start_at_the_corner_of_a_slope() -> None:
    fs = feasible_set(2, lambda x: [(x[0] + x[1], -INF, 1.0)], lower=0.0, upper=4.0)
    model = slope(np.array([1.0, 2.0]))
    assert minimise(model, plain_frame(np.ones(2)), 1.0, Repairer(fs), np.zeros(2), INF) is None


def test_a_flat_model() -> None:
    fs = feasible_set(2)
    model = slope(np.zeros(2))
    assert minimise(model, plain_frame(np.zeros(2)), 1.0, Repairer(fs), np.ones(2), INF) is None


def test_a_model_of_the_single_feasible_design() -> None:
    """Nowhere to go: at most rounding is gained."""
    fs = feasible_set(2, lambda x: [(x[0] - x[1], 0.0, 0.0), (x[0] + x[1], 2.0, 2.0)])
    start = np.ones(2)
    model = slope(np.array([1.0, 2.0]))
    found = minimise(model, plain_frame(start), 1.0, Repairer(fs), start, INF)
    if found is not None:
        assert fs.is_feasible(found.x)
        np.testing.assert_allclose(found.x, start, atol=1e-5)


def test_a_model_that_is_not_finite() -> None:
    fs = feasible_set(2)
    model = slope(np.array([np.nan, 1.0]))
    assert minimise(model, plain_frame(np.zeros(2)), 1.0, Repairer(fs), np.ones(2), INF) is None


@few
@given(seed=seeds)
def test_affine_maps_of_the_design_space(seed: int) -> None:
    """The same model over the mapped set in the mapped frame has the mapped minimum."""
    rng = np.random.default_rng(seed)
    n = 3
    normals, limits = rng.standard_normal((4, n)), rng.uniform(0.5, 2, 4)
    M, t = random_frame(rng, np.zeros(n), 30.0).factor, rng.standard_normal(n)
    inverse = np.linalg.inv(M)
    model = Quadratic(rng, n, convex=True).model()

    def rows(x):  # type: ignore[no-untyped-def]
        return [(ca.dot(ca.DM(a), x), -INF, float(b)) for a, b in zip(normals, limits, strict=True)]

    one = feasible_set(n, rows, lower=None, upper=None)
    two = feasible_set(
        n, lambda y: rows(ca.mtimes(ca.DM(inverse), y - ca.DM(t))), lower=None, upper=None
    )
    frame = random_frame(rng, np.zeros(n))
    mapped = Frame(t, M @ frame.factor, frame.inverse @ inverse)
    a = minimise(model, frame, 2.0, Repairer(one), np.zeros(n), 1.5)
    b = minimise(model, mapped, 2.0, Repairer(two), t, 1.5)
    assert a is not None
    assert b is not None
    assert a.value == pytest.approx(b.value, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(mapped.coordinates(b.x), frame.coordinates(a.x), atol=1e-5)
