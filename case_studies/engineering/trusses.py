"""Trusses: three bars, and ten bars under two load cases.

The ten-bar truss has eight equations of equilibrium for ten bar forces. The force method needs
no stiffness matrix: with two diagonals as redundants, the other forces follow from statics, and
the two redundant forces solve a 2 x 2 system that depends on the areas. The rows are therefore
explicit rational formulas.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

# -- three bars ------------------------------------------------------------------------------

_ROOT2 = math.sqrt(2.0)


def _three_bar() -> Model:
    model = Model("three-bar truss")
    outer = model.variable("outer area", lower=0, upper=1, unit="cm2")
    middle = model.variable("middle area", lower=0, upper=1, unit="cm2")
    load, limit = 2.0, 2.0  # kN, kN / cm2
    common = _ROOT2 * outer**2 + 2 * outer * middle
    model.subject_to(
        load * (_ROOT2 * outer + middle) / common <= limit, name="stress, near bar (kN/cm2)"
    )
    model.subject_to(load * middle / common <= limit, name="stress, far bar (kN/cm2)")
    model.subject_to(load / (outer + _ROOT2 * middle) <= limit, name="stress, middle bar (kN/cm2)")
    return model


def _three_bar_volume(x: Floats) -> float:
    outer, middle = x
    return 100.0 * (2.0 * _ROOT2 * outer + middle)


# -- ten bars --------------------------------------------------------------------------------

_BAY = 360.0  # in
YOUNG = 1e4  # ksi
DENSITY = 0.1  # lb / in^3
_STRESS = 25.0  # ksi
_DISPLACEMENT = 2.0  # in

NODES = np.array([[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]]) * _BAY
"""Coordinates of nodes 1 to 6 in inches; 5 and 6 are fixed."""

BARS = np.array(
    [[5, 3], [3, 1], [6, 4], [4, 2], [3, 4], [1, 2], [5, 4], [6, 3], [3, 2], [4, 1]]
) - 1  # fmt: skip
"""Both nodes, counted from 0, of bars 1 to 10."""

LOADS = {
    1: np.array([0, 0, 0, -100, 0, 0, 0, -100.0]),
    2: np.array([0, 50, 0, -150, 0, 50, 0, -150.0]),
}
"""Load cases in kips: forces in x and y at nodes 1 to 4."""

_SPAN = NODES[BARS[:, 1]] - NODES[BARS[:, 0]]
LENGTHS = np.hypot(_SPAN[:, 0], _SPAN[:, 1])
_REDUNDANT = [7, 9]  # bars 8 and 10
_REST = [0, 1, 2, 3, 4, 5, 6, 8]


def _equilibrium() -> Floats:
    """Return the matrix (8, 10) that maps bar forces (tension positive) to nodal loads."""
    matrix = np.zeros((12, 10))
    unit = _SPAN / LENGTHS[:, None]
    for bar, (start, end) in enumerate(BARS):
        matrix[2 * start : 2 * start + 2, bar] = -unit[bar]
        matrix[2 * end : 2 * end + 2, bar] = unit[bar]
    return matrix[:8]


def _statics() -> tuple[Floats, Floats]:
    """Return bar forces (10, 8) for unit loads and (10, 2) for unit redundant forces.

    In the first the redundant bars are cut; the second are in equilibrium with no load.
    """
    balance = _equilibrium()
    by_load, by_redundant = np.zeros((10, 8)), np.zeros((10, 2))
    by_load[_REST] = np.linalg.inv(balance[:, _REST])
    by_redundant[_REST] = -by_load[_REST] @ balance[:, _REDUNDANT]
    by_redundant[_REDUNDANT] = np.eye(2)
    for forces in (by_load, by_redundant):
        forces[np.abs(forces) < 1e-12] = 0.0  # what rounding left of exact zeros
    return by_load, by_redundant


def ten_bar_analysis(areas: Any, loads: Floats) -> tuple[Any, Any]:
    """Return stresses (10, ksi) and displacements (8, in) as CasADi formulas of the areas."""
    by_load, by_redundant = _statics()
    cut, state = ca.sparsify(ca.DM(by_load @ loads)), ca.sparsify(ca.DM(by_redundant))
    flexibility = ca.diag(LENGTHS / (YOUNG * areas))
    (a, b), (_, d) = (
        [(state[:, i].T @ flexibility @ state[:, j]) for j in range(2)] for i in range(2)
    )
    gap = state.T @ flexibility @ cut  # opens at the cut bars; the redundants close it
    determinant = a * d - b * b
    closing = ca.vertcat((b * gap[1] - d * gap[0]), (b * gap[0] - a * gap[1])) / determinant
    forces = cut + state @ closing
    displacements = ca.sparsify(ca.DM(by_load)).T @ (flexibility @ forces)
    return forces / areas, displacements


def _ten_bar(case: int) -> Model:
    model = Model(f"ten-bar truss, load case {case}")
    areas = ca.vertcat(
        *(model.variable(f"area {i}", lower=0.1, upper=35, unit="in2") for i in range(1, 11))
    )
    stresses, displacements = ten_bar_analysis(areas, LOADS[case])
    for i in range(10):
        model.subject_to(
            stresses[i], lower=-_STRESS, upper=_STRESS, name=f"stress in bar {i + 1} (ksi)"
        )
    for k in range(8):
        model.subject_to(
            displacements[k],
            lower=-_DISPLACEMENT,
            upper=_DISPLACEMENT,
            name=f"displacement {'xy'[k % 2]} of node {k // 2 + 1} (in)",
        )
    return model


def _ten_bar_weight(x: Floats) -> float:
    return DENSITY * (LENGTHS * x).sum()


DEFINITIONS: dict[str, Definition] = {
    "three_bar_truss": Definition("Three-bar truss of least volume", _three_bar, _three_bar_volume),
    "ten_bar_truss": Definition(
        "Ten-bar truss of least weight, load case 1", partial(_ten_bar, 1), _ten_bar_weight
    ),
    "ten_bar_truss_2": Definition(
        "Ten-bar truss of least weight, load case 2", partial(_ten_bar, 2), _ten_bar_weight
    ),
}
"""Definition of each problem of this module."""
