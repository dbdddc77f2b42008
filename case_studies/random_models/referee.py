"""The referee: judges designs by the formulas, without archeng and without CasADi.

Every tree is evaluated with 50 digits by mpmath, together with a bound on the error that
double precision makes in it (forward error analysis, operation by operation). A row is violated if
its exact value is outside its limits by more than that error, or if it is undefined. The same
goes for domains: an argument of a root or logarithm counts as negative only beyond its error. A
logarithm of an argument within its error of zero can be any number below, and is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mpmath

from case_studies.random_models.trees import Tree, evaluate

DIGITS = 50
EPSILON = 2.0**-53
_SLACK = 8  # errors of other orders of the operations, and of functions of the library


class _Number(NamedTuple):
    """A value and a bound on the error of its double-precision counterpart."""

    value: Any
    error: Any


class UndefinedError(Exception):
    """A formula has no value there."""


def _rounded(value: Any, error: Any) -> _Number:
    return _Number(value, error + EPSILON * abs(value))


def _plus(a: _Number, b: _Number) -> _Number:
    return _rounded(a.value + b.value, a.error + b.error)


def _minus(a: _Number, b: _Number) -> _Number:
    return _rounded(a.value - b.value, a.error + b.error)


def _times(a: _Number, b: _Number) -> _Number:
    error = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error
    return _rounded(a.value * b.value, error)


def _over(a: _Number, b: _Number) -> _Number:
    if abs(b.value) <= b.error:
        raise UndefinedError
    value = a.value / b.value
    return _rounded(value, (a.error + abs(value) * b.error) / (abs(b.value) - b.error))


def _exp(a: _Number) -> _Number:
    value = mpmath.exp(a.value)
    return _rounded(value, value * mpmath.expm1(a.error) + EPSILON * value)


def _log(a: _Number) -> _Number:
    if a.value < -_SLACK * a.error or a.value == a.error == 0:
        raise UndefinedError
    if a.value <= _SLACK * a.error:
        return _Number(mpmath.mpf(0), mpmath.inf)
    value = mpmath.log(a.value)
    least = max(a.value - a.error, a.value / 2)
    return _rounded(value, a.error / least + EPSILON * abs(value))


def _sqrt(a: _Number) -> _Number:
    if a.value < -_SLACK * a.error:
        raise UndefinedError
    value = mpmath.sqrt(max(a.value, 0))
    error = mpmath.sqrt(a.error)
    return _rounded(value, min(error, a.error / value) if value else error)


def _sin(a: _Number) -> _Number:
    return _rounded(mpmath.sin(a.value), a.error + EPSILON)


OPERATIONS = {
    "number": lambda v: _Number(mpmath.mpf(v), mpmath.mpf(0)),
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "sin": _sin,
    "if": lambda x, c, a, b: a if x.value < mpmath.mpf(c) else b,
}


def value_and_error(tree: Tree, x: Sequence[float]) -> tuple[Any, Any]:
    """Return the exact value of a formula at a design, and the error of double precision."""
    with mpmath.workdps(DIGITS):
        numbers = [_Number(mpmath.mpf(float(v)), mpmath.mpf(0)) for v in x]
        return tuple(evaluate(tree, numbers, OPERATIONS))


def violated(tree: Tree, lower: float, upper: float, x: Sequence[float]) -> bool:
    """Whether a row does not hold at x, beyond the rounding errors of double precision."""
    try:
        value, error = value_and_error(tree, x)
    except UndefinedError:
        return True
    room = _SLACK * error
    return not (value >= mpmath.mpf(lower) - room and value <= mpmath.mpf(upper) + room)
