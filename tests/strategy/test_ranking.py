"""ARCH's ranking functions: mid-ranks, total ranks, alpha, d_m, the sphere's step size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import trapezoid
from scipy.special import ndtr
from scipy.stats import norm

from archeng.ranking import (
    mean_distance,
    mid_ranks,
    normal_order_statistics,
    sphere_step_size,
    total_order,
    total_ranks,
    updated_alpha,
)
from archeng.strategy import default_parameters, default_population_size

moderate = settings(deadline=None, max_examples=150, derandomize=True)
# Few distinct values, so that ties are common; NaN and infinities included.
tied = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 0.5000000001, 2.0, 1e9])
worst = st.sampled_from([np.nan, np.inf])
populations = st.lists(st.one_of(tied, worst, st.floats(-1e6, 1e6)), min_size=1, max_size=25)


def naive_mid_ranks(values) -> list[float]:
    """eq:rf as printed, with failed values as +inf."""
    v = [math.inf if math.isnan(x) else x for x in values]
    return [sum(a < b for a in v) + 0.5 * sum(a == b for a in v) for b in v]


@moderate
@given(populations)
def test_mid_ranks_are_those_of_the_equation(values: list[float]):
    np.testing.assert_array_equal(mid_ranks(np.array(values)), naive_mid_ranks(values))


@moderate
@given(populations)
def test_mid_ranks_sum_to_half_the_square(values: list[float]):
    assert mid_ranks(np.array(values)).sum() == len(values) ** 2 / 2


@moderate
@given(arrays(float, st.integers(1, 20), elements=st.integers(-8, 8)))
def test_mid_ranks_do_not_change_under_increasing_maps(values: np.ndarray):
    expected = mid_ranks(values)
    for mapped in (np.exp(values), values**3, 7 * values - 4, np.arctan(values)):
        np.testing.assert_array_equal(mid_ranks(mapped), expected)


@moderate
@given(populations, st.randoms(use_true_random=False))
def test_mid_ranks_follow_a_permutation(values: list[float], random):
    order = list(range(len(values)))
    random.shuffle(order)
    v = np.array(values)
    np.testing.assert_array_equal(mid_ranks(v[order]), mid_ranks(v)[order])


def test_nan_and_infinity_are_the_worst_and_tie():
    ranks = mid_ranks(np.array([np.nan, 1.0, np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(ranks, [3.5, 1.5, 3.5, 0.5, 3.5])
    np.testing.assert_array_equal(mid_ranks(np.full(4, np.nan)), np.full(4, 2.0))


def test_ties_share_their_rank():
    np.testing.assert_array_equal(mid_ranks(np.array([2.0, 1.0, 2.0, 3.0])), [2, 0.5, 2, 3.5])
    np.testing.assert_array_equal(mid_ranks(np.array([0.0, -0.0])), [1.0, 1.0])


def test_total_rank_is_the_weighted_sum():
    f, g = np.array([3.0, 1.0, 2.0]), np.array([0.0, 4.0, 0.0])
    np.testing.assert_allclose(total_ranks(f, g, 0.25), [2.5 + 0.25, 0.5 + 0.625, 1.5 + 0.25])
    np.testing.assert_array_equal(total_order(f, g, 0.25), [1, 2, 0])
    np.testing.assert_array_equal(total_order(f, g, 100.0), [2, 0, 1])


def test_total_order_keeps_the_order_of_sampling_for_ties():
    np.testing.assert_array_equal(total_order(np.zeros(6), np.zeros(6), 1.0), np.arange(6))
    np.testing.assert_array_equal(
        total_order(np.array([np.nan, 1.0, np.nan, 1.0]), np.zeros(4), 2.0), [1, 3, 0, 2]
    )


@moderate
@given(populations, st.floats(0.01, 100))
def test_total_order_without_violations_is_the_order_of_the_objective(values, alpha: float):
    order = total_order(np.array(values), np.zeros(len(values)), alpha)
    ranked = np.array(naive_mid_ranks(values))[order]
    assert np.all(np.diff(ranked) >= 0)
    assert sorted(order) == list(range(len(values)))


# ----- alpha ---------------------------------------------------------------------------------

UP, DOWN, KEEP = 1, -1, 0


@pytest.mark.parametrize(
    ("d_m", "previous", "change"),
    [
        (2.0, 1.5, UP),  # above 1 and growing
        (2.0, 0.0, UP),
        (2.0, 3.0, KEEP),  # above 1, already falling
        (2.0, 2.0, KEEP),  # above 1, sign(0) differs from sign(1)
        (0.5, 0.7, DOWN),  # below 1 and falling
        (0.5, 3.0, DOWN),
        (0.5, 0.2, KEEP),  # below 1, already growing
        (0.5, 0.5, KEEP),
        (0.0, 0.0, DOWN),  # the mean stays feasible
        (0.0, 0.5, DOWN),
        (0.0, 5.0, DOWN),
        (1.0, 1.0, KEEP),  # both signs are zero: factor exp(0)
        (1.0, 0.5, KEEP),
        (1.0, 2.0, KEEP),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 10])
def test_alpha_follows_the_corrected_rule(d_m: float, previous: float, change: int, n: int):
    alpha = updated_alpha(1.3, d_m, previous, n, population_size=50)
    assert alpha == pytest.approx(1.3 * math.exp(change / n), rel=1e-15)


@pytest.mark.parametrize("lam", [4, 10, 37])
def test_alpha_is_clipped(lam: int):
    alpha = 1.0
    for i in range(2000):
        alpha = updated_alpha(alpha, 2.0 + i, 1.0 + i, 10, lam)
    assert alpha == lam
    for _ in range(2000):
        alpha = updated_alpha(alpha, 0.0, 0.0, 10, lam)
    assert alpha == 1 / lam
    assert updated_alpha(1e9, 1.0, 1.0, 3, lam) == lam
    assert updated_alpha(1e-9, 1.0, 1.0, 3, lam) == 1 / lam


@moderate
@given(
    st.floats(1e-3, 1e3), st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 50),
    st.integers(4, 100),
)  # fmt: skip
def test_alpha_always_stays_in_its_range(alpha: float, d_m: float, previous: float, n, lam):
    assert 1 / lam <= updated_alpha(alpha, d_m, previous, n, lam) <= lam


def test_feasible_mean_decreases_alpha_each_time():
    alphas = [1.0]
    for _ in range(5):
        alphas.append(updated_alpha(alphas[-1], 0.0, 0.0, 4, 20))
    np.testing.assert_allclose(np.diff(np.log(alphas)), -0.25)


# ----- d_m -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 20])
@pytest.mark.parametrize("n_active", [0, 1, 5])
@pytest.mark.parametrize("factor", [0.5, 1, 2, 16])
def test_mean_distance_is_that_of_the_equation(n: int, n_active: int, factor: float):
    default = default_population_size(n)
    lam = max(4, int(default * factor))
    found = mean_distance(
        3.7, sigma_hat=1.9, n=n, n_active=n_active, population_size=lam, default_size=default
    )
    expected = 3.7 * 1.9 * 1.9 / (n * (n / 2 + n_active))
    if lam > default:
        expected *= math.exp((default - lam) / lam)
    assert found == pytest.approx(expected, rel=1e-14)


def test_mean_distance_of_a_feasible_mean_is_zero():
    common = {"sigma_hat": 2.0, "n": 3, "n_active": 2, "population_size": 7, "default_size": 7}
    assert mean_distance(0.0, **common) == 0.0


def test_large_population_shrinks_d_m_by_at_most_e():
    common = {"sigma_hat": 2.0, "n": 3, "n_active": 2, "default_size": 7}
    base = mean_distance(1.0, population_size=7, **common)
    ratios = [mean_distance(1.0, population_size=k, **common) / base for k in (4, 8, 70, 7000)]
    assert ratios[0] == 1.0
    assert ratios[1] == pytest.approx(math.exp(-1 / 8))
    assert ratios[2] == pytest.approx(math.exp(-0.9))
    assert 1 / math.e < ratios[3] < ratios[2]


# ----- order statistics ----------------------------------------------------------------------


def exact_order_statistic(i: int, k: int) -> float:
    """Expectation of the i-th smallest of k standard normals, by quadrature."""
    x = np.linspace(-9, 9, 20_001)
    binomial = math.factorial(k) // math.factorial(i - 1) // math.factorial(k - i)
    density = float(binomial) * ndtr(x) ** (i - 1) * ndtr(-x) ** (k - i) * norm.pdf(x)
    return float(trapezoid(x * density, x))


@pytest.mark.parametrize("k", [2, 4, 5, 10, 20, 50])
def test_order_statistics_are_within_bloms_error(k: int):
    found = normal_order_statistics(k)
    exact = [exact_order_statistic(i, k) for i in range(1, k + 1)]
    np.testing.assert_allclose(found, exact, atol=0.03)


@pytest.mark.parametrize(("k", "largest"), [(2, 0.56419), (3, 0.84628), (5, 1.16296)])
def test_order_statistics_are_near_tabulated_values(k: int, largest: float):
    found = normal_order_statistics(k)
    assert found[-1] == pytest.approx(largest, abs=0.03)
    assert found[0] == pytest.approx(-largest, abs=0.03)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 101])
def test_order_statistics_are_ascending_and_antisymmetric(k: int):
    found = normal_order_statistics(k)
    assert found.shape == (k,)
    assert np.all(np.diff(found) > 0)
    np.testing.assert_allclose(found, -found[::-1], atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("lam", [None, 4, 5, 30, 1000])
def test_sphere_step_size_is_that_of_the_equation(n: int, lam: int | None):
    p = default_parameters(n, lam)
    w, k = p.weights, p.population_size
    found = sphere_step_size(w, k, n)
    expected = normal_order_statistics(k)
    c = -sum(w[i] * expected[i] for i in range(len(w)))
    assert c > 0
    mu_eff = 1 / sum(v**2 for v in w)
    assert found == pytest.approx(c * n * mu_eff / (n - 1 + c**2 * mu_eff), rel=1e-12)
    assert 0 < found < np.inf


def test_sphere_step_size_with_exact_order_statistics():
    p = default_parameters(10)
    c = -sum(w * exact_order_statistic(i + 1, 10) for i, w in enumerate(p.weights))
    exact = c * 10 * p.mu_eff / (9 + c**2 * p.mu_eff)
    assert sphere_step_size(p.weights, 10, 10) == pytest.approx(exact, rel=0.01)
