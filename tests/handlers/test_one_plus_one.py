"""The (1+1)-CMA-ES with active constraint handling: its rules, and problems of its literature.

TR2 and 2.41 are among the problems of Arnold and Hansen (2012, doi:10.1145/2330163.2330207).
Their figures could not be had: the ceilings are twice what runs of ours need.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from handlers_helpers import Watching, bowl, box, isotropic, settings_of, solved, wedge

from archeng import Design, Model, StopReason
from archeng.handlers.one_plus_one import (
    OnePlusOne,
    OnePlusOneSearch,
    bad_step_weight,
    rank_one,
    step_size_change,
    updated_path,
)
from archeng.model import FeasibleSet, compile_model
from archeng.outcomes import Outcomes
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler

# -- the rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.3, -0.05])
def test_a_factor_of_the_covariance_matrix_with_a_rank_one_update(weight: float) -> None:
    rng = np.random.default_rng(1)
    A, w = rng.standard_normal((4, 4)), rng.standard_normal(4)
    M = rank_one(w, weight)
    expected = (1 - weight) * A @ A.T + weight * np.outer(A @ w, A @ w)
    np.testing.assert_allclose(A @ M @ M.T @ A.T, expected)


def test_bad_steps_leave_the_covariance_matrix_positive_definite() -> None:
    assert bad_step_weight(np.full(4, 0.1)) == pytest.approx(0.4 / (4**1.6 + 1))
    for length in (0.5, 2.0, 10.0, 1e4):
        unit, across = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
        M = rank_one(length * unit, -bad_step_weight(length * unit))
        C = M @ M.T
        assert 0.4 < unit @ C @ unit < across @ C @ across  # less variance along the step


def test_two_successes_in_eleven_keep_the_step_size() -> None:
    assert step_size_change(2 / 11, 6) == 1.0
    assert step_size_change(1.0, 6) == pytest.approx(np.exp(1 / 4))  # d = 1 + n / 2
    assert step_size_change(0.0, 6) == pytest.approx(np.exp(-2 / 9 / 4))


def test_the_path_of_many_equal_steps_is_longer_than_a_step() -> None:
    path = np.zeros(6)
    for _ in range(100):
        path = updated_path(path, np.eye(6)[0])
    c = 2 / 8
    np.testing.assert_allclose(path, np.sqrt((2 - c) / c) * np.eye(6)[0])


def parent_at(
    fs: FeasibleSet, x: list[float], objective: float
) -> tuple[OnePlusOne, OnePlusOneSearch]:
    settings = settings_of("one-plus-one-ach")
    repairer, distribution = Repairer(fs, settings), isotropic(x)
    handler = make_handler(repairer, repairer, settings, distribution)
    assert isinstance(handler, OnePlusOne)
    rng = np.random.default_rng(0)
    search = handler.init(distribution, distribution.mean, None)
    search, population = handler.ask(search, rng, None)
    np.testing.assert_array_equal(population.repairs[0].x, x)  # the parent is simulated first
    return handler, handler.tell(search, population, Outcomes(np.array([objective])), None, rng)


def test_offspring_that_violate_a_limit_narrow_the_search_along_its_normal() -> None:
    """At a bound half of the offspring are beyond it; none of them is a candidate."""
    fs = compile_model(box(3, 1))
    handler, search = parent_at(fs, [1.0, 3.0, 3.0], 19.0)
    rng = np.random.default_rng(3)
    for _ in range(40):
        search, population = handler.ask(search, rng, None)
        assert population.repairs[0].feasible
        search = handler.tell(search, population, Outcomes(np.array([99.0])), None, rng)
    vectors = search.vectors
    (learned,) = np.flatnonzero(np.any(vectors != 0, axis=1))
    assert vectors[learned, 0] < 0
    assert abs(vectors[learned, 0]) > np.abs(vectors[learned, 1:]).max()
    variances = np.diag(search.distribution.covariance)
    assert variances[0] < 0.6 * variances[1:].min()
    np.testing.assert_array_equal(search.distribution.mean, [1.0, 3.0, 3.0])


def test_an_offspring_that_is_as_good_is_the_parent() -> None:
    fs = compile_model(box(2, 0))
    handler, search = parent_at(fs, [2.0, 2.0], 8.0)
    rng = np.random.default_rng(1)
    asked, population = handler.ask(search, rng, None)
    x = population.repairs[0].x
    for value, accepted in (8.0, True), (8.1, False), (np.nan, False), (np.inf, False):
        after = handler.tell(asked, population, Outcomes(np.array([value])), None, rng)
        np.testing.assert_array_equal(after.distribution.mean, x if accepted else [2.0, 2.0])
        assert (after.distribution.sigma > asked.distribution.sigma) == accepted
        np.testing.assert_array_equal(after.ancestors, [8.0, 8.0] if accepted else [8.0])


def test_worse_than_the_fifth_ancestor_is_a_bad_step() -> None:
    fs = compile_model(box(2, 0))
    handler, search = parent_at(fs, [2.0, 2.0], 50.0)
    rng = np.random.default_rng(2)
    for value in (40.0, 30.0, 20.0, 10.0):
        search, population = handler.ask(search, rng, None)
        search = handler.tell(search, population, Outcomes(np.array([value])), None, rng)
    np.testing.assert_array_equal(search.ancestors, [50.0, 40.0, 30.0, 20.0, 10.0])
    asked, population = handler.ask(search, rng, None)
    z = asked.distribution.whiten(population.repairs[0].x - asked.distribution.mean)
    for value, bad in (49.0, False), (51.0, True), (np.nan, True):
        after = handler.tell(asked, population, Outcomes(np.array([value])), None, rng)
        change = np.linalg.det(after.distribution.factor) / np.linalg.det(asked.distribution.factor)
        expected = np.linalg.det(rank_one(z, -bad_step_weight(z))) if bad else 1.0
        assert change == pytest.approx(expected)


# -- problems of its literature -----------------------------------------------------------------


def tangent() -> Model:
    """TR2: a sphere, cut by a line with which its level lines are tangent at the optimum."""
    model = Model("TR2")
    x = model.variable("x", shape=2, start=50.0, scale=1.0)
    model.subject_to(x[0] + x[1] >= 2, name="line")
    return model


def schwefel() -> Model:
    """2.41: a linear program; the optimum is a vertex."""
    model = Model("schwefel")
    x = model.variable("x", shape=5, lower=0, upper=1e5, start=250.0, scale=1.0)
    model.subject_to(sum((10 + i) * x[i] for i in range(5)) <= 50_000, name="resource")
    return model


def gain(design: Design) -> float:
    return -float(np.arange(1, 6) @ design.x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "objective", "best", "ceiling"),
    [(tangent, bowl, 2.0, 900), (schwefel, gain, -125000 / 7, 4500)],
    ids=["TR2", "2.41"],
)
def test_problems_that_stop_other_strategies_too_early(
    make: Callable[[], Model], objective: Callable[[Design], float], best: float, ceiling: int
) -> None:
    watching = Watching(make())

    def simulator(design: Design) -> float:
        watching(design)
        return objective(design)

    result = solved(
        "one-plus-one-ach",
        make(),
        simulator=simulator,
        target=best + 1e-8 * abs(best),
        max_evaluations=ceiling,
        seed=2,
        changes={"stop_tests": False},
    )
    assert result.stop_reason is StopReason.TARGET
    assert best <= result.fun <= best + 1e-8 * abs(best)
    assert watching.violations == [0.0] * result.nfev


@pytest.mark.slow
def test_only_whether_limits_are_violated_matters() -> None:
    """The same limits, one of them as a cube: the same run, but for rounding."""

    def cubed() -> Model:
        model = Model("wedge")
        x = model.variable("x", shape=3, lower=-5, upper=5, start=2.0, scale=1.0)
        model.subject_to((2 * x[0] + x[1] - 3) ** 3 >= 0, name="steep")
        model.subject_to(x[0] + 2 * x[1] >= 3, name="flat")
        model.subject_to(x[0] + x[1] + x[2] <= 8, name="slack")
        return model

    one, two = (
        solved("one-plus-one-ach", make(), max_evaluations=80, changes={"stop_tests": False})
        for make in (wedge, cubed)
    )
    for a, b in zip(one.evaluations, two.evaluations, strict=True):
        np.testing.assert_allclose(b.x, a.x, rtol=1e-6, atol=1e-6)
