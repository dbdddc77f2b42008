"""Models of outputs: transforms, fits to values, fits to values and slopes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import designs, differences, few, moderate, seeds

from archeng.distribution import Floats
from archeng.surrogate.fit import Fit, Kernels, fit
from archeng.surrogate.hermite import HermiteFit, HermiteSystem
from archeng.surrogate.outputs import OutputModels, RestrictedModels, fit_outputs
from archeng.surrogate.transforms import SAME, OutputTransform, back_all, candidates

numbers = st.floats(1e-3, 1e3)
signs = st.sampled_from([1.0, -1.0])


# -- transforms ----------------------------------------------------------------------------------


def transforms(least: float, most: float, sign: float) -> list[OutputTransform]:
    _, found = candidates(sign * np.array([[least], [most]]))
    assert [t.name for t in found] == ["same", "logarithm", "reciprocal"]
    return found


@moderate
@given(least=numbers, ratio=st.floats(1.3, 1e6), part=st.floats(0, 1), sign=signs)
def test_back_is_the_inverse_within_the_range(
    least: float, ratio: float, part: float, sign: float
) -> None:
    z = np.array([sign * least * ratio**part])
    for transform in transforms(least, least * ratio, sign):
        np.testing.assert_allclose(transform.back(transform.forward(z), 0), z, rtol=1e-9)


@moderate
@given(least=numbers, ratio=st.floats(1.3, 1e3), part=st.floats(-3, 3), sign=signs)
def test_derivatives_of_the_inverse(least: float, ratio: float, part: float, sign: float) -> None:
    """Inside, and beyond the edge."""
    for transform in transforms(least, least * ratio, sign):
        a, b = transform.forward(sign * np.array([least, least * ratio]))
        t, h = a + part * (b - a), 1e-5 * abs(b - a)
        if abs(t - transform.edge) < 3 * h:
            continue
        for order in (0, 1):
            above, below = transform.back(t + h, order), transform.back(t - h, order)
            size = abs(float(transform.back(t, order))) + abs(float(transform.back(a, order)))
            exact = float(transform.back(t, order + 1))
            assert exact == pytest.approx((above - below) / (2 * h), rel=1e-4, abs=1e-6 * size / h)


@moderate
@given(least=numbers, ratio=st.floats(1.3, 1e3), sign=signs)
def test_a_straight_line_goes_on_from_the_edge(least: float, ratio: float, sign: float) -> None:
    """No jump in value and slope there; the other side of zero is never reached steeply."""
    most = least * ratio
    for transform in transforms(least, most, sign)[1:]:
        edge, out = transform.edge, 1.0 if transform.name == "logarithm" else -1.0
        beyond = edge + out * np.array([1e-9, 1.0, 2.0, 1e6]) * abs(edge)
        value, slope = transform.back(edge, 0), transform.back(edge, 1)
        line = value + slope * (beyond - edge)
        np.testing.assert_allclose(transform.back(beyond, 0), line, rtol=1e-12)
        np.testing.assert_allclose(transform.back(beyond, 1), np.full(4, slope))
        np.testing.assert_array_equal(transform.back(beyond, 2), np.zeros(4))
        assert np.isfinite(transform.back(np.array([-1e9, 0.0, 1e9]), 0)).all()
        expected = most**2 / least if transform.name == "logarithm" else 2 * most
        assert float(sign * value) == pytest.approx(expected)


def test_when_transforms_are_tried() -> None:
    """One sign, and values that differ by a fifth; not beyond what floats can tell apart."""
    Z = np.array([[1.0, -1.0, 1.0, 1.0, 1e-20, 0.0], [1.1, -2.0, -2.0, 9.0, 1.0, 1.0]])
    which, found = candidates(Z)
    assert sorted(which[6:].tolist()) == [1, 1, 3, 3]
    assert found[:6] == [SAME] * 6
    assert all(transform.sign == -1 for transform, k in zip(found, which, strict=True) if k == 1
               and transform is not SAME)  # fmt: skip


def test_back_of_all_is_back_of_each() -> None:
    found = transforms(1.0, 5.0, 1.0)
    T = np.random.default_rng(0).uniform(0.3, 1.5, (4, 3))
    for order in (0, 1, 2):
        each = [t.back(T[:, k], order) for k, t in enumerate(found)]
        np.testing.assert_array_equal(back_all(found, T, order), np.stack(each, axis=1))


# -- fits to values ------------------------------------------------------------------------------


def outputs_of(A: Floats) -> Floats:
    """Four outputs (p, 4): a quadratic, an exponential, a hyperbola, a wave."""
    s = A.sum(axis=1)
    return np.stack(
        [s + A[:, 0] ** 2, np.exp(0.8 * s), -1 / (6 + np.tanh(s) + A[:, 0]), np.sin(A[:, 0]) + s],
        axis=1,
    )


def even_weights(Z: Floats) -> Floats:
    return np.full(Z.shape, 1 / len(Z))


@moderate
@given(seed=seeds, n=st.integers(1, 4))
def test_models_reproduce_outputs(seed: int, n: int) -> None:
    """Those without noise: at the centre, and near it."""
    A = designs(np.random.default_rng(seed), 3 * n + 5, n)
    Z = outputs_of(A)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    exact = [isinstance(one, Fit) and one.noise == 0 for one in fits.fits]
    near = np.linalg.norm(A, axis=1) < 2
    modelled = np.array([fits.models.values(a) for a in A])
    size = np.ptp(Z, axis=0)
    assert np.abs((modelled - Z)[near] / size)[:, exact].max(initial=0) < 1e-4


@moderate
@given(seed=seeds, n=st.integers(1, 4))
def test_derivatives_of_models(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A = designs(rng, 3 * n + 5, n)
    Z = outputs_of(A)
    models = fit_outputs(Kernels(A), Z, even_weights(Z)).models
    v, w = 0.5 * rng.standard_normal(n), rng.standard_normal(4)
    size = np.abs(models.slopes(v)).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        models.slopes(v) / size, differences(models.values, v) / size, atol=1e-5
    )
    bends = models.bends(v, w)
    numerical = differences(lambda at: w @ models.slopes(at), v)
    np.testing.assert_allclose(bends, numerical, atol=1e-4 * (1 + np.abs(bends).max()))


@few
@given(seed=seeds, n=st.integers(1, 3))
def test_predictions_are_those_without_the_design(seed: int, n: int) -> None:
    """The same system without its row and column, solved again, and turned back."""
    A = designs(np.random.default_rng(seed), 3 * n + 5, n)
    Z = outputs_of(A)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    for j, one in enumerate(fits.fits):
        assert isinstance(one, Fit)
        M, y = one.system.matrix, fits.transformed[:, j]
        for k in range(len(A)):
            others = np.delete(np.arange(len(M)), k)
            rhs = np.concatenate((np.delete(y, k), np.zeros(n + 1)))
            s = M[k, others] @ np.linalg.solve(M[np.ix_(others, others)], rhs)
            z = fits.transforms[j].back(fits.offsets[j] + fits.sizes[j] * s, 0)
            tolerance = 1e-5 * np.ptp(Z[:, j])
            assert fits.predicted[k, j] == pytest.approx(float(z), rel=1e-4, abs=tolerance)


@few
@given(seed=seeds)
def test_predictions_are_those_of_a_new_fit(seed: int) -> None:
    """A fit to the other designs, from the beginning; scales differ a little, so does it."""
    A = designs(np.random.default_rng(seed), 12, 2)
    Z = outputs_of(A)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    for one in fits.fits:
        assert isinstance(one, Fit)
        if one.noise or one.system.prior.remainder:
            continue  # relative to the size of the kernels, which differs without the design
        for k in range(1, len(A)):
            again = fit(Kernels(np.delete(A, k, 0)), np.delete(one.y, k), one.system.prior)
            assert again is not None
            error = one.y[k] - again.model.value(A[k])
            assert one.errors[k] == pytest.approx(error, rel=1e-2, abs=1e-3)


def test_the_better_transform_is_chosen() -> None:
    rng = np.random.default_rng(0)
    A = designs(rng, 14, 3)
    s = 1 + 0.15 * A @ np.array([1.0, 2.0, -1.0])
    Z = np.stack([np.exp(3 * s), 1 / s, 5 * s], axis=1)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    assert [t.name for t in fits.transforms] == ["logarithm", "reciprocal", "same"]
    np.testing.assert_allclose(fits.predicted, Z, rtol=1e-3)
    far = np.array([2.0, 2.0, -2.0])
    np.testing.assert_allclose(fits.models.values(far)[0], np.exp(3 * (1 + 0.15 * 8)), rtol=1e-2)


def test_weights_say_which_designs_matter() -> None:
    """|x| away from its kink on one side: only designs there count, and a line fits them."""
    A = np.linspace(-2, 2, 17)[:, None]
    A[[0, 8]] = A[[8, 0]]  # the centre first
    Z = np.abs(A - 0.51) + 0.02 * np.sin(40 * A) * (A < 0)
    left, right = (A < 0).astype(float), (A > 1).astype(float)
    fitted = [fit_outputs(Kernels(A), Z, w / w.sum()) for w in (left, right)]
    errors = [np.abs(one.predicted - Z) for one in fitted]
    for w, own, other in ((left, *errors), (right, *errors[::-1])):
        scores = [float(np.sum(w * np.log(e + 1e-9))) for e in (own, other)]
        assert scores[0] <= scores[1] + 1e-6


def test_too_few_designs_are_fitted_by_linear_models() -> None:
    """The slope is unknown in a direction without designs: random ones differ there only."""
    A = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    Z = 2 + A @ np.array([[1.0], [3.0], [5.0]])
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    assert fits.fits == (None,)
    assert np.isnan(fits.predicted).all()
    np.testing.assert_allclose([fits.models.values(a) for a in A], Z)
    drawn = [fits.random(np.random.default_rng(k)).slopes(np.zeros(3))[0] for k in range(4)]
    np.testing.assert_allclose(np.array(drawn)[:, :2], [[1.0, 3.0]] * 4)
    assert np.ptp(np.array(drawn)[:, 2]) > 0.1
    unknown = fits.random_slopes(lambda one: np.full(3, np.nan if one is None else 0.0))
    assert np.isnan(unknown).all()


@few
@given(seed=seeds, n=st.integers(2, 4))
def test_random_models_pass_through_the_designs(seed: int, n: int) -> None:
    """They differ elsewhere as long as the designs do not determine a quadratic."""
    rng = np.random.default_rng(seed)
    A = designs(rng, n + 3, n)
    Z = np.stack([A.sum(axis=1) + A[:, 0] ** 2, np.exp(0.5 * A[:, 0]) + A[:, 1]], axis=1)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    one, two = fits.random(rng), fits.random(rng)
    size = np.ptp(Z, axis=0)
    for j, fitted in enumerate(fits.fits):
        if isinstance(fitted, Fit) and fitted.noise == 0:
            for models in (one, two):
                modelled = np.array([models.values(a)[j] for a in A])
                assert np.abs((modelled - Z[:, j]) / size[j]).max() < 1e-2
    assert np.abs(one.slopes(A[0]) - two.slopes(A[0])).max() > 1e-3 * np.abs(two.slopes(A[0])).max()


def test_constant_outputs_have_flat_models() -> None:
    A = designs(np.random.default_rng(1), 9, 2)
    Z = np.full((9, 1), 7.0)
    fits = fit_outputs(Kernels(A), Z, even_weights(Z))
    np.testing.assert_allclose(fits.models.values(np.ones(2)), [7.0])
    np.testing.assert_allclose(fits.models.slopes(np.ones(2)), np.zeros((1, 2)), atol=1e-9)
    np.testing.assert_allclose(fits.predicted, Z)


# -- values and slopes ---------------------------------------------------------------------------


def bowl(A: Floats) -> tuple[Floats, Floats]:
    """Values (p,) and slopes (p, n) of something that is not a quadratic."""
    s = A @ np.arange(1, A.shape[1] + 1)
    values = np.cos(0.5 * s) + np.sum(A**2, axis=1)
    return values, -0.5 * np.sin(0.5 * s)[:, None] * np.arange(1, A.shape[1] + 1) + 2 * A


@moderate
@given(seed=seeds, n=st.integers(1, 4), p=st.integers(2, 6))
def test_values_and_slopes_are_reproduced(seed: int, n: int, p: int) -> None:
    """By the kernels with a radial part; a quadratic alone cannot, and its errors say so."""
    A = designs(np.random.default_rng(seed), p, n)
    y, slopes = bowl(A)
    *_, both, radial = HermiteSystem(A).fits(y, slopes)
    for fitted in (both, radial):
        size = 1 + np.abs(slopes).max()
        for a, value, slope in zip(A, y, slopes, strict=True):
            assert fitted.model.value(a) == pytest.approx(value, abs=1e-4 * size)
            np.testing.assert_allclose(fitted.model.slope(a), slope, atol=1e-3 * size)


@moderate
@given(seed=seeds, n=st.integers(1, 4))
def test_a_quadratic_is_found_from_slopes(seed: int, n: int) -> None:
    """n + 1 designs with slopes determine it: values everywhere, and no errors left out."""
    rng = np.random.default_rng(seed)
    A, H = designs(rng, n + 3, n), rng.standard_normal((n, n))
    H = H + H.T
    quadratic, *_ = HermiteSystem(A).fits(0.5 * np.sum((A @ H) * A, axis=1) + 1, A @ H)
    v = rng.standard_normal(n)
    assert quadratic.model.value(v) == pytest.approx(float(0.5 * v @ H @ v + 1), abs=1e-3)
    np.testing.assert_allclose(quadratic.model.bends(v), H, atol=1e-2)


@moderate
@given(seed=seeds, n=st.integers(1, 4))
def test_derivatives_of_models_with_slopes(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A = designs(rng, 5, n)
    v = rng.standard_normal(n)
    for fitted in HermiteSystem(A).fits(*bowl(A)):
        model = fitted.model
        size = 1 + np.abs(model.bends(v)).max()
        value = differences(lambda at, m=model: np.array(m.value(at)), v)  # type: ignore[misc]
        np.testing.assert_allclose(model.slope(v), value, atol=1e-5 * size)
        np.testing.assert_allclose(model.bends(v), differences(model.slope, v), atol=1e-4 * size)
        np.testing.assert_allclose(model.bends(v), model.bends(v).T, atol=1e-9 * size)


@few
@given(seed=seeds, n=st.integers(1, 3))
def test_errors_left_out_are_those_of_whole_designs(seed: int, n: int) -> None:
    """Neither the value nor the slopes of a design are known to the model that predicts it."""
    A = designs(np.random.default_rng(seed), 7, n)
    y, slopes = bowl(A)
    *_, fitted = HermiteSystem(A).fits(y, slopes)  # radial: no scale of its own
    for k in range(1, len(A)):
        rest = [np.delete(part, k, 0) for part in (A, y, slopes)]
        *_, again = HermiteSystem(rest[0]).fits(rest[1], rest[2])
        error = y[k] - again.model.value(A[k])
        assert fitted.errors[k] == pytest.approx(error, rel=2e-2, abs=1e-3)


def test_slopes_of_some_outputs() -> None:
    """Only where they are given, and at the centre; the outputs without are as before."""
    rng = np.random.default_rng(3)
    A = designs(rng, 8, 3)
    Z, W = np.stack([bowl(A)[0], A.sum(axis=1)], axis=1), np.full((8, 2), 1 / 8)
    slopes = np.full((8, 2, 3), np.nan)
    slopes[:, 0] = bowl(A)[1]
    slopes[0, 1] = 1.0  # of one design only: too few
    plain, fits = fit_outputs(Kernels(A), Z, W), fit_outputs(Kernels(A), Z, W, slopes)
    assert isinstance(fits.fits[0], HermiteFit)
    assert isinstance(fits.fits[1], Fit)
    v = 0.5 * rng.standard_normal((20, 3))
    exact = bowl(v)[0]
    errors = [np.abs([f.models.values(a)[0] for a in v] - exact).mean() for f in (fits, plain)]
    assert errors[0] < 0.5 * errors[1]
    np.testing.assert_allclose(fits.models.slopes(A[0])[0], slopes[0, 0], atol=1e-2)
    drawn = fits.random_slopes(lambda one: np.ones(3))
    np.testing.assert_array_equal(drawn, slopes[0])  # given at the centre: nothing to draw
    np.testing.assert_array_equal(fits.slopes(), slopes[0])
    slopes[0, 0] = np.nan  # not of the centre
    assert isinstance(fit_outputs(Kernels(A), Z, W, slopes).fits[0], Fit)


def test_slopes_with_a_transform() -> None:
    """An exponential: its logarithm is linear, so one design with slopes is enough."""
    A = designs(np.random.default_rng(2), 6, 3)
    g = np.array([1.0, -0.5, 0.3])
    Z = np.exp(A @ g)[:, None]
    fits = fit_outputs(Kernels(A), Z, even_weights(Z), (Z * g)[:, None, :])
    assert fits.transforms[0].name == "logarithm"
    v = np.array([1.0, 1.0, -1.0])
    np.testing.assert_allclose(fits.models.values(v), np.exp(v @ g), rtol=1e-3)
    np.testing.assert_allclose(fits.models.slopes(v)[0], np.exp(v @ g) * g, rtol=1e-2)


# -- some coordinates held -----------------------------------------------------------------------


def test_restricted_models_are_the_models_at_zero() -> None:
    rng = np.random.default_rng(4)
    A = designs(rng, 18, 4)
    Z = outputs_of(A)
    models: OutputModels = fit_outputs(Kernels(A), Z, even_weights(Z)).models
    restricted, v, w = RestrictedModels(models, 2), rng.standard_normal(2), rng.standard_normal(4)
    full = np.append(v, [0.0, 0.0])
    np.testing.assert_array_equal(restricted.values(v), models.values(full))
    np.testing.assert_array_equal(restricted.slopes(v), models.slopes(full)[:, :2])
    np.testing.assert_array_equal(restricted.bends(v, w), models.bends(full, w)[:2, :2])
    other = v + 1
    np.testing.assert_array_equal(restricted.values(other), models.values(np.append(other, [0, 0])))
    both = restricted.values_of_many(np.array([v, other]))
    np.testing.assert_allclose(both, [restricted.values(v), restricted.values(other)], rtol=1e-9)
