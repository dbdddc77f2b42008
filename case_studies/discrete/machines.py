"""Machine elements: pressure vessel, coil spring, speed reducer, gear train, clutch brake."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, listed, real, whole

# -- pressure vessel --------------------------------------------------------------------------

PLATES = tuple(0.0625 * k for k in range(1, 100))
"""Thicknesses of plates in inches: the multiples of a sixteenth up to 6.1875."""


def _vessel() -> Model:
    model = Model("pressure vessel")
    shell = model.choice("shell thickness", PLATES, unit="in")
    head = model.choice("head thickness", PLATES, unit="in")
    radius = model.variable("radius", lower=10, upper=200, unit="in")
    length = model.variable("length", lower=10, upper=200, unit="in")
    volume = math.pi * radius**2 * (length + 4 / 3 * radius)
    model.subject_to(shell >= 0.0193 * radius, name="hoop stress in shell (in)")
    model.subject_to(head >= 0.00954 * radius, name="stress in head (in)")
    model.subject_to(volume >= 1_296_000, name="volume (in3)")
    return model


def _vessel_cost(x: Any, m: Any) -> Any:
    shell, head, radius, length = x
    forming = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    return forming + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius


def _vessel_limits(x: Any, m: Any) -> list[Any]:
    shell, head, radius, length = x
    volume = math.pi * radius**2 * length + 4 * math.pi * radius**3 / 3
    return [
        (0.0193 * radius - shell, -NONE, 0.0),
        (0.00954 * radius - head, -NONE, 0.0),
        (volume, 1_296_000.0, NONE),
    ]


# -- coil compression spring ------------------------------------------------------------------

WIRES = (
    0.009, 0.0095, 0.0104, 0.0118, 0.0128, 0.0132, 0.014, 0.015, 0.0162, 0.0173, 0.018, 0.020,
    0.023, 0.025, 0.028, 0.032, 0.035, 0.041, 0.047, 0.054, 0.063, 0.072, 0.080, 0.092, 0.105,
    0.120, 0.135, 0.148, 0.162, 0.177, 0.192, 0.207, 0.225, 0.244, 0.263, 0.283, 0.307, 0.331,
    0.362, 0.394, 0.4375, 0.500,
)  # fmt: skip
"""Diameters of music wire, ASTM A228, in inches."""


def _spring() -> Model:
    """Sandgren's spring; the row that two of its formulas make an identity is left out."""
    model = Model("coil spring")
    coils = model.integer("active coils", lower=1, upper=70)
    winding = model.variable("winding diameter", lower=0.6, upper=3, unit="in")
    wire = model.choice("wire diameter", WIRES, unit="in")
    largest, preload = 1000, 300  # lb
    index = winding / wire
    stress_factor = (4 * index - 1) / (4 * index - 4) + 0.615 / index
    rate = 11.5e6 * wire**4 / (8 * coils * winding**3)  # lb / in
    stress = 8 * stress_factor * largest * winding / (math.pi * wire**3)
    free_length = largest / rate + 1.05 * (coils + 2) * wire
    model.subject_to(index >= 3, name="spring index")
    model.subject_to(stress <= 189_000, name="shear stress (psi)")
    model.subject_to(free_length <= 14, name="free length (in)")
    model.subject_to(wire >= 0.2, name="least wire diameter (in)")
    model.subject_to(winding + wire <= 3, name="outer diameter (in)")
    model.subject_to(preload / rate <= 6, name="deflection under preload (in)")
    model.subject_to((largest - preload) / rate >= 1.25, name="deflection from preload (in)")
    return model


def _spring_volume(x: Any, m: Any) -> Any:
    coils, winding, wire = x
    return math.pi**2 * winding * wire**2 * (coils + 2.0) / 4.0


def _spring_limits(x: Any, m: Any) -> list[Any]:
    coils, winding, wire = x
    ratio = winding / wire
    factor = (4 * ratio - 1) / (4 * ratio - 4) + 0.615 / ratio
    soft = 8 * coils * winding**3 / (11.5e6 * wire**4)  # in / lb
    return [
        (ratio, 3.0, NONE),
        (8000 * factor * winding / (math.pi * wire**3), -NONE, 189_000.0),
        (1000 * soft + 1.05 * (coils + 2) * wire, -NONE, 14.0),
        (wire, 0.2, NONE),
        (winding + wire, -NONE, 3.0),
        (300 * soft, -NONE, 6.0),
        (700 * soft, 1.25, NONE),
    ]


# -- speed reducer ----------------------------------------------------------------------------


def _reducer() -> Model:
    model = Model("speed reducer")
    face = model.variable("face width", lower=2.6, upper=3.6, unit="cm")
    module = model.variable("module of teeth", lower=0.7, upper=0.8, unit="cm")
    teeth = model.integer("teeth of pinion", lower=17, upper=28)
    length = model.variable("shaft length", lower=7.3, upper=8.3, unit="cm", shape=2)
    d1 = model.variable("diameter of shaft 1", lower=2.9, upper=3.9, unit="cm")
    d2 = model.variable("diameter of shaft 2", lower=5, upper=5.5, unit="cm")
    pitch = module * teeth
    model.subject_to(27 / (face * module * pitch) <= 1, name="bending of teeth")
    model.subject_to(397.5 / (face * pitch**2) <= 1, name="contact of teeth")
    for i, (d, load, limit) in enumerate(((d1, 16.9e6, 1100), (d2, 157.5e6, 850))):
        stress = ca.sqrt((745 * length[i] / pitch) ** 2 + load) / (0.1 * d**3)
        model.subject_to(1.93 * length[i] ** 3 / (pitch * d**4) <= 1, name=f"bending {i + 1}")
        model.subject_to(stress <= limit, name=f"stress in shaft {i + 1} (kgf/cm2)")
    model.subject_to(pitch <= 40, name="pitch diameter (cm)")
    model.subject_to(face / module, lower=5, upper=12, name="face over module")
    model.subject_to(1.5 * d1 + 1.9 <= length[0], name="room on shaft 1 (cm)")
    model.subject_to(1.1 * d2 + 1.9 <= length[1], name="room on shaft 2 (cm)")
    return model


def _reducer_weight(x: Any, m: Any) -> Any:
    face, module, teeth, length1, length2, d1, d2 = x
    gears = 0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    bores = 1.508 * face * (d1**2 + d2**2)
    ends = 7.4777 * (d1**3 + d2**3)
    return gears - bores + ends + 0.7854 * (length1 * d1**2 + length2 * d2**2)


def _reducer_limits(x: Any, m: Any) -> list[Any]:
    face, module, teeth, length1, length2, d1, d2 = x
    turn1, turn2 = 745 * length1 / (module * teeth), 745 * length2 / (module * teeth)
    return [
        (27 / (face * module**2 * teeth), -NONE, 1.0),
        (397.5 / (face * module**2 * teeth**2), -NONE, 1.0),
        (1.93 * length1**3 / (module * teeth * d1**4), -NONE, 1.0),
        (10 * m.sqrt(turn1**2 + 16.9e6) / d1**3, -NONE, 1100.0),
        (1.93 * length2**3 / (module * teeth * d2**4), -NONE, 1.0),
        (10 * m.sqrt(turn2**2 + 157.5e6) / d2**3, -NONE, 850.0),
        (module * teeth, -NONE, 40.0),
        (face / module, 5.0, 12.0),
        (1.5 * d1 + 1.9 - length1, -NONE, 0.0),
        (1.1 * d2 + 1.9 - length2, -NONE, 0.0),
    ]


# -- gear train -------------------------------------------------------------------------------


def _gears() -> Model:
    model = Model("gear train")
    model.integer("teeth", lower=12, upper=60, shape=4)
    return model


def _gears_error(x: Any, m: Any) -> Any:
    d, b, a, f = x
    return (1.0 / 6.931 - d * b / (a * f)) ** 2


# -- clutch brake -----------------------------------------------------------------------------

_SPEED = math.pi * 250 / 30  # rad / s


def _brake() -> Model:
    model = Model("multiple disk clutch brake")
    inner = model.integer("inner radius", lower=60, upper=80, unit="mm")
    outer = model.integer("outer radius", lower=90, upper=110, unit="mm")
    thickness = model.choice("disk thickness", [1, 1.5, 2, 2.5, 3], unit="mm")
    force = model.choice("actuating force", range(600, 1001, 10), unit="N")
    surfaces = model.integer("friction surfaces", lower=2, upper=9)
    ring = outer**2 - inner**2
    mean = 2 / 3 * (outer**3 - inner**3) / ring  # mm
    pressure = force / (math.pi * ring)  # MPa
    speed = _SPEED * mean / 1000  # m / s
    torque = 0.5 * force * surfaces * mean / 1000  # N m
    model.subject_to(outer - inner >= 20, name="ring width (mm)")
    model.subject_to((surfaces + 1) * (thickness + 0.5) <= 30, name="length (mm)")
    model.subject_to(pressure <= 1, name="pressure (MPa)")
    model.subject_to(pressure * speed <= 10, name="pressure times speed (MPa m/s)")
    model.subject_to(speed <= 10, name="sliding speed (m/s)")
    model.subject_to(55 * _SPEED / (torque + 3) <= 15, name="stopping time (s)")
    model.subject_to(torque >= 60, name="braking torque (N m)")
    return model


def _brake_mass(x: Any, m: Any) -> Any:
    inner, outer, thickness, _, surfaces = x
    return math.pi * (outer**2 - inner**2) * thickness * (surfaces + 1.0) * 7.8e-6


def _brake_limits(x: Any, m: Any) -> list[Any]:
    inner, outer, thickness, force, surfaces = x
    cubes, squares = outer**3 - inner**3, outer**2 - inner**2
    pressure = force / (math.pi * squares)
    speed = 2 * math.pi * 250 * cubes / (90_000 * squares)
    torque = force * surfaces * cubes / (3000 * squares)
    return [
        (outer - inner, 20.0, NONE),
        ((surfaces + 1) * (thickness + 0.5), -NONE, 30.0),
        (pressure, -NONE, 1.0),
        (pressure * speed, -NONE, 10.0),
        (speed, -NONE, 10.0),
        (55 * math.pi * 250 / (30 * (torque + 3)), -NONE, 15.0),
        (torque, 60.0, NONE),
    ]


DEFINITIONS: dict[str, Definition] = {
    "pressure_vessel": Definition(
        title="Pressure vessel of plates in sixteenths of an inch",
        family="engineering",
        build=_vessel,
        space=(listed(PLATES), listed(PLATES), real(10, 200), real(10, 200)),
        objective=_vessel_cost,
        limits=_vessel_limits,
    ),
    "coil_spring": Definition(
        title="Compression spring of standard wire, whole coils",
        family="engineering",
        build=_spring,
        space=(whole(1, 70), real(0.6, 3.0), listed(WIRES)),
        objective=_spring_volume,
        limits=_spring_limits,
    ),
    "speed_reducer": Definition(
        title="Speed reducer, whole teeth",
        family="engineering",
        build=_reducer,
        space=(
            *(real(2.6, 3.6), real(0.7, 0.8), whole(17, 28), real(7.3, 8.3), real(7.3, 8.3)),
            *(real(2.9, 3.9), real(5.0, 5.5)),
        ),
        objective=_reducer_weight,
        limits=_reducer_limits,
    ),
    "gear_train": Definition(
        title="Gear train of ratio 1 / 6.931",
        family="engineering",
        build=_gears,
        space=(whole(12, 60),) * 4,
        objective=_gears_error,
    ),
    "clutch_brake": Definition(
        title="Disk clutch brake, everything from lists",
        family="engineering",
        build=_brake,
        space=(
            *(whole(60, 80), whole(90, 110), listed((1, 1.5, 2, 2.5, 3))),
            *(listed(range(600, 1001, 10)), whole(2, 9)),
        ),
        objective=_brake_mass,
        limits=_brake_limits,
    ),
}
"""Definition of each problem of this module."""
