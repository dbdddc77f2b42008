"""`solve` on Pyomo models with black boxes: calls, results, journals, workers, the plug-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from black_box_models import WithJacobian, box, reactor, violated
from importer_helpers import snapshot

import archeng
from archeng.errors import JournalError, ModelError, SettingsError, SimulatorError

EXPLICIT = ["room", "hyperbola"]
OPTIMUM = 1.1665  # of `reactor`, where d = 1 is active; see test_the_optimum_of_the_reactor


def plant() -> Any:
    """Two grey boxes in a row, linked by equations, with a balance that is explicit.

    Greatest profit 3 p - x^2 - y; p = x q, q = y / (1 + y) with x + y = s <= 3.
    """
    m = pyo.ConcreteModel(name="plant")
    m.x = pyo.Var(bounds=(0.1, 3), initialize=1)
    m.y = pyo.Var(bounds=(0.1, 3), initialize=1)
    m.s = pyo.Var(bounds=(None, 3), initialize=2)
    m.quality, m.product = pyo.Var(), pyo.Var(bounds=(0.2, None))
    box(m, "mixer", WithJacobian(["y"], ["q"], lambda y: [y / (1 + y)]))
    box(m, "press", WithJacobian(["x", "q"], ["p"], lambda x, q: [x * q]), inputs=[m.x, m.quality])
    m.feed = pyo.Constraint(expr=m.mixer.inputs["y"] == m.y)
    m.pipe = pyo.Constraint(expr=m.quality == m.mixer.outputs["q"])
    m.out = pyo.Constraint(expr=m.product == m.press.outputs["p"])
    m.balance = pyo.Constraint(expr=m.x + m.y == m.s)
    m.o = pyo.Objective(expr=3 * m.product - m.x**2 - m.y, sense=pyo.maximize)
    return m


def paths(result: Any) -> list[tuple[float, ...]]:
    return [tuple(e.x) for e in result.evaluations]


# -- calls and results -------------------------------------------------------------------------


def test_the_optimum_of_the_reactor() -> None:
    """By brute force on a fine grid, with nothing of archeng."""
    x, y = np.meshgrid(np.linspace(0, 3, 3001), np.linspace(0, 3, 3001))
    d = x**2 + np.exp(-y)
    objective = (x - 1) ** 2 + (y - 2) ** 2 + d**2
    feasible = (x + y <= 2.5) & (x * y >= 0.5) & (d >= 1)
    assert objective[feasible].min() == pytest.approx(OPTIMUM, abs=2e-3)


@pytest.mark.parametrize("gradient", [False, True])
def test_boxes_are_called_at_explicitly_feasible_designs_only(gradient: bool) -> None:
    m = reactor(gradient)
    before = snapshot(m)
    result = archeng.solve(m, seed=1, max_evaluations=150)
    assert snapshot(m) == before
    assert len(m.seen) == result.nfev  # nothing was called besides
    assert m.seen == paths(result)
    assert not any(violated(m, dict(zip("xy", x, strict=True)), EXPLICIT) for x in m.seen)
    assert result.success
    assert result.fun == pytest.approx(OPTIMUM, abs=2e-3)
    assert all(row.holds for row in result.simulated)
    with_gradient = [e for e in result.evaluations if e.gradients]
    assert len(with_gradient) == (result.nfev if gradient else 0)


def test_load_into_sets_outputs_and_eliminated_variables() -> None:
    m = plant()
    result = archeng.solve(m, seed=1, max_evaluations=120)
    assert list(result.design) == ["x", "y", "s"]
    explicit = ["balance"]
    assert not any(violated(m, d, explicit) for d in map(result_design(result), paths(result)))
    result.load_into(m)
    x, y = result.design["x"], result.design["y"]
    expected = {
        "quality": y / (1 + y), "product": x * y / (1 + y), "mixer.inputs[y]": y,
        "mixer.outputs[q]": y / (1 + y), "press.outputs[p]": x * y / (1 + y),
    }  # fmt: skip
    for name, value in expected.items():
        assert m.find_component(name).value == pytest.approx(value, rel=1e-12)
    assert pyo.value(m.o) == pytest.approx(result.fun, rel=1e-12)
    for row in m.component_data_objects(pyo.Constraint):
        assert pyo.value(row.body) == pytest.approx(row.ub, abs=1e-5)


def result_design(result: Any) -> Any:
    return lambda x: archeng.Design(result.variables, np.array(x))


def test_results_from_files_can_be_loaded(tmp_path: Path) -> None:
    m = plant()
    archeng.solve(m, seed=1, max_evaluations=15).save(tmp_path / "result.json")
    result = archeng.Result.load(tmp_path / "result.json")
    result.load_into(m)
    assert pyo.value(m.o) == pytest.approx(result.fun, rel=1e-12)
    with pytest.raises(ModelError, match="f\\(x, y\\)"):
        result.load_into(reactor())


def test_a_loop_is_closed_within_the_tolerance() -> None:
    """t = x + t / 2, so that t = 2 x; the least (t - 1)^2 + (x - 1)^2 / 4 is at x = 9/17."""
    m = pyo.ConcreteModel(name="recycle")
    m.x, m.t = pyo.Var(bounds=(0, 2), initialize=1), pyo.Var(bounds=(0, 4), initialize=1)
    m.f = pyo.ExternalFunction(function=lambda x, t: x + t / 2)
    m.loop = pyo.Constraint(expr=m.t == m.f(m.x, m.t))
    m.o = pyo.Objective(expr=(m.t - 1) ** 2 + (m.x - 1) ** 2 / 4)
    result = archeng.solve(m, seed=1, max_evaluations=100, tolerance=1e-4)
    assert list(result.design) == ["x", "t"]
    assert result.design["x"] == pytest.approx(9 / 17, abs=1e-2)
    result.load_into(m)
    assert abs(pyo.value(m.loop.body)) <= 1e-4


def test_a_simulator_takes_the_place_of_the_boxes() -> None:
    m = reactor()
    seen: list[Any] = []

    def simulator(design: Any) -> dict[str, float]:
        seen.append(design)
        return {"f(x, y)": float(design["x"] ** 2 + np.exp(-design["y"]))}

    result = archeng.solve(m, simulator, seed=1, max_evaluations=60)
    own = archeng.solve(reactor(), seed=1, max_evaluations=60)
    assert m.seen == []
    assert paths(result) == paths(own)
    result.load_into(m)
    assert m.d.value == pytest.approx(result.outputs["f(x, y)"], rel=1e-12)
    with pytest.raises(SimulatorError, match="is a formula"):
        archeng.solve(m, lambda design: 1.0, seed=1)


def test_boxes_without_an_objective() -> None:
    m = reactor()
    m.o.deactivate()
    with pytest.raises(SettingsError, match=r"no objective.*f\(x, y\)"):
        archeng.solve(m)


def test_parameters_of_solve_are_params_by_name() -> None:
    m = reactor()
    m.price = pyo.Param(initialize=1.0, mutable=True)
    m.o.set_value(m.price * (m.x - 1) ** 2 + (m.y - 2) ** 2 + m.d**2)
    changed = archeng.solve(m, seed=1, max_evaluations=40, parameters={"price": 5.0})
    m.price = 5.0
    plain = archeng.solve(m, seed=1, max_evaluations=40)
    assert changed.fun == pytest.approx(plain.fun, rel=1e-6)
    assert [(p.name, p.value) for p in changed.parameters] == [("price", 5.0)]
    changed.load_into(m)
    assert pyo.value(m.o) == pytest.approx(changed.fun, rel=1e-9)
    with pytest.raises(ModelError, match=r"no Param 'prize'.*price"):
        archeng.solve(m, parameters={"prize": 5.0})


def test_params_of_models_without_boxes() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.least = pyo.Param(initialize=1.0, mutable=True)
    m.c = pyo.Constraint(expr=m.x >= m.least)
    seen: list[float] = []

    def simulator(design: Any) -> float:
        seen.append(design.parameters["least"])
        return float(design["x"] ** 2)

    result = archeng.solve(m, simulator, seed=1, parameters={"least": 3.0}, max_evaluations=40)
    assert result.fun == pytest.approx(9, rel=1e-6)
    assert set(seen) == {3.0}


# -- journals and workers ------------------------------------------------------------------------


def test_journals_go_on_with_the_model(tmp_path: Path) -> None:
    whole = archeng.solve(reactor(), seed=3, max_evaluations=40, journal=tmp_path / "whole.db")
    path = tmp_path / "part.db"
    archeng.solve(reactor(), seed=3, max_evaluations=8, journal=path)
    with pytest.raises(JournalError, match=r"f\(x, y\).*pass the model again"):
        archeng.resume(path, max_evaluations=40)
    other = reactor()
    other.room.set_value(other.x + other.y <= 2.25)
    with pytest.raises(JournalError, match="room"):
        archeng.resume(path, model=other, max_evaluations=40)
    m = reactor()
    result = archeng.resume(path, model=m, max_evaluations=40)
    assert paths(result) == paths(whole)
    assert len(m.seen) == result.nfev - 8
    again = archeng.read_journal(path)
    again.load_into(m)
    assert pyo.value(m.o) == pytest.approx(result.fun, rel=1e-12)


def test_journals_go_on_with_a_simulator(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    archeng.solve(reactor(), seed=3, max_evaluations=15, journal=path)
    model = archeng.from_pyomo(reactor())
    result = archeng.resume(path, model.black_box, max_evaluations=25)
    assert paths(result) == paths(archeng.solve(reactor(), seed=3, max_evaluations=25))


def test_journals_keep_the_parameters_of_their_run(tmp_path: Path) -> None:
    def priced() -> Any:
        m = reactor()
        m.price = pyo.Param(initialize=1.0, mutable=True)
        m.o.set_value(m.price * (m.x - 1) ** 2 + (m.y - 2) ** 2 + m.d**2)
        return m

    path, options = tmp_path / "run.db", {"seed": 3, "parameters": {"price": 4.0}}
    archeng.solve(priced(), max_evaluations=15, journal=path, **options)
    result = archeng.resume(path, model=priced(), max_evaluations=25)
    assert paths(result) == paths(archeng.solve(priced(), max_evaluations=25, **options))
    assert result.parameters[0].value == 4.0


@pytest.mark.slow
@pytest.mark.parametrize("model", [reactor, plant])
def test_worker_processes(model: Any) -> None:
    m = model()
    result = archeng.solve(m, seed=2, max_evaluations=24, workers=2)
    alone = archeng.solve(model(), seed=2, max_evaluations=24, parallel=2)
    assert not result.failures
    assert paths(result) == paths(alone)
    assert [e.objective for e in result.evaluations] == [e.objective for e in alone.evaluations]


def test_threads_take_turns_with_a_grey_box() -> None:
    result = archeng.solve(plant(), seed=2, max_evaluations=24, workers="threads:2")
    for e in result.evaluations:
        x, y, _ = e.x
        assert e.outputs["press.outputs[p]"] == pytest.approx(x * y / (1 + y), rel=1e-12)


# -- the plug-in -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("load", [True, False])
def test_the_plug_in_loads_everything(load: bool) -> None:
    m = plant()
    solver = pyo.SolverFactory("archeng")
    options = {"seed": 1, "max_evaluations": 60}
    results = solver.solve(m, options=options, load_solutions=load)
    if not load:
        assert m.product.value is None
        m.solutions.load_from(results)
    best = results.archeng
    assert best.maximize
    assert m.product.value == pytest.approx(best.outputs["press.outputs[p]"], rel=1e-12)
    assert m.press.outputs["p"].value == m.product.value
    assert m.mixer.inputs["y"].value == pytest.approx(m.y.value, rel=1e-12)
    assert pyo.value(m.o) == pytest.approx(best.fun, rel=1e-12)
    black_box = results.solver.statistics.black_box
    assert black_box.number_of_function_evaluations == best.nfev


def test_a_simulator_that_takes_the_model_sees_the_parameters_of_the_run() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4), initialize=1.0)
    m.force = pyo.Param(initialize=1.0, mutable=True)
    m.c = pyo.Constraint(expr=m.x >= m.force / 2)
    seen = set()

    def simulator(copy: Any) -> float:
        seen.add(pyo.value(copy.force))
        return float(pyo.value((copy.x - 1) ** 2))

    result = archeng.solve(
        m, simulator, simulator_takes="model", parameters={"force": 3.0}, seed=1, max_evaluations=20
    )
    assert seen == {3.0}
    assert pyo.value(m.force) == 1.0
    assert result.design["x"] == pytest.approx(1.5, abs=1e-6)
    assert {e.parameters_read for e in result.evaluations} == {("force",)}
