"""Tests of this study: cheap to run before an expensive one."""

import sys
from pathlib import Path

import archeng
import pytest
from model import model
from simulator import simulator

sys.path.append(str(Path(__file__).parents[1] / "program"))
import beam

DECK = {
    "length": 500.0,
    "load": 5000.0,
    "modulus": 210000.0,
    "density": 0.0,
    "segment": [(100, 40)] * 4,
}


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_a_beam_of_one_section_bends_as_the_textbook_says():
    deflection, moments, _ = beam.solve(DECK)
    inertia = 40 * 100**3 / 12
    assert deflection == pytest.approx(5000 * 2000**3 / (3 * 210000 * inertia))
    assert moments[0] == pytest.approx(5000 * 2000)


def test_its_own_weight_bends_as_the_textbook_says():
    deflection, _, mass = beam.solve({**DECK, "load": 0.0, "density": 7.85e-6})
    inertia = 40 * 100**3 / 12
    assert deflection == pytest.approx(mass * 9.81 / 2000 * 2000**4 / (8 * 210000 * inertia))


def test_the_names_in_the_input_template_are_those_of_the_model():
    simulator.check_variables(model.variables)


def test_a_short_run_gets_better_and_stays_legal():
    result = archeng.solve(model, simulator, max_evaluations=24, seed=1)
    assert result.n_infeasible_calls == 0
    assert all(e.outputs["mass"] <= 60 + 1e-6 for e in result.evaluations)
    assert result.fun < result.evaluations[0].objective
