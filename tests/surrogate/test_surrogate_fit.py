"""Fitting: interpolation, least norm, leave-one-out errors, random models, poor data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import Quadratic, coefficients, designs, few, moderate, seeds, values

from archeng.distribution import Floats
from archeng.surrogate.constants import PRIOR_NOISES as NOISES
from archeng.surrogate.fit import Fit, Kernels, System, fit, linear
from archeng.surrogate.priors import PRIORS, QUADRATIC, Prior

DIAGONAL = Prior("mostly diagonal", diagonal=1.0, mixed=0.01)
SPARSE = Prior("sparse", diagonal=1.0, mixed=1.0, rounds=3)
ADDITIVE = Prior("additive", diagonal=1.0, mixed=0.01, spline=1.0)
RADIAL = Prior("radial", radial=1.0)
ALL = Prior("all", diagonal=1.0, mixed=0.3, spline=0.5, radial=0.5)
EXACT = [p for p in PRIORS if not p.noise and not p.remainder]


def fitted(A: Floats, y: Floats, prior: Prior) -> Fit:
    found = fit(Kernels(A), y, prior)
    assert found is not None
    return found


# -- interpolation ------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [*EXACT, DIAGONAL, ALL], ids=lambda p: p.name)
@moderate
@given(seed=seeds)
def test_the_data_are_interpolated(prior: Prior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    p = int(rng.integers(n + 2, coefficients(n)))
    A, y = designs(rng, p, n), rng.standard_normal(p)
    model = fitted(A, y, prior).model
    np.testing.assert_allclose(values(model, A), y, atol=1e-3)
    np.testing.assert_allclose(model.hessian, model.hessian.T, atol=1e-9)


@pytest.mark.parametrize("prior", [p for p in EXACT if p.spline or p.radial], ids=lambda p: p.name)
def test_kernels_interpolate_more_data_than_a_quadratic_can(prior: Prior) -> None:
    rng = np.random.default_rng(1)
    A, y = designs(rng, 25, 3), rng.standard_normal(25)
    assert coefficients(3) < 25
    np.testing.assert_allclose(values(fitted(A, y, prior).model, A), y, atol=1e-5)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@few
@given(seed=seeds)
def test_linear_functions_pass_freely(prior: Prior, seed: int) -> None:
    """With any prior and noise, and however few designs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    A = designs(rng, n + 2, n)
    c, g = float(rng.standard_normal()), rng.standard_normal(n)
    for noise in (prior.noise, NOISES[-1]):
        found = fitted(A, c + A @ g, replace(prior, noise=noise))
        points = 3 * rng.standard_normal((5, n))
        np.testing.assert_allclose(values(found.model, points), c + points @ g, atol=1e-6)
        np.testing.assert_allclose(found.errors, 0, atol=1e-6)


@pytest.mark.parametrize("prior", [QUADRATIC, SPARSE, DIAGONAL], ids=lambda p: p.name)
@moderate
@given(seed=seeds)
def test_enough_designs_determine_a_quadratic(prior: Prior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    q = Quadratic(rng, n)
    for more, tolerance in ((4, 2e-2), (8, 1e-2)):
        A = designs(rng, coefficients(n) + more, n)
        found = fitted(A, q(A), prior)
        assert found.model.constant == pytest.approx(q.constant, abs=tolerance)
        np.testing.assert_allclose(found.model.gradient, q.gradient, atol=tolerance)
        np.testing.assert_allclose(found.model.hessian, q.hessian, atol=tolerance)
    np.testing.assert_allclose(found.errors, 0, atol=tolerance)


# -- least norm ---------------------------------------------------------------------------------


def least_norm_hessian(A: Floats, y: Floats, variances: Floats) -> Floats:
    """Hessian of the interpolating quadratic with least sum of H_ij^2 / V_ij, directly.

    The linear part is eliminated by the null space of P^T; least squares have least norm.
    """
    p, n = A.shape
    P = np.column_stack((np.ones(p), A))
    null = np.linalg.svd(P)[0][:, n + 1 :]
    roots = np.sqrt(variances).ravel()
    products = 0.5 * np.einsum("ki,kj->kij", A, A).reshape(p, n * n) * roots
    scaled, *_ = np.linalg.lstsq(null.T @ products, null.T @ y, rcond=1e-12)
    return (roots * scaled).reshape(n, n)


@pytest.mark.parametrize("prior", [QUADRATIC, DIAGONAL], ids=lambda p: p.name)
@moderate
@given(seed=seeds)
def test_few_designs_give_the_least_hessian(prior: Prior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    p = int(rng.integers(n + 2, coefficients(n)))
    A, y = designs(rng, p, n), rng.standard_normal(p)
    variances = np.full((n, n), prior.mixed) + (prior.diagonal - prior.mixed) * np.eye(n)
    expected = least_norm_hessian(A, y, variances)
    H = fitted(A, y, prior).model.hessian
    np.testing.assert_allclose(H, expected, atol=1e-3 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(5))
def test_a_sparse_hessian_is_recovered_from_fewer_designs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    q = Quadratic(rng, n)
    q.hessian = np.diag([4.0, -3.0, 5.0, 0, 0, 0, 0])
    q.hessian[1, 5] = q.hessian[5, 1] = 3.0
    A = designs(rng, 30, n)
    assert len(A) < coefficients(n)
    sparse = fitted(A, q(A), SPARSE).model.hessian
    plain = fitted(A, q(A), QUADRATIC).model.hessian
    missed = np.linalg.norm(sparse - q.hessian)
    assert missed < 0.1 * np.linalg.norm(q.hessian)
    assert missed < 0.2 * np.linalg.norm(plain - q.hessian)


# -- leave-one-out errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [QUADRATIC, DIAGONAL, ADDITIVE, RADIAL, ALL], ids=lambda p: p.name
)
@few
@given(seed=seeds)
def test_errors_are_those_of_fits_without_the_design(prior: Prior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    p = int(rng.integers(n + 4, coefficients(n))) if n > 2 else n + 3
    A, y = designs(rng, p, n), rng.standard_normal(p)
    errors = fitted(A, y, prior).errors
    for k in range(p):
        others = np.arange(p) != k
        missed = y[k] - fitted(A[others], y[others], prior).model.value(A[k])
        assert errors[k] == pytest.approx(missed, rel=1e-4, abs=1e-5)


def without(system: System, k: int, y: Floats) -> float:
    """Error at design k of the solution of the system without its row and column."""
    kept = np.arange(len(system.matrix)) != k
    rhs = np.concatenate((y, np.zeros(len(system.matrix) - len(y))))
    solution = np.linalg.solve(system.matrix[np.ix_(kept, kept)], rhs[kept])
    return float(y[k] - system.matrix[k, kept] @ solution)


@pytest.mark.parametrize(
    "prior",
    [replace(p, noise=noise) for p in PRIORS for noise in (0.0, *NOISES) if noise or p.remainder],
    ids=lambda p: f"{p.name}, noise {p.noise:g}",
)
def test_errors_with_noise_remainder_and_weights(prior: Prior) -> None:
    """More designs than coefficients; everything but the design itself is as it was."""
    rng = np.random.default_rng(2)
    A = designs(rng, 14, 3)
    y = Quadratic(rng, 3)(A) + 0.1 * rng.standard_normal(14)
    found = fit(Kernels(A), y, prior)
    assert found is not None
    expected = [without(found.system, k, y) for k in range(14)]
    np.testing.assert_allclose(found.errors, expected, rtol=1e-4, atol=1e-7)


def test_errors_of_least_squares() -> None:
    """A quadratic that cannot interpolate is fitted by least squares, weighted by distance."""
    rng = np.random.default_rng(6)
    A, y = designs(rng, 15, 2), rng.standard_normal(15)
    terms = np.column_stack((np.ones(15), A, A[:, 0] ** 2, A[:, 1] ** 2, A[:, 0] * A[:, 1]))
    found = fitted(A, y, QUADRATIC)
    w = 1 / np.sqrt(1e-3 + np.sum(A**2, axis=1) ** 2)
    best, *_ = np.linalg.lstsq(terms * w[:, None], y * w, rcond=None)
    np.testing.assert_allclose(values(found.model, A), terms @ best, atol=0.05)
    for k in range(15):
        others = np.arange(15) != k
        best, *_ = np.linalg.lstsq((terms * w[:, None])[others], (y * w)[others], rcond=None)
        assert found.errors[k] == pytest.approx(y[k] - terms[k] @ best, rel=0.05, abs=0.05)


def test_the_errors_do_not_forgive_a_wrong_design() -> None:
    rng = np.random.default_rng(7)
    A, q = designs(rng, 14, 3), Quadratic(rng, 3)
    y = q(A)
    y[5] += 20.0
    errors = np.abs(fitted(A, y, RADIAL).errors)
    assert errors.argmax() == 5


def test_a_larger_noise_makes_a_smoother_model() -> None:
    rng = np.random.default_rng(8)
    A, y = designs(rng, 9, 3), rng.standard_normal(9)
    norms, misses = [], []
    for noise in (0.0, *sorted(NOISES)):
        model = fitted(A, y, replace(QUADRATIC, noise=noise)).model
        norms.append(np.linalg.norm(model.hessian))
        misses.append(np.linalg.norm(values(model, A) - y))
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < norms[0]
    assert misses == sorted(misses)


def test_a_remainder_lets_distant_designs_go() -> None:
    """Near the centre the model fits, far away it need not."""
    rng = np.random.default_rng(9)
    A = designs(rng, 12, 2)
    A *= (np.where(np.arange(12) < 6, 0.1, 3.0) / np.maximum(np.linalg.norm(A, axis=1), 1e-9))[
        :, None
    ]
    y = np.sum(A**4, axis=1) + np.sum(A**2, axis=1)
    local = fitted(A, y, replace(QUADRATIC, remainder=1e-2)).model
    misses = np.abs(values(local, A) - y)
    plain = np.abs(values(fitted(A, y, QUADRATIC).model, A) - y)
    assert misses[:6].max() < 0.1 * plain[:6].max()
    assert misses[:6].max() < 0.01 * misses[6:].max()


# -- random models ------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_random_models_fit_as_well_and_differ(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    p = int(rng.integers(n + 2, coefficients(n)))
    A, y = designs(rng, p, n), rng.standard_normal(p)
    found = fitted(A, y, QUADRATIC)
    one, two = found.random(rng), found.random(rng)
    for model in (one, two):
        size = 1 + float(np.abs(model.hessian).max())
        np.testing.assert_allclose(values(model, A), y, atol=1e-5 * size)
    assert found.size > 0
    assert np.linalg.norm(one.hessian - two.hessian) > 1e-3 * found.size
    assert np.linalg.norm(one.hessian - found.model.hessian) > 1e-3 * found.size
    np.testing.assert_allclose(one.hessian, one.hessian.T, atol=1e-9 * size)


@few
@given(seed=seeds)
def test_a_determined_quadratic_leaves_no_freedom(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    A, q = designs(rng, coefficients(n) + 4, n), Quadratic(rng, n)
    found = fitted(A, q(A), QUADRATIC)
    np.testing.assert_allclose(found.random(rng).hessian, found.model.hessian, atol=5e-3)
    np.testing.assert_allclose(found.random(rng).hessian, q.hessian, atol=5e-3)


def test_random_models_scatter_around_the_model() -> None:
    """Their mean is the model, and they scatter as the data suggest: by ``size``."""
    rng = np.random.default_rng(10)
    A, y = designs(rng, 5, 3), rng.standard_normal(5)
    found = fitted(A, y, QUADRATIC)
    sample = np.array([found.random(rng).hessian for _ in range(1500)])
    error = 5 * found.size * np.sqrt(2 / 1500)
    np.testing.assert_allclose(sample.mean(axis=0), found.model.hessian, atol=error)
    scatter = sample.std(axis=0)
    assert scatter.max() <= found.size * np.sqrt(2) * 1.1
    assert scatter.max() >= found.size * 0.3


def test_random_models_are_made_by_the_generator_alone() -> None:
    rng = np.random.default_rng(11)
    A, y = designs(rng, 7, 3), rng.standard_normal(7)
    found = fitted(A, y, QUADRATIC)
    one, two = (found.random(np.random.default_rng(5)).hessian for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_the_size_moves_with_the_unit_of_the_objective() -> None:
    rng = np.random.default_rng(12)
    A, y = designs(rng, 8, 3), rng.standard_normal(8)
    one, two = fitted(A, y, QUADRATIC), fitted(A, 100 * y + 3, QUADRATIC)
    assert two.size == pytest.approx(100 * one.size, rel=1e-6)
    np.testing.assert_allclose(two.errors, 100 * one.errors, rtol=1e-5, atol=1e-5)


# -- poor data ----------------------------------------------------------------------------------

POOR = {
    "twice the same": lambda rng: np.repeat(designs(rng, 4, 2), 2, axis=0),
    "on a line": lambda rng: np.outer(np.linspace(0, 1, 8), [1.0, 2.0, -1.0]),
    "in a plane": lambda rng: designs(rng, 9, 3) * [1.0, 1.0, 0.0],
    "in one point": lambda rng: np.zeros((6, 2)),
    "barely enough": lambda rng: designs(rng, 5, 3),
    "too few": lambda rng: designs(rng, 3, 3),
    "close to each other": lambda rng: 1e-9 * designs(rng, 8, 2),
    "far away": lambda rng: 1e9 + designs(rng, 8, 2),
}


@pytest.mark.parametrize("name", POOR)
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_poor_data_do_not_raise(name: str, prior: Prior) -> None:
    rng = np.random.default_rng(13)
    A = POOR[name](rng)
    for y in (rng.standard_normal(len(A)), np.zeros(len(A)), np.ones(len(A))):
        for noise in (0.0, *NOISES):
            found = fit(Kernels(A), y, replace(prior, noise=noise))
            if found is not None:
                assert np.all(np.isfinite(found.errors))
                assert np.isfinite(found.size)
                assert np.isfinite(found.model.value(A[0]))
                assert np.isfinite(found.random(rng).value(A[0]))


def test_designs_in_a_plane_leave_the_model_flat_across_it() -> None:
    rng = np.random.default_rng(14)
    A = designs(rng, 9, 3) * [1.0, 1.0, 0.0]
    found = fitted(A, np.sum(A**2, axis=1), QUADRATIC)
    assert abs(found.model.gradient[2]) < 1e-6
    np.testing.assert_allclose(found.model.hessian, np.diag([2.0, 2.0, 0.0]), atol=1e-5)


# -- linear -------------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_the_linear_model_of_few_designs_has_the_least_slope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    p = int(rng.integers(1, n + 1))
    A, y = rng.standard_normal((p, n)), rng.standard_normal(p)
    model = linear(A, y)
    np.testing.assert_allclose(values(model, A), y, atol=1e-6)
    across = np.linalg.svd(A - A[0])[2][p - 1 :]
    np.testing.assert_allclose(across @ model.gradient, 0, atol=1e-6)
    np.testing.assert_array_equal(model.hessian, np.zeros((n, n)))


@moderate
@given(seed=seeds)
def test_the_linear_model_of_many_designs_is_nearest_to_them(seed: int) -> None:
    """It passes through the first; no other slope has smaller errors at the others."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    A, y = rng.standard_normal((n + 6, n)), rng.standard_normal(n + 6)
    model = linear(A, y)
    assert model.value(A[0]) == pytest.approx(y[0], abs=1e-9)
    residual = values(model, A) - y
    np.testing.assert_allclose((A - A[0]).T @ residual, 0, atol=1e-8)


def test_the_linear_model_of_coinciding_designs_is_a_constant() -> None:
    model = linear(np.ones((3, 2)), np.array([4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(model.gradient, np.zeros(2))
    assert model.value(np.array([9.0, -9.0])) == 4.0
