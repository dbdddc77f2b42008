"""What can be written down about the joint: parts, room, preload, cost, limits."""

from __future__ import annotations

from typing import Any

import casadi as ca

import archeng
from case_studies.flange import data

OUTPUTS = {
    "least pressure": "MPa",
    "most pressure": "MPa",
    "rotation": "deg",
    "plate stress": "MPa",
    "bolt force": "kN",
}
"""What the ring model returns, with units."""
KILO = 1e3


def build_model() -> archeng.Model:
    """Return the model: six discrete variables, two real ones."""
    model = archeng.Model("bolted flange")
    bolt = model.catalogue("bolt", data.BOLT_TABLE, order="diameter")
    n = model.integer("bolts", lower=data.NUMBER[0], upper=data.NUMBER[1])
    gasket = model.category("gasket", data.GASKETS)
    width = model.choice("gasket width", data.WIDTHS, unit="mm")
    plate = model.choice("plate", data.THICKNESSES, unit="mm")
    steel = model.category("steel", data.STEELS)
    circle = model.variable("bolt circle", lower=data.BORE, upper=data.WIDEST, unit="mm")
    preload = model.variable("preload", lower=data.PRELOAD[0], upper=data.PRELOAD[1])

    inner = data.BORE + 2 * data.GASKET_CLEARANCE
    outer = inner + 2 * width
    area = ca.pi / 4 * (outer**2 - inner**2)
    plate_outer = circle + 2 * data.EDGE * bolt["hole"]
    _room(model, bolt, n, circle, outer, plate_outer)
    total = n * preload * data.BOLT_YIELD * bolt["stress_area"]
    _preload(model, gasket, area, inner, total)
    _simulated(model, bolt, gasket, steel)
    model.minimize(
        _plates(steel, plate, plate_outer)
        + 2 * n * (data.HOLE + data.DRILLING * plate)
        + n * (bolt["price"] + data.FITTING)
        + gasket["price"] * area / data.SQUARE_METRE,
        name="cost (EUR)",
    )
    return model


def _room(model: archeng.Model, bolt: Any, n: Any, circle: Any, outer: Any, plate: Any) -> None:
    """Bolts outside of the gasket and of the weld, with room for a wrench; not too wide."""
    model.subject_to(
        circle >= outer + bolt["hole"] + 2 * data.BOLT_CLEARANCE,
        name="holes outside of the gasket (mm)",
    )
    model.subject_to(
        circle >= data.BORE + 2 * (data.WALL + data.WELD) + bolt["washer"],
        name="washers outside of the weld (mm)",
    )
    model.subject_to(circle * ca.sin(ca.pi / n) >= bolt["spacing"], name="room for the wrench (mm)")
    model.subject_to(plate <= data.WIDEST, name="outer diameter (mm)")


def _preload(model: archeng.Model, gasket: Any, area: Any, inner: float, total: Any) -> None:
    """Preload of all bolts: it seats the gasket, does not crush it, and carries the pressure."""
    least, most = (1 - data.SCATTER) * total / KILO, (1 + data.SCATTER) * total / KILO
    end = data.PRESSURE * ca.pi / 4 * inner**2 / KILO
    model.subject_to(least >= gasket["seating"] * area / KILO, name="gasket is seated (kN)")
    model.subject_to(most <= gasket["most"] * area / KILO, name="gasket is not crushed (kN)")
    model.subject_to(
        least >= end + gasket["operating"] * area / KILO, name="preload carries the pressure (kN)"
    )


def _simulated(model: archeng.Model, bolt: Any, gasket: Any, steel: Any) -> None:
    """Limits of what the ring model returns; they depend on the parts."""
    z = {name: model.output(name, unit=unit) for name, unit in OUTPUTS.items()}
    model.subject_to(
        z["least pressure"] >= gasket["operating"], name="gasket pressure in operation (MPa)"
    )
    model.subject_to(
        z["most pressure"] <= gasket["most"], name="gasket pressure when assembled (MPa)"
    )
    model.subject_to(z["rotation"] <= data.MOST_ROTATION, name="rotation of the plate (deg)")
    model.subject_to(
        z["plate stress"] <= steel["yield"] / data.PLATE_SAFETY, name="plate stress (MPa)"
    )
    model.subject_to(
        z["bolt force"] <= data.BOLT_SHARE * data.BOLT_YIELD * bolt["stress_area"] / KILO,
        name="bolt force in operation (kN)",
    )


def _plates(steel: Any, thickness: Any, outer: Any) -> Any:
    """Cost of both plates."""
    volume = ca.pi / 4 * (outer**2 - data.BORE**2) * thickness
    return 2 * volume * data.DENSITY * steel["price"]
