"""Outputs, parameters and formulas on disk: journals, resumed runs, reuse, results."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outputs_helpers import NONE, beam, bend, bend_with_slopes
from runtime_helpers import assert_same, trace

import archeng
from archeng import Design, Model, Result, Run
from archeng.errors import JournalError, SettingsError

OPTIONS: dict[str, Any] = {"seed": 3, "settings": NONE, "max_evaluations": 18}


class Counting:
    """The beam, and how often it was simulated."""

    calls = 0

    def __call__(self, design: Design) -> Any:
        self.calls += 1
        return bend(design)


def never(design: Design) -> Any:
    raise AssertionError("nothing is left to simulate")


def stop(run: Run) -> None:
    raise StopIteration


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [False, True], ids=["stored", "MX function"])
def test_reading_needs_no_model(table: bool, tmp_path: Path) -> None:
    """Also if the journal cannot hold the model: limits and formulas of derived rows are known."""
    path = tmp_path / "run.db"
    model = beam("MX", table, loads=[4e3, 16e3]) if table else beam(loads=[4e3, 16e3])
    result = archeng.solve(model, bend_with_slopes, journal=path, **OPTIONS)
    read = archeng.read_journal(path)
    assert_same(read, result)
    assert ("incomplete" in read.provenance) == table
    assert [(s.name, s.upper) for s in read.simulated] == [
        ("stress[0]", 0.0),
        ("stress[1]", 0.0),
        ("stiffness", 0.01),
    ]
    assert read.simulated[1].formula == "(1.5*stress[1])-strength"
    assert read.simulated[2].source == "beam.py:7"
    assert {p.name: np.ravel(p.value).tolist() for p in read.parameters} == {
        "loads": [4e3, 16e3],
        "strength": [160e6],
    }
    assert read.objective_name == "Masse"
    assert "0.0001*loads[1])*deflection" in read.objective_formula
    assert "Höhe" in read.objective_formula
    assert read.other_outputs == {"solver": "beam theory"}
    assert [o.name for o in read.outputs_at_best] == ["stress[0]", "stress[1]", "deflection"]


def test_a_saved_result_has_everything(tmp_path: Path) -> None:
    result = archeng.solve(beam(strength=120e6), bend_with_slopes, **OPTIONS)
    result.save(tmp_path / "result.json")
    loaded = Result.load(tmp_path / "result.json")
    assert_same(loaded, result)
    assert str(loaded) == str(result)
    assert loaded.design.parameters["strength"] == 120e6
    assert loaded.design.parameters["loads"].tolist() == [8e3, 12e3]


# -- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [False, True], ids=["journal", "model"])
@pytest.mark.parametrize("table", [False, True], ids=["stored", "MX function"])
def test_the_journals_parameters_count(
    table: bool, given: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """``parameters=`` is not typed again: the model may have those that it declares."""
    path, options = tmp_path / "run.db", {**OPTIONS, "parameters": {"strength": 140e6}}
    model = beam("MX", table) if table else beam()
    whole = archeng.solve(model, bend, **options)
    archeng.solve(model, bend, journal=path, callback=stop, **options)
    if table and not given:
        with pytest.raises(JournalError, match="pass it again as model="):
            archeng.resume(path, bend)
        return
    with caplog.at_level(logging.WARNING, "archeng"):
        assert_same(archeng.resume(path, bend, model=model if given else None), whole)
    said = "goes on with strength = 140000000.0 of its journal, not with 160000000.0"
    assert (said in caplog.text) == given


def test_resume_has_no_parameters(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    archeng.solve(beam(), bend, journal=path, callback=stop, **OPTIONS)
    with pytest.raises(SettingsError, match=r"parameters.*keeps that of its journal"):
        archeng.resume(path, bend, parameters={"strength": 1e8})  # type: ignore[call-arg]


def another(shape: bool) -> Model:
    model = beam()
    if not shape:
        model.parameter("more", 1.0)
        return model
    other = Model("beam")
    for variable in model.variables:
        other.variable(variable.name, lower=variable.lower[0], upper=variable.upper[0])
    other.parameter("loads", [1.0, 2.0, 3.0])
    return other


@pytest.mark.parametrize("shape", [False, True])
def test_other_parameters_make_another_model(shape: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    archeng.solve(beam(), bend, journal=path, callback=stop, **OPTIONS)
    expected = r"parameter 'loads', shape: \[2\] became \[3\]" if shape else "'more' is new"
    with pytest.raises(JournalError, match=expected):
        archeng.resume(path, bend, model=another(shape))


# -- reuse --------------------------------------------------------------------------------------


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    archeng.solve(beam(), bend, journal=tmp_path / "old.db", **OPTIONS)
    return tmp_path / "old.db"


def test_the_same_run_makes_no_call(earlier: Path) -> None:
    again = archeng.solve(beam(), never, reuse=earlier, callback=stop, **OPTIONS)
    first = archeng.read_journal(earlier)
    count = len(again.evaluations)
    assert count > 0
    assert {e.status for e in again.evaluations} == {"reused"}
    assert trace(again)["answers"] == trace(first)["answers"][:count]


def test_formulas_are_derived_anew(earlier: Path) -> None:
    """A parameter that the simulator never looked at: its calls hold, objective and rows change."""
    again = archeng.solve(
        beam(), never, reuse=earlier, callback=stop, parameters={"strength": 1e8}, **OPTIONS
    )
    first = archeng.read_journal(earlier)
    for a, b in zip(again.evaluations, first.evaluations, strict=False):
        assert (a.status, a.outputs) == ("reused", b.outputs)
        assert a.constraints["stress[1]"] == pytest.approx(b.constraints["stress[1]"] + 60e6)
    assert any(a.violated for a in again.evaluations)


def test_another_formula_for_the_same_outputs(earlier: Path) -> None:
    model = beam()
    deflection = model.output_symbols[2]
    model.maximize(-2.0 * deflection)
    again = archeng.solve(model, never, reuse=earlier, callback=stop, **OPTIONS)
    for e in again.evaluations:
        assert (e.status, e.objective) == ("reused", -2.0 * e.outputs["deflection"])


@pytest.mark.parametrize("table", [False, True], ids=["stored", "MX function"])
def test_calls_with_another_parameter_are_made_again(table: bool, tmp_path: Path) -> None:
    path, counting = tmp_path / "old.db", Counting()
    model = beam("MX", table) if table else beam()
    archeng.solve(model, bend, journal=path, **OPTIONS)
    loads = {"loads": [9e3, 12e3]}
    again = archeng.solve(model, counting, reuse=path, callback=stop, parameters=loads, **OPTIONS)
    assert {e.status for e in again.evaluations} == {"ok"}
    assert counting.calls == again.nfev > 0
    same = archeng.solve(model, never, reuse=path, callback=stop, **OPTIONS)
    assert same.nfev == 0


def test_told_answers_may_depend_on_every_parameter(tmp_path: Path) -> None:
    path, counting = tmp_path / "old.db", Counting()
    run = Run(beam(), journal=path, **OPTIONS)
    run.tell([bend(candidate.design) for candidate in run.ask() if candidate.design])
    run.close()
    told = archeng.read_journal(path).evaluations
    assert {e.parameters_read for e in told} == {("loads", "strength")}
    same = archeng.solve(beam(), never, reuse=path, callback=stop, **OPTIONS)
    assert (same.nfev, len(same.evaluations)) == (0, len(told))
    changed = {"strength": 1e8}
    archeng.solve(beam(), counting, reuse=path, callback=stop, parameters=changed, **OPTIONS)
    assert counting.calls > 0


def test_calls_without_an_output_are_made_again(tmp_path: Path) -> None:
    """An earlier version of the model had no such output."""
    path, counting = tmp_path / "old.db", Counting()
    old = Model("beam")
    old.variable("width", lower=0.02, upper=0.2)
    old.variable("Höhe", lower=0.02, upper=0.4)
    archeng.solve(old, lambda d: float(d.x @ d.x), journal=path, **OPTIONS)
    again = archeng.solve(beam(), counting, reuse=path, callback=stop, **OPTIONS)
    assert {e.status for e in again.evaluations} == {"ok"}
    assert counting.calls == again.nfev
