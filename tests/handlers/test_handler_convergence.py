"""What is known of each method: where it converges, how fast, and to what."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import (
    OUTSIDE,
    SEARCHES,
    SearchName,
    assert_same,
    bowl,
    box,
    box_optimum,
    circle,
    designs,
    model_for,
    settings_of,
    solved,
    upside_down,
    wedge,
)
from scipy.optimize import linprog

import archeng
from archeng import Design, Model, Result, Run, Status, StopReason
from archeng.handlers.base import RowSides

pytestmark = pytest.mark.slow

QUICK = {"epsilon-lexicographic": {"handler_options": {"epsilon_generations": 100}}}
AXES = np.array([1.0, 10.0, 100.0, 1000.0])


def ellipsoid(design: Design) -> float:
    return float(AXES @ design.x**2)


def assert_feasible(result: Result) -> None:
    """The design of the result satisfies every bound, and the rows say so."""
    for v in result.variables:
        assert np.all((result.x >= v.lower) & (result.x <= v.upper))
    assert all(r.lower <= r.value <= r.upper for r in result.rows)


# -- spheres and ellipsoids ---------------------------------------------------------------------


@pytest.mark.parametrize("handler", SEARCHES)
def test_the_unconstrained_sphere(handler: SearchName) -> None:
    ceiling = {"al": 1200, "active-set-es": 400}.get(handler, 800)
    model = Model("free")
    model.variable("x", shape=4, start=3.0, scale=1.0)
    result = solved(handler, model, target=1e-5, max_evaluations=ceiling)
    assert result.stop_reason is StopReason.TARGET
    assert result.n_infeasible_calls == 0


@pytest.mark.parametrize("handler", SEARCHES)
def test_the_sphere_inside_of_slack_rows(handler: SearchName) -> None:
    """Rows that do not matter at the optimum cost next to nothing."""
    model = box(4, 0)
    if handler != "ap-bch":
        x = model.symbols
        model.subject_to(x[0] + x[1] + x[2] + x[3] <= 15, name="far")
        if handler != "lccmsa-es":
            model.subject_to(ca.sumsqr(x) <= 90, name="ball")
    ceiling = {"al": 1300, "active-set-es": 500}.get(handler, 900)
    result = solved(handler, model, target=1e-5, max_evaluations=ceiling)
    assert result.stop_reason is StopReason.TARGET
    assert_feasible(result)


@pytest.mark.parametrize(
    ("handler", "objective", "ceiling"),
    [
        ("arch", bowl, 900),
        ("arch", ellipsoid, 2000),
        ("assisted", bowl, 100),
        ("assisted", ellipsoid, 200),
        ("arch-nearest", bowl, 2500),
        ("resampling", bowl, 2800),
        ("death-penalty", bowl, 3000),
        ("ap-bch", bowl, 1100),
        ("ap-bch", ellipsoid, 2000),
        ("mcr", bowl, 5000),
        ("mcr", ellipsoid, 5000),
        ("active-set-es", bowl, 400),
        ("lccmsa-es", bowl, 1500),
        ("lccmsa-es", ellipsoid, 2000),
        ("ma-es-ach", bowl, 2000),
        ("ma-es-ach", ellipsoid, 3000),
        ("lexicographic", bowl, 2000),
        ("lexicographic", ellipsoid, 2500),
        ("epsilon-lexicographic", bowl, 3000),
        ("epsilon-lexicographic", ellipsoid, 4000),
        ("xcma-es-ach", bowl, 1500),
        ("xcma-es-ach", ellipsoid, 2000),
        ("mu-lambda-ach", bowl, 2500),
        ("mu-lambda-ach", ellipsoid, 3000),
        ("one-plus-one-ach", bowl, 1500),
        ("one-plus-one-ach", ellipsoid, 1800),
    ],
)
def test_active_bounds(
    handler: SearchName, objective: Callable[[Design], float], ceiling: int
) -> None:
    optimum = box_optimum(4, 2)
    best = float((AXES if objective is ellipsoid else np.ones(4)) @ optimum**2)
    result = solved(
        handler,
        box(4, 2),
        simulator=objective,
        target=best + 1e-5,
        max_evaluations=ceiling,
        seed=1,
        changes=QUICK.get(handler, {}),
    )
    assert result.stop_reason is StopReason.TARGET
    assert best <= result.fun <= best + 1e-5
    assert result.nfev <= ceiling
    np.testing.assert_allclose(result.x, optimum, atol=4e-3)
    assert_feasible(result)
    assert (result.n_infeasible_calls > 0) == (handler in OUTSIDE)


@pytest.mark.parametrize(("handler", "gap"), [("al", 0.1), ("stochastic-ranking", 0.03)])
def test_the_best_feasible_design_of_others_is_near_the_optimum(
    handler: SearchName, gap: float
) -> None:
    """AL approaches the optimum from outside, so its feasible designs are few and not the best."""
    result = solved(handler, box(4, 2), max_evaluations=2500, seed=1)
    assert 2 <= result.fun < 2 + gap
    assert_feasible(result)
    assert result.n_infeasible_calls > 0


@pytest.mark.parametrize(
    "handler",
    [
        "arch",
        "assisted",
        "mcr",
        "active-set-es",
        "lccmsa-es",
        "ma-es-ach",
        "one-plus-one-ach",
        "xcma-es-ach",
        "mu-lambda-ach",
        "lexicographic",
    ],
)
def test_linear_rows_in_the_corner_of_a_wedge(handler: SearchName) -> None:
    result = solved(handler, wedge(), target=2 + 1e-4, max_evaluations=5000, seed=2)
    assert result.stop_reason is StopReason.TARGET
    np.testing.assert_allclose(result.x, [1, 1, 0], atol=2e-2)
    assert_feasible(result)


@pytest.mark.parametrize("handler", ["arch", "assisted", "active-set-es"])
def test_a_nonlinear_equality(handler: SearchName) -> None:
    def distance(design: Design) -> float:
        return float(np.sum((design.x - [2.0, 1.0, 0.0]) ** 2))

    best = (np.sqrt(5) - np.sqrt(3)) ** 2  # on the sphere with the radius of the root of 3
    result = solved(handler, circle(), simulator=distance, target=best + 1e-4, max_evaluations=900)
    assert result.stop_reason is StopReason.TARGET
    assert abs(result.x @ result.x - 3) <= 1e-4
    assert result.n_infeasible_calls == 0


@pytest.mark.parametrize(
    "handler", ["arch", "assisted", "resampling", "ap-bch", "active-set-es", "one-plus-one-ach"]
)
def test_a_search_that_has_converged_says_so(handler: SearchName) -> None:
    changes = {"tol_objective": 1e-8, "tol_x": 1e-8}
    results = [
        solved(handler, box(2, 1), max_evaluations=4000, changes=changes, seed=seed)
        for seed in range(1, 7)
    ]
    assert all(r.stop_reason is not StopReason.MAX_EVALUATIONS for r in results)
    assert all(r.fun < 1 + 1e-6 for r in results)
    converged = [r for r in results if r.status is Status.CONVERGED]
    assert len(converged) >= 2  # rounding decides about a third, on each processor otherwise
    assert all(r.success for r in converged)


# -- resampling ---------------------------------------------------------------------------------


def test_resampling_approaches_the_boundary_slowly_and_flattens_the_distribution() -> None:
    """[SA22 subsec:result]: the eigenvalues of C divide into two groups."""
    n, active, target = 10, 5, 5 + 1e-3
    arch = solved("arch", box(n, active), target=target, max_evaluations=3000, seed=1)
    run = Run(
        box(n, active),
        bowl,
        target=target,
        max_evaluations=9000,
        seed=1,
        settings=settings_of("resampling"),
    )
    resampling = run.run()
    assert arch.stop_reason is resampling.stop_reason is StopReason.TARGET
    assert len(resampling.history) > 2 * len(arch.history)
    eigenvalues, axes = np.linalg.eigh(run.distribution.covariance)
    share = np.sum(axes[:active] ** 2, axis=0)  # of the coordinates with active bounds
    assert np.all(share[:active] > 0.95)
    assert np.all(share[active:] < 0.05)
    assert eigenvalues[active] / eigenvalues[active - 1] > 10


@pytest.mark.parametrize("seed", range(3))
def test_death_penalty_is_resampling_without_a_second_sample(seed: int) -> None:
    size = archeng.strategy.default_population_size(3)
    one = solved("death-penalty", wedge(), max_evaluations=150, seed=seed)
    changes = {"handler_options": {"max_samples": size}}
    two = solved("resampling", wedge(), max_evaluations=150, seed=seed, changes=changes)
    assert_same(one, two)
    three = solved("resampling", wedge(), max_evaluations=150, seed=seed)
    assert three.evaluations[-1].x.tobytes() != two.evaluations[-1].x.tobytes()


# -- augmented Lagrangian -----------------------------------------------------------------------


def test_gamma_converges_to_the_lagrange_multipliers() -> None:
    """min |x - c|^2 / 2 with A x <= b, of which two rows are active."""
    A = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 2.0], [0.0, 1.0, 1.0]])
    b, c = np.array([1.0, 0.5, 4.0]), np.array([2.0, 1.0, 1.0])
    held = A[:2]
    expected = np.append(np.linalg.solve(held @ held.T, held @ c - b[:2]), 0.0)
    optimum = c - A.T @ expected
    assert np.all(expected[:2] > 0.1)
    assert A[2] @ optimum < b[2] - 1
    model = Model("qp")
    x = model.variable("x", shape=3, lower=-9, upper=9, start=0.0, scale=1.0)
    for k in range(3):
        model.subject_to(ca.dot(ca.DM(A[k]), x) <= b[k], name=f"row {k}")
    run = Run(
        model,
        lambda d: float(np.sum((d.x - c) ** 2) / 2),
        seed=1,
        max_evaluations=4000,
        settings=settings_of("al", tol_x=1e-6),
    )
    run.run()
    search, rows = run.state.search, run.feasible_set.rows
    names = [rows[j].name for j in RowSides(run.feasible_set).sides.index]
    for k in range(3):
        assert search.gamma[names.index(f"row {k}")] == pytest.approx(expected[k], abs=1e-4)
    assert all(g == 0 for g, name in zip(search.gamma, names, strict=True) if "bound" in name)
    np.testing.assert_allclose(run.distribution.mean, optimum, atol=1e-4)
    assert np.all(search.omega > 0)


# -- active-set strategy ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_linear_program_ends_in_its_vertex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2 + seed
    A = rng.standard_normal((2 * n, n))
    A /= np.linalg.norm(A, axis=1)[:, None]
    b, c = rng.uniform(0.5, 1.5, 2 * n), rng.standard_normal(n)
    model = Model("lp")
    x = model.variable("x", shape=n, lower=-4, upper=4, start=0.0, scale=1.0)
    for k in range(2 * n):
        model.subject_to(ca.dot(ca.DM(A[k]), x) <= b[k], name=f"row {k}")
    known = linprog(c, A_ub=A, b_ub=b, bounds=[(-4, 4)] * n)
    active = {f"row {k}" for k in np.flatnonzero(known.ineqlin.residual < 1e-9)}
    active |= {f"bounds of x[{k}]" for k in np.flatnonzero(known.lower.residual < 1e-9)}
    active |= {f"bounds of x[{k}]" for k in np.flatnonzero(known.upper.residual < 1e-9)}
    assert len(active) == n
    run = Run(
        model,
        lambda d: float(c @ d.x),
        seed=seed,
        max_evaluations=1500,
        settings=settings_of("active-set-es"),
    )
    result = run.run()
    np.testing.assert_allclose(result.x, known.x, atol=1e-8)
    assert {run.feasible_set.rows[j].name for j in run.state.search.rows} == active
    assert set(result.active) == active
    assert result.history[-1].n_active == n
    assert result.n_infeasible_calls == 0
    assert result.status is Status.CONVERGED


def test_limits_are_released_when_the_optimum_is_inside() -> None:
    model = Model("released")
    model.variable("x", shape=3, lower=0, upper=5, start=[0.0, 0.0, 5.0], scale=1.0)
    run = Run(
        model,
        lambda d: float(np.sum((d.x - [1.0, 2.0, 3.0]) ** 2)),
        seed=1,
        max_evaluations=600,
        target=1e-6,
        settings=settings_of("active-set-es"),
    )
    run.ask()
    assert run.state.search.n_active == 3
    result = run.run()
    assert result.stop_reason is StopReason.TARGET
    assert len(run.state.search.rows) == 0
    assert result.history[0].n_active == 3


def pyramid() -> Model:
    """Four faces meet in the apex, where the search begins: more limits than variables."""
    model = Model("pyramid")
    x = model.variable("x", shape=3, lower=[-9, -9, 0], upper=9, start=[0, 0, 1.0], scale=0.3)
    for k, (a, b) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        model.subject_to(a * x[0] + b * x[1] + x[2] <= 1, name=f"face {k}")
    return model


def test_a_vertex_with_more_limits_than_variables_is_left() -> None:
    result = solved(
        "active-set-es",
        pyramid(),
        simulator=lambda d: float(d.x[2] + 0.1 * d.x[0]),
        max_evaluations=400,
    )
    assert result.fun < -0.09  # the optimum is -0.1 at (-1, 0, 0)


# -- other shapes -------------------------------------------------------------------------------


@pytest.mark.parametrize("handler", SEARCHES)
def test_one_variable(handler: SearchName) -> None:
    model = Model("one")
    model.variable("x", lower=1, upper=5)
    result = solved(handler, model, max_evaluations=300)
    assert 1 <= result.fun < 1.02
    assert_feasible(result)


@pytest.mark.parametrize("handler", SEARCHES)
def test_maximising_is_minimising_the_negative(handler: SearchName) -> None:
    low = solved(handler, max_evaluations=80)
    high = solved(handler, simulator=upside_down, sense="maximize", max_evaluations=80)
    assert designs(low) == designs(high)
    assert high.fun == -low.fun
    assert high.maximize


@pytest.mark.parametrize("handler", SEARCHES)
def test_fixed_variables_are_left_alone(handler: SearchName) -> None:
    model = model_for(handler)
    model.variable("fixed", lower=7, upper=7)
    result = solved(handler, model, max_evaluations=40)
    assert all(e.x[3] == 7 for e in result.evaluations)
