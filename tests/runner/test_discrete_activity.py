"""What blocks a design with discrete variables: prices with these held, and their next values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import archeng
from archeng import Model, Result
from archeng.model import compile_model
from archeng.runner.neighbours import neighbours_at

LENGTHS = [{"name": "short", "a": 2.0}, {"name": "middle", "a": 3.0}, {"name": "long", "a": 5.0}]


def frame() -> Model:
    """The best design: short, n = 1, and x as small as the two leave it."""
    model = Model("frame")
    n = model.integer("n", lower=1, upper=4)
    s = model.catalogue("s", LENGTHS)
    k = model.parameter("k", 6.0)
    x = model.variable("x", lower=0, upper=10, shape=2)
    model.subject_to(s["a"] * x[0] + x[1] >= k, name="reach")
    model.subject_to(x[1] <= 1, name="side")
    model.subject_to(n + s["a"] <= 6, name="room")
    return model


def cost(design) -> float:
    return float(design["x"][0] + 0.1 * design["x"][1] + design["n"] + 10 * (design["s"]["a"] - 2))


@pytest.fixture(scope="module")
def result() -> Result:
    return archeng.solve(frame(), cost, max_evaluations=80, seed=1)


def test_the_run_finds_the_best_design(result):
    assert result.design["n"] == 1
    assert result.design["s"] == "short"
    assert result.fun == pytest.approx(2.5 + 0.1 + 1, abs=1e-3)


def test_prices_are_those_of_the_real_variables(result):
    """With s and n held: x[0] = (6 - x[1]) / 2, so the row costs 1/2, and x[1] <= 1 costs 0.4."""
    activity = {a.name: a for a in result.activity}
    assert activity["reach"].active
    assert activity["reach"].gain == pytest.approx(0.5, rel=1e-2)
    bound = activity.get("side", activity["bounds of x[1]"])
    assert bound.gain == pytest.approx(0.4, rel=2e-2)


def test_the_end_of_a_list_has_no_price(result):
    activity = {a.name: a for a in result.activity}
    for name in ("bounds of n", "bounds of s"):
        assert activity[name].active
        assert math.isnan(activity[name].gain)
    text = str(result)
    [line] = [
        line for line in text.splitlines() if line.startswith("bounds of n") and "times" in line
    ]
    assert line.endswith("at the end of its list")
    assert "while discrete ones are held" in text


def test_sensitivities_hold_discrete_variables(result):
    [sensitivity] = result.sensitivities
    assert sensitivity.slope == pytest.approx(0.5, rel=1e-2)


def test_the_next_values_and_what_they_violate(result):
    model, design = frame(), dict(result.design)
    found = {(n.variable, n.value): n.violated for n in result.neighbours}
    assert set(found) == {("n", "2"), ("s", "middle")}
    for (name, value), violated in found.items():
        changed = {**design, name: int(value) if name == "n" else value}
        expected = {v.name: v.violation for v in model.violations(changed).violated()}
        assert violated == pytest.approx(expected)


def test_a_neighbour_that_violates_names_the_row():
    model = frame()
    x = np.array([4.0, 0.0, 2.5, 1.0])
    found = {(n.variable, n.value): n.violated for n in neighbours_at(compile_model(model), x)}
    assert found["s", "middle"] == {"room": pytest.approx(1.0)}
    assert found["n", "3"] == {}


def test_neighbours_are_saved(result, tmp_path: Path):
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json").neighbours == result.neighbours


def test_results_of_real_models_have_no_neighbours(tmp_path: Path):
    model = Model("real")
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(x >= 0.25, name="row")
    result = archeng.solve(model, lambda design: design["x"], max_evaluations=15, seed=0)
    assert result.neighbours == ()
    result.save(tmp_path / "result.json")
    assert "neighbours" not in json.loads((tmp_path / "result.json").read_text())
    assert "discrete ones" not in str(result)
