"""The CMA-ES update against independent implementations fed with the same candidates."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from cma import purecma

from archeng.distribution import Distribution, distribution_from_covariance, initial_distribution
from archeng.strategy import (
    Parameters,
    State,
    default_parameters,
    initial_state,
    sample,
    update,
)

GENERATIONS = 20


def rotation(n: int, seed: int) -> np.ndarray:
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    return q * np.sign(np.diag(r))


def rotated_ellipsoid(n: int, condition: float, seed: int):
    B = rotation(n, seed)
    axes = condition ** (np.arange(n) / max(n - 1, 1))
    return lambda x: float(np.sum(axes * (B @ x) ** 2))


def relative_error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


class PlainCmaes:
    """Steps 0 to 5 of the paper (subsec:cmaes), term by term with loops over components."""

    def __init__(self, p: Parameters, mean, sigma: float, covariance) -> None:
        n = p.n
        self.p = p
        self.m = [float(v) for v in mean]
        self.sigma = float(sigma)
        self.C = [[float(covariance[i][j]) for j in range(n)] for i in range(n)]
        self.p_sigma, self.p_c = [0.0] * n, [0.0] * n
        self.gamma_sigma = self.gamma_c = 0.0
        self.h_sigma = []

    def inverse_root(self) -> np.ndarray:
        values, vectors = np.linalg.eigh(np.array(self.C))
        return sum(
            np.outer(v, v) / np.sqrt(value) for value, v in zip(values, vectors.T, strict=True)
        )

    def tell(self, best_first: np.ndarray) -> None:
        p, n, mu = self.p, self.p.n, len(self.p.weights)
        y = [[(best_first[i][k] - self.m[k]) / self.sigma for k in range(n)] for i in range(mu)]
        dy = [sum(p.weights[i] * y[i][k] for i in range(mu)) for k in range(n)]
        mean = [self.m[k] + self.sigma * dy[k] for k in range(n)]

        root = self.inverse_root()
        whitened = [sum(root[k][j] * dy[j] for j in range(n)) for k in range(n)]
        gain = (p.c_sigma * (2 - p.c_sigma) * p.mu_eff) ** 0.5
        self.p_sigma = [(1 - p.c_sigma) * self.p_sigma[k] + gain * whitened[k] for k in range(n)]
        self.gamma_sigma = (1 - p.c_sigma) ** 2 * self.gamma_sigma + p.c_sigma * (2 - p.c_sigma)
        length = sum(v * v for v in self.p_sigma) ** 0.5
        chi = n**0.5 * (1 - 1 / (4 * n) + 1 / (21 * n**2))
        h = 1 if length < (1.4 + 2 / (n + 1)) * self.gamma_sigma**0.5 * chi else 0
        self.h_sigma.append(h)
        gain = (p.c_c * (2 - p.c_c) * p.mu_eff) ** 0.5
        self.p_c = [(1 - p.c_c) * self.p_c[k] + h * gain * dy[k] for k in range(n)]
        self.gamma_c = (1 - p.c_c) ** 2 * self.gamma_c + h * p.c_c * (2 - p.c_c)

        old, new = self.C, copy.deepcopy(self.C)
        for j in range(n):
            for k in range(n):
                new[j][k] += p.c_1 * (self.p_c[j] * self.p_c[k] - self.gamma_c * old[j][k])
                for i in range(mu):
                    new[j][k] += p.c_mu * p.weights[i] * (y[i][j] * y[i][k] - old[j][k])
        self.sigma *= np.exp(p.c_sigma / p.d_sigma * (length / chi - self.gamma_sigma**0.5))
        self.m, self.C = mean, new


def skewed_start(n: int, seed: int) -> Distribution:
    """A start with a full covariance matrix and its symmetric root."""
    B = rotation(n, seed)
    covariance = (B * np.linspace(0.3, 4.0, n)) @ B.T
    return distribution_from_covariance(np.linspace(1.0, 2.0, n), (covariance + covariance.T) / 2)


@pytest.mark.parametrize(("n", "lam"), [(1, None), (2, None), (3, 40), (5, None), (8, 20)])
@pytest.mark.parametrize("seed", [1, 2])
def test_update_agrees_with_the_papers_steps(n: int, lam: int | None, seed: int):
    f = rotated_ellipsoid(n, 1e4, seed)
    p = default_parameters(n, lam)
    start = skewed_start(n, seed)
    state = initial_state(start)
    plain = PlainCmaes(p, start.mean, start.sigma, start.covariance)
    rng = np.random.default_rng(seed)
    for _ in range(GENERATIONS):
        x = sample(state, p, rng)
        ordered = x[np.argsort([f(v) for v in x])]
        state = update(state, p, ordered, "symmetric")
        plain.tell(ordered)
        d = state.distribution
        assert relative_error(d.mean, np.array(plain.m)) < 1e-10
        assert d.sigma == pytest.approx(plain.sigma, rel=1e-10)
        assert relative_error(d.covariance, np.array(plain.C)) < 1e-10
        assert relative_error(state.p_sigma, np.array(plain.p_sigma)) < 1e-10
        assert relative_error(state.p_c, np.array(plain.p_c)) < 1e-10
        assert state.gamma_sigma == pytest.approx(plain.gamma_sigma, rel=1e-13)
        assert state.gamma_c == pytest.approx(plain.gamma_c, rel=1e-13)
    assert state.generation == GENERATIONS


def test_long_path_stalls_the_rank_one_update_as_in_the_paper():
    # A linear function far away: p_sigma grows, h_sigma becomes 0 in some generations.
    n = 3
    p = default_parameters(n)
    start = initial_distribution(np.zeros(n), np.full(n, 1e-3))
    state = initial_state(start)
    plain = PlainCmaes(p, start.mean, start.sigma, start.covariance)
    rng = np.random.default_rng(4)
    for _ in range(GENERATIONS):
        x = sample(state, p, rng)
        ordered = x[np.argsort(x @ np.array([1.0, 2.0, 3.0]))]
        state = update(state, p, ordered, "symmetric")
        plain.tell(ordered)
        assert state.gamma_c == pytest.approx(plain.gamma_c, rel=1e-12)
        assert relative_error(state.p_c, np.array(plain.p_c)) < 1e-9
        assert relative_error(state.distribution.covariance, np.array(plain.C)) < 1e-9
    assert 0 in plain.h_sigma
    assert 1 in plain.h_sigma


@pytest.mark.parametrize(("length", "h_sigma"), [(0.98, 1), (1.02, 0)])
@pytest.mark.parametrize("square_root", ["symmetric", "covariant"])
def test_stalling_accounts_for_the_short_path_at_the_beginning(
    length: float, h_sigma: int, square_root: str
):
    """In the first generation both sides of the test carry the factor sqrt(gamma_sigma)."""
    n = 3
    p = default_parameters(n)
    state = initial_state(initial_distribution(np.zeros(n), np.ones(n)))
    limit = (1.4 + 2 / (n + 1)) * p.chi_n / np.sqrt(p.mu_eff)
    step = np.array([2.0, -1.0, 2.0]) / 3 * limit * length
    after = update(state, p, np.tile(step, (p.population_size, 1)), square_root)
    assert after.gamma_c == pytest.approx(h_sigma * p.c_c * (2 - p.c_c))
    gain = np.sqrt(p.c_c * (2 - p.c_c) * p.mu_eff)
    np.testing.assert_allclose(after.p_c, h_sigma * gain * step, atol=1e-12)


def settled(state: State) -> State:
    """The state with the correction factors at their limit: the standard CMA-ES."""
    return replace(state, gamma_sigma=1.0, gamma_c=1.0)


@pytest.mark.parametrize(("n", "seed"), [(2, 5), (4, 5), (6, 7)])
def test_mean_paths_and_matrix_agree_with_purecma(n: int, seed: int):
    """Same candidates, parameters set equal, correction factors at their limit 1.

    Compared: mean, p_sigma (C^{-1/2} symmetric), p_c, and C with its rank-one and rank-mu
    terms. Not compared: sigma, for which purecma uses |p_sigma|^2 / n instead of
    |p_sigma| / chi_n (it is handed over), and generations with h_sigma = 0 (the tests for a
    long path differ; the seeds have none).
    """
    f = rotated_ellipsoid(n, 1e3, seed)
    p = default_parameters(n)
    state = settled(initial_state(initial_distribution(np.full(n, 0.7), np.ones(n))))
    other = purecma.CMAES(list(state.distribution.mean), state.distribution.sigma)
    assert other.params.lam == p.population_size
    assert other.params.weights[: other.params.mu] == pytest.approx(p.weights.tolist())
    other.params.mueff, other.params.cs, other.params.damps = p.mu_eff, p.c_sigma, p.d_sigma
    other.params.cc, other.params.c1, other.params.cmu = p.c_c, p.c_1, p.c_mu
    other.params.lazy_gap_evals = 0
    rng = np.random.default_rng(seed)
    for _ in range(GENERATIONS):
        x = sample(state, p, rng)
        values = [f(v) for v in x]
        other.ask()  # updates the eigensystem; its samples are not used
        other.tell([list(v) for v in x], values)
        state = update(state, p, x[np.argsort(values)], "symmetric")
        other.sigma = state.distribution.sigma
        assert state.gamma_c == pytest.approx(1.0)  # h_sigma was 1
        assert relative_error(state.distribution.mean, np.array(other.xmean)) < 1e-10
        assert relative_error(state.p_sigma, np.array(other.ps)) < 1e-10
        assert relative_error(state.p_c, np.array(other.pc)) < 1e-10
        assert relative_error(state.distribution.covariance, np.array(list(other.C))) < 1e-10


@pytest.mark.parametrize(("n", "seed"), [(2, 3), (5, 4)])
def test_all_of_the_update_agrees_with_the_package_cmaes(n: int, seed: int):
    """As above, and sigma too: this package has the tutorial's |p_sigma| / chi_n - 1.

    Its negative weights are set to zero.
    """
    cmaes = pytest.importorskip("cmaes")
    f = rotated_ellipsoid(n, 1e3, seed)
    p = default_parameters(n)
    start = skewed_start(n, seed)
    state = settled(initial_state(start))
    other = cmaes.CMA(mean=start.mean, sigma=start.sigma, cov=start.covariance)
    other._weights = np.concatenate((p.weights, np.zeros(p.population_size - len(p.weights))))
    other._cmu, other._c1, other._cc = p.c_mu, p.c_1, p.c_c
    other._c_sigma, other._d_sigma, other._mu_eff = p.c_sigma, p.d_sigma, p.mu_eff
    rng = np.random.default_rng(seed)
    for _ in range(GENERATIONS):
        x = sample(state, p, rng)
        values = [f(v) for v in x]
        other.tell(list(zip(x, values, strict=True)))
        state = update(state, p, x[np.argsort(values)], "symmetric")
        assert state.gamma_c == pytest.approx(1.0)
        assert relative_error(state.distribution.mean, other._mean) < 1e-10
        assert state.distribution.sigma == pytest.approx(other._sigma, rel=1e-10)
        assert relative_error(state.p_sigma, other._p_sigma) < 1e-10
        assert relative_error(state.p_c, other._pc) < 1e-10
        assert relative_error(state.distribution.covariance, other._C) < 1e-10


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_both_square_roots_lead_to_the_same_covariance_matrix(n: int):
    """The roots differ by a rotation U of the whitened space, and so do the paths p_sigma.

    As each path mixes whitened steps of several generations, their lengths, and so sigma, drift
    apart by a little; here the path of the one is handed to the other, turned by U.
    """
    f = rotated_ellipsoid(n, 1e4, 8)
    p = default_parameters(n)
    a = b = initial_state(skewed_start(n, 9))
    rng = np.random.default_rng(10)
    for _ in range(40):
        x = sample(a, p, rng)
        ordered = x[np.argsort([f(v) for v in x])]
        U = b.distribution.inverse_factor @ a.distribution.factor
        np.testing.assert_allclose(U @ U.T, np.eye(n), atol=1e-7)
        b = replace(b, p_sigma=U @ a.p_sigma)
        a, b = update(a, p, ordered, "symmetric"), update(b, p, ordered, "covariant")
        A, B = a.distribution, b.distribution
        assert relative_error(B.covariance, A.covariance) < 1e-9
        assert relative_error(B.mean, A.mean) < 1e-10
        assert pytest.approx(A.sigma, rel=1e-9) == B.sigma
        assert relative_error(b.p_c, a.p_c) < 1e-9
        np.testing.assert_allclose(b.eigenvalues, a.eigenvalues, rtol=1e-7)


@pytest.mark.parametrize("square_root", ["symmetric", "covariant"])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_state_is_consistent_after_updates(square_root: str, n: int):
    f = rotated_ellipsoid(n, 1e4, 1)
    p = default_parameters(n)
    start = initial_distribution(np.ones(n), np.linspace(0.5, 2, n))
    state = initial_state(start)
    np.testing.assert_array_equal(state.eigenvalues, np.ones(n))
    rng = np.random.default_rng(2)
    for _ in range(30):
        x = sample(state, p, rng)
        state = update(state, p, x[np.argsort([f(v) for v in x])], square_root)
        d = state.distribution
        np.testing.assert_allclose(d.factor @ d.inverse_factor, np.eye(n), atol=1e-9)
        # Eigenvalues are those of C relative to the initial one; the axes F v are conjugate.
        relative = start.inverse_factor @ d.covariance @ start.inverse_factor.T
        np.testing.assert_allclose(state.eigenvalues, np.linalg.eigvalsh(relative), rtol=1e-8)
        assert np.all(np.diff(state.eigenvalues) >= 0)
        axes = start.inverse_factor @ d.factor @ state.axes.T
        np.testing.assert_allclose(
            axes.T @ axes, np.diag(state.eigenvalues), atol=1e-9 * state.eigenvalues[-1]
        )
        if square_root == "symmetric":
            np.testing.assert_allclose(d.factor, d.factor.T, atol=1e-12 * np.abs(d.factor).max())
            assert np.linalg.eigvalsh(d.factor)[0] > 0


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_covariant_inverse_factor_stays_exact(condition: float):
    """Whitening undoes sampling, to rounding errors that grow with the condition of F only."""
    n = 4
    F = (rotation(n, 1) * condition ** np.linspace(0, 1, n)) @ rotation(n, 2)
    state = initial_state(Distribution(np.zeros(n), 1.0, F, np.linalg.inv(F)))
    p = default_parameters(n)
    rng = np.random.default_rng(3)
    for _ in range(40):
        x = sample(state, p, rng)
        z = np.linalg.solve(F, x.T).T
        state = update(state, p, x[np.argsort(np.sum(z**2, axis=1))], "covariant")
        d = state.distribution
        np.testing.assert_allclose(d.inverse_factor @ d.factor, np.eye(n), atol=1e-14 * condition)


@pytest.mark.parametrize("square_root", ["symmetric", "covariant"])
def test_update_uses_only_the_mu_best_and_leaves_its_input_alone(square_root: str):
    n = 4
    p = default_parameters(n)
    state = initial_state(skewed_start(n, 3))
    x = sample(state, p, np.random.default_rng(3))
    before = x.copy(), state.distribution.mean.copy(), state.distribution.factor.copy()
    one = update(state, p, x, square_root)
    shuffled = x.copy()
    shuffled[len(p.weights) :] = shuffled[len(p.weights) :][::-1] + 17.0
    two = update(state, p, shuffled, square_root)
    np.testing.assert_array_equal(one.distribution.factor, two.distribution.factor)
    np.testing.assert_array_equal(one.distribution.mean, two.distribution.mean)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(state.distribution.mean, before[1])
    np.testing.assert_array_equal(state.distribution.factor, before[2])


@pytest.mark.parametrize("square_root", ["symmetric", "covariant"])
@pytest.mark.parametrize(
    ("n", "condition", "ceiling"),
    [
        (1, 1.0, 250),
        (2, 1.0, 480),
        (5, 1.0, 1200),
        (10, 1.0, 2200),
        (5, 1e6, 3300),
        (10, 1e6, 7800),
    ],
)
def test_converges_within_a_ceiling_of_evaluations(
    square_root: str, n: int, condition: float, ceiling: int
):
    f = rotated_ellipsoid(n, condition, 11)
    p = default_parameters(n)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        state = initial_state(initial_distribution(np.full(n, 3.0), np.ones(n)))
        best, calls = np.inf, 0
        while best > 1e-10 and calls < ceiling:
            x = sample(state, p, rng)
            values = np.array([f(v) for v in x])
            calls += len(values)
            best = min(best, values.min())
            state = update(state, p, x[np.argsort(values)], square_root)
        assert best <= 1e-10, f"seed {seed}: {best:g} after {calls} evaluations"


def test_learned_matrix_approaches_the_inverse_hessian():
    n = 4
    B = rotation(n, 5)
    hessian = (B.T * np.array([1.0, 10.0, 1e2, 1e3])) @ B
    p = default_parameters(n)
    rng = np.random.default_rng(1)
    state = initial_state(initial_distribution(np.ones(n), np.ones(n)))
    for _ in range(250):
        x = sample(state, p, rng)
        values = np.einsum("ki,ij,kj->k", x, hessian, x)
        state = update(state, p, x[np.argsort(values)], "covariant")
    product = state.distribution.covariance @ hessian
    eigenvalues = np.sort(np.linalg.eigvals(product).real)
    assert eigenvalues[-1] / eigenvalues[0] < 12  # from 1000 at the start


def test_sample_is_reproducible_and_has_the_right_moments():
    d = replace(skewed_start(3, 1), sigma=0.2)
    p = default_parameters(3, 20_000)
    x = sample(initial_state(d), p, np.random.default_rng(0))
    again = sample(initial_state(d), p, np.random.default_rng(0))
    np.testing.assert_array_equal(x, again)
    assert x.shape == (20_000, 3)
    np.testing.assert_allclose(x.mean(axis=0), d.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(x.T), d.sigma**2 * d.covariance, atol=0.006)


def test_a_path_of_absurd_length_does_not_overflow_the_step_size() -> None:
    """A covariance matrix that is singular in rounding whitens steps to any length."""
    parameters = default_parameters(4)
    state = initial_state(initial_distribution(np.zeros(4), np.ones(4)))
    candidates = np.full((parameters.population_size, 4), 1e8)
    after = update(state, parameters, candidates, "symmetric")
    assert np.isfinite(after.distribution.sigma)
    assert after.distribution.sigma > 1e20
