"""Tests of this study: cheap to run before an expensive one."""

import archeng
import pytest
from model import model
from simulator import FAN_FLOW, fan_pressure, operating_point, pressure_drop, simulator


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_fan_and_channels_meet():
    height, gap, fins, depth = 0.03, 0.002, 25, 0.1
    flow = operating_point(height, gap, fins, depth)
    assert 0 < flow < FAN_FLOW
    velocity = flow / (fins * gap * height)
    assert pressure_drop(velocity, height, gap, depth) == pytest.approx(fan_pressure(flow))


def test_higher_fins_cool_better():
    design = {"fin_height": 20, "fin_thickness": 1, "fin_gap": 2, "base_thickness": 5}
    assert simulator({**design, "fin_height": 30}) < simulator(design)


def test_a_short_run_gets_better_and_stays_legal():
    result = archeng.solve(model, simulator, max_evaluations=30, seed=1)
    assert result.n_infeasible_calls == 0
    assert result.fun < result.evaluations[0].objective
