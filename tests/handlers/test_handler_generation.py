"""Handlers generation by generation: samples, memories, working sets, and what is learned."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import Vector, box, isotropic, settings_of, wedge

from archeng import Model
from archeng.distribution import Distribution
from archeng.errors import GateError
from archeng.handlers import Handler, Population, Search, base
from archeng.handlers.base import RowSides
from archeng.handlers.lagrangian import success
from archeng.handlers.rank_based import mcr_fitness
from archeng.model import FeasibleSet, compile_model
from archeng.outcomes import Outcomes
from archeng.repair import Repairer, RepairKind
from archeng.runner.handlers import make_handler
from archeng.settings import HandlerName
from archeng.simulator import Gate


def handler_of(name: HandlerName, fs: FeasibleSet, **changes: Any) -> Handler:
    settings = settings_of(name, **changes)
    repairer = Repairer(fs, settings)
    wide = Distribution(np.zeros(fs.n), 1.0, np.eye(fs.n), np.eye(fs.n))
    return make_handler(repairer, repairer, settings, wide)


def few_samples(name: HandlerName) -> dict[str, Any]:
    return {"handler_options": {"max_samples": 10}} if name == "resampling" else {}


def bowl_at(points: Vector) -> Vector:
    return np.sum(np.asarray(points) ** 2, axis=1)


def objectives_of(population: Population, outside: bool) -> Vector:
    """What the runner would tell a handler: NaN for candidates that are not simulated."""
    values = bowl_at(np.array([r.x for r in population.repairs]))
    simulated = np.array([r.feasible or outside for r in population.repairs])
    return np.where(simulated, values, np.nan)


def play(
    handler: Handler, search: Search, generations: int, seed: int = 0
) -> list[tuple[Search, Population]]:
    """Generations on the bowl: the state that sampled, and its candidates."""
    rng, played = np.random.default_rng(seed), []
    for _ in range(generations):
        search, population = handler.ask(search, rng, None)
        played.append((search, population))
        search = handler.tell(
            search, population, Outcomes(objectives_of(population, handler.outside)), None, rng
        )
    played.append((search, population))
    return played


# -- resampling and death penalty ---------------------------------------------------------------


@pytest.mark.parametrize("limit", [8, 9, 20, 500])
@pytest.mark.parametrize("room", [0.0, 0.5, 2.0])
def test_never_more_samples_than_allowed(
    limit: int, room: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``room`` is the distance of the mean from a corner, in deviations."""
    drawn: list[bytes] = []
    original = base.as_sampled

    def counted(fs: FeasibleSet, x: Vector) -> Any:
        drawn.append(x.tobytes())
        return original(fs, x)

    monkeypatch.setattr(base, "as_sampled", counted)
    fs = compile_model(box(4, 4))
    handler = handler_of("resampling", fs, handler_options={"max_samples": limit})
    mean = np.full(4, 1.0 + room)
    search = handler.init(isotropic(mean), mean, 8)
    rng = np.random.default_rng(1)
    for _ in range(30):
        drawn.clear()
        search, population = handler.ask(search, rng, None)
        feasible = [r for r in population.repairs if r.feasible]
        assert len(set(drawn)) == len(drawn) <= limit
        assert len(population.repairs) == len(population.sampled) == 8
        assert all(fs.is_feasible(r.x) for r in feasible)
        if len(feasible) < 8:
            assert len(drawn) == limit
        else:
            assert fs.is_feasible(np.frombuffer(drawn[-1]))  # it stopped as soon as it could


def test_a_generation_is_never_smaller_than_the_population() -> None:
    fs = compile_model(box(3, 0))
    handler = handler_of("resampling", fs, handler_options={"max_samples": 1})
    search = handler.init(isotropic(np.zeros(3), 0.1), np.zeros(3), 9)
    _, population = handler.ask(search, np.random.default_rng(0), None)
    assert len(population.repairs) == 9


@pytest.mark.parametrize("name", ["resampling", "death-penalty"])
def test_infeasible_samples_fill_the_population_and_come_last(name: HandlerName) -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of(name, fs, **few_samples(name))
    mean = np.ones(2)
    search = handler.init(isotropic(mean), mean, 8)
    rng = np.random.default_rng(4)
    search, population = handler.ask(search, rng, None)
    kinds = [r.kind for r in population.repairs]
    assert set(kinds) == {RepairKind.FEASIBLE, RepairKind.UNREPAIRED}
    objectives = objectives_of(population, outside=False)
    learned = handler.tell(search, population, Outcomes(objectives), None, rng)
    expected = mean_of_best(search, population, np.where(np.isnan(objectives), np.inf, objectives))
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)


def test_a_generation_without_a_feasible_sample_is_a_random_step() -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of("death-penalty", fs)
    far = np.full(2, -50.0)
    search = handler.init(isotropic(far), np.full(2, 3.0), None)
    rng = np.random.default_rng(4)
    search, population = handler.ask(search, rng, None)
    assert {r.kind for r in population.repairs} == {RepairKind.UNREPAIRED}
    learned = handler.tell(
        search, population, Outcomes(np.full(len(population.repairs), np.nan)), None, rng
    )
    assert np.all(np.isfinite(learned.distribution.mean))
    assert learned.state.generation == 1


# -- ranking methods ----------------------------------------------------------------------------


def mean_of_best(search: Search, population: Population, loss: Vector) -> Vector:
    """The mean that CMA-ES moves to if the candidates are ordered by a loss."""
    p = search.parameters
    return p.weights @ population.sampled[np.argsort(loss, kind="stable")[: len(p.weights)]]


def test_stochastic_ranking_sums_the_squares_of_the_violations() -> None:
    fs = compile_model(wedge())
    handler = handler_of("stochastic-ranking", fs, handler_options={"ranking_probability": 0.0})
    mean = np.full(3, -1.0)
    search, rng = handler.init(isotropic(mean), mean, 40), np.random.default_rng(3)
    _, population = handler.ask(search, rng, None)
    violations = RowSides(fs).violations(population.sampled)
    assert np.all(np.sum(violations > 0, axis=1) >= 1)
    learned = handler.tell(search, population, Outcomes(np.arange(40.0)), None, rng)
    expected = mean_of_best(search, population, np.sum(violations**2, axis=1))
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)
    for other in (violations.sum(axis=1), violations.max(axis=1)):
        assert np.abs(mean_of_best(search, population, other) - expected).max() > 1e-3


def test_stochastic_ranking_uses_its_probability() -> None:
    fs = compile_model(wedge())
    handler = handler_of("stochastic-ranking", fs, handler_options={"ranking_probability": 1.0})
    mean = np.full(3, -1.0)
    search, rng = handler.init(isotropic(mean), mean, 12), np.random.default_rng(3)
    _, population = handler.ask(search, rng, None)
    learned = handler.tell(search, population, Outcomes(bowl_at(population.sampled)), None, rng)
    expected = mean_of_best(search, population, bowl_at(population.sampled))
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)


def test_mcr_orders_by_its_fitness() -> None:
    fs = compile_model(wedge())
    handler = handler_of("mcr", fs)
    mean = np.full(3, 0.8)
    search, rng = handler.init(isotropic(mean), mean, 12), np.random.default_rng(3)
    _, population = handler.ask(search, rng, None)
    objectives = bowl_at(population.sampled)
    objectives[4] = np.nan
    fitness = mcr_fitness(
        np.where(np.isnan(objectives), np.inf, objectives),
        RowSides(fs).violations(population.sampled),
    )
    learned = handler.tell(search, population, Outcomes(objectives), None, rng)
    expected = mean_of_best(search, population, fitness)
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)


# -- adaptive penalty for bounds ----------------------------------------------------------------


def at(search: Search, mean: Any, generation: int, sigma: float = 1.0) -> Search:
    """The search with another isotropic distribution, in some generation."""
    state = replace(search.state, distribution=isotropic(mean, sigma), generation=generation)
    return replace(search, state=state)


def weights_after(handler: Handler, search: Search, objectives: Vector) -> Search:
    population = handler.ask(search, np.random.default_rng(0), None)[1]
    return handler.tell(search, population, Outcomes(objectives), None, np.random.default_rng(0))


def test_candidates_are_clipped_and_cma_learns_from_the_samples() -> None:
    fs = compile_model(box(3, 3))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.ones(3)), np.ones(3), 12)
    rng = np.random.default_rng(0)
    _, population = handler.ask(search, rng, None)
    assert any(r.kind is RepairKind.NEAREST for r in population.repairs)
    for x, r in zip(population.sampled, population.repairs, strict=True):
        np.testing.assert_array_equal(r.x, np.clip(x, 1.0, 5.0))
        assert fs.is_feasible(r.x)
        assert r.active == tuple(np.flatnonzero((x < 1) | (x > 5)))
        assert r.distance_squared == pytest.approx(np.sum((x - r.x) ** 2))
    learned = handler.tell(
        search, population, Outcomes(np.arange(12.0)), None, rng
    )  # no weights: as sampled
    p = search.parameters
    expected = p.weights @ population.sampled[: len(p.weights)]
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)


def test_weights_are_set_when_the_mean_first_leaves_the_box_and_in_the_second_generation() -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.full(2, 3.0)), np.full(2, 3.0), 9)
    spread = np.arange(9.0)  # interquartile range 4
    inside = weights_after(handler, at(search, [3, 3], 0), spread)
    assert not inside.gamma.any()
    beyond = weights_after(handler, at(inside, [0.9, 3], 5, sigma=0.5), spread)
    np.testing.assert_allclose(beyond.gamma, 2 * 4 / 0.25)
    kept = weights_after(handler, at(beyond, [0.9, 3], 6, sigma=0.25), 9 * spread)
    np.testing.assert_allclose(kept.gamma, 2 * 4 / 0.25)
    again = weights_after(handler, at(beyond, [0.9, 3], 1, sigma=0.5), spread)
    np.testing.assert_allclose(again.gamma, 2 * 4 / 0.25)
    doubled = weights_after(handler, at(beyond, [0.9, 3], 1, sigma=0.25), spread)
    np.testing.assert_allclose(doubled.gamma, 2 * 4 / 0.0625)


def test_candidates_are_ordered_by_the_penalised_objective() -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.full(2, 3.0)), np.full(2, 3.0), 9)
    search = weights_after(handler, at(search, [0.9, 3], 4), np.arange(9.0))
    search, rng = at(search, [0.9, 1.2], 7), np.random.default_rng(0)
    _, population = handler.ask(search, rng, None)
    objectives = np.arange(9.0)[::-1].copy()
    outside = population.sampled - np.array([r.x for r in population.repairs])
    gamma = search.gamma
    loss = objectives + np.sum(gamma * outside**2, axis=1) / 2  # C = I, so the scaling is one
    learned = handler.tell(search, population, Outcomes(objectives), None, rng)
    np.testing.assert_array_equal(learned.gamma, gamma)
    expected = mean_of_best(search, population, loss)
    np.testing.assert_allclose(learned.distribution.mean, expected, rtol=1e-12)
    assert np.abs(mean_of_best(search, population, objectives) - expected).max() > 1e-3


def test_the_range_is_the_median_of_the_last_generations() -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.full(2, 3.0)), np.full(2, 3.0), 9)
    spread = np.arange(9.0)
    for k in range(40):
        search = weights_after(handler, at(search, [3, 3], k), spread * (100 if k < 30 else 1))
    assert len(search.ranges) == 20 + math.ceil(3 * 2 / 9)
    beyond = weights_after(handler, at(search, [0.9, 3], 40), spread)
    # the last 21 generations: 10 with a hundredfold range, 11 with the plain one
    np.testing.assert_allclose(beyond.gamma, 2 * 4)


def test_only_the_weights_of_coordinates_that_are_far_outside_grow() -> None:
    fs = compile_model(box(3, 3))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.full(3, 3.0)), np.full(3, 3.0), 10)
    search = weights_after(handler, at(search, [0.9, 3, 3], 4), np.arange(10.0))
    gamma = search.gamma
    far = weights_after(handler, at(search, [1 - 3.01, 1 - 2.99, 5 + 3.01], 5), np.arange(10.0))
    factor = 1.1 ** min(1.0, search.parameters.mu_eff / 30)
    np.testing.assert_allclose(far.gamma, gamma * [factor, 1, factor])


def test_failed_calls_neither_count_in_the_range_nor_win() -> None:
    fs = compile_model(box(2, 2))
    handler = handler_of("ap-bch", fs)
    search = handler.init(isotropic(np.full(2, 3.0)), np.full(2, 3.0), 9)
    objectives = np.append(np.nan, np.arange(8.0))
    learned = weights_after(handler, at(search, [3, 3], 0), objectives)
    np.testing.assert_allclose(learned.ranges, [3.5])
    none = weights_after(handler, at(search, [3, 3], 0), np.full(9, np.nan))
    assert len(none.ranges) == 0


# -- augmented Lagrangian -----------------------------------------------------------------------


def test_the_mean_is_the_last_candidate() -> None:
    fs = compile_model(wedge())
    handler = handler_of("al", fs)
    search = handler.init(isotropic(np.full(3, 2.0)), np.full(3, 2.0), 7)
    _, population = handler.ask(search, np.random.default_rng(0), None)
    assert len(population.sampled) == len(population.repairs) == 8
    np.testing.assert_array_equal(population.sampled[-1], search.distribution.mean)


def test_step_size_follows_the_median_success_rule() -> None:
    """Everything inside: the Lagrangian is f, so q and sigma follow from the two populations."""
    fs = compile_model(wedge())
    handler = handler_of("al", fs)
    mean = np.full(3, 2.3)
    search = handler.init(isotropic(mean, 1e-3), mean, 10)
    played = play(handler, search, 3)
    assert played[1][0].distribution.sigma == 1e-3  # nothing to compare with yet
    q = 0.0
    for k in (1, 2):
        now, before = (bowl_at(played[j][1].sampled[:-1]) for j in (k, k - 1))
        q = 0.7 * q + 0.3 * success(now, before)
        ratio = played[k + 1][0].distribution.sigma / played[k][0].distribution.sigma
        assert ratio == pytest.approx(math.exp(q / (2 - 2 / 3)))
        assert played[k + 1][0].q == pytest.approx(q)
    assert not played[-1][0].gamma.any()


def test_coefficients_are_adapted_at_the_mean() -> None:
    fs = compile_model(wedge())
    handler = handler_of("al", fs)
    mean = np.full(3, 0.9)  # both rows are violated by 0.3
    played = play(handler, handler.init(isotropic(mean, 0.05), mean, 8), 2)
    first, second = played[1][0], played[2][0]
    sides = RowSides(fs)
    names = [fs.rows[j].name for j in sides.sides.index]
    g0, g1 = (sides.values(played[k][0].distribution.mean[None])[0] for k in (0, 1))
    assert g0[names.index("steep")] == pytest.approx(0.3)
    assert not first.gamma.any()  # the first mean is no step
    np.testing.assert_array_equal(first.omega, 1)
    np.testing.assert_allclose(second.gamma, np.maximum(0, g1 / 5))
    assert set(np.round(np.log2(second.omega), 9)) <= {
        round(1 / 60, 9), round(-1 / 15, 9)
    }  # fmt: skip


def test_a_failed_mean_leaves_the_coefficients_alone() -> None:
    fs = compile_model(wedge())
    handler = handler_of("al", fs)
    mean = np.full(3, 0.9)
    search = play(handler, handler.init(isotropic(mean, 0.05), mean, 8), 3)[-1][0]
    rng = np.random.default_rng(9)
    search, population = handler.ask(search, rng, None)
    objectives = np.append(bowl_at(population.sampled[:-1]), np.nan)
    learned = handler.tell(search, population, Outcomes(objectives), None, rng)
    for key in ("gamma", "omega", "f_mean", "g_mean"):
        np.testing.assert_array_equal(getattr(learned, key), getattr(search, key))
    assert learned.state.generation == search.state.generation + 1


def test_a_candidate_with_an_undefined_row_ranks_last() -> None:
    """Otherwise the search would be drawn to where a formula has no value."""
    model = Model()
    x = model.variable("x", shape=2, start=1.0, scale=1.0)
    model.subject_to(ca.sqrt(x[0]) >= 0.5, name="root")
    fs = compile_model(model)
    handler = handler_of("al", fs)
    mean = np.array([0.3, 0.0])
    search = handler.init(isotropic(mean), mean, 12)
    rng = np.random.default_rng(2)
    search, population = handler.ask(search, rng, None)
    x0 = population.sampled[:-1, 0]
    assert 0 < np.sum(x0 < 0) <= 6  # at least the six that are learned from are defined
    learned = handler.tell(search, population, Outcomes(population.sampled[:, 0]), None, rng)
    assert x0[x0 >= 0].min() <= learned.distribution.mean[0]


# -- active-set strategy ------------------------------------------------------------------------


def parent_at(fs: FeasibleSet, x: Any, f: float, sigma: float = 1.0) -> Any:
    """An active-set handler whose parent is known."""
    handler = handler_of("active-set-es", fs)
    x = np.asarray(x, dtype=float)
    search = handler.init(isotropic(x, sigma), x, None)
    rng = np.random.default_rng(0)
    search, population = handler.ask(search, rng, None)
    assert population.repairs[0].x.tolist() == x.tolist()
    return handler, handler.tell(search, population, Outcomes(np.array([f])), None, rng)


def rows_held(fs: FeasibleSet, search: Search) -> set[str]:
    return {fs.rows[j].name for j in search.rows}


def test_the_start_is_the_first_candidate_and_its_limits_are_held() -> None:
    fs = compile_model(box(3, 2))
    _, search = parent_at(fs, [1.0, 1.0, 2.0], 6.0)
    assert rows_held(fs, search) == {"bounds of x[0]", "bounds of x[1]"}
    assert search.n_active == 2
    assert search.sides.tolist() == [-1.0, -1.0]


def test_every_second_offspring_keeps_all_held_limits() -> None:
    fs = compile_model(box(3, 2))
    handler, search = parent_at(fs, [1.0, 1.0, 2.0], 6.0)
    rng = np.random.default_rng(1)
    for generation in range(1, 21):
        search = replace(search, state=replace(search.state, generation=generation))
        search, population = handler.ask(search, rng, None)
        offspring = population.repairs[0]
        assert fs.is_feasible(offspring.x)
        kept = np.abs(offspring.x[:2] - 1.0) < 1e-8
        if search.suspended:
            assert generation % 2 == 1
            assert kept.sum() >= 1  # one limit at a time is suspended
        else:
            assert generation % 2 == 0
            assert kept.all()


def test_a_better_offspring_is_the_parent_and_its_limits_join() -> None:
    fs = compile_model(box(2, 2))
    handler, search = parent_at(fs, [1.5, 3.0], 11.25)
    assert rows_held(fs, search) == set()
    rng = np.random.default_rng(0)
    for _ in range(50):
        search, population = handler.ask(search, rng, None)
        x = population.repairs[0].x
        better = x[0] == 1.0 and x[1] > 1.0
        after = handler.tell(
            search, population, Outcomes(np.array([5.0 if better else 99.0])), None, rng
        )
        if better:
            assert rows_held(fs, after) == {"bounds of x[0]"}
            assert after.objective == 5.0
            np.testing.assert_array_equal(after.anchor, x)
            np.testing.assert_array_equal(after.distribution.mean, x)
            assert after.distribution.sigma > search.distribution.sigma
            return
        np.testing.assert_array_equal(after.anchor, search.anchor)
        assert after.objective == 11.25
        assert after.distribution.sigma < search.distribution.sigma
    raise AssertionError("no offspring reached the bound")


def test_suspended_offspring_change_the_step_size_less() -> None:
    """Two limits are held in three dimensions: one dimension is left."""
    fs = compile_model(box(3, 2))
    handler, start = parent_at(fs, [1.0, 1.0, 2.0], 6.0)
    rng, seen = np.random.default_rng(1), set()
    for generation in (1, 2, 3, 4):
        search = replace(start, state=replace(start.state, generation=generation))
        search, population = handler.ask(search, rng, None)
        suspended = search.suspended
        seen.add(suspended)
        for value, sign in (99.0, -0.2), (1.0, 0.8):
            after = handler.tell(search, population, Outcomes(np.array([value])), None, rng)
            change = math.log(after.distribution.sigma / search.distribution.sigma)
            assert change == pytest.approx(sign / math.sqrt(2) / (2 if suspended else 1))
    assert seen == {True, False}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_offspring_without_a_result_are_not_accepted(value: float) -> None:
    fs = compile_model(box(2, 0))
    handler, search = parent_at(fs, [2.0, 2.0], 8.0)
    rng = np.random.default_rng(0)
    search, population = handler.ask(search, rng, None)
    after = handler.tell(search, population, Outcomes(np.array([value])), None, rng)
    np.testing.assert_array_equal(after.anchor, [2.0, 2.0])
    assert after.objective == 8.0


def test_a_parent_without_a_result_is_replaced_by_the_first_that_has_one() -> None:
    fs = compile_model(box(2, 0))
    handler, search = parent_at(fs, [2.0, 2.0], np.nan)
    rng = np.random.default_rng(0)
    search, population = handler.ask(search, rng, None)
    search = handler.tell(search, population, Outcomes(np.array([7.0])), None, rng)
    assert search.objective == 7.0
    np.testing.assert_array_equal(search.anchor, population.repairs[0].x)


# -- the gate -----------------------------------------------------------------------------------


def test_an_open_gate_measures_instead_of_refusing() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=5)
    c = model.variable("c", lower=2, upper=2)
    model.subject_to(ca.sqrt(x[0]) + c * x[1] <= 4, name="root")
    fs = compile_model(model)
    shut, ajar = Gate(fs), Gate(fs, open_to_all=True)
    assert ajar.check(np.array([1.0, 1.0, 2.0])) == shut.check(np.array([1.0, 1.0, 2.0])) == 0
    for point, violation in ([4.0, 1.5, 2.0], 1.0), ([-1.0, 1.0, 2.0], np.inf):
        assert ajar.check(np.array(point)) == violation
        with pytest.raises(GateError):
            shut.check(np.array(point))
    for gate in (shut, ajar):
        with pytest.raises(GateError, match="fixed"):
            gate.check(np.array([1.0, 1.0, 3.0]))
