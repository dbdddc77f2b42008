"""Every equation of the compared methods, on numbers computed by hand."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import isotropic
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.handlers.active_set import reached_limits, step_size_change
from archeng.handlers.base import RowSides, last_if_undefined
from archeng.handlers.box_penalty import allowed_distance, initial_weights, penalties, scaling
from archeng.handlers.lagrangian import lagrangian, success, updated_gamma, updated_omega
from archeng.handlers.rank_based import competition_ranks, mcr_fitness, stochastic_order
from archeng.model import FeasibleSet, Model, compile_model
from archeng.repair import Repairer

moderate = settings(deadline=None, max_examples=60, derandomize=True)
few = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, np.inf])
candidates = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 3.0, 4.5, np.inf]), few), max_size=12)

# -- multiple constraint ranking ---------------------------------------------------------------


def test_competition_ranks_share_the_best_rank() -> None:
    ranks = competition_ranks(np.array([3.0, 1.0, 3.0, np.inf, 0.5, np.inf]))
    np.testing.assert_array_equal(ranks, [3, 2, 3, 5, 1, 5])
    np.testing.assert_array_equal(competition_ranks(np.full(3, 7.0)), [1, 1, 1])


def test_mcr_with_a_feasible_candidate() -> None:
    f = np.array([3.0, 1.0, 2.0])
    violations = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    # number violated 1 2 3, first row 1 3 2, second row 1 1 3, objective 3 1 2
    np.testing.assert_array_equal(mcr_fitness(f, violations), [6, 7, 10])


def test_mcr_without_a_feasible_candidate_ignores_the_objective() -> None:
    violations = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    # number violated 1 1 3, first row 1 3 1, second row 1 1 3
    for f in ([3.0, 1.0, 2.0], [0.0, np.inf, -9.0]):
        np.testing.assert_array_equal(mcr_fitness(np.array(f), violations), [3, 5, 7])


def test_mcr_with_ties() -> None:
    f = np.array([1.0, 1.0, 0.0, np.inf])
    violations = np.array([[0.0], [0.0], [4.0], [4.0]])
    # number violated 1 1 3 3, row 1 1 3 3, objective 2 2 1 4
    np.testing.assert_array_equal(mcr_fitness(f, violations), [4, 4, 7, 10])


def test_mcr_without_rows_ranks_the_objective() -> None:
    fitness = mcr_fitness(np.array([2.0, 0.0, 1.0]), np.zeros((3, 0)))
    np.testing.assert_array_equal(np.argsort(fitness), [1, 2, 0])


def test_mcr_does_not_change_under_increasing_maps() -> None:
    rng = np.random.default_rng(1)
    f, violations = rng.standard_normal(9), np.maximum(rng.standard_normal((9, 4)), 0)
    expected = mcr_fitness(f, violations)
    np.testing.assert_array_equal(mcr_fitness(np.exp(f), np.expm1(3 * violations)), expected)
    np.testing.assert_array_equal(mcr_fitness(f**3, violations * [1, 9, 1e-5, 2]), expected)


# -- stochastic ranking ------------------------------------------------------------------------


@moderate
@given(candidates)
def test_probability_zero_sorts_by_violation_and_feasible_ones_by_objective(
    rows: list[tuple[float, float]],
) -> None:
    f, violation = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    order = stochastic_order(f, violation, 0.0, np.random.default_rng(0))
    key = [(v, value if v == 0 else 0.0) for value, v in rows]
    assert order.tolist() == sorted(range(len(rows)), key=key.__getitem__)


@moderate
@given(candidates)
def test_probability_one_sorts_by_the_objective(rows: list[tuple[float, float]]) -> None:
    f, violation = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    order = stochastic_order(f, violation, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(order, np.argsort(f, kind="stable"))


def test_stochastic_order_is_reproducible_and_random() -> None:
    rng = np.random.default_rng(5)
    f, violation = rng.standard_normal(10), np.maximum(rng.standard_normal(10), 0)
    seen = set()
    for seed in range(30):
        one, two = (
            stochastic_order(f, violation, 0.45, np.random.default_rng(seed)) for _ in range(2)
        )
        np.testing.assert_array_equal(one, two)
        assert sorted(one) == list(range(10))
        seen.add(tuple(one))
    assert len(seen) > 20


def test_stochastic_order_has_the_probability_of_two_sweeps() -> None:
    """The infeasible one stays first, or is swapped back in the second sweep: p + (1 - p) p."""
    f, violation, p = np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.45
    rng = np.random.default_rng(11)
    first = [stochastic_order(f, violation, p, rng)[0] == 0 for _ in range(4000)]
    assert abs(np.mean(first) - (p + (1 - p) * p)) < 4 * math.sqrt(0.21 / 4000)


def test_feasible_candidates_are_always_compared_by_the_objective() -> None:
    f = np.array([3.0, 2.0, 1.0, 0.0])
    for p in (0.0, 0.3, 1.0):
        order = stochastic_order(f, np.zeros(4), p, np.random.default_rng(2))
        assert order.tolist() == [3, 2, 1, 0]


# -- augmented Lagrangian ----------------------------------------------------------------------


def test_lagrangian_on_both_branches() -> None:
    gamma, omega = np.array([0.5, 1.0]), np.array([2.0, 0.5])
    # 0.5 + 2 * 2 >= 0: 1 + 4; 1 - 0.5 * 3 < 0: -1
    np.testing.assert_allclose(
        lagrangian(np.array([1.0]), np.array([[2.0, -3.0]]), gamma, omega), 5
    )
    # 0.5 - 2 * 0.2 >= 0: -0.1 + 0.04; 1 + 0.5 >= 0: 1 + 0.25
    value = lagrangian(np.array([-2.0]), np.array([[-0.2, 1.0]]), gamma, omega)
    np.testing.assert_allclose(value, -2 - 0.06 + 1.25)


@pytest.mark.parametrize(("gamma", "omega"), [(0.0, 1.0), (1.0, 0.5), (3.0, 20.0), (1e-3, 1e4)])
def test_lagrangian_is_smooth_at_the_switch(gamma: float, omega: float) -> None:
    switch, h = -gamma / omega, 1e-6 * (1 + gamma / omega)

    def L(g: float) -> float:
        value = lagrangian(np.zeros(1), np.array([[g]]), np.array([gamma]), np.array([omega]))
        return float(value[0])

    flat = -(gamma**2) / (2 * omega)
    assert L(switch) == pytest.approx(flat, abs=1e-12)
    assert L(switch - h) == pytest.approx(flat, abs=1e-12)
    assert 0 <= L(switch + h) - flat <= omega * h**2  # no kink: the slope is zero there
    assert L(switch - 5.0) == pytest.approx(flat, abs=1e-12)


def test_lagrangian_without_multiplier_is_the_quadratic_penalty() -> None:
    g = np.array([[-1.0], [0.0], [2.0]])
    value = lagrangian(np.zeros(3), g, np.zeros(1), np.array([3.0]))
    np.testing.assert_allclose(value, [0, 0, 6])


def test_undefined_values_come_last() -> None:
    f, g = np.array([np.nan, 1.0, 1.0]), np.array([[0.0], [np.nan], [-1.0]])
    value = lagrangian(f, g, np.zeros(1), np.ones(1))
    np.testing.assert_array_equal(value, [np.inf, np.inf, 1.0])
    np.testing.assert_array_equal(last_if_undefined(f), [np.inf, 1.0, 1.0])


def test_gamma_moves_with_the_violation_and_stays_nonnegative() -> None:
    gamma, omega = np.array([0.0, 1.0, 0.1]), np.array([2.0, 4.0, 10.0])
    g = np.array([0.5, -0.25, -1.0])
    np.testing.assert_allclose(updated_gamma(gamma, omega, g), [0.2, 0.8, 0.0], atol=1e-15)


def test_omega_in_each_case() -> None:
    grow, shrink = 2 ** (1 / 40), 2 ** (-1 / 10)  # chi = sqrt(2), d_omega = 5
    omega = np.array([1.0, 100.0, 100.0])
    g, before = np.array([0.1, 1.0, 1.0]), np.array([1.0, 1.1, -1.0])
    # 0.01 < 3 / 2: weak. 5 * 0.1 < 1.1: g stands still. Neither: 100 > 1.5, 5 * 2 > 1.
    for change in (1.0, -1.0):
        new = updated_omega(omega, g, before, change, n=2)
        np.testing.assert_allclose(new, omega * [grow, grow, shrink])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_omega_at_the_edge_of_each_case(n: int) -> None:
    """omega g^2 < 3 |change| / n, or 5 |g - g_before| < |g_before|."""
    g, moved, change = np.ones(1), np.array([-1.0]), 2.0
    edge = 3 * change / n
    assert updated_omega(np.array([0.99 * edge]), g, moved, change, n) > 0.99 * edge
    assert updated_omega(np.array([1.01 * edge]), g, moved, change, n) < 1.01 * edge
    before = np.array([-3.0])
    assert updated_omega(np.ones(1), before + 0.59, before, 0.0, n) > 1
    assert updated_omega(np.ones(1), before + 0.61, before, 0.0, n) < 1
    assert updated_omega(np.ones(1), before - 0.59, before, 0.0, n) > 1
    assert updated_omega(np.ones(1), before - 0.61, before, 0.0, n) < 1


def test_four_growths_of_omega_undo_one_shrink() -> None:
    omega = np.ones(1)
    for _ in range(4):
        omega = updated_omega(omega, np.zeros(1), np.ones(1), 1.0, n=7)
    assert omega[0] > 1
    omega = updated_omega(omega, np.ones(1), -np.ones(1), 0.0, n=7)
    np.testing.assert_allclose(omega, 1)


def test_success_compares_with_the_thirtieth_percentile() -> None:
    before = np.arange(10.0)[::-1]  # the reference is the fourth best, 3
    assert success(np.full(10, -1.0), before) == pytest.approx(0.9)
    assert success(np.full(10, 3.0), before) == pytest.approx(-1.1)
    mixed = np.array([2.9] * 6 + [3.1] * 4)
    assert success(mixed, before) == pytest.approx(0.1)


def test_success_is_neutral_if_the_median_equals_the_reference() -> None:
    before = np.arange(7.0)  # the reference is the third best, 2
    assert success(np.array([0, 0, 1, 1, 5, 6, 7.0]), before) == 0
    assert success(np.array([0, 0, 1, 3, 5, 6, 7.0]), before) < 0


def test_any_result_is_a_success_after_failures() -> None:
    before = np.array([1.0, np.inf, np.inf, np.inf])
    assert success(np.array([5.0, 6.0, 7.0, 8.0]), before) == pytest.approx(0.75)


# -- adaptive penalty for bounds ---------------------------------------------------------------


def test_scaling_has_the_exponent_and_no_overall_size() -> None:
    np.testing.assert_allclose(scaling(np.array([4.0, 4.0, 4.0])), 1)
    xi = scaling(np.array([math.e, 1 / math.e]))
    np.testing.assert_allclose(xi, [math.exp(0.9), math.exp(-0.9)])
    np.testing.assert_allclose(scaling(1e6 * np.array([math.e, 1 / math.e])), xi)


def test_penalties_are_the_mean_of_weighted_scaled_squares() -> None:
    outside = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0], [-1.0, -2.0]])
    value = penalties(outside, np.array([1.0, 3.0]), np.array([0.5, 2.0]))
    np.testing.assert_allclose(value, [3, 1, 0, 4])


def test_initial_weights_compare_the_spread_of_f_with_that_of_x() -> None:
    weights = initial_weights(np.array([1.0, 50.0, 3.0]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(weights, [3, 3])


@pytest.mark.parametrize(("mu_eff", "factor"), [(1.0, 2.0), (2.0, 1.0), (4.0, 1.0)])
def test_the_mean_may_be_three_deviations_outside(mu_eff: float, factor: float) -> None:
    allowed = allowed_distance(np.array([1.0, 4.0, 0.25, 1.0]), 4, mu_eff)
    np.testing.assert_allclose(allowed, factor * np.array([3.0, 6.0, 1.5, 3.0]))


# -- step size of the active-set strategy -------------------------------------------------------


@pytest.mark.parametrize("free", [0, 1, 3, 8])
def test_step_size_is_neutral_for_one_success_in_five(free: int) -> None:
    up, down = step_size_change(True, free), step_size_change(False, free)
    assert up > 1 > down
    assert up * down**4 == pytest.approx(1)
    assert math.log(up) == pytest.approx(0.8 / math.sqrt(1 + free))


# -- rows as one-sided constraints --------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed() -> FeasibleSet:
    model = Model()
    x = model.variable("x", lower=-1)
    y = model.variable("y", lower=0, upper=2)
    model.subject_to(x + y <= 3, name="sum")
    model.subject_to(x - y == 0, name="same", tolerance=0.25)
    model.subject_to(ca.sqrt(y) + x, lower=-4, upper=4, name="root")
    return compile_model(model)


def test_sides_list_every_finite_limit_once(mixed: FeasibleSet) -> None:
    sides = RowSides(mixed)
    found = {
        (mixed.rows[j].name, sign, limit)
        for j, sign, limit in zip(
            sides.sides.index, sides.sides.sign, sides.sides.level, strict=True
        )
    }
    assert len(sides) == len(found)
    assert found == {
        ("bounds of x", -1.0, -1.0),
        ("bounds of y", -1.0, 0.0),
        ("bounds of y", 1.0, 2.0),
        ("sum", 1.0, 3.0),
        ("same", -1.0, -0.25),
        ("same", 1.0, 0.25),
        ("root", -1.0, -4.0),
        ("root", 1.0, 4.0),
    }


def by_name(fs: FeasibleSet, numbers: np.ndarray) -> dict[tuple[str, float], float]:
    sides = RowSides(fs)
    keys = [(fs.rows[j].name, s) for j, s in zip(sides.sides.index, sides.sides.sign, strict=True)]
    return dict(zip(keys, numbers.tolist(), strict=True))


def test_values_of_sides_are_positive_if_violated(mixed: FeasibleSet) -> None:
    point = np.array([[3.0, 1.0]])
    assert by_name(mixed, RowSides(mixed).values(point)[0]) == {
        ("bounds of x", -1.0): -4.0,
        ("bounds of y", -1.0): -1.0,
        ("bounds of y", 1.0): -1.0,
        ("sum", 1.0): 1.0,
        ("same", -1.0): -2.25,
        ("same", 1.0): 1.75,
        ("root", -1.0): -8.0,
        ("root", 1.0): 0.0,
    }
    violated = by_name(mixed, RowSides(mixed).violations(point)[0])
    assert {k: v for k, v in violated.items() if v > 0} == {("sum", 1.0): 1.0, ("same", 1.0): 1.75}


def test_undefined_rows_are_infinitely_violated(mixed: FeasibleSet) -> None:
    sides = RowSides(mixed)
    point = np.array([[0.0, -1.0], [0.0, 0.0]])
    assert np.isnan(by_name(mixed, sides.values(point)[0])["root", 1.0])
    violated = by_name(mixed, sides.violations(point)[0])
    assert violated["root", 1.0] == violated["root", -1.0] == np.inf
    assert violated["bounds of y", -1.0] == 1.0
    assert not sides.violations(point)[1].any()


def test_sides_agree_with_the_violations_of_the_rows(mixed: FeasibleSet) -> None:
    points = np.random.default_rng(3).uniform([-3, 0], [4, 3], (50, 2))
    largest = RowSides(mixed).violations(points).max(axis=1)
    np.testing.assert_allclose(largest, [mixed.violations(x).max() for x in points], rtol=1e-15)


def test_a_model_without_rows_has_no_sides() -> None:
    model = Model()
    model.variable("x", shape=2, start=0, scale=1)
    sides = RowSides(compile_model(model))
    assert sides.values(np.zeros((4, 2))).shape == (4, 0)
    assert sides.violations(np.zeros((4, 2))).shape == (4, 0)


# -- limits that are reached --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ([0.0, 1.0], set()),
        ([-1.0, 0.0], {("bounds of x", -1.0), ("bounds of y", -1.0)}),
        ([0.0, 2.0], {("bounds of y", 1.0)}),
        ([1.0, 2.0], {("bounds of y", 1.0), ("sum", 1.0)}),
        ([1.0 - 1e-9, 2.0 - 1e-9], {("bounds of y", 1.0), ("sum", 1.0)}),
        ([1.0 - 1e-4, 2.0 - 1e-4], set()),
    ],
)
def test_reached_limits_by_name_and_side(
    point: list[float], expected: set[tuple[str, float]]
) -> None:
    model = Model()
    x, y = model.variable("x", lower=-1, upper=9), model.variable("y", lower=0, upper=2)
    model.subject_to(x + y <= 3, name="sum")
    fs = compile_model(model)
    rows, sides = reached_limits(Repairer(fs), np.array(point), isotropic(point))
    assert {(fs.rows[j].name, s) for j, s in zip(rows, sides, strict=True)} == expected


@pytest.mark.parametrize(("value", "side"), [(1 - 2e-7, -1.0), (1 + 2e-7, 1.0), (1 + 5e-7, 1.0)])
def test_an_equality_is_held_at_its_nearer_limit(value: float, side: float) -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] == 1, name="line", tolerance=5e-7)
    fs = compile_model(model)
    point = np.array([value, 0.0])
    rows, sides = reached_limits(Repairer(fs), point, isotropic(point))
    assert [fs.rows[j].name for j in rows] == ["line"]
    assert sides.tolist() == [side]


def test_what_counts_as_reached_shrinks_with_the_step_size() -> None:
    model = Model()
    model.variable("x", lower=0, upper=9)
    repairer, point = Repairer(compile_model(model)), np.array([1e-8])
    assert len(reached_limits(repairer, point, isotropic(point, 1.0))[0]) == 1
    assert len(reached_limits(repairer, point, isotropic(point, 1e-3))[0]) == 0


def test_an_infinitely_steep_row_does_not_hide_the_others() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=5)
    model.subject_to(ca.sqrt(x[0]) + x[1] >= 1, name="root")
    fs = compile_model(model)
    point = np.array([0.0, 1.0])
    rows, sides = reached_limits(Repairer(fs), point, isotropic(point))
    found = {(fs.rows[j].name, s) for j, s in zip(rows, sides, strict=True)}
    assert found == {("bounds of x[0]", -1.0), ("root", -1.0)}
