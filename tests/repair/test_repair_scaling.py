"""Units of rows and variables, and increasing transformations of rows, do not matter."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repair_helpers import (
    NEAREST_ONLY,
    active_names,
    check_certificate,
    deviations,
    feasible_set,
    fix,
    metric,
    random_metric,
)

from archeng.distribution import Distribution
from archeng.settings import Settings

moderate = settings(deadline=None, max_examples=15, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
BOTH = pytest.mark.parametrize(
    "chosen", [Settings(), NEAREST_ONLY], ids=["intersection", "nearest"]
)
INF = np.inf


def base_rows(x):
    """Rows (expression, lower, upper) around the origin, linear and nonlinear."""
    return [
        (x[0] + 2 * x[1] - x[2], -INF, 1.0),
        (ca.sumsqr(x), -INF, 2.0),
        (x[0] * x[1] + x[2], -0.7, 0.9),
        (ca.exp(x[0]) - x[1], 0.2, INF),
    ]


@BOTH
@moderate
@given(seed=seeds)
def test_rescaled_rows_give_the_same_point(chosen: Settings, seed: int):
    rng = np.random.default_rng(seed)
    factors = 10.0 ** rng.uniform(-8, 8, 4)
    fs = feasible_set(3, base_rows)
    scaled = feasible_set(
        3,
        lambda x: [
            (f * e, f * a, f * b) for f, (e, a, b) in zip(factors, base_rows(x), strict=True)
        ],
    )
    d = random_metric(3, rng, 10.0, 0.8)
    x = 1.5 * rng.standard_normal(3)
    a, b = fix(fs, x, d, chosen), fix(scaled, x, d, chosen)
    check_certificate(scaled, x, d, b)
    assert deviations(d, a.x, b.x) < 1e-7
    assert a.kind is b.kind
    assert active_names(fs, a) == active_names(scaled, b)


@BOTH
@pytest.mark.parametrize("factor", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("row", range(4))
def test_one_rescaled_row_gives_the_same_point(chosen: Settings, factor: float, row: int):
    def rows(x):
        result = base_rows(x)
        e, a, b = result[row]
        result[row] = (factor * e, factor * a, factor * b)
        return result

    fs, scaled = feasible_set(3, base_rows), feasible_set(3, rows)
    rng = np.random.default_rng(row)
    for _ in range(3):
        d = random_metric(3, rng, 5.0)
        x = 1.5 * rng.standard_normal(3)
        a, b = fix(fs, x, d, chosen), fix(scaled, x, d, chosen)
        assert deviations(d, a.x, b.x) < 1e-7
        assert a.kind is b.kind
        assert active_names(fs, a) == active_names(scaled, b)


INCREASING = {
    "exp": (ca.exp, np.exp),
    "cube": (lambda g: (g + 3) ** 3, lambda v: (v + 3) ** 3),
    "sinh": (ca.sinh, np.sinh),
    "atan": (ca.atan, np.arctan),
    "exp of 3g": (lambda g: ca.exp(3 * g), lambda v: np.exp(3 * v)),
}


@BOTH
@pytest.mark.parametrize("name", INCREASING)
def test_increasing_transformations_of_rows_give_the_same_point(chosen: Settings, name: str):
    """Up to about three deviations outside, where the transformed rows are still tame."""
    symbolic, numeric = INCREASING[name]

    def one_sided(x):
        return [
            (0.5 * (x[0] + 2 * x[1] - x[2]), -INF, 0.5),
            (0.5 * ca.sumsqr(x), -INF, 1.0),
            (0.3 * x[2] - x[0], -INF, 0.6),
        ]

    fs = feasible_set(3, one_sided)
    mapped = feasible_set(
        3, lambda x: [(symbolic(e), -INF, float(numeric(b))) for e, _, b in one_sided(x)]
    )
    rng = np.random.default_rng(7)
    for _ in range(12):
        d = random_metric(3, rng, 4.0, 0.6)
        x = rng.standard_normal(3) * rng.uniform(0.5, 1.5)
        a, b = fix(fs, x, d, chosen), fix(mapped, x, d, chosen)
        check_certificate(mapped, x, d, b)
        assert deviations(d, a.x, b.x) < 1e-7
        assert a.kind is b.kind
        assert active_names(fs, a) == active_names(mapped, b)


@pytest.mark.parametrize("steep", [1.0, 3.0, 10.0, 20.0])
def test_steep_rows_do_not_enlarge_the_margin(steep: float):
    """exp(steep (r - 1)) <= 1 is the unit ball, however steep the row is at the point."""
    fs = feasible_set(2, lambda x: [(ca.exp(steep * (ca.norm_2(x) - 1)), -INF, 1.0)])
    d = metric([0, 0])
    x = np.array([1.2, 1.6])
    r = fix(fs, x, d)
    check_certificate(fs, x, d, r)
    assert deviations(d, r.x, [0.6, 0.8]) < 1e-7
    assert r.active == (0,)


@pytest.mark.parametrize("sigma", [10.0, 100.0, 1e3, 1e4])
def test_wide_search_distribution_is_still_projected_onto_the_boundary(sigma: float):
    """The unit ball is small beside sigma; the answer is its boundary, not its inside."""
    fs = feasible_set(2, lambda x: [(ca.sumsqr(x), -INF, 1.0)])
    d = metric([0, 0], sigma)
    x = np.array([3.0, 4.0]) * sigma
    r = fix(fs, x, d)
    check_certificate(fs, x, d, r)
    np.testing.assert_allclose(r.x, [0.6, 0.8], atol=1e-3)


@BOTH
@moderate
@given(seed=seeds)
def test_units_of_variables_do_not_matter(chosen: Settings, seed: int):
    """y = D x: rows, point and metric transformed; the repaired point is transformed too."""
    rng = np.random.default_rng(seed)
    D = 10.0 ** rng.uniform(-6, 6, 3)
    fs = feasible_set(3, base_rows, lower=-2, upper=[0.9, 1.1, 1.3])
    other = feasible_set(
        3, lambda y: base_rows(y / ca.DM(D)), lower=-2 * D, upper=np.array([0.9, 1.1, 1.3]) * D
    )
    d = random_metric(3, rng, 10.0, 0.8)
    e = Distribution(D * d.mean, d.sigma, D[:, None] * d.factor, d.inverse_factor / D)
    x = 1.5 * rng.standard_normal(3)
    a, b = fix(fs, x, d, chosen), fix(other, D * x, e, chosen)
    check_certificate(other, D * x, e, b)
    assert deviations(d, a.x, b.x / D) < 1e-6
    assert a.kind is b.kind
    assert active_names(fs, a) == active_names(other, b)
    assert a.distance_squared == pytest.approx(b.distance_squared, rel=1e-6, abs=1e-10)


@BOTH
@moderate
@given(seed=seeds)
def test_repair_moves_with_affine_maps(chosen: Settings, seed: int):
    """y = A x + t with a dense, moderately conditioned A."""
    rng = np.random.default_rng(seed)
    A = random_metric(3, rng, 10 ** rng.uniform(0, 3)).factor
    t = rng.standard_normal(3)
    inverse = np.linalg.inv(A)
    fs = feasible_set(3, base_rows)
    other = feasible_set(3, lambda y: base_rows(ca.DM(inverse) @ (y - ca.DM(t))))
    d = random_metric(3, rng, 10.0, 0.8)
    e = Distribution(A @ d.mean + t, d.sigma, A @ d.factor, d.inverse_factor @ inverse)
    x = 1.5 * rng.standard_normal(3)
    a, b = fix(fs, x, d, chosen), fix(other, A @ x + t, e, chosen)
    assert deviations(e, A @ a.x + t, b.x) < 1e-6
    assert a.kind is b.kind
    assert active_names(fs, a) == active_names(other, b)
    assert a.distance_squared == pytest.approx(b.distance_squared, rel=1e-6, abs=1e-10)


@moderate
@given(seed=seeds)
def test_any_factor_of_the_same_covariance_gives_the_same_point(seed: int):
    rng = np.random.default_rng(seed)
    d = random_metric(3, rng, 10.0, 0.8)
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    e = Distribution(d.mean, d.sigma, d.factor @ Q, Q.T @ d.inverse_factor)
    half = Distribution(d.mean, d.sigma / 2, 2 * d.factor, d.inverse_factor / 2)
    fs = feasible_set(3, base_rows)
    x = 1.5 * rng.standard_normal(3)
    points = [fix(fs, x, v).x for v in (d, e, half)]
    assert deviations(d, points[0], points[1]) < 1e-7
    assert deviations(d, points[0], points[2]) < 1e-7


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    fs = feasible_set(3, base_rows)
    order = [2, 0, 3, 1]
    shuffled = feasible_set(3, lambda x: [base_rows(x)[i] for i in order])
    for _ in range(10):
        d = random_metric(3, rng, 5.0)
        x = 1.5 * rng.standard_normal(3)
        assert deviations(d, fix(fs, x, d).x, fix(shuffled, x, d).x) < 1e-7
