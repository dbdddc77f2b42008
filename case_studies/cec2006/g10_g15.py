"""Problems g10 to g15. Numbering of variables and rows as in the report, from 1."""

from __future__ import annotations

from functools import reduce
from typing import Any

import casadi as ca
import numpy as np

from case_studies.cec2006.definition import Definition, Floats, Rows


def _g10_objective(x: Floats) -> float:
    return x[:3].sum()


def _g10_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8 = ca.vertsplit(x)
    return Rows(
        g=(
            0.0025 * (x4 + x6) - 1,
            0.0025 * (x5 + x7 - x4) - 1,
            0.01 * (x8 - x5) - 1,
            x1 * (100 - x6) + 833.33252 * x4 - 83333.333,
            x2 * (x4 - x7) + 1250 * (x5 - x4),
            x3 * (x5 - x8) - 2500 * x5 + 1250000,
        )
    )


def _g11_objective(x: Floats) -> float:
    x1, x2 = x
    return x1**2 + (x2 - 1.0) ** 2


def _g11_constraints(x: Any) -> Rows:
    x1, x2 = ca.vertsplit(x)
    return Rows(h=(x2 - x1**2,))


def _g12_objective(x: Floats) -> float:
    return ((x - 5.0) ** 2).sum() / 100.0 - 1.0


def _g12_constraints(x: Any) -> Rows:
    # A point is feasible inside any of the 9 x 9 x 9 spheres of radius 0.25 around the integer
    # points (p, q, r): the row is the least of 729 expressions. The three squares are
    # independent of each other, so it is the sum of the least square of each coordinate.
    nearest = [
        reduce(ca.fmin, [(element - centre) ** 2 for centre in range(1, 10)])
        for element in ca.vertsplit(x)
    ]
    return Rows(g=(nearest[0] + nearest[1] + nearest[2] - 0.0625,))


def _g13_objective(x: Floats) -> float:
    return np.exp(x.prod())


def _g13_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5 = ca.vertsplit(x)
    return Rows(h=(ca.sumsqr(x) - 10, x2 * x3 - 5 * x4 * x5, x1**3 + x2**3 + 1))


G14_ENERGY = np.array(
    [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179]
)


def _g14_objective(x: Floats) -> float:
    # x log(x / total) tends to 0 with x; the box includes x = 0.
    mixing = np.where(x == 0.0, 0.0, x * np.log(x / x.sum()))
    return G14_ENERGY @ x + mixing.sum()


def _g14_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = ca.vertsplit(x)
    return Rows(
        h=(
            x1 + 2 * (x2 + x3) + x6 + x10 - 2,
            x4 + 2 * x5 + x6 + x7 - 1,
            x3 + x7 + x8 + 2 * x9 + x10 - 1,
        )
    )


def _g15_objective(x: Floats) -> float:
    x1, x2, x3 = x
    return 1000.0 - x1 * (x1 + x2 + x3) - 2.0 * x2**2 - x3**2


def _g15_constraints(x: Any) -> Rows:
    x1, x2, x3 = ca.vertsplit(x)
    return Rows(h=(ca.sumsqr(x) - 25, 8 * x1 + 14 * x2 + 7 * x3 - 56))


DEFINITIONS: dict[str, Definition] = {
    "g10": Definition(
        [100.0, 1000.0, 1000.0] + [10.0] * 5,
        [10000.0] * 3 + [1000.0] * 5,
        _g10_objective,
        _g10_constraints,
    ),
    "g11": Definition([-1.0] * 2, [1.0] * 2, _g11_objective, _g11_constraints),
    "g12": Definition([0.0] * 3, [10.0] * 3, _g12_objective, _g12_constraints),
    "g13": Definition(
        [-2.3] * 2 + [-3.2] * 3, [2.3] * 2 + [3.2] * 3, _g13_objective, _g13_constraints
    ),
    "g14": Definition([0.0] * 10, [10.0] * 10, _g14_objective, _g14_constraints),
    "g15": Definition([0.0] * 3, [10.0] * 3, _g15_objective, _g15_constraints),
}
"""Definition of each problem of this module."""
