"""Proofs by interval arithmetic on the operations of rows, forwards and backwards.

Forwards: the range of every node from the ranges of its inputs. Backwards: which part of the
ranges of the inputs can produce a given range of the node (the HC4 contractor [BGGP99]). A box is
contracted by one row after the other, then split. Results are rounded outwards, so that an empty
range is a proof. An operation without a rule may have any value, which is always true.

[BGGP99] F. Benhamou, F. Goualard, L. Granvilliers, J.-F. Puget, Revising hull and box consistency,
ICLP 1999, pp. 230-244, MIT Press.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from archeng.diagnose.graph import Graph
from archeng.diagnose.limits import Bools, LimitKind, LimitSystem
from archeng.model.variable import Floats

Interval = tuple[float, float]
Box = list[Interval]
RowRange = tuple[int, Graph, Interval]
"""A row, its operations, and the range in which it has to lie."""
Levels = Mapping[int, Floats]
ALL_REAL: Levels = {}
"""No variable is discrete."""

INF = math.inf
ALL: Interval = (-INF, INF)
POSITIVE: Interval = (0.0, INF)
_RELATIVE = 1e-15  # error of the library functions other than sqrt, exp, log and pow
_LARGEST_ANGLE = 1e6  # beyond this sines are not reduced, but may be anything
_SWEEPS = 12  # over all rows, at most
_PROGRESS = 0.05  # a sweep that shrinks no range by this share is the last one
_HUGE = 1e100  # a range without an end is split no farther out
_WORK = 40_000  # operations of all rows times halvings that a proof may take
_FEWEST, _MOST = 20, 600  # halvings, however many operations the rows have


class EmptyError(Exception):
    """No number is possible: a proof that the constraints cannot hold together."""


def _outward(lower: float, upper: float) -> Interval:
    """Round outwards by two units in the last place."""
    step = math.nextafter
    return step(step(lower, -INF), -INF), step(step(upper, INF), INF)


def _same_sign(lower: float, upper: float) -> Interval:
    """Round outwards, but not across zero: for operations whose sign is certain."""
    down, up = _outward(lower, upper)
    return (max(down, 0.0) if lower >= 0.0 else down), (min(up, 0.0) if upper <= 0.0 else up)


def meet(a: Interval, b: Interval) -> Interval:
    """Return the intersection; raise if there is none."""
    lower, upper = max(a[0], b[0]), min(a[1], b[1])
    if lower > upper:
        raise EmptyError
    return lower, upper


def add(a: Interval, b: Interval) -> Interval:
    """Range of a + b."""
    lower, upper = _outward(a[0] + b[0], a[1] + b[1])
    if a[0] >= 0.0 and b[0] >= 0.0:
        lower = max(lower, 0.0)
    if a[1] <= 0.0 and b[1] <= 0.0:
        upper = min(upper, 0.0)
    return lower, upper


def _sub(a: Interval, b: Interval) -> Interval:
    return _outward(a[0] - b[1], a[1] - b[0])


def mul(a: Interval, b: Interval) -> Interval:
    """Range of a * b."""
    ends = [0.0 if p == 0.0 or q == 0.0 else p * q for p in a for q in b]
    return _same_sign(min(ends), max(ends))


def _inv(a: Interval) -> Interval:
    """Range of 1 / a; a pole inside makes it all numbers."""
    if a[0] == 0.0 == a[1]:
        raise EmptyError
    if a[0] < 0.0 < a[1]:
        return ALL
    upper = INF if a[0] == 0.0 else 1.0 / a[0]
    lower = -INF if a[1] == 0.0 else 1.0 / a[1]
    return _same_sign(lower, upper)


def _div(a: Interval, b: Interval) -> Interval:
    return mul(a, _inv(b))


def _neg(a: Interval) -> Interval:
    return -a[1], -a[0]


def _magnitude(a: Interval) -> Interval:
    ends = (abs(a[0]), abs(a[1]))
    return (0.0 if a[0] <= 0.0 <= a[1] else min(ends)), max(ends)


def _square(a: Interval) -> Interval:
    return _same_sign(*(end * end for end in _magnitude(a)))


def _root(a: Interval) -> Interval:
    a = meet(a, POSITIVE)
    return _same_sign(math.sqrt(a[0]), math.sqrt(a[1]))


def _exp(a: Interval) -> Interval:
    return _same_sign(*(math.exp(t) if t < 709.0 else INF for t in a))  # exp(710) overflows


def _log(a: Interval) -> Interval:
    a = meet(a, POSITIVE)
    if a[1] == 0.0:
        raise EmptyError
    return _outward(math.log(a[0]) if a[0] > 0 else -INF, math.log(a[1]) if a[1] < INF else INF)


def _power_of_number(base: float, exponent: float) -> float:
    """Return a power of a base >= 0, infinite instead of an overflow or a pole."""
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        return INF


def power(a: Interval, exponent: float) -> Interval:
    """Range of ``a ** exponent`` with a constant exponent."""
    if not float(exponent).is_integer():
        a = meet(a, POSITIVE)
    if a[0] >= 0.0:
        ends = (_power_of_number(a[0], exponent), _power_of_number(a[1], exponent))
        return _same_sign(min(ends), max(ends))
    if exponent < 0:
        return _inv(power(a, -exponent))
    even = exponent % 2 == 0
    if a[1] <= 0.0:
        mirrored = power(_neg(a), exponent)
        return mirrored if even else _neg(mirrored)
    below, above = power((0.0, -a[0]), exponent), power((0.0, a[1]), exponent)
    return (0.0, max(below[1], above[1])) if even else (-below[1], above[1])


def _any_power(base: Interval, exponent: Interval) -> Interval:
    if exponent[0] == exponent[1]:
        return power(base, exponent[0])
    if base[0] < 0.0:  # defined where the exponent is a whole number
        return ALL
    return _exp(mul(exponent, (-INF, -INF) if base[1] == 0.0 else _log(base)))


def _sine(a: Interval) -> Interval:
    if not a[1] - a[0] < 2 * math.pi or max(abs(a[0]), abs(a[1])) > _LARGEST_ANGLE:
        return -1.0, 1.0

    def passes(angle: float) -> bool:
        """Whether ``angle`` plus whole turns lies in the interval, or nearly so."""
        turn = 2 * math.pi
        return math.floor((a[1] - angle + 1e-9) / turn) >= math.ceil((a[0] - angle - 1e-9) / turn)

    ends = (math.sin(a[0]), math.sin(a[1]))
    lower, upper = _outward(min(ends), max(ends))
    lower = -1.0 if passes(-math.pi / 2) else lower
    upper = 1.0 if passes(math.pi / 2) else upper
    return max(lower - _RELATIVE, -1.0), min(upper + _RELATIVE, 1.0)


def _increasing(
    function: Callable[[float], float], domain: Interval = ALL
) -> Callable[[Interval], Interval]:
    """Rule of an increasing function."""

    def rule(a: Interval) -> Interval:
        a = meet(a, domain)
        lower, upper = _outward(function(a[0]), function(a[1]))
        return lower - _RELATIVE * abs(lower), upper + _RELATIVE * abs(upper)

    return rule


def _least(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _greatest(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _anywhere(v: Interval, a: Interval) -> tuple[Interval]:
    return (a,)


def _quotient(v: Interval, b: Interval) -> Interval:
    """Which numbers times a number of ``b`` give one of ``v``."""
    if b[0] <= 0.0 <= b[1] and v[0] <= 0.0 <= v[1]:
        return ALL
    return _div(v, b)


def _mirrored(r: Interval, a: Interval) -> Interval:
    """Where in ``a`` the magnitude can lie in ``r``."""
    if a[0] >= 0.0:
        return r
    return _neg(r) if a[1] <= 0.0 else (-r[1], r[1])


def _base(v: Interval, a: Interval, exponent: Interval) -> Interval:
    """Which part of the base ``a`` has its power in ``v``."""
    e = exponent[0]
    if e != exponent[1] or e == 0.0 or (a[0] < 0.0 and (e < 0 or e % 2 != 0)):
        return a
    r = power(meet(v, POSITIVE), 1.0 / e)
    return r if a[0] >= 0.0 else (-r[1], r[1])


_QUARTER: Interval = (math.pi / 2, math.pi / 2)  # of a turn
_ARCSINE = _increasing(math.asin, (-1.0, 1.0))
# Forwards: the range of an operation. Backwards: where its inputs can lie if its range is v.
_RULES: dict[int, tuple[Callable[..., Interval], Callable[..., tuple[Interval, ...]]]] = {
    ca.OP_ASSIGN: (lambda a: a, lambda v, a: (v,)),
    ca.OP_NEG: (_neg, lambda v, a: (_neg(v),)),
    ca.OP_TWICE: (lambda a: (2 * a[0], 2 * a[1]), lambda v, a: ((v[0] / 2, v[1] / 2),)),
    ca.OP_SQ: (_square, lambda v, a: (_mirrored(_root(v), a),)),
    ca.OP_SQRT: (_root, lambda v, a: (_square(meet(v, POSITIVE)),)),
    ca.OP_INV: (_inv, lambda v, a: (_inv(v),)),
    ca.OP_EXP: (_exp, lambda v, a: (_log(v),)),
    ca.OP_LOG: (_log, lambda v, a: (_exp(v),)),
    ca.OP_FABS: (_magnitude, lambda v, a: ((-v[1], v[1]),)),
    ca.OP_SIN: (_sine, _anywhere),
    ca.OP_COS: (lambda a: _sine(add(a, _QUARTER)), _anywhere),
    ca.OP_ATAN: (_increasing(math.atan), _anywhere),
    ca.OP_TANH: (_increasing(math.tanh), _anywhere),
    ca.OP_ERF: (_increasing(math.erf), _anywhere),
    ca.OP_ASIN: (_ARCSINE, _anywhere),
    ca.OP_ACOS: (lambda a: _sub(_QUARTER, _ARCSINE(a)), _anywhere),
    ca.OP_ADD: (add, lambda v, a, b: (_sub(v, b), _sub(v, a))),
    ca.OP_SUB: (_sub, lambda v, a, b: (add(v, b), _sub(a, v))),
    ca.OP_MUL: (mul, lambda v, a, b: (_quotient(v, b), _quotient(v, a))),
    ca.OP_DIV: (_div, lambda v, a, b: (mul(v, b), _quotient(a, v))),
    ca.OP_FMIN: (_least, lambda v, a, b: ((v[0], INF), (v[0], INF))),
    ca.OP_FMAX: (_greatest, lambda v, a, b: ((-INF, v[1]), (-INF, v[1]))),
    **dict.fromkeys((ca.OP_POW, ca.OP_CONSTPOW), (_any_power, lambda v, a, b: (_base(v, a, b), b))),
}


def forward(op: int, inputs: Sequence[Interval]) -> Interval:
    """Range of an operation; all numbers if there is no rule for it."""
    rule = _RULES.get(op)
    return ALL if rule is None else rule[0](*inputs)


def _at_levels(a: Interval, levels: Floats) -> Interval:
    """Move the ends of a range inwards, to the numbers that a discrete variable may take."""
    inside = levels[(levels >= a[0]) & (levels <= a[1])]
    if not len(inside):
        raise EmptyError
    return float(inside[0]), float(inside[-1])


def _revise(graph: Graph, wanted: Interval, box: Box, levels: Levels) -> None:
    """Shrink the box to where the row can lie in its range (HC4 revise)."""
    ranges = graph.evaluated(box.__getitem__, lambda c: (c, c), forward)
    ranges[-1] = meet(ranges[-1], wanted)
    for k in range(len(graph.nodes) - 1, -1, -1):
        node, v = graph.nodes[k], ranges[k]
        if node.op == ca.OP_INPUT:
            i = int(node.value)
            box[i] = meet(box[i], v)
            if i in levels:
                box[i] = _at_levels(box[i], levels[i])
        elif node.op in _RULES:
            possible = _RULES[node.op][1](v, *(ranges[i] for i in node.inputs))
            for i, r in zip(node.inputs, possible, strict=True):
                ranges[i] = meet(ranges[i], r)


def contracted(box: Box, rows: Sequence[RowRange], levels: Levels = ALL_REAL) -> Box:
    """Shrink a box until no row shrinks it any further.

    ``levels`` are the numbers that discrete variables may take, by their indices.
    """
    box = [_at_levels(a, levels[i]) if i in levels else a for i, a in enumerate(box)]
    for _ in range(_SWEEPS):
        before = list(box)
        for _, graph, wanted in rows:
            _revise(graph, wanted, box, levels)
        if not any(_shrunk(a, b) for a, b in zip(before, box, strict=True)):
            break
    return box


def _shrunk(before: Interval, after: Interval) -> bool:
    if before == after:
        return False
    old, new = before[1] - before[0], after[1] - after[0]
    return math.isinf(old) or new < (1.0 - _PROGRESS) * old


def box_and_rows(system: LimitSystem, active: Bools) -> tuple[Box, list[RowRange]]:
    """Return the box and the ranges of rows that the active limits ask for.

    Raises `EmptyError` if two limits of one row contradict each other.
    """
    low, high = system.box(active, LimitKind.BOUND, LimitKind.SIGN)
    box = list(zip(low.tolist(), high.tolist(), strict=True))
    ranges: dict[int, Interval] = {}
    for k in np.flatnonzero(active & system.of_kind(LimitKind.ROW)):
        q, value = int(system.quantity[k]), float(system.value[k])
        side = (-INF, value) if system.side[k] > 0 else (value, INF)
        ranges[q] = meet(ranges.get(q, ALL), side)
    graphs = system.graphs
    return box, [(j, graph, r) for j, r in ranges.items() if (graph := graphs[j]) is not None]


def proves_conflict(system: LimitSystem, active: Bools, split: bool = False) -> bool:
    """Whether interval arithmetic proves that the active limits cannot hold together.

    With ``split`` the box is halved again and again, up to a limit on the work.
    """
    try:
        box, rows = box_and_rows(system, active)
        todo = [contracted(box, rows)]
    except EmptyError:
        return True
    involved = sorted({i for _, graph, _ in rows for i in graph.variables})
    if not split or not involved:
        return False
    size = sum(len(graph.nodes) for _, graph, _ in rows)
    for _ in range(min(max(_WORK // size, _FEWEST), _MOST)):
        if not todo:
            return True
        for half in _halves(todo.pop(), involved, system.scale):
            try:
                todo.append(contracted(half, rows))
            except EmptyError:
                continue
    return not todo


def inner_box(system: LimitSystem) -> tuple[Floats, Floats] | None:
    """Bounds (n,) that all limits together leave; None if there is nothing left."""
    try:
        box = contracted(*box_and_rows(system, system.everything))
    except EmptyError:
        return None
    ends = np.array(box, dtype=float).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _halves(box: Box, involved: Sequence[int], scale: Floats) -> tuple[Box, Box]:
    """Split the range that is widest for its variable."""
    i = max(involved, key=lambda j: (box[j][1] - box[j][0]) / float(scale[j]))
    low, high = box[i]
    if math.isfinite(low) and math.isfinite(high):
        middle = (low + high) / 2
    elif math.isfinite(low):
        middle = low + 10.0 * max(min(abs(low), _HUGE), float(scale[i]))
    elif math.isfinite(high):
        middle = high - 10.0 * max(min(abs(high), _HUGE), float(scale[i]))
    else:
        middle = 0.0
    middle = min(max(middle, -_HUGE), _HUGE)
    return [*box[:i], (low, middle), *box[i + 1 :]], [*box[:i], (middle, high), *box[i + 1 :]]
