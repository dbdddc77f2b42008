"""Default parameters against the table of the ARCH paper (tab:defaultparameter)."""

from __future__ import annotations

from math import exp, floor, gamma, log, sqrt

import numpy as np
import pytest

from archeng.strategy import default_parameters, default_population_size

CASES = [(n, lam) for n in (1, 2, 3, 5, 10, 13, 30, 100) for lam in (None, 4, 7, 12, 50, 300)]


@pytest.mark.parametrize(("n", "given"), CASES)
def test_parameters_are_those_of_the_table(n: int, given: int | None):
    lam = 4 + floor(3 * log(n)) if given is None else given
    mu = lam // 2
    total = 0.0
    for k in range(1, mu + 1):
        total += log((lam + 1) / 2) - log(k)
    w = [(log((lam + 1) / 2) - log(i)) / total for i in range(1, mu + 1)]
    mu_w = 1 / sum(v * v for v in w)
    c_sigma = (mu_w + 2) / (n + mu_w + 5)
    c_one = 2 / ((n + 1.3) ** 2 + mu_w)

    p = default_parameters(n, given)

    assert p.n == n
    assert p.population_size == lam
    np.testing.assert_allclose(p.weights, w, rtol=1e-13)
    assert p.mu_eff == pytest.approx(mu_w, rel=1e-13)
    assert p.c_sigma == pytest.approx(c_sigma, rel=1e-13)
    assert p.c_c == pytest.approx((4 + mu_w / n) / (n + 4 + 2 * mu_w / n), rel=1e-13)
    assert p.c_1 == pytest.approx(c_one, rel=1e-13)
    c_mu = min(1 - c_one, 2 * (mu_w - 2 + 1 / mu_w) / ((n + 2) ** 2 + mu_w))
    assert p.c_mu == pytest.approx(c_mu, rel=1e-12)
    d_sigma = 1 + c_sigma + 2 * max(0, sqrt((mu_w - 1) / (n + 1)) - 1)
    assert p.d_sigma == pytest.approx(d_sigma, rel=1e-13)
    assert p.chi_n == pytest.approx(sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)), rel=1e-14)


@pytest.mark.parametrize(("n", "given"), CASES)
def test_parameters_satisfy_what_the_method_needs(n: int, given: int | None):
    p = default_parameters(n, given)

    assert len(p.weights) == p.population_size // 2
    assert p.weights.sum() == pytest.approx(1.0, rel=1e-13)
    assert np.all(p.weights > 0)
    assert np.all(np.diff(p.weights) < 0)
    assert 1 <= p.mu_eff <= len(p.weights)
    assert 0 < p.c_sigma < 1
    assert 0 < p.c_c <= 1
    assert p.c_mu >= 0
    assert 0 < p.c_1 + p.c_mu <= 1 + 1e-15
    assert p.d_sigma > 1


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 4), (2, 6), (3, 7), (5, 8), (10, 10), (20, 12), (30, 14), (100, 17)]
)
def test_default_population_size(n: int, expected: int):
    assert default_population_size(n) == expected
    assert default_parameters(n).population_size == expected


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 40])
def test_chi_n_approximates_the_expected_norm_of_a_normal_vector(n: int):
    exact = sqrt(2) * gamma((n + 1) / 2) / gamma(n / 2)
    assert default_parameters(n).chi_n == pytest.approx(exact, rel=2e-3 * exp(-(n - 1) / 3) + 1e-4)
