"""A car's side under impact: nine sizes and positions, two materials, responses by regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, Floats, listed, real

STEELS = (0.192, 0.345)
"""Yield stress of mild and of high-strength steel in GPa."""

THINNEST, THICKEST = 0.5, 1.5
"""Of seven panels, in mm."""


def _car() -> Model:
    model = Model("car side impact")
    t = model.variable("thickness", lower=THINNEST, upper=THICKEST, unit="mm", shape=7)
    x1, x2, x3, x4, x5, x6, x7 = (t[i] for i in range(7))
    x8 = model.choice("inner material", STEELS, unit="GPa")
    x9 = model.choice("beam material", STEELS, unit="GPa")
    height = model.variable("barrier height", lower=-30, upper=30, unit="mm")
    place = model.variable("hitting position", lower=-30, upper=30, unit="mm")
    load = 1.16 - 0.3717 * x2 * x4 - 0.00931 * x2 * height - 0.484 * x3 * x9 + 0.01343 * x6 * height
    upper_rib = 28.98 + 3.818 * x3 - 4.2 * x1 * x2 + 0.0207 * x5 * height + 6.63 * x6 * x9
    upper_rib += -7.7 * x7 * x8 + 0.32 * x9 * height
    middle_rib = 33.86 + 2.95 * x3 + 0.1792 * height - 5.057 * x1 * x2 - 11 * x2 * x8
    middle_rib += -0.0215 * x5 * height - 9.98 * x7 * x8 + 22 * x8 * x9
    upper_chest = 0.261 - 0.0159 * x1 * x2 - 0.188 * x1 * x8 - 0.019 * x2 * x7 + 0.0144 * x3 * x5
    upper_chest += 0.0008757 * x5 * height + 0.08045 * x6 * x9 + 0.00139 * x8 * place
    upper_chest += 0.00001575 * height * place
    middle_chest = 0.214 + 0.00817 * x5 - 0.131 * x1 * x8 - 0.0704 * x1 * x9 + 0.03099 * x2 * x6
    middle_chest += -0.018 * x2 * x7 + 0.0208 * x3 * x8 + 0.121 * x3 * x9 - 0.00364 * x5 * x6
    middle_chest += 0.0007715 * x5 * height - 0.0005354 * x6 * height + 0.00121 * x8 * place
    lower_chest = 0.74 - 0.61 * x2 - 0.163 * x3 * x8 + 0.001232 * x3 * height - 0.166 * x7 * x9
    lower_chest += 0.227 * x2**2
    pubis = 4.72 - 0.5 * x4 - 0.19 * x2 * x3 - 0.0122 * x4 * height + 0.009325 * x6 * height
    pubis += 0.000191 * place**2
    pillar = 10.58 - 0.674 * x1 * x2 - 1.95 * x2 * x8 + 0.02054 * x3 * height
    pillar += -0.0198 * x4 * height + 0.028 * x6 * height
    door = 16.45 - 0.489 * x3 * x7 - 0.843 * x5 * x6 + 0.0432 * x9 * height
    door += -0.0556 * x9 * place - 0.000786 * place**2
    lower_rib = 46.36 - 9.9 * x2 - 12.9 * x1 * x8 + 0.1107 * x3 * height
    model.subject_to(load <= 1, name="abdomen load (kN)")
    model.subject_to(upper_chest <= 0.32, name="viscous criterion, upper chest (m/s)")
    model.subject_to(middle_chest <= 0.32, name="viscous criterion, middle chest (m/s)")
    model.subject_to(lower_chest <= 0.32, name="viscous criterion, lower chest (m/s)")
    model.subject_to(upper_rib <= 32, name="deflection of upper rib (mm)")
    model.subject_to(middle_rib <= 32, name="deflection of middle rib (mm)")
    model.subject_to(lower_rib <= 32, name="deflection of lower rib (mm)")
    model.subject_to(pubis <= 4, name="force on pubis (kN)")
    model.subject_to(pillar <= 9.9, name="velocity of pillar (mm/ms)")
    model.subject_to(door <= 15.7, name="velocity of door (mm/ms)")
    return model


def _weight(x: Any, m: Any) -> Any:
    panels = 4.90 * x[0] + 6.67 * x[1] + 6.98 * x[2] + 4.01 * x[3] + 1.78 * x[4]
    return 1.98 + panels + 2.73 * x[6]


def _tables() -> tuple[Floats, Floats, Floats, Floats]:
    """Constants (10,), linear (10, 11) and square coefficients (10, 11, 11), and limits (10,)."""
    products = {
        0: "2*4 -0.3717, 2*10 -0.00931, 3*9 -0.484, 6*10 0.01343",
        1: "1*2 -0.0159, 1*8 -0.188, 2*7 -0.019, 3*5 0.0144, 5*10 0.0008757, 6*9 0.08045, "
        "8*11 0.00139, 10*11 0.00001575",
        2: "1*8 -0.131, 1*9 -0.0704, 2*6 0.03099, 2*7 -0.018, 3*8 0.0208, 3*9 0.121, 5*6 -0.00364, "
        "5*10 0.0007715, 6*10 -0.0005354, 8*11 0.00121",
        3: "3*8 -0.163, 3*10 0.001232, 7*9 -0.166, 2*2 0.227",
        4: "1*2 -4.2, 5*10 0.0207, 6*9 6.63, 7*8 -7.7, 9*10 0.32",
        5: "1*2 -5.057, 2*8 -11, 5*10 -0.0215, 7*8 -9.98, 8*9 22",
        6: "1*8 -12.9, 3*10 0.1107",
        7: "2*3 -0.19, 4*10 -0.0122, 6*10 0.009325, 11*11 0.000191",
        8: "1*2 -0.674, 2*8 -1.95, 3*10 0.02054, 4*10 -0.0198, 6*10 0.028",
        9: "3*7 -0.489, 5*6 -0.843, 9*10 0.0432, 9*11 -0.0556, 11*11 -0.000786",
    }
    linear = {(2, 5): 0.00817, (3, 2): -0.61, (4, 3): 3.818, (5, 3): 2.95, (5, 10): 0.1792,
              (6, 2): -9.9, (7, 4): -0.5}  # fmt: skip
    constants = np.array([1.16, 0.261, 0.214, 0.74, 28.98, 33.86, 46.36, 4.72, 10.58, 16.45])
    limits = np.array([1.0, 0.32, 0.32, 0.32, 32.0, 32.0, 32.0, 4.0, 9.9, 15.7])
    first, second = np.zeros((10, 11)), np.zeros((10, 11, 11))
    for (row, i), value in linear.items():
        first[row, i - 1] = value
    for row, text in products.items():
        for term in text.split(", "):
            pair, value = term.split()
            i, j = (int(k) - 1 for k in pair.split("*"))
            second[row, i, j] = float(value)
    return constants, first, second, limits


_CONSTANTS, _LINEAR, _SQUARE, _LIMITS = _tables()


def _limits(x: Any, m: Any) -> list[Any]:
    rows = []
    for c, first, second, limit in zip(_CONSTANTS, _LINEAR, _SQUARE, _LIMITS, strict=True):
        value = float(c) + sum(float(first[i]) * x[i] for i in np.flatnonzero(first))
        for i, j in np.argwhere(second):
            value = value + float(second[i, j]) * x[i] * x[j]
        rows.append((value, -NONE, float(limit)))
    return rows


DEFINITIONS: dict[str, Definition] = {
    "car_side_impact": Definition(
        title="Side of a car under impact, two materials from a list",
        family="engineering",
        build=_car,
        space=(
            *(real(THINNEST, THICKEST),) * 7,
            *(listed(STEELS), listed(STEELS), real(-30, 30), real(-30, 30)),
        ),
        objective=_weight,
        limits=_limits,
    )
}
"""Definition of the problem of this module."""
