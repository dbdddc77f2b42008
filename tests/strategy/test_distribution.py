"""The search distribution: factors, whitening, Mahalanobis distance, initial forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.distribution import (
    Distribution,
    distribution_from_covariance,
    initial_distribution,
    symmetric_root,
)


def random_factor(n: int, seed: int, condition: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (u * condition ** np.linspace(0, 1, n)) @ v


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(1, 8), st.integers(0, 10**6), st.sampled_from([1.0, 10.0, 1e4]))
def test_whitening_is_the_inverse_of_a_step(n: int, seed: int, condition: float):
    F = random_factor(n, seed, condition)
    d = Distribution(np.zeros(n), 0.3, F, np.linalg.inv(F))
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((5, n))
    np.testing.assert_allclose(d.whiten(d.sigma * d.steps(z)), z, atol=1e-10 * condition)
    np.testing.assert_allclose(d.whiten(d.scaled_factor @ z[0]), z[0], atol=1e-10 * condition)
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    exact = (a - b) @ np.linalg.solve(d.sigma**2 * d.covariance, a - b)
    assert d.distance_squared(a, b) == pytest.approx(exact, rel=1e-7 * condition)
    assert d.distance_squared(a, a) == 0.0
    assert d.n == n


@pytest.mark.parametrize("n", [1, 2, 6])
def test_symmetric_root(n: int):
    F = random_factor(n, 1, 100.0)
    C = F @ F.T
    root, inverse, eigenvalues = symmetric_root(C)
    np.testing.assert_allclose(root @ root, C, rtol=1e-10, atol=1e-10 * C.max())
    np.testing.assert_allclose(root, root.T, atol=1e-12 * C.max())
    np.testing.assert_allclose(root @ inverse, np.eye(n), atol=1e-9)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(C))
    assert np.linalg.eigvalsh(root)[0] > 0


def test_symmetric_root_of_a_matrix_that_lost_definiteness_is_finite():
    root, inverse, eigenvalues = symmetric_root(np.diag([1.0, -1e-20, 1e-30]))
    assert np.all(np.isfinite(root))
    assert np.all(np.isfinite(inverse))
    assert eigenvalues[0] < 0


def test_initial_distribution_is_that_of_the_paper():
    """sigma is the geometric mean of the deviations, C the squared ratios on the diagonal."""
    deviations = np.array([0.1, 2.0, 50.0])
    d = initial_distribution(np.array([1.0, 2.0, 3.0]), deviations)
    assert d.sigma == pytest.approx(np.prod(deviations) ** (1 / 3))
    np.testing.assert_allclose(d.covariance, np.diag((deviations / d.sigma) ** 2))
    assert np.linalg.det(d.covariance) == pytest.approx(1.0)
    np.testing.assert_allclose(np.diag(d.scaled_factor), deviations)
    np.testing.assert_allclose(d.factor @ d.inverse_factor, np.eye(3), atol=1e-15)


def test_initial_distribution_copies_the_mean():
    mean = np.zeros(2)
    d = initial_distribution(mean, np.ones(2))
    mean[0] = 5.0
    assert d.mean[0] == 0.0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_distribution_from_covariance(scale: float):
    F = random_factor(4, 2, 30.0)
    S = scale * F @ F.T
    S = (S + S.T) / 2
    d = distribution_from_covariance(np.zeros(4), S)
    np.testing.assert_allclose(d.sigma**2 * d.covariance, S, rtol=1e-9, atol=1e-12 * S.max())
    np.testing.assert_allclose(d.factor, d.factor.T, atol=1e-10)
    assert np.linalg.det(d.covariance) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("bad", [np.diag([1.0, 0.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_covariance_must_be_positive_definite(bad: np.ndarray):
    with pytest.raises(np.linalg.LinAlgError):
        distribution_from_covariance(np.zeros(2), bad)
