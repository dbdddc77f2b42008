"""Variables and explicit constraints of a network; pressures as formulas of flows (grey form).

How the water divides between the pipes only a hydraulic solver tells. What pressure is lost by a
known flow is a formula, that of Hazen and Williams.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import PchipInterpolator

from archeng import Model
from case_studies.shared.forms import Form
from case_studies.water_network.networks import (
    FASTEST,
    INCH,
    LEAST_PRESSURE,
    Aim,
    Network,
    Sizes,
    network,
    simulated_limits,
)

THOUSAND = 1e3
FLOW, PRESSURE, HEAD = "flow", "pressure", "reservoir head"
"""Outputs (of the grey and of the direct form) and the parameter."""

FOOT = 12.0  # in
CUBIC_FEET = 101.94  # m3/h in a cubic foot per second, as EPANET has it
LOSS, FLOW_POWER, DIAMETER_POWER = 4.727, 1.852, 4.871  # Hazen and Williams, in feet
STILL = 1e-12  # squared cubic feet per second; keeps derivatives finite where nothing flows


def build_model(
    name: str = "two_loop",
    *,
    aim: Aim = "resilience",
    form: Form = "grey",
    sizes: Sizes = "any",
) -> Model:
    """Return a network: one diameter for each pipe; the rules of the water works.

    Parameters
    ----------
    name : str
        Of the network.
    aim : {"resilience", "cost"}
        The most resilient network for the budget, or the cheapest one.
    form : {"grey", "direct", "black"}
        Outputs of the simulator are the flows, or the pressures; in the black form there are none.
    sizes : {"any", "catalogue"}
        Any diameter, or only those of the price list: then the variable is the vector ``pipe``.
    """
    net = network(name)
    model = Model(net.title)
    n = len(net.pipes)
    d, cost = _pipes(model, net, sizes)
    if aim == "resilience":
        model.subject_to(cost / THOUSAND <= net.budget / THOUSAND, name="budget (1000 $)")
    for wide, narrow in net.downstream:
        gap = d[net.position(wide)] - d[net.position(narrow)]
        model.subject_to(gap >= 0, name=f"pipe {narrow} no wider than {wide} (in)")
    for pipe in net.branches:
        speed = velocity(net.flow(pipe), d[net.position(pipe)])
        model.subject_to(speed <= FASTEST, name=f"velocity in {pipe} (m/s)")
    if form == "black":
        return model
    head = model.parameter(HEAD, net.head, unit="m")
    if form == "grey":
        flows = model.output(FLOW, shape=n, unit="m3/h")
        pressures = pressures_of_flows(net, d, flows, head)
    else:
        pressures = model.output(PRESSURE, shape=len(net.demands), unit="m")
    for j, (label, (least, _)) in enumerate(simulated_limits(net).items()):
        model.subject_to(pressures[j], lower=least, name=label)
    if aim == "resilience":
        model.maximize(resilience(net, pressures, head), name="resilience")
    else:
        model.minimize(cost, name="cost ($)")
    return model


def _pipes(model: Model, net: Network, sizes: Sizes) -> tuple[Any, Any]:
    """Declare the pipes; return their diameters and what they cost."""
    n = len(net.pipes)
    if sizes == "any":
        low, high = net.diameter
        d = model.variable("diameter", shape=n, lower=low, upper=high, unit="in")
        return d, total_cost(net, d)
    rows = [{"name": k, "diameter": d, "price": price} for k, (d, price) in net.parts.items()]
    pipe = model.catalogue("pipe", rows, order="diameter", shape=n)
    return pipe["diameter"], ca.dot(ca.DM(net.lengths), pipe["price"])


def pressures_of_flows(net: Network, d: Any, flows: Any, head: Any) -> Any:
    """Pressures at the junctions in m: the head of the source less what is lost on the way."""
    losses = [head_loss(net, p.length, d[i], flows[i]) for i, p in enumerate(net.pipes)]
    lost = {
        junction: sum(sign * losses[i] for i, sign in way) for junction, way in net.ways().items()
    }
    return ca.vertcat(*(head - net.elevations[j] - lost[j] for j in net.demands))


def head_loss(net: Network, length: float, d: Any, flow: Any) -> Any:
    """Metres of head that are lost in a pipe; it has the sign of the flow (m3/h)."""
    rate = flow / CUBIC_FEET
    power = rate * (rate**2 + STILL) ** ((FLOW_POWER - 1) / 2)
    return LOSS * length * power / (net.roughness**FLOW_POWER * (d / FOOT) ** DIAMETER_POWER)


def resilience(net: Network, pressures: Any, head: Any) -> Any:
    """Index of Todini: power in excess of what is needed, of all that could be.

    Negative if pressures are too low, at most 1.
    """
    demands = list(net.demands.values())
    excess = sum(q * (pressures[j] - LEAST_PRESSURE) for j, q in enumerate(demands))
    needed = sum(q * (net.elevations[j] + LEAST_PRESSURE) for j, q in net.demands.items())
    return excess / (sum(demands) * head - needed)


def total_cost(net: Network, d: Any) -> Any:
    """Cost of a network in dollars."""
    return sum(p.length * price(net, d[i]) for i, p in enumerate(net.pipes))


def price(net: Network, d: Any) -> Any:
    """Price of a pipe in dollars per metre: the formula, or a smooth curve through the catalogue.

    The curve is a monotone cubic in the logarithms, with a coefficient for each gap of the sizes.
    """
    if net.formula is not None:
        factor, exponent = net.formula
        return factor * d**exponent
    assert net.catalogue is not None
    knots, values = (np.log(v) for v in net.catalogue)
    curve = PchipInterpolator(knots, values)
    x = ca.log(d)
    inner = ca.DM(knots[1:-1])
    begin, *cubic = (ca.pw_const(x, inner, ca.DM(c)) for c in (knots[:-1], *curve.c))
    logarithm = 0
    for coefficient in cubic:
        logarithm = logarithm * (x - begin) + coefficient
    return ca.exp(logarithm)


def velocity(flow: float, d: Any) -> Any:
    """Velocity in m/s of a flow in m3/s through a diameter in inches."""
    return flow / (math.pi / 4 * INCH**2 * d**2)
