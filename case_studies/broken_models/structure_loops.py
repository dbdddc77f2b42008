"""Plants with a loop of equations that has no solution; the rest of the plant is sound."""

from __future__ import annotations

import casadi as ca
import pyomo.environ as pyo

import archeng
from archeng.model import Model
from case_studies.broken_models.structure import LOOP, Structural


def _line(broken: bool) -> Model:
    # a load of constant power at the end of a line: beyond the nose of the curve if broken
    model = Model("line with a load")
    demand = 3.2 if broken else 1.5
    source = model.variable("source voltage", lower=0.95, upper=1.05, start=1)
    v = model.variable("voltage", lower=0.2, upper=1.5, start=0.9)
    angle = model.variable("angle", lower=-1.5, upper=1.5, start=-0.1)
    heat = model.variable("heat of the transformer", lower=0, upper=5, start=0.1)
    tariff = model.variable("tariff", lower=0, upper=500, start=10)
    model.subject_to(-4 * source * v * ca.sin(angle) == demand, name="active power")
    model.subject_to(4 * (v * source * ca.cos(angle) - v**2) == 0.3 * demand, name="reactive power")
    model.subject_to(heat == 0.01 * source**2, name="iron losses")
    model.subject_to(tariff == 40 * heat, name="tariff of losses")
    model.independent(source)
    return model


def _cable(broken: bool) -> Model:
    # a cable with a load of constant power: more than it can carry if broken
    m = pyo.ConcreteModel("cable")
    power = 700.0 if broken else 400.0  # W; the cable carries 48^2 / (4 * 1.0) = 576 W
    m.section = pyo.Var(bounds=(2.0, 6.0), initialize=4.0)
    m.resistance = pyo.Var(bounds=(0.9, 5), initialize=1.2)
    m.current = pyo.Var(bounds=(0.1, 100), initialize=12)
    m.voltage = pyo.Var(bounds=(1, 48), initialize=35)
    m.losses = pyo.Var(bounds=(0, 5000), initialize=100)
    m.mass = pyo.Var(bounds=(0, 100), initialize=3)
    m.ohm = pyo.Constraint(expr=m.resistance * m.section == 6.0)
    m.drop = pyo.Constraint(expr=m.voltage == 48 - m.resistance * m.current)
    m.consumer = pyo.Constraint(expr=m.voltage * m.current == power)
    m.joule = pyo.Constraint(expr=m.losses == m.resistance * m.current**2)
    m.copper = pyo.Constraint(expr=m.mass == 0.9 * m.section)
    return archeng.from_pyomo(m, independent=[m.section])


def _pump(broken: bool) -> Model:
    # a pump that cannot lift water to the tank: its curve lies below that of the pipe
    model = Model("pump and pipe")
    lift = 70.0 if broken else 40.0
    speed = model.variable("speed", lower=0.8, upper=1.2, start=1)
    flow = model.variable("flow", lower=0, upper=5, start=0.5, unit="m3/s")
    head = model.variable("head", lower=0, upper=300, start=45, unit="m")
    power = model.variable("power", lower=0, upper=5000, start=300, unit="kW")
    bearing = model.variable("bearing load", lower=0, upper=90, start=10, unit="kN")
    model.subject_to(head == 47 * speed**2 - 8 * flow**2, name="pump curve")
    model.subject_to(head == lift + 20 * flow**2, name="pipe curve")
    model.subject_to(power == 12.3 * head * flow, name="shaft power")
    model.subject_to(bearing == 10 * speed**2, name="bearing")
    model.independent(speed)
    return model


def _flash(broken: bool) -> Model:
    # a flash drum whose feed is a cold liquid if broken: no split into two phases
    m = pyo.ConcreteModel("flash drum")
    K = {"a": 0.9, "b": 0.4, "c": 0.15} if broken else {"a": 2.5, "b": 0.9, "c": 0.3}
    z = {"a": 0.4, "b": 0.35, "c": 0.25}
    m.feed = pyo.Var(bounds=(1, 100), initialize=10)
    m.x = pyo.Var(list(K), bounds=(0, 1), initialize=0.3)
    m.y = pyo.Var(list(K), bounds=(0, 1), initialize=0.3)
    m.vapour = pyo.Var(bounds=(0, 1), initialize=0.5)
    m.top = pyo.Var(bounds=(0, 100), initialize=5)
    m.valve = pyo.Var(bounds=(0, 900), initialize=50)
    m.equilibrium = pyo.Constraint(list(K), rule=lambda m, i: m.y[i] == K[i] * m.x[i])
    m.substance = pyo.Constraint(
        list(K), rule=lambda m, i: m.vapour * m.y[i] + (1 - m.vapour) * m.x[i] == z[i]
    )
    m.sums = pyo.Constraint(expr=sum(m.y[i] - m.x[i] for i in K) == 0)
    m.overhead = pyo.Constraint(expr=m.top == m.vapour * m.feed)
    m.opening = pyo.Constraint(expr=m.valve == 3 * m.feed)
    return archeng.from_pyomo(m, independent=[m.feed])


def _heat_pump(broken: bool) -> Model:
    # a heat pump with so small a condenser, if broken, that no condensation is hot enough
    m = pyo.ConcreteModel("heat pump")
    size = 0.05 if broken else 1.2  # kW/K of the condenser
    m.source = pyo.Var(bounds=(275, 290), initialize=280)
    m.cold = pyo.Var(bounds=(240, 290), initialize=272)
    m.hot = pyo.Var(bounds=(300, 370), initialize=318)
    m.factor = pyo.Var(bounds=(1.05, 20), initialize=3.5)
    m.work = pyo.Var(bounds=(0, 50), initialize=4)
    m.given = pyo.Var(bounds=(0, 80), initialize=14)
    m.fan = pyo.Var(bounds=(0, 5), initialize=0.2)
    m.evaporator = pyo.Constraint(expr=1.5 * (m.source - m.cold) == 10)
    m.condenser = pyo.Constraint(expr=m.given == size * (m.hot - 305))
    m.carnot = pyo.Constraint(expr=m.factor * (m.hot - m.cold) == 0.5 * m.hot)
    m.compressor = pyo.Constraint(expr=m.given == m.factor * m.work)
    m.energy = pyo.Constraint(expr=m.given == 10 + m.work)
    m.air = pyo.Constraint(expr=m.fan == 0.01 * m.source - 2.6)
    return archeng.from_pyomo(m, independent=[m.source])


def _slab(broken: bool) -> Model:
    # a slab that heats itself by reaction: beyond the critical rate if broken (explosion)
    model = Model("self-heating slab")
    n, rate = 6, 6.0 if broken else 2.0  # critical: 3.51 for the continuous slab
    wall = model.variable("wall temperature", lower=-0.05, upper=0.2, start=0)
    T = model.variable("T", shape=n, lower=-1, upper=15, start=0.3)
    smoke = model.variable("smoke", lower=-1, upper=9, start=0.1)
    h = 1.0 / (n + 1)
    for i in range(n):
        left = wall if i == 0 else T[i - 1]
        right = wall if i == n - 1 else T[i + 1]
        model.subject_to(
            left - 2 * T[i] + right + h**2 * rate * ca.exp(T[i]) == 0, name=f"node {i}"
        )
    model.subject_to(smoke == 0.3 * wall, name="smoke detector")
    model.independent(wall)
    return model


MODELS: dict[str, Structural] = {
    "line": Structural(
        LOOP, "a demand beyond the nose of the curve", False, _line,
        frozenset({"active power", "reactive power"}),
        frozenset({"source voltage <= 1.05 (bound)"}),
    ),
    "cable": Structural(
        LOOP, "a load that the cable cannot carry", True, _cable,
        frozenset({"drop", "consumer"}),
        frozenset({"ohm", "section <= 6 (bound)", "resistance >= 0.9 (bound)"}),
    ),
    "pump": Structural(
        LOOP, "a tank higher than the pump can lift to", False, _pump,
        frozenset({"pump curve", "pipe curve"}),
        frozenset({"speed <= 1.2 (bound)"}),
    ),
    "flash": Structural(
        LOOP, "a feed that does not split into two phases", True, _flash,
        frozenset({"equilibrium[a]", "equilibrium[b]", "equilibrium[c]", "sums"}),
        frozenset(
            {f"substance[{i}]" for i in "abc"} | {f"x[{i}] >= 0 (bound)" for i in "abc"}
            | {"vapour <= 1 (bound)", "vapour >= 0 (bound)"}
        ),
    ),
    "heat pump": Structural(
        LOOP, "a condenser much too small", True, _heat_pump,
        frozenset({"condenser", "energy"}),
        frozenset(
            {"carnot", "compressor", "evaporator", "hot <= 370 (bound)", "source <= 290 (bound)"}
            | {"source >= 275 (bound)", "factor <= 20 (bound)"}
        ),
    ),
    "slab": Structural(
        LOOP, "a rate beyond the critical one", False, _slab,
        frozenset(f"node {i}" for i in range(6)),
        frozenset({"wall temperature >= -0.05 (bound)"}),
    ),
}  # fmt: skip
