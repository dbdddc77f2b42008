"""AC optimal power flow: every voltage, angle and flow is a variable of the model.

Power in units of 100 MVA, voltages per unit, angles in radians. Branches are pi circuits with an
ideal transformer at their first end. What generation costs is known to the simulator only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from case_studies.flowsheet.definition import Problem

FILE = Path(__file__).with_name("networks.json")
NO_RATING = 9900.0
"""MVA; branches with this rating, or 0, have none."""

PUBLISHED = {"case9": 5296.69, "case14": 8081.53, "case30": 576.89, "case57": 41737.79}
"""Objectives of MATPOWER's OPF in $/h, as printed in its manual and test cases."""

CAPACITOR = 9, 0.0, 0.4
"""Bus of case14s at which a capacitor is a variable, and the bounds of its susceptance."""

BUS = ("bus", "kind", "pd", "qd", "gs", "bs", "vm", "va", "vmin", "vmax")
GENERATOR = ("bus", "pg", "qg", "qmin", "qmax", "pmin", "pmax", "vg", "c2", "c1", "c0")
BRANCH = ("start", "end", "r", "x", "b", "rate", "tap", "shift")
REFERENCE = 3
"""Kind of the bus whose angle is zero."""


@cache
def network(case: str) -> dict[str, Any]:
    """Return buses by number, generators and branches by their place (from 1); MW and degrees."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    tables = data["cases"][case]
    numbered = partial(enumerate, start=1)
    return {
        "base": float(data["base_mva"]),
        "buses": {row[0]: dict(zip(BUS, row, strict=True)) for row in tables["buses"]},
        "generators": {
            k: dict(zip(GENERATOR, row, strict=True)) for k, row in numbered(tables["generators"])
        },
        "branches": {
            k: dict(zip(BRANCH, row, strict=True)) for k, row in numbered(tables["branches"])
        },
    }


def build(case: str, set_points: bool = False) -> Any:
    """Return the model; begun at a flat voltage profile, without flows.

    With ``set_points`` (case14s) the voltages of the generators, the losses and the power of a
    capacitor have variables of their own, and its susceptance is one more degree of freedom.
    """
    grid = network(case)
    base, buses, gens, lines = (grid[k] for k in ("base", "buses", "generators", "branches"))
    m = pyo.ConcreteModel(case)
    m.vm = pyo.Var(
        list(buses), initialize=1.0, bounds=lambda _, i: (buses[i]["vmin"], buses[i]["vmax"])
    )
    m.va = pyo.Var(list(buses), initialize=0.0, bounds=(-math.pi, math.pi))
    m.pg = pyo.Var(
        list(gens),
        initialize=lambda _, k: (gens[k]["pmin"] + gens[k]["pmax"]) / 2 / base,
        bounds=lambda _, k: (gens[k]["pmin"] / base, gens[k]["pmax"] / base),
    )
    m.qg = pyo.Var(
        list(gens),
        initialize=0.0,
        bounds=lambda _, k: (gens[k]["qmin"] / base, gens[k]["qmax"] / base),
    )
    if set_points:
        m.capacitor = pyo.Var(bounds=CAPACITOR[1:], initialize=0.19)
        m.qc = pyo.Var(initialize=0.19)
        m.charging = pyo.Constraint(expr=m.qc == m.capacitor * m.vm[CAPACITOR[0]] ** 2)
    for part in ("pf", "qf", "pt", "qt"):
        m.add_component(part, pyo.Var(list(lines), initialize=0.0))
        rule = partial(_flow_rule, lines, part)
        m.add_component(f"{part}_flow", pyo.Constraint(list(lines), rule=rule))
    for part in ("p", "q"):
        rule = partial(_balance_rule, grid, part)
        m.add_component(f"{part}_balance", pyo.Constraint(list(buses), rule=rule))
    (reference,) = (i for i, bus in buses.items() if bus["kind"] == REFERENCE)
    m.reference = pyo.Constraint(expr=m.va[reference] == 0.0)
    rated = [k for k, line in lines.items() if 0 < line["rate"] < NO_RATING]
    m.rating_f = pyo.Constraint(
        rated, rule=lambda m, k: m.pf[k] ** 2 + m.qf[k] ** 2 <= (lines[k]["rate"] / base) ** 2
    )
    m.rating_t = pyo.Constraint(
        rated, rule=lambda m, k: m.pt[k] ** 2 + m.qt[k] ** 2 <= (lines[k]["rate"] / base) ** 2
    )
    if set_points:
        m.vset = pyo.Var(list(gens), initialize=1.0, bounds=(0.9, 1.1))
        m.set_point = pyo.Constraint(
            list(gens), rule=lambda m, k: m.vm[gens[k]["bus"]] == m.vset[k]
        )
        m.losses = pyo.Var(initialize=0.0)
        m.all_losses = pyo.Constraint(expr=m.losses == sum(m.pf[k] + m.pt[k] for k in lines))
    return m


def _flow_rule(lines: Any, part: str, m: Any, k: int) -> Any:
    return m.component(part)[k] == _flow(m, lines[k], part)


def _balance_rule(grid: Any, part: str, m: Any, i: int) -> Any:
    """Say that generation less load and shunt is what the branches take; part is p or q."""
    base, bus, lines = grid["base"], grid["buses"][i], grid["branches"]
    made = sum(m.component(f"{part}g")[k] for k, g in grid["generators"].items() if g["bus"] == i)
    leaving = sum(m.component(f"{part}f")[k] for k, line in lines.items() if line["start"] == i)
    leaving += sum(m.component(f"{part}t")[k] for k, line in lines.items() if line["end"] == i)
    shunt = (bus["gs"] if part == "p" else -bus["bs"]) / base * m.vm[i] ** 2
    if part == "q" and i == CAPACITOR[0] and m.component("qc") is not None:
        shunt = -m.qc
    return made - bus[f"{part}d"] / base - shunt == leaving


def _flow(m: Any, line: Mapping[str, float], part: str) -> Any:
    """Active or reactive power (p, q) into a branch at its first or other end (f, t)."""
    square = line["r"] ** 2 + line["x"] ** 2
    g, b = line["r"] / square, -line["x"] / square
    tap, shift = line["tap"] or 1.0, math.radians(line["shift"])
    start, end = line["start"], line["end"]
    angle = m.va[start] - m.va[end] - shift
    both = m.vm[start] * m.vm[end] / tap
    own = (m.vm[start] / tap) ** 2 if part[1] == "f" else m.vm[end] ** 2
    sign = 1.0 if part[1] == "f" else -1.0
    if part[0] == "p":
        return g * own - both * (g * pyo.cos(angle) + sign * b * pyo.sin(angle))
    return -(b + line["b"] / 2) * own - both * (sign * g * pyo.sin(angle) - b * pyo.cos(angle))


def cost(case: str, v: Mapping[str, Any], _: Any) -> Any:
    """Cost of generation, $/h."""
    grid = network(case)
    total = 0.0
    for k, g in grid["generators"].items():
        p = grid["base"] * v[f"pg[{k}]"]
        total = total + (g["c2"] * p + g["c1"]) * p + g["c0"]
    return total


def _problem(name: str, held_out: bool = False) -> Problem:
    case = name.removesuffix("s")
    set_points = case != name
    grid = network(case)
    gens, kinds = grid["generators"], {i: bus["kind"] for i, bus in grid["buses"].items()}
    free = [f"pg[{k}]" for k, g in gens.items() if kinds[g["bus"]] != REFERENCE]
    free += [f"vset[{k}]" if set_points else f"vm[{g['bus']}]" for k, g in gens.items()]
    return Problem(
        name=name,
        family="power flow",
        build=partial(build, case, set_points),
        cost=partial(cost, case),
        independent=(*free, "capacitor") if set_points else tuple(free),
        held_out=held_out,
    )


PROBLEMS = (
    _problem("case9"),
    _problem("case14"),
    _problem("case14s"),
    _problem("case30"),
    _problem("case57", held_out=True),
)
