"""Ratios, products and sums of outputs: a wing, a pump, an exchanger, a rotor, a beam.

All are made here from textbook formulas; their optima come from the referee.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.greybox.definition import Definition, Floats, Outputs, Plain

_INF = np.inf

# -- wing: drag over lift ----------------------------------------------------------------------

_PRESSURE = 540.0  # Pa, of the air at 30 m/s
_LEAST_LIFT = 4000.0  # N


def _wing() -> Model:
    model = Model("wing")
    span = model.variable("span", lower=6, upper=20, unit="m")
    chord = model.variable("chord", lower=0.4, upper=2.5, unit="m")
    thick = model.variable("thickness over chord", lower=0.08, upper=0.18)
    model.variable("angle of attack", lower=1, upper=10, unit="deg")
    lift, drag = model.output("lift", unit="N"), model.output("drag", unit="N")
    model.subject_to(span**2 / (chord * thick), upper=900, name="slenderness of the spar (m)")
    model.subject_to(span * chord <= 16, name="area (m2)")
    model.subject_to(lift, lower=_LEAST_LIFT, name="lift (N)")
    model.minimize(drag / lift, name="drag over lift")
    return model


def _wing_outputs(x: Any, m: Any) -> Outputs:
    span, chord, thick, angle = x
    area, aspect = span * chord, span / chord
    lift = 2 * math.pi * (angle * math.pi / 180) / (1 + 2 / aspect) * (1 - 0.3 * (angle / 12) ** 4)
    skin = 0.0074 * (1.5 / chord) ** 0.2 * 2 * (1 + 2 * thick + 60 * thick**4)
    stall = 0.0004 * m.exp(angle - 6)
    drag = skin + stall + lift**2 / (math.pi * 0.95 * aspect)
    return {"lift": _PRESSURE * area * lift, "drag": _PRESSURE * area * drag}


def _wing_plain(x: Floats, z: Outputs) -> Plain:
    span, chord, thick, _ = x
    explicit = {
        "slenderness": (float(span * span / (chord * thick)), -_INF, 900.0),
        "area": (float(span * chord), -_INF, 16.0),
    }
    lift = float(z["lift"])
    return Plain(float(z["drag"]) / lift, explicit, {"lift (N)": (lift, _LEAST_LIFT, _INF)})


# -- pump: hydraulic over shaft power ----------------------------------------------------------

_FLOW = 0.05  # m3/s
_WATER = 1000.0 * 9.81  # N/m3
_LEAST_HEAD = 30.0  # m


def _pump() -> Model:
    model = Model("pump")
    d = model.variable("diameter", lower=0.15, upper=0.4, unit="m")
    speed = model.variable("speed", lower=15, upper=50, unit="1/s")
    b = model.variable("width", lower=0.01, upper=0.06, unit="m")
    model.variable("blade angle", lower=15, upper=60, unit="deg")
    head, power = model.output("head", unit="m"), model.output("shaft power", unit="W")
    model.subject_to(math.pi * d * speed <= 40, name="tip speed (m/s)")
    model.subject_to(math.pi * d * speed >= 18, name="least tip speed (m/s)")
    model.subject_to(b <= 0.15 * d, name="width (m)")
    model.subject_to(head, lower=_LEAST_HEAD, name="head (m)")
    model.minimize(-_WATER * _FLOW * head / power, name="minus efficiency")
    return model


def _pump_outputs(x: Any, m: Any) -> Outputs:
    d, speed, b, angle = x
    tip = math.pi * d * speed
    radial = _FLOW / (math.pi * d * b)
    beta = angle * math.pi / 180
    swirl = 0.85 * tip - radial * m.cos(beta) / m.sin(beta)
    friction = 0.9 * (radial / m.sin(beta)) ** 2 / 19.62
    shock = 0.6 * (swirl - 0.5 * tip) ** 2 / 19.62
    disc = 0.8 * 1000 * (speed / 10) ** 3 * d**5
    return {
        "head": swirl * tip / 9.81 - friction - shock,
        "shaft power": 1000 * _FLOW * tip * swirl + disc * 100,
    }


def _pump_plain(x: Floats, z: Outputs) -> Plain:
    d, speed, b, _ = x
    tip = float(np.pi * d * speed)
    explicit = {"tip speed": (tip, 18.0, 40.0), "width": (float(b - 0.15 * d), -_INF, 0.0)}
    head = float(z["head"])
    efficiency = _WATER * _FLOW * head / float(z["shaft power"])
    return Plain(-efficiency, explicit, {"head (m)": (head, _LEAST_HEAD, _INF)})


# -- exchanger: pump power is pressure drop times flow -----------------------------------------

_DUTY = 400e3  # W
_HOUR = 0.05  # price of a watt
_AREA = 60.0  # price of the area to the power of 0.8
_TUBE = 3.0  # price of fitting a tube


def _exchanger() -> Model:
    model = Model("heat exchanger")
    d = model.variable("tube diameter", lower=0.01, upper=0.05, unit="m")
    length = model.variable("length", lower=1, upper=6, unit="m")
    tubes = model.variable("tubes", lower=20, upper=200)
    model.variable("velocity", lower=0.5, upper=3, unit="m/s")
    drop = model.output("pressure drop", unit="Pa")
    flow = model.output("flow", unit="m3/s")
    duty = model.output("duty", unit="W")
    model.subject_to(tubes * d**2 <= 0.12, name="cross-section (m2)")
    model.subject_to(length <= 200 * d, name="stiffness of tubes (m)")
    model.subject_to(duty, lower=_DUTY, name="duty (W)")
    price = _AREA * (math.pi * d * length * tubes) ** 0.8 + _TUBE * tubes
    model.minimize(_HOUR * drop * flow + price, name="cost")
    return model


def _exchanger_outputs(x: Any, m: Any) -> Outputs:
    d, length, tubes, speed = x
    flow = tubes * math.pi * d**2 / 4 * speed
    reynolds = speed * d / 6e-7
    drop = (0.316 / m.sqrt(m.sqrt(reynolds)) * length / d + 1.5) * 990 * speed**2 / 2
    film = 0.023 * m.exp(0.8 * m.log(reynolds)) * 1.6 * 0.64 / d
    passed = 1 / (1 / film + 1 / 3000)  # W/(m2 K), with the other side
    capacity = 990 * 4180 * flow
    effect = 1 - m.exp(-passed * math.pi * d * length * tubes / capacity)
    return {"pressure drop": drop, "flow": flow, "duty": effect * capacity * 40}


def _exchanger_plain(x: Floats, z: Outputs) -> Plain:
    d, length, tubes, _ = x
    power = float(z["pressure drop"]) * float(z["flow"])
    cost = 0.05 * power + 60.0 * float(np.power(np.pi * d * tubes * length, 0.8)) + 3.0 * tubes
    explicit = {
        "cross-section": (float(tubes * d * d), -_INF, 0.12),
        "stiffness": (float(length - 200 * d), -_INF, 0.0),
    }
    return Plain(float(cost), explicit, {"duty (W)": (float(z["duty"]), _DUTY, _INF)})


# -- rotor: cost over the energy of a year, a sum over 24 winds ------------------------------

_WINDS = np.arange(3.0, 27.0)  # m/s at 10 m
_SHARES = (_WINDS / 7.5) * np.exp(-((_WINDS / 7.5) ** 2)) * 2 / 7.5  # Weibull, shape 2


def _rotor() -> Model:
    model = Model("wind turbine")
    radius = model.variable("radius", lower=20, upper=60, unit="m")
    hub = model.variable("hub height", lower=40, upper=120, unit="m")
    rated = model.variable("rated power", lower=0.5, upper=5, unit="MW")
    solidity = model.variable("solidity", lower=0.03, upper=0.12)
    power = model.output("power", unit="MW", shape=len(_WINDS))
    model.subject_to(hub - radius >= 25, name="clearance (m)")
    model.subject_to((radius / 50) ** 2 * hub, upper=110, name="overturning")
    cost = _rotor_cost(radius, hub, rated, solidity)
    model.minimize(cost / (8.766 * ca.dot(_SHARES, power)), name="cost of energy")
    return model


def _rotor_cost(radius: Any, hub: Any, rated: Any, solidity: Any) -> Any:
    """Cost of a year in thousands."""
    blades = 60 * (radius / 40) ** 2.6 * (0.8 + 3 * solidity)
    return 40 + blades + 55 * (hub / 80) ** 1.8 + 70 * rated


def _rotor_outputs(x: Any, m: Any) -> Outputs:
    radius, hub, rated, solidity = x
    shear = m.exp(0.16 * m.log(hub / 10))
    best = 0.46 - 25 * (solidity - 0.065) ** 2
    powers = []
    for wind in _WINDS:
        speed = wind * shear
        free = 0.5 * 1.2e-6 * math.pi * radius**2 * best * speed**3
        powers.append(free / m.sqrt(m.sqrt(1 + (free / rated) ** 4)))  # limited smoothly
    return {"power": powers}


def _rotor_plain(x: Floats, z: Outputs) -> Plain:
    radius, hub, rated, solidity = x
    energy = 8.766 * float(_SHARES @ np.asarray(z["power"], dtype=float))
    cost = 40 + 60 * (radius / 40) ** 2.6 * (0.8 + 3 * solidity)
    cost += 55 * (hub / 80) ** 1.8 + 70 * rated
    explicit = {
        "clearance": (float(hub - radius), 25.0, _INF),
        "overturning": (float(radius**2 * hub / 2500), -_INF, 110.0),
    }
    return Plain(float(cost) / energy, explicit)


# -- beam under thirty loads: a soft quantile of the deflections -----------------------------

_CASES = np.arange(30.0)
_FORCES = 8.0 + 4.0 * np.sin(1.7 * _CASES)  # kN
_PLACES = 1.2 + 0.8 * np.sin(0.9 * _CASES + 1)  # m from the wall, beam of 2 m in two halves
_SHARP = 0.8  # 1/mm: how near the soft quantile is to the largest


def _risk() -> Model:
    model = Model("beam under thirty loads")
    h1 = model.variable("height 1", lower=100, upper=200, unit="mm")
    b1 = model.variable("width 1", lower=20, upper=80, unit="mm")
    h2 = model.variable("height 2", lower=80, upper=200, unit="mm")
    b2 = model.variable("width 2", lower=30, upper=80, unit="mm")
    shift = model.output("deflection", unit="mm", shape=len(_CASES))
    model.subject_to(h1 <= 5 * b1, name="slenderness 1")
    model.subject_to(h2 <= 5 * b2, name="slenderness 2")
    model.subject_to(h2 <= h1, name="taper")
    risk = ca.log(ca.sum1(ca.exp(_SHARP * shift)) / len(_CASES)) / _SHARP
    model.minimize(risk + 8e-4 * (h1 * b1 + h2 * b2), name="soft quantile and weight")
    return model


def _risk_outputs(x: Any, m: Any) -> Outputs:
    h1, b1, h2, b2 = x
    young = 70.0  # kN/mm2
    inner, outer = b1 * h1**3 / 12 * young, b2 * h2**3 / 12 * young
    shifts = []
    for force, place in zip(_FORCES, _PLACES, strict=True):
        # Unit load at the tip: the work of moments force (a - s) times (2000 - s), s from the wall.
        a = 1000 * place
        first = min(a, 1000.0)
        near = _moments(a, 0.0, first) / inner
        far = _moments(a, 1000.0, a) / outer if a > 1000 else 0.0
        shear = 2.5 * a / (26.0 * b1 * h1)
        shifts.append(force * (near + far + shear))
    return {"deflection": shifts}


def _moments(a: float, start: float, end: float) -> float:
    """Integral of (a - s) (2000 - s) from start to end, in mm^3."""

    def primitive(s: float) -> float:
        return 2000 * a * s - (2000 + a) * s**2 / 2 + s**3 / 3

    return primitive(end) - primitive(start)


def _risk_plain(x: Floats, z: Outputs) -> Plain:
    h1, b1, h2, b2 = x
    shift = np.asarray(z["deflection"], dtype=float)
    top = shift.max()
    risk = top + np.log(np.exp(_SHARP * (shift - top)).mean()) / _SHARP
    explicit = {
        "slenderness 1": (float(h1 - 5 * b1), -_INF, 0.0),
        "slenderness 2": (float(h2 - 5 * b2), -_INF, 0.0),
        "taper": (float(h2 - h1), -_INF, 0.0),
    }
    return Plain(float(risk + 8e-4 * (h1 * b1 + h2 * b2)), explicit)


def _of(title: str, family: str, build: Any, outputs: Any, plain: Any) -> Definition:
    return Definition(title=title, family=family, build=build, outputs=outputs, plain=plain)


DEFINITIONS: dict[str, Definition] = {
    "wing": _of("Wing of least drag over lift", "ratio", _wing, _wing_outputs, _wing_plain),
    "pump": _of("Pump of best efficiency", "ratio", _pump, _pump_outputs, _pump_plain),
    "exchanger": _of(
        "Heat exchanger of least cost, pump power is a product",
        "product",
        _exchanger,
        _exchanger_outputs,
        _exchanger_plain,
    ),
    "rotor": _of(
        "Wind turbine of least cost of energy", "sum", _rotor, _rotor_outputs, _rotor_plain
    ),
    "risk": _of("Beam under thirty loads, soft quantile", "sum", _risk, _risk_outputs, _risk_plain),
}
"""Definition of each problem of this module."""
