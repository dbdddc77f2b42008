"""Process engineering and economics: a refrigeration system, an equilibrium of markets."""

from __future__ import annotations

from typing import Any

import casadi as ca

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

# -- industrial refrigeration system ---------------------------------------------------------

SMALLEST, LARGEST = 1e-3, 5.0
"""The box of all variables of the refrigeration system."""


def _refrigeration() -> Model:
    model = Model("industrial refrigeration system")
    x = [model.variable(f"x{i}", lower=SMALLEST, upper=LARGEST) for i in range(1, 15)]
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14 = x
    rows = [
        1.524 / x7,
        1.524 / x8,
        0.07789 * x1 - 2 * x9 / x7,
        7.05305 * x1**2 * x10 / (x9 * x8 * x2 * x14),
        0.0833 * x14 / x13,
        47.136 * x2**0.333 * x12 / x10
        - 1.333 * x8 * x13**2.1195
        + 62.08 * x13**2.1195 * x8**0.2 / (x12 * x10),
        0.04771 * x10 * x8**1.8812 * x12**0.3424,
        0.0488 * x9 * x7**1.893 * x11**0.316,
        0.0099 * x1 / x3,
        0.0193 * x2 / x4,
        0.0298 * x1 / x5,
        0.056 * x2 / x6,
        2 / x9,
        2 / x10,
        x12 / x11,
    ]
    for number, row in enumerate(rows, start=1):
        model.subject_to(row <= 1, name=f"row {number}")
    return model


def _refrigeration_cost(x: Floats) -> float:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, _, x14 = x
    high = 63098.88 * x2 * x4 * x12 + 5441.5 * x2**2 * x12
    high += 115055.5 * x2**1.664 * x6 + 6172.27 * x2**2 * x6
    low = 63098.88 * x1 * x3 * x11 + 5441.5 * x1**2 * x11
    low += 115055.5 * x1**1.664 * x5 + 6172.27 * x1**2 * x5
    pipes = 140.53 * x1 * x11 + 281.29 * x3 * x11 + 70.26 * x1**2
    pipes += 281.29 * x1 * x3 + 281.29 * x3**2
    compressor = 14437 * x8**1.8812 * x12**0.3424 * x10 * x1**2 * x7 / (x14 * x9)
    compressor += 20470.2 * x7**2.893 * x11**0.316 * x1**2
    return high + low + pipes + compressor


# -- PROLOG: prices at which markets clear ---------------------------------------------------

LEAST_PRICE, HIGHEST_PRICE = 0.2, 10.0
"""The first is the source's; it has no upper bounds. Those of the prices are ours."""

_USES = (  # of the two factors by three activities of each good
    (1, 1.2, 0.8, 2, 1.8, 2.4, 3, 2.7, 3.2),
    (2, 1.8, 2.2, 3, 3.5, 2.3, 3, 3.2, 2.7),
)
_STOCKS = 3712.0, 5000.0
_MARGINS = ((0.94, -0.064, -0.048), (0.0, 0.58, -0.247), (-0.244, -0.172, 0.916))
_DEMAND = (  # price slopes of the goods 1 and 3, share of the income, constant; by consumption
    (356.474947137148, 53.7083537310174, 0.564264890180399, 352.0),
    (339.983422262764, 43.5418249774113, 0.405939876920766, 430.0),
    (106.946746119538, 145.018955433089, 0.507117039797071, 222.0),
    (173.929713444361, 203.031384299627, 0.578889145413521, 292.0),
)
_INCOMES = ((3340.8, 500.0), (371.2, 4500.0))
"""Of the two households, by the prices of the two factors."""


def _prolog() -> Model:
    model = Model("PROLOG")
    price = [model.variable(f"price {i}", lower=LEAST_PRICE, upper=HIGHEST_PRICE) for i in "123"]
    # At most what the stocks allow to produce.
    eaten = [model.variable(f"consumption {i}", lower=0, upper=2700) for i in "1234"]
    wage = [model.variable(f"factor price {i}", lower=0, upper=HIGHEST_PRICE) for i in "12"]
    made = [
        model.variable(f"activity {i}", lower=0, upper=min(_STOCKS[0] / a, _STOCKS[1] / b))
        for i, (a, b) in enumerate(zip(*_USES, strict=True), start=1)
    ]
    income = [
        model.variable(f"income {i + 1}", lower=0, upper=HIGHEST_PRICE * sum(shares))
        for i, shares in enumerate(_INCOMES)
    ]
    _markets(model, eaten, made)
    _households(model, price, eaten, wage, income)
    for good, margin in enumerate(_MARGINS):
        value = sum(m * p for m, p in zip(margin, price, strict=True))
        for k in range(3):
            cost = sum(use[3 * good + k] * w for use, w in zip(_USES, wage, strict=True))
            model.subject_to(value <= cost, name=f"profit of {good + 1}, {k + 1}")
    return model


def _markets(model: Model, eaten: list[Any], made: list[Any]) -> None:
    first, second, third = (ca.sum1(ca.vertcat(*made[k : k + 3])) for k in (0, 3, 6))
    model.subject_to(eaten[0] + eaten[1] - 0.94 * first + 0.244 * third <= 0, name="market 1")
    model.subject_to(0.064 * first - 0.58 * second + 0.172 * third <= 0, name="market 2")
    model.subject_to(
        eaten[2] + eaten[3] + 0.048 * first + 0.247 * second - 0.916 * third <= 0, name="market 3"
    )
    for k, (use, stock) in enumerate(zip(_USES, _STOCKS, strict=True), start=1):
        used = sum(a * q for a, q in zip(use, made, strict=True))
        model.subject_to(used <= stock, name=f"factor {k}")


def _households(
    model: Model, price: list[Any], eaten: list[Any], wage: list[Any], income: list[Any]
) -> None:
    p1, _, p3 = price
    for i, (a, b, share, constant) in enumerate(_DEMAND):
        demand = a * p1 + b * p3 + eaten[i] - share * income[i % 2]
        model.subject_to(demand <= constant, name=f"demand {i + 1}")
    for i, shares in enumerate(_INCOMES):
        spent = eaten[i] * p1 + eaten[i + 2] * p3
        model.subject_to(spent <= income[i], name=f"budget {i + 1}")
        earned = sum(s * w for s, w in zip(shares, wage, strict=True))
        model.subject_to(income[i] <= earned, name=f"earnings {i + 1}")


def _prolog_gap(x: Floats) -> float:
    p1, _, p3, c1, c2, c3, c4, w1, w2 = x[:9]
    return _STOCKS[0] * w1 + _STOCKS[1] * w2 - (c1 + c2) * p1 - (c3 + c4) * p3


DEFINITIONS = {
    "prolog": Definition("equilibrium of three markets and two households", _prolog, _prolog_gap),
    "refrigeration": Definition(
        "industrial refrigeration system of least cost", _refrigeration, _refrigeration_cost
    ),
}
