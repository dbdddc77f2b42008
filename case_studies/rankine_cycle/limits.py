"""The explicit limits once more, in plain floats: an independent check of every design.

The fitted properties are data and shared with the model; the balances are written out again, with
streams and heat flows in kW instead of enthalpies per kilogram of working fluid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from case_studies.rankine_cycle.properties import fitted
from case_studies.shared import referee
from case_studies.shared.referee import ROUNDING, Range

BOUNDS = {
    "evaporating pressure": (4.0, 45.0),
    "condensing pressure": (1.0, 5.0),
    "superheat": (1.0, 40.0),
    "subcooling": (1.0, 10.0),
    "working fluid": (8.0, 50.0),
    "cooling water": (50.0, 600.0),
    "effectiveness": (0.2, 0.9),
}


def limits(design: Mapping[str, float]) -> dict[str, Range]:
    """Return value, lower and upper limit of every constraint, by its name in the model."""
    x = {name: float(design[name]) for name in BOUNDS}
    p, q = x["evaporating pressure"], x["condensing pressure"]
    flow, water = x["working fluid"], x["cooling water"]
    a, b = math.log(p), math.log(q)

    hot, cold = float(fitted("temperature", a)), float(fitted("temperature", b))
    liquid = flow * float(fitted("liquid enthalpy", a))
    vapour = flow * float(fitted("vapour enthalpy", a))
    dew = flow * float(fitted("vapour enthalpy", b))
    condensed = flow * float(fitted("liquid enthalpy", b))

    # Streams as heat flows, kW.
    pump_inlet = condensed - flow * 1.33 * x["subcooling"]
    pump = flow * 7.54e-4 * 1e5 * (p - q) / 1e3 / 0.70
    turbine_inlet = vapour + flow * float(fitted("superheating", x["superheat"], a))
    turbine = 0.80 * flow * float(fitted("isentropic drop", a, x["superheat"], b))
    exhaust = turbine_inlet - turbine
    exhaust_t = cold + float(fitted("exhaust temperature", (exhaust - dew) / flow, b))
    pump_t = cold - x["subcooling"] + 0.06 * (p - q)
    cooled_t = (1 - x["effectiveness"]) * exhaust_t + x["effectiveness"] * pump_t
    cooled = dew + flow * float(fitted("exhaust enthalpy", cooled_t - cold, b))
    heated = pump_inlet + pump + (exhaust - cooled)

    at_boiling = 423.15 + float(fitted("brine temperature", (turbine_inlet - liquid) / 20.0))
    at_outlet = 423.15 + float(fitted("brine temperature", (turbine_inlet - heated) / 20.0))
    heated_t = float(fitted("liquid temperature", heated / flow))
    coolant_at_dew = 288.15 + (dew - pump_inlet) / (4.186 * water)
    coolant_pump = water / 999.2 * 1.5e5 / 0.70 / 1e3
    net = 0.96 * turbine - pump / 0.95 - coolant_pump / 0.95

    least, most = -math.inf, math.inf
    return {
        "subcritical (bar)": (p, least, 27.0),
        "pressure ratio (bar)": (p - 2 * q, 0.0, most),
        "one turbine stage (bar)": (p - 12 * q, least, 0.0),
        "hot end of evaporator (K)": (hot + x["superheat"], least, 418.15),
        "pinch at boiling (K)": (at_boiling - hot, 5.0, most),
        "cold end of evaporator (K)": (at_outlet - heated_t, 5.0, most),
        "reinjection (K)": (at_outlet, 343.15, most),
        "pinch at condensing (K)": (cold - coolant_at_dew, 4.0, most),
        "cold end of condenser (K)": (cold - x["subcooling"] - 288.15, 4.0, most),
        "no condensing in recuperator (K)": (cooled_t - cold, 2.0, most),
        "no boiling in recuperator (kJ/kg)": ((liquid - heated) / flow, 5.0, most),
        "net power (kW)": (net, 500.0, most),
        **{name: (x[name], low, high) for name, (low, high) in BOUNDS.items()},
    }


def exceeded(design: Mapping[str, float], slack: float = ROUNDING) -> list[str]:
    """Return the names of the constraints that a design violates; none if it is legal."""
    return referee.exceeded(limits(design), slack)
