"""Problems g21 to g24. Numbering of variables and rows as in the report, from 1."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from case_studies.cec2006.definition import Definition, Floats, Rows


def _first(x: Floats) -> float:
    """Objective of g21 and g22: the first variable."""
    return x[0]


def _g21_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7 = ca.vertsplit(x)
    # h1 and h2 are the report's polynomials, factored: h2 vanishes wherever x4 = 100, which is
    # where the optimum for exact equalities lies.
    return Rows(
        g=(35 * (x2**0.6 + x3**0.6) - x1,),
        h=(
            (300 - x4) * (25 * (x5 - x6) - x3),
            (100 - x4) * (x2 + 25 * x7 - 155.365),
            ca.log(900 - x4) - x5,
            ca.log(300 + x4) - x6,
            ca.log(700 - 2 * x4) - x7,
        ),
    )


def _g22_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12 = ca.vertsplit(x[:12])
    x13, x14, x15, x16, x17, x18, x19, x20, x21, x22 = ca.vertsplit(x[12:])
    return Rows(
        g=(x2**0.6 + x3**0.6 + x4**0.6 - x1,),
        h=(
            x5 - 1e5 * x8 + 1e7,
            x6 + 1e5 * x8 - 1e5 * x9,
            x7 + 1e5 * x9 - 5e7,
            x5 + 1e5 * x10 - 3.3e7,
            x6 + 1e5 * x11 - 4.4e7,
            x7 + 1e5 * x12 - 6.6e7,
            x5 - 120 * x2 * x13,
            x6 - 80 * x3 * x14,
            x7 - 40 * x4 * x15,
            x8 - x11 + x16,
            x9 - x12 + x17,
            ca.log(x10 - 100) - x18,
            ca.log(300 - x8) - x19,
            ca.log(x16) - x20,
            ca.log(400 - x9) - x21,
            ca.log(x17) - x22,
            x13 * (x18 - x19) - x8 - x10 + 400,
            x14 * (x20 - x21) + x8 - x9 - x11 + 400,
            x15 * (x22 - 4.60517) + x9 - x12 + 100,
        ),
    )


_G23_PRICE = np.array([6.0, 16.0, 0.0, 0.0, -9.0, 10.0, 10.0, -15.0, 0.0])


def _g23_objective(x: Floats) -> float:
    return _G23_PRICE @ x


def _g23_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = ca.vertsplit(x)
    return Rows(
        g=(x9 * x3 + 0.02 * x6 - 0.025 * x5, x9 * x4 + 0.02 * x7 - 0.015 * x8),
        h=(
            x1 + x2 - x3 - x4,
            0.03 * x1 + 0.01 * x2 - x9 * (x3 + x4),
            x3 + x6 - x5,
            x4 + x7 - x8,
        ),
    )


def _g24_objective(x: Floats) -> float:
    return -x.sum()


def _g24_constraints(x: Any) -> Rows:
    x1, x2 = ca.vertsplit(x)
    return Rows(
        g=(
            x2 - 2 - 2 * x1**4 + 8 * x1**3 - 8 * x1**2,
            x2 - 36 - 4 * x1**4 + 32 * x1**3 - 88 * x1**2 + 96 * x1,
        )
    )


DEFINITIONS: dict[str, Definition] = {
    "g21": Definition(
        [0.0, 0.0, 0.0, 100.0, 6.3, 5.9, 4.5],
        [1000.0, 40.0, 40.0, 300.0, 6.7, 6.4, 6.25],
        _first,
        _g21_constraints,
    ),
    "g22": Definition(
        [0.0] * 7 + [100.0, 100.0, 100.01, 100.0, 100.0] + [0.0] * 3 + [0.01] * 2 + [-4.7] * 5,
        [20000.0]
        + [1e6] * 3
        + [4e7] * 3
        + [299.99, 399.99, 300.0, 400.0, 600.0]
        + [500.0] * 3
        + [300.0, 400.0]
        + [6.25] * 5,
        _first,
        _g22_constraints,
    ),
    "g23": Definition(
        [0.0] * 8 + [0.01],
        [300.0, 300.0, 100.0, 200.0, 100.0, 300.0, 100.0, 200.0, 0.03],
        _g23_objective,
        _g23_constraints,
    ),
    "g24": Definition([0.0, 0.0], [3.0, 4.0], _g24_objective, _g24_constraints),
}
"""Definition of each problem of this module."""
