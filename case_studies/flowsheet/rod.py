"""A rod that carries heat away: 500 temperatures, eight thicknesses.

Steady conduction along a flat rod, cold at one end and free at the other, with heat from
electronics along it, convection and radiation from its faces, and a conductivity that falls with
temperature. Its thickness is linear between eight places. Finite volumes: one equation for each
node, with its neighbours, so that all 500 have to be solved together. No node may become too hot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyomo.environ as pyo

from case_studies.flowsheet.definition import Problem

NODES = 500
PLACES = 8
"""Where the thickness is chosen, evenly from end to end."""

LENGTH, WIDTH = 0.4, 0.05  # m
COLD, AIR = 300.0, 300.0  # K
HOTTEST = 362.0  # K
CONDUCTIVITY = 180.0  # W/(m K) at 300 K; proportional to 1/T
CONVECTION = 8.0  # W/(m2 K)
RADIATION = 0.8 * 5.67e-8  # W/(m2 K4)
HEAT = 45.0  # W, in all
DENSITY = 2.7  # g/cm3
SHARES = (0.45, 0.25, 0.08), (0.55, 0.75, 0.10)
"""Sources: share of the heat, centre and width as parts of the length."""


def thickness(t: Mapping[int, Any], place: float) -> Any:
    """Return the thickness (mm) at a place between 0 and 1."""
    scaled = (PLACES - 1) * place
    left = min(int(scaled), PLACES - 2)
    share = scaled - left
    return (1 - share) * t[left + 1] + share * t[left + 2]


def heat(place: float) -> float:
    """Return the density of the sources (W/m) at a place between 0 and 1."""
    bells = (
        part * math.exp(-(((place - at) / wide) ** 2) / 2) / (wide * math.sqrt(2 * math.pi))
        for part, at, wide in SHARES
    )
    return HEAT / LENGTH * sum(bells)


def build(nodes: int = NODES) -> Any:
    """Return the rod, begun at the temperature of the air and with one thickness."""
    m = pyo.ConcreteModel("rod")
    m.node = pyo.RangeSet(nodes)
    m.t = pyo.Var(pyo.RangeSet(PLACES), bounds=(1, 12), initialize=6)  # mm
    m.T = pyo.Var(m.node, bounds=(COLD, HOTTEST), initialize=AIR + 20)  # K
    dx = LENGTH / nodes

    def current(m: Any, i: int) -> Any:
        """Heat (W) that flows from node i to node i + 1; node 0 is the cold end."""
        first, second = m.T[i] if i else COLD, m.T[i + 1]
        area = 1e-3 * WIDTH * thickness(m.t, i / nodes)
        way = dx if i else dx / 2
        return CONDUCTIVITY * 600 / (first + second) * area * (first - second) / way

    def balance(m: Any, i: int) -> Any:
        lost = CONVECTION * (m.T[i] - AIR) + RADIATION * (m.T[i] ** 4 - AIR**4)
        leaving = current(m, i) if i < nodes else 0.0
        return current(m, i - 1) + heat((i - 0.5) / nodes) * dx == leaving + 2 * WIDTH * dx * lost

    m.balance = pyo.Constraint(m.node, rule=balance)
    return m


def cost(nodes: int, v: Mapping[str, Any], math: Any) -> Any:
    """Mass (10 g), ageing of the electronics, and what steps of the thickness cost to mill."""
    t = {j: v[f"t[{j}]"] for j in range(1, PLACES + 1)}
    places = [(i - 0.5) / nodes for i in range(1, nodes + 1)]
    mass = 100 * DENSITY * WIDTH * LENGTH * sum(thickness(t, s) for s in places) / nodes
    ageing = sum(
        heat(s) * math.exp((v[f"T[{i}]"] - 350.0) / 10.0) for i, s in enumerate(places, start=1)
    )
    milling = sum((t[j + 1] - t[j]) ** 2 for j in range(1, PLACES))
    return mass + 8.0 * ageing * LENGTH / HEAT / nodes + 0.05 * milling


PROBLEMS = (
    Problem(
        name="rod",
        family="discretised",
        build=build,
        cost=partial(cost, NODES),
        independent=tuple(f"t[{j}]" for j in range(1, PLACES + 1)),
    ),
)
