"""``pyo.SolverFactory("archeng")``: options, conditions, solutions, as any Pyomo solver."""

from __future__ import annotations

import logging
import time
from typing import Any

import pyomo.environ as pyo
import pytest
from importer_helpers import snapshot
from pyomo.opt import ProblemSense, SolutionStatus, SolverStatus, TerminationCondition

import archeng
from archeng.errors import ModelError, SettingsError


def circle(sense: Any = pyo.minimize) -> Any:
    """Least x^2 + y^2 on x + y >= 2.5: 3.125 at (1.25, 1.25)."""
    m = pyo.ConcreteModel(name="circle")
    m.x = pyo.Var(bounds=(0.5, 2))
    m.y = pyo.Var(bounds=(0.5, 2))
    m.c = pyo.Constraint(expr=m.x + m.y >= 2.5)
    sign = 1 if sense == pyo.minimize else -1
    m.o = pyo.Objective(expr=sign * (m.x**2 + m.y**2), sense=sense)
    return m


def solve(m: Any, *, seed: int = 1, **arguments: Any) -> Any:
    options = {"seed": seed, **arguments.pop("options", {})}
    return pyo.SolverFactory("archeng").solve(m, options=options, **arguments)


def ends(results: Any) -> tuple[Any, Any]:
    return results.solver.status, results.solver.termination_condition


# -- what every Pyomo solver has -------------------------------------------------------------


def test_the_factory_knows_it() -> None:
    with pyo.SolverFactory("archeng") as solver:
        assert solver.available()
        assert solver.available(exception_flag=False) is True
        assert solver.license_is_valid()
        assert solver.version() == tuple(int(p) for p in archeng.__version__.split(".")[:3])
        assert solver.name == "archeng"
        assert dict(solver.options) == {}
    assert "archeng" in list(pyo.SolverFactory)


def test_options_of_the_constructor_the_attribute_and_the_call() -> None:
    solver = pyo.SolverFactory("archeng", seed=5, max_evaluations=11)
    assert solver.solve(circle()).archeng.nfev == 11
    solver.options["max_evaluations"] = 18
    solver.options.population_size = 10
    first = solver.solve(circle()).archeng
    assert (first.nfev, first.provenance["seed"]) == (18, 5)
    assert {g.population_size for g in first.history} == {10}
    call = solver.solve(circle(), options={"max_evaluations": 12, "seed": 6}).archeng
    assert (call.nfev, call.provenance["seed"]) == (12, 6)
    again = solver.solve(circle()).archeng  # the options of a call do not stay
    assert [tuple(e.x) for e in again.evaluations] == [tuple(e.x) for e in first.evaluations]
    assert dict(pyo.SolverFactory("archeng").options) == {}


def test_options_as_a_dictionary_of_the_constructor_as_pyomos_own_solvers_take_them() -> None:
    solver = pyo.SolverFactory("archeng", options={"seed": 5, "max_evaluations": 11})
    assert solver.solve(circle()).archeng.nfev == 11


@pytest.mark.parametrize("how", ["constructor", "attribute", "call"])
def test_unknown_options_are_errors_that_list_the_known_ones(how: str) -> None:
    solver = pyo.SolverFactory("archeng", **({"max_iter": 3} if how == "constructor" else {}))
    if how == "attribute":
        solver.options["max_iter"] = 3
    with pytest.raises(SettingsError, match="max_iter") as caught:
        solver.solve(circle(), options={"max_iter": 3} if how == "call" else None)
    for known in ("seed", "target", "max_evaluations", "tolerance", "scale", "restarts"):
        assert known in str(caught.value)
    for hidden in ("simulator", "callback", "import_arguments"):
        assert hidden not in str(caught.value)


@pytest.mark.parametrize("option", [{"seed": -1}, {"max_time": 0}, {"restarts": "a"}])
def test_wrong_values_of_options_are_raised(option: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(option))):
        solve(circle(), options=option)


def test_scale_and_tolerance_are_options() -> None:
    m = circle()
    m.e = pyo.Constraint(expr=m.x - m.y == 0.25)
    runs: list[Any] = []
    options = {"tolerance": 0.125, "scale": {"x": 0.01}, "max_evaluations": 6}
    solve(m, options=options, callback=runs.append)
    fs = runs[0].feasible_set
    assert fs.scale[0] == 0.01
    assert (fs.lower[-1], fs.upper[-1]) == (0.125, 0.375)


# -- how runs end ----------------------------------------------------------------------------


def test_converged() -> None:
    m = circle()
    results = solve(m)
    assert ends(results) == (SolverStatus.ok, TerminationCondition.locallyOptimal)
    assert pyo.check_optimal_termination(results)
    pyo.assert_optimal_termination(results)
    assert results.solution[0].status == SolutionStatus.locallyOptimal
    assert results.archeng.success
    assert pyo.value(m.o) == pytest.approx(3.125, abs=1e-8)
    assert m.x.value == results.archeng.design["x"]
    assert results.problem.upper_bound == results.archeng.fun
    assert results.problem.lower_bound == -float("inf")
    assert results.problem.sense == ProblemSense.minimize
    assert results.problem.name == "circle"
    assert results.problem.number_of_variables == 2
    assert "archeng" in results.solver.name
    assert results.archeng.message in results.solver.message
    black_box = results.solver.statistics.black_box
    assert black_box.number_of_function_evaluations == results.archeng.nfev
    assert results.solver.wallclock_time > 0
    assert "circle" in str(results)


def test_maximised() -> None:
    m = circle(pyo.maximize)
    results = solve(m)
    assert results.problem.sense == ProblemSense.maximize
    assert results.archeng.fun == pytest.approx(-3.125, abs=1e-8)
    assert results.problem.lower_bound == results.archeng.fun
    assert results.problem.upper_bound == float("inf")


def test_target_reached() -> None:
    results = solve(circle(), options={"target": 3.5})
    assert ends(results) == (SolverStatus.ok, TerminationCondition.minFunctionValue)
    assert results.solution[0].status == SolutionStatus.feasible
    assert results.archeng.fun <= 3.5


def test_budget_used() -> None:
    m = circle()
    results = solve(m, options={"max_evaluations": 10})
    assert ends(results) == (SolverStatus.warning, TerminationCondition.maxEvaluations)
    assert results.solution[0].status == SolutionStatus.stoppedByLimit
    assert not pyo.check_optimal_termination(results)
    assert m.x.value == results.archeng.design["x"]


@pytest.mark.parametrize("how", ["timelimit", "option", "both"])
def test_time_limit(how: str) -> None:
    def slow(design: Any) -> float:
        time.sleep(0.01)
        return float(design["x"])

    arguments: dict[str, Any] = {}
    if how != "timelimit":
        arguments["options"] = {"max_time": 0.1 if how == "option" else 1000.0}
    if how != "option":
        arguments["timelimit"] = 0.1
    results = solve(circle(), simulator=slow, **arguments)
    assert ends(results) == (SolverStatus.warning, TerminationCondition.maxTimeLimit)
    assert results.solution[0].status == SolutionStatus.stoppedByLimit
    assert 1 <= results.archeng.nfev <= 30


def test_target_missed_is_not_optimal() -> None:
    results = solve(circle(), options={"target": 1.0})
    assert results.solver.status == SolverStatus.warning
    assert not pyo.check_optimal_termination(results)


@pytest.mark.parametrize("kind", ["curved", "bound", "constant"])
def test_infeasible_models_are_a_condition_not_an_exception(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    m = circle()
    m.fixed = pyo.Var()
    m.fixed.fix(3)
    body = {"curved": m.x * m.y, "bound": m.x, "constant": m.fixed}[kind]
    m.impossible = pyo.Constraint(expr=body >= 100)
    with caplog.at_level(logging.WARNING, logger="archeng"):
        results = solve(m)
    assert ends(results) == (SolverStatus.warning, TerminationCondition.infeasible)
    assert not pyo.check_optimal_termination(results)
    assert results.archeng is None
    assert len(results.solution) == 0
    assert "impossible" in results.solver.message
    assert any("impossible" in r.getMessage() for r in caplog.records)
    assert m.x.value is None


def test_a_simulator_that_fails_at_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken(design: Any) -> float:
        raise RuntimeError("no licence for the solver")

    m = circle()
    results = solve(m, simulator=broken)
    assert ends(results) == (SolverStatus.error, TerminationCondition.error)
    assert "no licence" in results.solver.message
    assert results.archeng is None
    assert m.x.value is None
    assert any("no licence" in r.getMessage() for r in caplog.records if r.levelno >= 40)


def test_a_simulator_that_never_returns_a_number() -> None:
    m = circle()
    results = solve(m, simulator=lambda d: float("nan"), options={"max_evaluations": 20})
    assert ends(results) == (SolverStatus.error, TerminationCondition.error)
    assert len(results.solution) == 0
    assert "returned nan" in results.solver.message
    assert results.archeng is None
    assert m.x.value is None


def _stop(run: Any) -> None:
    raise StopIteration


@pytest.mark.parametrize("tee", [False, True])
def test_stopped_by_the_callback(tee: bool, capsys: pytest.CaptureFixture[str]) -> None:
    m = circle()
    results = solve(m, callback=_stop, tee=tee)
    assert ends(results) == (SolverStatus.aborted, TerminationCondition.userInterrupt)
    assert results.solution[0].status == SolutionStatus.stoppedByLimit
    assert len(results.archeng.history) == 1
    assert m.x.value == results.archeng.design["x"]
    assert bool(capsys.readouterr().out) is tee


def test_interrupted_from_the_keyboard() -> None:
    def simulator(design: Any) -> float:
        if len(seen) >= 8:
            raise KeyboardInterrupt
        seen.append(design)
        return float(design["x"])

    seen: list[Any] = []
    m = circle()
    results = solve(m, simulator=simulator)
    assert ends(results) == (SolverStatus.aborted, TerminationCondition.userInterrupt)
    assert results.archeng.nfev == 8
    assert m.x.value == results.archeng.design["x"]


def test_unsupported_models_are_raised() -> None:
    m = circle()
    m.i = pyo.BooleanVar()
    with pytest.raises(ModelError, match="logical_to_linear"):
        solve(m)


# -- output, simulators, solutions -----------------------------------------------------------


def test_tee_prints_progress_and_the_result_to_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = solve(circle(), tee=True, options={"max_evaluations": 12})
    out, err = capsys.readouterr()
    assert "12/12 calls" in out
    assert str(results.archeng) in out
    assert err == ""
    solve(circle(), options={"max_evaluations": 15})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("takes", ["design", "model"])
def test_a_simulator_of_designs_or_of_models(takes: str) -> None:
    m = circle()
    before = snapshot(m)

    def simulator(thing: Any) -> float:
        if takes == "design":
            return float(thing["x"])
        assert thing is not m
        return float(pyo.value(thing.x))

    results = solve(m, simulator=simulator, simulator_takes=takes, load_solutions=False)
    assert snapshot(m) == before
    assert results.archeng.fun == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"max_evaluations": 10}])
@pytest.mark.filterwarnings("ignore")
def test_solutions_are_loaded_when_the_user_wants(options: dict[str, Any]) -> None:
    m = circle()
    m.spare = pyo.Block()
    m.spare.v = pyo.Var(bounds=(0, 1), initialize=0.25)
    m.spare.deactivate()
    before = snapshot(m)
    results = solve(m, load_solutions=False, options=options)
    assert snapshot(m) == before
    assert len(results.solution) == 1
    m.solutions.load_from(results)
    best = results.archeng.design
    assert (m.x.value, m.y.value, m.spare.v.value) == (best["x"], best["y"], 0.25)
    assert pyo.value(m.o) == pytest.approx(results.archeng.fun, rel=1e-12)


def test_the_same_answer_as_solve() -> None:
    results = solve(circle(), seed=7, options={"max_evaluations": 50})
    direct = archeng.solve(circle(), seed=7, max_evaluations=50)
    assert [tuple(e.x) for e in results.archeng.evaluations] == [
        tuple(e.x) for e in direct.evaluations
    ]


def test_a_sub_block() -> None:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1, 2])
    for i in (1, 2):
        m.b[i].x = pyo.Var(bounds=(0, 1))
        m.b[i].o = pyo.Objective(expr=(m.b[i].x - 0.3 * i) ** 2)
    results = solve(m.b[2])
    assert m.b[2].x.value == pytest.approx(0.6, abs=1e-4)
    assert m.b[1].x.value is None
    assert results.problem.name == "b[2]"
