"""Variables, explicit constraints and, in the grey form, formulas of what the simulator returns."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.airfoil import compressible
from case_studies.airfoil.cases import CASES, WEIGHTS, Case, reference, simulated_limits
from case_studies.airfoil.geometry import most_thickness, thickness, trailing_angle, wiggliness
from case_studies.shared.forms import Form

MACH, REYNOLDS = "Mach number", "Reynolds number"
"""Parameters. The simulator looks at both, but not at the Mach number where the model corrects."""

COEFFICIENTS = ("lift", "drag", "moment", "confidence")
"""Outputs of the simulator, one for each angle of attack."""

LOW_SPEED = ("low-speed lift", "low-speed drag", "low-speed moment", "confidence")
"""Outputs of the simulator in the grey form with a Mach number, beside the velocities."""

VELOCITIES = ("upper velocity", "lower velocity")
"""Velocities on both surfaces over that of the flight, at low speed."""


def build_model(case: Case = CASES["transonic"], form: Form = "grey") -> Model:
    """Return the section: 17 weights, an angle of attack for each lift, 12 explicit rows or more.

    In the grey form of a case with a Mach number the simulator returns the flow at low speed, and
    the correction is a formula. In the direct form it returns the coefficients that are limited, in
    the black one the model has no formulas of what is simulated.
    """
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
    if form != "black":
        model.parameter(REYNOLDS, case.reynolds)
        mach = model.parameter(MACH, case.mach)
        if form == "grey" and case.mach:
            coefficients = _corrected(model, upper, lower, angle, mach)
        else:
            coefficients = tuple(model.output(name, shape=k) for name in COEFFICIENTS)
        _performance(model, case, *coefficients)
    return model


def _corrected(model: Model, upper: Any, lower: Any, angle: Any, mach: Any) -> tuple[Any, ...]:
    """Declare the flow at low speed; return the coefficients at the Mach number as formulas."""
    above, below = (model.output(v, shape=compressible.SURFACE_POINTS) for v in VELOCITIES)
    lift, drag, moment, confidence = (model.output(name) for name in LOW_SPEED)
    critical = compressible.critical_mach(above, below)
    in_flight = compressible.flight_lift(lift, critical, mach)
    drag = drag + compressible.wave_drag(critical, most_thickness(upper, lower), mach)
    moment = compressible.flight_moment(moment, in_flight, drag, angle, critical, mach)
    return in_flight, drag, moment, confidence


def _performance(model: Model, case: Case, lift: Any, drag: Any, moment: Any, sure: Any) -> None:
    """Limit what is simulated, and set the objective."""
    limits = iter(simulated_limits(case).items())
    for values in (lift, moment, sure):
        for i in range(len(case.lifts)):
            name, (least, most) = next(limits)
            model.subject_to(values[i], lower=least, upper=most, name=name)
    weights = ca.DM(np.array(case.weights) / sum(case.weights))
    if case.best_ratio:
        model.maximize(ca.dot(weights, lift / drag), name="lift over drag")
    else:
        model.minimize(1e4 * ca.dot(weights, drag), name="drag (counts)")
