"""Tests of this study: cheap to run before an expensive one."""

import archeng
import pytest
from model import FEED, FEED_SUGAR, PRODUCT_SUGAR, latent_heat, make_model
from pyomo.environ import value
from simulator import area, browning, overall, simulator


def test_the_equations_leave_six_degrees_of_freedom():
    diagnosis = archeng.diagnose(make_model())
    assert (diagnosis.degrees_of_freedom, diagnosis.equalities) == (6, 41)


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(make_model(), 5, seed=1)) == 5


def test_latent_heats_are_those_of_steam_tables():
    assert latent_heat(50) == pytest.approx(2382, rel=5e-3)
    assert latent_heat(100) == pytest.approx(2256, rel=5e-3)


def test_the_area_is_a_quotient_for_a_constant_coefficient(monkeypatch):
    monkeypatch.setattr("simulator.overall", lambda sugar, boiling: 2000.0)
    assert area(4000.0, 10.0, 0.2, 0.4, 80.0) == pytest.approx(200.0)


def test_thick_juice_takes_up_heat_badly_and_hot_juice_turns_brown():
    assert overall(0.6, 80) < overall(0.2, 80)
    assert browning(0.3, 110, 60) > browning(0.3, 90, 60)


def test_a_short_run_keeps_the_balances_and_gets_better():
    model = make_model()
    result = archeng.solve(model, simulator, simulator_takes="model", max_evaluations=25, seed=1)
    assert result.n_infeasible_calls == 0
    assert result.fun < result.evaluations[0].objective
    result.load_into(model)
    last = model.effects.last()
    assert value(model.juice[last] * model.sugar[last]) == pytest.approx(FEED * FEED_SUGAR)
    assert value(model.sugar[last]) >= PRODUCT_SUGAR - 1e-9
