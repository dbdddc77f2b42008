"""Plants with one equation too many: it says again what others say, or something else."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pyomo.environ as pyo

import archeng
from archeng.model import Model
from case_studies.broken_models.structure import SURPLUS, Structural


def _blender(broken: bool) -> Model:
    # balances of all components and the total one: by the numbers, one follows
    model = Model("blender")
    feed = [model.variable(f"feed {s}", lower=1, upper=30, start=9) for s in "ABC"]
    out = [model.variable(f"{s} in product", lower=0, upper=60, start=9) for s in "xyz"]
    total = model.variable("product", lower=1, upper=90, start=27)
    quality = model.variable("quality", lower=0, upper=100, start=50)
    shares = ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.3, 0.3, 0.4))
    for k, s in enumerate("xyz"):
        inside = sum(shares[j][k] * feed[j] for j in range(3))
        model.subject_to(inside == out[k], name=f"balance of {s}")
    model.subject_to(out[0] + out[1] + out[2] == total, name="product is the sum")
    if broken:
        model.subject_to(feed[0] + feed[1] + feed[2] == total, name="total balance")
    model.subject_to(quality == 100 * out[0] / total, name="quality of the product")
    model.subject_to(quality >= 25, name="quality at least 25")
    return model


def _recycle(broken: bool) -> Model:
    # the balance around the whole plant, beside those of all its units
    m = pyo.ConcreteModel("recycle")
    names = ["feed", "inlet", "outlet", "product", "recycle", "purge"]
    m.F = pyo.Var(names, bounds=(0, 500), initialize=20)
    m.yields = pyo.Var(bounds=(0, 1), initialize=0.5)
    m.steam = pyo.Var(bounds=(0, 100), initialize=5)
    m.mixer = pyo.Constraint(expr=m.F["feed"] + m.F["recycle"] == m.F["inlet"])
    m.reactor = pyo.Constraint(expr=m.F["inlet"] == m.F["outlet"])
    m.column = pyo.Constraint(expr=m.F["product"] == m.yields * m.F["outlet"])
    m.bottoms = pyo.Constraint(expr=m.F["outlet"] == m.F["product"] + m.F["recycle"] + m.F["purge"])
    m.split = pyo.Constraint(expr=m.F["purge"] == 0.1 * m.F["recycle"])
    m.boiler = pyo.Constraint(expr=m.steam == 0.2 * m.F["feed"])
    if broken:
        m.plant = pyo.Constraint(expr=m.F["feed"] == m.F["product"] + m.F["purge"])
    return archeng.from_pyomo(m, independent=[m.F["feed"], m.yields])


def _splitter(broken: bool) -> Model:
    # each of three streams as a share of the feed, and their sum: the shares add up to 0.9
    model = Model("splitter")
    feed = model.variable("feed", lower=50, upper=90, start=60, unit="t/h")
    flow = {s: model.variable(f"stream {s}", lower=1, upper=90, start=20) for s in "ABC"}
    heat = model.variable("heat", lower=0, upper=900, start=100, unit="kW")
    model.subject_to(feed == 75, name="contract")
    model.subject_to(flow["A"] == 0.3 * feed, name="share of A")
    model.subject_to(flow["B"] == 0.4 * feed, name="share of B")
    if broken:
        model.subject_to(flow["C"] == 0.2 * feed, name="share of C")
    model.subject_to(flow["A"] + flow["B"] + flow["C"] == feed, name="balance")
    temperature = model.variable("temperature", lower=290, upper=400, start=330, unit="K")
    model.subject_to(heat == 0.05 * flow["A"] * (temperature - 290), name="heater of A")
    return model


def _network(broken: bool) -> Model:
    # a direct current network: injections at all four nodes, which add up to 0.2 if broken
    m = pyo.ConcreteModel("direct current network")
    lines = [(1, 2), (2, 3), (3, 4), (1, 4), (1, 3)]
    injected = {1: 1.5, 2: -0.4, 3: -0.6, 4: -0.3 if broken else None}
    m.flow = pyo.Var(lines, bounds=(-5, 5), initialize=0.1)
    m.angle = pyo.Var([2, 3, 4], bounds=(-2, 2), initialize=0)
    m.last = pyo.Var(bounds=(-3, 0), initialize=-0.5)
    m.tap = pyo.Var(bounds=(0.9, 1.1), initialize=1)
    m.loading = pyo.Var(bounds=(0, 10), initialize=1)

    def angle(i: int) -> Any:
        return 0.0 if i == 1 else m.angle[i]

    m.law = pyo.Constraint(
        lines,
        rule=lambda m, i, j: m.flow[i, j] == 5 * (angle(i) - angle(j)) * (m.tap if i == 1 else 1),
    )

    def balance(m: Any, k: int) -> Any:
        out = sum(m.flow[i, j] * ((i == k) - (j == k)) for i, j in lines)
        given = injected[k]
        return out == (m.last if given is None else given)

    m.balance = pyo.Constraint([1, 2, 3, 4], rule=balance)
    m.use = pyo.Constraint(expr=m.loading == m.flow[1, 2] ** 2 + m.tap)
    m.wear = pyo.Var(bounds=(-3, 9), initialize=0)
    m.last_use = pyo.Constraint(expr=m.wear == m.last + m.tap)
    return archeng.from_pyomo(m)


def _condenser(broken: bool) -> Model:
    # the flow of steam is fixed, and the duty is given besides
    m = pyo.ConcreteModel("condenser")
    m.steam = pyo.Var(bounds=(0.1, 20), initialize=4)
    m.steam.fix(4.0)
    m.water = pyo.Var(bounds=(1, 500), initialize=200)
    m.outlet = pyo.Var(bounds=(285, 330), initialize=300)
    m.duty = pyo.Var(bounds=(100, 50000), initialize=9000)
    m.area = pyo.Var(bounds=(1, 9000), initialize=300)
    m.cost = pyo.Var(bounds=(0, 1e6), initialize=1e4)
    m.hot = pyo.Constraint(expr=m.duty == 2300 * m.steam)
    m.cold = pyo.Constraint(expr=m.duty == 4.19 * m.water * (m.outlet - 285))
    m.transfer = pyo.Constraint(expr=m.duty == 2.5 * m.area * (320 - (m.outlet + 285) / 2))
    if broken:
        m.contract = pyo.Constraint(expr=m.duty == 9000)
    m.price = pyo.Constraint(expr=m.cost == 120 * m.area + m.water)
    return archeng.from_pyomo(m)


def _tanks(broken: bool) -> Model:
    # the level of a tank is prescribed although its valve and the feed determine it
    model = Model("four tanks in a row")
    feed = model.variable("feed", lower=0.2, upper=2, start=1, unit="m3/h")
    level = model.variable("level", shape=4, lower=0.01, upper=9, start=1, unit="m")
    flow = model.variable("flow", shape=4, lower=0.01, upper=5, start=1, unit="m3/h")
    heat = model.variable("heat", shape=4, lower=0, upper=900, start=10, unit="kW")
    for k in range(4):
        model.subject_to((feed if k == 0 else flow[k - 1]) == flow[k], name=f"balance {k}")
        model.subject_to(flow[k] == (0.8 + 0.1 * k) * ca.sqrt(level[k]), name=f"valve {k}")
        model.subject_to(heat[k] == 2 * level[k], name=f"wall {k}")
    if broken:
        model.subject_to(level[1] == 1.2, name="level of tank 1")
    model.independent(feed)
    return model


def _rod(broken: bool) -> Model:
    # three conditions at the ends of a rod: two temperatures and, at the left, the flux
    m = pyo.ConcreteModel("rod with three conditions")
    n = 8
    m.node = pyo.RangeSet(0, n)
    m.T = pyo.Var(m.node, bounds=(100, 900), initialize=300)
    m.heat = pyo.Var(bounds=(0, 50), initialize=10)
    m.length = pyo.Var(bounds=(0, 2), initialize=0.01)
    m.conduction = pyo.Constraint(
        pyo.RangeSet(1, n - 1),
        rule=lambda m, i: m.T[i - 1] - 2 * m.T[i] + m.T[i + 1] + m.heat == 0,
    )
    m.left = pyo.Constraint(expr=m.T[0] == 300)
    m.right = pyo.Constraint(expr=m.T[n] == 320)
    m.expansion = pyo.Constraint(expr=m.length == 1e-3 * m.heat)
    if broken:
        m.flux = pyo.Constraint(expr=m.T[1] - m.T[0] == 12)
    return archeng.from_pyomo(m, independent=[m.heat])


MODELS: dict[str, Structural] = {
    "blender": Structural(
        SURPLUS, "the total balance, beside those of all components", False, _blender,
        frozenset({"balance of x", "balance of y", "balance of z"})
        | {"product is the sum", "total balance"},
    ),
    "recycle": Structural(
        SURPLUS, "the balance of the plant, beside those of its units", True, _recycle,
        frozenset({"mixer", "reactor", "bottoms", "plant"}),
        frozenset({"column", "split"}),
    ),
    "splitter": Structural(
        SURPLUS, "three shares that add up to 0.9, and their sum", False, _splitter,
        frozenset({"contract", "share of A", "share of B", "share of C", "balance"}),
    ),
    "network": Structural(
        SURPLUS, "injections at all nodes, which do not add up to zero", True, _network,
        frozenset(f"balance[{k}]" for k in (1, 2, 3, 4)),
    ),
    "condenser": Structural(
        SURPLUS, "a duty that the fixed flow of steam contradicts", True, _condenser,
        frozenset({"hot", "contract"}),
    ),
    "levels": Structural(
        SURPLUS, "a level that the feed determines is prescribed", False, _tanks,
        frozenset({"level of tank 1", "balance 0", "balance 1", "valve 1"}),
    ),
    "conditions": Structural(
        SURPLUS, "three conditions for a rod that needs two", True, _rod,
        frozenset({"left", "right", "flux", *(f"conduction[{i}]" for i in range(1, 8))}),
    ),
}  # fmt: skip
