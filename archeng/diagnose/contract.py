"""Proofs by interval arithmetic: contract a box by one row after the other, then split it."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from archeng.diagnose import intervals as iv
from archeng.diagnose.graph import Graph
from archeng.diagnose.intervals import ALL, EmptyError, Interval
from archeng.diagnose.system import Bools, Limit, System
from archeng.model.variable import Floats

_SWEEPS = 12
_PROGRESS = 0.05  # a sweep that shrinks no range by this share is the last one
_HUGE = 1e100
_WORK = 40_000  # operations of all rows times halvings that a proof may take
_FEWEST, _MOST = 20, 600
Box = list[Interval]
Demand = tuple[Graph, Interval]


def demands(
    system: System, active: Bools, limits: Sequence[Limit] | None = None
) -> tuple[Box, list[Demand]]:
    """Box and rows that the active limits ask for (those of the system if not given)."""
    box: Box = [ALL] * system.n
    ranges: dict[int, Interval] = {}
    limits = system.limits if limits is None else limits
    for k in np.flatnonzero(active):
        limit = limits[int(k)]
        value = float(limit.value)
        side = (-iv.INF, value) if limit.side > 0 else (value, iv.INF)
        if limit.quantity >= system.m:
            i = limit.quantity - system.m
            box[i] = (max(box[i][0], side[0]), min(box[i][1], side[1]))
        else:
            low, high = ranges.get(limit.quantity, ALL)
            ranges[limit.quantity] = (max(low, side[0]), min(high, side[1]))
    rows = [(graph, r) for j, r in ranges.items() if (graph := system.graphs[j]) is not None]
    return box, rows


def proves_conflict(system: System, active: Bools, split: bool = False) -> bool:
    """Whether interval arithmetic proves that the active limits cannot hold together.

    With ``split`` the box is halved again and again, up to a limit on the work.
    """
    box, rows = demands(system, active)
    try:
        for low, high in [*box, *(r for _, r in rows)]:
            if low > high:
                return True
        todo = [contracted(box, rows)]
    except EmptyError:
        return True
    involved = sorted({i for graph, _ in rows for i in graph.variables})
    if not split or not involved:
        return False
    size = sum(len(graph.nodes) for graph, _ in rows)
    for _ in range(min(max(_WORK // size, _FEWEST), _MOST)):
        if not todo:
            return True
        for half in _halves(todo.pop(), involved, system.scale):
            try:
                todo.append(contracted(half, rows))
            except EmptyError:
                continue
    return not todo


def contradicts(system: System, active: Bools, limits: Sequence[Limit]) -> bool:
    """Whether contraction alone proves that other limits than the system's are in conflict."""
    box, rows = demands(system, active, limits)
    if any(low > high for low, high in [*box, *(r for _, r in rows)]):
        return True
    try:
        contracted(box, rows)
    except EmptyError:
        return True
    return False


def inner_box(system: System) -> tuple[Floats, Floats] | None:
    """Bounds (n,) that all limits together leave; None if there is nothing left."""
    try:
        box = contracted(*demands(system, np.ones(len(system.limits), dtype=bool)))
    except EmptyError:
        return None
    ends = np.array(box, dtype=float).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def row_range(graph: Graph, box: Sequence[Interval]) -> Interval | None:
    """Range of a row over a box; None if it is nowhere defined."""
    try:
        return _forward(graph, box)[-1]
    except EmptyError:
        return None


def contracted(box: Box, rows: Sequence[Demand]) -> Box:
    """Shrink a box until no row shrinks it any further."""
    box = list(box)
    for _ in range(_SWEEPS):
        before = list(box)
        for graph, demand in rows:
            _revise(graph, demand, box)
        if not any(_shrunk(a, b) for a, b in zip(before, box, strict=True)):
            break
    return box


def _shrunk(before: Interval, after: Interval) -> bool:
    if before == after:
        return False
    old, new = before[1] - before[0], after[1] - after[0]
    return bool(np.isinf(old)) or new < (1.0 - _PROGRESS) * old


def _forward(graph: Graph, box: Sequence[Interval]) -> list[Interval]:
    ranges: list[Interval] = []
    for node in graph.nodes:
        if node.op == ca.OP_INPUT:
            ranges.append(box[int(node.value)])
        elif node.op == ca.OP_CONST:
            ranges.append((node.value, node.value))
        else:
            ranges.append(iv.forward(node.op, [ranges[i] for i in node.inputs]))
    return ranges


def _revise(graph: Graph, demand: Interval, box: Box) -> None:
    """Shrink the box to where the row can lie in its range (HC4 revise)."""
    ranges = _forward(graph, box)
    ranges[-1] = iv.meet(ranges[-1], demand)
    for k in range(len(graph.nodes) - 1, -1, -1):
        node, v = graph.nodes[k], ranges[k]
        if node.op == ca.OP_INPUT:
            i = int(node.value)
            box[i] = iv.meet(box[i], v)
        elif node.op in (ca.OP_CONSTPOW, ca.OP_POW):
            base, exponent = node.inputs
            if ranges[exponent][0] == ranges[exponent][1]:
                ranges[base] = iv.from_power(v, ranges[base], ranges[exponent][0])
        elif len(node.inputs) == 1 and node.op in iv.BACKWARD_UNARY:
            (a,) = node.inputs
            ranges[a] = iv.BACKWARD_UNARY[node.op](v, ranges[a])
        elif len(node.inputs) == 2 and node.op in iv.BACKWARD_BINARY:
            a, b = node.inputs
            ranges[a], ranges[b] = iv.BACKWARD_BINARY[node.op](v, ranges[a], ranges[b])


def _halves(box: Box, involved: Sequence[int], scale: Floats) -> tuple[Box, Box]:
    """Split the range that is widest for its variable."""

    def width(i: int) -> float:
        return (box[i][1] - box[i][0]) / float(scale[i])

    i = max(involved, key=width)
    low, high = box[i]
    if np.isfinite(low) and np.isfinite(high):
        middle = (low + high) / 2
    elif np.isfinite(low):
        middle = low + 10.0 * max(min(abs(low), _HUGE), float(scale[i]))
    elif np.isfinite(high):
        middle = high - 10.0 * max(min(abs(high), _HUGE), float(scale[i]))
    else:
        middle = 0.0
    middle = min(max(middle, -_HUGE), _HUGE)
    return [*box[:i], (low, middle), *box[i + 1 :]], [*box[:i], (middle, high), *box[i + 1 :]]
