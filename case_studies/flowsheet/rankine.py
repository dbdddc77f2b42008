"""A steam power plant of 100 MW: reheat, one open feed-water heater, a wet condenser.

Written as authors write flowsheets: streams with flow, pressure, temperature and enthalpy, units
with their equations, isentropic states beside the real ones. Properties are those of ``steam.py``.

==  =============================  ==  ==============================
1   main steam                     6   exhaust, wet
2   after the high-pressure part   7   condensate
3   reheated                       8   after the condensate pump
4   extraction                     9   from the feed-water heater
5   on to the low-pressure part    10  after the feed pump, to the boiler
==  =============================  ==  ==============================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from case_studies.flowsheet.definition import Problem
from case_studies.flowsheet.steam import saturated, steam

POWER = 100.0  # MW, net
TURBINE, PUMP = 0.88, 0.80  # efficiencies
REHEATER, BOILER = 0.95, 1.15  # pressures after over before, before over after
VOLUME = 0.103  # kJ/kg for each bar: water of 1.03 litres/kg
WATER = 4.19  # kJ/(kg K)
RIVER = 288.0  # K
WARMEST = 297.0  # K, that may go back into the river
PINCH = 3.0  # K
DRYNESS = 0.90
COEFFICIENT = 2.8  # kW/(m2 K), of the condenser
STEAM, WET = (1, 2, 3, 4, 5), 6
STARTS: dict[str, dict[int, float]] = {
    "p": {1: 120, 2: 30, 3: 28, 4: 4, 5: 4, 6: 0.06, 7: 0.06, 8: 4, 9: 4, 10: 135},
    "T": {1: 800, 2: 600, 3: 800, 4: 550, 5: 550, 6: 310, 7: 310, 8: 310, 9: 420, 10: 420},
    "h": {1: 3400, 2: 3000, 3: 3500, 4: 3000, 5: 3000, 6: 2400, 7: 150, 8: 150, 9: 600, 10: 620},
}
"""Rough values of bar, K and kJ/kg."""


def build() -> Any:
    """Return the plant, begun at rough values."""
    m = pyo.ConcreteModel("steam power plant")
    m.stream = pyo.RangeSet(10)
    m.F = pyo.Var(m.stream, bounds=(0, 200), initialize=80)  # kg/s
    m.p = pyo.Var(m.stream, bounds=(0.03, 190), initialize=lambda _, k: STARTS["p"][k])  # bar
    m.T = pyo.Var(m.stream, bounds=(280, 885), initialize=lambda _, k: STARTS["T"][k])  # K
    m.h = pyo.Var(m.stream, bounds=(50, 3800), initialize=lambda _, k: STARTS["h"][k])  # kJ/kg
    m.s = pyo.Var(STEAM, bounds=(4, 10), initialize=6.8)  # kJ/(kg K)
    for k, low, high in ((1, 60, 170), (2, 10, 60), (4, 1.5, 9), (6, 0.03, 0.3)):
        m.p[k].setlb(low)
        m.p[k].setub(high)
    for k in (1, 3):
        m.T[k].setlb(740)
        m.T[k].setub(880)

    _turbine(m)
    _water(m)
    _energy(m)
    return m


def _turbine(m: Any) -> None:
    m.hp_flow = pyo.Constraint(expr=m.F[2] == m.F[1])
    m.reheater_flow = pyo.Constraint(expr=m.F[3] == m.F[2])
    m.extraction_flow = pyo.Constraint(expr=m.F[3] == m.F[4] + m.F[5])
    m.lp_flow = pyo.Constraint(expr=m.F[6] == m.F[5])
    m.reheater_pressure = pyo.Constraint(expr=m.p[3] == REHEATER * m.p[2])
    m.extraction_pressure = pyo.Constraint(expr=m.p[5] == m.p[4])
    m.extraction_temperature = pyo.Constraint(expr=m.T[5] == m.T[4])
    m.extraction_enthalpy = pyo.Constraint(expr=m.h[5] == m.h[4])
    m.extraction_entropy = pyo.Constraint(expr=m.s[5] == m.s[4])
    m.enthalpy = pyo.Constraint(
        [1, 2, 3, 4], rule=lambda m, k: m.h[k] == steam("enthalpy", m.T[k], m.p[k], pyo.log)
    )
    m.entropy = pyo.Constraint(
        [1, 2, 3, 4], rule=lambda m, k: m.s[k] == steam("entropy", m.T[k], m.p[k], pyo.log)
    )
    # expansions to 2 and 4: isentropic temperature and enthalpy first
    m.Ts = pyo.Var([2, 4], bounds=(300, 885), initialize=560)
    m.hs = pyo.Var([2, 4, 6], bounds=(1500, 3800), initialize=2900)
    m.isentropic = pyo.Constraint(
        [2, 4], rule=lambda m, k: steam("entropy", m.Ts[k], m.p[k], pyo.log) == m.s[k - 1]
    )
    m.isentropic_enthalpy = pyo.Constraint(
        [2, 4], rule=lambda m, k: m.hs[k] == steam("enthalpy", m.Ts[k], m.p[k], pyo.log)
    )
    m.expansion = pyo.Constraint(
        [2, 4, 6], rule=lambda m, k: m.h[k - 1] - m.h[k] == TURBINE * (m.h[k - 1] - m.hs[k])
    )
    # the last one ends among droplets
    names = "liquid enthalpy", "vapour enthalpy", "liquid entropy", "vapour entropy"
    m.hf, m.hg = pyo.Var(initialize=150), pyo.Var(initialize=2570)
    m.sf, m.sg = pyo.Var(initialize=0.5), pyo.Var(initialize=8.3)
    both = dict(zip(names, (m.hf, m.hg, m.sf, m.sg), strict=True))
    m.saturation = pyo.Constraint(
        names, rule=lambda m, name: both[name] == saturated(name, m.p[WET], pyo.log)
    )
    m.xs = pyo.Var(bounds=(0.5, 1), initialize=0.85)
    m.x = pyo.Var(bounds=(DRYNESS, 1), initialize=0.92)
    m.wet_entropy = pyo.Constraint(expr=m.s[5] == m.sf + m.xs * (m.sg - m.sf))
    m.wet_isentropic = pyo.Constraint(expr=m.hs[WET] == m.hf + m.xs * (m.hg - m.hf))
    m.wet_enthalpy = pyo.Constraint(expr=m.h[WET] == m.hf + m.x * (m.hg - m.hf))
    m.dry_extraction = pyo.Constraint(
        expr=m.T[4] >= saturated("temperature", m.p[4], pyo.log) + 5.0
    )
    m.dry_cold_reheat = pyo.Constraint(
        expr=m.Ts[2] >= saturated("temperature", m.p[2], pyo.log) + 5.0
    )


def _water(m: Any) -> None:
    m.condenser_flow = pyo.Constraint(expr=m.F[7] == m.F[6])
    m.condensate_flow = pyo.Constraint(expr=m.F[8] == m.F[7])
    m.heater_flow = pyo.Constraint(expr=m.F[9] == m.F[8] + m.F[4])
    m.feed_flow = pyo.Constraint(expr=m.F[10] == m.F[9])  # F[1] == F[10] follows
    m.condenser_pressure = pyo.Constraint(expr=m.p[7] == m.p[6])
    m.condensate_pressure = pyo.Constraint(expr=m.p[8] == m.p[4])
    m.heater_pressure = pyo.Constraint(expr=m.p[9] == m.p[4])
    m.feed_pressure = pyo.Constraint(expr=m.p[10] == BOILER * m.p[1])
    m.boiling = pyo.Constraint(
        [6, 9], rule=lambda m, k: m.T[k] == saturated("temperature", m.p[k], pyo.log)
    )
    m.condensate_temperature = pyo.Constraint(expr=m.T[7] == m.T[6])
    m.condensate_enthalpy = pyo.Constraint(expr=m.h[7] == m.hf)
    m.heater_enthalpy = pyo.Constraint(expr=m.h[9] == saturated("liquid enthalpy", m.p[9], pyo.log))
    m.pump = pyo.Constraint(
        [8, 10], rule=lambda m, k: m.h[k] == m.h[k - 1] + VOLUME * (m.p[k] - m.p[k - 1]) / PUMP
    )
    m.pump_temperature = pyo.Constraint(
        [8, 10], rule=lambda m, k: WATER * (m.T[k] - m.T[k - 1]) == m.h[k] - m.h[k - 1]
    )
    m.heater = pyo.Constraint(expr=m.F[9] * m.h[9] == m.F[8] * m.h[8] + m.F[4] * m.h[4])


def _energy(m: Any) -> None:
    m.W = pyo.Var(["hp", "ip", "lp", "pump 1", "pump 2"], bounds=(0, 120), initialize=30)  # MW
    m.Q = pyo.Var(["boiler", "reheater", "condenser"], bounds=(0, 400), initialize=100)  # MW
    ends = {"hp": (1, 2), "ip": (3, 4), "lp": (5, 6), "pump 1": (8, 7), "pump 2": (10, 9)}
    m.power = pyo.Constraint(
        list(ends),
        rule=lambda m, u: 1e3 * m.W[u] == m.F[ends[u][0]] * (m.h[ends[u][0]] - m.h[ends[u][1]]),
    )
    m.net = pyo.Constraint(
        expr=m.W["hp"] + m.W["ip"] + m.W["lp"] - m.W["pump 1"] - m.W["pump 2"] == POWER
    )
    sides = {"boiler": (1, 10), "reheater": (3, 2), "condenser": (6, 7)}
    m.heat = pyo.Constraint(
        list(sides),
        rule=lambda m, u: 1e3 * m.Q[u] == m.F[sides[u][0]] * (m.h[sides[u][0]] - m.h[sides[u][1]]),
    )
    m.efficiency = pyo.Var(bounds=(0.2, 0.5), initialize=0.4)
    m.overall = pyo.Constraint(expr=m.efficiency * (m.Q["boiler"] + m.Q["reheater"]) == POWER)
    m.river = pyo.Var(bounds=(500, 15000), initialize=4000)  # kg/s
    m.outlet = pyo.Var(bounds=(RIVER, WARMEST), initialize=295)  # K
    m.difference = pyo.Var(bounds=(1, 60), initialize=12)  # K, mean
    m.area = pyo.Var(bounds=(100, 60000), initialize=6000)  # m2
    m.cooling = pyo.Constraint(expr=1e3 * m.Q["condenser"] == m.river * WATER * (m.outlet - RIVER))
    hot, cold = m.T[6] - m.outlet, m.T[6] - RIVER
    m.mean = pyo.Constraint(  # instead of a logarithm
        expr=m.difference**3 == hot * cold * (hot + cold) / 2
    )
    m.condenser = pyo.Constraint(expr=1e3 * m.Q["condenser"] == COEFFICIENT * m.area * m.difference)
    m.pinch = pyo.Constraint(expr=m.T[6] - m.outlet >= PINCH)


def cost(v: Mapping[str, Any], math: Any) -> Any:
    """Cost in M$ a year: fuel, boiler and turbine with their materials, condenser, cooling."""

    def power(base: Any, exponent: float) -> Any:
        return math.exp(exponent * math.log(base))

    heat = v["Q[boiler]"] + v["Q[reheater]"]
    creep = math.exp((v["T[1]"] - 850) / 25) + math.exp((v["T[3]"] - 865) / 25)
    boiler = 0.012 * heat * (1 + 0.25 * power(v["p[1]"] / 100, 1.5) + 0.2 * creep)
    turbine = 0.35 * power(v["W[hp]"], 0.7) + 0.35 * power(v["W[ip]"], 0.7)
    turbine = turbine + 0.3 * power(v["W[lp]"], 0.7) * (1 + 60 * (1 - v["x"]) ** 2)
    last_stage = 0.12 * power(v["F[6]"] / v["p[6]"] / 1e3, 0.8)
    condenser = 0.8 * power(v["area"] / 1e3, 0.8)
    piping = 0.004 * v["F[3]"] / power(v["p[3]"] / 30, 0.8)
    return (
        0.16 * heat
        + boiler
        + turbine
        + last_stage
        + condenser
        + piping
        + 0.3 * v["river"] / 1e3
        + 0.02 * v["F[4]"] * v["p[4]"] / 10
    )


PROBLEMS = (
    Problem(
        name="rankine",
        family="flowsheet",
        build=build,
        cost=cost,
        independent=("p[1]", "p[2]", "p[4]", "p[6]", "T[1]", "T[3]", "river"),
    ),
)
