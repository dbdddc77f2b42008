"""Ranks of objective and simulated violations: only the order of each of them matters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from archeng.ranking import combined_ranks, mid_ranks, total_order, total_ranks, violation_order

Array = NDArray[np.float64]
NAN, INF = np.nan, np.inf
moderate = settings(deadline=None, max_examples=60, derandomize=True)


@st.composite
def populations(draw: st.DrawFn, failures: bool = True) -> tuple[Array, Array]:
    """Objectives (k,) and violations (k, m) with many ties; NaN and infinity: failed."""
    k, m = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    value = st.integers(-4, 6).map(float)
    f = np.array(draw(st.lists(value, min_size=k, max_size=k)))
    amount = st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 2.0, 7.0])
    rows = draw(st.lists(st.lists(amount, min_size=m, max_size=m), min_size=k, max_size=k))
    v = np.array(rows)
    if failures:
        failed = np.array(draw(st.lists(st.booleans(), min_size=k, max_size=k)))
        f[failed], v[failed] = NAN, INF
    return f, v


INCREASING: list[Callable[[Array], Array]] = [
    lambda v: 1e-3 * v,
    lambda v: v**3,
    np.expm1,
    np.arctan,
    lambda v: v + v**2,
]
"""Zero stays zero, as for a violation; all but the last also increase for negative values."""

maps = st.integers(0, len(INCREASING) - 1)


# -- combined_ranks ---------------------------------------------------------------------------


@moderate
@given(populations())
def test_without_constraints_it_is_the_rank_of_the_objective(population: tuple[Array, Array]):
    f, _ = population
    np.testing.assert_array_equal(combined_ranks(f, np.zeros((len(f), 0))), mid_ranks(f))


@moderate
@given(populations())
def test_if_nothing_is_violated_too(population: tuple[Array, Array]):
    f, v = population
    none = np.where(np.isnan(f)[:, None], INF, np.zeros_like(v))
    np.testing.assert_array_equal(combined_ranks(f, none), mid_ranks(f))


def by_definition(f: Array, v: Array) -> Array:
    """Sum of the ranks of f, of each violation, and of their number, in plain loops."""
    k, m = v.shape
    good = [i for i in range(k) if not np.isnan(f[i])]
    columns = [[sum(v[i] > 0) for i in range(k)], *(list(v[:, j]) for j in range(m))]
    if any(columns[0][i] == 0 for i in good):
        columns.append([INF if np.isnan(a) else a for a in f])
    totals = []
    for i in range(k):
        ranks = (sum(a < c[i] for a in c) + sum(a == c[i] for a in c) / 2 for c in columns)
        totals.append(sum(ranks) if i in good else INF)
    return np.array([sum(a < b for a in totals) + sum(a == b for a in totals) / 2 for b in totals])


@moderate
@given(populations())
def test_it_is_the_sum_of_ranks(population: tuple[Array, Array]):
    f, v = population
    np.testing.assert_allclose(combined_ranks(f, v), by_definition(f, v), atol=1e-12)


@moderate
@given(populations(), st.data())
def test_increasing_maps_of_objective_and_violations_change_nothing(
    population: tuple[Array, Array], data: st.DataObject
):
    f, v = population
    h = INCREASING[data.draw(st.integers(0, len(INCREASING) - 2))]
    mapped = np.column_stack([INCREASING[data.draw(maps)](column) for column in v.T])
    np.testing.assert_array_equal(combined_ranks(h(f), mapped), combined_ranks(f, v))
    np.testing.assert_array_equal(combined_ranks(3 * f - 7, v), combined_ranks(f, v))


@moderate
@given(populations(), st.randoms(use_true_random=False))
def test_it_does_not_depend_on_the_order_of_candidates_and_constraints(population, random):
    f, v = population
    rows, columns = list(range(len(f))), list(range(v.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    mixed = combined_ranks(f[rows], v[np.ix_(rows, columns)])
    np.testing.assert_allclose(mixed, combined_ranks(f, v)[rows], atol=1e-12)


@moderate
@given(populations())
def test_failed_candidates_are_last_and_equal(population: tuple[Array, Array]):
    f, v = population
    ranks, failed = combined_ranks(f, v), np.isnan(f)
    if failed.any() and not failed.all():
        assert ranks[failed].min() > ranks[~failed].max()
    assert len(set(ranks[failed])) <= 1


@moderate
@given(populations(failures=False), st.integers(0, 100), st.floats(0.01, 9))
def test_feasible_beats_infeasible_at_the_same_objective(population, which: int, amount: float):
    f, v = population
    good, bad = np.zeros(v.shape[1]), np.zeros(v.shape[1])
    bad[which % len(bad)] = amount
    f = np.append(f, [f[0], f[0]])
    ranks = combined_ranks(f, np.vstack((v, bad, good)))
    assert ranks[-1] < ranks[-2]


@moderate
@given(populations(failures=False), st.integers(0, 100))
def test_more_violation_is_never_better(population: tuple[Array, Array], which: int):
    f, v = population
    v = v + 0.1  # nothing is feasible, before and after: objectives play no part
    i, j = which % v.shape[0], which % v.shape[1]
    more = v.copy()
    more[i, j] += 1.0
    before, after = combined_ranks(f, v), combined_ranks(f, more)
    gained = (before[i] > before) & (after[i] < after)
    assert not gained.any()


def test_objectives_count_only_once_something_is_feasible():
    f = np.array([1.0, 9.0])
    bad = np.array([[2.0], [1.0]])
    assert np.argmin(combined_ranks(f, bad)) == 1  # only the violation counts
    one = np.array([[2.0], [0.0]])
    ranks = combined_ranks(f, one)
    assert ranks[1] < ranks[0]  # number and amount against the objective
    failed = combined_ranks(np.array([1.0, 9.0, NAN]), np.array([[2.0], [1.0], [0.0]]))
    assert failed.tolist() == [1.5, 0.5, 2.5]  # a failed candidate is no feasible one


def test_total_ranks_use_it():
    f, v = np.array([3.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.0]])
    distances = np.array([0.0, 0.0, 4.0])
    expected = combined_ranks(f, v) + 0.5 * mid_ranks(distances)
    np.testing.assert_array_equal(total_ranks(f, distances, 0.5, v), expected)
    np.testing.assert_array_equal(total_order(f, distances, 0.5, v), np.argsort(expected))
    plain = mid_ranks(f) + 0.5 * mid_ranks(distances)
    np.testing.assert_array_equal(total_ranks(f, distances, 0.5), plain)


# -- violation_order --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "violations", "first"),
    [
        ([5.0, 1.0], [[0.1, 0.0], [0.1, 0.1]], 0),  # fewer violations
        ([5.0, 1.0, 1.0], [[9.0, 0.0], [0.1, 0.1], [5.0, 5.0]], 0),  # whatever the ranks
        ([5.0, 1.0], [[1.0, 0.0], [2.0, 0.0]], 0),  # less violation
        ([5.0, 1.0], [[1.0, 0.0], [1.0, 0.0]], 1),  # the objective at last
        ([5.0, 1.0, 2.0], [[1.0, 5.0], [2.0, 4.0], [3.0, 6.0]], 1),  # equal sums of ranks
        ([5.0, 1.0, 2.0], [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], 0),
        ([5.0, 1.0], [[0.0, 0.0], [0.1, 0.0]], 0),
    ],
)
def test_the_least_violating_design(f: list[float], violations: list[list[float]], first: int):
    assert violation_order(np.array(f), np.array(violations))[0] == first


@moderate
@given(populations(failures=False), st.data())
def test_the_order_does_not_change_under_increasing_maps(
    population: tuple[Array, Array], data: st.DataObject
):
    f, v = population
    mapped = np.column_stack([INCREASING[data.draw(maps)](column) for column in v.T])
    order = violation_order(f, v)
    assert sorted(order) == list(range(len(f)))
    np.testing.assert_array_equal(violation_order(f**3, mapped), order)
