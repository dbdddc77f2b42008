"""Variables and explicit constraints of the section, as CasADi formulas.

A Kulfan (CST) surface is a class function times a sum of Bernstein polynomials,
``y(x) = sqrt(x) (1 - x) sum_i w_i B_i(x)``, and an upper and a lower one make a section. The weight
of the leading edge bends both in the same way, so that thicknesses do not depend on it.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.airfoil.cases import CASES, WEIGHTS, Case, reference


def build_model(case: Case = CASES["transonic"]) -> Model:
    """Return the section: 17 weights, an angle of attack for each lift, 12 rows or more."""
    start, shape = reference()["starts"][case.start], case.shape
    model = Model(f"airfoil, {case.name}")
    first = np.arange(WEIGHTS) == 0
    upper = model.variable(
        "upper",
        shape=WEIGHTS,
        lower=np.where(first, shape.blunt, -0.25),
        upper=0.5,
        start=start["upper"],
        scale=0.02,
    )
    lower = model.variable(
        "lower",
        shape=WEIGHTS,
        lower=-0.5,
        upper=np.where(first, -shape.blunt, 0.25),
        start=start["lower"],
        scale=0.02,
    )
    model.variable("leading edge", lower=-1, upper=1, start=start["leading edge"], scale=0.08)
    k = len(case.lifts)
    guess = np.degrees(np.array(case.lifts) / (2 * np.pi)) - 5.0  # a cambered thin plate
    least_angle, most_angle = shape.angles
    angle = model.variable(
        "angle",
        shape=k,
        lower=least_angle,
        upper=most_angle,
        start=start.get("angle", guess),
        scale=1.0,
        unit="deg",
    )
    for station, least in shape.thickness.items():
        model.subject_to(thickness(upper, lower, station) >= least, name=f"thickness at {station}")
    trailing = trailing_angle(upper, lower)
    model.subject_to(trailing >= shape.trailing_angle, name="trailing edge (deg)")
    model.subject_to(wiggliness(upper) + wiggliness(lower) <= shape.wiggliness, name="wiggliness")
    if k > 1:
        model.subject_to(angle[1:] - angle[:-1] >= 0, name="more angle, more lift (deg)")
    return model


def thickness(upper: Any, lower: Any, x: float) -> Any:
    """Distance of the surfaces at a station; linear in the weights."""
    basis = [
        math.comb(WEIGHTS - 1, i) * x**i * (1 - x) ** (WEIGHTS - 1 - i) for i in range(WEIGHTS)
    ]
    return math.sqrt(x) * (1 - x) * sum(b * (upper[i] - lower[i]) for i, b in enumerate(basis))


def trailing_angle(upper: Any, lower: Any) -> Any:
    """Angle between the surfaces at the trailing edge in degrees; only the last weights matter."""
    return (ca.atan(upper[WEIGHTS - 1]) - ca.atan(lower[WEIGHTS - 1])) * (180 / math.pi)


def wiggliness(weights: Any) -> Any:
    """Sum of the squared second differences of the weights of a surface."""
    return sum((weights[i] - 2 * weights[i + 1] + weights[i + 2]) ** 2 for i in range(WEIGHTS - 2))
