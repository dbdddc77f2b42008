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


def simulated(**changed):
    """Return the outputs at a design."""
    values = {"fin_height": 20, "fin_thickness": 1, "fin_gap": 2, "base_thickness": 5, **changed}
    return simulator(archeng.Design(model.variables, model.flat(values), model.parameters))


def test_the_simulator_returns_the_outputs_of_the_model():
    assert set(simulated()) == {output.name for output in model.outputs}


def test_higher_fins_cool_better():
    assert simulated(fin_height=30)["chip"] < simulated()["chip"]


def test_the_resistance_does_not_depend_on_the_power():
    options = {"max_evaluations": 3, "seed": 1}
    weak = archeng.solve(model, simulator, **options)
    strong = archeng.solve(model, simulator, parameters={"power": 150, "air": 20}, **options)
    for one, other in zip(weak.evaluations, strong.evaluations, strict=True):
        assert other.objective == pytest.approx(one.objective)
        assert other.outputs["chip"] - 20 == pytest.approx(1.5 * (one.outputs["chip"] - 35))


def test_a_short_run_gets_better_and_stays_legal():
    result = archeng.solve(model, simulator, max_evaluations=30, seed=1)
    assert result.n_infeasible_calls == 0
    assert result.fun < result.evaluations[0].objective
