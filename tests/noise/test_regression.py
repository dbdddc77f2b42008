"""Regression: noise that is found out, intervals that are true, and slopes."""

from __future__ import annotations

import numpy as np
import pytest

from archeng.surrogate.fit import Kernels
from archeng.surrogate.regression import Regression, regress

N, P, SIGMA = 4, 60, 0.3


def curve(X: np.ndarray) -> np.ndarray:
    """Return a function that is no quadratic."""
    return np.sum(X**2, axis=1) + X @ np.arange(1.0, N + 1) + 0.3 * np.sin(2 * X[:, 0])


def fitted(seed: int, noise: float | None = None) -> Regression:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((P, N))
    y = curve(A) + SIGMA * rng.standard_normal(P)
    found = regress(Kernels(A), y, np.ones(P), noise)
    assert found is not None
    return found


def test_intervals_hold_the_true_value_as_often_as_they_say() -> None:
    inside = []
    for seed in range(20):
        V = 0.5 * np.random.default_rng(1000 + seed).standard_normal((10, N))
        values, deviations = fitted(seed).values(V)
        inside.append(np.abs(values - curve(V)) <= 1.96 * deviations)
    assert 0.88 <= float(np.mean(inside)) <= 0.99


def test_the_noise_is_found_out() -> None:
    sizes = [float(np.sqrt(fitted(seed).variances[0])) for seed in range(10)]
    assert np.median(sizes) == pytest.approx(SIGMA, rel=0.25)


def test_slopes_are_those_of_the_model_and_known_as_well_as_they_say() -> None:
    errors = []
    for seed in range(30):
        found = fitted(seed, SIGMA**2)
        v = 0.3 * np.random.default_rng(seed).standard_normal(N)
        step = 1e-6 * np.eye(N)
        numeric = [(found.model.value(v + s) - found.model.value(v - s)) / 2e-6 for s in step]
        slope = found.model.slope(v)
        assert slope == pytest.approx(numeric, rel=1e-4, abs=1e-4)
        true = 2 * v + np.arange(1.0, N + 1)
        true[0] += 0.6 * np.cos(2 * v[0])
        gap = slope - true
        errors.append(gap @ np.linalg.solve(found.slope_covariance(v), gap) / N)
    assert 0.4 <= np.mean(errors) <= 2.0


def test_what_a_further_value_tells_is_what_it_told() -> None:
    found = fitted(3, SIGMA**2)
    v, w = np.full(N, 0.1), np.array([1.5, -1.0, 0.5, 2.0])
    told, variances = found.told(v, w[None])
    expected = found.slope_covariance(v) - np.outer(told[0], told[0]) / (variances[0] + SIGMA**2)
    A, y = np.vstack((found.A, w)), np.append(found.y, 0.0)
    # The same scales: only the noise is given, so they are taken over by hand
    kernels = Kernels(A)
    p = len(A)
    M = np.zeros((p + N + 1, p + N + 1))
    M[:p, :p] = found.scale * 0.5 * kernels.products**2 + found.radial * kernels.radial
    M[:p, :p] += (SIGMA**2 + 1e-12 * found.scale) * np.eye(p)
    M[:p, p:] = np.column_stack((np.ones(p), A))
    M[p:, :p] = M[:p, p:].T
    again = Regression(
        A, y, np.full(p, SIGMA**2), found.scale, found.share, found.ratio, np.linalg.inv(M), 0.0
    )
    assert again.slope_covariance(v) == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_too_few_designs_are_none() -> None:
    A = np.random.default_rng(0).standard_normal((N + 2, N))
    assert regress(Kernels(A), np.arange(N + 2.0), np.ones(N + 2)) is None
