"""Where runs of models with discrete variables begin, and which handlers refuse them."""

from __future__ import annotations

import numpy as np
import pytest

import archeng
from archeng import Model, Settings
from archeng.errors import InfeasibleModelError, SettingsError
from archeng.model import compile_model
from archeng.repair import make_repairer
from archeng.runner.handlers import DISCRETE, HANDLERS
from archeng.runner.options import start_distribution, start_point
from archeng.runner.restarting import Starts


def plate() -> Model:
    model = Model("plate")
    n = model.integer("bolts", lower=4, upper=16)
    t = model.choice("plate", [4, 5, 6, 8, 10, 12])
    model.category("material", ["S355", "AlMg3"])
    x = model.variable("x", lower=0, upper=1, shape=2)
    model.subject_to(n * t >= 50 + x[0], name="strength")
    return model


def by_name(**changes):
    return {"bolts": 9, "plate": 6, "material": "AlMg3", "x": [0.1, 0.2]} | changes


def test_a_start_has_names_and_numbers():
    model = plate()
    fs = compile_model(model)
    assert start_point(model, fs, by_name()).tolist() == [9, 6, 1, 0.1, 0.2]
    assert start_point(model, fs, by_name(material="S355"))[2] == 0
    assert start_point(model, fs, [9, 6, 1, 0.1, 0.2]).tolist() == [9, 6, 1, 0.1, 0.2]
    assert start_point(model, fs, None) is None


def test_a_start_between_levels_is_put_at_the_nearest():
    model = plate()
    assert start_point(model, compile_model(model), [8.7, 6.8, 0, 0, 0]).tolist() == [9, 6, 0, 0, 0]


def test_declared_starts_are_used():
    model = plate()
    model.catalogue("pipe", [{"name": "p", "d": 1.0}, {"name": "q", "d": 2.0}], start="q")
    x = start_point(model, compile_model(model), None)
    assert x[-1] == 1
    assert x[1] == 8  # of the choice, the level in the middle of its ends


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (by_name(material="S235"), "'S355', 'AlMg3'"),
        (by_name(bolts="nine"), "bolts"),
        ([9, 6, 2, 0, 0], "material.*from 0 to 1, got 2"),
        ([9, 6, 0.5, 0, 0], "material"),
    ],
)
def test_a_wrong_start_says_what_is_expected(start, message):
    model = plate()
    with pytest.raises(SettingsError, match=message):
        start_point(model, compile_model(model), start)


def test_runs_begin_at_a_feasible_design_of_levels():
    model = plate()
    fs = compile_model(model)
    wide = start_distribution(model, fs, None)
    starts = Starts(make_repairer(fs), wide, 3)
    given = np.array([5.0, 4.0, 1.0, 0.5, 0.5])  # 5 * 4 < 50
    for start in (None, given):
        point, _ = starts.first(start, np.random.default_rng(0))
        assert fs.is_feasible(point)
    assert point[2] == 1  # the material need not change


def test_without_a_design_the_error_points_to_the_diagnosis():
    model = Model("gap")
    n = model.integer("n", lower=0, upper=5)
    x = model.variable("x", lower=0, upper=0.2)
    model.subject_to(n + x == 2.5, name="half")
    with pytest.raises(InfeasibleModelError, match=r"(?s)half.*archeng check"):
        archeng.solve(model, lambda design: design["x"], max_evaluations=5, seed=0)


@pytest.mark.parametrize("handler", sorted(set(HANDLERS) - set(DISCRETE)))
def test_other_handlers_refuse_discrete_variables(handler):
    settings = Settings(handler=handler, simulator_defined_everywhere=True)
    with pytest.raises(SettingsError, match=f"{handler}.*bolts.*'arch'"):
        archeng.solve(plate(), lambda design: 0.0, settings=settings, max_evaluations=5)
