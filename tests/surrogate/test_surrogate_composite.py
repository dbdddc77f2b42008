"""Objective and constraints as formulas of modelled outputs, and steps by them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import designs, differences, few, moderate, random_frame, seeds

from archeng.distribution import Floats
from archeng.model import FeasibleSet, Model, compile_model
from archeng.outcomes import Lessons, Limits, PastCalls
from archeng.surrogate.composite import CompositeFit, CompositeObjective
from archeng.surrogate.constrained import best_step
from archeng.surrogate.data import Data, Frame, select
from archeng.surrogate.geometry import Rows, gain, lowest_step
from archeng.surrogate.models import fit_models

NO_ROWS = Rows(np.zeros((0, 2)), np.zeros(0), np.zeros(0))


def grey_model(kind: str = "smooth", n: int = 2) -> Model:
    """Three outputs; a smooth objective, the largest of some, or a formula of the design."""
    model = Model(kind)
    x = model.variable("x", shape=n, lower=-6, upper=6)
    z = model.output("z", shape=3)
    model.subject_to(ca.sumsqr(z[:2]) + x[0] <= 40, name="squares")
    model.subject_to(ca.fmax(z[0], z[1] - x[0]), lower=-30, upper=30, name="both")
    objectives = {
        "smooth": ca.sumsqr(z - 1) / (4 + x[0] ** 2) + ca.exp(0.1 * z[2]) * x[1],
        "largest": ca.fmax(ca.fmax(z[0] ** 2, z[1] + x[0]), ca.fabs(z[2])),
        "explicit": ca.sumsqr(x - 1) + ca.exp(0.3 * x[0]),
    }
    model.minimize(objectives[kind])
    return model


def simulate(X: Floats) -> Floats:
    """Outputs (p, 3): positive and varied, a wave, a quadratic."""
    s = X.sum(axis=1)
    return np.stack((np.exp(0.4 * s), np.sin(X[:, 0]) + s, 0.5 * s + X[:, 0] ** 2 - 1), axis=1)


def past_of(fs: FeasibleSet, X: Floats, lessons: Lessons | None = None) -> PastCalls:
    assert fs.formulas is not None
    values = fs.formulas.at_all(X, simulate(X))
    return PastCalls(X, values[:, 0], values[:, 1:], simulate(X), lessons=lessons)


def data_of(fs: FeasibleSet, frame: Frame, X: Floats, lessons: Lessons | None = None) -> Data:
    data = select(frame, past_of(fs, X, lessons), fs.formulas)
    assert data is not None
    return data


def fitted(seed: int, kind: str, n: int) -> tuple[Data, CompositeFit]:
    """Random designs in a frame that is neither orthogonal nor of one unit."""
    rng = np.random.default_rng(seed)
    fs, frame = compile_model(grey_model(kind, n)), random_frame(rng, 0.5 * rng.standard_normal(n))
    data = data_of(fs, frame, frame.centre + designs(rng, 3 * n + 8, n) @ frame.factor.T)
    assert data.composite is not None
    return data, data.composite


@moderate
@given(seed=seeds, n=st.integers(2, 4), kind=st.sampled_from(["smooth", "largest", "explicit"]))
def test_derivatives_of_the_objective(seed: int, n: int, kind: str) -> None:
    """Those of the largest piece; away from where pieces meet."""
    data, fit = fitted(seed, kind, n)
    objective = CompositeObjective(fit.composite, data.best, data.spread)
    v = 0.4 * np.random.default_rng(seed).standard_normal(n)
    pieces, slopes = objective.pieces(v)
    assert objective.value(v) == pytest.approx(pieces.max())
    if len(pieces) > 1 and np.diff(np.sort(pieces)[-2:])[0] < 1e-3:
        return
    slope, hessian = objective.derivatives(v)
    numerical = differences(lambda at: np.array(objective.value(at)), v)
    np.testing.assert_allclose(slope, numerical, rtol=1e-4, atol=1e-5 * (1 + np.abs(slope).max()))
    np.testing.assert_allclose(slope, slopes[int(np.argmax(pieces))], rtol=1e-9)
    size = 1 + np.abs(hessian).max()
    np.testing.assert_allclose(hessian, differences(objective.slope, v), atol=1e-3 * size)
    np.testing.assert_allclose(hessian, hessian.T)


@moderate
@given(seed=seeds, n=st.integers(2, 4), kind=st.sampled_from(["smooth", "largest"]))
def test_derivatives_of_all_pieces(seed: int, n: int, kind: str) -> None:
    _, fit = fitted(seed, kind, n)
    v = 0.4 * np.random.default_rng(seed).standard_normal(n)
    slopes = fit.composite.slopes(v)
    w = np.random.default_rng(seed).standard_normal(len(slopes))
    size = 1 + np.abs(slopes).max()
    np.testing.assert_allclose(
        slopes, differences(fit.composite.values, v), rtol=1e-4, atol=1e-5 * size
    )
    bends = fit.composite.bends(v, w)
    numerical = differences(lambda at: w @ fit.composite.slopes(at), v)
    np.testing.assert_allclose(bends, numerical, atol=1e-3 * (1 + np.abs(bends).max()))


@few
@given(seed=seeds, kind=st.sampled_from(["smooth", "largest", "explicit"]))
def test_errors_are_those_of_the_formulas(seed: int, kind: str) -> None:
    """Of outputs that the models predict without a design; 0 where no output is used."""
    data, fit = fitted(seed, kind, 2)
    assert data.outputs is not None
    for k, x in enumerate(data.outputs.X):
        exact = fit.formulas.at(x, data.outputs.Z[k])
        predicted = fit.formulas.at(x, fit.fits.predicted[k])
        errors = [predicted[0] - exact[0], *(predicted[1] - exact[1])]
        if kind == "explicit":
            assert errors[0] == fit.errors[k, 0] == 0.0
        np.testing.assert_allclose(fit.errors[k], errors, rtol=1e-9, atol=1e-12)


@few
@given(seed=seeds)
def test_totals_are_the_formulas_of_the_models(seed: int) -> None:
    data, fit = fitted(seed, "largest", 3)
    v = 0.3 * np.random.default_rng(seed).standard_normal(3)
    assert data.outputs is not None
    x = data.outputs.X[0] + data.outputs.step @ v
    f, rows = fit.composite.totals(v)
    exact = fit.formulas.at(x, fit.fits.models.values(v))
    np.testing.assert_allclose([f, *rows], [exact[0], *exact[1]])
    assert CompositeObjective(fit.composite, 0.0, 1.0).value(v) == pytest.approx(f)


def test_an_explicit_objective_is_exact_with_two_designs() -> None:
    """Nothing is learned: the model is the formula, far away too."""
    fs = compile_model(grey_model("explicit"))
    frame = Frame(np.zeros(2), np.eye(2), np.eye(2))
    data = data_of(fs, frame, np.array([[0.0, 0.0], [1.0, 0.5]]))
    limits = Limits(("squares", "both"), np.array([-np.inf, -30]), np.array([40.0, 30]))
    models = fit_models(frame, data, limits)
    for x in 3 * np.random.default_rng(0).standard_normal((5, 2)):
        exact = np.sum((x - 1) ** 2) + np.exp(0.3 * x[0])
        value = data.best + data.spread * models.objective.value(x / data.scale)
        assert value == pytest.approx(exact)


def test_formulas_that_are_not_defined_are_infinite() -> None:
    """A model that extrapolates may leave the domain of a logarithm: no step goes there."""
    model = Model("log")
    model.variable("x", shape=1, lower=0, upper=10)
    model.minimize(-ca.log(model.output("z")))
    fs = compile_model(model)
    X = np.array([[2.0], [3.0], [4.0], [5.0], [6.0]])
    assert fs.formulas is not None
    Z = 1 - 0.02 * X
    past = PastCalls(X, fs.formulas.at_all(X, Z)[:, 0], np.zeros((5, 0)), Z)
    frame = Frame(X[0], np.eye(1), np.eye(1))
    data = select(frame, past, fs.formulas)
    assert data is not None
    assert data.composite is not None
    objective = CompositeObjective(data.composite.composite, data.best, data.spread)
    assert np.isfinite(objective.value(np.zeros(1)))
    assert objective.value(np.array([1e3])) == np.inf


def test_slopes_that_are_not_defined_are_flat() -> None:
    """sqrt(fmax(z, 0)) where z < 0: CasADi's slope is 0 times infinity, the truth is 0."""
    model = Model("guarded")
    x = model.variable("x", shape=2, lower=-3, upper=3)
    model.minimize(ca.sumsqr(x) + ca.sqrt(ca.fmax(model.output("z"), 0)))
    fs = compile_model(model)
    assert fs.formulas is not None
    X = designs(np.random.default_rng(0), 9, 2) + 0.5
    Z = X.sum(axis=1, keepdims=True) - 20
    assert np.isnan(fs.formulas.pieces.values_and_jacobian(X[0], Z[0])[1]).any()
    past = PastCalls(X, fs.formulas.at_all(X, Z)[:, 0], np.zeros((9, 0)), Z)
    frame = Frame(X[0], np.eye(2), np.eye(2))
    data = select(frame, past, fs.formulas)
    assert data is not None
    models = fit_models(frame, data, Limits())
    assert isinstance(models.objective, CompositeObjective)
    slope, hessian = models.objective.derivatives(np.zeros(2))
    unit = data.scale / data.spread
    np.testing.assert_allclose(slope, 2 * X[0] * unit)
    np.testing.assert_allclose(hessian, 2 * np.eye(2) * unit * data.scale)
    step, _ = best_step(models, fs, 3.0, np.zeros(0), 1.0)
    np.testing.assert_allclose(frame.design(data.scale * step), np.zeros(2), atol=1e-4)


def test_a_step_from_where_nothing_is_defined_stays() -> None:
    """A formula that is infinitely steep at the centre: no step, and no error."""
    model = Model("steep")
    x = model.variable("x", shape=1, lower=0, upper=3)
    z = model.output("z")
    model.minimize(1 - ca.sqrt(x) + z)
    fs = compile_model(model)
    assert fs.formulas is not None
    X = np.array([[0.0], [1.0], [2.0], [2.5], [0.5]])
    past = PastCalls(X, fs.formulas.at_all(X, X**2)[:, 0], np.zeros((5, 0)), X**2)
    frame = Frame(X[0], np.eye(1), np.eye(1))
    data = select(frame, past, fs.formulas)
    assert data is not None
    step, _ = best_step(fit_models(frame, data, Limits()), fs, 1.0, np.zeros(0), 1.0)
    assert np.isfinite(step).all()


def test_lessons_of_other_parameters_help_and_are_held() -> None:
    """Designs of earlier runs with another parameter: the models are those of now."""
    fs, rng = compile_model(grey_model()), np.random.default_rng(5)
    frame = Frame(np.zeros(2), np.eye(2), np.eye(2))
    X = designs(rng, 5, 2)
    old = designs(rng, 12, 2)
    apart = np.repeat([0.5, 1.0], 6)[:, None]
    lessons = Lessons(old, simulate(old) + 2 * apart, apart)
    few_, more = data_of(fs, frame, X), data_of(fs, frame, X, lessons)
    V = 0.8 * rng.standard_normal((30, 2))
    errors = []
    for data in (few_, more):
        assert data.composite is not None
        assert data.outputs is not None
        composite = data.composite.composite
        found = np.array([composite.totals(v)[0] for v in V / data.scale])
        assert fs.formulas is not None
        errors.append(np.abs(found - fs.formulas.at_all(V, simulate(V))[:, 0]).mean())
        assert data.composite.slopes().shape == (3, 2)
    assert errors[1] < 0.7 * errors[0]


# -- several pieces in the linear program --------------------------------------------------------


@moderate
@given(seed=seeds, n=st.integers(1, 5))
def test_nothing_is_gained_at_a_least_maximum(seed: int, n: int) -> None:
    """Zero is a positive combination of the slopes of the pieces that are the largest."""
    rng = np.random.default_rng(seed)
    slopes = rng.standard_normal((n + 1, n))
    slopes[-1] = -(rng.uniform(0.1, 1, n) @ slopes[:-1])
    rows = Rows(np.zeros((0, n)), np.zeros(0), np.zeros(0))
    offsets = np.zeros(n + 1)
    assert gain(slopes, offsets, rows, 1.0, 1e-3) == pytest.approx(0.0, abs=1e-9)
    lower = np.append(slopes, 10 * rng.standard_normal((2, n)), axis=0)  # far below: no matter
    assert gain(lower, np.append(offsets, [-100, -100]), rows, 1.0, 1e-3) == pytest.approx(
        0.0, abs=1e-9
    )
    fewer = gain(slopes[:-1], offsets[:-1], rows, 1.0, 1e-3)
    assert fewer > 1e-6  # one piece less, and there is a way down


@moderate
@given(seed=seeds, n=st.integers(1, 4), k=st.integers(2, 6), radius=st.floats(1e-3, 10))
def test_the_gain_is_that_of_the_step(seed: int, n: int, k: int, radius: float) -> None:
    """No step in the box gains more, by trying."""
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.standard_normal((k, n)), -radius * rng.exponential(1, k)
    offsets[0] = 0.0
    rows = Rows(np.ones((1, n)), np.array([-np.inf]), np.array([0.3 * radius]))
    found = gain(slopes, offsets, rows, radius, 0.0)
    step = lowest_step(slopes, rows, radius, 0.0, offsets)
    assert step is not None
    assert np.abs(step).max() <= radius * (1 + 1e-9)
    assert step.sum() <= 0.3 * radius * (1 + 1e-7)
    assert found == pytest.approx(max(-(offsets + slopes @ step).max(), 0.0), abs=1e-9)
    tried = radius * rng.uniform(-1, 1, (300, n))
    tried = tried[tried.sum(axis=1) <= 0.3 * radius]
    assert np.max(-(offsets + tried @ slopes.T).max(axis=1), initial=0.0) <= found + 1e-7 * radius


def test_one_piece_is_the_linear_program_of_before() -> None:
    slope = np.array([1.0, -2.0])
    one = gain(slope[None], np.zeros(1), NO_ROWS, 0.5, 1e-3)
    two = gain(np.stack((slope, slope)), np.zeros(2), NO_ROWS, 0.5, 1e-3)
    assert one == pytest.approx(two) == pytest.approx(1.5)


# -- the step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [(0.0, 0.0), (1.5, -0.5), (-1.0, 1.0)])
def test_a_step_to_a_least_maximum(begin: tuple[float, float]) -> None:
    """cb2 of Charalambous and Bandler: three smooth pieces, f = 1.952224 at (1.139, 0.900)."""
    model = Model("cb2")
    model.variable("x", shape=2, lower=-3, upper=3)
    z = model.output("z", shape=3)
    model.minimize(ca.mmax(z))
    fs = compile_model(model)
    assert fs.formulas is not None
    centre = np.array(begin)
    rng = np.random.default_rng(0)
    X = np.concatenate((centre[None], np.array([1.1, 0.9]) + rng.uniform(-0.7, 0.7, (40, 2))))
    u, v = X.T
    Z = np.stack((u**2 + v**4, (2 - u) ** 2 + (2 - v) ** 2, 2 * np.exp(v - u)), axis=1)
    past = PastCalls(X, Z.max(axis=1), np.zeros((41, 0)), Z)
    frame = Frame(centre, np.eye(2), np.eye(2))
    data = select(frame, past, fs.formulas, most=41)
    assert data is not None
    models = fit_models(frame, data, Limits())
    assert models.has_pieces
    step, _ = best_step(models, fs, 5.0, np.zeros(0), 1.0)
    x = frame.design(data.scale * step)
    np.testing.assert_allclose(x, [1.139038, 0.899560], atol=0.02)
    expected = data.best + data.spread * models.objective.value(step)
    assert expected == pytest.approx(1.952224, abs=0.02)


def test_a_step_to_a_least_maximum_under_limits() -> None:
    """max(u, v, -u - v) with u >= 0.5 as a simulated limit and u - v >= 0.8 written down."""
    model = Model("limits")
    x = model.variable("x", shape=2, lower=-3, upper=3)
    model.subject_to(x[0] - x[1] >= 0.8, name="explicit")
    z = model.output("z", shape=3)
    model.subject_to(z[0] >= 0.5, name="simulated")
    model.minimize(ca.mmax(z))
    fs = compile_model(model)
    X = np.array([[1.5, 0.0], [2, 0], [1.5, -1], [1, -1.5], [2.5, 1], [1.2, 0.3], [0.9, -0.6]])
    Z = np.stack((X[:, 0], X[:, 1], -X.sum(axis=1)), axis=1)
    past = PastCalls(X, Z.max(axis=1), Z[:, :1], Z)
    frame = Frame(X[0], np.eye(2), np.eye(2))
    data = select(frame, past, fs.formulas)
    assert data is not None
    limits = Limits(("simulated",), np.array([0.5]), np.array([np.inf]))
    models = fit_models(frame, data, limits)
    step, _ = best_step(models, fs, 5.0, np.zeros(1), 1.0)
    u, v = frame.design(data.scale * step)
    assert max(u, v, -u - v) == pytest.approx(0.5, abs=1e-3)
    assert u == pytest.approx(0.5, abs=1e-3)
    assert u - v >= 0.8 - 1e-6


@moderate
@given(seed=seeds, kind=st.sampled_from(["smooth", "largest", "explicit"]))
def test_many_points_are_one_after_the_other(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    fs, frame = compile_model(grey_model(kind)), random_frame(rng, np.zeros(2))
    data = data_of(fs, frame, frame.centre + designs(rng, 16, 2) @ frame.factor.T)
    limits = Limits(("squares", "both"), np.array([-np.inf, -30]), np.array([40.0, 30]))
    models = fit_models(frame, data, limits)
    assert isinstance(models.objective, CompositeObjective)
    V = 0.4 * rng.standard_normal((6, 2))
    for some in (V, V[:3]):
        values, sides = models.objective.values_of_many(some), models.excess_of_many(some)
        close = {"rtol": 1e-7, "atol": 1e-7}
        np.testing.assert_allclose(values, [models.objective.value(v) for v in some], **close)
        np.testing.assert_allclose(sides, [models.excess(v) for v in some], **close)
