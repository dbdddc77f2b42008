"""Variables and explicit constraints of the organic Rankine cycle, as CasADi formulas.

The formulas use polynomials for the properties (``properties.py``), good to a few tenths of a
kelvin; the limits are kelvins away from where the simulator has no answer.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from archeng import Model
from case_studies.rankine_cycle.plant import PLANT, Plant, cost_per_power
from case_studies.rankine_cycle.properties import fitted
from case_studies.rankine_cycle.simulator import AREAS, WORKS
from case_studies.shared.forms import Form

CRITICAL_PRESSURE = 36.51  # bar, R245fa
HIGHEST_PRESSURE = 27.0  # bar, up to where the formulas hold
BRINE_PINCH = 5.0  # K
COOLANT_PINCH = 4.0  # K
EXHAUST_MARGIN = 2.0  # K above the dew point, after the recuperator
LIQUID_MARGIN = 5.0  # kJ/kg below boiling, after the recuperator
REINJECTION = 343.15  # K, colder brine would deposit silica
LEAST_POWER = 500.0  # kW

LIQUID_HEAT = 1.33  # kJ/(kg K), condensed R245fa
LIQUID_VOLUME = 7.54e-4  # m3/kg
PUMP_HEATING = 0.06  # K per bar
COOLANT_HEAT = 4.186  # kJ/(kg K), water at 15 to 35 C
COOLANT_DENSITY = 999.2  # kg/m3


def build_model(plant: Plant = PLANT, form: Form = "grey") -> Model:
    """Return the cycle: 7 variables, 12 constraints.

    In the grey form the temperatures of the sources and the price of the wells are parameters, and
    the cost is a formula of what the simulator returns.
    """
    model = Model("organic Rankine cycle")
    brine_inlet, coolant_inlet, wells = plant.brine_inlet, plant.coolant_inlet, plant.wells
    if form == "grey":
        brine_inlet = model.parameter("brine inlet", brine_inlet, unit="K")
        coolant_inlet = model.parameter("cooling water inlet", coolant_inlet, unit="K")
        wells = model.parameter("wells", wells, unit="$")
    high = model.variable("evaporating pressure", lower=4, upper=45, unit="bar")
    low = model.variable("condensing pressure", lower=1, upper=5, unit="bar")
    superheat = model.variable("superheat", lower=1, upper=40, unit="K")
    subcooling = model.variable("subcooling", lower=1, upper=10, unit="K")
    flow = model.variable("working fluid", lower=8, upper=50, unit="kg/s")
    coolant = model.variable("cooling water", lower=50, upper=600, unit="kg/s")
    effectiveness = model.variable("effectiveness", lower=0.2, upper=0.9)

    # States, named as in the simulator. Enthalpies in kJ/kg.
    boiling, dew = fitted("temperature", ca.log(high)), fitted("temperature", ca.log(low))
    h_boiling, h_dew = _saturated("liquid", high), _saturated("vapour", low)
    t1, h1 = dew - subcooling, _saturated("liquid", low) - LIQUID_HEAT * subcooling
    t2 = t1 + PUMP_HEATING * (high - low)
    pumping = 100 * LIQUID_VOLUME * (high - low) / plant.pump_efficiency
    h3 = _saturated("vapour", high) + fitted("superheating", superheat, ca.log(high))
    drop = fitted("isentropic drop", ca.log(high), superheat, ca.log(low))
    work = plant.turbine_efficiency * drop
    t4 = dew + fitted("exhaust temperature", h3 - work - h_dew, ca.log(low))
    t4r = t4 - effectiveness * (t4 - t2)
    h4r = h_dew + fitted("exhaust enthalpy", t4r - dew, ca.log(low))
    h2r = h1 + pumping + h3 - work - h4r

    def brine(enthalpy: Any) -> Any:
        """Temperature of the brine beside working fluid of this enthalpy."""
        given = flow / plant.brine_flow * (h3 - enthalpy)
        return brine_inlet + fitted("brine temperature", given)

    coolant_at_dew = coolant_inlet + flow * (h_dew - h1) / (coolant * COOLANT_HEAT)
    coolant_power = coolant * plant.coolant_head / COOLANT_DENSITY / plant.pump_efficiency / 1e3
    power = (
        plant.generator_efficiency * flow * work
        - (flow * pumping + coolant_power) / plant.motor_efficiency
    )

    model.subject_to(high <= HIGHEST_PRESSURE, name="subcritical (bar)")
    model.subject_to(high >= 2 * low, name="pressure ratio (bar)")
    model.subject_to(high <= 12 * low, name="one turbine stage (bar)")
    model.subject_to(
        boiling + superheat <= brine_inlet - BRINE_PINCH, name="hot end of evaporator (K)"
    )
    model.subject_to(brine(h_boiling) - boiling >= BRINE_PINCH, name="pinch at boiling (K)")
    model.subject_to(
        brine(h2r) - fitted("liquid temperature", h2r) >= BRINE_PINCH,
        name="cold end of evaporator (K)",
    )
    model.subject_to(brine(h2r) >= REINJECTION, name="reinjection (K)")
    model.subject_to(dew - coolant_at_dew >= COOLANT_PINCH, name="pinch at condensing (K)")
    model.subject_to(t1 - coolant_inlet >= COOLANT_PINCH, name="cold end of condenser (K)")
    model.subject_to(t4r - dew >= EXHAUST_MARGIN, name="no condensing in recuperator (K)")
    model.subject_to(h_boiling - h2r >= LIQUID_MARGIN, name="no boiling in recuperator (kJ/kg)")
    model.subject_to(power >= LEAST_POWER, name="net power (kW)")
    if form == "grey":
        work = model.output("work", shape=len(WORKS), unit="kJ/kg")
        area = model.output("area", shape=len(AREAS), unit="m2")
        cost = cost_per_power(plant, (flow, coolant), work, area, wells, ca.log10)
        model.minimize(cost, name="cost ($/kW)")
    return model


def _saturated(phase: str, pressure: Any) -> Any:
    """Enthalpy of saturated liquid or vapour."""
    return fitted(f"{phase} enthalpy", ca.log(pressure))
