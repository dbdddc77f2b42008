"""Tests of this study: cheap to run before an expensive one."""

import archeng
import pytest
from model import LAYERS, model
from simulator import shell_loss, simulator, temperatures

THICKNESS = {
    "dense_brick": 0.1, "insulating_brick": 0.15, "calcium_silicate": 0.1, "mineral_wool": 0.05,
}  # fmt: skip


def simulated(parameters=None, **changed):
    """Return the outputs at a design."""
    design = archeng.Design(
        model.variables,
        model.flat({**THICKNESS, **changed}),
        model.with_parameters(parameters).parameters,
    )
    return simulator(design).outputs


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_what_goes_in_comes_out():
    found = simulated()
    assert shell_loss(found["shell"]) == pytest.approx(found["heat_flux"])
    every = temperatures(THICKNESS, 1150.0, found["heat_flux"])
    assert every == [*found["hot_side"], found["shell"]] == sorted(every, reverse=True)
    assert len(found["hot_side"]) == len(LAYERS)


def test_the_simulator_returns_every_output_of_the_model():
    assert {output.name for output in model.outputs} <= set(simulated())


def test_a_thicker_wall_loses_less_heat_and_a_hotter_furnace_more():
    assert simulated(mineral_wool=0.1)["heat_flux"] < simulated()["heat_flux"]
    assert simulated({"furnace": 1250.0})["heat_flux"] > simulated()["heat_flux"]


def test_dearer_heat_costs_more():
    options = {"max_evaluations": 12, "seed": 1}
    cheap = archeng.solve(model, simulator, **options)
    dear = archeng.solve(model, simulator, parameters={"heat_price": 0.07}, **options)
    first = [result.evaluations[0] for result in (cheap, dear)]
    assert first[0].outputs == first[1].outputs
    more = (0.07 - 0.035) * 7000 * first[0].outputs["heat_flux"] / 1000
    assert first[1].objective - first[0].objective == pytest.approx(more)
