"""Tests of this study: cheap to run before an expensive one."""

from math import log

import archeng
import pytest
from model import COLD_IN, COLD_OUT, COLD_RATE, HOT, make_model
from pyomo.environ import value
from simulator import area, overall, simulator


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(make_model(), 5, seed=1)) == 5


def test_the_area_is_that_of_the_logarithmic_mean_for_a_constant_coefficient(monkeypatch):
    monkeypatch.setattr("simulator.overall", lambda name, crude: 300.0)
    inlet, rate = HOT["gas_oil"]
    duty, cold = 400.0, 60.0
    ends = inlet - (cold + duty / COLD_RATE), inlet - duty / rate - cold
    mean = (ends[0] - ends[1]) / log(ends[0] / ends[1])
    assert area("gas_oil", cold, duty) == pytest.approx(1000 * duty / (300 * mean), rel=1e-3)


def test_hot_crude_takes_up_heat_more_easily():
    assert overall("gas_oil", 200) > overall("gas_oil", 50)


def test_a_short_run_keeps_the_balances_and_gets_better():
    model = make_model()
    result = archeng.solve(model, simulator, simulator_takes="model", max_evaluations=25, seed=1)
    assert result.n_infeasible_calls == 0
    assert result.fun < result.evaluations[0].objective
    result.load_into(model)
    heat = sum(value(model.duty[e]) for e in model.exchangers)
    assert heat == pytest.approx(COLD_RATE * (COLD_OUT - COLD_IN), abs=1e-3)
