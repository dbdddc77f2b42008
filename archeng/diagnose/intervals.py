"""Interval arithmetic on the operations of a row, forwards and backwards.

Forwards: the range of every node from the ranges of its inputs. Backwards: which part of the
ranges of the inputs can produce a given range of the node (the HC4 contractor). Results are
rounded outwards, so that an empty range is a proof. An operation without a rule returns all
numbers, which is always true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca

Interval = tuple[float, float]
INF = math.inf
ALL: Interval = (-INF, INF)


class EmptyError(Exception):
    """No number is possible: a proof that the constraints cannot hold together."""


def out(lower: float, upper: float) -> Interval:
    """Round outwards by two units in the last place."""
    down, up = math.nextafter, math.nextafter
    return down(down(lower, -INF), -INF), up(up(upper, INF), INF)


def _same_sign(lower: float, upper: float) -> Interval:
    """Round outwards, but not across zero: for operations whose sign is certain."""
    down, up = out(lower, upper)
    return (max(down, 0.0) if lower >= 0.0 else down), (min(up, 0.0) if upper <= 0.0 else up)


def meet(a: Interval, b: Interval) -> Interval:
    """Return the intersection; raise if there is none."""
    lower, upper = max(a[0], b[0]), min(a[1], b[1])
    if lower > upper:
        raise EmptyError
    return lower, upper


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def add(a: Interval, b: Interval) -> Interval:
    """Range of a + b."""
    lower, upper = out(a[0] + b[0], a[1] + b[1])
    if a[0] >= 0.0 and b[0] >= 0.0:
        lower = max(lower, 0.0)
    if a[1] <= 0.0 and b[1] <= 0.0:
        upper = min(upper, 0.0)
    return lower, upper


def sub(a: Interval, b: Interval) -> Interval:
    """Range of a - b."""
    return out(a[0] - b[1], a[1] - b[0])


def mul(a: Interval, b: Interval) -> Interval:
    """Range of a * b."""
    ends = [_product(p, q) for p in a for q in b]
    return _same_sign(min(ends), max(ends))


def inv(a: Interval) -> Interval:
    """Range of 1 / a; a pole inside makes it all numbers."""
    if a[0] == 0.0 == a[1]:
        raise EmptyError
    if a[0] < 0.0 < a[1]:
        return ALL
    upper = INF if a[0] == 0.0 else 1.0 / a[0]
    lower = -INF if a[1] == 0.0 else 1.0 / a[1]
    return _same_sign(lower, upper)


def div(a: Interval, b: Interval) -> Interval:
    """Range of a / b."""
    return mul(a, inv(b))


def neg(a: Interval) -> Interval:
    """Range of -a."""
    return -a[1], -a[0]


def square(a: Interval) -> Interval:
    """Range of a**2."""
    ends = (a[0] * a[0], a[1] * a[1])
    low = 0.0 if a[0] <= 0.0 <= a[1] else min(ends)
    return _same_sign(low, max(ends))


def root(a: Interval) -> Interval:
    """Range of sqrt(a), where it is defined."""
    a = meet(a, (0.0, INF))
    return _same_sign(math.sqrt(a[0]), math.sqrt(a[1]))


def _exp(t: float) -> float:
    return math.exp(t) if t < 709.0 else INF


def exp(a: Interval) -> Interval:
    """Range of exp(a)."""
    return _same_sign(_exp(a[0]), _exp(a[1]))


def log(a: Interval) -> Interval:
    """Range of log(a), where it is defined."""
    a = meet(a, (0.0, INF))
    if a[1] == 0.0:
        raise EmptyError
    return out(math.log(a[0]) if a[0] > 0 else -INF, math.log(a[1]) if a[1] < INF else INF)


def _power(base: float, exponent: float) -> float:
    """Return a power of a base >= 0, infinite instead of an overflow or a pole."""
    if base == 0.0:
        return INF if exponent < 0 else float(exponent == 0)
    if base == INF:
        return INF if exponent > 0 else float(exponent == 0)
    try:
        return float(math.pow(base, exponent))
    except OverflowError:
        return INF


def power(a: Interval, exponent: float) -> Interval:
    """Range of ``a ** exponent`` with a constant exponent."""
    if not float(exponent).is_integer():
        a = meet(a, (0.0, INF))
    if a[0] >= 0.0:
        ends = (_power(a[0], exponent), _power(a[1], exponent))
        return _same_sign(min(ends), max(ends))
    if exponent < 0:
        return inv(power(a, -exponent))
    even = exponent % 2 == 0
    if a[1] <= 0.0:
        mirrored = power(neg(a), exponent)
        return mirrored if even else neg(mirrored)
    below, above = power((0.0, -a[0]), exponent), power((0.0, a[1]), exponent)
    return (0.0, max(below[1], above[1])) if even else (-below[1], above[1])


def magnitude(a: Interval) -> Interval:
    """Range of |a|."""
    ends = (abs(a[0]), abs(a[1]))
    return (0.0 if a[0] <= 0.0 <= a[1] else min(ends)), max(ends)


def sine(a: Interval) -> Interval:
    """Range of sin(a)."""
    if not a[1] - a[0] < 2 * math.pi or max(abs(a[0]), abs(a[1])) > 1e6:
        return -1.0, 1.0
    ends = (math.sin(a[0]), math.sin(a[1]))
    lower, upper = out(min(ends), max(ends))
    if _passes(a, math.pi / 2):
        upper = 1.0
    if _passes(a, -math.pi / 2):
        lower = -1.0
    return max(lower - 1e-15, -1.0), min(upper + 1e-15, 1.0)


def _passes(a: Interval, angle: float) -> bool:
    """Whether ``angle`` plus whole turns lies in the interval, or nearly so."""
    turn = 2 * math.pi
    return math.floor((a[1] - angle + 1e-9) / turn) >= math.ceil((a[0] - angle - 1e-9) / turn)


def _monotone(
    function: Callable[[float], float], low: float, high: float
) -> Callable[[Interval], Interval]:
    """Rule of an increasing function that is defined between ``low`` and ``high``."""

    def forward(a: Interval) -> Interval:
        a = meet(a, (low, high))
        lower, upper = out(function(a[0]), function(a[1]))
        return lower - 1e-15 * abs(lower), upper + 1e-15 * abs(upper)

    return forward


FORWARD_UNARY: dict[int, Callable[[Interval], Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: neg,
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_SQ: square,
    ca.OP_SQRT: root,
    ca.OP_INV: inv,
    ca.OP_EXP: exp,
    ca.OP_LOG: log,
    ca.OP_FABS: magnitude,
    ca.OP_SIN: sine,
    ca.OP_COS: lambda a: sine(add(a, (math.pi / 2, math.pi / 2))),
    ca.OP_ATAN: _monotone(math.atan, -INF, INF),
    ca.OP_TANH: _monotone(math.tanh, -INF, INF),
    ca.OP_ASIN: _monotone(math.asin, -1.0, 1.0),
    ca.OP_ERF: _monotone(math.erf, -INF, INF),
    ca.OP_ACOS: lambda a: sub((math.pi / 2, math.pi / 2), _monotone(math.asin, -1.0, 1.0)(a)),
}

FORWARD_BINARY: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ADD: add,
    ca.OP_SUB: sub,
    ca.OP_MUL: mul,
    ca.OP_DIV: div,
    ca.OP_FMIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def _power_of(base: Interval, exponent: Interval) -> Interval:
    """Range of base ** exponent with an exponent that varies."""
    if base[0] < 0.0:  # defined where the exponent is a whole number
        return ALL
    logarithm = (-INF, -INF) if base[1] == 0.0 else log(base)
    return exp(mul(exponent, logarithm))


def forward(op: int, inputs: Sequence[Interval]) -> Interval:
    """Range of an operation; all numbers if there is no rule for it."""
    if op in (ca.OP_CONSTPOW, ca.OP_POW):
        base, exponent = inputs
        if exponent[0] == exponent[1]:
            return power(base, exponent[0])
        return _power_of(base, exponent)
    if len(inputs) == 1 and op in FORWARD_UNARY:
        return FORWARD_UNARY[op](inputs[0])
    if len(inputs) == 2 and op in FORWARD_BINARY:
        return FORWARD_BINARY[op](inputs[0], inputs[1])
    return ALL


def _quotient(v: Interval, b: Interval) -> Interval:
    """Which numbers times a number of ``b`` give one of ``v``."""
    if b[0] <= 0.0 <= b[1] and v[0] <= 0.0 <= v[1]:
        return ALL
    return div(v, b)


def _from_root(v: Interval, a: Interval) -> Interval:
    """Which part of ``a`` has its square in ``v``."""
    r = root(v)
    if a[0] >= 0.0:
        return meet(a, r)
    if a[1] <= 0.0:
        return meet(a, neg(r))
    return meet(a, (-r[1], r[1]))


def from_power(v: Interval, a: Interval, exponent: float) -> Interval:
    """Which part of ``a`` has its power in ``v``."""
    if exponent == 0.0 or (a[0] < 0.0 and (exponent < 0 or exponent % 2 != 0)):
        return a
    r = power(meet(v, (0.0, INF)), 1.0 / exponent)
    if a[0] >= 0.0:
        return meet(a, r)
    return meet(a, (-r[1], r[1]))


BACKWARD_UNARY: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ASSIGN: lambda v, a: meet(a, v),
    ca.OP_NEG: lambda v, a: meet(a, neg(v)),
    ca.OP_TWICE: lambda v, a: meet(a, (v[0] / 2, v[1] / 2)),
    ca.OP_SQ: _from_root,
    ca.OP_SQRT: lambda v, a: meet(a, square(meet(v, (0.0, INF)))),
    ca.OP_INV: lambda v, a: meet(a, inv(v)),
    ca.OP_EXP: lambda v, a: meet(a, log(v)),
    ca.OP_LOG: lambda v, a: meet(a, exp(v)),
    ca.OP_FABS: lambda v, a: meet(a, (-v[1], v[1])),
}

BACKWARD_BINARY: dict[int, Callable[[Interval, Interval, Interval], tuple[Interval, Interval]]] = {
    ca.OP_ADD: lambda v, a, b: (meet(a, sub(v, b)), meet(b, sub(v, a))),
    ca.OP_SUB: lambda v, a, b: (meet(a, add(v, b)), meet(b, sub(a, v))),
    ca.OP_MUL: lambda v, a, b: (meet(a, _quotient(v, b)), meet(b, _quotient(v, a))),
    ca.OP_DIV: lambda v, a, b: (meet(a, mul(v, b)), meet(b, _quotient(a, v))),
    ca.OP_FMIN: lambda v, a, b: (meet(a, (v[0], INF)), meet(b, (v[0], INF))),
    ca.OP_FMAX: lambda v, a, b: (meet(a, (-INF, v[1])), meet(b, (-INF, v[1]))),
}
