"""Switching angles of inverters with 3, 5, 7 and 9 levels: least distortion of the current.

The voltage of a multilevel inverter is a staircase. Its N switching angles in a quarter of a period
have to be in order and to give the fundamental a prescribed amplitude; what is minimised is the
weighted total distortion by the harmonics that remain, relative to that of six-step operation.

=================  ==========================================================
here               in Rathore et al. (2010), and Kumar et al. (2020)
=================  ==========================================================
angles x (N,)      alpha_i, in degrees
``_STEPS``         s(i), +1 or -1: the staircase goes up or down
``_HARMONICS``     k, those that a three-phase load sees
``depth``          m, the modulation index
=================  ==========================================================
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

_HARMONICS = np.array([5, 7, 11, 13, 17, 19, 23, 25, 29, 31, 35, 37, 41, 43, 47, 49, 53, 55, 59, 61,
                       65, 67, 71, 73, 77, 79, 83, 85, 91, 95, 97])  # fmt: skip

_STEPS = {
    3: "+-+-+-+-+-+-+-+-+-+-+-+-+",
    5: "+-++-+-+--+-++-+-+--+-++-",
    7: "+-+++---++--+++---++--+++",
    9: "++++-+---+--++++-+---+--++++-+",
}
_DEPTHS = {3: 0.32, 5: 0.32, 7: 0.36, 9: 0.32}

RIGHT_ANGLE = 90.0
APART = 1e-6
"""Least distance of neighbouring angles, in degrees."""

TOLERANCE = 1e-4
"""Half-width of the equality of the fundamental, as in the source."""


def signs(levels: int) -> Floats:
    """Return +1 for each step up and -1 for each step down (N,)."""
    return np.array([1.0 if step == "+" else -1.0 for step in _STEPS[levels]])


def _cells(levels: int) -> int:
    """How many cells the staircase is made of."""
    return (levels - 1) // 2


def _inverter(levels: int) -> Model:
    model = Model(f"inverter, {levels} levels")
    s = signs(levels)
    angles = [
        model.variable(f"angle {i + 1}", lower=0, upper=RIGHT_ANGLE, unit="deg")
        for i in range(len(s))
    ]
    for i, (first, second) in enumerate(pairwise(angles), start=1):
        model.subject_to(second - first >= APART, name=f"order {i}")
    fundamental = sum(
        float(sign) * ca.cos(angle * (np.pi / 180)) for sign, angle in zip(s, angles, strict=True)
    )
    model.subject_to(
        fundamental == _cells(levels) * _DEPTHS[levels], name="fundamental", tolerance=TOLERANCE
    )
    return model


def _distortion(levels: int, x: Floats) -> float:
    s, angles = signs(levels), np.asarray(x) * (np.pi / 180)
    total, six_step = 0.0, 0.0
    for k in _HARMONICS:
        amplitude = (s * np.cos(k * angles)).sum()
        total = total + amplitude**2 / k**4.0
        six_step += k**-4.0
    return (total / six_step) ** 0.5 / _cells(levels)


DEFINITIONS = {
    f"inverter_{levels}": Definition(
        f"switching angles of an inverter with {levels} levels",
        partial(_inverter, levels),
        partial(_distortion, levels),
    )
    for levels in _STEPS
}
