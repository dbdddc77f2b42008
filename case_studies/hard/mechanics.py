"""A robot gripper, a rocket and a hexagon.

The gripper [Osyczka 1999, 2002; Kumar et al. 2020, RC24]: a linkage of three bars turns the force
of an actuator into that of the fingers. Its objective is the spread of the finger force over the
stroke, a maximum less a minimum, and so has kinks.

=============  ======================================================
a, b, c        lengths of the bars (mm)
e, f, l        offsets of actuator, finger and joint (mm)
delta          angle between the bars b and c (rad)
z              position of the actuator, 0 to ``STROKE`` (mm)
g(z)           distance of actuator and joint: a, b and g are a triangle
=============  ======================================================
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

# -- robot gripper ---------------------------------------------------------------------------

STROKE = 99.9999
FORCE = 100.0  # of the actuator, N
NARROW, WIDE, WIDEST = 50.0, 100.0, 150.0  # openings of the fingers, mm
POSITIONS = 2001
"""At so many positions of the stroke the force is computed."""


def _gripper() -> Model:
    model = Model("robot gripper")
    limits = {"a": (10, 150), "b": (10, 150), "c": (100, 200), "e": (0, 50), "f": (10, 150),
              "l": (100, 300)}  # fmt: skip
    a, b, c, e, f, l = (  # noqa: E741
        model.variable(name, lower=low, upper=high, unit="mm")
        for name, (low, high) in limits.items()
    )
    delta = model.variable("delta", lower=1, upper=3.14, unit="rad")

    def opening(z: float) -> Any:
        g = ca.sqrt((l - z) ** 2 + e**2)
        beta = ca.acos((b**2 + g**2 - a**2) / (2 * b * g)) - ca.atan(e / (l - z))
        return 2 * (e + f + c * ca.sin(beta + delta))

    model.subject_to(opening(STROKE) <= NARROW, name="closed far enough (mm)")
    model.subject_to(opening(STROKE) >= 0, name="fingers do not cross (mm)")
    model.subject_to(opening(0.0) >= WIDE, name="open far enough (mm)")
    model.subject_to(opening(0.0) <= WIDEST, name="widest opening (mm)")
    model.subject_to(l**2 + e**2 <= (a + b) ** 2, name="bars reach (mm2)")
    model.subject_to(b**2 <= (a - e) ** 2 + (l - STROKE) ** 2, name="bars do not lock (mm2)")
    model.subject_to(l >= STROKE, name="actuator before the joint (mm)")
    model.subject_to((a - b) ** 2 <= (l - STROKE) ** 2 + e**2, name="triangle closes (mm2)")
    return model


def finger_force(x: Floats, z: Floats) -> Floats:
    """Force of a finger at the positions z; NaN where the bars do not meet."""
    a, b, c, e, _, l, _ = x  # noqa: E741
    g = np.hypot(l - z, e)
    at_a = np.arccos((a**2 + g**2 - b**2) / (2 * a * g))
    at_b = np.arccos((b**2 + g**2 - a**2) / (2 * b * g))
    alpha = at_a + np.arctan2(e, l - z)
    return np.asarray(FORCE * b * np.sin(at_a + at_b) / (2 * c * np.cos(alpha)))


def _force_spread(x: Floats) -> float:
    force = finger_force(x, np.linspace(0.0, STROKE, POSITIONS))
    return float(force.max() - force.min())


# -- HS 99: ascent of a rocket ----------------------------------------------------------------

_TIMES = (0.0, 25.0, 50.0, 100.0, 150.0, 200.0, 290.0, 380.0)
_THRUSTS = (0.0, 50.0, 50.0, 75.0, 75.0, 75.0, 100.0, 100.0)
_GRAVITY, _HEIGHT, _SPEED = 32.0, 1e5, 1e3


def _ascent(angles: Any) -> tuple[Any, Any, Any]:
    """Range, height and vertical speed at the end."""
    r = q = s = 0.0
    for i in range(1, len(_TIMES)):
        step, angle = _TIMES[i] - _TIMES[i - 1], angles[i - 1]
        lift = _THRUSTS[i] * ca.sin(angle) - _GRAVITY
        r = r + _THRUSTS[i] * step * ca.cos(angle)
        q = q + 0.5 * step**2 * lift + step * s
        s = s + step * lift
    return r, q, s


def _rocket() -> Model:
    model = Model("HS 99")
    angles = [model.variable(f"angle {i}", lower=0, upper=1.58, unit="rad") for i in range(1, 8)]
    _, height, speed = _ascent(angles)
    model.subject_to(height == _HEIGHT, name="height", tolerance=1e-4)
    model.subject_to(speed == _SPEED, name="speed", tolerance=1e-4)
    return model


def _minus_range_squared(x: Floats) -> float:
    return -(_ascent(x)[0] ** 2)


# -- HS 108: hexagon of diameter one ----------------------------------------------------------


def _hexagon() -> Model:
    model = Model("HS 108")
    # No corner is farther than 2 from the origin, by the rows: the box does not change the problem.
    x = [model.variable(f"x{i}", lower=-2, upper=2) for i in range(1, 9)]
    x1, x2, x3, x4, x5, x6, x7, x8 = x
    x9 = model.variable("x9", lower=0, upper=2)
    pairs = [(x3, x4), (0, x9), (x5, x6), (x1, x2 - x9), (x1 - x5, x2 - x6), (x1 - x7, x2 - x8),
             (x3 - x5, x4 - x6), (x3 - x7, x4 - x8), (x7, x8 - x9)]  # fmt: skip
    for number, (a, b) in enumerate(pairs, start=1):
        model.subject_to(a**2 + b**2 <= 1, name=f"distance {number}")
    turns = [x1 * x4 - x2 * x3, x3 * x9, -x5 * x9, x5 * x8 - x6 * x7]
    for number, turn in enumerate(turns, start=1):
        model.subject_to(turn >= 0, name=f"turn {number}")
    return model


def _minus_area(x: Floats) -> float:
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = x
    return -0.5 * (x1 * x4 - x2 * x3 + x3 * x9 - x5 * x9 + x5 * x8 - x6 * x7)


DEFINITIONS = {
    "hs099": Definition("ascent of a rocket", _rocket, _minus_range_squared),
    "hs108": Definition("largest hexagon of diameter one", _hexagon, _minus_area),
    "gripper": Definition("robot gripper with an even force", _gripper, _force_spread),
}
