"""Problems g01 to g09. Numbering of variables and rows as in the report, from 1."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from case_studies.cec2006.definition import Definition, Floats, Rows


def _g01_objective(x: Floats) -> float:
    first = x[:4]
    return 5.0 * (first.sum() - first @ first) - x[4:].sum()


def _g01_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, _ = ca.vertsplit(x)
    return Rows(
        g=(
            2 * (x1 + x2) + x10 + x11 - 10,
            2 * (x1 + x3) + x10 + x12 - 10,
            2 * (x2 + x3) + x11 + x12 - 10,
            x10 - 8 * x1,
            x11 - 8 * x2,
            x12 - 8 * x3,
            x10 - 2 * x4 - x5,
            x11 - 2 * x6 - x7,
            x12 - 2 * x8 - x9,
        )
    )


def _g02_objective(x: Floats) -> float:
    squared = np.cos(x) ** 2
    weights = np.arange(1, len(x) + 1)
    numerator = squared @ squared - 2.0 * squared.prod()
    return -abs(numerator / np.sqrt(weights @ x**2))


def _g02_constraints(x: Any) -> Rows:
    product = 1
    for element in ca.vertsplit(x):
        product = product * element
    return Rows(g=(0.75 - product, ca.sum1(x) - 7.5 * x.numel()))


def _g03_objective(x: Floats) -> float:
    return -((np.sqrt(len(x)) * x).prod())


def _g03_constraints(x: Any) -> Rows:
    return Rows(h=(ca.sumsqr(x) - 1,))


def _g04_objective(x: Floats) -> float:
    x1, _, x3, _, x5 = x
    return 5.3578547 * x3**2 + (0.8356891 * x5 + 37.293239) * x1 - 40792.141


def _g04_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5 = ca.vertsplit(x)
    # Three outputs of a regression model, each with a lower and an upper limit.
    u = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    v = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    w = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return Rows(g=(u - 92, -u, v - 110, 90 - v, w - 25, 20 - w))


def _g05_objective(x: Floats) -> float:
    x1, x2, _, _ = x
    return 3.0 * x1 + 1e-6 * x1**3 + 2.0 * x2 + (2e-6 / 3.0) * x2**3


def _g05_constraints(x: Any) -> Rows:
    x1, x2, x3, x4 = ca.vertsplit(x)

    def flow(angle: Any) -> Any:
        return 1000 * ca.sin(angle - 0.25)

    return Rows(
        g=(x3 - x4 - 0.55, x4 - x3 - 0.55),
        h=(
            flow(-x3) + flow(-x4) + 894.8 - x1,
            flow(x3) + flow(x3 - x4) + 894.8 - x2,
            flow(x4) + flow(x4 - x3) + 1294.8,
        ),
    )


def _g06_objective(x: Floats) -> float:
    x1, x2 = x
    return (x1 - 10.0) ** 3 + (x2 - 20.0) ** 3


def _g06_constraints(x: Any) -> Rows:
    x1, x2 = ca.vertsplit(x)
    return Rows(
        g=(100 - (x1 - 5) ** 2 - (x2 - 5) ** 2, (x1 - 6) ** 2 + (x2 - 5) ** 2 - 82.81),
    )


_G07_WEIGHTS = np.array([1.0, 4.0, 1.0, 2.0, 5.0, 7.0, 2.0, 1.0])
_G07_CENTRE = np.array([10.0, 5.0, 3.0, 1.0, 0.0, 11.0, 10.0, 7.0])


def _g07_objective(x: Floats) -> float:
    x1, x2 = x[:2]
    separable = _G07_WEIGHTS @ (x[2:] - _G07_CENTRE) ** 2
    return x1**2 + x2**2 + x1 * x2 - 14.0 * x1 - 16.0 * x2 + separable + 45.0


def _g07_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = ca.vertsplit(x)
    return Rows(
        g=(
            4 * x1 + 5 * x2 - 3 * x7 + 9 * x8 - 105,
            10 * x1 - 8 * x2 - 17 * x7 + 2 * x8,
            -8 * x1 + 2 * x2 + 5 * x9 - 2 * x10 - 12,
            3 * (x1 - 2) ** 2 + 4 * (x2 - 3) ** 2 + 2 * x3**2 - 7 * x4 - 120,
            5 * x1**2 + 8 * x2 + (x3 - 6) ** 2 - 2 * x4 - 40,
            x1**2 + 2 * (x2 - 2) ** 2 - 2 * x1 * x2 + 14 * x5 - 6 * x6,
            0.5 * (x1 - 8) ** 2 + 2 * (x2 - 4) ** 2 + 3 * x5**2 - x6 - 30,
            -3 * x1 + 6 * x2 + 12 * (x9 - 8) ** 2 - 7 * x10,
        )
    )


def _g08_objective(x: Floats) -> float:
    x1, x2 = x
    s1, s2 = np.sin(2.0 * np.pi * x)
    return -((s1 / x1) ** 3) * s2 / (x1 + x2)


def _g08_constraints(x: Any) -> Rows:
    x1, x2 = ca.vertsplit(x)
    return Rows(g=(x1**2 - x2 + 1, 1 - x1 + (x2 - 4) ** 2))


def _g09_objective(x: Floats) -> float:
    x1, x2, x3, x4, x5, x6, x7 = x
    return (
        (x1 - 10.0) ** 2
        + 5.0 * (x2 - 12.0) ** 2
        + x3**4
        + 3.0 * (x4 - 11.0) ** 2
        + 10.0 * x5**6
        + 7.0 * x6**2
        + x7**4
        - 4.0 * x6 * x7
        - 10.0 * x6
        - 8.0 * x7
    )


def _g09_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6, x7 = ca.vertsplit(x)
    return Rows(
        g=(
            2 * x1**2 + 3 * x2**4 + x3 + 4 * x4**2 + 5 * x5 - 127,
            7 * x1 + 3 * x2 + 10 * x3**2 + x4 - x5 - 282,
            23 * x1 + x2**2 + 6 * x6**2 - 8 * x7 - 196,
            4 * x1**2 + x2**2 - 3 * x1 * x2 + 2 * x3**2 + 5 * x6 - 11 * x7,
        )
    )


DEFINITIONS: dict[str, Definition] = {
    "g01": Definition(
        [0.0] * 13, [1.0] * 9 + [100.0] * 3 + [1.0], _g01_objective, _g01_constraints
    ),
    "g02": Definition([0.0] * 20, [10.0] * 20, _g02_objective, _g02_constraints),
    "g03": Definition([0.0] * 10, [1.0] * 10, _g03_objective, _g03_constraints),
    "g04": Definition(
        [78.0, 33.0, 27.0, 27.0, 27.0],
        [102.0, 45.0, 45.0, 45.0, 45.0],
        _g04_objective,
        _g04_constraints,
    ),
    "g05": Definition(
        [0.0, 0.0, -0.55, -0.55], [1200.0, 1200.0, 0.55, 0.55], _g05_objective, _g05_constraints
    ),
    "g06": Definition([13.0, 0.0], [100.0, 100.0], _g06_objective, _g06_constraints),
    "g07": Definition([-10.0] * 10, [10.0] * 10, _g07_objective, _g07_constraints),
    "g08": Definition([0.0] * 2, [10.0] * 2, _g08_objective, _g08_constraints),
    "g09": Definition([-10.0] * 7, [10.0] * 7, _g09_objective, _g09_constraints),
}
"""Definition of each problem of this module."""
