"""Two demands that contradict each other."""

from __future__ import annotations

import math

import casadi as ca

from archeng.model import Model
from case_studies.broken_models.definition import Broken


def _shaft(broken: bool) -> Model:
    model = Model("hollow shaft")
    outer = model.variable("outer diameter", lower=20, upper=120, unit="mm")
    hollow = model.variable("inner over outer", lower=0.1, upper=0.85)
    length = model.variable("length", lower=500, upper=900, unit="mm")
    bearing = model.variable("bearing width", lower=15, upper=40, unit="mm")
    disc = model.variable("disc position", lower=100, upper=800, unit="mm")
    fillet = model.variable("fillet radius", lower=1, upper=10, unit="mm")
    area = math.pi / 4 * outer**2 * (1 - hollow**2)
    polar = math.pi / 32 * outer**4 * (1 - hollow**4)
    torque = 150e3  # N mm
    twist = torque * length / (80e3 * polar) * 180 / math.pi
    notch = 1 + 0.3 * (outer / fillet) ** 0.3
    model.subject_to(twist <= 0.5, name="twist (deg)")
    model.subject_to(7.85e-6 * area * length <= (0.9 if broken else 3), name="mass (kg)")
    model.subject_to(
        notch * torque * outer / (2 * polar) <= 160, name="shear stress at the fillet (MPa)"
    )
    model.subject_to(outer * (1 - hollow) / 2 >= 3, name="wall (mm)")
    model.subject_to(disc + 2 * bearing <= length - 50, name="room for the bearings (mm)")
    model.subject_to(disc >= length / 4, name="disc off the bearing (mm)")
    return model


def _battery(broken: bool) -> Model:
    model = Model("battery pack")
    series = model.variable("cells in series", lower=20, upper=200)
    parallel = model.variable("strings", lower=1, upper=60)
    capacity = model.variable("cell capacity", lower=2, upper=5, unit="Ah")
    current = model.variable("current", lower=50, upper=400, unit="A")
    plate = model.variable("cooling plate", lower=1, upper=10, unit="mm")
    busbar = model.variable("busbar area", lower=20, upper=200, unit="mm2")
    cell = 0.025 + 0.0095 * capacity  # kg
    energy = 3.6e-3 * series * parallel * capacity  # kWh
    model.subject_to(energy >= (60 if broken else 40), name="energy (kWh)")
    model.subject_to(series * parallel * cell <= 190, name="mass of cells (kg)")
    model.subject_to(3.6 * series, lower=350, upper=420, name="voltage (V)")
    model.subject_to(current / parallel <= 3 * capacity, name="load of a cell (A)")
    model.subject_to(current * 3.4e-3 * series >= 90, name="power (kW)")
    model.subject_to(current / busbar <= 4, name="current density (A/mm2)")
    model.subject_to(current**2 * 1.2e-3 / plate <= 40, name="heat per plate (W/mm)")
    return model


def _lens(broken: bool) -> Model:
    model = Model("projector lens")
    focal = model.variable("focal length", lower=45, upper=80, unit="mm")
    front = model.variable("object distance", lower=50, upper=400, unit="mm")
    back = model.variable("image distance", lower=50, upper=400, unit="mm")
    aperture = model.variable("aperture", lower=5, upper=40, unit="mm")
    radius_1 = model.variable("first radius", lower=20, upper=300, unit="mm")
    radius_2 = model.variable("second radius", lower=20, upper=300, unit="mm")
    thick = model.variable("thickness", lower=2, upper=20, unit="mm")
    model.subject_to(1 / front + 1 / back == 1 / focal, name="lens equation (1/mm)")
    model.subject_to(0.52 * (1 / radius_1 + 1 / radius_2) == 1 / focal, name="lens maker (1/mm)")
    model.subject_to(front + back <= (170 if broken else 230), name="track length (mm)")
    model.subject_to(focal / aperture <= 4, name="f-number")
    model.subject_to(
        thick >= 1.5 + aperture**2 / 8 * (1 / radius_1 + 1 / radius_2), name="edge thickness (mm)"
    )
    model.subject_to(front / back, lower=0.4, upper=2.5, name="magnification")
    return model


def _column(broken: bool) -> Model:
    model = Model("tubular column")
    outer = model.variable("diameter", lower=60, upper=160, unit="mm")
    wall = model.variable("wall", lower=3, upper=12, unit="mm")
    height = model.variable("height", lower=4000, upper=6000, unit="mm")
    base = model.variable("base plate", lower=150, upper=400, unit="mm")
    plate = model.variable("plate thickness", lower=8, upper=30, unit="mm")
    bolt = model.variable("bolt circle", lower=100, upper=380, unit="mm")
    load = 120e3  # N
    gyration = ca.sqrt(outer**2 + (outer - 2 * wall) ** 2) / 4
    area = math.pi * wall * (outer - wall)
    model.subject_to(height / gyration <= (60 if broken else 140), name="slenderness")
    model.subject_to(load / area <= 110, name="compression (MPa)")
    model.subject_to(
        math.pi**2 * 2.1e5 * area * gyration**2 / height**2 >= 3 * load, name="buckling load (N)"
    )
    model.subject_to(base >= outer + 80, name="base around the tube (mm)")
    model.subject_to(bolt <= base - 40, name="bolts on the plate (mm)")
    model.subject_to(bolt >= outer + 35, name="bolts clear of the tube (mm)")
    model.subject_to(load / base**2 * (base - outer) ** 2 / plate**2 <= 60, name="plate (MPa)")
    return model


def _radiator(broken: bool) -> Model:
    model = Model("radiator")
    height = model.variable("height", lower=0.2, upper=0.5, unit="m")
    width = model.variable("width", lower=0.3, upper=0.7, unit="m")
    depth = model.variable("depth", lower=0.02, upper=0.06, unit="m")
    fins = model.variable("fin pitch", lower=1, upper=4, unit="mm")
    air = model.variable("air speed", lower=1, upper=8, unit="m/s")
    surface = model.variable("surface", lower=1, upper=60, unit="m2")
    heat = model.variable("heat", lower=5, upper=60, unit="kW")
    model.subject_to(
        surface == 2000 * height * width * depth / fins, name="fin surface (m2)", tolerance=1e-4
    )
    model.subject_to(
        heat == 0.03 * 60 * surface * air**0.6, name="heat transfer (kW)", tolerance=1e-4
    )
    drop = 90 * depth / fins * air**1.8
    model.subject_to(drop <= (2 if broken else 20), name="air side pressure drop (Pa)")
    model.subject_to(heat >= 40, name="engine heat (kW)")
    model.subject_to(height * width <= 0.3, name="front area (m2)")
    model.subject_to(width >= 1.2 * height, name="wider than high (m)")
    return model


MODELS: dict[str, Broken] = {
    "shaft": Broken(
        "pair",
        "a mass limit too low for the allowed twist",
        _shaft,
        frozenset({"twist (deg)", "mass (kg)"}),
        frozenset(
            {
                "length >= 500 (bound)",
                "inner over outer <= 0.85 (bound)",
                "outer diameter <= 120 (bound)",
                "wall (mm)",
            }
        ),
    ),
    "battery": Broken(
        "pair",
        "more energy than cells of the allowed mass can hold",
        _battery,
        frozenset({"energy (kWh)", "mass of cells (kg)"}),
        frozenset({"cell capacity <= 5 (bound)"}),
    ),
    "lens": Broken(
        "pair",
        "a track shorter than four focal lengths",
        _lens,
        frozenset({"lens equation (1/mm)", "track length (mm)"}),
        frozenset({"focal length >= 45 (bound)"}),
    ),
    "column": Broken(
        "pair",
        "a slenderness that no tube of these sizes has",
        _column,
        frozenset({"slenderness"}),
        frozenset(
            # the last: the formula takes a wall thicker than the tube for a slender one
            {"diameter <= 160 (bound)", "height >= 4000 (bound)", "wall <= 12 (bound)"}
        ),
    ),
    "radiator": Broken(
        "pair",
        "more heat than the air can take at the allowed pressure drop",
        _radiator,
        frozenset({"engine heat (kW)", "air side pressure drop (Pa)"}),
        frozenset(
            {
                "fin surface (m2)",
                "heat transfer (kW)",
                "front area (m2)",
                "fin pitch >= 1 (bound)",
                "fin pitch <= 4 (bound)",
                "depth <= 0.06 (bound)",
                "depth >= 0.02 (bound)",
                "air speed >= 1 (bound)",
                "height <= 0.5 (bound)",
                "width <= 0.7 (bound)",
            }
        ),
    ),
}
