"""The distribution of categories: against the packages of its authors, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from cmaes import CatCMA, CatCMAwM
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.strategy.categories import (
    change_cost,
    draw,
    in_fisher_metric,
    learned,
    least_probability,
    likeliest,
    uniform,
    with_margin,
)
from archeng.strategy.parameters import default_parameters

SIZES = (2, 5, 3)


def start(sizes=SIZES):
    return uniform(np.zeros(len(sizes), dtype=np.intp), sizes)


def padded(probabilities) -> np.ndarray:
    widest = max(map(len, probabilities))
    return np.array([np.pad(q, (0, widest - len(q))) for q in probabilities])


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_catcma(seed: int):
    es = CatCMA(np.ones(2), 1.0, np.array(SIZES), seed=seed)
    ours, weights = start(), es._weights[: es._mu]
    np.testing.assert_allclose(default_parameters(2, es.population_size).weights, weights)
    for _ in range(40):
        told = [es.ask() for _ in range(es.population_size)]
        values = [float(np.sum(x**2) + 3 * np.sum(~c[:, 1])) for x, c in told]
        order = np.argsort(values, kind="stable")
        rows = np.array([told[k][1].argmax(axis=1) for k in order])
        ours = learned(ours, rows[: es._mu], weights, len(SIZES))
        es.tell(list(zip(told, values, strict=True)))
        np.testing.assert_allclose(padded(ours.probabilities), es._q, rtol=1e-10)
        np.testing.assert_allclose(ours.path, es._s, rtol=1e-9, atol=1e-12)
        assert ours.divisor == pytest.approx(es._Delta, rel=1e-10)
    assert ours.modes.tolist() == [1, 1, 1]  # and it has found the best rows


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_catcmawm_without_numbers(seed: int):
    es = CatCMAwM(c_space=list(SIZES), seed=seed)
    ours, weights = start(), es._weights[: es._mu]
    for _ in range(40):
        told = [es.ask() for _ in range(es.population_size)]
        values = [float(np.sum(~s.c[:, 0])) for s in told]
        order = np.argsort(values, kind="stable")
        rows = np.array([told[k].c.argmax(axis=1) for k in order])
        ours = learned(ours, rows[: es._mu], weights, len(SIZES))
        es.tell(list(zip(told, values, strict=True)))
        # it adds 1e-8 to the length of the gradient
        np.testing.assert_allclose(padded(ours.probabilities), es._q, rtol=1e-5)


def test_the_fisher_metric_is_that_of_the_definition():
    """||F^{1/2} G||^2 = sum over all rows of G^2 / q."""
    q, g = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.05, -0.1, 0.02, 0.03])
    length = in_fisher_metric(q, g)
    assert length @ length == pytest.approx(np.sum(g**2 / q))


@settings(deadline=None)
@given(
    st.lists(st.floats(-2, 3), min_size=2, max_size=12),
    st.integers(1, 30),
)
def test_no_row_dies_out(values: list[float], n_discrete: int):
    least = least_probability(n_discrete, len(values))
    moved = np.array(values) + (1 - np.sum(values)) / len(values)  # the sum is one, signs are not
    q = with_margin(moved, least)
    assert np.sum(q) == pytest.approx(1)
    assert np.all(q >= least * (1 - 1e-9))


def test_a_margin_that_is_kept_changes_nothing():
    q = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(with_margin(q, 0.05), q, rtol=1e-12)


def test_rows_are_drawn_as_often_as_they_are_likely():
    rng, k = np.random.default_rng(0), 20_000
    weights = default_parameters(3, 10).weights
    c = learned(start(), np.tile([[1, 4, 0]], (5, 1)), weights, 3)
    rows = draw(c, k, rng)
    assert rows.shape == (k, 3)
    for i, q in enumerate(c.probabilities):
        seen = np.bincount(rows[:, i], minlength=len(q)) / k
        assert np.abs(seen - q).max() < 4 * np.sqrt(0.25 / k)


def test_costs_are_minus_twice_the_log_likelihood():
    q = np.array([0.7, 0.2, 0.1])
    costs = change_cost(q)
    np.testing.assert_allclose(np.exp(-costs / 2), q)
    assert np.argmin(costs) == 0  # the likeliest row is the cheapest to end at


def test_of_equally_likely_rows_the_one_before_stays():
    q = (np.array([0.25, 0.25, 0.25, 0.25]), np.array([0.2, 0.5, 0.3]))
    assert likeliest(q, np.array([2, 0])).tolist() == [2, 1]


def test_a_category_with_one_row_is_always_at_it():
    c = learned(start((1, 2)), np.zeros((3, 2), dtype=np.intp), np.full(3, 1 / 3), 2)
    np.testing.assert_array_equal(c.probabilities[0], [1.0])
    assert draw(c, 5, np.random.default_rng(0))[:, 0].tolist() == [0] * 5
    alone = learned(start((1,)), np.zeros((3, 1), dtype=np.intp), np.full(3, 1 / 3), 1)
    np.testing.assert_array_equal(alone.probabilities[0], [1.0])


def test_rows_in_another_order_learn_the_same_from_one_generation():
    weights, rng = default_parameters(2, 12).weights, np.random.default_rng(3)
    other = np.array([3, 0, 4, 1, 2])
    best = rng.integers(5, size=(6, 1))
    a = learned(start((5,)), best, weights, 1)
    b = learned(start((5,)), other[best], weights, 1)
    np.testing.assert_allclose(b.probabilities[0][other], a.probabilities[0], rtol=1e-12)
    assert a.divisor == pytest.approx(b.divisor, rel=1e-12)
