"""Plants in which an equation is missing; what is chosen freely is named."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pyomo.environ as pyo

import archeng
from archeng.model import Model
from case_studies.broken_models.structure import MISSING, Structural


def _mixer(broken: bool) -> Model:
    model = Model("mixer of two feeds")
    a = model.variable("feed a", lower=1, upper=20, start=8, unit="kmol/h")
    b = model.variable("feed b", lower=1, upper=20, start=5, unit="kmol/h")
    out = model.variable("product", lower=1, upper=50, start=13, unit="kmol/h")
    water = model.variable("water in product", lower=0, upper=1, start=0.4)
    salt = model.variable("salt in product", lower=0, upper=1, start=0.3)
    acid = model.variable("acid in product", lower=0, upper=1, start=0.3)
    cooler = model.variable("duty of the cooler", lower=-900, upper=900, start=100, unit="kW")
    model.subject_to(a + b == out, name="mixer")
    model.subject_to(0.5 * a + 0.2 * b == water * out, name="water balance")
    model.subject_to(0.3 * a + 0.3 * b == salt * out, name="salt balance")
    if not broken:
        model.subject_to(water + salt + acid == 1, name="fractions")
    model.subject_to(cooler == 4.2 * out * 2, name="cooler")
    model.subject_to(water >= 0.25, name="at least 25 % water")
    model.independent(a, b)
    return model


def _reactor(broken: bool) -> Model:
    m = pyo.ConcreteModel("reactor with recycle and purge")
    names = ["feed", "mixed", "out", "vapour", "recycle", "purge", "product"]
    start = {"feed": 10, "mixed": 30, "out": 25, "vapour": 20, "recycle": 18, "purge": 2}
    m.F = pyo.Var(names, bounds=(0, 200), initialize=lambda m, s: start.get(s, 5))
    m.conversion = pyo.Var(bounds=(0.05, 0.9), initialize=0.3)
    m.volume = pyo.Var(bounds=(0.1, 50), initialize=4)
    m.power = pyo.Var(bounds=(0, 100), initialize=10)
    m.mixer = pyo.Constraint(expr=m.F["mixed"] == m.F["feed"] + m.F["recycle"])
    m.reactor = pyo.Constraint(expr=m.F["out"] == m.F["mixed"] * (1 - 0.5 * m.conversion))
    m.kinetics = pyo.Constraint(
        expr=m.conversion * m.F["mixed"] == 2.5 * m.volume * (1 - m.conversion)
    )
    m.separator = pyo.Constraint(expr=m.F["out"] == m.F["vapour"] + m.F["product"])
    m.sharpness = pyo.Constraint(expr=m.F["product"] == 0.5 * m.conversion * m.F["mixed"])
    m.splitter = pyo.Constraint(expr=m.F["vapour"] == m.F["recycle"] + m.F["purge"])
    if not broken:
        m.ratio = pyo.Constraint(expr=m.F["purge"] == 0.1 * m.F["vapour"])
    m.compressor = pyo.Constraint(expr=m.power == 0.4 * m.F["feed"])
    return archeng.from_pyomo(m, independent=[m.F["feed"], m.volume])


def _exchanger(broken: bool) -> Model:
    model = Model("heat exchanger")
    hot = model.variable("hot flow", lower=1, upper=10, start=4, unit="kg/s")
    cold = model.variable("cold flow", lower=1, upper=10, start=5, unit="kg/s")
    area = model.variable("area", lower=1, upper=500, start=40, unit="m2")
    duty = model.variable("duty", lower=10, upper=3000, start=500, unit="kW")
    t_hot = model.variable("hot outlet", lower=300, upper=420, start=380, unit="K")
    t_cold = model.variable("cold outlet", lower=290, upper=415, start=320, unit="K")
    mean = model.variable("mean difference", lower=1, upper=120, start=60, unit="K")
    drop = model.variable("pressure drop", lower=0, upper=5, start=0.1, unit="bar")
    pump = model.variable("pump", lower=0, upper=500, start=10, unit="kW")
    model.subject_to(duty == 4.2 * hot * (420 - t_hot), name="hot side")
    if not broken:
        model.subject_to(duty == 4.2 * cold * (t_cold - 290), name="cold side")
    model.subject_to(mean == ((420 - t_cold) + (t_hot - 290)) / 2, name="mean of differences")
    model.subject_to(duty == 0.2 * area * mean, name="transfer")
    model.subject_to(drop == 0.004 * cold**2, name="friction")
    model.subject_to(pump == 0.12 * drop * cold, name="pumping")
    model.independent("hot flow", "cold flow", "area")
    return model


def _power(broken: bool) -> Model:
    # three buses, one with a generator of given voltage; loads at the two others
    m = pyo.ConcreteModel("three buses")
    m.bus, m.load = pyo.Set(initialize=[1, 2, 3]), {2: (0.6, 0.2), 3: (0.5, 0.1)}
    m.vm = pyo.Var(m.bus, bounds=(0.8, 1.2), initialize=1)
    m.va = pyo.Var([2, 3], bounds=(-1, 1), initialize=0)
    m.p, m.q = (pyo.Var(bounds=(-3, 3), initialize=1) for _ in "pq")
    m.losses = pyo.Var(bounds=(-1, 1), initialize=0.02)
    m.payment = pyo.Var(bounds=(0, 1000), initialize=40)

    def flow(i: int, j: int) -> tuple[Any, Any]:
        g, b = 2.0, -8.0
        delta = (m.va[i] if i > 1 else 0) - (m.va[j] if j > 1 else 0)
        vi, vj = m.vm[i], m.vm[j]
        p = g * vi**2 - vi * vj * (g * pyo.cos(delta) + b * pyo.sin(delta))
        q = -b * vi**2 - vi * vj * (g * pyo.sin(delta) - b * pyo.cos(delta))
        return p, q

    def injected(i: int, k: int) -> Any:
        return sum(flow(i, j)[k] for j in m.bus if j != i)

    m.p_balance = pyo.Constraint(
        m.bus, rule=lambda m, i: injected(i, 0) == (m.p if i == 1 else -m.load[i][0])
    )
    m.q_balance = pyo.Constraint(
        m.bus, rule=lambda m, i: injected(i, 1) == (m.q if i == 1 else -m.load[i][1])
    )
    m.lost = pyo.Constraint(expr=m.losses == m.p - 1.1)
    m.tariff = pyo.Constraint(expr=m.payment == 40 * m.p)
    if broken:
        m.q_balance[3].deactivate()
    return archeng.from_pyomo(m, independent=[m.vm[1]])


def _tanks(broken: bool) -> Model:
    model = Model("five tanks in a row")
    feed = model.variable("feed", lower=0.2, upper=2, start=1, unit="m3/h")
    n = 5
    level = model.variable("level", shape=n, lower=0.01, upper=9, start=1, unit="m")
    flow = model.variable("flow", shape=n, lower=0.01, upper=5, start=1, unit="m3/h")
    loss = model.variable("evaporated", shape=n, lower=0, upper=1, start=0.01, unit="m3/h")
    for k in range(n):
        before = feed if k == 0 else flow[k - 1]
        model.subject_to(before == flow[k] + loss[k], name=f"balance {k}")
        if not (broken and k == 2):
            model.subject_to(flow[k] == (0.8 + 0.1 * k) * ca.sqrt(level[k]), name=f"valve {k}")
        model.subject_to(loss[k] == 0.01 * ca.exp(-0.1 * k), name=f"evaporation {k}")
    model.independent(feed)
    return model


def _rod(broken: bool) -> Model:
    m = pyo.ConcreteModel("heated rod")
    n = 8
    m.node = pyo.RangeSet(0, n)
    m.T = pyo.Var(m.node, bounds=(250, 900), initialize=300)
    m.heat = pyo.Var(bounds=(0, 50), initialize=10)
    m.length = pyo.Var(bounds=(0, 2), initialize=0.01)
    m.conduction = pyo.Constraint(
        pyo.RangeSet(1, n - 1),
        rule=lambda m, i: m.T[i - 1] - 2 * m.T[i] + m.T[i + 1] + m.heat + 1e-9 * m.T[i] ** 3 == 0,
    )
    m.left = pyo.Constraint(expr=m.T[0] == 300)
    m.right = pyo.Constraint(expr=m.T[n] == 320)
    m.expansion = pyo.Constraint(expr=m.length == 1e-3 * m.heat)
    if broken:
        m.right.deactivate()
    return archeng.from_pyomo(m, independent=[m.heat])


def _pipes(broken: bool) -> Model:
    # a ring of three pipes behind a pump; the flow around the ring follows from friction
    model = Model("ring of pipes")
    speed = model.variable("pump speed", lower=0.5, upper=1.5, start=1)
    head = {p: model.variable(f"head at {p}", lower=0, upper=200, start=50) for p in "SABC"}
    ends = {"S-A": "SA", "A-B": "AB", "A-C": "AC", "B-C": "BC"}
    q = {p: model.variable(f"flow {p}", lower=-1, upper=1, start=0.1) for p in ends}
    power = model.variable("pump power", lower=0, upper=500, start=50, unit="kW")
    model.subject_to(head["S"] == 60 * speed**2 - 40 * q["S-A"] ** 2, name="pump curve")
    for pipe, (i, j) in ends.items():
        if not (broken and pipe == "B-C"):
            friction = 30 * q[pipe] * ca.sqrt(q[pipe] ** 2 + 1e-6)
            model.subject_to(head[i] - head[j] == friction, name=f"friction {pipe}")
    model.subject_to(q["S-A"] == q["A-B"] + q["A-C"], name="node A")
    model.subject_to(q["A-B"] == q["B-C"] + 0.1, name="node B")
    model.subject_to(q["A-C"] + q["B-C"] == 0.15, name="node C")
    model.subject_to(power == 12 * head["S"] * q["S-A"], name="power of the pump")
    model.independent(speed)
    return model


_T = frozenset(f"T[{i}]" for i in range(9))
_RING = frozenset(f"friction {p}" for p in ("A-B", "A-C"))

MODELS: dict[str, Structural] = {
    "mixer": Structural(
        MISSING, "the fractions of the product need not add up to one", False, _mixer,
        frozenset({"acid in product"}),
    ),
    "reactor": Structural(
        MISSING, "no ratio of the purge", True, _reactor,
        frozenset({"F[purge]", "F[recycle]"}),
        frozenset(
            {"F[mixed]", "F[out]", "F[vapour]", "F[product]", "conversion", "mixer", "reactor"}
            | {"kinetics", "separator", "sharpness", "splitter"}
        ),
    ),
    "exchanger": Structural(
        MISSING, "no energy balance of the cold side", False, _exchanger,
        frozenset({"cold outlet"}),
        frozenset({"duty", "hot outlet", "mean difference"})
        | {"hot side", "mean of differences", "transfer"},
    ),
    "power": Structural(
        MISSING, "no balance of reactive power at bus 3", True, _power,
        frozenset({"vm[3]"}),
        frozenset(
            {"vm[2]", "va[2]", "va[3]", "p", "q", "losses", "payment", "lost", "tariff"}
            | {f"p_balance[{i}]" for i in (1, 2, 3)}
            | {f"q_balance[{i}]" for i in (1, 2)}
        ),
    ),
    "tanks": Structural(
        MISSING, "no valve at the third tank", False, _tanks,
        frozenset({"level[2]"}),
    ),
    "rod": Structural(
        MISSING, "no temperature at the right end", True, _rod,
        frozenset({"T[8]"}),
        (_T - {"T[0]"}) | frozenset(f"conduction[{i}]" for i in range(1, 8)),
    ),
    "pipes": Structural(
        MISSING, "no friction in one pipe of the ring", False, _pipes,
        frozenset({"flow B-C"}),
        _RING
        | {"flow S-A", "flow A-B", "flow A-C", "head at S", "head at A", "head at B", "head at C"}
        | {"node A", "node B", "node C", "pump curve", "friction S-A", "pump power"}
        | {"power of the pump"},
    ),
}  # fmt: skip
