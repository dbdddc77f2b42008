"""Tests of this study: cheap to run before an expensive one."""

import tomllib
from pathlib import Path

import archeng
import pytest
from model import LAYERS, model
from simulator import shell_loss, simulator, temperatures

DESIGN = {
    "dense_brick": 0.1, "insulating_brick": 0.15, "calcium_silicate": 0.1, "mineral_wool": 0.05,
}  # fmt: skip
LIMITS = tomllib.loads((Path(__file__).parents[1] / "study.toml").read_text())["simulated"]


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_what_goes_in_comes_out():
    answer = simulator(DESIGN)
    assert shell_loss(answer.constraints["shell"]) == pytest.approx(answer.outputs["heat_flux"])
    found = temperatures(DESIGN, answer.outputs["heat_flux"])
    assert found == sorted(found, reverse=True)
    assert len(found) == len(LAYERS) + 1


def test_every_limit_is_of_a_constraint_that_the_simulator_returns():
    assert set(LIMITS) == set(simulator(DESIGN).constraints)


def test_a_thicker_wall_loses_less_heat():
    thicker = simulator({**DESIGN, "mineral_wool": 0.1})
    assert thicker.outputs["heat_flux"] < simulator(DESIGN).outputs["heat_flux"]
