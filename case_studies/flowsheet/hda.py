"""Benzene from toluene (HDA): mixer, furnace, adiabatic reactor, two flashes, recycle of gas.

The process of Douglas, in the arrangement of the example of the IDAES tools, written anew:
toluene + H2 -> benzene + CH4 and 2 benzene <-> H2 + diphenyl. Ideal gas, Raoult's law for
benzene, toluene and diphenyl, gases insoluble in the liquid. Flows in mol/s, pressures in bar,
enthalpy flows in kW.

==========  ==============================  ==========  ====================================
toluene     fresh, liquid                   recycle     gas that goes back
hydrogen    fresh, with methane             purge       gas that is burnt
mixed       to the furnace                  compressed  recycle at the pressure of the mixer
heated      to the reactor                  product     vapour of the second flash: benzene
effluent    from the reactor                bottoms     liquid of the second flash: toluene
vapour      of the first flash              liquid      of the first flash
==========  ==============================  ==========  ====================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from case_studies.flowsheet.definition import Problem

GASES, HEAVY = ("H2", "CH4"), ("benzene", "toluene", "diphenyl")
SPECIES = (*GASES, *HEAVY)
STREAMS = (
    "toluene", "hydrogen", "mixed", "heated", "effluent", "vapour", "liquid",
    "recycle", "purge", "compressed", "product", "bottoms",
)  # fmt: skip
LIQUIDS = ("toluene", "liquid", "bottoms")
PRESENT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(STREAMS, SPECIES),
    **dict.fromkeys(("liquid", "product", "bottoms"), HEAVY),
    "toluene": ("toluene",),
    "hydrogen": GASES,
}
"""Which species a stream can have."""

COLD = 298.15  # K
GAS = 8.314  # J/(mol K)

# kJ/mol of formation as a gas; J/(mol K): a + b T of the gas, of the liquid; kJ/mol of vaporising
HEATS = {
    "H2": (0.0, 28.0, 0.0025, 0.0, 0.0),
    "CH4": (-74.6, 19.7, 0.0537, 0.0, 0.0),
    "benzene": (82.9, 29.1, 0.179, 136.0, 33.9),
    "toluene": (50.1, 38.6, 0.219, 157.0, 38.0),
    "diphenyl": (182.0, 65.0, 0.339, 260.0, 63.0),
}
# log10 of bar: A - B / (T + C); NIST Chemistry WebBook
ANTOINE = {
    "benzene": (4.01814, 1203.835, -53.226),
    "toluene": (4.07827, 1343.943, -53.773),
    "diphenyl": (4.35685, 1987.623, -71.556),
}
DOUGLAS = 6.3e10, 52000.0 / 1.98720  # (l/mol)**0.5/s and K: toluene times root of hydrogen
SIDE = 2.2e8, 21000.0  # l/(mol s) and K: benzene squared
EQUILIBRIUM = 0.25  # of the second reaction, about the same at all temperatures
CHANGES = (
    {"toluene": -1, "H2": -1, "benzene": 1, "CH4": 1},
    {"benzene": -2, "H2": 1, "diphenyl": 1},
)
PRESSURES = {"mixed": 35.0, "heated": 34.5, "effluent": 34.0, "vapour": 33.0}  # bar
FEED = 0.30  # mol/s of toluene
METHANE = 0.05  # in the fresh hydrogen
COMPRESSOR = 0.75
LEAST, PURITY, LOSS = 0.18, 0.80, 0.20


def build() -> Any:
    """Return the plant, begun at rough values; what is given is fixed."""
    m = pyo.ConcreteModel("HDA plant")
    pairs = [(s, j) for s in STREAMS for j in PRESENT[s]]
    m.F = pyo.Var(pairs, bounds=(0, 5), initialize=0.2)
    warm = [s for s in STREAMS if s != "mixed"]  # there gas and liquid meet
    m.T = pyo.Var(warm, bounds=(290, 1000), initialize=350)
    m.P = pyo.Var(STREAMS, bounds=(0.9, 40), initialize=33)
    m.H = pyo.Var(STREAMS, bounds=(-600, 600), initialize=0)
    m.volume = pyo.Var(bounds=(0.1, 3), initialize=1)  # m3, of the reactor
    m.purged = pyo.Var(bounds=(0.02, 0.5), initialize=0.2)
    _limits(m)
    _feed(m)
    _reactor(m)
    _separation(m)
    return m


def _limits(m: Any) -> None:
    for s in ("heated", "effluent"):
        m.T[s].set_value(900)
    m.T["heated"].setlb(800)
    m.T["heated"].setub(930)
    for s in ("vapour", "liquid"):
        m.T[s].setub(400)
        m.T[s].set_value(320)
    m.T["product"].setlb(340)
    m.T["product"].setub(400)
    for s in ("product", "bottoms"):
        m.T[s].set_value(365)
        m.P[s].setub(2.0)
        m.P[s].set_value(1.2)
    for s in ("toluene", "hydrogen"):
        m.T[s].fix(303.2)
        m.P[s].fix(PRESSURES["mixed"])
    m.F["toluene", "toluene"].fix(FEED)
    m.F["hydrogen", "H2"].setub(1.5)


def _total(m: Any, j: str, *streams: str) -> Any:
    """Flow of a species in the streams that have it."""
    return sum(m.F[s, j] for s in streams if j in PRESENT[s])


def enthalpy(j: str, t: Any, liquid: bool) -> Any:
    """Return kJ/mol of a species as gas or as liquid."""
    formed, a, b, c, vaporising = HEATS[j]
    if liquid:
        return formed - vaporising + 1e-3 * c * (t - COLD)
    return formed + 1e-3 * (a * (t - COLD) + b / 2 * (t**2 - COLD**2))


def _feed(m: Any) -> None:
    m.methane = pyo.Constraint(
        expr=m.F["hydrogen", "CH4"] == METHANE / (1 - METHANE) * m.F["hydrogen", "H2"]
    )
    m.mixer = pyo.Constraint(
        SPECIES,
        rule=lambda m, j: m.F["mixed", j] == _total(m, j, "toluene", "hydrogen", "compressed"),
    )
    m.enthalpies = pyo.Constraint(
        [s for s in STREAMS if s != "mixed"],
        rule=lambda m, s: (
            m.H[s] == sum(m.F[s, j] * enthalpy(j, m.T[s], s in LIQUIDS) for j in PRESENT[s])
        ),
    )
    m.mixer_energy = pyo.Constraint(
        expr=m.H["mixed"] == m.H["toluene"] + m.H["hydrogen"] + m.H["compressed"]
    )
    m.pressures = pyo.Constraint(list(PRESSURES), rule=lambda m, s: m.P[s] == PRESSURES[s])
    m.furnace_flow = pyo.Constraint(SPECIES, rule=lambda m, j: m.F["heated", j] == m.F["mixed", j])
    m.furnace = pyo.Var(bounds=(0, 500), initialize=50)  # kW
    m.furnace_energy = pyo.Constraint(expr=m.H["heated"] == m.H["mixed"] + m.furnace)


def _reactor(m: Any) -> None:
    m.c = pyo.Var(SPECIES, bounds=(0, 2), initialize=0.05)  # mol/l
    m.concentration = pyo.Constraint(
        SPECIES,
        rule=lambda m, j: (
            m.c[j] * sum(m.F["effluent", i] for i in SPECIES) * GAS * m.T["effluent"]
            == 100 * m.P["effluent"] * m.F["effluent", j]
        ),
    )
    m.rate = pyo.Var([1, 2], bounds=(-1, 10), initialize=0.2)  # mol/(m3 s)
    m.extent = pyo.Var([1, 2], bounds=(-1, 1), initialize=0.1)  # mol/s
    t, c = m.T["effluent"], m.c
    m.rate_1 = pyo.Constraint(
        expr=m.rate[1]
        == 1e3 * DOUGLAS[0] * pyo.exp(-DOUGLAS[1] / t) * c["toluene"] * pyo.sqrt(c["H2"])
    )
    m.rate_2 = pyo.Constraint(
        expr=m.rate[2]
        == 1e3
        * SIDE[0]
        * pyo.exp(-SIDE[1] / t)
        * (c["benzene"] ** 2 - c["H2"] * c["diphenyl"] / EQUILIBRIUM)
    )
    m.extents = pyo.Constraint([1, 2], rule=lambda m, k: m.extent[k] == m.volume * m.rate[k])
    m.reactor = pyo.Constraint(
        SPECIES,
        rule=lambda m, j: (
            m.F["effluent", j]
            == m.F["heated", j] + sum(change.get(j, 0) * m.extent[k] for k, change in _numbered())
        ),
    )
    m.adiabatic = pyo.Constraint(expr=m.H["effluent"] == m.H["heated"])


def _numbered() -> list[tuple[int, dict[str, int]]]:
    return list(enumerate(CHANGES, start=1))


def _flash(m: Any, name: str, feed: str, vapour: str, liquid: str) -> None:
    """Add an ideal flash: Raoult's law, gases stay in the vapour, a duty in kW."""
    b = pyo.Block()
    m.add_component(name, b)
    b.x = pyo.Var(HEAVY, bounds=(0, 1), initialize=0.3)
    b.y = pyo.Var(PRESENT[vapour], bounds=(0, 1), initialize=0.2)
    b.psat = pyo.Var(HEAVY, bounds=(0, 10), initialize=0.5)  # bar
    b.duty = pyo.Var(bounds=(-500, 500), initialize=-20)  # kW
    b.balance = pyo.Constraint(
        PRESENT[feed], rule=lambda b, j: m.F[feed, j] == _total(m, j, vapour, liquid)
    )
    b.liquid_share = pyo.Constraint(
        HEAVY, rule=lambda b, j: b.x[j] * sum(m.F[liquid, i] for i in HEAVY) == m.F[liquid, j]
    )
    b.vapour_share = pyo.Constraint(
        PRESENT[vapour],
        rule=lambda b, j: b.y[j] * sum(m.F[vapour, i] for i in PRESENT[vapour]) == m.F[vapour, j],
    )
    b.antoine = pyo.Constraint(
        HEAVY,
        rule=lambda b, j: (
            pyo.log10(b.psat[j]) == ANTOINE[j][0] - ANTOINE[j][1] / (m.T[vapour] + ANTOINE[j][2])
        ),
    )
    b.raoult = pyo.Constraint(HEAVY, rule=lambda b, j: b.y[j] * m.P[vapour] == b.x[j] * b.psat[j])
    b.temperature = pyo.Constraint(expr=m.T[liquid] == m.T[vapour])
    b.pressure = pyo.Constraint(expr=m.P[liquid] == m.P[vapour])
    b.energy = pyo.Constraint(expr=m.H[vapour] + m.H[liquid] == m.H[feed] + b.duty)


def _separation(m: Any) -> None:
    _flash(m, "flash1", "effluent", "vapour", "liquid")
    _flash(m, "flash2", "liquid", "product", "bottoms")
    m.splitter = pyo.Constraint(
        SPECIES, rule=lambda m, j: m.F["purge", j] == m.purged * m.F["vapour", j]
    )
    m.rest = pyo.Constraint(
        SPECIES, rule=lambda m, j: m.F["recycle", j] == m.F["vapour", j] - m.F["purge", j]
    )
    m.split_temperature = pyo.Constraint(
        ["recycle", "purge"], rule=lambda m, s: m.T[s] == m.T["vapour"]
    )
    m.split_pressure = pyo.Constraint(
        ["recycle", "purge"], rule=lambda m, s: m.P[s] == m.P["vapour"]
    )
    m.compressor_flow = pyo.Constraint(
        SPECIES, rule=lambda m, j: m.F["compressed", j] == m.F["recycle", j]
    )
    m.compressor_pressure = pyo.Constraint(expr=m.P["compressed"] == m.P["mixed"])
    m.compression = pyo.Constraint(
        expr=COMPRESSOR * (m.T["compressed"] - m.T["recycle"])
        == m.T["recycle"] * ((m.P["compressed"] / m.P["recycle"]) ** 0.28 - 1)
    )
    m.work = pyo.Var(bounds=(0, 100), initialize=0.5)  # kW
    m.compressor = pyo.Constraint(expr=m.H["compressed"] == m.H["recycle"] + m.work)
    benzene = m.F["product", "benzene"]
    m.production = pyo.Constraint(expr=benzene >= LEAST)
    m.purity = pyo.Constraint(expr=benzene >= PURITY * sum(m.F["product", j] for j in HEAVY))
    m.loss = pyo.Constraint(expr=m.F["purge", "benzene"] <= LOSS * m.F["effluent", "benzene"])


def cost(v: Mapping[str, Any], math: Any) -> Any:
    """Cost in k$ a year less what the product brings."""

    def power(base: Any, exponent: float) -> Any:
        return math.exp(exponent * math.log(base))

    materials = 1 + math.exp((v["T[effluent]"] - 960) / 20)
    sold = 60 * v["F[product,benzene]"] + 35 * v["F[bottoms,toluene]"]
    burnt = 1.5 * (v["F[purge,H2]"] + 3 * v["F[purge,CH4]"])
    cooling = math.sqrt(v["flash1.duty"] ** 2 + 25) + math.sqrt(v["flash2.duty"] ** 2 + 25)
    return (
        40.0
        + 20 * v["F[hydrogen,H2]"]
        + 0.12 * v["furnace"]
        + 0.03 * cooling * (1 + math.exp((310 - v["T[vapour]"]) / 8))
        + 2.0 * v["work"]
        + 0.05 * v["flash2.duty"] * math.exp((v["T[product]"] - 380) / 15)
        + 4.0 / v["P[product]"] ** 2
        + 9 * power(v["volume"], 0.6) * materials
        + 8 * v["F[bottoms,diphenyl]"] / 0.01
        - sold
        - burnt
    )


PROBLEMS = (
    Problem(
        name="hda",
        family="flowsheet",
        build=build,
        cost=cost,
        independent=(
            "F[hydrogen,H2]", "T[heated]", "volume", "T[vapour]", "purged", "T[product]",
            "P[product]",
        ),
        held_out=True,
    ),
)  # fmt: skip
