"""Problem g16: a chain of intermediate results c1..c17 and y1..y17, with limits on each y."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from case_studies.cec2006.definition import Definition, Floats, Rows

_LIMITS: tuple[tuple[float, float], ...] = (
    (213.1, 405.23),
    (17.505, 1053.6667),
    (11.275, 35.03),
    (214.228, 665.585),
    (7.458, 584.463),
    (0.961, 265.916),
    (1.612, 7.046),
    (0.146, 0.222),
    (107.99, 273.366),
    (922.693, 1286.105),
    (926.832, 1444.046),
    (18.766, 537.141),
    (1072.163, 3247.039),
    (8961.448, 26844.086),
    (0.063, 0.386),
    (71084.33, 140000.0),
    (2802713.0, 12146108.0),
)
"""Least and greatest value of y1..y17."""


class _Chain(NamedTuple):
    """The intermediate results that objective and constraints need."""

    y: tuple[Any, ...]  # y1..y17
    c12: Any
    c15: Any
    c16: Any
    c17: Any


def _chain(x1: Any, x2: Any, x3: Any, x4: Any, x5: Any) -> _Chain:
    """Intermediate results; works for numbers and for CasADi symbols alike."""
    y1 = x2 + x3 + 41.6
    y2 = 12.5 / (0.024 * x4 - 4.62) + 12
    c2 = x1 * (0.0003535 * x1 + 0.5311 + 0.08705 * y2)
    c3 = x1 * (0.052 + 0.002377 * y2) + 78
    y3 = c2 / c3
    y4 = 19 * y3
    rest = x1 - y3
    c4 = 0.04782 * rest + 0.1956 * rest**2 / x2 + 0.6376 * y4 + 1.594 * y3
    c6 = rest - y4
    c7 = 0.95 - c4 / (100 * x2)
    y5 = c6 * c7
    y6 = c6 - y5
    c8 = 0.995 * (y4 + y5)
    y7 = c8 / y1
    y8 = c8 / 3798
    c9 = y7 - 0.0663 * y7 / y8 - 0.3153
    y9 = 96.82 / c9 + 0.321 * y1
    y10 = 1.29 * y5 + 1.258 * y4 + 2.29 * y3 + 1.71 * y6
    y11 = 1.71 * x1 - 0.452 * y4 + 0.58 * y3
    c12 = 0.995 * y10 + 1998
    y12 = 12.3 / 752.3 * x1 + 1.75 * 0.995 * y2 * x1 / c12
    y13 = c12 - 1.75 * y2
    c17 = y9 + x5
    y14 = 3623 + 64.4 * x2 + 58.4 * x3 + 146312 / c17
    c13 = 0.995 * y10 + 60.8 * x2 + 48 * x4 - 0.1121 * y14 - 5095
    y15 = y13 / c13
    y16 = 148000 - 331000 * y15 + 40 * y13 - 61 * y15 * y13
    c14 = 2324 * y10 - 28740000 * y2
    y17 = 14130000 - 1328 * y10 - 531 * y11 + c14 / c12
    c15 = y13 / y15 - y13 / 0.52
    c16 = 1.104 - 0.72 * y15
    y = (y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17)
    return _Chain(y, c12, c15, c16, c17)


def _g16_objective(x: Floats) -> float:
    chain = _chain(*x)
    _, y2, _, _, y5, _, _, _, _, _, _, y12, y13, y14, _, y16, y17 = chain.y
    return (
        0.1365
        + 0.000117 * y14
        + 0.00002358 * y13
        + 0.000001502 * y16
        + 0.0321 * y12
        + 0.004324 * y5
        + 0.0001 * chain.c15 / chain.c16
        + 37.48 * y2 / chain.c12
        - 0.0000005843 * y17
    )


def _g16_constraints(x: Any) -> Rows:
    x1, x2, x3, x4, x5 = ca.vertsplit(x)
    chain = _chain(x1, x2, x3, x4, x5)
    y1, y2, _, y4, y5 = chain.y[:5]
    g = [
        0.28 / 0.72 * y5 - y4,
        x3 - 1.5 * x2,
        3496 * y2 / chain.c12 - 21,
        110.6 + y1 - 62212 / chain.c17,
    ]
    for y, (low, high) in zip(chain.y, _LIMITS, strict=True):
        g += [low - y, y - high]
    return Rows(g=g)


DEFINITIONS: dict[str, Definition] = {
    "g16": Definition(
        [704.4148, 68.6, 0.0, 193.0, 25.0],
        [906.3855, 288.88, 134.75, 287.0966, 84.1988],
        _g16_objective,
        _g16_constraints,
    ),
}
"""Definition of each problem of this module."""
