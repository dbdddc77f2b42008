"""Kernel matrices against double loops over the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import moderate, seeds

from archeng.distribution import Floats
from archeng.surrogate.fit import Kernels
from archeng.surrogate.priors import PRIORS, Prior

CASES = [
    *PRIORS,
    Prior("diagonal", diagonal=0.8),
    Prior("mixed", mixed=0.3),
    Prior("all", diagonal=0.5, mixed=0.2, spline=0.7, radial=1.1),
]


def by_the_formula(A: Floats, variances: Floats, spline: float, radial: float) -> Floats:
    p, n = A.shape
    K = np.zeros((p, p))
    for k, a in enumerate(A):
        for m, b in enumerate(A):
            for i in range(n):
                for j in range(n):
                    K[k, m] += 0.5 * variances[i, j] * a[i] * a[j] * b[i] * b[j]
                K[k, m] += spline * abs(a[i] - b[i]) ** 3
            K[k, m] += radial * float(np.linalg.norm(a - b)) ** 3
    return K


def own_variances(prior: Prior, n: int) -> Floats:
    return np.full((n, n), prior.mixed) + (prior.diagonal - prior.mixed) * np.eye(n)


def random_designs(seed: int) -> tuple[Floats, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((int(rng.integers(1, 6)), int(rng.integers(1, 4)))), rng


@pytest.mark.parametrize("prior", CASES, ids=lambda p: p.name)
@moderate
@given(seed=seeds)
def test_own_variances(prior: Prior, seed: int) -> None:
    A, _ = random_designs(seed)
    expected = by_the_formula(A, own_variances(prior, A.shape[1]), prior.spline, prior.radial)
    np.testing.assert_allclose(Kernels(A).even(prior), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("prior", CASES, ids=lambda p: p.name)
@moderate
@given(seed=seeds)
def test_other_variances(prior: Prior, seed: int) -> None:
    A, rng = random_designs(seed)
    V = rng.uniform(0, 2, (A.shape[1], A.shape[1]))
    V = V + V.T
    expected = by_the_formula(A, V, prior.spline, prior.radial)
    np.testing.assert_allclose(Kernels(A).uneven(prior, V), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("prior", CASES, ids=lambda p: p.name)
def test_both_ways_agree(prior: Prior) -> None:
    A = np.random.default_rng(3).standard_normal((12, 5))
    kernels = Kernels(A)
    even, uneven = kernels.even(prior), kernels.uneven(prior, own_variances(prior, 5))
    np.testing.assert_allclose(even, uneven, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(even, even.T, rtol=1e-12, atol=1e-12)


def test_parts_are_not_mixed_up_when_kernels_are_used_again() -> None:
    """The parts are kept; asking for one prior must not change another one's matrix."""
    A = np.random.default_rng(4).standard_normal((6, 3))
    kernels = Kernels(A)
    for _ in range(2):
        for prior in CASES:
            np.testing.assert_array_equal(kernels.even(prior), Kernels(A).even(prior))


def test_a_design_is_at_no_distance_from_itself() -> None:
    """Also far away, where squares of lengths cancel."""
    A = 1e6 + np.random.default_rng(5).standard_normal((4, 3))
    np.testing.assert_array_equal(
        np.diag(Kernels(A).even(Prior("radial", radial=1.0))), np.zeros(4)
    )


def test_squares() -> None:
    A = np.array([[3.0, 4.0], [0.0, 2.0]])
    np.testing.assert_array_equal(Kernels(A).squares, [25.0, 4.0])
