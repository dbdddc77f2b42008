"""`solve` on Pyomo models: simulators of designs and of models, objectives, `load_into`."""

from __future__ import annotations

import gc
import logging
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import snapshot
from pyomo.core.staleflag import StaleFlagManager

import archeng
from archeng.errors import ModelError, SettingsError
from archeng.simulator import OnPyomoModel


def beam(sense: Any = pyo.minimize) -> Any:
    """Least x^2 + y^2 on x + y >= 2.5 is 3.125 at (1.25, 1.25); ``k`` is fixed, ``s`` spare."""
    m = pyo.ConcreteModel(name="beam")
    m.x = pyo.Var(bounds=(0.5, 2), initialize=1.75)
    m.b = pyo.Block([1, 2])
    m.b[1].y = pyo.Var(bounds=(0.5, 2), initialize=1.5)
    m.b[2].s = pyo.Var(bounds=(0, 1), initialize=0.5)
    m.b[2].deactivate()
    m.k = pyo.Var(domain=pyo.Integers, initialize=2)
    m.k.fix()
    m.p = pyo.Param(initialize=2.5, mutable=True)
    m.c = pyo.Constraint(expr=m.x + m.b[1].y >= m.p)
    sign = 1 if sense == pyo.minimize else -1
    m.o = pyo.Objective(expr=sign * (m.x**2 + m.b[1].y ** 2) + 1, sense=sense)
    return m


def distance(m: Any) -> float:
    """Return the squared distance from (0.6, 0.8), read from a model; least 0.605."""
    return (pyo.value(m.x) - 0.6) ** 2 + (pyo.value(m.b[1].y) - 0.8) ** 2


# -- the model's own objective ---------------------------------------------------------------


def test_own_objective_minimised_and_the_model_unchanged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    m = beam()
    before = snapshot(m)
    with caplog.at_level(logging.INFO, logger="archeng"):
        result = archeng.solve(m, seed=1)
    assert not [r for r in caplog.records if "ignored" in r.message]
    assert snapshot(m) == before
    assert result.success
    assert result.fun == pytest.approx(4.125, abs=1e-8)
    assert result.design["x"] == pytest.approx(1.25, abs=1e-4)
    assert result.n_infeasible_calls == 0
    assert result.active == ["c"]
    assert (result.name, list(result.design)) == ("beam", ["x", "k", "b[1].y"])
    assert result.design["k"] == 2


def test_own_objective_maximised_is_reported_as_the_user_wrote_it() -> None:
    result = archeng.solve(beam(pyo.maximize), seed=1)
    assert result.maximize
    assert result.fun == pytest.approx(-2.125, abs=1e-8)
    assert max(e.objective for e in result.evaluations) == result.fun


def test_sense_may_be_overruled() -> None:
    result = archeng.solve(beam(), seed=1, sense="maximize")
    assert result.fun == pytest.approx(9, abs=1e-6)


def test_the_simulator_takes_the_place_of_the_objective_with_a_note(
    caplog: pytest.LogCaptureFixture,
) -> None:
    m = beam(pyo.maximize)
    with caplog.at_level(logging.INFO, logger="archeng"):
        result = archeng.solve(m, lambda d: d["x"] + 2 * d["b[1].y"], seed=1)
    assert result.fun == pytest.approx(2 + 2 * 0.5, abs=1e-6)
    assert not result.maximize
    notes = [r for r in caplog.records if "objective" in r.message and "ignored" in r.message]
    assert [r.levelno for r in notes] == [logging.INFO]
    assert "beam" in notes[0].message
    caplog.clear()
    m.o.deactivate()
    with caplog.at_level(logging.INFO, logger="archeng"):
        archeng.solve(m, lambda d: d["x"], seed=1, max_evaluations=3)
    assert not [r for r in caplog.records if "ignored" in r.message]


def test_sampling_does_not_speak_of_a_simulator(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="archeng"):
        designs = archeng.sample_feasible(beam(), 3, seed=1)
    assert all(d["x"] + d["b[1].y"] >= 2.5 for d in designs)
    assert not [r for r in caplog.records if "simulator" in r.message]


def test_no_simulator_and_no_objective() -> None:
    m = beam()
    m.o.deactivate()
    with pytest.raises(archeng.errors.ArchengError, match="objective"):
        archeng.solve(m)


def test_seeds_reproduce_bit_for_bit() -> None:
    runs = [archeng.solve(beam(), seed=s, max_evaluations=60) for s in (3, 3, 4)]
    paths = [[tuple(e.x) for e in r.evaluations] for r in runs]
    assert paths[0] == paths[1]
    assert paths[0] != paths[2]


def test_scale_and_tolerance_pass_through_solve() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(initialize=3), pyo.Var(initialize=4)
    m.c = pyo.Constraint(expr=m.x * m.y == 12)
    m.o = pyo.Objective(expr=(m.x - 2) ** 2 + m.y**2)
    seen: list[Any] = []
    archeng.solve(
        m,
        seed=1,
        scale={"x": 0.25, "y": 0.125},
        tolerance=0.5,
        max_evaluations=5,
        callback=lambda run: seen.append(run),
    )
    fs = seen[0].feasible_set
    assert fs.scale.tolist() == [0.25, 0.125]
    assert (fs.lower[-1], fs.upper[-1]) == (11.5, 12.5)
    with pytest.raises(ModelError, match="lbx"):
        archeng.solve(m, lbx=3)


def test_the_scaling_factor_is_the_first_step() -> None:
    m = beam()
    m.x.setub(None)
    m.scaling_factor = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    m.scaling_factor[m.x] = 100
    runs: list[Any] = []
    archeng.solve(m, seed=1, max_evaluations=5, callback=runs.append)
    assert runs[0].feasible_set.scale[0] == pytest.approx(0.002)


# -- simulators that take the model ----------------------------------------------------------


@pytest.fixture
def _no_stale_mark_is_pending() -> None:
    """Carry out what a solver of another test has put off: it would mark this test's variables."""
    StaleFlagManager.mark_all_as_stale()


@pytest.mark.usefixtures("_no_stale_mark_is_pending")
def test_a_simulator_of_the_model_gets_a_copy_with_the_design_loaded() -> None:
    m = beam()
    before = snapshot(m)
    seen: list[tuple[float, float, float]] = []

    def simulator(copy: Any) -> float:
        assert copy is not m
        assert isinstance(copy, pyo.ConcreteModel)
        assert (copy.k.value, copy.k.fixed) == (2, True)
        assert (copy.b[2].s.value, copy.b[2].active) == (0.5, False)
        assert pyo.value(copy.c.body) >= 2.5
        seen.append((copy.x.value, copy.k.value, copy.b[1].y.value))
        return distance(copy)

    result = archeng.solve(m, simulator, simulator_takes="model", seed=1, max_evaluations=150)
    assert snapshot(m) == before
    assert [tuple(e.x) for e in result.evaluations] == seen
    assert result.fun == pytest.approx(0.605, abs=1e-4)


def test_the_same_run_with_designs_and_with_models() -> None:
    def by_design(d: Any) -> float:
        return (d["x"] - 0.6) ** 2 + (d["b[1].y"] - 0.8) ** 2

    one = archeng.solve(beam(), by_design, seed=2, max_evaluations=80)
    two = archeng.solve(beam(), distance, simulator_takes="model", seed=2, max_evaluations=80)
    assert [e.objective for e in one.evaluations] == [e.objective for e in two.evaluations]


def test_a_simulator_may_fix_the_design_to_solve_the_rest() -> None:
    """Fixing the design variables before an inner solve is what most people do."""

    def simulator(copy: Any) -> float:
        copy.x.fix()
        copy.b[1].y.fix()
        return distance(copy)

    result = archeng.solve(beam(), simulator, simulator_takes="model", seed=1, max_evaluations=80)
    plain = archeng.solve(beam(), distance, simulator_takes="model", seed=1, max_evaluations=80)
    assert [e.objective for e in result.evaluations] == [e.objective for e in plain.evaluations]


def test_a_simulator_of_the_model_cannot_spoil_the_users_model() -> None:
    m = beam()
    before = snapshot(m)

    def simulator(copy: Any) -> float:
        value = distance(copy)
        copy.p = 99.0
        copy.c.deactivate()
        copy.b[2].s.fix(0.125)
        copy.k.unfix()
        copy.x.setub(77)
        if copy.component("new") is None:
            copy.new = pyo.Var()
        copy.x.set_value(-5, skip_validation=True)
        return value

    result = archeng.solve(m, simulator, simulator_takes="model", seed=1, max_evaluations=40)
    assert snapshot(m) == before
    clean = archeng.solve(beam(), distance, simulator_takes="model", seed=1, max_evaluations=40)
    assert [e.objective for e in result.evaluations] == [e.objective for e in clean.evaluations]


def test_the_copy_is_that_of_the_moment_of_import() -> None:
    m = beam()
    limits: list[float] = []

    def simulator(copy: Any) -> float:
        limits.append(copy.p.value)
        return distance(copy)

    run = archeng.Run(m, simulator, simulator_takes="model", seed=1, max_evaluations=10)
    m.p = 99.0
    assert run.run().nfev == 10
    assert set(limits) == {2.5}


def test_a_simulator_of_a_sub_block_gets_the_same_block_of_a_copy() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1), initialize=0.5)
    m.far = pyo.Var(domain=pyo.Integers, initialize=4)
    m.u = pyo.Block(["a", "b"])
    for key in ("a", "b"):
        m.u[key].y = pyo.Var(bounds=(0, 2), initialize=1)
        m.u[key].c = pyo.Constraint(expr=m.u[key].y >= m.x)
    before = snapshot(m)
    collected: list[int] = []

    def simulator(block: Any) -> float:
        if not collected:  # a block does not keep its model alive; something must
            collected.append(gc.collect())
        assert block.name == "u[b]"
        assert block.model() is not m
        assert block.model().u["a"].y.value == 1
        assert block.model().far.value == 4
        return (pyo.value(block.y) - 0.25) ** 2 + (pyo.value(block.model().x) - 0.5) ** 2

    result = archeng.solve(
        m.u["b"], simulator, simulator_takes="model", seed=1, max_evaluations=150
    )
    assert snapshot(m) == before
    assert set(result.design) == {"u[b].y", "x"}
    assert result.fun == pytest.approx(2 * 0.125**2, abs=1e-3)
    result.load_into(m.u["b"])
    assert m.x.value == result.design["x"]
    assert m.u["b"].y.value == result.design["u[b].y"]
    assert m.u["a"].y.value == 1


def test_each_thread_and_each_copy_of_the_simulator_has_a_model_of_its_own() -> None:
    m = beam()
    design = archeng.sample_feasible(m, 1, seed=1)[0]
    models: list[Any] = []
    simulator = OnPyomoModel(models.append, m)
    threads = [threading.Thread(target=simulator, args=(design,)) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    simulator(design)
    simulator(design)
    assert len({id(copy) for copy in models}) == 3
    assert m not in models
    again = pickle.loads(pickle.dumps(OnPyomoModel(distance, m)))
    expected = (design["x"] - 0.6) ** 2 + (design["b[1].y"] - 0.8) ** 2
    assert again(design) == pytest.approx(expected, rel=1e-12)


def test_simulator_takes_is_checked() -> None:
    for wrong in ("Model", None, True):
        with pytest.raises(SettingsError, match="simulator_takes"):
            archeng.solve(beam(), distance, simulator_takes=wrong)
    with pytest.raises(SettingsError, match="simulator"):
        archeng.solve(beam(), simulator_takes="model")
    model = archeng.Model()
    model.variable("x", lower=0, upper=1)
    with pytest.raises(SettingsError, match="Pyomo"):
        archeng.solve(model, distance, simulator_takes="model")


# -- load_into -------------------------------------------------------------------------------


def test_load_into_sets_the_variables_and_nothing_else(tmp_path: Path) -> None:
    m = beam()
    result = archeng.solve(m, seed=1, max_evaluations=30)
    result.save(tmp_path / "r.json")
    archeng.Result.load(tmp_path / "r.json").load_into(m)
    assert (m.x.value, m.b[1].y.value) == (result.design["x"], result.design["b[1].y"])
    assert (m.x.fixed, m.x.stale) == (False, False)
    assert (m.k.value, m.k.fixed, m.b[2].s.value) == (2, True, 0.5)
    assert pyo.value(m.o) == pytest.approx(result.fun, rel=1e-12)


@pytest.mark.parametrize("takes", ["design", "model"])
def test_variables_of_deactivated_blocks_that_are_used_elsewhere(takes: Any) -> None:
    m = beam()
    m.used = pyo.Constraint(expr=m.b[2].s >= m.x - 1)
    result = archeng.solve(
        m, lambda thing: 1.0 * len(str(thing)), simulator_takes=takes, seed=1, max_evaluations=5
    )
    assert "b[2].s" in result.design
    result.load_into(m)
    assert m.b[2].s.value == result.design["b[2].s"]


def test_load_into_the_wrong_thing_changes_nothing() -> None:
    result = archeng.solve(beam(), seed=1, max_evaluations=10)
    other = beam()
    other.b[1].del_component("y")
    before = other.x.value
    with pytest.raises(ModelError, match=r"b\[1\].y"):
        result.load_into(other)
    assert other.x.value == before
    for wrong in (None, archeng.Model(), other.x):
        with pytest.raises(ModelError, match="Pyomo"):
            result.load_into(wrong)


def test_load_into_without_a_design() -> None:
    m = beam()
    m.o.deactivate()
    run = archeng.Run(m, seed=1, max_evaluations=10)
    run.tell([None] * len(run.ask()))
    with pytest.raises(ModelError, match="nothing"):
        run.result().load_into(m)
    assert m.x.value == 1.75


def test_ask_and_tell_on_a_pyomo_model() -> None:
    m = beam()
    m.o.deactivate()
    run = archeng.Run(m, seed=1, max_evaluations=15)
    while not run.stopped:
        run.tell([np.sum(c.design.x**2) if c.design else None for c in run.ask()])
    assert run.result().nfev == 15
    assert all(e.x[0] + e.x[2] >= 2.5 for e in run.evaluations)
