"""Smooth pieces of a formula with a maximum or minimum in it.

``fmax(a, b) <= 1`` says the same as ``a <= 1`` and ``b <= 1``, and the least ``fmax(a, b)`` is the
least t with ``a <= t`` and ``b <= t``: models and solvers that believe in derivatives are given
a and b. `smooth_pieces` finds them through sums, factors and increasing functions.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

_MOST = 64  # pieces; a formula that has more of them is taken as it is
_INCREASING = {
    ca.OP_EXP: ca.exp, ca.OP_LOG: ca.log, ca.OP_SQRT: ca.sqrt, ca.OP_ATAN: ca.atan,
    ca.OP_TANH: ca.tanh, ca.OP_SINH: ca.sinh, ca.OP_LOG1P: ca.log1p, ca.OP_EXPM1: ca.expm1,
}  # fmt: skip
_KINKS = (ca.OP_FMAX, ca.OP_FMIN, ca.OP_FABS, ca.OP_SIGN, ca.OP_IF_ELSE_ZERO, ca.OP_FLOOR,
          ca.OP_CEIL)  # fmt: skip


def smooth_pieces(expression: Any, largest: bool) -> list[Any]:
    """Return expressions whose largest (or least) one is a scalar SX expression.

    The expression itself if it is smooth, if it has too many pieces, or if it is neither.
    """
    pieces = _pieces(expression, largest)
    return pieces if len(pieces) <= _MOST else [expression]


def has_kinks(expression: Any, symbols: Any) -> bool:
    """Whether a scalar SX expression is not smooth by the operations in it."""
    function = ca.Function("f", [symbols], [expression])
    return any(function.instruction_id(k) in _KINKS for k in range(function.n_instructions()))


def _pieces(e: Any, largest: bool) -> list[Any]:
    if e.is_op(ca.OP_FMAX if largest else ca.OP_FMIN):
        return _pieces(e.dep(0), largest) + _pieces(e.dep(1), largest)
    if e.is_op(ca.OP_FABS) and largest:
        a = e.dep(0)
        return _pieces(a, True) + [-piece for piece in _pieces(a, False)]
    if e.is_op(ca.OP_NEG):
        return [-piece for piece in _pieces(e.dep(0), not largest)]
    if e.is_op(ca.OP_TWICE):
        return [2 * piece for piece in _pieces(e.dep(0), largest)]
    if e.is_op(ca.OP_ADD) or e.is_op(ca.OP_SUB):
        return _of_sum(e, largest)
    if e.is_op(ca.OP_MUL) or e.is_op(ca.OP_DIV):
        return _of_product(e, largest)
    for code, function in _INCREASING.items():
        if e.is_op(code):
            return [function(piece) for piece in _pieces(e.dep(0), largest)]
    return [e]


def _of_sum(e: Any, largest: bool) -> list[Any]:
    plus = e.is_op(ca.OP_ADD)
    left, right = _pieces(e.dep(0), largest), _pieces(e.dep(1), largest == plus)
    if len(left) * len(right) == 1 or len(left) * len(right) > _MOST:
        return [e]
    return [a + b if plus else a - b for a in left for b in right]


def _of_product(e: Any, largest: bool) -> list[Any]:
    """Pieces of a constant times something, or of something over a constant."""
    over = e.is_op(ca.OP_DIV)
    a, b = (e.dep(1), e.dep(0)) if over else (e.dep(0), e.dep(1))
    if not a.is_constant():
        a, b = b, a
        if over or not a.is_constant():
            return [e]
    factor = float(a)
    if factor == 0 or not np.isfinite(factor):
        return [e]
    pieces = _pieces(b, largest == (factor > 0))
    return [p / factor if over else factor * p for p in pieces] if len(pieces) > 1 else [e]
