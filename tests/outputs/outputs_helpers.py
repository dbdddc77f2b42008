"""A small grey-box problem: a beam, of which the simulator returns stresses and a deflection.

Worker processes import this module by name, so everything that a simulator needs is here.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng import Design, Evaluation, Model, Settings

NONE = Settings(surrogate="none")
LENGTH = 2.0  # m


def beam(symbols: str = "SX", table: bool = False, **values: Any) -> Model:
    """Width and height of a beam with two load cases; ``table``: a price that only MX can do."""
    model = Model("beam", symbols=symbols)
    width = model.variable("width", lower=0.02, upper=0.2, unit="m")
    height = model.variable("Höhe", lower=0.02, upper=0.4, unit="m")
    loads = model.parameter("loads", [8e3, 12e3], unit="N")
    strength = model.parameter("strength", 160e6, unit="Pa")
    stress = model.output("stress", unit="Pa", shape=2)
    deflection = model.output("deflection", unit="m")
    model.subject_to(height <= 6 * width, name="slenderness")
    model.subject_to(1.5 * stress <= strength, name="stress")
    model.subject_to(deflection <= LENGTH / 200, name="stiffness", source="beam.py:7")
    price = 1.0
    if table:
        price = ca.interpolant("price", "linear", [[0.0, 0.4]], [1.0, 1.0])(height)
    mass = 7850 * width * height * LENGTH * price
    model.minimize(mass + 1e-4 * loads[1] * deflection, name="Masse")
    return model.with_parameters(values) if values else model


def bend(design: Design) -> dict[str, Any]:
    """Stress in each load case, and the deflection in the second."""
    width, height = design["width"], design["Höhe"]
    loads = design.parameters["loads"]
    moments = loads * LENGTH
    stress = 6 * moments / (width * height**2)
    deflection = 4 * loads[1] * LENGTH**3 / (210e9 * width * height**3)
    return {"stress": stress, "deflection": float(deflection)}


def bend_with_slopes(design: Design) -> Evaluation:
    """The same with derivatives of the stresses, and an output that is only recorded."""
    found = bend(design)
    width, height = design["width"], design["Höhe"]
    slopes = np.stack((-found["stress"] / width, -2 * found["stress"] / height), axis=1)
    return Evaluation(outputs={**found, "solver": "beam theory"}, gradients={"stress": slopes})
