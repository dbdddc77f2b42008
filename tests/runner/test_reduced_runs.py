"""Whole runs of models with dependent variables, judged by NumPy, Pyomo and IPOPT."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import assert_same
from scipy.optimize import minimize
from structure_models import (
    CASES,
    MISMATCH,
    RECYCLE_CASE,
    Costs,
    reaction,
    reactor,
    reactor_with_gradients,
    recycle,
    tolerances,
)

import archeng
from archeng import Design, Model, Result, Run, StopReason
from archeng.model import compile_model

CEILINGS = {"tanks": 130, "grid": 80, "circle": 90}
"""Calls that a run may need, about half more than it needed when this was written."""
TESTED = pytest.mark.parametrize("name", CASES)


def solve(name: str, **options: Any) -> Result:
    """Run one of the models; its cost is a black box."""
    return archeng.solve(CASES[name].model(), Costs(name), **{"seed": 1, **options})


@cache
def whole(name: str) -> Result:
    """A run to its end, one call after the other, without a journal."""
    return solve(name, max_evaluations=300)


def never(_: Design) -> float:
    raise AssertionError("nothing is left to simulate")


# -- a diagonal metric ------------------------------------------------------------------------


def test_the_last_rung_repairs_in_a_diagonal_metric() -> None:
    settings = {"metric": "diagonal", "surrogate": "none", "repair_solver": "ipopt"}
    result = solve("circle", max_evaluations=12, settings=archeng.Settings(**settings))
    full = solve(
        "circle", max_evaluations=12, settings=archeng.Settings(**{**settings, "metric": "full"})
    )
    assert result.n_infeasible_calls == 0
    np.testing.assert_allclose(result.evaluations[1].x, full.evaluations[1].x, atol=1e-6)


# -- found, and legal ------------------------------------------------------------------------


@TESTED
def test_runs_converge_to_the_optimum_of_ipopt_over_all_variables(name: str) -> None:
    case, result = CASES[name], whole(name)
    assert compile_model(case.model()).dependents is not None
    best, x = case.optimum(result.x)
    other, _ = case.optimum(result.evaluations[0].x)
    assert other == pytest.approx(best, rel=1e-6)  # there is one optimum
    assert result.fun == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert result.stop_reason is StopReason.CONVERGED
    assert result.success
    assert result.nfev <= CEILINGS[name]
    np.testing.assert_allclose(result.x, x, rtol=1e-2, atol=1e-2 * np.abs(x).max())


@TESTED
def test_every_call_satisfies_the_formulas(name: str) -> None:
    case, result = CASES[name], whole(name)
    allowed = tolerances(case.model())
    assert len(allowed) == len(case.formulas(case.at(result.x), np).equations)
    for e in result.evaluations:
        assert case.offences(e.x, allowed) == []
        assert e.objective == case.cost(e.x)
        assert e.max_violation == 0.0
    assert result.n_infeasible_calls == 0


@pytest.mark.slow
def test_the_circle_needs_other_independents(caplog: pytest.LogCaptureFixture) -> None:
    """Its optimum is where y is zero: x as a function of y is smooth there, y of x is not."""
    with caplog.at_level(logging.INFO, logger="archeng"):
        solve("circle", max_evaluations=60)
    assert "nearly singular for x as independent; now it is y" in caplog.text


# -- the same run ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "workers", "budget"), [("tanks", 2, 45), ("grid", "threads:2", 30), ("circle", 2, 60)]
)
def test_workers_do_not_change_a_run(name: str, workers: Any, budget: int) -> None:
    assert_same(
        solve(name, max_evaluations=budget, workers=workers, parallel=2),
        solve(name, max_evaluations=budget, workers=None, parallel=2),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stop"), [("tanks", 5), ("grid", 30), ("circle", 5), ("circle", 30)]
)
def test_a_run_goes_on_where_it_was_stopped(name: str, stop: int, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    solve(name, max_evaluations=stop, journal=path)
    result = archeng.resume(path, Costs(name), max_evaluations=300)
    assert_same(result, whole(name))
    assert_same(archeng.read_journal(path), result)
    assert_same(archeng.resume(path, never), result)


def test_a_journal_tells_what_the_run_told(tmp_path: Path) -> None:
    """Across a change of the independents: rows keep their names and numbers."""
    path = tmp_path / "run.db"
    result = solve("circle", max_evaluations=300, journal=path)
    assert_same(result, whole("circle"))
    read = archeng.read_journal(path)
    assert [(r.name, r.active, r.value) for r in read.rows] == [
        (r.name, r.active, r.value) for r in result.rows
    ]
    assert str(read).splitlines()[:3] == str(result).splitlines()[:3]


@pytest.mark.slow
@TESTED
def test_calls_of_an_earlier_run_are_used_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = solve(name, max_evaluations=300, journal=path)
    again = archeng.solve(
        CASES[name].model(), never, seed=1, max_evaluations=300, reuse=path, on_failure="raise"
    )
    assert again.stop_reason is first.stop_reason
    assert [(e.x.tobytes(), e.objective) for e in again.evaluations] == [
        (e.x.tobytes(), e.objective) for e in first.evaluations
    ]


@pytest.mark.slow
@TESTED
def test_ask_and_tell_is_the_same_run(name: str) -> None:
    simulate, run = Costs(name), Run(CASES[name].model(), seed=1, max_evaluations=40)
    while not run.stopped:
        candidates = run.ask()
        for c in candidates:
            assert (c.design is None) is (not c.repair.feasible)
        run.tell([None if c.design is None else simulate(c.design) for c in candidates])
    told = run.result()
    n = min(40, whole(name).nfev)
    assert [(e.x.tobytes(), e.objective) for e in told.evaluations] == [
        (e.x.tobytes(), e.objective) for e in whole(name).evaluations[:n]
    ]


# -- a loop through the simulator ------------------------------------------------------------


@pytest.mark.parametrize("simulate", [reactor, reactor_with_gradients])
def test_a_torn_loop_is_closed(simulate: Any) -> None:
    result = archeng.solve(recycle(), simulate, seed=1, max_evaluations=150)
    best, _ = RECYCLE_CASE.optimum(result.x)
    assert result.success
    assert result.stop_reason is StopReason.CONVERGED
    assert result.fun == pytest.approx(best, abs=5e-3)  # the mismatch is worth a little
    assert result.nfev <= (100 if simulate is reactor else 60)
    allowed = tolerances(recycle())
    simulated = {"react A": np.inf, "react C": np.inf}
    for e in result.evaluations:  # what the simulator does not know holds at every call
        assert RECYCLE_CASE.offences(e.x, allowed | simulated) == []
    v = RECYCLE_CASE.at(result.x)
    found = reaction(v["temperature"], v["volume"], v["total"], np)
    assert result.outputs["conversion"] == pytest.approx(found[0], rel=1e-12)
    assert RECYCLE_CASE.offences(result.x, allowed | dict.fromkeys(simulated, MISMATCH)) == []


@pytest.mark.slow
def test_a_torn_loop_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    complete = archeng.solve(recycle(), reactor, seed=2, max_evaluations=40)
    archeng.solve(recycle(), reactor, seed=2, max_evaluations=13, journal=path)
    assert_same(archeng.resume(path, reactor, max_evaluations=40), complete)
    assert_same(archeng.read_journal(path), complete)


# -- parameters, integers, samples -----------------------------------------------------------

CELLS = 32


def cells(load: float = 1.0, integer: bool = False) -> Model:
    """Numbers that follow from two others, by a parameter."""
    model = Model("cells")
    p = model.parameter("load", load)
    a = model.integer("a", lower=0, upper=6, start=2) if integer else model.variable(
        "a", lower=0, upper=6, start=2
    )  # fmt: skip
    b = model.variable("b", lower=0, upper=3, start=1)
    w = model.variable("w", shape=CELLS, lower=-50, upper=50)
    for i in range(CELLS):
        model.subject_to(w[i] + 0.1 * w[i] ** 3 == p * a - 0.05 * i * b**2, name=f"w{i}")
    model.subject_to(w[0] + b <= 3.0, name="limit")
    return model


def cell_values(a: float, b: float, load: float) -> Any:
    """Solve the cubics by Cardano's formula: w^3 + 10 w = 10 c has one real root."""
    c = load * a - 0.05 * np.arange(CELLS) * b**2
    root = np.sqrt(25 * c**2 + 1000 / 27)
    return np.cbrt(5 * c + root) + np.cbrt(5 * c - root)


def cell_cost(a: float, b: float, w: Any) -> float:
    return float((a - 2.4) ** 2 + (b - 1.7) ** 2 + np.sum(w) / CELLS * 0.5)


def simulate_cells(design: Design) -> float:
    return cell_cost(design["a"], design["b"], design["w"])


def best_cells(load: float, levels: Any = None) -> float:
    """Least cost by SciPy over a and b, or over b for each whole number a."""

    def cost(u: Any) -> float:
        return cell_cost(u[0], u[1], cell_values(u[0], u[1], load))

    def room(u: Any) -> float:
        return float(3.0 - cell_values(u[0], u[1], load)[0] - u[1])

    found = [
        minimize(
            cost, [np.mean(box), 0.3], method="SLSQP", bounds=[box, (0, 3)],
            constraints={"type": "ineq", "fun": room}, options={"ftol": 1e-12},
        )
        for box in ([(0.0, 6.0)] if levels is None else [(n, n) for n in levels])
    ]  # fmt: skip
    return min(r.fun for r in found if r.success)


def check_cells(result: Result, load: float, integer: bool = False) -> None:
    for e in result.evaluations:
        a, b, w = e.x[0], e.x[1], e.x[2:]
        np.testing.assert_allclose(w, cell_values(a, b, load), rtol=1e-6, atol=1e-6)
        assert 0 <= a <= 6
        assert 0 <= b <= 3
        assert w[0] + b <= 3.0 + 1e-12
        assert not integer or a == round(a)
    assert result.n_infeasible_calls == 0


@pytest.mark.slow
def test_parameters_are_in_the_equations() -> None:
    for load in (0.5, 1.5):
        options: dict[str, Any] = {"parameters": {"load": load}, "seed": 1, "max_evaluations": 100}
        result = archeng.solve(cells(), simulate_cells, **options)
        check_cells(result, load)
        assert result.fun == pytest.approx(best_cells(load), rel=1e-4)
        assert result.success
        same = archeng.solve(cells(load), simulate_cells, seed=1, max_evaluations=100)
        assert [e.x.tobytes() for e in same.evaluations] == [
            e.x.tobytes() for e in result.evaluations
        ]


@pytest.mark.slow
def test_a_sweep() -> None:
    loads = [0.5, 1.0, 1.5]
    swept = archeng.sweep(
        cells(), simulate_cells, parameters={"load": loads}, seed=1, max_evaluations=60
    )
    for load, result in zip(loads, swept, strict=True):
        check_cells(result, load)
        assert result.fun == pytest.approx(best_cells(load), rel=1e-3)


def test_a_whole_number_beside_equations() -> None:
    assert compile_model(cells(integer=True)).dependents is not None
    result = archeng.solve(cells(integer=True), simulate_cells, seed=1, max_evaluations=120)
    check_cells(result, 1.0, integer=True)
    assert result.fun == pytest.approx(best_cells(1.0, range(7)), rel=1e-4)
    assert len({e.x[0] for e in result.evaluations}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("stop", [3, 20])
def test_a_run_with_a_whole_number_goes_on_where_it_was_stopped(stop: int, tmp_path: Path) -> None:
    path, model = tmp_path / "run.db", cells(integer=True)
    complete = archeng.solve(model, simulate_cells, seed=2, max_evaluations=60)
    archeng.solve(model, simulate_cells, seed=2, max_evaluations=stop, journal=path)
    assert_same(archeng.resume(path, simulate_cells, max_evaluations=60), complete)


@TESTED
def test_samples_satisfy_everything(name: str) -> None:
    case = CASES[name]
    designs = archeng.sample_feasible(case.model(), 12, seed=1)
    assert len(designs) == 12
    allowed = tolerances(case.model())
    for d in designs:
        assert case.offences(np.array(d.x), allowed) == []
    points = np.array([d.x for d in designs])
    assert len(np.unique(points, axis=0)) == 12
