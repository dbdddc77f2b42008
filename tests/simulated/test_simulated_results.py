"""Results with simulated constraints: the same with workers, on disk, as a table, printed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_helpers import AUTO, DISC, NONE, assert_same, disc, gap, nameless, plane

import archeng
from archeng import Design, Evaluation, Model, Result, Settings
from archeng.errors import ResultFileError, SettingsError

BOTH = pytest.mark.parametrize("settings", [AUTO, NONE], ids=["auto", "none"])
LIMITS = {"size": (None, 4.0), "slope": (-3.0, 0.5)}
NAMES = ("constraints", "violated", "outputs", "repair_rows", "repair_multipliers")


def plate() -> Model:
    model = Model("plate")
    x = model.variable("x", shape=2, lower=-5, upper=5, unit="mm")
    model.subject_to(x[0] + x[1] <= 3, name="sum")
    return model


def simulator(design: Design) -> Evaluation:
    x = design.x
    if x[0] < -3:
        raise ArithmeticError("no mesh")
    constraints = {"slope": float(x[1] - x[0]), "size": float(x @ x)}
    outputs = {"mass": 2 * float(x[0]), "note": "fine", "x": x.tolist(), "gap": math.nan}
    return Evaluation(gap(x), constraints, outputs)


@pytest.fixture(scope="module")
def result() -> Result:
    return archeng.solve(plate(), simulator, simulated=LIMITS, seed=2, max_evaluations=26)


# -- workers --------------------------------------------------------------------------------------


@BOTH
def test_workers_do_not_change_the_run(settings: Settings) -> None:
    options: Any = {
        "simulated": DISC,
        "settings": settings,
        "seed": 5,
        "max_evaluations": 14,
        "parallel": 2,
    }
    one = archeng.solve(plane(), disc, **options)
    assert_same(archeng.solve(plane(), disc, workers=2, **options), one)


def test_threads_do_not_change_the_run() -> None:
    options: Any = {"simulated": DISC, "seed": 5, "max_evaluations": 14, "parallel": 3}
    assert_same(
        archeng.solve(plane(), disc, workers="threads:2", **options),
        archeng.solve(plane(), disc, **options),
    )


def test_workers_find_the_same_faults() -> None:
    options: Any = {"simulated": DISC, "seed": 1, "max_evaluations": 6}
    results = [archeng.solve(plane(), nameless, workers=w, **options) for w in (None, 1)]
    messages = [[e.message for e in r.evaluations] for r in results]
    assert messages[0] == messages[1]
    assert {bool(m) for m in messages[0]} == {True, False}


# -- files ----------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Equality in which NaN equals NaN."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def test_saved_and_loaded(result: Result, tmp_path: Path) -> None:
    assert {e.status for e in result.evaluations} == {"ok", "failed"}
    result.save(tmp_path / "r.json")
    loaded = Result.load(tmp_path / "r.json")
    assert loaded.simulated == result.simulated
    assert same(loaded.outputs, result.outputs)
    assert loaded.status is result.status
    for a, b in zip(loaded.evaluations, result.evaluations, strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        for name in NAMES:
            assert same(getattr(a, name), getattr(b, name)), name
            assert type(getattr(a, name)) is type(getattr(b, name)), name
        assert (a.acceptable, a.good) == (b.acceptable, b.good)
    assert str(loaded) == str(result)
    assert json.loads((tmp_path / "r.json").read_text())["version"] == 2


def test_infinite_limits_and_undefined_values_survive(tmp_path: Path) -> None:
    violating = archeng.solve(
        plane(), disc, simulated={"size": (None, -1.0)}, settings=NONE, seed=1, max_evaluations=6
    )
    violating.save(tmp_path / "r.json")
    loaded = Result.load(tmp_path / "r.json")
    assert loaded.simulated == violating.simulated
    assert loaded.simulated[0].lower == -math.inf
    assert loaded.status is archeng.Status.VIOLATING


def test_a_file_of_version_1_is_read(tmp_path: Path) -> None:
    old = archeng.solve(plane(), lambda d: gap(d.x), settings=NONE, seed=1, max_evaluations=6)
    old.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    data["version"] = 1
    for name in ("simulated", "outputs", "activity"):
        data.pop(name, None)
    for e in data["evaluations"]:
        for name in NAMES:
            del e[name]
    (tmp_path / "r.json").write_text(json.dumps(data))
    loaded = Result.load(tmp_path / "r.json")
    assert (loaded.fun, loaded.nfev, loaded.simulated, loaded.outputs) == (old.fun, 6, (), {})
    assert [e.x.tobytes() for e in loaded.evaluations] == [e.x.tobytes() for e in old.evaluations]
    assert {(e.violated, e.repair_rows) for e in loaded.evaluations} == {((), ())}


@pytest.mark.parametrize(
    "change",
    [
        {"simulated": [{"name": "size"}]},
        {"simulated": [{"name": "size", "value": "x", "lower": 0.0, "upper": 1.0}]},
        {"simulated": 3},
        {"outputs": 3},
        {"version": 3},
    ],
)
def test_damaged_files_are_refused(result: Result, change: Any, tmp_path: Path) -> None:
    result.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text()) | change
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(ResultFileError):
        Result.load(tmp_path / "r.json")


def test_any_name_survives(tmp_path: Path) -> None:
    result = archeng.solve(
        plane(), lambda d: Evaluation(gap(d.x), {"float": 1.0}), simulated={"float": (0, None)},
        settings=NONE, seed=1, max_evaluations=6,
    )  # fmt: skip
    result.save(tmp_path / "r.json")
    assert Result.load(tmp_path / "r.json").evaluations[0].constraints == {"float": 1.0}


# -- tables ---------------------------------------------------------------------------------------


def test_as_a_table(result: Result) -> None:
    pytest.importorskip("pandas")
    table = result.to_pandas()
    assert len(table) == len(result.evaluations)
    for k, e in enumerate(result.evaluations):
        row = table.iloc[k]
        assert row["objective"] == e.objective or math.isnan(e.objective)
        if not e.good:
            assert math.isnan(row["constraints.size"])
            continue
        assert (row["constraints.size"], row["constraints.slope"]) == (
            e.constraints["size"],
            e.constraints["slope"],
        )
        assert (row["outputs.mass"], row["outputs.note"]) == (2 * e.x[0], "fine")
        assert row["outputs.x"] == e.x.tolist() == [row["x[0]"], row["x[1]"]]


def test_printed(result: Result) -> None:
    lines = [line.split() for line in str(result).splitlines()]
    header = lines.index(["simulated", "constraint", "value", "lower", "upper", "margin"])
    size, slope = lines[header + 2], lines[header + 3]
    values = {s.name: s.value for s in result.simulated}
    assert size[:4] == ["size", f"{values['size']:.8g}", "-", "4"]
    assert float(size[4]) == pytest.approx(4 - values["size"], rel=0.01)
    assert slope[:4] == ["slope", f"{values['slope']:.8g}", "-3", "0.5"]
    violated = sum(bool(e.violated) for e in result.evaluations)
    assert 0 < violated < len(result.evaluations)
    assert f"{violated} of {len(result.evaluations)} calls violated a simulated constraint" in str(
        result
    )
    outputs = lines.index(["output", "value"])
    assert lines[outputs + 2] == ["mass", f"{result.outputs['mass']:.8g}"]
    assert lines[outputs + 3] == ["note", "fine"]
    assert "VIOLATED" not in str(result)


def test_long_outputs_are_shortened_in_print() -> None:
    def talking(design: Design) -> Evaluation:
        return Evaluation(gap(design.x), outputs={"log": "a" * 500, "field": np.zeros(400)})

    text = str(archeng.solve(plane(), talking, settings=NONE, seed=1, max_evaluations=6))
    assert max(len(line) for line in text.splitlines()) < 200
    assert "aaa..." in text


def test_without_simulated_constraints_there_is_no_table() -> None:
    text = str(archeng.solve(plane(), lambda d: gap(d.x), settings=NONE, seed=1, max_evaluations=6))
    assert "simulated constraint" not in text
    assert "output" not in text


# -- figures --------------------------------------------------------------------------------------


def test_figures(result: Result) -> None:
    pytest.importorskip("matplotlib")
    figure = result.plot("simulated")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:2] == ["size", "slope"]
    best = result.plot("convergence").axes[0].lines[1].get_ydata()
    acceptable = [e.objective if e.acceptable else math.inf for e in result.evaluations]
    expected = np.minimum.accumulate(acceptable)
    np.testing.assert_array_equal(np.nan_to_num(best, nan=math.inf), expected)
    plain = archeng.solve(plane(), lambda d: gap(d.x), settings=NONE, seed=1, max_evaluations=6)
    with pytest.raises(SettingsError, match="simulated"):
        plain.plot("simulated")


# -- Pyomo ----------------------------------------------------------------------------------------


def pyomo_results(limit: float) -> Any:
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    options = {"simulated": {"c": (None, limit)}, "max_evaluations": 12, "seed": 1}
    solver = pyo.SolverFactory("archeng")
    return solver.solve(
        model, simulator=lambda d: Evaluation(-d.x[0], {"c": 1 + d.x[0]}), options=options
    )


def test_the_pyomo_solver_takes_them() -> None:
    results = pyomo_results(1.5)
    assert results.archeng.x[0] == pytest.approx(0.5, abs=1e-3)
    assert results.archeng.simulated[0].holds


def test_the_pyomo_solver_says_that_a_constraint_is_violated() -> None:
    from pyomo.opt import SolverStatus, TerminationCondition

    results = pyomo_results(0.5)
    assert results.archeng.status is archeng.Status.VIOLATING
    assert results.solver.status is not SolverStatus.ok
    assert results.solver.termination_condition is not TerminationCondition.locallyOptimal
