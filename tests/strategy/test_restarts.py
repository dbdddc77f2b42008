"""The BIPOP schedule: sizes, step sizes, budgets and their balance."""

from __future__ import annotations

import numpy as np
import pytest

from archeng.strategy import Bipop, Regime


def play(default: int, restarts: int, seed: int, cost=None) -> tuple[list[Regime], Bipop]:
    """Run the schedule; a restart costs 100 generations, or its budget if that is less."""
    rng = np.random.default_rng(seed)
    bipop = Bipop(default)
    regime = bipop.first()
    regimes = [regime]
    for _ in range(restarts):
        spent = 100 * regime.population_size if cost is None else cost(regime)
        if regime.max_evaluations is not None:
            spent = min(spent, regime.max_evaluations)
        bipop = bipop.spent(regime, spent)
        bipop, regime = bipop.next(rng)
        regimes.append(regime)
    return regimes, bipop


def test_first_run_has_the_default_population_and_no_budget():
    assert Bipop(9).first() == Regime(9, 1.0, None, large=True)


@pytest.mark.parametrize("default", [4, 7, 12])
def test_large_restarts_double_the_population(default: int):
    regimes, _ = play(default, 60, seed=1)
    large = [r for r in regimes if r.large]
    assert len(large) >= 5
    assert [r.population_size for r in large] == [default * 2**i for i in range(len(large))]
    assert all(r.sigma_factor == 1.0 and r.max_evaluations is None for r in large)


def test_first_restart_is_large():
    for seed in range(5):
        regimes, _ = play(8, 1, seed)
        assert regimes[1] == Regime(16, 1.0, None, large=True)


@pytest.mark.parametrize("seed", range(5))
def test_small_restarts_stay_within_the_published_ranges(seed: int):
    """lambda_s = floor(lambda (lambda_l / 2 lambda)^(U^2)), sigma 10^(-2U), half the budget."""
    default = 8
    regimes, _ = play(default, 80, seed)
    last_large = 0
    small = 0
    for previous, regime in zip([None, *regimes], regimes, strict=False):
        if previous is not None and previous.large:
            last_large = previous.population_size
        if regime.large:
            continue
        small += 1
        assert default <= regime.population_size <= last_large // 2
        assert 1e-2 <= regime.sigma_factor <= 1.0
        assert regime.max_evaluations == 100 * last_large // 2
    assert small >= 5


def test_small_populations_and_step_sizes_follow_their_distributions():
    bipop = Bipop(10, n_large=6, large_evaluations=10**6, last_large_evaluations=64_000)
    rng = np.random.default_rng(0)
    drawn = [bipop.next(rng)[1] for _ in range(4000)]
    assert not any(r.large for r in drawn)
    # log(size / default) / log(320 / 10) = U^2 has mean 1/3 (sizes are rounded down).
    sizes = np.array([r.population_size for r in drawn])
    exponent = np.log(sizes / 10) / np.log(32)
    assert exponent.mean() == pytest.approx(1 / 3, abs=0.03)
    assert np.mean(sizes < 10 * 32**0.25) == pytest.approx(0.5, abs=0.05)
    assert sizes.max() > 300
    # -log10(factor) / 2 = U is uniform, independent of the size.
    u = -np.log10([r.sigma_factor for r in drawn]) / 2
    assert u.mean() == pytest.approx(0.5, abs=0.02)
    assert u.std() == pytest.approx(12**-0.5, abs=0.02)
    assert abs(np.corrcoef(u, exponent)[0, 1]) < 0.06


@pytest.mark.parametrize("seed", range(4))
def test_budgets_of_the_two_regimes_stay_balanced(seed: int):
    """The regime that has spent less goes next, so neither falls behind by more than a run."""
    rng = np.random.default_rng(seed)
    bipop = Bipop(6)
    regime = bipop.first()
    for _ in range(100):
        spent = int(regime.population_size * rng.integers(20, 120))
        if regime.max_evaluations is not None:
            spent = min(spent, regime.max_evaluations)
        bipop = bipop.spent(regime, spent)
        behind = bipop.small_evaluations < bipop.large_evaluations
        bipop, regime = bipop.next(rng)
        if bipop.n_large > 1:
            assert regime.large != behind
    assert 0.3 < bipop.small_evaluations / bipop.large_evaluations < 3


def test_spent_counts_each_regime_apart():
    bipop = Bipop(5).spent(Regime(5, 1.0, None, large=True), 70)
    bipop = bipop.spent(Regime(5, 0.5, 35, large=False), 30)
    bipop = bipop.spent(Regime(10, 1.0, None, large=True), 200)
    assert bipop.large_evaluations == 270
    assert bipop.small_evaluations == 30
    assert bipop.last_large_evaluations == 200
    assert Bipop(5).large_evaluations == 0  # records are immutable


def test_same_seed_gives_the_same_schedule():
    assert play(7, 50, seed=3)[0] == play(7, 50, seed=3)[0]
    assert play(7, 50, seed=3)[0] != play(7, 50, seed=4)[0]


def test_small_budget_admits_at_least_one_generation():
    bipop = Bipop(8, n_large=5, large_evaluations=100, last_large_evaluations=3)
    for seed in range(20):
        _, regime = bipop.next(np.random.default_rng(seed))
        assert regime.max_evaluations >= regime.population_size


LARGE, SMALL = Regime(10, 1.0, None, large=True), Regime(5, 0.5, 35, large=False)


def test_shares_stay_equal_unless_they_are_adaptive():
    bipop = Bipop(5).spent(LARGE, 100, 3.0).spent(LARGE, 100, 2.0).spent(LARGE, 100, 1.0)
    assert bipop.small_share == 1.0


def test_adaptive_shares_follow_the_regime_that_finds_the_best_design():
    bipop = Bipop(5, adaptive=True).spent(LARGE, 100, 3.0)
    assert bipop.small_share == 1.0  # the first run is better than nothing: that says nothing
    bipop = bipop.spent(LARGE, 200, 2.0)
    assert bipop.small_share == 1 / 4
    assert bipop.spent(LARGE, 200, 2.0).small_share == 1 / 4
    assert bipop.spent(LARGE, 200, 2.0 - 1e-12).small_share == 1 / 4  # rounding
    assert bipop.spent(LARGE, 200, 1.0).spent(LARGE, 9, 0.5).small_share == 1 / 16
    bipop = bipop.spent(SMALL, 30, -1.0)
    assert bipop.small_share == 1.0
    assert bipop.spent(SMALL, 30, -2.0).small_share == 1.0


def test_small_restarts_get_their_share_of_the_calls():
    rng = np.random.default_rng(0)
    bipop = Bipop(5, adaptive=True).spent(LARGE, 100, 3.0)
    bipop, regime = bipop.next(rng)
    bipop = bipop.spent(regime, 300, 2.0)
    spent = 0
    while True:
        bipop, regime = bipop.next(rng)
        if regime.large:
            break
        bipop = bipop.spent(regime, 20, 2.0)
        spent += 20
    assert spent == 100  # a quarter of 400


def test_a_best_design_that_is_unknown_changes_nothing():
    bipop = Bipop(5, adaptive=True).spent(LARGE, 10).spent(LARGE, 20).spent(SMALL, 5)
    assert bipop.small_share == 1.0
    assert bipop.spent(LARGE, 10, 7.0).small_share == 1.0
