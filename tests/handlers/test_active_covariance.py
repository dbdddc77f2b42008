"""xCMA-ES and the modified CMA-ES: C narrows along limits that samples violate."""

from __future__ import annotations

import numpy as np
import pytest
from handlers_helpers import HandlerName, box, isotropic, settings_of, solved
from scipy.linalg import expm

from archeng import Model
from archeng.handlers.xcma import update_exponent
from archeng.model import compile_model
from archeng.outcomes import Outcomes
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler
from archeng.strategy import default_parameters


def test_the_multiplicative_update_is_the_additive_one_to_first_order() -> None:
    """For small rates; and whatever the rates, C stays positive definite."""
    rng = np.random.default_rng(1)
    p = default_parameters(5, 8)
    z, q, gamma = rng.standard_normal((4, 5)), rng.standard_normal(5), 0.7
    one = np.eye(5)
    added = p.c_1 * (np.outer(q, q) - gamma * one) + p.c_mu * ((z.T * p.weights) @ z - one)
    exponent = update_exponent(z, q, gamma, p)
    np.testing.assert_allclose(2 * exponent, added)
    small = 1e-5
    root = expm(small * exponent)
    np.testing.assert_allclose(root @ root.T, one + small * added, atol=1e-9)
    taken = expm(-20 * exponent)
    assert np.linalg.eigvalsh(taken @ taken.T)[0] > 0


@pytest.mark.parametrize("handler", ["xcma-es-ach", "mu-lambda-ach"])
def test_variance_is_taken_along_the_normal_of_the_limit(handler: HandlerName) -> None:
    """The mean stays at a bound of the first coordinate, and no objective says anything."""
    fs, settings = compile_model(box(3, 1)), settings_of(handler)
    repairer, start = Repairer(fs, settings), isotropic([1.0, 3.0, 3.0])
    made = make_handler(repairer, repairer, settings, start)
    rng, search = np.random.default_rng(3), made.init(start, start.mean, None)
    search, population = made.ask(search, rng, None)
    simulated = [made.outside or r.feasible for r in population.repairs]
    assert all(r.feasible for r in population.repairs) == (handler == "xcma-es-ach")
    assert all(simulated)
    for _ in range(3):
        after = made.tell(search, population, Outcomes(np.full(len(simulated), np.nan)), None, rng)
        search, population = made.ask(after, rng, None)
    assert np.any(after.vectors[:, 0] < 0)
    variances = np.diag(after.distribution.covariance)
    assert variances[0] < variances[1:].min()


def test_xcma_learns_nothing_else_where_too_few_candidates_have_an_objective() -> None:
    fs, settings = compile_model(box(3, 1)), settings_of("xcma-es-ach")
    repairer, start = Repairer(fs, settings), isotropic([1.0, 3.0, 3.0])
    made = make_handler(repairer, repairer, settings, start)
    rng, search = np.random.default_rng(3), made.init(start, start.mean, None)
    search, population = made.ask(search, rng, None)
    objectives = np.full(len(population.repairs), np.nan)
    objectives[: len(search.parameters.weights) - 1] = 1.0
    after = made.tell(search, population, Outcomes(objectives), None, rng)
    np.testing.assert_array_equal(after.distribution.mean, start.mean)
    assert after.distribution.sigma == start.sigma
    assert np.linalg.det(after.distribution.factor) < 1
    objectives[len(search.parameters.weights) - 1] = 2.0
    after = made.tell(search, population, Outcomes(objectives), None, rng)
    assert not np.array_equal(after.distribution.mean, start.mean)


@pytest.mark.slow
def test_without_limits_xcma_is_on_a_par_with_cma_es() -> None:
    """What its abstract says: an ellipsoid, condition number 1000; the same number of calls."""

    def calls(handler: HandlerName) -> float:
        model = Model("free")
        model.variable("x", shape=4, start=3.0, scale=1.0)
        runs = [
            solved(
                handler,
                model,
                simulator=lambda d: float(np.array([1.0, 10.0, 100.0, 1000.0]) @ d.x**2),
                target=1e-8,
                max_evaluations=3000,
                seed=seed,
            )
            for seed in range(5)
        ]
        assert all(r.fun <= 1e-8 for r in runs)
        return float(np.median([r.nfev for r in runs]))

    assert 0.75 < calls("xcma-es-ach") / calls("arch") < 1.25


@pytest.mark.slow
def test_xcma_needs_fewer_calls_than_resampling_at_active_limits() -> None:
    """Known of active constraint handling: it approaches the boundary without slowing down."""

    def calls(handler: HandlerName) -> float:
        runs = [
            solved(handler, box(4, 2), target=2 + 1e-5, max_evaluations=4000, seed=seed)
            for seed in range(3)
        ]
        assert all(r.fun <= 2 + 1e-5 and r.n_infeasible_calls == 0 for r in runs)
        return float(np.median([r.nfev for r in runs]))

    assert calls("xcma-es-ach") < 0.85 * calls("resampling")
