"""`Repairer.towards`: a short search for a feasible point near another one."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import feasible_set, few, moderate, random_frame, random_polytope, seeds

from archeng.distribution import Distribution
from archeng.repair import Repairer, RepairKind

NONE = np.zeros(0, dtype=np.intp)


def random_metric(rng: np.random.Generator, n: int) -> Distribution:
    frame = random_frame(rng, np.zeros(n))
    return Distribution(np.zeros(n), 10 ** rng.uniform(-1, 1), frame.factor, frame.inverse)


def test_a_feasible_point_stays_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    fs = random_polytope(rng, 3)
    x = 0.05 * rng.standard_normal(3)
    repair = Repairer(fs).towards(x, random_metric(rng, 3), np.zeros(3))
    assert repair.kind is RepairKind.FEASIBLE
    assert repair.x.tobytes() == x.tobytes()
    assert repair.distance_squared == 0


@moderate
@given(seed=seeds)
def test_in_a_polytope_it_is_the_nearest_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    fs, d = random_polytope(rng, n), random_metric(rng, n)
    x = 6 * rng.standard_normal(n)
    repairer = Repairer(fs)
    repair = repairer.towards(x, d, np.zeros(n))
    assert repair.feasible
    assert fs.is_feasible(repair.x)
    assert repair.distance_squared == pytest.approx(d.distance_squared(x, repair.x))
    nearest = repairer.project(x, d, NONE, np.zeros(0), np.zeros(n))
    assert repair.distance_squared == pytest.approx(nearest.distance_squared, rel=1e-6)


@few
@given(seed=seeds)
def test_in_a_curved_set_it_is_feasible_or_says_that_it_failed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fs = feasible_set(
        3,
        lambda x: [
            (ca.sumsqr(x), -np.inf, 4.0),
            (x[0] + 0.3 * ca.sin(3 * x[1]), -np.inf, 1.0),
            (x[0] * x[1] + x[2], -0.8, 0.9),
        ],
    )
    d, repairer = random_metric(rng, 3), Repairer(fs)
    start = np.zeros(3)
    for _ in range(5):
        x = start + 3 * rng.standard_normal(3)
        repair = repairer.towards(x, d, start)
        assert repair.feasible == fs.is_feasible(repair.x)
        if repair.feasible:
            assert repair.max_violation == 0
            assert np.all(np.isfinite(repair.x))
            assert d.distance_squared(x, repair.x) <= d.distance_squared(x, start) * (1 + 1e-6)
            start = repair.x
        else:
            assert repair.kind is RepairKind.FAILED
            assert repair.max_violation > 0


def test_on_an_equality() -> None:
    fs = feasible_set(2, lambda x: [(ca.sumsqr(x), 4.0, 4.0)])
    d = Distribution(np.zeros(2), 1.0, np.eye(2), np.eye(2))
    repair = Repairer(fs).towards(np.array([3.0, 3.0]), d, np.array([2.0, 0.0]))
    assert repair.feasible
    assert fs.is_feasible(repair.x)
    np.testing.assert_allclose(repair.x, np.sqrt([2.0, 2.0]), atol=1e-3)


def test_where_the_rows_are_undefined() -> None:
    """The start helps where the point itself has no values; warnings there are none."""
    fs = feasible_set(2, lambda x: [(ca.log(x[0]) + x[1], 0.0, np.inf)])
    d = Distribution(np.zeros(2), 1.0, np.eye(2), np.eye(2))
    repair = Repairer(fs).towards(np.array([-1.0, 1.0]), d, np.array([1.0, 0.0]))
    assert repair.feasible == fs.is_feasible(repair.x)
    assert repair.feasible
