"""Three demands, any two of which can hold: a cycle."""

from __future__ import annotations

import casadi as ca

from archeng.model import Model
from case_studies.broken_models.definition import Broken


def _gears(broken: bool) -> Model:
    model = Model("gear train")
    z1 = model.variable("teeth 1", lower=17, upper=40)
    z2 = model.variable("teeth 2", lower=20, upper=120)
    z3 = model.variable("teeth 3", lower=17, upper=40)
    z4 = model.variable("teeth 4", lower=20, upper=120)
    m1 = model.variable("module 1", lower=1, upper=4, unit="mm")
    m2 = model.variable("module 2", lower=1, upper=5, unit="mm")
    w1 = model.variable("face width 1", lower=10, upper=60, unit="mm")
    w2 = model.variable("face width 2", lower=10, upper=80, unit="mm")
    model.subject_to(z2 * z4 / (z1 * z3), lower=8, upper=12, name="ratio")
    model.subject_to(m1 * (z1 + z2) / 2 <= 140, name="centre distance 1 (mm)")
    model.subject_to(m2 * (z3 + z4) / 2 <= 160, name="centre distance 2 (mm)")
    model.subject_to(w1 >= 6 * m1, name="width to module 1 (mm)")
    model.subject_to(w2 >= w1 + 12, name="second stage is wider (mm)")
    model.subject_to(m2 * 8 >= w2, name="no wider than eight modules (mm)")
    limit = 3 if broken else 20
    model.subject_to(m2 * 8 <= w1 + limit, name="modules alike (mm)")
    model.subject_to(2000 * 45e3 / (z1 * m1**2 * w1 * 1e3) <= 220, name="tooth root 1 (MPa)")
    return model


def _cascade(broken: bool) -> Model:
    model = Model("refrigerant cascade")
    p = [model.variable(f"pressure {i}", lower=0.2, upper=40, unit="bar") for i in range(1, 4)]
    work = [model.variable(f"work {i}", lower=0, upper=300, unit="kW") for i in range(1, 4)]
    flow = model.variable("flow", lower=0.2, upper=3, unit="kg/s")
    model.subject_to(p[0] >= 1.5 * p[1] + 0.1, name="lift of stage 1 (bar)")
    model.subject_to(p[1] >= 1.4 * p[2] + 0.1, name="lift of stage 2 (bar)")
    model.subject_to(p[2] >= (0.6 if broken else 0.05) * p[0], name="suction of stage 3 (bar)")
    for i in range(2):
        model.subject_to(
            work[i] == 80 * flow * ((p[i] / p[i + 1]) ** 0.25 - 1),
            name=f"work of stage {i + 1} (kW)",
            tolerance=1e-4,
        )
    model.subject_to(work[2] >= 0.3 * (work[0] + work[1]), name="third stage takes its part (kW)")
    model.subject_to(sum(work) <= 250, name="drive (kW)")
    model.subject_to(flow * ca.sqrt(p[0]) >= 1.2, name="capacity")
    return model


def _holes(broken: bool) -> Model:
    model = Model("three bores in a block")
    size = 50.0
    x = [model.variable(f"x {i}", lower=0, upper=size, unit="mm") for i in range(1, 4)]
    y = [model.variable(f"y {i}", lower=0, upper=size, unit="mm") for i in range(1, 4)]
    bore = [model.variable(f"bore {i}", lower=6, upper=30, unit="mm") for i in range(1, 4)]
    apart = 56.0 if broken else 40.0
    for i, j in ((0, 1), (1, 2), (0, 2)):
        distance = ca.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + 1e-9)
        model.subject_to(distance >= apart, name=f"bores {i + 1} and {j + 1} apart (mm)")
        model.subject_to(distance >= 6 + (bore[i] + bore[j]) / 2, name=f"web {i + 1}{j + 1} (mm)")
    model.subject_to(sum(b**2 for b in bore) >= 900, name="flow area (mm2)")
    return model


_SIDES = frozenset(f"{axis} {i} <= 50 (bound)" for axis in "xy" for i in range(1, 4))

MODELS: dict[str, Broken] = {
    "gears": Broken(
        "cycle",
        "wider than stage 1, at most 8 modules, 8 modules at most 3 mm more than stage 1",
        _gears,
        frozenset(
            {"second stage is wider (mm)", "no wider than eight modules (mm)", "modules alike (mm)"}
        ),
    ),
    "cascade": Broken(
        "cycle",
        "each pressure above the next, the last above 0.6 times the first",
        _cascade,
        frozenset({"lift of stage 1 (bar)", "lift of stage 2 (bar)", "suction of stage 3 (bar)"}),
    ),
    "holes": Broken(
        "cycle",
        "three bores 56 mm apart in a block of 50 mm",
        _holes,
        frozenset(f"bores {i} and {j} apart (mm)" for i, j in ((1, 2), (2, 3), (1, 3))),
        _SIDES,
    ),
}
