"""Slips of units."""

from __future__ import annotations

import math

import casadi as ca

from archeng.model import Model
from case_studies.broken_models.definition import Broken


def _bracket(broken: bool) -> Model:
    model = Model("bracket")
    width = model.variable("width", lower=20, upper=80, unit="mm")
    thick = model.variable("thickness", lower=4, upper=20, unit="mm")
    arm = model.variable("arm", lower=60, upper=200, unit="mm")
    bolt = model.variable("bolt diameter", lower=5, upper=16, unit="mm")
    pitch = model.variable("bolt pitch", lower=20, upper=70, unit="mm")
    force = 2500.0  # N
    stress = 6 * force * arm / (width * thick**2)
    model.subject_to(stress <= (0.2 if broken else 200), name="bending stress")
    model.subject_to(4 * force * arm**3 / (2.1e5 * width * thick**3) <= 0.5, name="deflection (mm)")
    model.subject_to(force * arm / (pitch * 0.785 * bolt**2) <= 240, name="bolt stress (MPa)")
    model.subject_to(pitch >= 2.5 * bolt, name="bolt spacing (mm)")
    model.subject_to(width >= pitch + 1.2 * bolt, name="bolts within the width (mm)")
    return model


def _beam(broken: bool) -> Model:
    model = Model("roof beam")
    height = model.variable("height", lower=0.1, upper=0.6, unit="m")
    width = model.variable("width", lower=0.06, upper=0.25, unit="m")
    span = model.variable("span", lower=4, upper=9, unit="m")
    spacing = model.variable("spacing", lower=0.6, upper=2.5, unit="m")
    layers = model.variable("insulation", lower=0.05, upper=0.4, unit="m")
    load = 1500 * spacing + 400 * layers * spacing + 4500 * width * height  # N/m
    inertia = width * height**3 / 12
    sag = 5 * load * span**4 / (384 * 11e9 * inertia)  # m
    model.subject_to(sag * (1e6 if broken else 1e3) <= span * 1e3 / 300, name="sag (mm)")
    model.subject_to(load * span**2 / 8 / (width * height**2 / 6) <= 14e6, name="bending (Pa)")
    model.subject_to(1.5 * load * span / 2 / (width * height) <= 1.2e6, name="shear (Pa)")
    model.subject_to(height <= 5 * width, name="lateral stability (m)")
    model.subject_to(0.04 / layers + 0.2 * width / spacing * 0.13 <= 0.3, name="heat loss")
    return model


def _pump(broken: bool) -> Model:
    model = Model("pump")
    flow = model.variable("flow", lower=0.005, upper=0.05, unit="m3/s")
    head = model.variable("head", lower=10, upper=60, unit="m")
    power = model.variable("power", lower=0.5, upper=15, unit="kW")
    efficiency = model.variable("efficiency", lower=0.4, upper=0.85)
    pipe = model.variable("pipe diameter", lower=0.05, upper=0.25, unit="m")
    speed = model.variable("speed", lower=900, upper=3000, unit="1/min")
    factor = 1.0 if broken else 1e-3
    model.subject_to(
        power == factor * 1000 * 9.81 * flow * head / efficiency, name="shaft power", tolerance=1e-4
    )
    model.subject_to(head >= 12 + 0.0826 * 0.02 * 80 * flow**2 / pipe**5, name="system curve (m)")
    model.subject_to(flow / (0.785 * pipe**2) <= 2.5, name="velocity (m/s)")
    model.subject_to(flow >= 0.012, name="flow wanted (m3/s)")
    model.subject_to(speed * ca.sqrt(flow) / head**0.75, lower=10, upper=60, name="specific speed")
    return model


def _vessel(broken: bool) -> Model:
    model = Model("gas store")
    pressure = model.variable("pressure", lower=1, upper=30, unit="MPa")
    volume = model.variable("volume", lower=0.05, upper=2, unit="m3")
    moles = model.variable("gas", lower=100, upper=8000, unit="mol")
    heat = model.variable("temperature", lower=280, upper=330, unit="K")
    radius = model.variable("radius", lower=0.1, upper=0.5, unit="m")
    wall = model.variable("wall", lower=0.003, upper=0.06, unit="m")
    length = model.variable("length", lower=0.3, upper=3, unit="m")
    constant = 8.314 if broken else 8.314e-6  # with pressures in MPa
    model.subject_to(
        pressure * volume == constant * moles * heat, name="gas law (MJ)", tolerance=1e-5
    )
    model.subject_to(volume <= math.pi * radius**2 * length, name="shell volume (m3)")
    model.subject_to(pressure * radius / wall <= 180, name="hoop stress (MPa)")
    model.subject_to(moles >= 900, name="stored gas (mol)")
    model.subject_to(2 * math.pi * radius * length * wall * 7850 <= 900, name="mass (kg)")
    model.subject_to(length >= 2 * radius, name="shape (m)")
    return model


def _conveyor(broken: bool) -> Model:
    model = Model("belt conveyor")
    width = model.variable("belt width", lower=0.4, upper=1.6, unit="m")
    speed = model.variable("belt speed", lower=0.5, upper=3, unit="m/s")
    layer = model.variable("load height", lower=0.02, upper=0.25, unit="m")
    power = model.variable("drive power", lower=1, upper=90, unit="kW")
    pull = model.variable("belt pull", lower=0.5, upper=40, unit="kN")
    sag = model.variable("idler spacing", lower=0.6, upper=2, unit="m")
    stream = 0.7 * width * layer * speed * 900  # kg/s
    wanted = 900e3 if broken else 900
    model.subject_to(3.6 * stream >= wanted, name="capacity (t/h)")
    model.subject_to(power == pull * speed, name="drive (kW)", tolerance=1e-5)
    model.subject_to(
        pull == 2 + 0.03 * 9.81e-3 * 60 * (stream / speed + 40) + 9.81e-3 * 6 * stream / speed,
        name="pull (kN)",
        tolerance=1e-5,
    )
    model.subject_to(layer <= 0.16 * width, name="load stays on the belt (m)")
    model.subject_to(stream / speed * 9.81e-3 * sag**2 / (8 * pull) <= 0.02 * sag, name="sag (m)")
    model.subject_to(pull <= 25 * width, name="belt strength (kN)")
    return model


MODELS: dict[str, Broken] = {
    "bracket": Broken(
        "units",
        "stress in MPa, its limit in kN/mm2",
        _bracket,
        frozenset({"bending stress"}),
        frozenset({"arm >= 60 (bound)", "width <= 80 (bound)", "thickness <= 20 (bound)"}),
    ),
    "beam": Broken(
        "units",
        "a sag in m converted to mm twice",
        _beam,
        frozenset({"sag (mm)"}),
        frozenset(
            {
                "height <= 0.6 (bound)",
                "width <= 0.25 (bound)",
                "span >= 4 (bound)",
                "spacing >= 0.6 (bound)",
                "lateral stability (m)",
                "insulation >= 0.05 (bound)",
            }
        ),
    ),
    "pump": Broken(
        "units",
        "power in W where the variable is in kW",
        _pump,
        frozenset({"shaft power"}),
        frozenset(
            {
                "power <= 15 (bound)",
                "efficiency <= 0.85 (bound)",
                "head >= 10 (bound)",
                "flow >= 0.005 (bound)",
                "flow wanted (m3/s)",
                "system curve (m)",
                "specific speed",
                "pipe diameter <= 0.25 (bound)",
                "speed <= 3000 (bound)",
            }
        ),
    ),
    "vessel": Broken(
        "units",
        "the gas constant for Pa with pressures in MPa",
        _vessel,
        frozenset({"gas law (MJ)"}),
        frozenset(
            {
                "pressure <= 30 (bound)",
                "volume <= 2 (bound)",
                "gas >= 100 (bound)",
                "temperature >= 280 (bound)",
                "stored gas (mol)",
                "shell volume (m3)",
                "mass (kg)",
                "hoop stress (MPa)",
                "radius <= 0.5 (bound)",
                "length <= 3 (bound)",
            }
        ),
    ),
    "conveyor": Broken(
        "units",
        "a capacity in t/h compared with a limit in kg/h",
        _conveyor,
        frozenset({"capacity (t/h)"}),
        frozenset(
            {
                "belt width <= 1.6 (bound)",
                "belt speed <= 3 (bound)",
                "load height <= 0.25 (bound)",
                "load stays on the belt (m)",
                "drive power <= 90 (bound)",
                "drive (kW)",
                "pull (kN)",
                "belt pull <= 40 (bound)",
            }
        ),
    ),
}
