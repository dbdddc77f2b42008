"""How large and how small a formula can be between bounds: interval arithmetic on its operations.

A range is never too narrow but for rounding. It is infinite wherever the formula might be
undefined, or holds an operation without a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from archeng.model.variable import Floats

Interval = tuple[float, float]

ALL: Interval = (-math.inf, math.inf)
_LARGEST_EXPONENT = 700.0  # of e, that a float holds


def range_of(expression: Any, x: Any, low: Floats, high: Floats) -> Interval:
    """Return bounds of a scalar expression of x (n,) for ``low <= x <= high``; of MX none."""
    if not isinstance(expression, ca.SX):
        return ALL
    function = ca.Function("range", [x], [ca.densify(expression)])
    work: dict[int, Interval] = {}
    for k in range(function.n_instructions()):
        code, sources = function.instruction_id(k), function.instruction_input(k)
        if code == ca.OP_OUTPUT:
            return work[sources[0]]
        if code == ca.OP_INPUT:
            found = float(low[sources[1]]), float(high[sources[1]])
        elif code == ca.OP_CONST:
            found = (function.instruction_constant(k),) * 2
        else:
            rule = _RULES.get(code)
            found = ALL if rule is None else _safe(rule, [work[s] for s in sources])
        work[function.instruction_output(k)[0]] = found
    return ALL


def _safe(rule: Callable[..., Interval], inputs: Sequence[Interval]) -> Interval:
    """Apply a rule; a range without an end, or one that is not a number, tells nothing."""
    if not all(math.isfinite(end) for pair in inputs for end in pair):
        return ALL
    try:
        lower, upper = rule(*inputs)
    except (ArithmeticError, ValueError):  # undefined, or beyond the largest float
        return ALL
    return (lower, upper) if math.isfinite(lower) and math.isfinite(upper) else ALL


def _product(a: Interval, b: Interval) -> Interval:
    ends = [p * q for p in a for q in b]
    return min(ends), max(ends)


def _inverse(a: Interval) -> Interval:
    if a[0] <= 0.0 <= a[1]:
        raise ZeroDivisionError
    return 1.0 / a[1], 1.0 / a[0]


def _square(a: Interval) -> Interval:
    least, most = _size(a)
    return least * least, most * most


def _size(a: Interval) -> Interval:
    ends = abs(a[0]), abs(a[1])
    return 0.0 if a[0] <= 0.0 <= a[1] else min(ends), max(ends)


def _power(a: Interval, exponent: Interval) -> Interval:
    """Range of a power: of a whole number, or of a base that is positive."""
    e = exponent[0]
    if a[0] > 0.0:
        ends = [math.pow(base, p) for base in a for p in exponent]
        return min(ends), max(ends)
    if e != exponent[1] or e != round(e) or e < 0:
        raise ValueError("undefined somewhere")
    ends = [math.pow(base, e) for base in (_size(a) if e % 2 == 0 else a)]
    return min(ends), max(ends)


def _increasing(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    return lambda a: (function(a[0]), function(a[1]))


def _exponential(t: float) -> float:
    return math.exp(t) if t < _LARGEST_EXPONENT else math.inf


_RULES: dict[int, Callable[..., Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ca.OP_SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    ca.OP_MUL: _product,
    ca.OP_DIV: lambda a, b: _product(a, _inverse(b)),
    ca.OP_INV: _inverse,
    ca.OP_NEG: lambda a: (-a[1], -a[0]),
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_SQ: _square,
    ca.OP_FABS: _size,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: _increasing(math.sqrt),
    ca.OP_EXP: _increasing(_exponential),
    ca.OP_LOG: _increasing(math.log),
    ca.OP_ATAN: _increasing(math.atan),
    ca.OP_TANH: _increasing(math.tanh),
    ca.OP_SIN: lambda a: (-1.0, 1.0),
    ca.OP_COS: lambda a: (-1.0, 1.0),
    ca.OP_FMIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
