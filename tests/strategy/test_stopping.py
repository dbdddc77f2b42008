"""Each stopping test is triggered by a constructed state or history, and by nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from archeng.distribution import Distribution, initial_distribution
from archeng.settings import Settings
from archeng.strategy import (
    History,
    Parameters,
    State,
    StopReason,
    default_parameters,
    initial_state,
    sample,
    stop_reasons,
    update,
)

N = 4
P = default_parameters(N)
INITIAL_SIGMA = 1.0


def state_of(
    mean=None, sigma: float = 1.0, factor=None, generation: int = 10, p_c=None, n: int = N
) -> State:
    """A state that began with C = I and now has the given factor."""
    mean = np.zeros(n) if mean is None else np.asarray(mean, dtype=float)
    factor = np.eye(n) if factor is None else np.asarray(factor, dtype=float)
    begun = initial_state(Distribution(mean, 1.0, np.eye(n), np.eye(n)))
    _, singular, axes = np.linalg.svd(factor)
    return replace(
        begun,
        distribution=Distribution(mean, sigma, factor, np.linalg.inv(factor)),
        eigenvalues=singular[::-1] ** 2,
        axes=axes[::-1],
        generation=generation,
        p_c=np.zeros(n) if p_c is None else np.asarray(p_c, dtype=float),
    )


def history_of(best, spread: float = 1.0) -> History:
    """A history with the given best values; the population lies ``spread`` above."""
    history = History()
    for b in best:
        history = history.add(b + spread * np.arange(P.population_size))
    return history


def falling(k: int = 50) -> list[float]:
    return [1000.0 * 0.9**i for i in range(k)]


def reasons(
    state: State, history: History, p: Parameters = P, settings: Settings | None = None
) -> list[StopReason]:
    return stop_reasons(state, p, history, INITIAL_SIGMA, settings or Settings())


def test_healthy_state_has_no_reason_to_stop():
    assert reasons(state_of(), history_of(falling())) == []
    assert reasons(state_of(), History()) == []


@pytest.mark.parametrize(("n", "lam"), [(2, None), (4, None), (10, 40)])
def test_healthy_run_has_no_reason_to_stop(n: int, lam: int | None):
    p = default_parameters(n, lam)
    d = initial_distribution(np.ones(n), np.ones(n))
    state, history = initial_state(d), History()
    rng = np.random.default_rng(1)
    for _ in range(40):
        x = sample(state, p, rng)
        values = np.sum(x**2, axis=1)
        state = update(state, p, x[np.argsort(values)], "covariant")
        history = history.add(values)
        assert stop_reasons(state, p, history, d.sigma, Settings()) == []


@pytest.mark.parametrize(("n", "lam"), [(2, 6), (4, 8), (10, 100)])
def test_max_iterations(n: int, lam: int):
    p = default_parameters(n, lam)
    limit = 100 + 50 * (n + 3) ** 2 / math.sqrt(lam)
    history = history_of(falling())
    assert reasons(state_of(generation=math.ceil(limit) - 1, n=n), history, p) == []
    found = reasons(state_of(generation=math.ceil(limit), n=n), history, p)
    assert found == [StopReason.MAX_ITERATIONS]


@pytest.mark.parametrize("lam", [4, 8, 60])
def test_tol_objective(lam: int):
    p = default_parameters(N, lam)
    window = 10 + math.ceil(30 * N / lam)
    flat = [5.0 + 1e-13 * (i % 3) for i in range(window)]
    assert reasons(state_of(), history_of(flat), p) == [StopReason.TOL_OBJECTIVE]
    assert reasons(state_of(), history_of(flat[1:]), p) == []
    assert reasons(state_of(), history_of([6.0, *flat[1:]]), p) == []
    assert reasons(state_of(), history_of([6.0, *flat]), p) == [StopReason.TOL_OBJECTIVE]


def test_tol_objective_is_a_setting():
    history = history_of([5.0 + 1e-4 * (i % 2) for i in range(40)])
    assert reasons(state_of(), history) == []
    loose = Settings(tol_objective=1e-3)
    assert reasons(state_of(), history, settings=loose) == [StopReason.TOL_OBJECTIVE]


def test_equal_objectives():
    """Best and k-th best equal, k = 1 + ceil(0.1 + lambda / 4), in a third of the generations."""
    lam = P.population_size
    k = 1 + math.ceil(0.1 + lam / 4)

    def run(equal_generations: int, tied: int) -> list[StopReason]:
        history = History()
        for i in range(30):
            values = falling(30)[i] + np.arange(lam, dtype=float)
            if i >= 30 - equal_generations:
                values[:tied] = values[0]
            history = history.add(np.random.default_rng(i).permutation(values))
        return reasons(state_of(), history)

    assert run(10, k) == [StopReason.EQUAL_OBJECTIVES]
    assert run(4, k) == [StopReason.EQUAL_OBJECTIVES]
    assert run(1, k) == []
    assert run(10, k - 1) == []


def test_generations_without_any_success_are_not_flat_but_stagnate():
    history = History()
    for _ in range(100):
        history = history.add(np.full(P.population_size, np.nan))
    assert reasons(state_of(), history) == []
    for _ in range(100):
        history = history.add(np.full(P.population_size, np.nan))
    assert reasons(state_of(), history) == [StopReason.STAGNATION]


def test_failed_candidates_count_as_infinitely_bad():
    history = History()
    history = history.add(np.array([3.0, np.nan, 1.0, np.nan, 2.0, 4.0, 5.0, 6.0]))
    assert history.last(1) == [(1.0, 4.5, False)]


def test_candidates_repaired_to_one_point_do_not_make_a_generation_flat():
    """Ties between candidates with the same design say nothing of the objective."""
    values = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    history = History()
    history = history.add(values)
    history = history.add(values, distinct=[0, 5, 6, 7])
    history = history.add(values, distinct=[0, 1, 2, 3, 5])
    assert history.last(3) == [(1.0, 1.0, True), (1.0, 1.0, False), (1.0, 1.0, True)]


def test_tol_x_needs_small_deviations_and_a_small_path():
    history = history_of(falling())
    assert reasons(state_of(sigma=0.9e-12), history) == [StopReason.TOL_X]
    assert reasons(state_of(sigma=1.1e-12), history) == []
    # One long axis, or a long path, is enough to go on.
    long_axis = np.diag([1.0, 1.0, 1.0, 10.0])
    assert reasons(state_of(sigma=0.9e-12, factor=long_axis), history) == []
    assert reasons(state_of(sigma=0.9e-12, p_c=[0, 0, 5.0, 0]), history) == []
    loose = Settings(tol_x=1e-3)
    assert reasons(state_of(sigma=0.9e-3), history, settings=loose) == [StopReason.TOL_X]


def test_tol_x_is_relative_to_the_initial_deviation():
    history = history_of(falling())
    state = state_of(sigma=1e-10)
    assert stop_reasons(state, P, history, 1e3, Settings()) == [StopReason.TOL_X]
    assert stop_reasons(state, P, history, 1.0, Settings()) == []


def test_tol_up_sigma():
    history = history_of(falling())
    assert reasons(state_of(sigma=2e20), history) == [StopReason.TOL_UP_SIGMA]
    assert reasons(state_of(sigma=5e19), history) == []
    assert reasons(state_of(sigma=2e20, factor=10 * np.eye(N)), history) == []


def stagnating(k: int, trend: float = 0.0) -> History:
    """Best and median fluctuate by about one, with a trend over the whole history."""
    rng = np.random.default_rng(3)
    return history_of([100.0 + rng.random() + trend * i / k for i in range(k)])


def test_stagnation():
    least = math.ceil(120 + 30 * N / P.population_size)
    found = reasons(state_of(), stagnating(least + 5, trend=1.0))
    assert found == [StopReason.STAGNATION]
    assert reasons(state_of(), stagnating(least + 5, trend=-5.0)) == []
    assert reasons(state_of(), stagnating(least - 5, trend=1.0)) == []


def test_stagnation_looks_at_the_last_fifth_of_a_long_history():
    k = 2000
    falls_then_stays = [1000.0 - i for i in range(k // 2)]
    rng = np.random.default_rng(5)
    falls_then_stays += [float(v) for v in rng.random(k // 2) + 0.001 * np.arange(k // 2)]
    assert reasons(state_of(), history_of(falls_then_stays)) == [StopReason.STAGNATION]
    assert reasons(state_of(), history_of([2000.0 - 0.5 * i for i in range(k)])) == []


def test_stagnation_needs_both_best_and_median():
    history = History()
    rng = np.random.default_rng(6)
    for i in range(200):
        # The best stagnates while the median still improves.
        values = 1000.0 - i + np.arange(P.population_size)
        values[0] = rng.random() + 0.01 * i
        history = history.add(values)
    assert reasons(state_of(), history) == []


def test_condition():
    history = history_of(falling())
    assert reasons(state_of(factor=np.diag([1, 1, 1, 2e7])), history) == [StopReason.CONDITION]
    assert reasons(state_of(factor=np.diag([1, 1, 1, 0.5e7])), history) == []
    tight = Settings(max_condition=100.0)
    wide = np.diag([1.0, 1.0, 1.0, 11.0])
    assert reasons(state_of(factor=wide), history, settings=tight) == [StopReason.CONDITION]


def test_units_of_variables_do_not_count_as_ill_conditioning():
    units = np.array([1e-9, 1.0, 1e3, 1e9])
    state = initial_state(initial_distribution(units, units))
    d = state.distribution
    history = history_of(falling())
    rng = np.random.default_rng(3)
    for _ in range(20):
        assert stop_reasons(state, P, history, d.sigma, Settings()) == []
        x = sample(state, P, rng)
        order = np.argsort(np.sum((x / units) ** 2, axis=1))
        state = update(state, P, x[order], "covariant")


def test_no_effect_axis():
    """The axis is the one of index generation mod n; only its turn triggers the test."""
    history = history_of(falling())
    q, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((N, N)))
    factor = (q * np.array([1e-5, 1.0, 2.0, 3.0])) @ q.T
    mean = np.full(N, 1e13)
    # A tenth of a deviation along the shortest axis: about 1e-6, lost beside 1e13; along a
    # coordinate a fifth of a deviation is about 0.2, far more than the spacing 0.002 there.
    found = [reasons(state_of(mean=mean, factor=factor, generation=t), history) for t in range(N)]
    assert found == [[StopReason.NO_EFFECT_AXIS], [], [], []]


def test_no_effect_coordinate():
    history = history_of(falling())
    # The mean's third coordinate is huge: 0.2 is lost in it, but not in the others. At this
    # generation the axis tested is another one.
    state = state_of(mean=[1.0, 1.0, 1e18, 1.0], generation=0)
    assert reasons(state, history) == [StopReason.NO_EFFECT_COORDINATE]
    assert reasons(state_of(mean=[1.0, 1.0, 1e14, 1.0], generation=0), history) == []


def test_several_reasons_come_in_a_fixed_order():
    history = history_of([1.0] * 300, spread=0.0)
    state = state_of(mean=np.full(N, 1.0), sigma=1e-30, generation=10_000)
    assert reasons(state, history) == [
        StopReason.MAX_ITERATIONS,
        StopReason.TOL_OBJECTIVE,
        StopReason.EQUAL_OBJECTIVES,
        StopReason.TOL_X,
        StopReason.STAGNATION,
        StopReason.NO_EFFECT_AXIS,
        StopReason.NO_EFFECT_COORDINATE,
    ]
    assert reasons(state, history, settings=Settings(stop_tests=False)) == []


@pytest.mark.parametrize(
    "state",
    [
        state_of(generation=10**6),
        state_of(sigma=1e-20),
        state_of(sigma=1e30),
        state_of(factor=np.diag([1, 1, 1, 1e9])),
        state_of(mean=np.full(N, 1e30)),
    ],
)
def test_stop_tests_can_be_switched_off(state: State):
    assert reasons(state, history_of(falling())) != []
    assert reasons(state, history_of(falling()), settings=Settings(stop_tests=False)) == []


def test_stop_tests_work_in_one_dimension():
    p = default_parameters(1)
    assert stop_reasons(state_of(n=1), p, history_of(falling()), 1.0, Settings()) == []
    small = state_of(n=1, sigma=1e-13, mean=[1e-3])
    found = stop_reasons(small, p, history_of(falling()), 1.0, Settings())
    assert found == [StopReason.TOL_X]


def test_a_converging_run_stops_for_a_good_reason():
    n = 3
    p = default_parameters(n)
    d = initial_distribution(np.ones(n), np.ones(n))
    state, history = initial_state(d), History()
    rng = np.random.default_rng(1)
    found: list[StopReason] = []
    while not found:
        x = sample(state, p, rng)
        values = 7.0 + np.sum(x**2, axis=1)
        state = update(state, p, x[np.argsort(values)], "covariant")
        history = history.add(values)
        found = stop_reasons(state, p, history, d.sigma, Settings())
    assert found[0] is StopReason.TOL_OBJECTIVE
    assert history.last(1)[0].best - 7.0 < 1e-10
    assert state.generation < 200


def test_a_search_with_nothing_to_simulate_ends_even_without_stop_tests() -> None:
    settings = Settings(stop_tests=False)
    history = History()
    for _ in range(999):
        history = history.add(np.full(P.population_size, np.nan))
    assert stop_reasons(state_of(), P, history, 1.0, settings) == []
    history = history.add(np.full(P.population_size, np.nan))
    assert stop_reasons(state_of(), P, history, 1.0, settings) == [StopReason.NOTHING_TO_SIMULATE]
    history = history.add(np.append(1.0, np.full(P.population_size - 1, np.nan)))
    assert stop_reasons(state_of(), P, history, 1.0, settings) == []


def test_many_failures_do_not_hide_progress_from_the_stagnation_test() -> None:
    history = History()
    for t in range(400):
        failed = t % 5 < 3
        history = history.add(np.full(P.population_size, np.nan if failed else 1.0 / (1 + t)))
    assert StopReason.STAGNATION not in reasons(state_of(), history)


def test_a_history_is_not_changed_by_those_that_follow_it() -> None:
    first = History().add(np.array([3.0, 4.0]))
    left, right = first.add(np.array([2.0, 5.0])), first.add(np.array([1.0, 9.0]))
    assert [g.best for g in first.last(9)] == [3.0]
    assert [g.best for g in left.last(9)] == [3.0, 2.0]
    assert [g.best for g in right.last(9)] == [3.0, 1.0]
    assert [g.best for g in left.add(np.array([0.0, 1.0])).last(2)] == [2.0, 0.0]
    assert History.of(left.last(2)).last(9) == left.last(9)
    assert (History().size, first.size, left.size) == (0, 1, 2)
