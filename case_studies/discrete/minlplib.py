"""Models of MINLPLib with their names there; equations that define a variable are put in."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, Floats, real, whole

# -- nvs05: a welded beam with whole height and thickness -------------------------------------


def _nvs05() -> Model:
    model = Model("nvs05")
    height = model.integer("height", lower=1, upper=200)
    thickness = model.integer("thickness", lower=1, upper=200)
    weld = model.variable("weld", lower=0.01, upper=200)
    length = model.variable("length", lower=0.01, upper=200)
    reach = (height + weld) / 2
    radius = ca.sqrt(length**2 / 4 + reach**2)
    direct = 4243.28147100424 / (weld * length)
    turning = 0.707213578500707 * (84_000 + 3000 * length) * radius
    turning /= weld * length * (length**2 / 12 + reach**2)
    stress = ca.sqrt(direct**2 + turning**2 + direct * turning * length / radius)
    stiff = 0.0204744897959184 * ca.sqrt(1e15) * height * thickness**3
    model.subject_to(stress <= 13_600, name="shear")
    model.subject_to(504_000 / (thickness * height**2) <= 30_000, name="bending")
    model.subject_to(thickness >= weld, name="weld")
    model.subject_to(stiff * (1 - 0.0282346219657891 * height) >= 6000, name="buckling")
    model.subject_to(0.21952 / (thickness * height**3) <= 0.25, name="deflection")
    return model


def _nvs05_cost(x: Any, m: Any) -> Any:
    height, thickness, weld, length = x
    return 1.10471 * weld**2 * length + 0.04811 * height * thickness * (14 + length)


def _nvs05_limits(x: Any, m: Any) -> list[Any]:
    i1, i2, x3, x4 = x
    half = 0.5 * i1 + 0.5 * x3
    x5 = 4243.28147100424 / (x3 * x4)
    x7 = m.sqrt(0.25 * x4**2 + half**2)
    x6 = 0.707213578500707 * (84000 + 3000 * x4) * x7 / (x3 * x4 * (x4**2 / 12 + half**2))
    x8 = 0.5 * x4 / x7
    return [
        (m.sqrt(x5**2 + 2 * x5 * x6 * x8 + x6**2), -NONE, 13_600.0),
        (504000 / (i2 * i1**2), -NONE, 30_000.0),
        (i2 - x3, 0.0, NONE),
        (0.0204744897959184 * 1e15**0.5 * i1 * i2**3 * (1 - 0.0282346219657891 * i1), 6000.0, NONE),
        (0.21952 / (i2 * i1**3), -NONE, 0.25),
    ]


# -- nvs08 ------------------------------------------------------------------------------------


def _nvs08() -> Model:
    model = Model("nvs08")
    i = model.integer("i", lower=0, upper=200, shape=2)
    x = model.variable("x", lower=0.001, upper=200)
    model.subject_to(ca.sqrt(x) + i[0] + 2 * i[1] >= 10, name="e1")
    model.subject_to(0.240038406144983 * i[0] ** 2 - i[1] + 0.255036980362153 * x >= -3, name="e2")
    model.subject_to(i[1] ** 2 - x**-3.5 - 4 * i[0] >= -12, name="e3")
    return model


def _nvs08_limits(x: Any, m: Any) -> list[Any]:
    i1, i2, x1 = x
    return [
        (m.sqrt(x1) + i1 + 2 * i2, 10.0, NONE),
        (0.240038406144983 * i1**2 - i2 + 0.255036980362153 * x1, -3.0, NONE),
        (i2**2 - 1 / (x1**3 * m.sqrt(x1)) - 4 * i1, -12.0, NONE),
    ]


# -- nvs09 ------------------------------------------------------------------------------------


def _nvs09() -> Model:
    model = Model("nvs09")
    model.integer("i", lower=3, upper=9, shape=10)
    return model


def _nvs09_value(x: Any, m: Any) -> Any:
    squares, product = 0.0, 1.0
    for i in range(10):
        squares = squares + m.log(x[i] - 2) ** 2 + m.log(10 - x[i]) ** 2
        product = product * x[i]
    return squares - product**0.2


# -- nvs13 ------------------------------------------------------------------------------------

_ROWS_13 = (
    ("9 11, 10 12, 8 22, 5 33, 6 13, 10 23, 7 44, 10 14, 6 24, 2 34, 2 25, 7 55", 1430.0),
    ("6 11, 8 12, 6 22, 4 33, 2 13, 2 23, 8 44, -2 14, -10 24, 2 15, 6 25, -6 45, -7 55", 1150.0),
    ("9 11, 6 22, 8 33, -2 12, -2 23, 6 44, -4 14, -4 24, 2 34, 6 15, 2 25, -4 45, -6 55", 850.0),
    ("8 11, 4 22, 9 33, 7 44, 2 12, 2 13, 4 23, -6 14, -2 24, 2 34, 6 15, 4 25, 2 35, -6 45, "
     "-6 55", 1125.0),
    ("-2 12, 4 11, 5 22, 6 13, 8 33, 2 14, -6 24, 2 34, 6 44, 4 15, -2 25, 6 35, 8 45, 7 55",
     1030.0),
)  # fmt: skip
"""Coefficients of products of two variables, and upper limits."""

_COST_13 = "7 11, 6 22, 8 33, -6 13, 4 23, 6 44, 2 14, 2 34, 7 55, -4 15, -2 25, -6 35"
_LINEAR_13 = (12.0, -77.2, -19.2, -36.6, -69.4)


def _products(text: str) -> Floats:
    """Return the matrix (5, 5) of a list of coefficients with two digits for the variables."""
    matrix = np.zeros((5, 5))
    for term in text.split(", "):
        value, pair = term.split()
        matrix[int(pair[0]) - 1, int(pair[1]) - 1] = float(value)
    return matrix


def _nvs13() -> Model:
    model = Model("nvs13")
    i = model.integer("i", lower=0, upper=200, shape=5)
    for k, (text, limit) in enumerate(_ROWS_13):
        model.subject_to(ca.bilin(ca.DM(_products(text)), i, i) <= limit, name=f"e{k + 1}")
    return model


def _quadratic(text: str, x: Any) -> Any:
    value = 0.0
    for term in text.split(", "):
        factor, pair = term.split()
        value = value + float(factor) * x[int(pair[0]) - 1] * x[int(pair[1]) - 1]
    return value


def _nvs13_limits(x: Any, m: Any) -> list[Any]:
    return [(_quadratic(text, x), -NONE, limit) for text, limit in _ROWS_13]


def _nvs13_cost(x: Any, m: Any) -> Any:
    return _quadratic(_COST_13, x) + sum(c * x[i] for i, c in enumerate(_LINEAR_13))


# -- nvs20 ------------------------------------------------------------------------------------

_ROWS_20 = (
    ({1: 0.22, 2: 0.2, 3: 0.19, 4: 0.25, 5: 0.15, 6: 0.11, 7: 0.12, 8: 0.13, 9: 1}, 2.5),
    ({1: -1.46, 3: -1.3, 4: 1.82, 5: -1.15, 7: 0.8, 10: 1}, 1.1),
    ({1: 1.29, 2: -0.89, 5: -1.16, 6: -0.96, 8: -0.49, 11: 1}, -3.1),
    ({1: -1.1, 2: -1.06, 3: 0.95, 4: -0.54, 6: -1.78, 7: -0.41, 12: 1}, -3.5),
    ({4: -1.43, 5: 1.51, 6: 0.59, 7: -0.33, 8: -0.43, 13: 1}, 1.3),
    ({2: -1.72, 3: -0.33, 5: 1.62, 6: 1.24, 7: 0.21, 8: -0.26, 14: 1}, 2.1),
    ({1: 1.12, 4: 0.31, 7: 1.12, 9: -0.36, 15: 1}, 2.3),
    ({2: 0.45, 3: 0.26, 4: -1.1, 5: 0.58, 7: -1.03, 8: 0.1, 16: 1}, -1.5),
)
"""Coefficients by variable, and the lower limit."""

_PAIRS_20 = {
    1: (1, 4, 7, 8, 16), 2: (2, 3, 7, 10), 3: (3, 7, 9, 10, 14), 4: (4, 7, 11, 15),
    5: (5, 6, 10, 12, 16), 6: (6, 8, 15), 7: (7, 11, 13), 8: (8, 10, 15), 9: (9, 12, 16),
    10: (10, 14), 11: (11, 13), 12: (12, 14), 13: (13, 14), 14: (14,), 15: (15,), 16: (16,),
}  # fmt: skip
"""Which terms 1 + x + x^2 are multiplied with each other."""


def _nvs20() -> Model:
    model = Model("nvs20")
    whole_ones = model.integer("i", lower=0, upper=200, shape=5)
    reals = model.variable("x", lower=0, upper=200, shape=11)
    x = ca.vertcat(whole_ones, reals)
    matrix = np.zeros((8, 16))
    for k, (row, _) in enumerate(_ROWS_20):
        for i, value in row.items():
            matrix[k, i - 1] = value
    model.subject_to(ca.DM(matrix) @ x, lower=[limit for _, limit in _ROWS_20], name="e")
    return model


def _nvs20_limits(x: Any, m: Any) -> list[Any]:
    return [(sum(c * x[i - 1] for i, c in row.items()), limit, NONE) for row, limit in _ROWS_20]


def _nvs20_value(x: Any, m: Any) -> Any:
    terms = [1 + x[i] + x[i] ** 2 for i in range(16)]
    return sum(terms[i - 1] * terms[j - 1] for i, others in _PAIRS_20.items() for j in others)


# -- nvs21 ------------------------------------------------------------------------------------


def _nvs21() -> Model:
    model = Model("nvs21")
    i = model.integer("i", lower=0, upper=200, shape=2)
    x = model.variable("x", lower=0, upper=0.2)
    model.subject_to(i[0] ** 2 * i[1] <= 675, name="e1")
    model.subject_to(0.1 * i[0] ** 2 * x**2 <= 0.419, name="e2")
    return model


def _nvs21_limits(x: Any, m: Any) -> list[Any]:
    return [(x[0] * x[0] * x[1], -NONE, 675.0), (0.1 * (x[0] * x[2]) ** 2, -NONE, 0.419)]


_WIDE = whole(0, 200)


def _of(name: str, build: Any, space: tuple[Any, ...], *formulas: Any) -> Definition:
    titles = {"objective": formulas[0]} | ({"limits": formulas[1]} if len(formulas) > 1 else {})
    return Definition(title=name, family="minlplib", build=build, space=space, **titles)


DEFINITIONS: dict[str, Definition] = {
    "nvs05": _of(
        "nvs05, a welded beam",
        _nvs05,
        (whole(1, 200), whole(1, 200), real(0.01, 200), real(0.01, 200)),
        _nvs05_cost,
        _nvs05_limits,
    ),
    "nvs08": _of(
        "nvs08",
        _nvs08,
        (_WIDE, _WIDE, real(0.001, 200)),
        lambda x, m: (x[0] - 3) ** 2 + (x[1] - 2) ** 2 + (4 + x[2]) ** 2,
        _nvs08_limits,
    ),
    "nvs09": _of("nvs09, ten integers", _nvs09, (whole(3, 9),) * 10, _nvs09_value),
    "nvs13": _of("nvs13, five integers", _nvs13, (_WIDE,) * 5, _nvs13_cost, _nvs13_limits),
    "nvs20": _of(
        "nvs20", _nvs20, (*(_WIDE,) * 5, *(real(0, 200),) * 11), _nvs20_value, _nvs20_limits
    ),
    "nvs21": _of(
        "nvs21",
        _nvs21,
        (_WIDE, _WIDE, real(0, 0.2)),
        lambda x, m: -0.00201 * x[0] ** 4 * x[1] * x[2] ** 2,
        _nvs21_limits,
    ),
}
"""Definition of each problem of this module."""
