"""The shape of a section as formulas of its Kulfan weights, for CasADi symbols or numbers.

A Kulfan (CST) surface is a class function times a sum of Bernstein polynomials,
``y(x) = sqrt(x) (1 - x) sum_i w_i B_i(x)``, and an upper and a lower one make a section. The weight
of the leading edge bends both in the same way, so that thicknesses do not depend on it.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from case_studies.airfoil.cases import WEIGHTS

STATIONS = 100  # at which the largest thickness is looked for


def thickness(upper: Any, lower: Any, x: float) -> Any:
    """Distance of the surfaces at a station; linear in the weights."""
    basis = [
        math.comb(WEIGHTS - 1, i) * x**i * (1 - x) ** (WEIGHTS - 1 - i) for i in range(WEIGHTS)
    ]
    return math.sqrt(x) * (1 - x) * sum(b * (upper[i] - lower[i]) for i, b in enumerate(basis))


def most_thickness(upper: Any, lower: Any) -> Any:
    """Largest distance of the surfaces at many stations."""
    inner = range(1, STATIONS)
    return ca.mmax(ca.vertcat(*(thickness(upper, lower, k / STATIONS) for k in inner)))


def trailing_angle(upper: Any, lower: Any) -> Any:
    """Angle between the surfaces at the trailing edge in degrees; only the last weights matter."""
    return (ca.atan(upper[WEIGHTS - 1]) - ca.atan(lower[WEIGHTS - 1])) * (180 / math.pi)


def wiggliness(weights: Any) -> Any:
    """Sum of the squared second differences of the weights of a surface."""
    return sum((weights[i] - 2 * weights[i + 1] + weights[i + 2]) ** 2 for i in range(WEIGHTS - 2))
