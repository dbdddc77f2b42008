"""One generation of ARCH: the mean's repair, alpha, sampling, ranking, the update."""

from __future__ import annotations

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from archeng.distribution import Distribution
from archeng.handlers.arch import adapt_alpha, advance, begin, sample_population
from archeng.handlers.base import Population
from archeng.model import Model, compile_model
from archeng.ranking import sphere_step_size
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings
from archeng.strategy import sample, update


def box_repairer(n: int = 3) -> Repairer:
    model = Model("box")
    model.variable("x", shape=n, lower=-1, upper=1)
    return Repairer(compile_model(model))


def plain(mean, sigma: float = 0.5) -> Distribution:
    n = len(mean)
    return Distribution(np.array(mean, dtype=float), sigma, np.eye(n), np.eye(n))


def test_a_restart_begins_with_alpha_one_and_a_feasible_mean():
    search = begin(plain([0.0, 0.0, 0.0]), np.zeros(3), None)
    assert (search.alpha, search.d_m, search.n_active) == (1.0, 0.0, 0)
    assert search.parameters.population_size == 7
    assert begin(plain([0.0, 0.0, 0.0]), np.zeros(3), 20).parameters.population_size == 20


@pytest.mark.parametrize("lam", [None, 5, 30])
@pytest.mark.parametrize(("mean", "n_active"), [([3, 0, 0], 1), ([3, -2, 0], 2), ([2, 2, -5], 3)])
def test_d_m_is_computed_from_the_repaired_mean(mean, n_active: int, lam: int | None):
    search = adapt_alpha(begin(plain(mean), np.zeros(3), lam), box_repairer())
    p = search.parameters
    distance_squared = np.sum((np.array(mean) - np.clip(mean, -1, 1)) ** 2) / 0.5**2
    sigma_hat = sphere_step_size(p.weights, p.population_size, 3)
    expected = distance_squared * sigma_hat**2 / (3 * (1.5 + n_active))
    expected *= math.exp(min(0, 7 - p.population_size) / p.population_size)
    assert search.d_m == pytest.approx(expected, rel=1e-6)
    assert search.n_active == n_active
    assert search.d_m > 1  # so alpha grows
    assert search.alpha == pytest.approx(math.exp(1 / 3), rel=1e-12)
    np.testing.assert_allclose(search.anchor, np.clip(mean, -1, 1), atol=1e-8)


def test_alpha_decreases_while_the_mean_is_feasible():
    search = begin(plain([0.2, 0.0, 0.0]), np.zeros(3), None)
    for k in range(1, 4):
        search = adapt_alpha(search, box_repairer())
        assert search.d_m == 0.0
        assert search.alpha == pytest.approx(math.exp(-k / 3), rel=1e-12)


def test_alpha_follows_the_change_of_d_m():
    """Out and growing: up; out and shrinking: unchanged; back inside: down."""
    repairer = box_repairer()
    search = begin(plain([0.0, 0.0, 0.0], 0.1), np.zeros(3), None)
    expected = 1.0
    for first, change in ((2.0, 1), (3.0, 1), (2.5, 0), (2.5, 0), (2.6, 1), (0.5, -1), (0.5, -1)):
        state = replace(search.state, distribution=plain([first, 0.0, 0.0], 0.1))
        search = adapt_alpha(replace(search, state=state), repairer)
        expected *= math.exp(change / 3)
        assert search.alpha == pytest.approx(expected, rel=1e-9)


def test_population_keeps_sampled_and_repaired_points_apart():
    repairer = box_repairer()
    search = begin(plain([0.9, 0.0, -0.9]), np.zeros(3), 30)
    population = sample_population(search, repairer, np.random.default_rng(1))
    expected = sample(search.state, search.parameters, np.random.default_rng(1))
    np.testing.assert_array_equal(population.sampled, expected)
    assert len(population.repairs) == 30
    for x, r in zip(population.sampled, population.repairs, strict=True):
        np.testing.assert_allclose(r.x, np.clip(x, -1, 1), atol=1e-8)
    exact = np.sum((population.sampled - np.clip(population.sampled, -1, 1)) ** 2, axis=1) / 0.25
    np.testing.assert_allclose(population.distances_squared(), exact, atol=1e-6)
    assert len({r.kind for r in population.repairs}) >= 2


def test_update_uses_the_sampled_points_in_the_order_of_the_total_rank():
    repairer = box_repairer()
    search = replace(begin(plain([1.3, 0.0, -1.2]), np.zeros(3), 10), alpha=0.9)
    population = sample_population(search, repairer, np.random.default_rng(2))
    f = np.array([float(np.sum((r.x - 2) ** 2)) for r in population.repairs])
    f[3] = np.nan
    distances = population.distances_squared()

    def mid_rank(values, k: int) -> float:
        v = [math.inf if math.isnan(u) else u for u in values]
        return sum(u < v[k] for u in v) + sum(u == v[k] for u in v) / 2

    total = [mid_rank(f, k) + 0.9 * mid_rank(distances, k) for k in range(10)]
    order = sorted(range(10), key=total.__getitem__)
    after = advance(search, population, f, Settings())
    expected = update(search.state, search.parameters, population.sampled[order], "covariant")
    np.testing.assert_array_equal(after.distribution.mean, expected.distribution.mean)
    np.testing.assert_array_equal(after.distribution.factor, expected.distribution.factor)
    assert after.distribution.sigma == expected.distribution.sigma
    assert (after.alpha, after.d_m) == (search.alpha, search.d_m)
    # Not with the repaired points, nor in the order of f alone.
    repaired = np.array([r.x for r in population.repairs])
    for other in (population.sampled[np.argsort(f)], repaired[order]):
        wrong = update(search.state, search.parameters, other, "covariant")
        assert not np.array_equal(after.distribution.mean, wrong.distribution.mean)


def test_failed_candidates_rank_last_in_f():
    search = replace(begin(plain([0.0, 0.0, 0.0]), np.zeros(3), 6), alpha=1 / 6)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 3))
    repairs = tuple(
        Repair(RepairKind.FEASIBLE, v, 0.0, 0.0, 0.0, (), "none", 0)
        if k % 2
        else Repair(RepairKind.FAILED, v, 0.0, 1.0, np.inf, (), "none", 0)
        for k, v in enumerate(x)
    )
    f = np.array([np.nan, 3.0, np.nan, 1.0, np.nan, 2.0])
    after = advance(search, Population(x, repairs), f, Settings())
    expected = update(search.state, search.parameters, x[[3, 5, 1, 0, 2, 4]], "covariant")
    np.testing.assert_array_equal(after.distribution.mean, expected.distribution.mean)


VERTICES = {
    "planes": lambda x: [(x[0] + 0.1 * x[1], 1.1), (x[1] + 0.3 * x[2], 1.3), (x[2], 1.0)],
    "squares": lambda x: [((x[i] + 3) ** 2 + 0.1 * x[(i + 1) % 3], 16.1) for i in range(3)],
    "exponentials": lambda x: [(ca.exp(2 * x[i]), float(np.exp(2))) for i in range(3)],
}


@pytest.mark.parametrize("form", VERTICES)
@pytest.mark.parametrize("sigma", [0.3, 1e-3, 1e-5, 1e-7])
def test_samples_beyond_the_same_vertex_tie(form: str, sigma: float):
    """Their repaired points are identical; else rounding errors would rank them by f."""
    model = Model("vertex")
    x = model.variable("x", shape=3)
    for expression, high in VERTICES[form](x):
        model.subject_to(expression, upper=high)
    fs = compile_model(model)
    F = np.eye(3) + 0.2 * np.random.default_rng(0).standard_normal((3, 3))
    d = Distribution(1 + 3 * sigma * np.ones(3), sigma, F, np.linalg.inv(F))
    population = sample_population(
        begin(d, np.zeros(3), 20), Repairer(fs), np.random.default_rng(1)
    )
    beyond = [
        r
        for y, r in zip(population.sampled, population.repairs, strict=True)
        if np.all(fs.violations(y) > 0)
    ]
    assert len(beyond) >= 15
    assert all(r.kind is RepairKind.INTERSECTION for r in beyond)
    assert len({r.x.tobytes() for r in beyond}) == 1
    np.testing.assert_allclose(d.whiten(beyond[0].x - 1), 0.0, atol=1e-6 + 1e-13 / sigma)


def test_points_that_differ_are_kept_apart():
    repairer = box_repairer()
    search = begin(plain([0.0, 0.0, 2.0], 0.2), np.zeros(3), 20)
    population = sample_population(search, repairer, np.random.default_rng(3))
    assert len({r.x.tobytes() for r in population.repairs}) == 20
