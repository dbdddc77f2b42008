"""What can be written down about a truss: explicit constraints, and formulas of its forces.

How the load divides between the bars only the program tells. Stresses, buckling and the
displacement of the tip follow from the forces.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import casadi as ca

import archeng
from case_studies.shared.forms import Form
from case_studies.truss.cases import (
    CASES,
    DENSITY,
    EULER,
    PANELS,
    SIZING_STRESS,
    UNIT_FORCES,
    YOUNG,
    Case,
)

SHORTEST = 40.0
"""Least length of a bar in inches: two gusset plates need room."""

SLENDEREST = 300.0
"""Largest slenderness of a bar, length over radius of gyration."""

GYRATION = 4 / math.pi**2
"""Squared radius of gyration over area; the Euler stress 4 E A / L^2 implies it."""

SPACING = 50.0
"""Least distance in x between neighbours of the lower chord, in inches."""

LEAST_PANEL = 1000.0
"""Least area of a triangle between bars, in square inches. Then no bars cross."""

OUTPUTS: dict[str, dict[str, tuple[str, ...]]] = {
    "grey": {
        "sizing": ("force",),
        "sections": ("force",),
        "stiffness": ("force", "displacement"),
        "layout": ("force",),
    },
    "direct": {
        "sizing": ("stress", "displacement"),
        "sections": ("stress", "displacement"),
        "stiffness": ("stress", "stiffness"),
        "layout": ("stress", "buckling"),
    },
    "black": {"sizing": (), "sections": (), "stiffness": (), "layout": ()},
}
"""What the program is asked for in each form of each case: one value for each bar or tip node."""

UNITS = {"force": "kip", "stress": "ksi", "displacement": "in", "stiffness": "kip/in"}
TIP = (1, 2)
"""Nodes of the ten-bar truss whose displacements are limited."""
OF_TIP = ("displacement", "stiffness")
"""Outputs that are of these nodes; the others are of bars."""


def build_model(name: str, form: Form = "grey") -> archeng.Model:
    """Return the model of one of the cases: sizing, stiffness, sections or layout."""
    case = CASES[name]
    model = archeng.Model(case.title)
    load = model.parameter("load", case.load, unit="kip")
    areas = [_area(model, case, label, before) for label, before in case.areas.items()]
    nodes = ca.SX(case.nodes)
    for i, bounds in case.moved.items():
        for axis, (low, high) in enumerate(bounds):
            label, before = f"{'xy'[axis]}{i + 1}", float(case.nodes[i, axis])
            nodes[i, axis] = model.variable(label, lower=low, upper=high, start=before, unit="in")
    of_bars = ca.vertcat(*(areas[g] for g in case.groups))
    spans = ca.vertcat(*(nodes[int(j), :] - nodes[int(i), :] for i, j in case.bars))
    squared = ca.sum2(spans**2)
    mass = DENSITY * ca.dot(of_bars, ca.sqrt(squared))
    model.subject_to(mass <= case.mass_budget, name="mass budget (lb)")
    if case.moved:
        _layout_rules(model, case, nodes, of_bars, squared)
    else:
        _statics(model, areas, case.load if form == "black" else load)
    if form != "black":
        for label, value in _limited(model, name, form, load, of_bars, ca.sqrt(squared)).items():
            lower, upper = case.limits[label]
            model.subject_to(value, lower=lower, upper=upper, name=label)
        model.minimize(mass, name="mass (lb)")
    return model


def _area(model: archeng.Model, case: Case, label: str, before: float) -> Any:
    """Declare an area: any between the bounds, or one of the sections."""
    if case.sections:
        return model.choice(label, case.sections, start=before, unit="in2")
    lower, upper = case.area_bounds
    return model.variable(label, lower=lower, upper=upper, start=before, unit="in2")


def _limited(
    model: archeng.Model, name: str, form: Form, load: Any, areas: Any, lengths: Any
) -> dict[str, Any]:
    """Declare what the program returns; return what is limited, by the names of the limits."""
    bars = len(CASES[name].bars)
    z = {
        what: model.output(what, shape=len(TIP) if what in OF_TIP else bars, unit=UNITS.get(what))
        for what in OUTPUTS[form][name]
    }
    if form == "grey":
        z["stress"] = z["force"] / areas
        z["buckling"] = -z["stress"] * lengths**2 / (EULER * YOUNG * areas)
        if name in ("sizing", "sections"):
            z["displacement"] = _tip(z["stress"], lengths)
        elif name == "stiffness":
            z["stiffness"] = -load / z["displacement"]
    labels = {
        "stress": [f"stress in bar {b} (ksi)" for b in range(1, bars + 1)],
        "buckling": [f"buckling of bar {b}" for b in range(1, bars + 1)],
        "displacement": [f"displacement of node {i} (in)" for i in TIP],
        "stiffness": [f"stiffness at node {i} (kip/in)" for i in TIP],
    }
    known = {
        label: z[what][k] for what in labels if what in z for k, label in enumerate(labels[what])
    }
    return {label: known[label] for label in CASES[name].limits}


def _tip(stresses: Any, lengths: Any) -> Any:
    """Displacements of the tip upwards, by the principle of virtual forces."""
    return ca.vertcat(
        *(
            sum(f * stresses[b - 1] * lengths[b - 1] / YOUNG for b, f in UNIT_FORCES[node].items())
            for node in TIP
        )
    )


def _statics(model: archeng.Model, areas: list[Any], load: Any) -> None:
    """Cuts through both bays: no stress state within the limits balances the loads otherwise.

    Above a cut, shear is carried by the two diagonals, and the moment about a node by the two
    bars that do not pass through it.
    """
    bay, diagonal = 360.0, 1 / math.sqrt(2)
    cuts = {
        "inner": (2, 3 * bay, (0, 2, 6, 7)),
        "outer": (1, bay, (1, 3, 8, 9)),
    }
    for where, (shear, moment, (top, bottom, falling, rising)) in cuts.items():
        model.subject_to(
            SIZING_STRESS * diagonal * (areas[falling] + areas[rising]) >= shear * load,
            name=f"shear, {where} bay (kip)",
        )
        for chord, other, side in ((top, falling, "upper"), (bottom, rising, "lower")):
            model.subject_to(
                SIZING_STRESS * bay * (areas[chord] + diagonal * areas[other]) >= moment * load,
                name=f"moment, {where} bay, {side} chord (kip in)",
            )


def _layout_rules(model: archeng.Model, case: Case, nodes: Any, areas: Any, squared: Any) -> None:
    """Bars long and stout enough, nodes in order, no bars that cross."""
    changing = [b for b, ends in enumerate(case.bars.tolist()) if set(ends) & set(case.moved)]
    for b in changing:
        model.subject_to(squared[b] >= SHORTEST**2, name=f"length of bar {b + 1} squared (in2)")
    for b in [0, *changing]:  # bar 1 stands for the upper chord, whose bars are all alike
        model.subject_to(
            squared[b] <= SLENDEREST**2 * GYRATION * areas[b],
            name=f"slenderness of bar {b + 1}",
        )
    chord = list(case.moved)
    for i, j in itertools.pairwise(chord):
        model.subject_to(
            nodes[i, 0] - nodes[j, 0] >= SPACING, name=f"node {i + 1} right of node {j + 1} (in)"
        )
    for i, j, k in PANELS:
        p, q, r = (nodes[n - 1, :] for n in (i, j, k))
        doubled = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
        model.subject_to(doubled / 2 >= LEAST_PANEL, name=f"panel {i}-{j}-{k} (in2)")
