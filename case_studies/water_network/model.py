"""Variables and explicit constraints of a network, as CasADi formulas."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import PchipInterpolator

from archeng import Model
from case_studies.water_network.networks import FASTEST, INCH, Network, network

THOUSAND = 1e3


def build_model(name: str = "two_loop", *, budget: bool = True) -> Model:
    """Return a network: one diameter for each pipe; the rules of the water works.

    ``budget=False`` leaves out the budget, for the search of the cheapest network.
    """
    net = network(name)
    model = Model(net.title)
    low, high = net.diameter
    n = len(net.pipes)
    d = model.variable("diameter", shape=n, lower=low, upper=high, unit="in")
    if budget:
        cost = total_cost(net, d) / THOUSAND
        model.subject_to(cost <= net.budget / THOUSAND, name="budget (1000 $)")
    for wide, narrow in net.downstream:
        gap = d[net.position(wide)] - d[net.position(narrow)]
        model.subject_to(gap >= 0, name=f"pipe {narrow} no wider than {wide} (in)")
    for pipe in net.branches:
        speed = velocity(net.flow(pipe), d[net.position(pipe)])
        model.subject_to(speed <= FASTEST, name=f"velocity in {pipe} (m/s)")
    return model


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
