"""CMA-ES with a diagonal metric: what it learns, what it is invariant to, and where it is used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import archeng
from archeng import Model, Settings
from archeng.codec import decode, dumps, loads
from archeng.distribution import (
    Distribution,
    diagonal_distribution,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.errors import SettingsError
from archeng.strategy import default_parameters, initial_state, sample, update
from archeng.strategy.cmaes import State

CONDITION = 1e4


def ellipsoid(n: int, rotated: bool):
    weights = CONDITION ** (np.arange(n) / (n - 1))
    turn, _ = np.linalg.qr(np.random.default_rng(7).standard_normal((n, n)))
    Q = turn if rotated else np.eye(n)
    return lambda x: float(weights @ (Q @ x) ** 2)


def generations_to(f, start: Distribution, target: float, most: int) -> int:
    p, rng = default_parameters(start.n), np.random.default_rng(1)
    state = initial_state(start)
    for generation in range(most):
        x = sample(state, p, rng)
        values = np.array([f(v) for v in x])
        if values.min() <= target:
            return generation
        state = update(state, p, x[np.argsort(values)], "covariant")
    return most


def start_at(n: int, diagonal: bool) -> Distribution:
    begun = initial_distribution(np.full(n, 3.0), np.ones(n))
    return diagonal_distribution(begun) if diagonal else begun


def test_a_diagonal_distribution_is_the_matrix_with_the_same_deviations():
    d = distribution_from_covariance(np.zeros(3), np.diag([1.0, 4.0, 9.0]))
    diagonal = diagonal_distribution(d)
    assert diagonal.is_diagonal
    assert diagonal_distribution(diagonal) is diagonal
    z = np.random.default_rng(0).standard_normal((5, 3))
    assert np.allclose(diagonal.deviations, [1, 2, 3])
    assert np.allclose(diagonal.steps(z), z * diagonal.deviations / diagonal.sigma)
    assert np.allclose(diagonal.whiten(z), d.whiten(z))
    assert np.allclose(diagonal.covariance, d.covariance)
    assert np.allclose(diagonal.scaled_factor, np.diag([1.0, 2, 3]))
    assert diagonal.distance_squared(z[0], z[1]) == pytest.approx(d.distance_squared(z[0], z[1]))


def test_the_update_is_that_of_the_diagonal_of_c_with_faster_rates():
    n = 5
    p, rng = default_parameters(n), np.random.default_rng(3)
    state = initial_state(start_at(n, diagonal=True))
    before = state.distribution.factor**2
    x = sample(state, p, rng)
    steps = (x[: len(p.weights)] - state.distribution.mean) / state.distribution.sigma
    after = update(state, p, x, "covariant")
    faster = (n + 2) / 3
    c_1, c_mu = faster * p.c_1, faster * p.c_mu
    aim = (1 - c_1 * after.gamma_c - c_mu) * before
    aim = aim + c_1 * after.p_c**2 + c_mu * p.weights @ steps**2
    assert np.allclose(after.distribution.factor**2, aim, rtol=1e-12)
    assert np.allclose(after.distribution.inverse_factor * after.distribution.factor, 1)
    assert np.allclose(after.eigenvalues, np.sort(aim))
    assert np.all(state.distribution.factor**2 == before)


def test_a_diagonal_is_learned_in_fewer_generations_and_a_rotation_is_not_learned():
    """What a restricted metric gains, and which invariance it gives up."""
    n, target, most = 12, 1e-6, 3000
    counts = {
        (diagonal, rotated): generations_to(
            ellipsoid(n, rotated), start_at(n, diagonal), target, most
        )
        for diagonal in (False, True)
        for rotated in (False, True)
    }
    full, diagonal = counts[False, False], counts[True, False]
    assert diagonal < 0.7 * full
    assert abs(counts[False, True] - full) < 0.3 * full  # the start is not rotated with it
    assert counts[True, True] > 3 * counts[False, True]


def test_scalings_of_variables_change_nothing():
    n = 6
    scales = 2.0 ** np.arange(-10, 10, 4)[:n].repeat(2)[:n]
    p, f = default_parameters(n), ellipsoid(n, rotated=True)
    start = start_at(n, diagonal=True)
    scaled = diagonal_distribution(initial_distribution(start.mean * scales, scales))
    a, b = initial_state(start), initial_state(scaled)
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(50):
        x, y = sample(a, p, rng), sample(b, p, same)
        assert np.allclose(x * scales, y, rtol=1e-9)
        a = update(a, p, x[np.argsort([f(v) for v in x])], "covariant")
        b = update(b, p, y[np.argsort([f(v / scales) for v in y])], "covariant")
    assert np.allclose(a.eigenvalues, b.eigenvalues)


def test_a_state_is_stored_without_matrices():
    state = initial_state(start_at(200, diagonal=True))
    state = replace(state, generation=3)
    stored = dumps(state)
    again = decode(State, loads(stored))
    assert np.array_equal(again.distribution.factor, state.distribution.factor)
    assert again.distribution.is_diagonal
    assert len(stored) < 200 * 120  # a matrix would have 200 times 200 times eleven characters


def disc(n: int) -> Model:
    model = Model("disc")
    x = model.variable("x", shape=n, lower=-2, upper=2, start=0)
    for i in range(n - 1):
        model.subject_to(x[i] + x[i + 1] <= 1, name=f"pair{i}")
    return model


def far(design) -> float:
    x = np.ravel(design["x"])
    return float(np.sum((1 + np.arange(len(x)) % 3) * (x - 1) ** 2))


@pytest.mark.parametrize(("n", "metric", "diagonal"), [(4, "auto", False), (4, "diagonal", True)])
def test_the_metric_of_the_settings_is_learned(n: int, metric: str, diagonal: bool):
    run = archeng.Run(disc(n), far, seed=1, settings=Settings(metric=metric, surrogate="none"))
    run.step()
    assert run.state.search.distribution.is_diagonal == diagonal


@pytest.mark.slow
def test_many_variables_have_a_diagonal_metric_by_default():
    settings = Settings(surrogate="none", start_candidates=2)
    result = archeng.solve(disc(160), far, max_evaluations=200, seed=1, settings=settings)
    assert result.fun < 0.9 * result.evaluations[0].objective
    assert all(call.max_violation == 0 for call in result.evaluations)
    assert len(result.history[-1].eigenvalues) == 160


def test_a_matrix_for_sigma_asks_for_a_full_metric():
    n = 155
    sigma = np.eye(n)
    sigma[0, 1] = sigma[1, 0] = 0.5
    model = Model("free")
    model.variable("x", shape=n, lower=-2, upper=2, start=0)
    settings = Settings(surrogate="none", start_candidates=2)
    full = archeng.Run(model, far, sigma=sigma, start=np.zeros(n), settings=settings)
    assert not full.state.search.distribution.is_diagonal
    plain = archeng.Run(model, far, start=np.zeros(n), settings=settings)
    assert plain.state.search.distribution.is_diagonal


def test_a_run_with_a_diagonal_metric_goes_on_as_if_it_had_not_been_cut_off(tmp_path: Path):
    settings = Settings(metric="diagonal", surrogate="none")
    options = {"seed": 3, "settings": settings}
    whole = archeng.solve(disc(5), far, max_evaluations=90, **options)
    journal = tmp_path / "run.db"
    archeng.solve(disc(5), far, max_evaluations=40, journal=journal, **options)
    again = archeng.resume(journal, far, model=disc(5), max_evaluations=90)
    assert [c.objective for c in again.evaluations] == [c.objective for c in whole.evaluations]


def test_where_no_diagonal_is_learned_it_is_refused():
    model = Model("discrete")
    model.integer("k", lower=0, upper=9)
    with pytest.raises(SettingsError, match="real numbers"):
        archeng.solve(model, lambda d: d["k"], settings=Settings(metric="diagonal"))
    other = Settings(metric="diagonal", handler="resampling", surrogate="none")
    with pytest.raises(SettingsError, match="resampling"):
        archeng.solve(disc(3), far, settings=other)


def test_correlations_are_not_forgotten_silently():
    model, sigma = disc(3), np.array([[1.0, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    with pytest.raises(SettingsError, match="correlations"):
        archeng.solve(model, far, sigma=sigma, settings=Settings(metric="diagonal"))
    result = archeng.solve(
        model, far, sigma=np.eye(3), settings=Settings(metric="diagonal"), max_evaluations=5
    )
    assert result.nfev == 5
