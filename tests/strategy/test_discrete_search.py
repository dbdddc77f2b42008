"""The search over real, ordered and unordered coordinates together, without constraints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from archeng.codec import decode, dumps, loads
from archeng.distribution import Distribution, distribution_from_covariance, initial_distribution
from archeng.model.lattice import Lattice
from archeng.settings import Settings
from archeng.strategy import (
    History,
    State,
    StopReason,
    default_parameters,
    default_population_size,
    initial_state,
    sample,
    stop_reasons,
    update,
)
from archeng.strategy.margin import tail, two_sided_margin

SECTIONS = np.array([1.62, 1.8, 2.38, 5.74, 13.5, 33.5])


def lattice(n: int, discrete: dict[int, tuple[np.ndarray, bool]]) -> Lattice:
    """Coordinates of n that are discrete: by position, the levels and whether they are ordered."""
    positions = sorted(discrete)
    return Lattice(
        n,
        np.array(positions, dtype=np.intp),
        tuple(np.asarray(discrete[p][0], dtype=float) for p in positions),
        np.array([discrete[p][1] for p in positions], dtype=bool),
    )


# a category, a real number, an integer, a section, another category, a real number, a binary
MIXED = lattice(
    7,
    {
        0: (np.arange(4), False),
        2: (np.arange(-6, 7), True),
        3: (SECTIONS, True),
        4: (np.arange(3), False),
        6: (np.arange(2), True),
    },
)
START = np.array([3.0, 2.0, 4.0, 13.5, 0.0, -1.0, 0.0])
DEVIATIONS = np.array([1.0, 1.5, 2.4, 6.0, 1.0, 0.1, 0.2])


class Searched:
    """A search that is told the order of a function of decoded designs."""

    def __init__(self, start: Distribution, space: Lattice, seed: int = 0, size: int | None = None):
        self.space, self.rng, self.start = space, np.random.default_rng(seed), start
        size = size or default_population_size(space.n)
        self.state = initial_state(start, space)
        self.parameters = default_parameters(max(self.state.distribution.n, 1), size)
        self.history, self.best, self.x = History(), math.inf, np.zeros((0, space.n))

    def generation(self, f) -> None:
        self.x = sample(self.state, self.parameters, self.rng)
        designs = self.space.decode(self.x)
        values = np.array([f(design) for design in designs])
        self.best = min(self.best, float(values.min()))
        order = np.argsort(values, kind="stable")
        self.best_designs = designs[order[: len(self.parameters.weights)]]
        self.state = update(self.state, self.parameters, self.x[order], "covariant")
        _, distinct = np.unique(designs, axis=0, return_index=True)
        self.history = self.history.add(values, sorted(distinct.tolist()))

    def reasons(self, **settings) -> list[StopReason]:
        sigma = self.start.sigma
        return stop_reasons(self.state, self.parameters, self.history, sigma, Settings(**settings))


def mixed_objective(x: np.ndarray) -> float:
    """Best at row 1, 0.3, -2, 2.38, row 2, 0.7, 1; the real optimum depends on nothing else."""
    numbers = (x[1] - 0.3) ** 2 + 100 * (x[5] - 0.7) ** 2
    steps = (x[2] + 2) ** 2 + math.log(x[3] / 2.38) ** 2 + (x[6] - 1) ** 2
    return float(numbers + steps + (x[0] != 1) + (x[4] != 2))


def begun(seed: int = 0) -> Searched:
    return Searched(initial_distribution(START, DEVIATIONS), MIXED, seed)


def test_without_discrete_coordinates_the_distribution_is_the_sampled_one():
    state = initial_state(initial_distribution(np.zeros(3), np.ones(3)))
    assert state.sampled is state.distribution
    assert (state.discrete, state.sampled.change_costs) == (None, None)


def test_candidates_have_categories_at_rows_and_the_rest_of_the_normal_distribution():
    search = begun()
    for _ in range(15):
        search.generation(mixed_objective)
    x = sample(search.state, default_parameters(5, 4000), np.random.default_rng(1))
    metric = search.state.sampled
    numeric = MIXED.numeric
    z = metric.whiten(x - metric.mean)[:, numeric]
    assert np.abs(z.mean(axis=0)).max() < 0.1
    assert np.abs(np.cov(z.T) - np.eye(len(numeric))).max() < 0.15
    for at, levels in search.state.discrete.unordered:
        assert set(np.unique(x[:, at])) <= set(levels)
        rows = np.bincount(x[:, at].astype(int), minlength=len(levels)) / len(x)
        costs = metric.change_costs[at]
        np.testing.assert_allclose(rows, np.exp(-costs / 2), atol=0.04)


def test_the_metric_of_repairs_has_categories_apart_with_deviation_one():
    search = begun()
    for _ in range(5):
        search.generation(mixed_objective)
    d = search.state.sampled
    assert sorted(d.change_costs) == [0, 4]
    np.testing.assert_allclose(d.factor @ d.inverse_factor, np.eye(7), atol=1e-12)
    covariance = d.sigma**2 * d.covariance
    for at in (0, 4):
        expected = np.zeros(7)
        expected[at] = 1
        np.testing.assert_allclose(covariance[at], expected, atol=1e-12)
        assert d.mean[at] == np.argmin(d.change_costs[at])


def test_the_first_mean_is_the_start_also_of_categories():
    state = begun().state
    np.testing.assert_array_equal(MIXED.decode(state.sampled.mean), START)
    for at in (0, 4):
        assert np.ptp(state.sampled.change_costs[at]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_every_level_next_to_the_mean_and_every_row_keeps_its_margin(seed: int):
    search, margin = begun(seed), two_sided_margin(5)
    for _ in range(250):
        search.generation(mixed_objective)
        d, discrete = search.state.distribution, search.state.discrete
        for at, levels in discrete.stepped:
            scale = d.sigma * np.linalg.norm(d.factor[at]) * discrete.spread[at]
            ends = (levels[1:] + levels[:-1]) / 2
            k = int(np.searchsorted(ends, d.mean[at], side="right"))
            below = tail((d.mean[at] - ends[k - 1]) / scale) if k > 0 else None
            above = tail((ends[k] - d.mean[at]) / scale) if k < len(ends) else None
            sides = [p for p in (below, above) if p is not None]
            assert min(sides) >= margin / len(sides) * (1 - 1e-6)
        for q in discrete.categories.probabilities:
            assert q.min() >= margin / (len(q) - 1) * (1 - 1e-9)
    assert search.best < 1e-6  # and the real coordinates converge all the same


def test_mutation_rates_grow_only_if_a_best_candidate_has_mutated():
    search, grown, held = begun(), 0, 0
    steps = [2, 3, 6]  # the ordered coordinates
    for _ in range(120):
        before = search.state
        search.generation(mixed_objective)
        level = MIXED.decode(before.sampled.mean)[steps]
        success = np.any(search.best_designs[:, steps] != level, axis=0)
        change = search.state.discrete.rates - before.discrete.rates
        assert np.all(change[~success] <= 1e-12)
        grown, held = grown + np.sum(change > 1e-6), held + np.sum(~success)
    assert min(grown, held) > 20


def test_real_coordinates_may_be_mapped_by_any_matrix():
    """With the start mapped too, candidates are mapped, and discrete parts stay the same."""
    rng = np.random.default_rng(5)
    real = MIXED.continuous
    T, shift = rng.standard_normal((2, 2)) * [[100], [0.01]], np.array([5.0, -2.0])
    whole = np.eye(7)
    whole[np.ix_(real, real)] = T
    a = begun(3)
    d = a.start
    mean = d.mean.copy()
    mean[real] = T @ d.mean[real] + shift
    inverse = d.inverse_factor @ np.linalg.inv(whole)
    b = Searched(Distribution(mean, d.sigma, whole @ d.factor, inverse), MIXED, 3)

    def mapped_back(x: np.ndarray) -> np.ndarray:
        y = x.copy()
        y[real] = np.linalg.solve(T, x[real] - shift)
        return y

    for _ in range(40):
        a.generation(mixed_objective)
        b.generation(lambda x: mixed_objective(mapped_back(x)))
        np.testing.assert_allclose(
            np.array([mapped_back(x) for x in b.x]), a.x, rtol=1e-6, atol=1e-6
        )
        np.testing.assert_allclose(b.state.discrete.rates, a.state.discrete.rates, rtol=1e-6)
        np.testing.assert_allclose(b.state.eigenvalues, a.state.eigenvalues, rtol=1e-5)
    assert a.best < 2  # the categories, at least, are found


def test_increasing_transforms_of_the_objective_change_nothing():
    a, b = begun(7), begun(7)
    for _ in range(40):
        a.generation(mixed_objective)
        b.generation(lambda x: math.atan(mixed_objective(x)) ** 3)
        np.testing.assert_array_equal(a.x, b.x)


def test_the_numbers_of_a_choice_may_have_any_unit():
    """Levels, start and deviations in another unit: the same levels are chosen."""
    a, unit = begun(2), 1000.0
    levels = tuple(v * unit if i == 2 else v for i, v in enumerate(MIXED.levels))
    other = Lattice(7, MIXED.positions, levels, MIXED.ordered)
    scale = np.ones(7)
    scale[3] = unit
    b = Searched(initial_distribution(START * scale, DEVIATIONS * scale), other, 2)
    for _ in range(40):
        a.generation(mixed_objective)
        b.generation(lambda x: mixed_objective(x / scale))
        np.testing.assert_array_equal(MIXED.indices(a.x), other.indices(b.x))


def test_only_categories():
    """No normal distribution at all: the search is that of the rows."""
    space = lattice(6, {i: (np.arange(5), False) for i in range(6)})
    found = 0
    for seed in range(5):
        search = Searched(initial_distribution(np.zeros(6), np.ones(6)), space, seed)
        assert search.state.distribution.n == 0
        for _ in range(300):
            search.generation(lambda x: float(np.sum(x != 3)))
            assert search.state.sampled.n == 6
            if reasons := search.reasons():
                break
        assert reasons == [StopReason.TOL_OBJECTIVE]
        found += search.best == 0
    assert found == 5


@pytest.mark.parametrize("n", [4, 12])
def test_one_max_is_solved_and_then_the_search_stops(n: int):
    space = lattice(n, {i: (np.array([0.0, 1.0]), True) for i in range(n)})
    for seed in range(4):
        start = initial_distribution(np.zeros(n), np.full(n, 0.2))
        search = Searched(start, space, seed)
        for _ in range(400):
            search.generation(lambda x: float(np.sum(1 - x)))
            if reasons := search.reasons():
                break
        assert reasons == [StopReason.TOL_OBJECTIVE]
        assert search.best == 0
        assert search.history.size < 150


@pytest.mark.parametrize("n", [4, 10])
def test_integer_sphere_is_solved(n: int):
    """Half of the coordinates real: these converge as far as without the integers."""
    space = lattice(n, {i: (np.arange(-10.0, 11.0), True) for i in range(n // 2, n)})
    for seed in range(3):
        search = Searched(initial_distribution(np.full(n, 6.0), np.full(n, 4.0)), space, seed)
        for _ in range(1500):
            search.generation(lambda x: float(x @ x))
            if search.best < 1e-10:
                break
        assert search.history.size < 60 * n


def test_step_sizes_of_real_coordinates_alone_end_a_search():
    """The integers go on for ever; C of theirs says nothing about ill-conditioning."""
    space = lattice(4, {2: (np.arange(9.0), True), 3: (np.arange(2.0), True)})
    search = Searched(initial_distribution(np.full(4, 4.0), np.full(4, 2.0)), space, 1)
    for _ in range(2000):
        search.generation(lambda x: float(x @ x))
        scale = search.state.sampled.scaled_factor
        if np.linalg.norm(scale[:2]) < 1e-6:
            break
    assert StopReason.TOL_X not in search.reasons(tol_x=1e-9)
    assert StopReason.TOL_X in search.reasons(tol_x=1e-4)
    assert len(search.state.eigenvalues) == 2
    stretched = search.state.eigenvalues[-1] / search.state.eigenvalues[0]
    assert (StopReason.CONDITION in search.reasons(max_condition=stretched * 0.9)) is True
    assert (StopReason.CONDITION in search.reasons(max_condition=stretched * 1.1)) is False
    assert np.linalg.norm(scale[3]) > 0.05  # the binary is still sampled


def test_equal_objectives_of_different_designs_do_not_end_a_search():
    space = lattice(3, {i: (np.arange(50.0), True) for i in range(3)})
    search = Searched(initial_distribution(np.full(3, 25.0), np.full(3, 10.0)), space, 0)
    for _ in range(12):
        search.generation(lambda x: 1.0)
    assert search.history.last(1)[0].flat
    assert StopReason.EQUAL_OBJECTIVES not in search.reasons()


def test_the_state_is_stored_and_read_back_bit_by_bit():
    search = begun()
    for _ in range(8):
        search.generation(mixed_objective)
    again = decode(State, loads(dumps(search.state)))
    p, rng = search.parameters, np.random.default_rng
    np.testing.assert_array_equal(sample(again, p, rng(2)), sample(search.state, p, rng(2)))
    x = sample(again, p, rng(2))
    a, b = update(again, p, x, "covariant"), update(search.state, p, x, "covariant")
    assert dumps(a) == dumps(b)


def test_a_metric_is_stored_and_read_back():
    metric = begun().state.sampled
    again = decode(Distribution, loads(dumps(metric)))
    assert sorted(again.change_costs) == sorted(metric.change_costs)
    np.testing.assert_array_equal(again.change_costs[4], metric.change_costs[4])


def test_a_correlated_start_gives_its_marginal_to_the_numeric_coordinates():
    space = lattice(3, {1: (np.arange(4), False)})
    covariance = np.array([[4.0, 0.5, 1.0], [0.5, 1.0, 0.3], [1.0, 0.3, 2.0]])
    state = initial_state(distribution_from_covariance(np.zeros(3), covariance), space)
    d = state.distribution
    np.testing.assert_allclose(d.sigma**2 * d.covariance, covariance[np.ix_([0, 2], [0, 2])])
    np.testing.assert_allclose(d.factor @ d.inverse_factor, np.eye(2), atol=1e-12)


def test_a_late_discovery_of_a_better_level_moves_the_mean():
    """The integers matter only when the real coordinates have converged, and A is large."""
    n, half = 6, 3
    space = lattice(n, {i: (np.array([0.0, 1.0]), True) for i in range(half, n)})
    start = initial_distribution(np.r_[np.full(half, 3.0), np.zeros(half)], np.full(n, 0.5))
    for seed in range(3):
        search = Searched(start, space, seed)
        while search.history.size < 400 and search.best > 1e-10:
            search.generation(lambda x: float(x[:half] @ x[:half] + 1e-8 * np.sum(1 - x[half:])))
        assert search.best <= 1e-10
        np.testing.assert_array_equal(space.decode(search.state.sampled.mean)[half:], 1.0)


def test_a_purely_discrete_search_goes_on_for_ever():
    """Nothing over- or underflows: after thousands of generations levels are still tried."""
    space = lattice(2, {0: (SECTIONS, True), 1: (np.arange(4.0), True)})
    search = Searched(initial_distribution(np.array([13.5, 1.0]), np.ones(2)), space)
    for _ in range(3000):
        search.generation(lambda x: float(abs(x[0] - 2.38) + x[1]))
    assert search.reasons(stop_tests=False) == []
    assert search.best == 0
    scale = search.state.sampled.scaled_factor
    assert 0.1 < np.linalg.norm(scale[1]) < 10
    np.testing.assert_allclose(scale @ np.linalg.inv(scale), np.eye(2), atol=1e-9)
