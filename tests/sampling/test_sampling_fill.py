"""Many feasible points: certified, different, reproducible, and all over the feasible set."""

from __future__ import annotations

import logging
import time

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import archeng
from archeng import Model
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import compile_model
from archeng.repair import Repairer
from archeng.sampling import feasible_points, fill, space_filling_points

pytestmark = pytest.mark.slow


def make(*rules, n=2, lower=-2.0, upper=2.0, **options) -> Model:
    """Model with the given constraints on a vector x."""
    model = Model()
    x = model.variable("x", shape=n, lower=lower, upper=upper, **options)
    for rule in rules:
        model.subject_to(rule(x))
    return model


def annulus() -> Model:
    return make(lambda x: ca.sumsqr(x) <= 1, lambda x: ca.sumsqr(x) >= 0.64)


def sphere(n: int = 3) -> Model:
    return make(lambda x: ca.sumsqr(x) == 1, n=n)


MODELS = {
    "box": make(n=3),
    "annulus": annulus(),
    "linear": make(lambda x: ca.sum1(x) <= -5, lambda x: x[0] == 2 * x[1], n=6),
    "small ball": make(lambda x: ca.sumsqr(x - 1) <= 0.01, n=6),
    "sphere": sphere(),
    "narrow tolerance": Model(),
    "undefined": make(lambda x: ca.log(x[0]) + ca.sqrt(x[1]) <= -1),
    "no bounds": make(lower=None, upper=None, start=[3.0, 4.0], scale=1.0),
    "singular": make(lambda x: (x[0] - x[1]) ** 2 == 0),
    "units": Model(),
}
_x = MODELS["narrow tolerance"].variable("x", shape=3, lower=-2, upper=2)
MODELS["narrow tolerance"].subject_to(ca.sumsqr(_x) == 1, tolerance=1e-14)
_a = MODELS["units"].variable("a", lower=1e-9, upper=2e-9)
_b = MODELS["units"].variable("b", lower=1e7, upper=5e7)
MODELS["units"].subject_to(_a * _b == 0.04, tolerance=1e-9)


def sample(model: Model, k: int, seed: int = 1):
    return archeng.sample_feasible(model, k, seed=seed).x


def energy(a, b) -> float:
    return 2 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean()


@pytest.mark.parametrize("name", MODELS)
def test_every_point_is_feasible_and_different(name: str) -> None:
    fs = compile_model(MODELS[name])
    x = space_filling_points(Repairer(fs), 30, np.random.default_rng(1))
    assert x.shape == (30, fs.n)
    assert all(fs.violations(p).max(initial=0.0) == 0 for p in x)
    assert pdist(x / fs.scale).min() > 1e-6


@pytest.mark.parametrize("model", [annulus(), sphere()])
def test_seed_reproduces(model: Model) -> None:
    first = sample(model, 20, seed=3)
    assert first.tobytes() == sample(model, 20, seed=3).tobytes()
    assert first.tobytes() != sample(model, 20, seed=4).tobytes()


def test_few_points_are_those_that_runs_begin_at() -> None:
    for k in (1, 5):
        fs = compile_model(annulus())
        few = space_filling_points(Repairer(fs), k, np.random.default_rng(2))
        assert few.tobytes() == feasible_points(Repairer(fs), k, np.random.default_rng(2)).tobytes()


def uniform_annulus(k: int, rng):
    t, r = rng.uniform(0, 2 * np.pi, k), np.sqrt(rng.uniform(0.64, 1, k))
    return np.c_[r * np.cos(t), r * np.sin(t)]


def uniform_sphere(k: int, rng, n: int = 3):
    z = rng.standard_normal((k, n))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def uniform_mixture(k: int, rng):
    return rng.dirichlet(np.ones(6), k)


@pytest.mark.parametrize(
    ("model", "uniform"),
    [
        (annulus(), uniform_annulus),
        (sphere(), uniform_sphere),
        (make(lambda x: ca.sum1(x) == 1, n=6, lower=0, upper=1), uniform_mixture),
        (MODELS["small ball"], lambda k, rng: 1 + 0.1 * uniform_sphere(k, rng, 6)
         * rng.random((k, 1)) ** (1 / 6)),
    ],
    ids=["annulus", "sphere", "mixture", "small ball"],
)  # fmt: skip
def test_coverage_is_better_than_that_of_uniform_samples(model, uniform) -> None:
    x, rng = sample(model, 200), np.random.default_rng(7)
    reference, probes = uniform(2000, rng), uniform(1000, rng)
    others = [uniform(200, rng) for _ in range(8)]
    assert energy(x, reference) < 0.8 * np.mean([energy(u, reference) for u in others])
    holes = [cdist(probes, u).min(axis=1).max() for u in others]
    assert cdist(probes, x).min(axis=1).max() < 1.05 * np.mean(holes)
    assert pdist(x).min() > 1.5 * max(pdist(u).min() for u in others)


def test_every_first_part_is_spread_well() -> None:
    x, rng = sample(annulus(), 100), np.random.default_rng(7)
    reference = uniform_annulus(2000, rng)
    for k in (10, 25, 50):
        others = [uniform_annulus(k, rng) for _ in range(20)]
        assert energy(x[:k], reference) < 0.5 * np.mean([energy(u, reference) for u in others])


def test_the_interior_is_covered_too() -> None:
    """Repaired samples alone would all lie on the ball."""
    x = sample(make(lambda x: ca.sumsqr(x) <= 0.01), 100)
    radius = np.linalg.norm(x, axis=1) / 0.1
    assert 0.15 < np.mean(radius < 0.5) < 0.35  # a quarter of the area
    assert np.mean(radius > 0.999) < 0.2


def test_all_pieces_are_found_in_proportion() -> None:
    """Discs with areas 4 : 1, together 1e-4 of the box."""
    both = make(
        lambda x: ca.fmin(ca.sumsqr(x - 5) - 0.01, ca.sumsqr(x + 5) - 0.0025) <= 0,
        lower=-10, upper=10,
    )  # fmt: skip
    x = sample(both, 200)
    assert np.mean(x[:, 0] > 0) == pytest.approx(0.8, abs=0.07)


def test_both_branches_of_a_hyperbola() -> None:
    x = sample(make(lambda x: x[0] * x[1] == 1, lower=-5, upper=5), 100)
    assert np.mean(x[:, 0] > 0) == pytest.approx(0.5, abs=0.15)
    for sign in (-1, 1):
        one = np.sort(sign * x[sign * x[:, 0] > 0, 0])
        assert one[0] < 0.25
        assert one[-1] > 4.6


def test_a_variable_that_the_equalities_determine_needs_no_bounds() -> None:
    model = Model()
    u = model.variable("u", lower=0, upper=1)
    y = model.variable("y", start=1, scale=1)
    model.subject_to(y == 1000 * u)
    x = sample(model, 50)
    assert x[:, 0].min() < 0.05
    assert x[:, 0].max() > 0.95


def test_a_variable_without_limits_stays_around_its_start() -> None:
    x = sample(make(lower=[0, -2], upper=[np.inf, 2], start=[5, 0], scale=1), 100)
    assert np.all(x[:, 0] > 0)
    assert x[:, 0].mean() == pytest.approx(5, abs=0.5)
    assert 0.7 < x[:, 0].std() < 2


def test_single_solutions_are_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    model = make(lambda x: x[0] ** 2 == 1, lambda x: x[1] ** 2 == 2)
    with caplog.at_level(logging.WARNING, logger="archeng"):
        x = sample(model, 50)
    assert sorted(map(tuple, np.sign(x))) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert "only 4 different points" in caplog.text


def test_a_single_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "_ENOUGH", 12)  # repairs are slow here
    x = sample(make(lambda x: ca.sumsqr(x) <= 1, lambda x: x[0] >= 1), 20)
    np.testing.assert_allclose(x, [[1, 0]], atol=1e-6)


def test_inequalities_that_leave_no_room(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Points cannot walk; more are repaired (here: known ones)."""
    fs = compile_model(make(lambda x: ca.sumsqr(x) <= 1, lambda x: 2 * ca.sumsqr(x) >= 2))
    t = np.linspace(0, 6, 200)
    known = [p for p in np.c_[np.cos(t), np.sin(t)] if fs.is_feasible(p)]
    monkeypatch.setattr(fill, "_ENOUGH", 12)
    monkeypatch.setattr(fill, "feasible_points", lambda *_: np.array(known))
    with caplog.at_level(logging.WARNING, logger="archeng"):
        x = space_filling_points(Repairer(fs), 60, np.random.default_rng(1))
    assert x.shape == (60, 2)
    assert all(fs.is_feasible(p) for p in x)
    assert "written as ==" in caplog.text


@pytest.mark.parametrize(
    "rule", [lambda x: x[0] + x[1] >= 9, lambda x: ca.sumsqr(x) == 9], ids=["linear", "equality"]
)
def test_infeasible_models_say_so_soon(rule) -> None:
    begin = time.process_time()
    with pytest.raises(InfeasibleModelError, match="No feasible design"):
        sample(make(rule), 2000)
    assert time.process_time() - begin < 5


def test_unbounded_models_need_a_scale() -> None:
    with pytest.raises(ModelError, match="start= and scale="):
        sample(make(lower=0, upper=None), 100)


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="archeng"):
        sample(sphere(), 10)
    assert "points walk" in caplog.text


def test_a_thousand_points_under_three_nonlinear_equalities() -> None:
    model = make(
        lambda x: ca.sumsqr(x[:5]) == 4,
        lambda x: x[5] * x[6] - 5 * x[7] * x[8] * x[0] == 0.5,
        lambda x: x[0] ** 3 + x[9] ** 3 + ca.sin(x[4]) == 1,
        n=10,
    )
    begin = time.process_time()
    x = sample(model, 1000)
    assert time.process_time() - begin < 10
    fs = compile_model(model)
    assert len(np.unique(x, axis=0)) == 1000
    assert all(fs.is_feasible(p) for p in x)
