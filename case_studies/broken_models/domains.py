"""Rows that are undefined wherever the others hold."""

from __future__ import annotations

import casadi as ca

from archeng.model import Model
from case_studies.broken_models.definition import Broken


def _exchanger(broken: bool) -> Model:
    model = Model("heat exchanger")
    hot_in = model.variable("hot in", lower=60, upper=95, unit="C")
    hot_out = model.variable("hot out", lower=30, upper=90, unit="C")
    cold_in = model.variable("cold in", lower=10, upper=25, unit="C")
    cold_out = model.variable("cold out", lower=20, upper=120, unit="C")
    area = model.variable("area", lower=1, upper=60, unit="m2")
    hot = model.variable("hot flow", lower=0.2, upper=3, unit="kg/s")
    cold = model.variable("cold flow", lower=0.2, upper=3, unit="kg/s")
    mean = (hot_in - cold_out - hot_out + cold_in) / ca.log(
        (hot_in - cold_out) / (hot_out - cold_in)
    )
    duty = 4.18 * hot * (hot_in - hot_out)
    model.subject_to(0.8 * area * mean >= duty, name="transfer (kW)")
    model.subject_to(
        4.18 * cold * (cold_out - cold_in) == duty, name="energy balance (kW)", tolerance=1e-4
    )
    model.subject_to(hot_out - cold_in >= 8, name="cold end (K)")
    model.subject_to(cold_out >= (102 if broken else 70), name="wanted (C)")
    model.subject_to(duty >= 60, name="duty (kW)")
    return model


def _valve(broken: bool) -> Model:
    model = Model("control valve")
    supply = model.variable("supply", lower=2, upper=6, unit="bar")
    before = model.variable("before the valve", lower=1, upper=8, unit="bar")
    after = model.variable("after the valve", lower=1, upper=8, unit="bar")
    consumer = model.variable("consumer", lower=0.5, upper=8, unit="bar")
    opening = model.variable("opening", lower=0.1, upper=1)
    flow = model.variable("flow", lower=0.5, upper=30, unit="m3/h")
    size = model.variable("Kv", lower=1, upper=40, unit="m3/h")
    model.subject_to(
        flow == size * opening * ca.sqrt(before - after), name="valve (m3/h)", tolerance=1e-5
    )
    model.subject_to(before <= supply - 0.002 * flow**2, name="supply pipe (bar)")
    model.subject_to(after >= consumer + 0.4, name="pipe to the consumer (bar)")
    model.subject_to(consumer >= (6.2 if broken else 3), name="consumer pressure (bar)")
    model.subject_to(flow >= 6, name="flow wanted (m3/h)")
    model.subject_to(opening <= 0.8, name="reserve of the valve")
    return model


MODELS: dict[str, Broken] = {
    "exchanger": Broken(
        "domain",
        "the cold stream is to leave hotter than the hot one can enter",
        _exchanger,
        frozenset({"transfer (kW)", "wanted (C)", "hot in <= 95 (bound)"}),
        # one of these keeps the other difference positive: the quotient of two negative ones
        # would have a logarithm
        frozenset({"cold end (K)", "hot out >= 30 (bound)", "cold in <= 25 (bound)"}),
    ),
    "valve": Broken(
        "domain",
        "a consumer pressure above the supply: a square root of a negative drop",
        _valve,
        frozenset({"valve (m3/h)", "consumer pressure (bar)", "supply <= 6 (bound)"}),
        frozenset({"supply pipe (bar)", "pipe to the consumer (bar)"}),
    ),
}
