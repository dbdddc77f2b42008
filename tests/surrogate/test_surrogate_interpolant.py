"""`Interpolant`: its value is the formula, its derivatives are those of its value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import Quadratic, moderate, seeds

from archeng.distribution import Floats
from archeng.surrogate.interpolant import Interpolant

PARTS = [(0.0, 0.0), (1.3, 0.0), (0.0, 0.7), (0.4, 2.0)]


def random_model(rng: np.random.Generator, spline: float, radial: float) -> Interpolant:
    n, p = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    q = Quadratic(rng, n)
    centres, weights = rng.standard_normal((p, n)), rng.standard_normal(p)
    return Interpolant(q.constant, q.gradient, q.hessian, centres, weights, spline, radial)


def by_the_formula(s: Interpolant, v: Floats) -> float:
    total = s.constant + s.gradient @ v + 0.5 * v @ s.hessian @ v
    for a, w in zip(s.centres, s.weights, strict=True):
        total += w * s.spline * sum(abs(v[i] - a[i]) ** 3 for i in range(len(v)))
        total += w * s.radial * float(np.linalg.norm(v - a)) ** 3
    return float(total)


def points_of(s: Interpolant, rng: np.random.Generator) -> list[Floats]:
    """Anywhere, and where the kernels have their kinks."""
    n = len(s.gradient)
    between = rng.standard_normal(n)
    between[0] = s.centres[0, 0]
    return [2 * rng.standard_normal(n), np.zeros(n), s.centres[0].copy(), between]


@pytest.mark.parametrize(("spline", "radial"), PARTS)
@moderate
@given(seed=seeds)
def test_the_value_is_the_formula(spline: float, radial: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = random_model(rng, spline, radial)
    for v in points_of(s, rng):
        assert s.value(v) == pytest.approx(by_the_formula(s, v), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("spline", "radial"), PARTS)
@moderate
@given(seed=seeds)
def test_derivatives_are_those_of_the_value(spline: float, radial: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = random_model(rng, spline, radial)
    n, h = len(s.gradient), 1e-5
    for v in points_of(s, rng):
        gradient, hessian = s.derivatives(v)
        steps = h * np.eye(n)
        slopes = [(s.value(v + e) - s.value(v - e)) / (2 * h) for e in steps]
        bends = [(s.derivatives(v + e)[0] - s.derivatives(v - e)[0]) / (2 * h) for e in steps]
        size = 1 + float(np.abs(hessian).max())
        np.testing.assert_allclose(gradient, slopes, atol=1e-6 * size)
        np.testing.assert_allclose(hessian, bends, atol=3e-3 * size)  # kinks of third order
        np.testing.assert_allclose(hessian, hessian.T, atol=1e-12 * size)


def test_asking_for_derivatives_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    s = random_model(rng, 1.0, 1.0)
    v = rng.standard_normal(len(s.gradient))
    before = s.hessian.copy(), s.gradient.copy(), v.copy()
    first = s.derivatives(v)
    second = s.derivatives(v)
    for a, b in zip((s.hessian, s.gradient, v), before, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
