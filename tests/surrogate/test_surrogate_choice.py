"""The choice of prior and transform: the best score wins, and it is the one that suits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import (
    Quadratic,
    coefficients,
    data_of,
    designs,
    few,
    normalised,
    seeds,
    values,
)

from archeng.distribution import Floats
from archeng.surrogate.choice import Choice, choose
from archeng.surrogate.fit import Kernels
from archeng.surrogate.priors import IDENTITY, PRIORS, Prior, Transform, transforms_for


def fitted(
    kernels: Kernels, y: Floats, prior: Prior, transform: Transform, variances: Floats | None = None
) -> Choice | None:
    """One prior and transform."""
    fit = prior.refit(kernels, transform.apply(y), prior.noise, variances)
    return None if fit is None else Choice(fit, prior, transform, y)


def chosen(A: Floats, f: Floats) -> Choice:
    found = choose(data_of(A, normalised(f)))
    assert found is not None
    return found


@few
@given(seed=seeds)
def test_no_other_model_has_a_better_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    A = designs(rng, int(rng.integers(n + 2, 2 * coefficients(n))), n)
    y = normalised(np.exp(rng.uniform(0, 3) * Quadratic(rng, n)(A)) + rng.standard_normal(len(A)))
    kernels = Kernels(A)
    best = choose(data_of(A, y))
    assert best is not None
    for prior in PRIORS:  # reweighted ones are tried with the best transform of the others
        for transform in [best.transform] if prior.rounds else transforms_for(y):
            other = fitted(kernels, y, prior, transform)
            assert other is None or best.score <= other.score + 1e-5


@few
@given(seed=seeds)
def test_the_choice_can_be_fitted_again(seed: int) -> None:
    """It belongs to its own prior and transform; variances that are kept give the same."""
    rng = np.random.default_rng(seed)
    A = designs(rng, 9, 2)
    y = normalised(np.exp(Quadratic(rng, 2)(A)))
    kernels = Kernels(A)
    best = choose(data_of(A, y))
    assert best is not None
    again = fitted(kernels, y, best.kind, best.transform)
    assert again is not None
    assert again.score == pytest.approx(best.score, abs=1e-6)
    variances = best.fit.variances
    kept = fitted(kernels, y, best.kind, best.transform, variances)
    assert kept is not None
    assert kept.score == pytest.approx(best.score, abs=1e-6)


def test_an_additive_function() -> None:
    """Sums of functions of one variable, far from quadratic: splines along the variables."""
    found = []
    for seed in range(5):
        A = designs(np.random.default_rng(seed), 30, 5)
        f = np.sum(np.exp(1.2 * A) + np.abs(A - 0.3) ** 3, axis=1)
        found.append(chosen(A, f).kind.spline > 0)
    assert sum(found) >= 4


def test_a_quadratic_function() -> None:
    """Nothing but a quadratic without noise and without a transform has no error at all."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A, q = designs(rng, coefficients(3) + 3, 3), Quadratic(rng, 3, convex=True)
        found = chosen(A, q(A))
        assert found.kind.quadratic
        assert found.kind.noise == 0
        assert found.transform == IDENTITY


def test_an_exponential_objective() -> None:
    """exp of a quadratic: the logarithm is the better objective."""
    found: Counter[float] = Counter()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A, q = designs(rng, coefficients(3) + 3, 3), Quadratic(rng, 3, convex=True)
        found[chosen(A, np.exp(q(A))).transform.steepness] += 1
    assert found[0.0] <= 1


def test_a_noisy_objective() -> None:
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A, q = designs(rng, coefficients(3) + 8, 3), Quadratic(rng, 3, convex=True)
        found.append(chosen(A, q(A) + rng.standard_normal(len(A))).kind.noise > 0)
    assert sum(found) >= 4


def test_the_chosen_model_predicts_better_than_a_plain_one() -> None:
    """At new designs, in units of the objective near the best one."""
    rng = np.random.default_rng(3)
    A, new = designs(rng, 30, 5), designs(rng, 20, 5)

    def f(v: Floats) -> Floats:
        return np.sum(np.exp(1.2 * v) + np.abs(v - 0.3) ** 3, axis=1)

    best, spread = f(A).min(), np.median(f(A)) - f(A).min()
    choice = chosen(A, f(A))
    plain = fitted(Kernels(A), normalised(f(A)), PRIORS[0], IDENTITY)
    assert plain is not None
    errors = [
        np.median(np.abs(values(c.fit.model, new) - c.transform.apply((f(new) - best) / spread)))
        for c in (choice, plain)
    ]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_the_unit_of_the_objective_does_not_matter(unit: float) -> None:
    rng = np.random.default_rng(4)
    A = designs(rng, 12, 3)
    f = np.exp(Quadratic(rng, 3)(A))
    one, two = chosen(A, f), chosen(A, unit * f - 7 * unit)
    assert one.kind == two.kind
    assert one.transform == two.transform
    assert one.score == pytest.approx(two.score, abs=1e-3)


def test_designs_in_one_point_do_not_raise() -> None:
    choose(data_of(np.zeros((6, 2)), np.linspace(0, 2, 6)))
