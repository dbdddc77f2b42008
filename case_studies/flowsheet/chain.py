"""A chain of stirred tanks with jackets: A becomes B, and B becomes C where it is too hot.

Five equations for each tank: balances of A, of B and of energy, and two rate constants. A design
is the feed (flow, temperature), the whole volume, and the temperature of the jackets at six
places along the chain, linear between them: nine degrees of freedom for 10, 100 or 1,000 tanks.
The tanks of a longer chain are smaller, so that all lengths approach one tubular reactor.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyomo.environ as pyo

from case_studies.flowsheet.definition import Problem

SECTIONS = 6
"""Places at which the temperature of the jackets is chosen."""

FEED = 2.0  # kmol/m3 of A
RATES = (1.4e6, 60.0e3), (9.0e11, 105.0e3)  # 1/s and J/mol, of A to B and of B to C
GAS = 8.314  # J/(mol K)
HEATS = 45.0, 60.0  # kJ/mol that the reactions give off
CAPACITY = 3.2e3  # kJ/(m3 K)
EXCHANGE = 1.2  # kW/(K m3): jackets of all tanks per volume
HOTTEST = 342.0  # K, that the catalyst endures
LEAST = 4.0e-3  # kmol/s of B


def build(tanks: int) -> Any:
    """Return the chain, begun with the same state in all tanks."""
    m = pyo.ConcreteModel(f"chain of {tanks} tanks")
    m.unit = pyo.RangeSet(tanks)
    m.flow = pyo.Var(bounds=(1e-3, 8e-3), initialize=4e-3)  # m3/s
    m.inlet = pyo.Var(bounds=(300, 365), initialize=330)  # K
    m.volume = pyo.Var(bounds=(2, 20), initialize=8)  # m3, of all tanks
    m.jacket = pyo.Var(pyo.RangeSet(SECTIONS), bounds=(300, 370), initialize=340)  # K
    m.T = pyo.Var(m.unit, bounds=(290, HOTTEST), initialize=335)  # K
    m.A = pyo.Var(m.unit, bounds=(0, FEED), initialize=1)  # kmol/m3
    m.B = pyo.Var(m.unit, bounds=(0, FEED), initialize=1)
    m.k1 = pyo.Var(m.unit, bounds=(0, 0.1), initialize=1e-3)  # 1/s
    m.k2 = pyo.Var(m.unit, bounds=(0, 0.1), initialize=1e-4)

    def coolant(m: Any, i: int) -> Any:
        place = (SECTIONS - 1) * (i - 0.5) / tanks
        left = min(int(place), SECTIONS - 2)
        share = place - left
        return (1 - share) * m.jacket[left + 1] + share * m.jacket[left + 2]

    def balance_a(m: Any, i: int) -> Any:
        before = m.A[i - 1] if i > 1 else FEED
        return m.flow * (before - m.A[i]) == m.volume / tanks * m.k1[i] * m.A[i]

    def balance_b(m: Any, i: int) -> Any:
        before = m.B[i - 1] if i > 1 else 0.0
        made = m.k1[i] * m.A[i] - m.k2[i] * m.B[i]
        return m.flow * (m.B[i] - before) == m.volume / tanks * made

    def energy(m: Any, i: int) -> Any:
        before = m.T[i - 1] if i > 1 else m.inlet
        heat = 1e3 * (HEATS[0] * m.k1[i] * m.A[i] + HEATS[1] * m.k2[i] * m.B[i])
        removed = EXCHANGE * (m.T[i] - coolant(m, i))
        return CAPACITY * m.flow * (m.T[i] - before) == m.volume / tanks * (heat - removed)

    def rate(m: Any, i: int, k: int) -> Any:
        factor, activation = RATES[k]
        constant = m.k1[i] if k == 0 else m.k2[i]
        return constant == factor * pyo.exp(-activation / (GAS * m.T[i]))

    m.balance_a = pyo.Constraint(m.unit, rule=balance_a)
    m.balance_b = pyo.Constraint(m.unit, rule=balance_b)
    m.energy = pyo.Constraint(m.unit, rule=energy)
    m.rate_1 = pyo.Constraint(m.unit, rule=lambda m, i: rate(m, i, 0))
    m.rate_2 = pyo.Constraint(m.unit, rule=lambda m, i: rate(m, i, 1))
    m.production = pyo.Constraint(expr=1e3 * m.flow * m.B[tanks] >= 1e3 * LEAST)
    return m


def cost(tanks: int, v: Mapping[str, Any], math: Any) -> Any:
    """Cost in k$ a year: feed, tanks, jackets, separation of the product, fouling of hot walls."""
    a, b = v[f"A[{tanks}]"], v[f"B[{tanks}]"]
    waste = (a + 3.0 * (FEED - a - b)) / b
    fouling = sum(math.exp((v[f"T[{i}]"] - 345.0) / 7.0) for i in range(1, tanks + 1)) / tanks
    spread = sum((v[f"jacket[{j}]"] - 330.0) ** 2 for j in range(1, SECTIONS + 1)) / SECTIONS
    heating = v["flow"] * (v["inlet"] - 300.0) ** 2
    return (
        3.0e4 * FEED * v["flow"]
        + 60.0 * math.exp(0.6 * math.log(v["volume"]))
        + 150.0 * waste
        + 20.0 * fouling
        + 0.05 * spread
        + 5.0 * heating
    )


def _problem(tanks: int) -> Problem:
    jackets = (f"jacket[{j}]" for j in range(1, SECTIONS + 1))
    return Problem(
        name=f"chain{tanks}",
        family="chain of tanks",
        build=partial(build, tanks),
        cost=partial(cost, tanks),
        independent=("flow", "inlet", "volume", *jackets),
    )


PROBLEMS = tuple(_problem(tanks) for tanks in (10, 100, 1000))
