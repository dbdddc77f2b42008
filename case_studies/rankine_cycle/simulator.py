"""The black box: size and price an organic Rankine cycle with property data from CoolProp.

It knows nothing of CasADi or archeng, and it checks nothing: it is written as such programs are,
for cycles that work. Where the cycle does not work it raises, whatever the first thing is that has
no answer (no boiling point above the critical pressure, no logarithm of a negative temperature
difference), or it returns a number that means nothing.

States of the working fluid: 1 pump inlet, 2 pump outlet, 2r after the recuperator, 3 turbine
inlet, 4 turbine outlet, 4r after the recuperator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from case_studies.rankine_cycle.plant import PLANT, Plant, bare_module_cost

Nodes = list[tuple[float, float]]
"""Enthalpy of the working fluid, and a temperature or temperature difference there."""

WORKS = ("turbine", "pump", "coolant pump")
AREAS = ("evaporator", "condenser", "recuperator")
PARAMETERS = {"brine inlet": "brine_inlet", "cooling water inlet": "coolant_inlet"}
"""Parameters of the model that the simulator needs, and their names in `Plant`."""

PREHEAT_PIECES = 4  # the liquid's heat capacity grows towards the critical point


@dataclass(frozen=True)
class Cycle:
    """A simulated cycle: temperatures in K, enthalpies, works in J/kg, powers in W, areas in m2."""

    temperatures: dict[str, float]
    enthalpies: dict[str, float]
    net_power: float
    heat_in: float
    heat_recovered: float
    evaporator_pinch: float
    condenser_pinch: float
    brine_outlet: float
    works: dict[str, float]
    areas: dict[str, float]
    costs: dict[str, float]

    @property
    def efficiency(self) -> float:
        """Net power over heat taken from the brine."""
        return self.net_power / self.heat_in

    @property
    def specific_cost(self) -> float:
        """Investment in $ per kW of net power."""
        return 1e3 * sum(self.costs.values()) / self.net_power


class SpecificCost:
    """Callable for archeng: a design to $ per kW. It can be pickled.

    Attributes
    ----------
    n_calls : int
        Calls so far.
    """

    def __init__(self, plant: Plant = PLANT) -> None:
        self.plant = plant
        self.n_calls = 0
        self._fluids: tuple[Any, Any] | None = None

    def __call__(self, design: Mapping[str, float]) -> float:
        """Return the specific investment cost in $ per kW of net power."""
        self.n_calls += 1
        return self.simulate(design).specific_cost

    def simulate(self, design: Mapping[str, float]) -> Cycle:
        """Return everything that is known of a design."""
        if self._fluids is None:
            from CoolProp.CoolProp import AbstractState

            self._fluids = (
                AbstractState("HEOS", self.plant.fluid),
                AbstractState("HEOS", "Water"),
            )
        values = {name: float(design[name]) for name in design}
        given = getattr(design, "parameters", {})
        changed = {field: given[name] for name, field in PARAMETERS.items() if name in given}
        return simulate(values, replace(self.plant, **changed), *self._fluids)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fluids": None}  # CoolProp's objects cannot be pickled


class CycleOutputs(SpecificCost):
    """Callable for archeng in the grey form: a design to works per kg (kJ) and areas (m2)."""

    def __call__(self, design: Mapping[str, float]) -> dict[str, list[float]]:  # type: ignore[override]
        """Return what the formula of the cost needs."""
        self.n_calls += 1
        cycle = self.simulate(design)
        return {
            "work": [cycle.works[name] / 1e3 for name in WORKS],
            "area": [cycle.areas[name] for name in AREAS],
        }


def simulate(design: Mapping[str, float], plant: Plant, fluid: Any, water: Any) -> Cycle:
    """Return the cycle of a design; ``fluid`` and ``water`` are CoolProp states to work with."""
    flow = design["working fluid"]
    T, h = _states(design, plant, fluid)
    brine = _Stream(water, plant.brine_pressure, plant.brine_inlet, flow / plant.brine_flow)
    coolant = _Stream(
        water, plant.coolant_pressure, plant.coolant_inlet, flow / design["cooling water"]
    )

    # Temperature differences where the zones of the heat exchangers meet.
    preheat = _preheat(h["2r"], h["boiling"], 1e5 * design["evaporating pressure"], fluid)
    heated = [*preheat, *((h[k], T[k]) for k in ("boiling", "dry", "3"))]
    cooled = [(h[k], T[k]) for k in ("1", "condensed", "dew", "4r")]
    evaporator = [(e, brine.at(e - h["3"]) - t) for e, t in heated]
    condenser = [(e, t - coolant.at(e - h["1"])) for e, t in cooled]
    recuperator = [(h["2"], T["4r"] - T["2"]), (h["2r"], T["4"] - T["2r"])]
    u = plant.heat_transfer
    boiler = [u["preheat"]] * PREHEAT_PIECES + [u["boil"], u["superheat"]]
    areas = {
        "evaporator": _area(evaporator, flow, boiler),
        "condenser": _area(condenser, flow, [u["subcool"], u["condense"], u["desuperheat"]]),
        "recuperator": _area(recuperator, flow, [u["recuperate"]]),
    }

    turbine, pump = flow * (h["3"] - h["4"]), flow * (h["2"] - h["1"])
    lift = design["cooling water"] * plant.coolant_head / coolant.density / plant.pump_efficiency
    works = (turbine / flow, pump / flow, lift / design["cooling water"])
    costs = {
        "wells": plant.wells,
        "turbine": bare_module_cost("turbine", turbine / 1e3),
        "pump": bare_module_cost("pump", pump / 1e3),
        "coolant pump": bare_module_cost("pump", lift / 1e3),
        **{name: bare_module_cost("exchanger", area) for name, area in areas.items()},
    }
    return Cycle(
        temperatures=T,
        enthalpies=h,
        net_power=plant.generator_efficiency * turbine - (pump + lift) / plant.motor_efficiency,
        heat_in=flow * (h["3"] - h["2r"]),
        heat_recovered=flow * (h["4"] - h["4r"]),
        evaporator_pinch=min(d for _, d in evaporator),
        condenser_pinch=min(d for _, d in condenser),
        brine_outlet=brine.at(h["2r"] - h["3"]),
        works=dict(zip(WORKS, works, strict=True)),
        areas=areas,
        costs=costs,
    )


def _states(
    design: Mapping[str, float], plant: Plant, fluid: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Temperatures and enthalpies of the working fluid around the cycle."""
    from CoolProp import constants as given

    high, low = 1e5 * design["evaporating pressure"], 1e5 * design["condensing pressure"]
    T: dict[str, float] = {}
    h: dict[str, float] = {}

    def update(name: str, inputs: int, a: float, b: float) -> None:
        fluid.update(inputs, a, b)
        T[name], h[name] = fluid.T(), fluid.hmass()

    def isentropic(pressure: float) -> float:
        """Enthalpy at a pressure and the entropy of the state before."""
        fluid.update(given.PSmass_INPUTS, pressure, fluid.smass())
        return float(fluid.hmass())

    update("boiling", given.PQ_INPUTS, high, 0.0)
    update("dry", given.PQ_INPUTS, high, 1.0)
    update("condensed", given.PQ_INPUTS, low, 0.0)
    update("dew", given.PQ_INPUTS, low, 1.0)

    update("1", given.PT_INPUTS, low, T["condensed"] - design["subcooling"])
    pumped = h["1"] + (isentropic(high) - h["1"]) / plant.pump_efficiency
    update("2", given.HmassP_INPUTS, pumped, high)
    update("3", given.PT_INPUTS, high, T["dry"] + design["superheat"])
    expanded = h["3"] - plant.turbine_efficiency * (h["3"] - isentropic(low))
    update("4", given.HmassP_INPUTS, expanded, low)
    cooled = T["4"] - design["effectiveness"] * (T["4"] - T["2"])
    update("4r", given.PT_INPUTS, low, cooled)
    update("2r", given.HmassP_INPUTS, h["2"] + h["4"] - h["4r"], high)
    return T, h


class _Stream:
    """Water that exchanges heat with the working fluid, ``ratio`` kg of that per kg of water."""

    def __init__(self, water: Any, pressure: float, inlet: float, ratio: float) -> None:
        from CoolProp import constants as given

        self._water, self._pressure, self._ratio = water, pressure, ratio
        self._inputs = given.HmassP_INPUTS
        water.update(given.PT_INPUTS, pressure, inlet)
        self._inlet, self.density = water.hmass(), water.rhomass()

    def at(self, taken: float) -> float:
        """Temperature after taking this heat from each kg of working fluid (J/kg)."""
        self._water.update(self._inputs, self._inlet + self._ratio * taken, self._pressure)
        return float(self._water.T())


def _preheat(
    start: float, boiling: float, pressure: float, fluid: Any
) -> list[tuple[float, float]]:
    """Enthalpies and temperatures of the liquid on its way to boiling, without the end."""
    from CoolProp import constants as given

    nodes = []
    for k in range(PREHEAT_PIECES):
        enthalpy = start + (boiling - start) * k / PREHEAT_PIECES
        fluid.update(given.HmassP_INPUTS, enthalpy, pressure)
        nodes.append((enthalpy, float(fluid.T())))
    return nodes


def _area(nodes: Nodes, flow: float, u: list[float]) -> float:
    """Area of a counter-flow exchanger: per zone, heat over U times log mean difference."""
    total = 0.0
    for (h0, d0), (h1, d1), k in zip(nodes[:-1], nodes[1:], u, strict=True):
        total += flow * (h1 - h0) / (k * log_mean(d0, d1))
    return total


def log_mean(a: float, b: float) -> float:
    """Logarithmic mean; it does not exist for numbers of different signs (ValueError)."""
    ratio = math.log(a / b)
    if abs(ratio) < 1e-6:
        return (a + b) / 2
    return (a - b) / ratio
