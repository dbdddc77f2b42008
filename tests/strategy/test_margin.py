"""The margins of integers and choices: against their authors' package, and what they promise."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from cmaes import CatCMAwM, CMAwM
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.strategy.margin import (
    Marginal,
    cells,
    centred,
    corrected,
    ends,
    mutated,
    one_sided_margin,
    quantile,
    tail,
    two_sided_margin,
)

BINARY = np.array([0.0, 1.0])
SECTIONS = np.array([1.62, 1.8, 2.38, 5.74, 13.5, 33.5])  # gaps from 0.18 to 20
LEVELS = (BINARY, np.arange(-3.0, 4.0), np.arange(4.0, 17.0), np.arange(0.0, 2.1, 0.5))
# CatCMAwM fills short lists up with their last value, which adds ends of cells there: lists of
# different lengths cannot be compared with it in one run.
SIX = (SECTIONS, np.arange(4.0, 10.0), np.array([-5.0, 0.0, 0.1, 0.3, 7.0, 8.0]))
TWO = (BINARY, np.array([-3.0, 9.0]), BINARY)


def rates(marginal: Marginal, deviation: float, levels: np.ndarray) -> tuple[float, float]:
    """Probabilities below and above the cell of the mean, by the definition."""
    limits, scale = ends(levels), deviation * marginal.spread
    cell = int(cells(levels, np.array(marginal.mean)))
    below = 0.0 if cell == 0 else tail((marginal.mean - limits[cell - 1]) / scale)
    above = 0.0 if cell == len(limits) else tail((limits[cell] - marginal.mean) / scale)
    return below, above


def test_quantile_is_the_inverse_of_the_tail_and_the_root_of_chi_squared():
    from scipy import stats

    for p in (0.4, 0.1, 1e-3, 1e-9):
        assert tail(quantile(p)) == pytest.approx(p, rel=1e-9)
        assert quantile(p) == pytest.approx(math.sqrt(stats.chi2.ppf(1 - 2 * p, df=1)), rel=1e-6)


def objective(x: np.ndarray, z: np.ndarray) -> float:
    return float(np.sum(x**2) + np.sum((z - np.arange(len(z))) ** 2))


@pytest.mark.parametrize("seed", range(4))
def test_lower_margin_is_that_of_cmawm(seed: int):
    """Each generation: m and A after the correction, from the same m, sigma, C and A before."""
    n_real, n = 2, 2 + len(LEVELS)
    bounds = np.array([[-np.inf, np.inf]] * n_real + [[v[0], v[-1]] for v in LEVELS])
    steps = np.array([0.0] * n_real + [v[1] - v[0] for v in LEVELS])
    start = np.array([0.6, 0.6, 0.6, 2.8, 12.2, 1.6])
    es = CMAwM(start, 1.0, bounds, steps, seed=seed)
    margin = one_sided_margin(n, es.population_size)
    assert es.margin == pytest.approx(margin)
    changed = 0
    for _ in range(60):
        told = []
        for _ in range(es.population_size):
            evaluated, raw = es.ask()
            told.append((raw, objective(evaluated[:n_real], evaluated[n_real:])))
        before, spread = copy.deepcopy(es._cma), es._A.copy()
        before.tell(copy.deepcopy(told))
        es.tell(told)
        assert es._cma._sigma == pytest.approx(before._sigma, rel=1e-12)
        np.testing.assert_allclose(es._cma._C, before._C, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(es.mean[:n_real], before.mean[:n_real], rtol=1e-10)
        for i, levels in enumerate(LEVELS, start=n_real):
            deviation = before._sigma * math.sqrt(before._C[i, i])
            start = Marginal(float(before.mean[i]), float(spread[i]), 0.0)
            ours = corrected(start, deviation, levels, margin, None)
            assert ours.mean == pytest.approx(es.mean[i], rel=1e-6, abs=1e-9)
            assert ours.spread == pytest.approx(es._A[i], rel=1e-6)
            changed += abs(ours.mean - start.mean) > 1e-6
    assert changed > 20  # the correction was at work


class Watched(CatCMAwM):
    """CatCMAwM that keeps what its margin correction and its centring were given."""

    def _integer_centering(self, v_raw):
        self.raw = np.array(v_raw)
        self.mean_before = self._mean.copy()
        self.centred = np.array(super()._integer_centering(v_raw))
        return self.centred

    def _margin_correction(self):
        self.before = (self._mean.copy(), self._A.copy(), self._pmut.copy())
        super()._margin_correction()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("all_levels", "mean"), [(SIX, [6.0, 8.2, 0.04]), (TWO, [0.6, 2.0, 0.3])])
def test_two_sided_margin_and_centring_are_those_of_catcmawm(all_levels, mean, seed: int):
    n_real = 2
    space = [list(v) for v in all_levels]
    start = np.array([1.0, 1.0, *mean])  # no mean on an end of a cell
    es = Watched(x_space=[[-5, 5]] * n_real, z_space=space, mean=start, seed=seed)
    margin = two_sided_margin(len(all_levels))
    assert es._alpha == pytest.approx(margin, rel=1e-12)
    bounded = compared = 0
    for _ in range(60):
        told = []
        for _ in range(es.population_size):
            s = es.ask()
            told.append((s, objective(s.x, s.z)))
        es.tell(told)
        mean, spread, rate = es.before
        for i, levels in enumerate(all_levels):
            at = n_real + i
            best = es.raw[: es._mu, at]
            moved = centred(levels, best, float(es.mean_before[at]))
            np.testing.assert_allclose(moved, es.centred[: es._mu, at], rtol=1e-12, atol=1e-12)
            success = bool(mutated(levels, best, float(es.mean_before[at])).any())
            assert success == es._int_succ[i]
            most = math.inf if success else float(rate[i])
            bounded += not success
            start = Marginal(float(mean[at]), float(spread[at]), float(rate[i]))
            deviation = es._sigma * math.sqrt(es._C[at, at])
            ours = corrected(start, deviation, levels, margin, most)
            assert ours.rate == pytest.approx(es._pmut[i], rel=1e-6)
            inside = float(np.clip(es._mean[at], levels[0], levels[-1]))
            if inside == es._mean[at]:
                assert ours.mean == pytest.approx(es._mean[at], rel=1e-6, abs=1e-6)
                assert ours.spread == pytest.approx(es._A[at], rel=1e-5)
                compared += 1
            else:  # theirs goes beyond the outermost level, ours stays at it
                assert ours.mean == pytest.approx(inside, rel=1e-6, abs=1e-6)
                assert ours.spread <= es._A[at] * (1 + 1e-9)
    assert bounded > 20  # mutation rates were bounded from above
    assert compared > 60


levels_of_any_gaps = st.lists(st.floats(0.01, 100), min_size=1, max_size=9).map(
    lambda gaps: np.concatenate(([0.0], np.cumsum(gaps)))
)


@settings(deadline=None)
@given(
    levels=levels_of_any_gaps,
    place=st.floats(-0.5, 1.5),
    deviation=st.floats(1e-9, 1e4),
    spread=st.floats(1e-3, 1e6),
    margin=st.floats(1e-3, 0.27),
    most=st.floats(0.3, 0.99) | st.just(math.inf),
)
def test_rates_are_between_their_bounds(levels, place, deviation, spread, margin, most):
    mean = place * float(levels[-1])
    after = corrected(Marginal(mean, spread, 0.0), deviation, levels, margin, most)
    below, above = rates(after, deviation, levels)
    one_end = int(cells(levels, np.array(after.mean))) in (0, len(levels) - 1)
    assert cells(levels, np.array(after.mean)) == cells(levels, np.array(mean))
    assert below + above == pytest.approx(after.rate, rel=1e-4, abs=1e-6)
    assert after.rate >= margin * (1 - 1e-6)
    assert after.rate <= most * (1 + 1e-6)
    if not one_end:
        assert min(below, above) >= margin / 2 * (1 - 1e-6)


@settings(deadline=None)
@given(levels=levels_of_any_gaps, place=st.floats(0.05, 0.95), share=st.floats(0.3, 3))
def test_what_is_within_the_bounds_stays(levels, place, share):
    """A second correction changes nothing, and neither does one that is not needed."""
    deviation = share * float(levels[-1]) / len(levels)
    first = corrected(
        Marginal(place * float(levels[-1]), 1.0, 0), deviation, levels, 0.05, math.inf
    )
    again = corrected(first, deviation, levels, 0.05, math.inf)
    assert again == pytest.approx(first, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("mean", [-2.0, 0.0, 0.4, 0.5, 0.6, 1.0, 3.0])
def test_a_binary_keeps_both_values(mean: float):
    for deviation in (1e-12, 1e-3, 1.0, 1e3):
        after = corrected(Marginal(mean, 1.0, 0.0), deviation, BINARY, 0.02, 0.1)
        assert np.isfinite(after).all()
        assert (after.mean >= 0.5) == (mean >= 0.5)
        assert 0.02 * (1 - 1e-9) <= sum(rates(after, deviation, BINARY)) <= 0.1 * (1 + 1e-9)


def test_a_mean_outside_of_all_levels_comes_back():
    """Levels end, the mean does not: far out it would be stuck without the correction."""
    after = corrected(Marginal(500.0, 1.0, 0.3), 1.0, SECTIONS, 0.05, math.inf)
    assert after.mean < SECTIONS[-1] + 1e-9
    assert sum(rates(after, 1.0, SECTIONS)) == pytest.approx(0.05)


def test_margins_leave_27_percent_of_samples_with_a_mutation():
    for d in (1, 2, 7, 40):
        assert (1 - two_sided_margin(d)) ** d == pytest.approx(0.73)


def test_one_level_is_left_alone():
    marginal = Marginal(3.0, 1.0, 0.5)
    assert corrected(marginal, 1.0, np.array([3.0]), 0.1, 0.2) == marginal


def test_centring_moves_mutated_samples_to_their_levels_and_keeps_the_sum():
    levels = np.arange(5.0)
    values = np.array([2.6, 2.1, 1.8, 2.3])  # the first has just left the cell of 2
    moved = centred(levels, values, 2.0)
    assert moved[0] == 3.0
    assert np.sum(moved) == pytest.approx(np.sum(values))
    assert moved[2] == 1.8  # moving it up would add to the shift
    nothing = np.array([2.1, 1.8])
    np.testing.assert_array_equal(centred(levels, nothing, 2.0), nothing)
