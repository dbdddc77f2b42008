"""What can be written down about a truss before it is computed: the explicit constraints."""

from __future__ import annotations

import itertools
import math
from typing import Any

import casadi as ca

import archeng
from case_studies.truss.cases import CASES, DENSITY, PANELS, SIZING_STRESS, Case

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


def build_model(name: str) -> archeng.Model:
    """Return the model of the case ``"sizing"``, ``"stiffness"`` or ``"layout"``."""
    case = CASES[name]
    model = archeng.Model(case.title)
    lower, upper = case.area_bounds
    areas = [
        model.variable(label, lower=lower, upper=upper, start=before, unit="in2")
        for label, before in case.areas.items()
    ]
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
        _statics(model, areas)
    return model


def _statics(model: archeng.Model, areas: list[Any]) -> None:
    """Cuts through both bays: no stress state within the limits balances the loads otherwise.

    Above a cut, shear is carried by the two diagonals, and the moment about a node by the two
    bars that do not pass through it.
    """
    bay, diagonal = 360.0, 1 / math.sqrt(2)
    cuts = {
        "inner": (200.0, 108_000.0, (0, 2, 6, 7)),
        "outer": (100.0, 36_000.0, (1, 3, 8, 9)),
    }
    for where, (shear, moment, (top, bottom, falling, rising)) in cuts.items():
        model.subject_to(
            SIZING_STRESS * diagonal * (areas[falling] + areas[rising]) >= shear,
            name=f"shear, {where} bay (kip)",
        )
        for chord, other, side in ((top, falling, "upper"), (bottom, rising, "lower")):
            model.subject_to(
                SIZING_STRESS * bay * (areas[chord] + diagonal * areas[other]) >= moment,
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
