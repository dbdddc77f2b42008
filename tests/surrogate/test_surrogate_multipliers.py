"""Multipliers are the minimum that their docstring states: checked by the KKT conditions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from archeng.surrogate.sensitivity import multipliers

Floats = NDArray[np.float64]


def assert_minimum(gradient: Floats, outward: Floats, equality: NDArray[np.bool_]) -> None:
    """Check the first-order conditions of a convex problem, which are enough for its minimum."""
    mu = multipliers(gradient, outward, equality)
    assert np.all(mu[~equality] >= 0)
    residual = gradient + outward.T @ mu
    size = np.linalg.norm(outward, axis=1)
    slope = (outward @ residual) / np.where(size > 0, size, 1.0) / np.linalg.norm(gradient)
    assert np.all(np.abs(slope[equality]) < 1e-8)
    assert np.all(slope[~equality] > -1e-8), "a larger multiplier would be better"
    assert np.all(np.abs(slope[(mu > 0) & ~equality]) < 1e-8), "a smaller one would be better"


@pytest.mark.parametrize("seed", range(6))
def test_random_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(500):
        n, k = rng.integers(1, 9), rng.integers(1, 12)
        outward = rng.standard_normal((k, n)) * 10.0 ** rng.uniform(-6, 6, (k, 1))
        gradient = rng.standard_normal(n) * 10.0 ** rng.uniform(-6, 6)
        assert_minimum(gradient, outward, rng.random(k) < 0.3)


def test_limits_that_depend_on_each_other() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        n = rng.integers(2, 7)
        some = rng.standard_normal((rng.integers(1, 5), n))
        mixed = rng.standard_normal((3, len(some))) @ some
        outward = np.concatenate([some, mixed, 2 * some, np.zeros((1, n))])
        assert_minimum(rng.standard_normal(n), outward, rng.random(len(outward)) < 0.3)


def test_a_limit_given_twice_has_no_huge_multipliers() -> None:
    outward = np.array([[1.0, 0.0], [1.0, 1e-13]])
    mu = multipliers(np.array([-3.0, -4.0]), outward, np.zeros(2, dtype=bool))
    np.testing.assert_allclose(mu.sum(), 3.0)
