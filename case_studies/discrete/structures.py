"""Structures: beams of listed sizes, trusses of listed sections, a car's side."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, Floats, listed, named, real, whole
from case_studies.engineering.trusses import BARS, LENGTHS, LOADS, NODES, ten_bar_analysis

# -- reinforced concrete beam -----------------------------------------------------------------

STEEL = (6.0, 6.16, 6.32, 6.6, 7.0, 7.11, 7.2, 7.8, 7.9, 8.0, 8.4)
"""Areas of bars in square inches."""


def _concrete() -> Model:
    model = Model("reinforced concrete beam")
    steel = model.choice("area of steel", STEEL, unit="in2")
    depth = model.integer("depth", lower=28, upper=40, unit="in")
    width = model.variable("width", lower=5, upper=10, unit="in")
    model.subject_to(depth <= 4 * width, name="depth over width")
    model.subject_to(steel * depth - 7.375 * steel**2 / width >= 180, name="bending moment")
    return model


def _concrete_limits(x: Any, m: Any) -> list[Any]:
    steel, depth, width = x
    return [
        (depth - 4 * width, -NONE, 0.0),
        (steel * depth - 7.375 * steel**2 / width, 180.0, NONE),
    ]


# -- stepped cantilever -----------------------------------------------------------------------

WIDTHS, HEIGHTS = (2.4, 2.6, 2.8, 3.1), (45, 50, 55, 60)
"""Of the second and the third segment, in cm."""


def _cantilever() -> Model:
    model = Model("stepped cantilever")
    widths = [model.integer("width 1", lower=1, upper=5, unit="cm")]
    widths += [model.choice(f"width {i}", WIDTHS, unit="cm") for i in (2, 3)]
    widths += [model.variable(f"width {i}", lower=1, upper=5, unit="cm") for i in (4, 5)]
    heights = [model.integer("height 1", lower=30, upper=65, unit="cm")]
    heights += [model.choice(f"height {i}", HEIGHTS, unit="cm") for i in (2, 3)]
    heights += [model.variable(f"height {i}", lower=30, upper=65, unit="cm") for i in (4, 5)]
    deflection = 0
    for i, (b, h) in enumerate(zip(widths, heights, strict=True)):
        arm = 500 - 100 * i  # cm, from the tip to the inner end
        model.subject_to(6 * 50_000 * arm / (b * h**2) <= 14_000, name=f"stress {i + 1} (N/cm2)")
        model.subject_to(h <= 20 * b, name=f"slenderness {i + 1} (cm)")
        deflection += 50_000 * (arm**3 - (arm - 100) ** 3) / (3 * 2e7 * b * h**3 / 12)
    model.subject_to(deflection <= 2.7, name="tip deflection (cm)")
    return model


def _cantilever_volume(x: Any, m: Any) -> Any:
    return 100.0 * sum(x[i] * x[5 + i] for i in range(5))


def _cantilever_limits(x: Any, m: Any) -> list[Any]:
    rows, tip = [], 0.0
    for i in range(5):
        b, h, k = x[i], x[5 + i], 5 - i
        rows.append((3e7 * k / (b * h * h), -NONE, 14_000.0))
        rows.append((h - 20 * b, -NONE, 0.0))
        tip = tip + 1e4 * (3 * k * k - 3 * k + 1) / (b * h**3)
    return [*rows, (tip, -NONE, 2.7)]


# -- ten-bar truss ----------------------------------------------------------------------------

SECTIONS = (
    1.62, 1.80, 1.99, 2.13, 2.38, 2.62, 2.63, 2.88, 2.93, 3.09, 3.13, 3.38, 3.47, 3.55, 3.63, 3.84,
    3.87, 3.88, 4.18, 4.22, 4.49, 4.59, 4.80, 4.97, 5.12, 5.74, 7.22, 7.97, 11.5, 13.5, 13.9, 14.2,
    15.5, 16.0, 16.9, 18.8, 19.9, 22.0, 22.9, 26.5, 30.0, 33.5,
)  # fmt: skip
"""Areas of 42 standard sections in square inches (AISC)."""


def _ten_bars() -> Model:
    model = Model("ten-bar truss of standard sections")
    areas = model.choice("area", SECTIONS, unit="in2", shape=10)
    stresses, displacements = ten_bar_analysis(areas, LOADS[1])
    model.subject_to(stresses, lower=-25, upper=25, name="stress (ksi)")
    model.subject_to(displacements, lower=-2, upper=2, name="displacement (in)")
    return model


def _ten_bars_weight(x: Any, m: Any) -> Any:
    return 0.1 * sum(float(length) * area for length, area in zip(LENGTHS, x, strict=True))


def _directions() -> Floats:
    """Return the matrix (10, 8) from displacements of the free nodes to elongations of bars."""
    matrix = np.zeros((10, 12))
    for i, (start, end) in enumerate(BARS):
        unit = (NODES[end] - NODES[start]) / LENGTHS[i]
        matrix[i, 2 * start : 2 * start + 2] = -unit
        matrix[i, 2 * end : 2 * end + 2] = unit
    return matrix[:, :8]


ELONGATIONS = _directions()
"""Elongations of the ten bars for unit displacements of the four free nodes, (10, 8)."""


def _ten_bars_limits(x: Any, m: Any) -> list[Any]:
    """Return stresses and displacements by the stiffness matrix; the model has the force method."""
    stiffness = ELONGATIONS.T @ ((1e4 * np.asarray(x) / LENGTHS)[:, None] * ELONGATIONS)
    moved = np.linalg.solve(stiffness, LOADS[1])
    stresses = 1e4 * (ELONGATIONS @ moved) / LENGTHS
    return [*((s, -25.0, 25.0) for s in stresses), *((u, -2.0, 2.0) for u in moved)]


# -- welded beam with materials ---------------------------------------------------------------

MATERIALS: dict[str, dict[str, float]] = {
    "steel": {"weld": 0.1047, "bar": 0.0481, "strength": 30e3, "E": 30e6, "G": 12e6},
    "cast iron": {"weld": 0.0489, "bar": 0.0224, "strength": 8e3, "E": 14e6, "G": 6e6},
    "aluminium": {"weld": 0.5235, "bar": 0.2405, "strength": 5e3, "E": 10e6, "G": 4e6},
    "brass": {"weld": 0.5584, "bar": 0.2566, "strength": 8e3, "E": 16e6, "G": 6e6},
}
"""Cost of weld and bar in $/in3; strength and moduli in psi."""

SIXTEENTHS = tuple(0.0625 * k for k in range(1, 33))
"""Sizes of welds and bars in inches, up to 2."""

BAR_HEIGHTS = tuple(0.0625 * k for k in range(32, 161))
"""From 2 to 10 inches."""

_TABLE = np.array([list(row.values()) for row in MATERIALS.values()])


def _welded() -> Model:
    """Beam of 14 in under 6000 lb, welded at two sides or all around."""
    model = Model("welded beam of four materials")
    around = model.binary("welded all around")
    material = model.category("material", MATERIALS)
    h = model.choice("weld size", SIXTEENTHS, unit="in")
    length = model.variable("weld length", lower=0.1, upper=10, unit="in")
    t = model.choice("bar height", BAR_HEIGHTS, unit="in")
    b = model.choice("bar thickness", SIXTEENTHS, unit="in")
    load, arm, root = 6000, 14, math.sqrt(2)
    strength, young, shear = (material[key] for key in ("strength", "E", "G"))
    two_sides = root * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    polar = (1 - around) * two_sides + around * root * h * (h + t + length) ** 3 / 12
    radius = ca.sqrt(length**2 + (h + t) ** 2) / 2
    direct = load / (root * h * (length + around * t))
    torsion = load * (arm + length / 2) * radius / polar
    stress = ca.sqrt(direct**2 + torsion**2 + direct * torsion * length / radius)
    buckling = 4.013 * t * b**3 * ca.sqrt(young * shear) / (6 * arm**2)
    buckling *= 1 - t / (4 * arm) * ca.sqrt(young / shear)
    model.subject_to(stress / (0.577 * strength) <= 1, name="shear in weld over strength")
    model.subject_to(6 * load * arm / (b * t**2) / strength <= 1, name="bending over strength")
    model.subject_to(buckling >= load, name="buckling load (lb)")
    model.subject_to(4 * load * arm**3 / (young * t**3 * b) <= 0.25, name="deflection (in)")
    return model


def _material(x: Any, column: int) -> Any:
    return _TABLE[np.asarray(x[1], dtype=int), column]


def _welded_cost(x: Any, m: Any) -> Any:
    around, _, h, length, t, b = x
    weld = (1.0 + _material(x, 0)) * h**2 * (length + around * t)
    return weld + _material(x, 1) * t * b * (14.0 + length)


def _welded_limits(x: Any, m: Any) -> list[Any]:
    around, _, h, length, t, b = x
    strength, young, shear = (_material(x, k) for k in (2, 3, 4))
    span = length**2 + (h + t) ** 2
    area = 2**0.5 * h * (length + around * t)
    polar = 2**0.5 * h / 12 * (
        (1 - around) * length * (length**2 + 3 * (h + t) ** 2) + around * (h + t + length) ** 3
    )  # fmt: skip
    first, second = 6000 / area, 3000 * (14 + 0.5 * length) * m.sqrt(span) / polar
    weld = m.sqrt(first**2 + second**2 + 2 * first * second * length / m.sqrt(span))
    critical = 4.013 / 1176 * t * b**3 * (young * shear) ** 0.5
    return [
        (weld / (0.577 * strength), -NONE, 1.0),
        (504_000 / (b * t**2) / strength, -NONE, 1.0),
        (critical * (1 - t / 56 * (young / shear) ** 0.5), 6000.0, NONE),
        (65_856_000 / (young * t**3 * b), -NONE, 0.25),
    ]


# -- three-bar truss --------------------------------------------------------------------------

TENTHS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.2)
"""Areas of the bars in square inches."""


def _three_bars() -> Model:
    model = Model("three-bar truss of listed areas")
    a1, a2, a3 = (model.choice(f"area {i}", TENTHS, unit="in2") for i in (1, 2, 3))
    common = 1.5 * a1 * a2 + math.sqrt(2) * a2 * a3 + 1.319 * a1 * a3
    model.subject_to((math.sqrt(3) * a2 + 1.932 * a3) / common <= 1, name="stress 1")
    model.subject_to((0.634 * a1 + 2.828 * a3) / common <= 1, name="stress 2")
    model.subject_to((0.5 * a1 - 2 * a2) / common, lower=-1, upper=1, name="stress 3")
    return model


def _three_bars_limits(x: Any, m: Any) -> list[Any]:
    a1, a2, a3 = x
    shared = 1.5 * a1 * a2 + 2**0.5 * a2 * a3 + 1.319 * a1 * a3
    return [
        ((3**0.5 * a2 + 1.932 * a3) / shared, -NONE, 1.0),
        ((0.634 * a1 + 2.828 * a3) / shared, -NONE, 1.0),
        ((0.5 * a1 - 2 * a2) / shared, -1.0, 1.0),
    ]


DEFINITIONS: dict[str, Definition] = {
    "concrete_beam": Definition(
        title="Reinforced concrete beam, bars from a list",
        family="engineering",
        build=_concrete,
        space=(listed(STEEL), whole(28, 40), real(5, 10)),
        objective=lambda x, m: 29.4 * x[0] + 0.6 * x[1] * x[2],
        limits=_concrete_limits,
    ),
    "stepped_cantilever": Definition(
        title="Cantilever of five steps, three from lists",
        family="engineering",
        build=_cantilever,
        space=(
            *(whole(1, 5), listed(WIDTHS), listed(WIDTHS), real(1, 5), real(1, 5)),
            *(whole(30, 65), listed(HEIGHTS), listed(HEIGHTS), real(30, 65), real(30, 65)),
        ),
        objective=_cantilever_volume,
        limits=_cantilever_limits,
    ),
    "ten_bar_truss": Definition(
        title="Ten-bar truss of 42 standard sections",
        family="engineering",
        build=_ten_bars,
        space=(listed(SECTIONS),) * 10,
        objective=_ten_bars_weight,
        limits=_ten_bars_limits,
    ),
    "welded_beam": Definition(
        title="Welded beam: kind of weld, material, sizes in sixteenths of an inch",
        family="engineering",
        build=_welded,
        space=(
            *(whole(0, 1), named(len(MATERIALS)), listed(SIXTEENTHS), real(0.1, 10)),
            *(listed(BAR_HEIGHTS), listed(SIXTEENTHS)),
        ),
        objective=_welded_cost,
        limits=_welded_limits,
    ),
    "three_bar_truss": Definition(
        title="Three-bar truss of listed areas",
        family="engineering",
        build=_three_bars,
        space=(listed(TENTHS),) * 3,
        objective=lambda x, m: 2.0 * x[0] + x[1] + math.sqrt(2.0) * x[2],
        limits=_three_bars_limits,
    ),
}
"""Definition of each problem of this module."""
