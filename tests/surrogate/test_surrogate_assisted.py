"""Whole runs with a model of the objective: fewer calls, the same promises."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import linprog

import archeng
from archeng import Design, Model, Result, Run, Settings, Status, StopReason
from archeng.repair import RepairKind
from archeng.surrogate import AssistedSearch

pytestmark = pytest.mark.slow

PLAIN = Settings(surrogate="none")
PROPOSED = RepairKind.PROPOSED.value


def polytope(n: int = 4) -> Model:
    model = Model("polytope")
    x = model.variable("x", shape=n, lower=0, upper=4)
    model.subject_to(ca.sum1(x) <= 6, name="sum")
    model.subject_to(x[0] + 2 * x[1] <= 5, name="pair")
    return model


def curved() -> Model:
    model = Model("curved")
    x = model.variable("x", shape=3, lower=-3, upper=3)
    model.subject_to(ca.sumsqr(x) <= 4, name="ball")
    model.subject_to(x[0] + 2 * x[1] - x[2] <= 1, name="half")
    model.subject_to(x[0] * x[1] + x[2] <= 0.9, name="saddle")
    return model


def can() -> Model:
    """A cylinder of given volume."""
    model = Model("can")
    r = model.variable("r", lower=0.2, upper=3)
    h = model.variable("h", lower=0.2, upper=9)
    model.subject_to(r**2 * h == 2, name="volume", tolerance=1e-7)
    return model


def surface(design: Design) -> float:
    return float(design["r"] ** 2 + design["r"] * design["h"])


def bowl(design: Design) -> float:
    x = design.x - 1.0
    return float(np.sum(x**2 * np.arange(1, len(x) + 1)) + 0.5 * x[0] * x[1])


def valley(design: Design) -> float:
    """A curved valley, no quadratic."""
    x = design.x
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def waves(design: Design) -> float:
    return float(np.sum(design.x**2) + np.sum(1 - np.cos(4 * design.x)))


def proposals(result: Result) -> int:
    return sum(e.repair_kind == PROPOSED for e in result.evaluations)


def calls_until(result: Result, objective: float) -> int:
    """Calls until an objective was reached; too many if it never was."""
    for e in result.evaluations:
        if e.objective <= objective:
            return e.index + 1
    return 10**9


def assert_clean(model: Model, result: Result) -> None:
    """No call at an illegal design, checked with the model once more."""
    assert result.n_infeasible_calls == 0
    for e in result.evaluations:
        assert e.max_violation == 0
        assert model.violations(e.x).maximum == 0


def trace(result: Result) -> list[Any]:
    """Everything of a run that must be the same, bit for bit."""
    calls = [
        (e.index, e.generation, e.restart, e.x.tobytes(), repr(e.objective), e.repair_kind)
        for e in result.evaluations
    ]
    history = [
        (g.generation, g.evaluations, g.sigma.hex(), sorted(g.repairs.items()))
        for g in result.history
    ]
    return [calls, history, result.fun, result.stop_reason]


# -- solutions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_objective_in_a_polytope(seed: int) -> None:
    """A linear programme: soon after n + 1 designs the vertex is found."""
    c = np.array([-3.0, -2.0, -1.0, 0.5])
    known = linprog(c, [[1, 1, 1, 1], [1, 2, 0, 0]], [6, 5], bounds=(0, 4))
    result = archeng.solve(polytope(), lambda d: float(c @ d.x), seed=seed, max_evaluations=400)
    assert_clean(polytope(), result)
    assert result.fun == pytest.approx(known.fun, abs=1e-6)
    assert calls_until(result, known.fun + 1e-6) <= 40
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS
    assert proposals(result) > 0


@pytest.mark.parametrize("seed", range(2))
def test_a_quadratic_objective_in_a_polytope(seed: int) -> None:
    result = archeng.solve(polytope(), bowl, seed=seed, max_evaluations=600)
    plain = archeng.solve(polytope(), bowl, seed=seed, max_evaluations=600, settings=PLAIN)
    assert_clean(polytope(), result)
    assert result.fun == pytest.approx(0, abs=1e-8)
    assert calls_until(result, 1e-6) <= 100
    assert calls_until(result, 1e-6) < calls_until(plain, 1e-6)


def test_a_run_that_the_model_ends_is_a_success() -> None:
    result = archeng.solve(polytope(), bowl, seed=1, max_evaluations=600)
    assert result.fun == pytest.approx(0, abs=1e-8)
    assert result.stop_reason is StopReason.CONVERGED
    assert result.status is Status.CONVERGED
    assert result.success


def test_runs_end_soon_after_the_optimum() -> None:
    """The optimum of a quadratic is known to ten digits after some twenty calls.

    It is zero, so there is always something left to gain; one run in twenty goes on for long.
    """
    calls = [
        archeng.solve(polytope(), bowl, seed=seed, max_evaluations=200).nfev for seed in range(4)
    ]
    assert sum(n < 100 for n in calls) >= 3


def test_a_curved_set() -> None:
    plain = archeng.solve(curved(), bowl, seed=1, max_evaluations=2000, settings=PLAIN)
    result = archeng.solve(curved(), bowl, seed=1, max_evaluations=600)
    assert_clean(curved(), result)
    assert result.fun <= plain.fun + 1e-5
    assert calls_until(result, plain.fun + 1e-5) <= 200


def test_an_equality() -> None:
    result = archeng.solve(can(), surface, seed=2, max_evaluations=400)
    assert_clean(can(), result)
    assert result.fun == pytest.approx(3.0, abs=1e-4)  # r = 1, h = 2: r^2 + 2 / r
    assert calls_until(result, 3.0 + 1e-4) <= 100
    assert proposals(result) > 0


def test_maximising_is_minimising_the_negative() -> None:
    one = archeng.solve(
        polytope(), lambda d: -bowl(d), seed=3, max_evaluations=60, sense="maximize"
    )
    two = archeng.solve(polytope(), bowl, seed=3, max_evaluations=60)
    assert one.fun == -two.fun
    assert [e.x.tobytes() for e in one.evaluations] == [e.x.tobytes() for e in two.evaluations]
    assert proposals(one) > 0


def test_one_variable() -> None:
    model = Model("one")
    model.variable("x", lower=-2, upper=3)
    result = archeng.solve(model, lambda d: float((d.x[0] - 1.2) ** 4), seed=4, max_evaluations=200)
    assert_clean(model, result)
    assert result.fun < 1e-6
    assert proposals(result) > 0


def test_fixed_variables() -> None:
    model = Model("fixed")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    c = model.variable("c", lower=3, upper=3)
    model.subject_to(ca.sumsqr(x) + c <= 12, name="disc")
    result = archeng.solve(
        model, lambda d: float(np.sum((d["x"] - [1, -2]) ** 2) + d["c"]), seed=1,
        max_evaluations=200,
    )  # fmt: skip
    assert_clean(model, result)
    assert result.fun == pytest.approx(3, abs=1e-6)
    assert all(e.x[2] == 3 for e in result.evaluations)
    assert proposals(result) > 0


def test_no_objective_in_part_of_the_space() -> None:
    """NaN and exceptions beyond lines near which the optimum lies."""

    def fragile(design: Design) -> float:
        if design.x[0] > 1.5:
            raise ValueError("no convergence")
        return bowl(design) if design.x[1] < 1.1 else float("nan")

    result = archeng.solve(polytope(3), fragile, seed=5, start=[1, 0.5, 2], max_evaluations=200)
    assert_clean(polytope(3), result)
    assert result.fun < 1e-4
    assert any(e.status != "ok" for e in result.evaluations)
    assert proposals(result) > 0


@pytest.mark.parametrize("n", [1, 3])
def test_a_flat_objective_ends(n: int) -> None:
    model = Model("flat")
    model.variable("x", shape=n, lower=0, upper=4)
    result = archeng.solve(model, lambda d: 1.0, seed=6, max_evaluations=3000)
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS
    assert result.fun == 1
    assert proposals(result) == n + 1  # the first designs: there is no model of them


def test_a_step_objective_ends() -> None:
    """Few different values: there is a slope nowhere."""
    result = archeng.solve(
        polytope(2), lambda d: float(np.floor(d.x).sum()), seed=7, max_evaluations=3000
    )
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS
    assert result.fun == 0


def test_a_noisy_objective_ends_near_the_optimum() -> None:
    rng = np.random.default_rng(0)
    result = archeng.solve(
        polytope(3), lambda d: bowl(d) + 1e-2 * rng.standard_normal(), seed=8, max_evaluations=250
    )
    assert_clean(polytope(3), result)
    assert bowl(result.design) < 0.2


def test_an_exponential_objective_is_not_much_dearer_than_without_a_model() -> None:
    """Plain ARCH sees the order of the objectives only; a model sees their size."""

    def steep(design: Design) -> float:
        return float(np.exp(bowl(design)))

    target = float(np.exp(1e-4))
    assisted = archeng.solve(polytope(), steep, seed=9, target=target, max_evaluations=1500)
    plain = archeng.solve(
        polytope(), steep, seed=9, target=target, max_evaluations=1500, settings=PLAIN
    )
    assert plain.stop_reason is StopReason.TARGET
    assert assisted.stop_reason is StopReason.TARGET
    assert assisted.nfev <= 2 * plain.nfev


def test_a_curved_valley() -> None:
    result = archeng.solve(curved_valley(), valley, seed=1, target=1e-4, max_evaluations=2000)
    assert result.stop_reason is StopReason.TARGET
    assert_clean(curved_valley(), result)


def curved_valley() -> Model:
    model = Model("valley")
    x = model.variable("x", shape=2, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x) <= 3, name="ball")
    return model


def test_other_optima_are_found_by_restarts_too() -> None:
    model = Model("waves")
    model.variable("x", shape=2, lower=-5, upper=4)
    result = archeng.solve(model, waves, seed=2, restarts=3, target=1e-6, max_evaluations=3000)
    assert result.stop_reason is StopReason.TARGET
    assert result.n_infeasible_calls == 0


# -- with and without ---------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [PLAIN, Settings.paper()], ids=["none", "paper"])
def test_without_a_model_nothing_is_proposed(settings: Settings) -> None:
    result = archeng.solve(polytope(), bowl, seed=1, max_evaluations=80, settings=settings)
    assert proposals(result) == 0
    assert all(PROPOSED not in g.repairs for g in result.history)
    assert settings.surrogate == "none"


def test_without_a_model_the_order_of_the_objectives_is_all_that_matters() -> None:
    """With one it is not, which shows that it is there."""

    def calls(h: Callable[[float], float], settings: Settings) -> list[bytes]:
        result = archeng.solve(
            polytope(), lambda d: h(bowl(d)), seed=2, max_evaluations=60, settings=settings
        )
        return [e.x.tobytes() for e in result.evaluations]

    assert calls(lambda v: v, PLAIN) == calls(lambda v: float(np.exp(v / 9)), PLAIN)
    assert calls(lambda v: v, Settings()) != calls(lambda v: float(np.exp(v / 9)), Settings())


def test_the_unit_of_the_objective_does_not_matter() -> None:
    """Powers of two change no bit."""

    def calls(factor: float) -> list[bytes]:
        result = archeng.solve(curved(), lambda d: factor * valley(d), seed=2, max_evaluations=50)
        assert proposals(result) > 0
        return [e.x.tobytes() for e in result.evaluations]

    assert calls(1.0) == calls(2.0**-10)


def test_no_design_is_simulated_twice() -> None:
    result = archeng.solve(curved(), valley, seed=3, max_evaluations=80)
    assert len({e.x.tobytes() for e in result.evaluations}) == result.nfev
    assert proposals(result) > 0


def test_proposals_are_told_apart_in_the_records() -> None:
    result = archeng.solve(polytope(), bowl, seed=1, max_evaluations=60)
    size = result.history[0].population_size
    kinds = {g.generation: set(g.repairs) for g in result.history}
    assert any(PROPOSED in k for k in kinds.values())
    for e in result.evaluations:
        assert (e.repair_kind == PROPOSED) == (PROPOSED in kinds[e.generation])
    for g in result.history:
        if PROPOSED in g.repairs:
            assert set(g.repairs) == {PROPOSED}
        else:
            assert sum(g.repairs.values()) == size
    for one, two in zip(result.history, result.history[1:], strict=False):
        if PROPOSED in one.repairs:
            assert one.sigma == two.sigma  # CMA-ES does not learn from proposals


def test_the_start_is_simulated_first() -> None:
    start = np.array([1.0, 0.5, 2.0, 0.25])
    result = archeng.solve(polytope(), bowl, seed=1, start=start, max_evaluations=20)
    assert result.evaluations[0].x.tobytes() == start.tobytes()


# -- the same run -------------------------------------------------------------------------------


@functools.cache
def reference() -> Result:
    """A run that others must repeat."""
    result = archeng.solve(curved(), valley, seed=4, max_evaluations=60)
    assert proposals(result) > 10
    return result


def test_same_seed_same_run() -> None:
    assert trace(archeng.solve(curved(), valley, seed=4, max_evaluations=60)) == trace(reference())
    other = archeng.solve(curved(), valley, seed=5, max_evaluations=9)
    assert trace(other)[0] != trace(reference())[0][:9]


def test_worker_processes_do_not_change_the_run() -> None:
    one = archeng.solve(curved(), valley, seed=4, max_evaluations=20, workers=1)
    two = archeng.solve(curved(), valley, seed=4, max_evaluations=20, workers=2, parallel=1)
    assert proposals(one) > 0
    assert trace(one) == trace(two)
    assert trace(one)[0] == trace(reference())[0][:20]


def test_ask_and_tell_is_the_same_run() -> None:
    run = Run(curved(), seed=4, max_evaluations=60)
    while not run.stopped:
        run.tell([valley(c.design) if c.design else None for c in run.ask()])
    assert trace(run.result()) == trace(reference())


def test_resumed_runs_are_the_same(tmp_path: Path) -> None:
    """Interrupted again and again: within generations, and among proposals."""
    path = tmp_path / "run.db"
    archeng.solve(curved(), valley, seed=4, max_evaluations=3, journal=path)
    for budget in (8, 9, 10, 17, 41, 60):
        result = archeng.resume(path, valley, max_evaluations=budget)
        assert result.nfev == budget
    assert trace(result) == trace(reference())


def test_a_finished_run_that_is_resumed_makes_no_call(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    options: dict[str, Any] = {"seed": 2, "max_evaluations": 2000, "journal": path}
    result = archeng.solve(polytope(2), bowl, **options)
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS

    def never(design: Design) -> float:
        raise AssertionError("nothing is left to simulate")

    again = archeng.resume(path, never)
    assert trace(again) == trace(result)


def test_resumed_restarts_are_the_same(tmp_path: Path) -> None:
    model = Model("waves")
    model.variable("x", shape=2, lower=-5, upper=4)
    options: dict[str, Any] = {"seed": 3, "restarts": 3}
    whole = archeng.solve(model, waves, max_evaluations=210, **options)
    assert whole.history[-1].restart > 0
    later = [e for e in whole.evaluations if e.restart == 1]
    assert len({e.generation for e in later[:3]}) == 1  # each begins with first designs of its own
    path = tmp_path / "run.db"
    archeng.solve(model, waves, max_evaluations=50, journal=path, **options)
    for budget in (131, 210):
        result = archeng.resume(path, waves, max_evaluations=budget)
    assert trace(result) == trace(whole)


# -- what is remembered -------------------------------------------------------------------------


def test_what_is_remembered_are_feasible_designs() -> None:
    run = Run(curved(), valley, seed=4, max_evaluations=30)
    while not run.stopped:
        run.step()
    search = run.state.search
    assert isinstance(search, AssistedSearch)
    assert search.starts.shape[1] == 3
    model = curved()
    for start in search.starts:
        assert model.violations(start).maximum == 0
