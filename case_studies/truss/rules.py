"""A referee for the explicit constraints: plain numpy, formulas of its own."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from case_studies.truss.cases import CASES, Case, Floats

ROUNDING = 1e-9  # of each limit


def broken_rules(name: str, x: ArrayLike) -> list[str]:
    """Return in words which explicit constraints a design breaks by more than rounding.

    Parameters
    ----------
    name : {"sizing", "stiffness", "sections", "layout"}
    x : array_like
        The design as a flat vector.
    """
    case = CASES[name]
    x = np.asarray(x, dtype=float)
    if not np.isfinite(x).all():
        return ["a value is not finite"]
    nodes, areas = case.geometry(x)
    broken = _outside(case, x)
    mass = 0.1 * sum(a * length for a, length in zip(areas, case.lengths(nodes), strict=True))
    if mass > case.mass_budget * (1 + ROUNDING):
        broken.append(f"mass {mass:.6g} lb")
    return broken + (_layout(case, nodes, areas) if case.moved else _sizing(areas))


def _outside(case: Case, x: Floats) -> list[str]:
    bounds = [case.area_bounds] * len(case.areas)
    bounds += [pair for pairs in case.moved.values() for pair in pairs]
    outside = [
        f"value {k + 1} is {value!r}"
        for k, (value, (low, high)) in enumerate(zip(x.tolist(), bounds, strict=True))
        if not low <= value <= high
    ]
    if case.sections:  # exactly one of the list
        for k in np.flatnonzero(~np.isin(x, case.sections)).tolist():
            outside.append(f"value {k + 1} is {float(x[k])!r}, no section")
    return outside


def _sizing(areas: Floats) -> list[str]:
    """Judge what the bars on a cut can carry at 25 ksi; forces in kips, arms in inches."""
    a = dict(enumerate((25 * areas).tolist(), start=1))
    arm, tilt = 360.0, np.sqrt(0.5)
    carried = {
        "shear, inner bay": (tilt * (a[7] + a[8]), 200),
        "shear, outer bay": (tilt * (a[9] + a[10]), 100),
        "moment about node 6": (arm * a[1] + arm * tilt * a[7], 100 * 360 + 100 * 720),
        "moment about node 5": (arm * a[3] + arm * tilt * a[8], 100 * 360 + 100 * 720),
        "moment about node 4": (arm * a[2] + arm * tilt * a[9], 100 * 360),
        "moment about node 3": (arm * a[4] + arm * tilt * a[10], 100 * 360),
    }
    return [what for what, (held, load) in carried.items() if held < load * (1 - ROUNDING)]


def _layout(case: Case, nodes: Floats, areas: Floats) -> list[str]:
    lengths = case.lengths(nodes)
    slenderness = lengths / np.sqrt(4 * areas / np.pi**2)
    broken = [f"bar {b + 1} is short" for b in np.flatnonzero(lengths < 40 * (1 - ROUNDING))]
    broken += [
        f"bar {b + 1} is slender" for b in np.flatnonzero(slenderness > 300 * (1 + ROUNDING))
    ]
    x = nodes[[2, 4, 6, 8], 0]
    broken += [
        f"node {2 * k + 3} is too near in x" for k in np.flatnonzero(-np.diff(x) < 50 - 1e-6)
    ]
    if least_panel(nodes) < 1000 * (1 - ROUNDING):
        broken.append("a panel is too small")
    if crossing(case, nodes):
        broken.append("bars cross")
    return broken


def least_panel(nodes: Floats) -> float:
    """Return the least signed area of the nine triangles of the 18-bar truss.

    Every third node of the zigzag 1, 2, 3, 4, 5, ... closes a triangle; turned over, it is
    negative. The zigzag begins with the triangle 1, 2, 3.
    """
    areas = []
    for k in range(9):
        (ax, ay), (bx, by), (cx, cy) = nodes[k : k + 3]
        shoelace = (ax * by - bx * ay) + (bx * cy - cx * by) + (cx * ay - ax * cy)
        areas.append(shoelace / 2 * (-1) ** k)
    return float(min(areas))


def crossing(case: Case, nodes: Floats) -> list[tuple[int, int]]:
    """Return the pairs of bars, counted from 1, that cross between their ends."""

    def side(a: int, b: int, c: int) -> float:
        u, v = nodes[b] - nodes[a], nodes[c] - nodes[a]
        return float(u[0] * v[1] - u[1] * v[0])

    pairs = []
    for (m, (a, b)), (n, (c, d)) in itertools.combinations(enumerate(case.bars.tolist(), 1), 2):
        apart = {a, b}.isdisjoint({c, d})
        if apart and side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
            pairs.append((m, n))
    return pairs
