"""What MA-ES with active handling, lcCMSA-ES and the lexicographic orders do in a generation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import (
    Vector,
    Watching,
    bowl,
    box,
    circle,
    isotropic,
    lens,
    settings_of,
    solved,
    wedge,
)
from scipy.optimize import linprog

from archeng import Model, Run, StopReason
from archeng.errors import SettingsError
from archeng.handlers import linear_self_adaptation as lc
from archeng.handlers import matrix_adaptation as ma
from archeng.handlers import orders
from archeng.handlers.base import RowSides
from archeng.model import compile_model
from archeng.outcomes import Outcomes
from archeng.repair import Repairer, RepairKind
from archeng.runner.handlers import make_handler
from archeng.strategy import (
    History,
    default_parameters,
    initial_state,
    stop_reasons,
    with_factor,
)


def handler_of(name: Any, model: Model, **changes: Any) -> Any:
    settings = settings_of(name, **changes)
    repairer = Repairer(compile_model(model), settings)
    return make_handler(repairer, repairer, settings, isotropic(np.zeros(repairer.feasible_set.n)))


def generation(name: Any, model: Model, mean: Any, sigma: float = 1.0, seed: int = 0) -> Any:
    """A handler, its search, and the candidates of its first generation."""
    handler, mean = handler_of(name, model), np.asarray(mean, dtype=float)
    search = handler.init(isotropic(mean, sigma), mean, 8)
    rng = np.random.default_rng(seed)
    search, population = handler.ask(search, rng, None)
    return handler, search, population, rng


def outcomes_of(population: Any) -> Outcomes:
    """The bowl, at feasible designs only."""
    f = [float(r.x @ r.x) if r.feasible else np.nan for r in population.repairs]
    return Outcomes(np.array(f))


# -- MA-ES with active constraint handling ----------------------------------------------------


def test_too_few_feasible_candidates_shrink_the_matrix_and_move_nothing() -> None:
    handler, search, population, rng = generation("ma-es-ach", box(3, 3), [1.0, 1.0, 1.0])
    feasible = sum(r.feasible for r in population.repairs[:-1])
    assert feasible < 4  # of eight, all in one octant
    assert population.repairs[-1].feasible  # the mean
    after = handler.tell(search, population, outcomes_of(population), None, rng)
    np.testing.assert_array_equal(after.distribution.mean, search.distribution.mean)
    assert after.distribution.sigma == search.distribution.sigma
    M = after.distribution.factor
    assert np.linalg.det(M) < 1
    lower = RowSides(compile_model(box(3, 3))).sides.sign < 0
    seen = after.vectors[lower].diagonal()  # the lower bound of x_i is violated by z_i < 0
    assert np.all(seen < 0)
    assert np.all(after.vectors[~lower] == 0)


def test_the_matrix_shrinks_along_a_vector_by_the_published_amount() -> None:
    v = np.array([3.0, 4.0, 0.0])
    M = ma.shrunk(np.eye(3), v[None])
    np.testing.assert_allclose(M @ v, (1 - 0.1 / 5 * 25) * v)
    np.testing.assert_allclose(M @ [4, -3, 1], [4, -3, 1])


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_negative_weights_are_bounded_and_positive_ones_are_those_of_cmaes(n: int) -> None:
    size = 4 + int(3 * np.log(n))
    w, p = ma.signed_weights(n, size), default_parameters(n, size)
    np.testing.assert_array_equal(w[: size // 2], p.weights)
    assert np.all(w[size // 2 :] <= 0)
    assert np.all(np.diff(w) <= 0)
    assert -w[size // 2 :].sum() <= (1 - p.c_1 - p.c_mu) / (n * p.c_mu) + 1e-12


def test_an_infeasible_mean_is_replaced_by_the_best_candidate() -> None:
    """Feasible are the points outside of a ball: the mean of points around it is inside."""
    model = Model("ring")
    x = model.variable("x", shape=2, lower=-9, upper=9, start=[1.1, 0.0], scale=1.0)
    model.subject_to(ca.sumsqr(x) >= 1, name="outside")
    checked = 0
    for seed in range(40):
        handler, search, population, rng = generation("ma-es-ach", model, [1.1, 0.0], 2.0, seed)
        outcomes = outcomes_of(population)
        f = outcomes.objectives
        best = np.argsort(np.where(np.isnan(f[:-1]), np.inf, f[:-1]))[:4]
        centre = search.parameters.weights @ population.sampled[best]
        if np.isnan(f[best]).any() or centre @ centre >= 1:
            continue
        checked += 1
        after = handler.tell(search, population, outcomes, None, rng)
        better = f[best[0]] < f[-1]
        expected = population.sampled[best[0]] if better else search.distribution.mean
        np.testing.assert_array_equal(after.distribution.mean, expected)
        assert (after.distribution.sigma != search.distribution.sigma) == better
    assert checked > 3


def test_the_step_size_is_damped_for_large_populations_only() -> None:
    path = np.array([3.0, -4.0, 1.0, 0.0, 2.0])  # |s|^2 = 30
    p = default_parameters(5)
    assert ma.step_size_change(path, p) == pytest.approx(np.exp(p.c_sigma / 2 * 5))
    p = default_parameters(5, 200)
    damping = 2 * np.sqrt((p.mu_eff - 1) / 6) - 1
    assert damping > 4
    assert ma.step_size_change(path, p) == pytest.approx(np.exp(p.c_sigma / 2 * 5 / damping))


def test_a_large_population_converges_where_bounds_are_active() -> None:
    run = Run(
        box(5, 3),
        bowl,
        seed=0,
        population_size=64,
        max_evaluations=2500,
        target=3 + 1e-2,
        settings=settings_of("ma-es-ach"),
    )
    run.step()
    assert run.distribution.sigma < 5  # of 1 before; without damping 12
    assert run.run().stop_reason is StopReason.TARGET


def test_no_axis_of_the_matrix_is_lost_in_rounding() -> None:
    handler, search, population, rng = generation("ma-es-ach", box(3, 3), [1.0, 1.0, 1.0])
    thin = with_factor(search.state, np.diag([1.0, 1.0, 1e-14]))
    after = handler.tell(
        replace(search, state=thin), population, outcomes_of(population), None, rng
    )
    axes = np.linalg.svd(after.distribution.factor, compute_uv=False)
    assert axes[-1] == pytest.approx(1e-12 * axes[0], rel=1e-3)


@pytest.mark.slow
def test_active_handling_reaches_an_optimum_on_a_curved_boundary() -> None:
    """x + y on the lens is least where sqrt(x) + y = 1 is steepest: 3/4 at (1/4, 1/2)."""
    simulator = Watching(lens())

    def total(design: Any) -> float:
        simulator(design)
        return float(np.sum(design.x))

    result = solved(
        "ma-es-ach", lens(), simulator=total, target=0.75 + 1e-6, max_evaluations=1000, seed=1
    )
    assert result.stop_reason is StopReason.TARGET
    np.testing.assert_allclose(result.x, [0.25, 0.5], atol=3e-3)
    assert set(simulator.violations) == {0.0}


# -- lcCMSA-ES --------------------------------------------------------------------------------


def blend() -> Model:
    """Fractions that sum to one, two of them in a fixed ratio."""
    model = Model("blend")
    f = model.variable("f", shape=5, lower=0, upper=1, start=0.2, scale=0.2)
    model.subject_to(ca.sum1(f) == 1, name="sum", tolerance=1e-6)
    model.subject_to(f[0] == 2 * f[1], name="ratio", tolerance=1e-6)
    model.subject_to(f[2] + f[3] <= 0.6, name="share")
    return model


def test_steps_stay_in_the_null_space_of_the_equalities() -> None:
    mean = np.array([0.2, 0.1, 0.2, 0.2, 0.3])
    _, search, population, _ = generation("lccmsa-es", blend(), mean, 0.05)
    assert search.basis.shape == (5, 3)
    assert len(population.repairs) == 4 * 5  # lambda = 4 n
    for x in population.sampled:
        assert x.sum() == pytest.approx(1, abs=1e-12)
        assert x[0] == pytest.approx(2 * x[1], abs=1e-12)
    assert len(np.unique(search.step_sizes)) == len(population.sampled)
    assert {r.kind for r in population.repairs} <= {RepairKind.FEASIBLE, RepairKind.NEAREST}
    assert all(r.feasible for r in population.repairs)


def test_infeasible_candidates_are_projected_to_the_nearest_point() -> None:
    _, _, population, _ = generation("lccmsa-es", box(3, 3), [1.5, 1.5, 1.5])
    moved = 0
    for x, repair in zip(population.sampled, population.repairs, strict=True):
        nearest = np.clip(x, 1, 5)
        moved += not np.array_equal(nearest, x)
        np.testing.assert_allclose(repair.x, nearest, atol=1e-9)
    assert moved > 3


def test_the_mean_of_the_best_is_learned_and_their_step_sizes_too() -> None:
    handler, search, population, rng = generation("lccmsa-es", box(3, 3), [1.5, 1.5, 1.5])
    after = handler.tell(search, population, outcomes_of(population), None, rng)
    f = [r.x @ r.x for r in population.repairs]
    best = np.argsort(f)[: len(f) // 4]
    points = np.array([population.repairs[i].x for i in best])
    np.testing.assert_allclose(after.distribution.mean, points.mean(axis=0), rtol=1e-12)
    assert after.distribution.sigma == pytest.approx(search.step_sizes[best].mean())
    s = (points - 1.5) / search.step_sizes[best][:, None]
    rate = 1 / lc.tau_c(3, len(best))
    C = (1 - rate) * np.eye(3) + rate * s.T @ s / len(best)
    expected = C / np.linalg.det(C) ** (1 / 3)
    np.testing.assert_allclose(after.distribution.covariance, expected, rtol=1e-9)
    np.testing.assert_allclose(after.spread, expected, rtol=1e-9)


def test_nothing_is_learned_from_a_generation_without_objectives() -> None:
    handler, search, population, rng = generation("lccmsa-es", box(3, 3), [1.5, 1.5, 1.5])
    failed = Outcomes(np.full(len(population.repairs), np.nan))
    after = handler.tell(search, population, failed, None, rng)
    np.testing.assert_array_equal(after.distribution.mean, search.distribution.mean)
    np.testing.assert_array_equal(after.spread, search.spread)
    assert after.distribution.sigma == search.distribution.sigma
    assert after.state.generation == search.state.generation + 1


@pytest.mark.parametrize(("given", "size"), [("auto", 4 * 5), (10, 10)])
def test_a_population_size_of_the_user_is_kept(given: Any, size: int) -> None:
    options = {"seed": 0, "settings": settings_of("lccmsa-es")}
    run = Run(box(5, 3), bowl, population_size=given, **options)
    assert run.state.search.population_size == size
    run.close()


@pytest.mark.parametrize("rows", [0, 1, 2, 4])
def test_the_null_space_does_not_depend_on_the_units_of_the_rows(rows: int) -> None:
    A = np.random.default_rng(rows).standard_normal((rows, 4))
    B = lc.null_space(A)
    assert B.shape == (4, 4 - rows)
    np.testing.assert_allclose(A @ B, 0, atol=1e-14)
    np.testing.assert_allclose(B.T @ B, np.eye(4 - rows), atol=1e-14)
    factors = np.array([1e6, 1e-3, 7.0, 2.0])[:rows, None]
    np.testing.assert_allclose(lc.null_space(factors * A), B, atol=1e-12)
    if rows:
        np.testing.assert_allclose(lc.null_space(np.vstack((A, A.sum(axis=0)))), B, atol=1e-12)


def test_the_root_has_determinant_one_and_a_bounded_condition() -> None:
    root = lc.normalised_root(np.diag([1e-20, 1.0, 4.0]))
    assert np.linalg.det(root) == pytest.approx(1, rel=1e-6)
    assert np.linalg.cond(root) ** 2 <= 1.01e12
    np.testing.assert_array_equal(lc.normalised_root(np.zeros((2, 2))), np.eye(2))


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5])
def test_the_klee_minty_cube_is_solved(n: int) -> None:
    """The problem of the publication: a cube so skewed that the simplex method visits it all."""
    model = Model("Klee and Minty")
    limits = 5.0 ** np.arange(1, n + 1)
    x = model.variable("x", shape=n, lower=0, upper=limits, start=0.1, scale=limits / 10)
    A = np.eye(n) + np.array([[2.0 ** (i - j + 1) * (j < i) for j in range(n)] for i in range(n)])
    model.subject_to(ca.DM(A) @ x, upper=limits, name="faces")
    cost = -(2.0 ** np.arange(n - 1, -1, -1))
    known = linprog(cost, A_ub=A, b_ub=limits)
    assert known.fun == pytest.approx(-(5.0**n))
    result = solved(
        "lccmsa-es",
        model,
        simulator=lambda d: float(cost @ d.x),
        target=known.fun * (1 - 1e-6),
        max_evaluations=4000,
        seed=1,
    )
    assert result.stop_reason is StopReason.TARGET
    assert result.n_infeasible_calls == 0
    assert result.fun >= known.fun * (1 + 1e-9)


@pytest.mark.slow
def test_the_best_blend_is_found_and_no_call_leaves_the_equalities() -> None:
    simulator = Watching(blend())
    goal = np.array([0.4, 0.1, 0.3, 0.5, 0.0])

    def distance(design: Any) -> float:
        simulator(design)
        return float(np.sum((design.x - goal) ** 2))

    expected = solved("arch", blend(), simulator=distance, max_evaluations=2500, seed=1)
    result = solved(
        "lccmsa-es",
        blend(),
        simulator=distance,
        target=expected.fun + 1e-6,
        max_evaluations=2500,
        seed=1,
    )
    assert result.stop_reason is StopReason.TARGET
    assert set(simulator.violations) == {0.0}


# -- lexicographic orders ---------------------------------------------------------------------


def test_feasible_candidates_are_ordered_by_f_and_others_by_violation() -> None:
    f = np.array([5.0, 1.0, 9.0, 2.0, 3.0])
    violation = np.array([0.0, 0.3, 0.0, 0.1, 7.0])
    assert orders.lexicographic_order(f, violation, 0.0).tolist() == [0, 2, 3, 1, 4]
    assert orders.lexicographic_order(f, violation, 0.1).tolist() == [3, 0, 2, 1, 4]
    assert orders.lexicographic_order(f, violation, 0.3).tolist() == [1, 3, 0, 2, 4]
    assert orders.lexicographic_order(f, violation, 9.0).tolist() == [1, 3, 4, 0, 2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lexicographic", [2, 3, 1, 0, 4]),  # f of infeasible candidates is not known
        ("epsilon-lexicographic", [2, 3, 1, 0, 4]),
        ("mu-lambda-ach", [2, 1, 3, 0, 4]),
    ],
)
def test_calls_that_failed_come_after_infeasible_candidates(name: Any, expected: list[int]) -> None:
    handler, search, _, rng = generation(name, box(2, 2), [1.0, 1.0])
    f = np.array([np.inf, 1.0, 2.0, 3.0, np.inf])
    if name == "lexicographic":
        f[[1, 3]] = np.inf
    violations = np.array([[0, 0], [0, 2.0], [0, 0], [1.0, 0], [0, 0]])
    assert handler._order(search, f, violations, rng).tolist() == expected
    if name != "lexicographic":  # where all failed, feasible candidates still come first
        nothing = np.full(5, np.inf)
        assert set(handler._order(search, nothing, violations, rng)[:3]) == {0, 2, 4}


def test_a_lower_limit_of_an_infinite_row_is_violated() -> None:
    model = Model("pole")
    x = model.variable("x", lower=-1, upper=1, start=0.5, scale=0.1)
    model.subject_to(1 / x >= 1, name="pole")
    fs = compile_model(model)
    pole = np.zeros((1, 1))
    assert fs.violations(pole[0]).max() == np.inf
    assert RowSides(fs).violations(pole).max() == np.inf


@pytest.mark.parametrize(("n", "size"), [(1, 4), (2, 6), (3, 7), (10, 10), (4, 128)])
def test_the_level_is_zero_in_the_second_half_of_a_restart(n: int, size: int) -> None:
    """The stopping test is asked, so that both have the same number of generations."""
    state, p = initial_state(isotropic(np.zeros(n))), default_parameters(n, size)
    most = int(np.ceil(2 * orders.latest_end(n, size)))
    for generation, ended in ((most - 1, False), (most, True)):
        now = replace(state, generation=generation)
        reasons = stop_reasons(now, p, History(), 1.0, settings_of("epsilon-lexicographic"))
        assert (StopReason.MAX_ITERATIONS in reasons) == ended


def test_the_epsilon_order_finds_feasible_designs_with_its_defaults() -> None:
    model = Model("line")
    x = model.variable("x", shape=2, lower=-5, upper=5, start=2.0, scale=0.5)
    model.subject_to(x[0] + x[1] == 2, name="sum")
    result = solved("epsilon-lexicographic", model, target=2 + 1e-3, max_evaluations=2500, seed=0)
    assert result.stop_reason is StopReason.TARGET


def test_a_level_that_is_asked_for_is_kept_without_stopping_tests() -> None:
    handlers = [
        handler_of("epsilon-lexicographic", wedge(), stop_tests=stop_tests)
        for stop_tests in (True, False)
    ]
    f, violations = np.array([1.0, 2.0]), np.array([[0.2], [0.0]])
    found = []
    for handler in handlers:
        search = handler.init(isotropic(np.ones(3)), np.ones(3), 8)
        late = replace(search.state, generation=400)  # of 780, and of 1000
        search = replace(search, state=late, first_level=1.0)
        found.append(handler._order(search, f, violations, None).tolist())
    assert found == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["resampling", "mu-lambda-ach", "ma-es-ach"])
def test_refused_equalities_are_named(name: Any) -> None:
    with pytest.raises(SettingsError, match=r"inequalities only: no sample satisfies .*circle"):
        handler_of(name, circle())


def test_the_level_falls_to_zero() -> None:
    levels = [orders.level(1.0, t, 100) for t in range(102)]
    assert levels[0] == 1
    np.testing.assert_allclose(levels[50], 0.5**3)  # gamma is at least 3
    assert np.all(np.diff(levels[:101]) < 0)
    assert levels[100] == levels[101] == 0
    # a level that starts high falls faster: it is exp(-5) after 95 % of the generations
    assert orders.level(1e6, 95, 100) == pytest.approx(np.exp(-5))
    assert orders.level(0.0, 0, 100) == 0


def test_the_first_level_is_the_mean_of_the_least_violations() -> None:
    violation = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1e9])
    assert orders.first_level(violation) == pytest.approx(4.0)
    assert orders.first_level(np.full(4, np.inf)) == 0


def test_infeasible_candidates_are_not_simulated_by_the_lexicographic_order() -> None:
    handler, search, population, rng = generation("lexicographic", wedge(), [-1.0, -1.0, -1.0])
    assert not handler.outside
    assert {r.kind for r in population.repairs} == {RepairKind.UNREPAIRED}
    after = handler.tell(search, population, Outcomes(np.full(8, np.nan)), None, rng)
    total = RowSides(compile_model(wedge())).violations(population.sampled).sum(axis=1)
    best = np.argsort(total)[: len(search.parameters.weights)]
    expected = search.parameters.weights @ population.sampled[best]
    np.testing.assert_allclose(after.distribution.mean, expected, rtol=1e-12)


def test_units_of_a_row_change_the_order_of_infeasible_candidates() -> None:
    """The sum of violations is no order that increasing maps of single constraints keep."""
    violations = np.array([[1.0, 0.0], [0.0, 2.0]])
    f = np.zeros(2)
    one = orders.lexicographic_order(f, orders.mean_violation(violations), 0.0)
    two = orders.lexicographic_order(f, orders.mean_violation(violations * [4, 1]), 0.0)
    assert one.tolist() == two.tolist()[::-1]


def test_the_epsilon_order_looks_at_f_of_slightly_infeasible_candidates() -> None:
    handler, search, population, rng = generation("epsilon-lexicographic", wedge(), [1.0, 1.0, 1.0])
    f = np.sum(population.sampled**2, axis=1)
    after = handler.tell(search, population, Outcomes(f), None, rng)
    nu = orders.mean_violation(RowSides(compile_model(wedge())).violations(population.sampled))
    assert after.first_level == pytest.approx(np.sort(nu)[:8].mean())  # 90 % of 8, rounded up
    best = np.lexsort((f, np.where(nu <= after.first_level, 0, nu)))
    assert best.tolist() != np.lexsort((f, nu)).tolist()
    weights = search.parameters.weights
    expected = weights @ population.sampled[best[: len(weights)]]
    np.testing.assert_allclose(after.distribution.mean, expected, rtol=1e-12)
    later = replace(after, state=replace(after.state, generation=1000))
    later, population = handler.ask(later, rng, None)
    f = np.sum(population.sampled**2, axis=1)
    final = handler.tell(later, population, Outcomes(f), None, rng)
    nu = orders.mean_violation(RowSides(compile_model(wedge())).violations(population.sampled))
    expected = weights @ population.sampled[np.lexsort((f, nu))[: len(weights)]]
    np.testing.assert_allclose(final.distribution.mean, expected, rtol=1e-12)


@pytest.mark.slow
def test_the_epsilon_order_ends_at_feasible_designs() -> None:
    settings = settings_of(
        "epsilon-lexicographic", handler_options={"epsilon_generations": 60}, stop_tests=False
    )
    run = Run(circle(), bowl, seed=1, max_evaluations=2000, settings=settings)
    run.run()
    mean: Vector = run.distribution.mean
    assert run.state.search.first_level > 0
    assert abs(mean @ mean - 3) < 1e-3
