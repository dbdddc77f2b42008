"""Machine elements: spring, speed reducer, disk clutch brake and piston lever."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

# -- spring ----------------------------------------------------------------------------------


def _spring() -> Model:
    model = Model("tension/compression spring")
    d = model.variable("wire diameter", lower=0.05, upper=2, unit="in")
    coil = model.variable("coil diameter", lower=0.25, upper=1.3, unit="in")
    turns = model.variable("active coils", lower=2, upper=15)
    shear = (4 * coil**2 - d * coil) / (12566 * (coil * d**3 - d**4)) + 1 / (5108 * d**2)
    model.subject_to(coil**3 * turns / (71785 * d**4) >= 1, name="deflection over least")
    model.subject_to(shear <= 1, name="shear stress over limit")
    model.subject_to(140.45 * d / (coil**2 * turns) >= 1, name="surge frequency over least")
    model.subject_to(coil + d <= 1.5, name="outer diameter (in)")
    return model


def _spring_weight(x: Floats) -> float:
    d, coil, turns = x
    return (turns + 2.0) * coil * d**2


# -- speed reducer ---------------------------------------------------------------------------


def _speed_reducer() -> Model:
    model = Model("speed reducer")
    face = model.variable("face width", lower=2.6, upper=3.6, unit="cm")
    module = model.variable("module of teeth", lower=0.7, upper=0.8, unit="cm")
    teeth = model.variable("teeth of pinion", lower=17, upper=28)
    length1 = model.variable("length of shaft 1", lower=7.3, upper=8.3, unit="cm")
    length2 = model.variable("length of shaft 2", lower=7.3, upper=8.3, unit="cm")
    d1 = model.variable("diameter of shaft 1", lower=2.9, upper=3.9, unit="cm")
    d2 = model.variable("diameter of shaft 2", lower=5, upper=5.5, unit="cm")
    pitch = module * teeth
    stress1 = ca.sqrt((745 * length1 / pitch) ** 2 + 16.9e6) / (0.1 * d1**3)
    stress2 = ca.sqrt((745 * length2 / pitch) ** 2 + 157.5e6) / (0.1 * d2**3)
    model.subject_to(27 / (face * module**2 * teeth) <= 1, name="bending of teeth")
    model.subject_to(397.5 / (face * module**2 * teeth**2) <= 1, name="contact of teeth")
    model.subject_to(1.93 * length1**3 / (pitch * d1**4) <= 1, name="deflection of shaft 1")
    model.subject_to(1.93 * length2**3 / (pitch * d2**4) <= 1, name="deflection of shaft 2")
    model.subject_to(stress1 <= 1100, name="stress in shaft 1 (kgf/cm2)")
    model.subject_to(stress2 <= 850, name="stress in shaft 2 (kgf/cm2)")
    model.subject_to(pitch <= 40, name="pitch diameter (cm)")
    model.subject_to(face >= 5 * module, name="least face width (cm)")
    model.subject_to(face <= 12 * module, name="most face width (cm)")
    model.subject_to(1.5 * d1 + 1.9 <= length1, name="room on shaft 1 (cm)")
    model.subject_to(1.1 * d2 + 1.9 <= length2, name="room on shaft 2 (cm)")
    return model


def _speed_reducer_weight(x: Floats) -> float:
    face, module, teeth, length1, length2, d1, d2 = x
    gears = 0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    bores = -1.508 * face * (d1**2 + d2**2)
    ends = 7.4777 * (d1**3 + d2**3)
    return gears + bores + ends + 0.7854 * (length1 * d1**2 + length2 * d2**2)


# -- disk clutch brake -----------------------------------------------------------------------

_FRICTION = 0.5
_SPEED = math.pi * 250 / 30  # rad / s


def _clutch_brake() -> Model:
    model = Model("multiple disk clutch brake")
    ri = model.variable("inner radius", lower=60, upper=80, unit="mm")
    ro = model.variable("outer radius", lower=90, upper=110, unit="mm")
    t = model.variable("disk thickness", lower=1, upper=3, unit="mm")
    force = model.variable("actuating force", lower=600, upper=1000, unit="N")
    z = model.variable("friction surfaces", lower=2, upper=9)
    mean = 2 / 3 * (ro**3 - ri**3) / (ro**2 - ri**2)  # mm, radius of the mean sliding speed
    pressure = force / (math.pi * (ro**2 - ri**2))  # N / mm2
    speed = _SPEED * mean / 1000  # m / s
    torque = _FRICTION * force * z * mean / 1000  # N m
    model.subject_to(ro - ri >= 20, name="ring width (mm)")
    model.subject_to((z + 1) * (t + 0.5) <= 30, name="length (mm)")
    model.subject_to(pressure <= 1, name="pressure (MPa)")
    model.subject_to(pressure * speed <= 10, name="pressure times speed (MPa m/s)")
    model.subject_to(speed <= 10, name="sliding speed (m/s)")
    model.subject_to(55 * _SPEED / (torque + 3), lower=0, upper=15, name="stopping time (s)")
    model.subject_to(torque >= 1.5 * 40, name="braking torque (N m)")
    return model


def _clutch_brake_mass(x: Floats) -> float:
    ri, ro, t, _, z = x
    return math.pi * (ro**2 - ri**2) * t * (z + 1.0) * 7.8e-6


# -- piston lever ----------------------------------------------------------------------------

_COSINE = math.sqrt(0.5)  # of 45 degrees, which is also the sine


def _piston_lever() -> Model:
    model = Model("piston lever")
    h = model.variable("height H", lower=0.05, upper=500, unit="in")
    b = model.variable("base B", lower=0.05, upper=500, unit="in")
    d = model.variable("piston diameter D", lower=0.05, upper=500, unit="in")
    x = model.variable("lever arm X", lower=0.05, upper=120, unit="in")
    load, lever = 10_000.0, 240.0  # lb, in
    short, long = _cylinder(h, b, x)
    arm = ca.fabs(-x * (x * _COSINE + h) + h * (b - x * _COSINE)) / short
    moment = arm * (1500 * math.pi / 4) * d**2  # 1500 psi
    model.subject_to(moment >= load * lever * _COSINE, name="moment of the piston (lb in)")
    model.subject_to(load * (lever - x) <= 1.8e6, name="bending of the lever (lb in)")
    model.subject_to(1.2 * (long - short) <= short, name="stroke (in)")
    model.subject_to(d <= 2 * b, name="piston diameter (in)")
    return model


def _cylinder(h: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return the length of the cylinder with the lever down and with the lever up."""
    short = ((x - b) ** 2 + h**2) ** 0.5
    long = ((x * _COSINE + h) ** 2 + (b - x * _COSINE) ** 2) ** 0.5
    return short, long


def _piston_lever_oil(x: Floats) -> float:
    h, b, d, arm = x
    short, long = _cylinder(h, b, arm)
    return math.pi / 4 * d**2 * (long - short)


DEFINITIONS: dict[str, Definition] = {
    "spring": Definition("Tension/compression spring of least weight", _spring, _spring_weight),
    "speed_reducer": Definition(
        "Speed reducer of least weight (Golinski)",
        _speed_reducer,
        _speed_reducer_weight,
        relaxed=("teeth of pinion",),
    ),
    "clutch_brake": Definition(
        "Multiple disk clutch brake of least mass",
        _clutch_brake,
        _clutch_brake_mass,
        relaxed=(
            "inner radius",
            "outer radius",
            "disk thickness",
            "actuating force",
            "friction surfaces",
        ),
    ),
    "piston_lever": Definition(
        "Piston lever of least oil volume", _piston_lever, _piston_lever_oil
    ),
}
"""Definition of each problem of this module."""
