"""Process synthesis and design: small mixed problems of Floudas, Kocis, Grossmann and others."""

from __future__ import annotations

from typing import Any

import casadi as ca

from archeng import Model
from case_studies.discrete.definition import NONE, Definition, real, whole

# -- synthesis of one unit --------------------------------------------------------------------


def _synthesis() -> Model:
    model = Model("process synthesis")
    x = model.variable("flow", lower=0, upper=1.6)
    y = model.binary("unit")
    model.subject_to(x**2 + y >= 1.25, name="production")
    model.subject_to(x + y <= 1.6, name="capacity")
    return model


def _synthesis_limits(x: Any, m: Any) -> list[Any]:
    return [(x[0] ** 2 + x[1], 1.25, NONE), (x[0] + x[1], -NONE, 1.6)]


# -- synthesis with a logarithm (one equation of the original is solved for x2) ---------------


def _logarithm() -> Model:
    model = Model("process synthesis with a logarithm")
    x = model.variable("flow", lower=0.5, upper=1.4)
    y = model.binary("unit")
    model.subject_to(y <= x + ca.log(x / 2), name="balance")
    return model


# -- flow sheet -------------------------------------------------------------------------------


def _flow_sheet() -> Model:
    model = Model("flow sheet")
    x1 = model.variable("x1", lower=0.2, upper=1)
    x2 = model.variable("x2", lower=-2.22554, upper=-1)
    y = model.binary("unit")
    model.subject_to(ca.exp(x1 - 0.2) + x2 >= 0, name="equilibrium")
    model.subject_to(x2 + 1.1 * y <= -1, name="balance")
    model.subject_to(x1 - 1.2 * y <= 0.2, name="capacity")
    return model


def _flow_sheet_limits(x: Any, m: Any) -> list[Any]:
    x1, x2, y = x
    return [
        (-m.exp(x1 - 0.2) - x2, -NONE, 0.0),
        (x2 + 1.1 * y, -NONE, -1.0),
        (x1 - 1.2 * y, -NONE, 0.2),
    ]


# -- seven variables, four of them binary -----------------------------------------------------


def _yuan() -> Model:
    model = Model("process synthesis with four units")
    x = model.variable("flow", lower=0, upper=[1.2, 1.8, 2.5], shape=3)
    y = model.binary("unit", shape=4)
    model.subject_to(y[0] + y[1] + y[2] + ca.sum1(x) <= 5, name="total")
    model.subject_to(y[2] ** 2 + ca.sumsqr(x) <= 5.5, name="squares")
    for i, limit in enumerate((1.2, 1.8, 2.5)):
        model.subject_to(y[i] + x[i] <= limit, name=f"capacity {i + 1}")
    model.subject_to(y[3] + x[0] <= 1.2, name="capacity 4")
    model.subject_to(y[1] ** 2 + x[1] ** 2 <= 1.64, name="pair 2 2")
    model.subject_to(y[2] ** 2 + x[2] ** 2 <= 4.25, name="pair 3 3")
    model.subject_to(y[1] ** 2 + x[2] ** 2 <= 4.64, name="pair 2 3")
    return model


def _yuan_cost(x: Any, m: Any) -> Any:
    x1, x2, x3, y1, y2, y3, y4 = x
    units = (y1 - 1) ** 2 + (y2 - 2) ** 2 + (y3 - 1) ** 2 - m.log(y4 + 1)
    return units + (x1 - 1) ** 2 + (x2 - 2) ** 2 + (x3 - 3) ** 2


def _yuan_limits(x: Any, m: Any) -> list[Any]:
    x1, x2, x3, y1, y2, y3, y4 = x
    return [
        (y1 + y2 + y3 + x1 + x2 + x3, -NONE, 5.0),
        (y3**2 + x1**2 + x2**2 + x3**2, -NONE, 5.5),
        (y1 + x1, -NONE, 1.2),
        (y2 + x2, -NONE, 1.8),
        (y3 + x3, -NONE, 2.5),
        (y4 + x1, -NONE, 1.2),
        (y2**2 + x2**2, -NONE, 1.64),
        (y3**2 + x3**2, -NONE, 4.25),
        (y2**2 + x3**2, -NONE, 4.64),
    ]


# -- process design ---------------------------------------------------------------------------


def _design() -> Model:
    model = Model("process design")
    x1, x2, x3 = (model.variable(f"x{i}", lower=27, upper=45) for i in (1, 2, 3))
    y1 = model.integer("y1", lower=78, upper=102)
    y2 = model.integer("y2", lower=33, upper=45)
    first = 85.334407 + 0.0056858 * y2 * x3 + 0.0006262 * y1 * x2 - 0.0022053 * x1 * x3
    second = 80.51249 + 0.0071317 * y2 * x3 + 0.0029955 * y1 * y2 + 0.0021813 * x1**2
    third = 9.300961 + 0.0047026 * x1 * x3 + 0.0012547 * y1 * x1 + 0.0019085 * x1 * x2
    for name, row, limit in (("1", first, 92), ("2", second, 110), ("3", third, 25)):
        model.subject_to(row <= limit, name=f"regression {name}")
    return model


def _design_cost(x: Any, m: Any) -> Any:
    x1, _, x3, y1, _ = x
    return 5.357854 * x1**2 + 0.835689 * y1 * x3 + 37.29329 * y1 - 40792.141


def _design_limits(x: Any, m: Any) -> list[Any]:
    x1, x2, x3, y1, y2 = x
    return [
        (85.334407 + (0.0056858 * y2 - 0.0022053 * x1) * x3 + 0.0006262 * y1 * x2, -NONE, 92.0),
        (80.51249 + y2 * (0.0071317 * x3 + 0.0029955 * y1) + 0.0021813 * x1**2, -NONE, 110.0),
        (9.300961 + x1 * (0.0047026 * x3 + 0.0012547 * y1 + 0.0019085 * x2), -NONE, 25.0),
    ]


# -- batch plant ------------------------------------------------------------------------------

SIZES = ((2, 3, 4), (4, 6, 3))
"""Size factors of two products in three stages."""

TIMES = ((8, 20, 8), (16, 4, 4))
"""Processing times."""


def _batch_plant() -> Model:
    model = Model("multiproduct batch plant")
    units = model.integer("units", lower=1, upper=3, shape=3)
    volumes = model.variable("volume", lower=250, upper=2500, shape=3)
    cycle = model.variable("cycle time", lower=[6, 4], upper=[20, 16], shape=2)
    batch = model.variable("batch", lower=[40, 10], upper=[700, 450], shape=2)
    model.subject_to(
        40_000 * cycle[0] / batch[0] + 20_000 * cycle[1] / batch[1] <= 6000, name="horizon (h)"
    )
    for i in range(2):
        for j in range(3):
            model.subject_to(volumes[j] >= SIZES[i][j] * batch[i], name=f"size {i + 1} {j + 1}")
            model.subject_to(units[j] * cycle[i] >= TIMES[i][j], name=f"time {i + 1} {j + 1}")
    return model


def _batch_plant_cost(x: Any, m: Any) -> Any:
    return 250.0 * sum(x[j] * x[3 + j] ** 0.6 for j in range(3))


def _batch_plant_limits(x: Any, m: Any) -> list[Any]:
    rows = [(40_000 * x[6] / x[8] + 20_000 * x[7] / x[9], -NONE, 6000.0)]
    for i in range(2):
        for j in range(3):
            rows.append((SIZES[i][j] * x[8 + i] - x[3 + j], -NONE, 0.0))
            rows.append((x[j] * x[6 + i], float(TIMES[i][j]), NONE))
    return rows


# -- synthesis of Duran and Grossmann ---------------------------------------------------------


def _synthesis_1() -> Model:
    model = Model("synthes1")
    x = model.variable("x", lower=0, upper=[2, 2, 1], shape=3)
    y = model.binary("unit", shape=3)
    gain, rest = ca.log(1 + x[1]), ca.log(1 + x[0] - x[1])
    model.subject_to(x[1] <= x[0], name="split")  # first: the logarithm needs it
    model.subject_to(0.8 * gain + 0.96 * rest >= 0.8 * x[2], name="product")
    model.subject_to(gain + 1.2 * rest >= x[2] + 2 * y[2] - 2, name="product of unit 3")
    model.subject_to(x[1] <= 2 * y[0], name="unit 1")
    model.subject_to(x[0] - x[1] <= 2 * y[1], name="unit 2")
    model.subject_to(y[0] + y[1] <= 1, name="one of two")
    return model


def _synthesis_1_cost(x: Any, m: Any) -> Any:
    x1, x2, x3, y1, y2, y3 = x
    gain = 18 * m.log(1 + x2) + 19.2 * m.log(1 + x1 - x2)
    return 5 * y1 + 6 * y2 + 8 * y3 + 10 * x1 - 7 * x3 - gain + 10


def _synthesis_1_limits(x: Any, m: Any) -> list[Any]:
    x1, x2, x3, y1, y2, y3 = x
    made = m.log(1 + x2) + 1.2 * m.log(1 + x1 - x2)
    return [
        (x2 - x1, -NONE, 0.0),
        (0.8 * made - 0.8 * x3, 0.0, NONE),
        (made - x3 - 2 * y3, -2.0, NONE),
        (x2 - 2 * y1, -NONE, 0.0),
        (x1 - x2 - 2 * y2, -NONE, 0.0),
        (y1 + y2, -NONE, 1.0),
    ]


def _of(title: str, build: Any, space: tuple[Any, ...], objective: Any, limits: Any) -> Definition:
    return Definition(
        title=title,
        family="process",
        build=build,
        space=space,
        objective=objective,
        limits=limits,
    )


_YES = whole(0, 1)
DEFINITIONS: dict[str, Definition] = {
    "process_synthesis": _of(
        "Synthesis with one unit",
        _synthesis,
        (real(0, 1.6), _YES),
        lambda x, m: 2.0 * x[0] + x[1],
        _synthesis_limits,
    ),
    "process_logarithm": _of(
        "Synthesis with a logarithm",
        _logarithm,
        (real(0.5, 1.4), _YES),
        lambda x, m: 2.0 * x[0] - x[1] - m.log(x[0] / 2),
        lambda x, m: [(x[1] - x[0] - m.log(x[0] / 2), -NONE, 0.0)],
    ),
    "flow_sheet": _of(
        "Flow sheet",
        _flow_sheet,
        (real(0.2, 1), real(-2.22554, -1), _YES),
        lambda x, m: 5.0 * (x[0] - 0.5) ** 2 - 0.7 * x[2] + 0.8,
        _flow_sheet_limits,
    ),
    "four_units": _of(
        "Synthesis with four units",
        _yuan,
        (real(0, 1.2), real(0, 1.8), real(0, 2.5), *(_YES,) * 4),
        _yuan_cost,
        _yuan_limits,
    ),
    "process_design": _of(
        "Process design by regressions",
        _design,
        (*(real(27, 45),) * 3, whole(78, 102), whole(33, 45)),
        _design_cost,
        _design_limits,
    ),
    "batch_plant": _of(
        "Batch plant of two products in three stages",
        _batch_plant,
        (
            *((whole(1, 3),) * 3 + (real(250, 2500),) * 3),
            *(real(6, 20), real(4, 16), real(40, 700), real(10, 450)),
        ),
        _batch_plant_cost,
        _batch_plant_limits,
    ),
    "synthes1": _of(
        "Synthesis of Duran and Grossmann",
        _synthesis_1,
        (real(0, 2), real(0, 2), real(0, 1), *(_YES,) * 3),
        _synthesis_1_cost,
        _synthesis_1_limits,
    ),
}
"""Definition of each problem of this module."""
