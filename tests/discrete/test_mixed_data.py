"""Discrete designs with results of earlier runs, gradients, maximisation and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import archeng
from archeng import Evaluation, Model

KINDS = {"thin": {"E": 1.0, "price": 2.0}, "stiff": {"E": 3.0, "price": 5.0}}


def beam() -> Model:
    """Deflection by a simulator; cost is a formula of a list, a category and a width."""
    model = Model("beam")
    h = model.choice("height", [2, 3, 4, 6])
    kind = model.category("kind", KINDS)
    b = model.variable("width", lower=0.5, upper=5)
    load = model.parameter("load", 10.0)
    bend = model.output("bend")
    model.subject_to(bend <= 1, name="deflection")
    model.subject_to(h <= 4 * b, name="slender")
    model.minimize(kind["price"] * h * b + 0.01 * load, name="cost")
    return model


def simulator(design: Any) -> Evaluation:
    h, b, E = design["height"], design["width"], design["kind"]["E"]
    bend = 3 * design.parameters["load"] / (E * b * h**3)
    slope = {"width": -bend / b}
    return Evaluation(outputs={"bend": bend}, gradients={"bend": slope})


def least_cost(load: float) -> float:
    costs = []
    for h in (2, 3, 4, 6):
        for E, price in ((1.0, 2.0), (3.0, 5.0)):
            b = max(0.5, h / 4, 3 * load / (E * h**3))
            if b <= 5:
                costs.append(price * h * b + 0.01 * load)
    return min(costs)


@pytest.mark.parametrize("seed", range(2))
def test_slopes_are_taken_and_earlier_runs_do_no_harm(seed: int) -> None:
    first = archeng.solve(beam(), simulator, seed=seed, max_evaluations=60)
    assert first.fun == pytest.approx(least_cost(10.0), rel=1e-4)
    other = archeng.solve(
        beam(), simulator, parameters={"load": 30.0}, data=[first], seed=seed, max_evaluations=60
    )
    assert other.fun == pytest.approx(least_cost(30.0), rel=1e-4)


def test_a_sweep_over_a_parameter() -> None:
    sweep = archeng.sweep(
        beam(), simulator, parameters={"load": [5.0, 20.0]}, seed=0, max_evaluations=60
    )
    found = [result.fun for result in sweep.results]
    np.testing.assert_allclose(found, [least_cost(5.0), least_cost(20.0)], rtol=1e-4)
