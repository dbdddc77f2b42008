"""Transforms of the objective: increasing, smooth, with the slope that they claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import moderate

from archeng.surrogate.priors import IDENTITY, TRANSFORMS, Transform, transforms_for

heights = st.floats(-5, 1e6, allow_nan=False)
each = pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: f"{t.steepness:g}")


@each
@moderate
@given(one=heights, two=heights)
def test_increasing(transform: Transform, one: float, two: float) -> None:
    low, high = sorted((one, two))
    a, b = transform.apply(np.array([low, high]))
    assert a <= b
    if high - low > 1e-6 * (1 + abs(high)):
        assert a < b


@each
@moderate
@given(y=heights)
def test_the_slope_is_the_derivative(transform: Transform, y: float) -> None:
    h = 1e-5 * (abs(y) + 1 / (1 + transform.steepness))
    if abs(y) < h:
        y = 2 * h
    above, below = transform.apply(np.array([y + h, y - h]))
    slope = float(np.exp(transform.log_slope(np.array([y]))[0]))
    assert slope == pytest.approx((above - below) / (2 * h), rel=1e-3)


@each
def test_value_and_slope_are_continuous_at_the_best_design(transform: Transform) -> None:
    y = np.array([-1e-12, 0.0, 1e-12])
    np.testing.assert_allclose(transform.apply(y), 0, atol=2e-6)
    assert transform.apply(y)[1] == 0
    slopes = transform.log_slope(y)
    np.testing.assert_allclose(slopes, slopes[1], atol=2e-6)
    h = 1e-7 / (1 + transform.steepness)
    right, left = transform.apply(np.array([h, -h])) / np.array([h, -h])
    assert right == pytest.approx(left, rel=1e-4)


@each
@moderate
@given(y=st.lists(st.floats(0, 1e3), min_size=3, max_size=9))
def test_high_values_are_compressed(transform: Transform, y: list[float]) -> None:
    """Slopes never grow with the objective."""
    slopes = transform.log_slope(np.sort(y))
    assert np.all(np.diff(slopes) <= 0)


def test_steeper_transforms_compress_more() -> None:
    y = np.array([0.0, 1.0, 100.0])
    steep = sorted(TRANSFORMS, key=lambda t: t.steepness)
    ratios = [(t.apply(y)[2] - t.apply(y)[1]) / t.apply(y)[1] for t in steep]
    assert np.all(np.diff(ratios) < 0)


def test_the_identity() -> None:
    y = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(IDENTITY.apply(y), y)
    np.testing.assert_array_equal(IDENTITY.log_slope(y), np.zeros(3))


def test_transforms_are_tried_only_on_a_wide_range() -> None:
    assert transforms_for(np.array([0.0, 1.0, 1.5])) == (IDENTITY,)
    wide = transforms_for(np.array([0.0, 1.0, 1e6]))
    assert IDENTITY in wide
    assert len(wide) > 1
    assert set(wide) <= set(TRANSFORMS)
    assert len(set(TRANSFORMS)) == len(TRANSFORMS)
