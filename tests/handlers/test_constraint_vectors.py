"""Vectors that learn where limits are, and what they take from the search."""

from __future__ import annotations

import numpy as np
import pytest

from archeng.handlers.constraint_vectors import (
    faded,
    fading_rate,
    narrowing,
    narrowing_strength,
    normal_projections,
)


def test_the_constants_are_those_of_the_publication() -> None:
    assert fading_rate(8) == pytest.approx(0.1)
    assert narrowing_strength(8) == pytest.approx(0.01)


def test_vectors_of_violated_limits_fade_and_learn_and_others_stay() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 4.0]])
    after = faded(vectors, np.array([False, True]), np.array([4.0, 0.0]))
    np.testing.assert_array_equal(after[0], vectors[0])
    np.testing.assert_allclose(after[1], [1.0, 3.0])  # c_c = 1 / 4
    np.testing.assert_array_equal(vectors[1], [0.0, 4.0])


def test_the_vector_of_a_limit_turns_to_its_normal() -> None:
    """Steps that violate a . y <= 1 have the mean direction of a, in whitened coordinates."""
    rng = np.random.default_rng(0)
    normal = np.array([3.0, -1.0, 2.0]) / np.sqrt(14)
    vectors = np.zeros((1, 3))
    directions = []
    for step in rng.standard_normal((4000, 3)):
        vectors = faded(vectors, np.array([normal @ step > 1]), step)
        directions.append(vectors[0])
    mean = np.mean(directions, axis=0)
    assert mean @ normal / np.linalg.norm(mean) > 0.98


def test_one_limit_takes_deviation_along_its_vector_only() -> None:
    w = np.array([[3.0, 4.0, 0.0]])
    N = narrowing(w, 0.1)
    np.testing.assert_allclose(N @ w[0], 0.9 * w[0])
    for other in ([4.0, -3.0, 0.0], [0.0, 0.0, 1.0]):
        np.testing.assert_allclose(N @ other, other)


def test_several_limits_share_what_one_would_take() -> None:
    w = np.array([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    np.testing.assert_allclose(narrowing(w, 0.1), np.diag([0.95, 0.95, 1.0]))
    np.testing.assert_allclose(np.trace(normal_projections(w)), 1.0)


def test_vectors_that_know_nothing_take_nothing() -> None:
    np.testing.assert_array_equal(narrowing(np.zeros((2, 3)), 0.1), np.eye(3))
    one = narrowing(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 0.1)
    np.testing.assert_allclose(one, np.diag([0.9, 1.0, 1.0]))


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_stays_invertible(seed: int) -> None:
    w = np.random.default_rng(seed).standard_normal((7, 4))
    eigenvalues = np.linalg.eigvalsh(narrowing(w, 0.1))
    assert eigenvalues[0] >= 0.9 - 1e-12
    assert eigenvalues[-1] <= 1 + 1e-12
