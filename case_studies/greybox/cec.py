"""Composite forms of CEC 2006 problems: the simulator returns inner terms, not the answer.

Objective, constraints and optimum are those of the report (:mod:`case_studies.cec2006`); only who
computes what differs. Numbers of rows as there.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.cec2006.g17_g20 import G19_A, G19_B, G19_C, G19_D, G19_E
from case_studies.cec2006.suite import add_constraint, constraints, definition
from case_studies.greybox.definition import Definition, Floats, Outputs, Plain
from case_studies.shared.referee import Range

_INF = np.inf


def _base(name: str, explicit: tuple[str, ...]) -> tuple[Model, Any]:
    """Return a model with the box and some of the rows of a problem, and its variables."""
    source = definition(name)
    model = Model(f"{name}, composite")
    x = model.variable("x", lower=source.lower, upper=source.upper, shape=len(source.lower))
    rows = constraints(name, x)
    for row in explicit:
        add_constraint(model, name, row, rows[row])
    return model, x


def _at_most(values: Any, first: int = 1) -> dict[str, Range]:
    """Rows ``g1``, ``g2``, ... (or from another number on) that must not be positive."""
    return {f"g{j}": (float(v), -_INF, 0.0) for j, v in enumerate(values, start=first)}


# -- g04: three outputs of a regression model, each with two limits; the cost is explicit ------

_G04_LIMITS = {"u": (0.0, 92.0), "v": (90.0, 110.0), "w": (20.0, 25.0)}


def _g04() -> Model:
    model, x = _base("g04", ())
    for name, (low, high) in _G04_LIMITS.items():
        model.subject_to(model.output(name), lower=low, upper=high, name=f"limits of {name}")
    model.minimize(5.3578547 * x[2] ** 2 + (0.8356891 * x[4] + 37.293239) * x[0] - 40792.141)
    return model


def _g04_outputs(x: Any, m: Any) -> Outputs:
    x1, x2, x3, x4, x5 = x
    return {
        "u": 85.334407 + x5 * (0.0056858 * x2 - 0.0022053 * x3) + 0.0006262 * x1 * x4,
        "v": 80.51249 + x2 * (0.0071317 * x5 + 0.0029955 * x1) + 0.0021813 * x3 * x3,
        "w": 9.300961 + x3 * (0.0047026 * x5 + 0.0012547 * x1 + 0.0019085 * x4),
    }


def _g04_plain(x: Floats, z: Outputs) -> Plain:
    cost = 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141
    rows = {f"limits of {k}": (float(z[k]), *limits) for k, limits in _G04_LIMITS.items()}
    return Plain(float(cost), {}, rows)


# -- g07: five quadratic loads are simulated; the cost and the linear rows are explicit ---------

_G07_LIMITS = (120.0, 40.0, 0.0, 30.0, 0.0)  # of the rows g4 to g8


def _g07() -> Model:
    model, x = _base("g07", ("g1", "g2", "g3"))
    load = model.output("load", shape=5)
    for j, limit in enumerate(_G07_LIMITS):
        model.subject_to(load[j], upper=limit, name=f"g{j + 4}")
    centre = ca.DM([10, 5, 3, 1, 0, 11, 10, 7])
    weights = ca.DM([1, 4, 1, 2, 5, 7, 2, 1])
    first = x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1]
    model.minimize(first + ca.dot(weights, (x[2:] - centre) ** 2) + 45)
    return model


def _g07_outputs(x: Any, m: Any) -> Outputs:
    x1, x2, x3, x4, x5, x6, _, _, x9, x10 = x
    return {
        "load": [
            3 * (x1 - 2) ** 2 + 4 * (x2 - 3) ** 2 + 2 * x3**2 - 7 * x4,
            5 * x1**2 + 8 * x2 + (x3 - 6) ** 2 - 2 * x4,
            x1**2 + 2 * (x2 - 2) ** 2 - 2 * x1 * x2 + 14 * x5 - 6 * x6,
            0.5 * (x1 - 8) ** 2 + 2 * (x2 - 4) ** 2 + 3 * x5**2 - x6,
            -3 * x1 + 6 * x2 + 12 * (x9 - 8) ** 2 - 7 * x10,
        ]
    }


def _g07_plain(x: Floats, z: Outputs) -> Plain:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = x
    cost = (
        x1**2 + x2**2 + x1 * x2 - 14 * x1 - 16 * x2 + (x3 - 10) ** 2 + 4 * (x4 - 5) ** 2
        + (x5 - 3) ** 2 + 2 * (x6 - 1) ** 2 + 5 * x7**2 + 7 * (x8 - 11) ** 2
        + 2 * (x9 - 10) ** 2 + (x10 - 7) ** 2 + 45
    )  # fmt: skip
    linear = (
        4 * x1 + 5 * x2 - 3 * x7 + 9 * x8 - 105,
        10 * x1 - 8 * x2 - 17 * x7 + 2 * x8,
        -8 * x1 + 2 * x2 + 5 * x9 - 2 * x10 - 12,
    )
    loads = zip(z["load"], _G07_LIMITS, strict=True)
    rows = {f"g{j}": (float(v), -_INF, limit) for j, (v, limit) in enumerate(loads, start=4)}
    return Plain(float(cost), _at_most(linear), rows)


# -- g09: squares of three simulated amplitudes in the cost; all rows are explicit --------------


def _g09() -> Model:
    model, x = _base("g09", ("g1", "g2", "g3", "g4"))
    a = model.output("amplitude", shape=3)
    known = (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + 3 * (x[3] - 11) ** 2 + 7 * x[5] ** 2
    mixed = -4 * x[5] * x[6] - 10 * x[5] - 8 * x[6]
    model.minimize(known + mixed + a[0] ** 2 + 10 * a[1] ** 2 + a[2] ** 2)
    return model


def _g09_outputs(x: Any, m: Any) -> Outputs:
    return {"amplitude": [x[2] ** 2, x[4] ** 3, x[6] ** 2]}


def _g09_plain(x: Floats, z: Outputs) -> Plain:
    x1, x2, x3, x4, x5, x6, x7 = x
    a = np.asarray(z["amplitude"])
    cost = (x1 - 10) ** 2 + 5 * (x2 - 12) ** 2 + 3 * (x4 - 11) ** 2 + 7 * x6**2
    cost += np.array([1.0, 10.0, 1.0]) @ a**2 - 4 * x6 * x7 - 10 * x6 - 8 * x7
    rows = (
        2 * x1**2 + 3 * x2**4 + x3 + 4 * x4**2 + 5 * x5 - 127,
        7 * x1 + 3 * x2 + 10 * x3**2 + x4 - x5 - 282,
        23 * x1 + x2**2 + 6 * x6**2 - 8 * x7 - 196,
        4 * x1**2 + x2**2 - 3 * x1 * x2 + 2 * x3**2 + 5 * x6 - 11 * x7,
    )
    return Plain(float(cost), _at_most(rows))


# -- g10: three heat exchangers; the transferred heats are simulated, areas are minimised -------


def _g10() -> Model:
    model, x = _base("g10", ("g1", "g2", "g3"))
    heat = model.output("heat", shape=3)  # area times difference of temperatures
    for j, need in enumerate(_g10_needs(ca.vertsplit(x))):
        model.subject_to(need - heat[j], upper=0, name=f"g{j + 4}")
    model.minimize(x[0] + x[1] + x[2])
    return model


def _g10_needs(x: Any) -> tuple[Any, Any, Any]:
    """Heat that each exchanger has to transfer."""
    return 833.33252 * x[3] - 83333.333, 1250 * (x[4] - x[3]), 1250000 - 2500 * x[4]


def _g10_outputs(x: Any, m: Any) -> Outputs:
    x1, x2, x3, x4, x5, x6, x7, x8 = x
    return {"heat": [x1 * (x6 - 100), x2 * (x7 - x4), x3 * (x8 - x5)]}


def _g10_plain(x: Floats, z: Outputs) -> Plain:
    linear = (
        0.0025 * (x[3] + x[5]) - 1,
        0.0025 * (x[4] + x[6] - x[3]) - 1,
        0.01 * (x[7] - x[4]) - 1,
    )
    rest = np.array(_g10_needs(x)) - np.asarray(z["heat"])
    return Plain(float(x[0] + x[1] + x[2]), _at_most(linear), _at_most(rest, 4))


# -- g18: the largest hexagon; four simulated areas are summed, and must not be negative --------


def _g18() -> Model:
    model, _ = _base("g18", tuple(f"g{j}" for j in range(1, 10)))
    area = model.output("area", shape=4)  # twice those of the triangles
    for j in range(4):
        model.subject_to(area[j], lower=0, name=f"area {j + 1}")
    model.minimize(-0.5 * ca.sum1(area))
    return model


def _g18_outputs(x: Any, m: Any) -> Outputs:
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = x
    return {"area": [x1 * x4 - x2 * x3, x3 * x9, -x5 * x9, x5 * x8 - x6 * x7]}


def _g18_plain(x: Floats, z: Outputs) -> Plain:
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = x
    area = np.asarray(z["area"], dtype=float)
    rows = (
        x3**2 + x4**2 - 1,
        x9**2 - 1,
        x5**2 + x6**2 - 1,
        x1**2 + (x2 - x9) ** 2 - 1,
        (x1 - x5) ** 2 + (x2 - x6) ** 2 - 1,
        (x1 - x7) ** 2 + (x2 - x8) ** 2 - 1,
        (x3 - x5) ** 2 + (x4 - x6) ** 2 - 1,
        (x3 - x7) ** 2 + (x4 - x8) ** 2 - 1,
        x7**2 + (x8 - x9) ** 2 - 1,
    )
    signs = {f"area {j + 1}": (float(a), 0.0, _INF) for j, a in enumerate(area)}
    return Plain(float(-0.5 * area.sum()), _at_most(rows), signs)


# -- g19: simulated marginal costs, times the quantities in the objective, and in every row -----
#
# With m = 2 C v + 3 d v^2 the objective v'Cv + 2 d'v^3 - b'u is (m'v + d'v^3) / 2 - b'u.


def _g19() -> Model:
    model, x = _base("g19", ())
    u, v = x[:10], x[10:]
    marginal = model.output("marginal cost", shape=5)
    prices = ca.DM(G19_A).T @ u
    for j in range(5):
        model.subject_to(prices[j] - marginal[j], upper=G19_E[j], name=f"g{j + 1}")
    model.minimize(0.5 * (ca.dot(marginal, v) + ca.dot(G19_D, v**3)) - ca.dot(G19_B, u))
    return model


def _g19_outputs(x: Any, m: Any) -> Outputs:
    v = [x[10 + k] for k in range(5)]
    return {
        "marginal cost": [
            2 * sum(G19_C[i, k] * v[k] for k in range(5)) + 3 * G19_D[i] * v[i] ** 2
            for i in range(5)
        ]
    }


def _g19_plain(x: Floats, z: Outputs) -> Plain:
    u, v, marginal = x[:10], x[10:], np.asarray(z["marginal cost"])
    cost = (marginal @ v + G19_D @ v**3) / 2 - G19_B @ u
    rows = enumerate(G19_A.T @ u - marginal)
    return Plain(
        float(cost), {}, {f"g{j + 1}": (float(r), -_INF, float(G19_E[j])) for j, r in rows}
    )


def _composite(name: str, what: str, build: Any, outputs: Any, plain: Any) -> Definition:
    return Definition(
        title=f"CEC 2006 {name}: {what}",
        family="cec2006",
        build=build,
        outputs=outputs,
        plain=plain,
    )


DEFINITIONS: dict[str, Definition] = {
    "g04": _composite("g04", "limits of three regressions", _g04, _g04_outputs, _g04_plain),
    "g07": _composite("g07", "five simulated loads", _g07, _g07_outputs, _g07_plain),
    "g09": _composite("g09", "squares of three amplitudes", _g09, _g09_outputs, _g09_plain),
    "g10": _composite("g10", "heats of three exchangers", _g10, _g10_outputs, _g10_plain),
    "g18": _composite("g18", "sum of four areas", _g18, _g18_outputs, _g18_plain),
    "g19": _composite("g19", "marginal costs times quantities", _g19, _g19_outputs, _g19_plain),
}
"""Definition of each problem of this module."""
