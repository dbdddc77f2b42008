"""Problems g17 to g20. Numbering of variables and rows as in the report, from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from case_studies.cec2006.definition import Definition, Floats, Rows

_G17_ANGLE, _G17_OWN_ANGLE = 1.48477, 1.47588


def _g17_transfer(own: Any, other: Any, angle: Any, wave: Callable[[Any], Any]) -> Any:
    """Power that leaves a node of voltage ``own``: ``wave`` is a cosine or a sine."""
    return (own * other * wave(angle) - 0.90798 * own**2 * wave(_G17_OWN_ANGLE)) / 131.078


def _g17_objective(x: Floats) -> float:
    # As in the organisers' program: the price multiplies the power that rows h1 and h2 ask
    # for, not x1 and x2 as printed in the report. The two agree where h1 = h2 = 0.
    x1, x2, x3, x4, _, x6 = x
    first = 300.0 - _g17_transfer(x3, x4, _G17_ANGLE - x6, np.cos)
    second = -_g17_transfer(x4, x3, _G17_ANGLE + x6, np.cos)
    first_price = 30.0 if x1 < 300.0 else 31.0
    second_price = 28.0 if x2 < 100.0 else 29.0 if x2 < 200.0 else 30.0
    return first_price * first + second_price * second


def _g17_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5, x6 = ca.vertsplit(x)
    minus, plus = _G17_ANGLE - x6, _G17_ANGLE + x6
    return Rows(
        h=(
            300 - _g17_transfer(x3, x4, minus, ca.cos) - x1,
            -_g17_transfer(x4, x3, plus, ca.cos) - x2,
            -_g17_transfer(x4, x3, plus, ca.sin) - x5,
            200 - _g17_transfer(x3, x4, minus, ca.sin),
        )
    )


def _g18_objective(x: Floats) -> float:
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = x
    return -0.5 * (x1 * x4 - x2 * x3 + (x3 - x5) * x9 + x5 * x8 - x6 * x7)


def _g18_constraints(x: Any) -> Rows:
    # The largest hexagon of unit diameter: corners o, a, b, c, d, e.
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = ca.vertsplit(x)
    o, a, b, c, d, e = (0, 0), (x1, x2), (x3, x4), (x5, x6), (x7, x8), (0, x9)
    pairs = ((b, o), (e, o), (c, o), (a, e), (a, c), (a, d), (b, c), (b, d), (d, e))
    distances = [(p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 - 1 for p, q in pairs]
    areas = [x2 * x3 - x1 * x4, -x3 * x9, x5 * x9, x6 * x7 - x5 * x8]
    return Rows(g=distances + areas)


G19_A = np.array(
    [
        [-16.0, 2.0, 0.0, 1.0, 0.0],
        [0.0, -2.0, 0.0, 0.4, 2.0],
        [-3.5, 0.0, 2.0, 0.0, 0.0],
        [0.0, -2.0, 0.0, -4.0, -1.0],
        [0.0, -9.0, -2.0, 1.0, -2.8],
        [2.0, 0.0, -4.0, 0.0, 0.0],
        [-1.0, -1.0, -1.0, -1.0, -1.0],
        [-1.0, -2.0, -3.0, -2.0, -1.0],
        [1.0, 2.0, 3.0, 4.0, 5.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
    ]
)
G19_B = np.array([-40.0, -2.0, -0.25, -4.0, -4.0, -1.0, -40.0, -60.0, 5.0, 1.0])
G19_C = np.array(
    [
        [30.0, -20.0, -10.0, 32.0, -10.0],
        [-20.0, 39.0, -6.0, -31.0, 32.0],
        [-10.0, -6.0, 10.0, -6.0, -10.0],
        [32.0, -31.0, -6.0, 39.0, -20.0],
        [-10.0, 32.0, -10.0, -20.0, 30.0],
    ]
)
G19_D = np.array([4.0, 8.0, 10.0, 6.0, 2.0])
G19_E = np.array([-15.0, -27.0, -36.0, -18.0, -12.0])


def _g19_objective(x: Floats) -> float:
    u, v = x[:10], x[10:]
    return v @ G19_C @ v + 2.0 * (G19_D @ v**3) - G19_B @ u


def _g19_constraints(x: Any) -> Rows:
    u, v = x[:10], x[10:]
    slope = 2 * ca.DM(G19_C).T @ v + 3 * ca.DM(G19_D) * v**2 + ca.DM(G19_E)
    return Rows(g=ca.vertsplit(ca.DM(G19_A).T @ u - slope))


_G20_PRICE = np.array([0.0693, 0.0577, 0.05, 0.2, 0.26, 0.55, 0.06, 0.1, 0.12, 0.18, 0.1, 0.09])
_G20_MASS = ca.DM(
    [44.094, 58.12, 58.12, 137.4, 120.9, 170.9, 62.501, 84.94, 133.425, 82.507, 46.07, 60.097]
)
_G20_PRESSURE = ca.DM([123.7, 31.7, 45.7, 14.7, 84.7, 27.7, 49.7, 7.1, 2.1, 17.7, 0.85, 0.64])
_G20_DENSITY = ca.DM(
    [31.244, 36.12, 34.784, 92.7, 82.7, 91.6, 56.708, 82.7, 80.8, 64.517, 49.4, 49.1]
)
_G20_SHARE = (0.1, 0.3, 0.4, 0.3, 0.6, 0.3)


def _g20_objective(x: Floats) -> float:
    return _G20_PRICE @ (x[:12] + x[12:])


def _g20_constraints(x: Any) -> Rows:
    # Twelve substances, liquid (x1..x12) and gas (x13..x24).
    liquid, gas = x[:12] / _G20_MASS, x[12:] / _G20_MASS
    total = ca.sum1(x)
    balance = gas / ca.sum1(gas) - _G20_PRESSURE / 40 * liquid / ca.sum1(liquid)
    volume = ca.sum1(x[:12] / _G20_DENSITY) + 0.7302 * 530 * 14.7 / 40 * ca.sum1(gas)
    limited = (0, 1, 2, 6, 7, 8)
    return Rows(
        g=[
            (x[i] + x[i + 12]) / (total + share)
            for i, share in zip(limited, _G20_SHARE, strict=True)
        ],
        h=[*ca.vertsplit(balance), total - 1, volume - 1.671],
    )


DEFINITIONS: dict[str, Definition] = {
    "g17": Definition(
        [0.0, 0.0, 340.0, 340.0, -1000.0, 0.0],
        [400.0, 1000.0, 420.0, 420.0, 1000.0, 0.5236],
        _g17_objective,
        _g17_constraints,
    ),
    "g18": Definition([-10.0] * 8 + [0.0], [10.0] * 8 + [20.0], _g18_objective, _g18_constraints),
    "g19": Definition([0.0] * 15, [10.0] * 15, _g19_objective, _g19_constraints),
    "g20": Definition([0.0] * 24, [10.0] * 24, _g20_objective, _g20_constraints),
}
"""Definition of each problem of this module."""
