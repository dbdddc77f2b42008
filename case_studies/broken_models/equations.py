"""Equations that cannot be met."""

from __future__ import annotations

import casadi as ca

from archeng.model import Model
from case_studies.broken_models.definition import Broken


def _alloy(broken: bool) -> Model:
    model = Model("alloy")
    names = ("nickel", "chromium", "cobalt", "titanium", "aluminium")
    upper = (0.45, 0.2, 0.15, 0.05, 0.05) if broken else (0.65, 0.2, 0.15, 0.05, 0.05)
    part = [model.variable(n, lower=0.01, upper=u) for n, u in zip(names, upper, strict=True)]
    heat = model.variable("annealing", lower=900, upper=1200, unit="K")
    time = model.variable("time", lower=1, upper=24, unit="h")
    model.subject_to(sum(part) == 1, name="fractions add up")
    strength = 300 + 900 * ca.sqrt(part[3] + part[4]) + 200 * part[2] - 0.1 * (heat - 900)
    model.subject_to(strength >= 480, name="strength (MPa)")
    model.subject_to(
        8900 * part[0] + 7200 * part[1] + 8900 * part[2] + 4500 * part[3] + 2700 * part[4] <= 8700,
        name="density (kg/m3)",
    )
    model.subject_to(part[1] + part[4] >= 0.12, name="oxidation")
    model.subject_to(time * ca.exp(-9000 / heat) * 1e4 >= 2.5, name="diffusion")
    return model


def _recycle(broken: bool) -> Model:
    model = Model("reactor with recycle")
    feed = model.variable("feed", lower=10, upper=100, unit="kmol/h")
    mixed = model.variable("reactor inlet", lower=10, upper=900, unit="kmol/h")
    out = model.variable("unreacted", lower=0, upper=900, unit="kmol/h")
    product = model.variable("product", lower=0, upper=500, unit="kmol/h")
    recycle = model.variable("recycle", lower=0, upper=800, unit="kmol/h")
    purge = model.variable("purge", lower=0.5, upper=100, unit="kmol/h")
    conversion = model.variable("conversion", lower=0.1, upper=0.9)
    volume = model.variable("volume", lower=0.5, upper=40, unit="m3")
    tight = {"tolerance": 1e-4}
    model.subject_to(mixed == feed + recycle, name="mixer (kmol/h)", **tight)
    model.subject_to(product == conversion * mixed, name="reactor (kmol/h)", **tight)
    model.subject_to(out == (1 - conversion) * mixed, name="unreacted out (kmol/h)", **tight)
    model.subject_to(out == recycle + purge, name="splitter (kmol/h)", **tight)
    model.subject_to(conversion * mixed <= 0.6 * volume * (1 - conversion) * 60, name="kinetics")
    model.subject_to(product >= (130 if broken else 80), name="demand (kmol/h)")
    model.subject_to(recycle <= 12 * feed, name="recycle ratio (kmol/h)")
    return model


def _boiler(broken: bool) -> Model:
    model = Model("boiler")
    fuel = model.variable("fuel", lower=0.1, upper=3, unit="MW")
    steam = model.variable("steam", lower=0.1, upper=3, unit="MW")
    stack = model.variable("stack loss", lower=0.01, upper=1, unit="MW")
    wall = model.variable("wall loss", lower=0.005, upper=0.2, unit="MW")
    gas = model.variable("flue gas", lower=400, upper=700, unit="K")
    air = model.variable("excess air", lower=1.05, upper=1.6)
    area = model.variable("area", lower=5, upper=80, unit="m2")
    tight = {"tolerance": 1e-5}
    model.subject_to(fuel == steam + stack + wall, name="energy balance (MW)", **tight)
    model.subject_to(stack == fuel * air * 5e-4 * (gas - 290), name="stack loss (MW)", **tight)
    model.subject_to(steam >= (1.02 if broken else 0.85) * fuel, name="efficiency (MW)")
    model.subject_to(steam >= 1.2, name="steam demand (MW)")
    model.subject_to(steam <= 6e-5 * area * (gas - 280) * 3, name="heat transfer (MW)")
    model.subject_to(wall >= 4e-4 * area, name="wall loss (MW)")
    return model


def _network(broken: bool) -> Model:
    model = Model("water network")
    pipes = ("S-A", "S-B", "A-B", "A-C", "B-C")
    q = {p: model.variable(f"flow {p}", lower=-80, upper=120, unit="l/s") for p in pipes}
    d = {p: model.variable(f"diameter {p}", lower=0.1, upper=0.5, unit="m") for p in pipes}
    supply = 100.0
    demand = {"A": 40.0, "B": 35.0, "C": 30.0 if broken else 25.0}
    tight = {"tolerance": 1e-5}
    model.subject_to(q["S-A"] + q["S-B"] == supply, name="balance at S (l/s)", **tight)
    model.subject_to(
        q["S-A"] - q["A-B"] - q["A-C"] == demand["A"], name="balance at A (l/s)", **tight
    )
    model.subject_to(
        q["S-B"] + q["A-B"] - q["B-C"] == demand["B"], name="balance at B (l/s)", **tight
    )
    model.subject_to(q["A-C"] + q["B-C"] == demand["C"], name="balance at C (l/s)", **tight)
    for p in pipes:
        speed = q[p] * 1e-3 / (0.785 * d[p] ** 2)
        model.subject_to(speed, lower=-2, upper=2, name=f"speed {p} (m/s)")
    head = 8e-4 * (q["S-A"] / d["S-A"] ** 2.5 * 1e-1) ** 2 * 1e-3
    model.subject_to(head <= 12, name="head loss to A (m)")
    return model


def _blend(broken: bool) -> Model:
    model = Model("fuel blend")
    names = ("reformate", "alkylate", "naphtha", "butane", "ethanol")
    v = [model.variable(n, lower=0, upper=60, unit="m3/h") for n in names]
    octane = (98.0, 95.0, 68.0, 92.0, 108.0)
    vapour = (30.0, 35.0, 75.0, 360.0, 130.0)
    total = model.variable("blend", lower=20, upper=150, unit="m3/h")
    quality = model.variable("octane", lower=80, upper=105)
    model.subject_to(sum(v) == total, name="volume balance (m3/h)", tolerance=1e-5)
    model.subject_to(
        sum(o * x for o, x in zip(octane, v, strict=True)) == quality * total,
        name="octane balance",
        tolerance=1e-4,
    )
    model.subject_to(
        sum(p * x for p, x in zip(vapour, v, strict=True)) <= 60 * total, name="vapour pressure"
    )
    model.subject_to(v[4] <= 0.1 * total, name="ethanol at most 10 % (m3/h)")
    model.subject_to(v[2] >= (0.5 if broken else 0.1) * total, name="naphtha to be used (m3/h)")
    model.subject_to(quality >= 95, name="octane at least 95")
    model.subject_to(total >= 60, name="demand (m3/h)")
    return model


_UPPER = {"nickel": 0.45, "chromium": 0.2, "cobalt": 0.15, "titanium": 0.05, "aluminium": 0.05}

MODELS: dict[str, Broken] = {
    "alloy": Broken(
        "equation",
        "upper bounds of the fractions add up to 0.9",
        _alloy,
        frozenset({"fractions add up", *(f"{n} <= {u:g} (bound)" for n, u in _UPPER.items())}),
    ),
    "recycle": Broken(
        "equation",
        "more product than the whole feed",
        _recycle,
        frozenset({"demand (kmol/h)", "feed <= 100 (bound)"}),
        frozenset(
            {"mixer (kmol/h)", "reactor (kmol/h)", "unreacted out (kmol/h)", "splitter (kmol/h)"}
            | {"purge >= 0.5 (bound)"}
        ),
    ),
    "boiler": Broken(
        "equation",
        "an efficiency above one",
        _boiler,
        frozenset({"energy balance (MW)", "efficiency (MW)"}),
        frozenset(
            {"wall loss >= 0.005 (bound)", "stack loss >= 0.01 (bound)", "wall loss (MW)"}
            | {"stack loss (MW)"}
        ),
    ),
    "network": Broken(
        "equation",
        "the nodes draw 105 l/s, the source gives 100",
        _network,
        frozenset(f"balance at {node} (l/s)" for node in "SABC"),
    ),
    "blend": Broken(
        "equation",
        "half of the blend is a component with an octane number of 68",
        _blend,
        frozenset({"naphtha to be used (m3/h)", "octane at least 95", "octane balance"}),
        frozenset(
            {"volume balance (m3/h)", "ethanol at most 10 % (m3/h)", "demand (m3/h)"}
            | {"blend >= 20 (bound)"}
        ),
    ),
}
