"""Rows that change nothing: implied by the others, written twice, or always at their limit.

Linear rows are settled by linear programs; what interval arithmetic can show is proved as well.
For the others a local search tries to reach the limit (or to leave it) from feasible designs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.diagnose.contract import contradicts
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.structure import at_limit
from archeng.diagnose.system import Bools, Kind, System
from archeng.model.variable import Floats

_MOST = 40  # limits that are tried by local search
_STEP = 1e-3  # how far a row must get away from its limit, in its size
_SAME = 1e-9
_LARGEST = 1500  # operations of all rows up to which intervals are tried on all of them


def redundant(oracle: Oracle, points: Floats) -> list[tuple[int, str, bool]]:
    """Inequalities whose limit no design reaches: (limit, why, proved).

    Parameters
    ----------
    oracle : Oracle
    points : ndarray, shape (k, n)
        Feasible points.
    """
    system = oracle.system
    reached = np.any(at_limit(system.excess(points)), axis=0)
    found: list[tuple[int, str, bool]] = []
    rest = oracle.everything
    tried = 0
    for k, copy_of in _copies(system, points):
        found.append((k, f"says the same as {system.quantities[copy_of].name}", True))
        rest[k] = False
    for k in _inequalities(system):
        if not rest[k]:
            continue
        others = rest.copy()
        others[k] = False
        why = (
            _implied(oracle, others, k)
            if not reached[k] or system.quantities[system.limits[k].quantity].linear
            else ""
        )
        if why:
            found.append((k, why, True))
            rest = others
        elif not reached[k] and tried < _MOST:
            tried += 1
            if not _reachable(oracle, others, k, points):
                found.append((k, "no design was found that reaches its limit", False))
    return found


def always_active(oracle: Oracle, points: Floats) -> list[tuple[int, bool]]:
    """Inequalities that are at their limit at every design: (limit, proved)."""
    system = oracle.system
    reached = np.all(at_limit(system.excess(points)), axis=0)
    found = []
    for k in _inequalities(system):
        if not reached[k]:
            continue
        limit, size = system.limits[k], system.size[system.limits[k].quantity]
        inside = replace(limit, value=limit.value - limit.side * _STEP * float(size))
        if system.quantities[limit.quantity].linear:
            most = oracle.linear.extreme(oracle.everything, limit.quantity, -limit.side)
            if limit.side * (most - inside.value) > 0:
                found.append((k, True))
                continue
        limits = [*system.limits[:k], inside, *system.limits[k + 1 :]]
        if contradicts(system, oracle.everything, limits):
            found.append((k, True))
        elif not oracle.reaches(limits, _nearest(system, k, points, farthest=True)):
            found.append((k, False))
    return found


def _inequalities(system: System) -> list[int]:
    return [
        k
        for k, limit in enumerate(system.limits)
        if limit.kind is Kind.ROW and not system.quantities[limit.quantity].equality
    ]


def _implied(oracle: Oracle, others: Bools, k: int) -> str:
    """Why the other limits imply this one; empty if that is not proved."""
    system = oracle.system
    limit = system.limits[k]
    beyond = limit.value + limit.side * _SAME * float(system.size[limit.quantity])
    if system.quantities[limit.quantity].linear:
        most = oracle.linear.extreme(others, limit.quantity, limit.side)
        if limit.side * (most - beyond) <= 0:
            return "implied by bounds and linear rows"
    flipped = replace(limit, side=-limit.side, value=beyond)
    limits = [*system.limits[:k], flipped, *system.limits[k + 1 :]]
    bounds = np.array([other.kind is not Kind.ROW for other in system.limits])
    only_box = others & bounds
    only_box[k] = True
    if contradicts(system, only_box, limits):
        return "holds everywhere in the box"
    if sum(len(graph.nodes) for graph in system.graphs if graph is not None) > _LARGEST:
        return ""
    everything = others.copy()
    everything[k] = True
    return "implied by the other rows" if contradicts(system, everything, limits) else ""


def _reachable(oracle: Oracle, others: Bools, k: int, points: Floats) -> bool:
    """Whether a local search finds a design at the limit."""
    system = oracle.system
    limit = system.limits[k]
    flipped = replace(limit, side=-limit.side)
    limits = [*system.limits[:k], flipped, *system.limits[k + 1 :]]
    return oracle.reaches(limits, _nearest(system, k, points, farthest=False))


def _nearest(system: System, k: int, points: Floats, farthest: bool) -> list[Floats]:
    """Two of the points: those nearest to a limit, or farthest from it."""
    order = np.argsort(system.excess(points)[:, k], kind="stable")
    chosen = order[:2] if farthest else order[::-1][:2]
    return [points[i] for i in chosen]


def _copies(system: System, points: Floats) -> list[tuple[int, int]]:
    """Limits whose room is a multiple of that of an earlier row at every point."""
    rng = np.random.default_rng(0)
    everywhere = np.vstack((system.sample(40, rng), points))
    excess = system.excess(everywhere)
    found: list[tuple[int, int]] = []
    kept: list[int] = []
    for k in _inequalities(system):
        column = excess[:, k]
        good = np.isfinite(column)
        same = [
            j
            for j in kept
            if good.sum() > 3
            and np.array_equal(good, np.isfinite(excess[:, j]))
            and _proportional(column[good], excess[good, j])
        ]
        if same:
            found.append((k, system.limits[same[0]].quantity))
        else:
            kept.append(k)
    return found


def _proportional(a: Floats, b: Floats) -> bool:
    product = float(a @ b)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if not (product > 0 and 0 < lengths < np.inf):
        return False
    gap = a / np.linalg.norm(a) - b / np.linalg.norm(b)
    return bool(np.abs(gap).max() < _SAME)
