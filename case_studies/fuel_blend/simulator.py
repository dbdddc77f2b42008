"""The black box: burn a blend in a furnace with Cantera, and price the heat that the load gets.

It knows nothing of CasADi or archeng, and it checks nothing: each gas flows in at its fraction of
the volume flow of the burner, whatever the fractions add up to. The furnace is two stirred
reactors: a hot first stage with part of the air, and a second stage with the rest, which heats the
load. The kinetics are GRI-Mech 3.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from case_studies.fuel_blend.gases import MOLAR_VOLUME, OXYGEN_IN_AIR, gases

RATIO = "air ratio"
"""Name of a variable that is not a gas: air over the least air that burns the blend."""

SHARE = "primary air"
"""The other one: share of the air that enters the first stage."""

AIR = {"O2": OXYGEN_IN_AIR, "N2": 1 - OXYGEN_IN_AIR}
NOX_MASS = 46.006  # kg/kmol, counted as NO2
VALVE = 3e-3  # kg/(s Pa), so wide that the stages are within 0.5 % of the pressure outside
PARAMETERS = {"air temperature": "air_temperature", "load temperature": "load_temperature"}
"""Parameters of the model that the simulator needs, and their names in `Furnace`."""

PHASES = ("fuel", "air", "first", "second", "load", "chimney")

Inlets = list[tuple[Any, float]]


@dataclass(frozen=True)
class Furnace:
    """A burner of about 3 MW with staged air, and prices. SI units unless noted."""

    volume_flow: float = 1000.0  # m3/h at 0 C
    air_temperature: float = 773.15
    fuel_temperature: float = 298.15
    pressure: float = 101325.0
    first_volume: float = 0.05
    second_volume: float = 2.0
    load_temperature: float = 1400.0
    heat_transfer: float = 3000.0  # W/K, from the second stage to the load
    allowance: float = 0.07  # EUR per kg of CO2
    nox_charge: float = 4.5  # EUR per kg
    monoxide_charge: float = 1.0  # EUR per kg of CO


@dataclass(frozen=True)
class Hour:
    """An hour of operation. Emissions in kg/h, heat in GJ/h, costs in EUR/h, temperatures in K."""

    fuel_cost: float
    allowance_cost: float
    emission_cost: float
    nox: float
    monoxide: float
    heat: float
    first_temperature: float
    second_temperature: float

    @property
    def cost(self) -> float:
        """Cost in EUR per GJ of heat in the load."""
        return (self.fuel_cost + self.allowance_cost + self.emission_cost) / self.heat


class HeatCost:
    """Callable for archeng: a design to EUR per GJ of heat. It can be pickled.

    Attributes
    ----------
    n_calls : int
        Calls so far.
    """

    def __init__(self, furnace: Furnace | None = None) -> None:
        self.furnace = furnace or Furnace()
        self.n_calls = 0
        self._phases: dict[str, Any] | None = None

    def __call__(self, design: Mapping[str, float]) -> float:
        """Return the cost of a GJ of heat in EUR."""
        self.n_calls += 1
        return self.simulate(design).cost

    def simulate(self, design: Mapping[str, float]) -> Hour:
        """Return everything that is known of a design."""
        if self._phases is None:
            import cantera as ct

            self._phases = {name: ct.Solution("gri30.yaml") for name in PHASES}
        given = getattr(design, "parameters", {})
        changed = {field: given[name] for name, field in PARAMETERS.items() if name in given}
        return simulate(design, replace(self.furnace, **changed), self._phases)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_phases": None}  # Cantera's objects cannot be pickled


class FurnaceOutputs(HeatCost):
    """Callable for archeng in the grey form: a design to heat (GJ/h) and emissions (kg/h)."""

    def __call__(self, design: Mapping[str, float]) -> dict[str, float]:  # type: ignore[override]
        """Return what the formula of the cost needs."""
        self.n_calls += 1
        hour = self.simulate(design)
        return {"heat": hour.heat, "NOx": hour.nox, "CO": hour.monoxide}


def simulate(design: Mapping[str, float], f: Furnace, phases: Mapping[str, Any]) -> Hour:
    """Return an hour of operation; ``phases`` are Cantera solutions to work with."""
    fuel, air, first, second = (phases[k] for k in ("fuel", "air", "first", "second"))
    ratio, share = float(design[RATIO]), float(design[SHARE])
    flow = f.volume_flow / MOLAR_VOLUME / 3600  # kmol/s of a blend that adds up to one
    blend = blended(design)
    oxygen = flow * sum(float(design[g.name]) * g.oxygen for g in gases())

    fuel.TPX = f.fuel_temperature, f.pressure, blend  # Cantera normalises, without a word
    air.TPX = f.air_temperature, f.pressure, AIR
    for name in ("load", "chimney"):
        phases[name].TPX = f.load_temperature, f.pressure, AIR
    fuel_flow = flow * sum(blend.values()) * fuel.mean_molecular_weight
    air_flow = ratio * oxygen / OXYGEN_IN_AIR * air.mean_molecular_weight

    first.set_equivalence_ratio(1 / (ratio * share), blend, AIR)  # where Newton starts
    first.TP = f.air_temperature, f.pressure
    first.equilibrate("HP")
    inlets = [(fuel, fuel_flow), (air, share * air_flow)]
    _steady_state(first, inlets, f.first_volume, phases["chimney"])

    second.set_equivalence_ratio(1 / ratio, blend, AIR)
    second.TP = 1700.0, f.pressure
    second.equilibrate("TP")
    inlets = [(first, fuel_flow + share * air_flow), (air, (1 - share) * air_flow)]
    _steady_state(
        second, inlets, f.second_volume, phases["chimney"], (phases["load"], f.heat_transfer)
    )

    flue = 3600 * (fuel_flow + air_flow)
    oxides = second["NO", "NO2"]
    nox = flue * float(sum(oxides.Y / oxides.molecular_weights)) * NOX_MASS
    monoxide = flue * float(second["CO"].Y[0])
    fractions = [float(design[g.name]) for g in gases()]
    fuel_cost, allowance_cost = blend_cost(fractions, [g.price for g in gases()], f.allowance)
    return Hour(
        fuel_cost=f.volume_flow * fuel_cost,
        allowance_cost=f.volume_flow * allowance_cost,
        emission_cost=f.nox_charge * nox + f.monoxide_charge * monoxide,
        nox=nox,
        monoxide=monoxide,
        heat=3600e-9 * f.heat_transfer * (second.T - f.load_temperature),
        first_temperature=first.T,
        second_temperature=second.T,
    )


def blend_cost(fractions: Sequence[Any], prices: Any, allowance: Any) -> tuple[Any, Any]:
    """Return what a m3 of blend costs in EUR, and its allowances; of numbers or of formulas.

    ``prices`` are in EUR/GJ, in the order of the gases; ``allowance`` in EUR per kg of CO2.
    """
    blend = list(zip(gases(), fractions, strict=True))
    price = sum(x * gas.net * prices[k] for k, (gas, x) in enumerate(blend)) / 1e3
    fossil = sum(x * gas.carbon for gas, x in blend if gas.allowances)
    return price, fossil * allowance


def blended(design: Mapping[str, float]) -> dict[str, float]:
    """Moles of each species in one mole of blend: the fractions times the compositions."""
    blend: dict[str, float] = {}
    for gas in gases():
        for name, part in gas.composition.items():
            blend[name] = blend.get(name, 0.0) + float(design[gas.name]) * part
    return blend


def _steady_state(
    phase: Any,
    inlets: Inlets,
    volume: float,
    chimney: Any,
    load: tuple[Any, float] | None = None,
) -> None:
    """Bring a stirred reactor from the state of its phase to its steady state."""
    import cantera as ct

    reactor = ct.IdealGasReactor(phase, volume=volume, clone=False)
    feeds = [
        ct.MassFlowController(ct.Reservoir(source, clone=False), reactor, mdot=flow)
        for source, flow in inlets
        if flow > 0
    ]
    outlet = ct.Reservoir(chimney, clone=False)
    kept = [ct.PressureController(reactor, outlet, primary=feeds[0], K=VALVE)]
    if load is not None:
        wall, transfer = load
        kept.append(ct.Wall(reactor, ct.Reservoir(wall, clone=False), A=1.0, U=transfer))
    ct.ReactorNet([reactor]).solve_steady()
    phase.TPY = reactor.phase.TPY
