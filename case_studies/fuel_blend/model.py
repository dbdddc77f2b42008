"""Variables and explicit constraints of the fuel blend, as CasADi formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from archeng import Model
from case_studies.fuel_blend.gases import Gas, gases
from case_studies.fuel_blend.simulator import RATIO, SHARE, Furnace, blend_cost
from case_studies.shared.forms import Form

TOLERANCE = 1e-6  # of the sum of the fractions
HEATING_VALUE = 12.0  # MJ/m3, net: the burner must reach its power at its volume flow
WOBBE = (10.0, 16.0)  # MJ/m3, gross: what the nozzles are made for
HYDROGEN = 0.35  # volume fraction, against flashback
FLAME = 3.0  # MJ per m3 of wet flue gas: the old rule for a flame that is hot enough
RENEWABLE = 0.10  # share of the heat


def build_model(*, adds_up: bool = True, form: Form = "grey") -> Model:
    """Return the blend: 9 variables, one equality and five inequalities.

    ``adds_up=False`` leaves out the equality, to see what the simulator makes of that. In the grey
    form prices and temperatures are parameters, and the cost is a formula.
    """
    model = Model("fuel blend")
    fractions = [
        (gas, model.variable(gas.name, lower=0, upper=gas.most, unit="m3/m3")) for gas in gases()
    ]
    model.variable(RATIO, lower=1.02, upper=1.4)
    model.variable(SHARE, lower=0.42, upper=1.0)

    def mean(value: Callable[[Gas], float]) -> Any:
        """Linear blending rule."""
        return sum(value(gas) * x for gas, x in fractions)

    net = mean(lambda gas: gas.net)
    renewable = mean(lambda gas: gas.net if gas.renewable else 0.0)
    wobbe = mean(lambda gas: gas.gross) / ca.sqrt(mean(lambda gas: gas.density))
    hydrogen = mean(lambda gas: gas.composition.get("H2", 0.0))

    if adds_up:
        model.subject_to(mean(lambda gas: 1.0) == 1, name="fractions add up", tolerance=TOLERANCE)
    model.subject_to(net >= HEATING_VALUE, name="heating value (MJ/m3)")
    model.subject_to(wobbe, lower=WOBBE[0], upper=WOBBE[1], name="Wobbe index (MJ/m3)")
    model.subject_to(hydrogen <= HYDROGEN, name="hydrogen content")
    model.subject_to(net - FLAME * mean(lambda gas: gas.flue) >= 0, name="hot flame (MJ/m3)")
    model.subject_to(renewable - RENEWABLE * net >= 0, name="renewable heat (MJ/m3)")
    if form == "grey":
        _cost(model, [x for _, x in fractions])
    return model


def _cost(model: Model, fractions: list[Any]) -> None:
    """Set the objective: EUR per GJ of heat, of fuel, allowances and emissions."""
    f = Furnace()
    model.parameter("air temperature", f.air_temperature, unit="K")
    model.parameter("load temperature", f.load_temperature, unit="K")
    prices = model.parameter("price", [gas.price for gas in gases()], unit="EUR/GJ")
    allowance = model.parameter("allowance", f.allowance, unit="EUR/kg")
    nox_charge = model.parameter("charge on NOx", f.nox_charge, unit="EUR/kg")
    monoxide_charge = model.parameter("charge on CO", f.monoxide_charge, unit="EUR/kg")
    heat = model.output("heat", unit="GJ/h")
    nox, monoxide = (model.output(name, unit="kg/h") for name in ("NOx", "CO"))
    blend = f.volume_flow * sum(blend_cost(fractions, prices, allowance))
    emissions = nox_charge * nox + monoxide_charge * monoxide
    model.minimize((blend + emissions) / heat, name="cost (EUR/GJ)")
