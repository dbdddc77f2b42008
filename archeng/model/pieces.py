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
_DEEPEST = 100  # operations within each other; what lies deeper is taken as it is
_INCREASING = {
    ca.OP_EXP: ca.exp, ca.OP_ATAN: ca.atan, ca.OP_TANH: ca.tanh, ca.OP_SINH: ca.sinh,
    ca.OP_EXPM1: ca.expm1,
}  # fmt: skip
"""Defined everywhere: of ``sqrt(fmax(a, 0))`` the piece ``sqrt(a)`` would not be."""
_KINKS = (ca.OP_FMAX, ca.OP_FMIN, ca.OP_FABS, ca.OP_SIGN, ca.OP_IF_ELSE_ZERO, ca.OP_FLOOR,
          ca.OP_CEIL)  # fmt: skip


def smooth_pieces(expression: Any, largest: bool) -> list[Any]:
    """Return expressions whose largest (or least) one is a scalar SX expression.

    The expression itself if it is smooth, if it has too many pieces, or if it is neither.
    """
    if not has_kinks(expression, ca.vertcat(*ca.symvar(expression))):
        return [expression]
    try:
        return _Splitter().pieces(expression, largest, 0)
    except _TooManyError:
        return [expression]


def has_kinks(expression: Any, symbols: Any) -> bool:
    """Whether a scalar SX expression is not smooth by the operations in it."""
    function = ca.Function("f", [symbols], [expression])
    return any(function.instruction_id(k) in _KINKS for k in range(function.n_instructions()))


class _TooManyError(Exception):
    """There are more pieces than are worth it."""


class _Splitter:
    """Finds pieces; an expression that is used several times is looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], list[Any]] = {}

    def pieces(self, e: Any, largest: bool, depth: int) -> list[Any]:
        """Return the pieces of an expression at some depth of another."""
        key = (int(e.element_hash()), largest)
        if key not in self._known:
            found = [e] if depth > _DEEPEST else self._pieces(e, largest, depth + 1)
            if len(found) > _MOST:
                raise _TooManyError
            self._known[key] = found
        return self._known[key]

    def _pieces(self, e: Any, largest: bool, depth: int) -> list[Any]:
        if e.is_op(ca.OP_FMAX if largest else ca.OP_FMIN):
            return self.pieces(e.dep(0), largest, depth) + self.pieces(e.dep(1), largest, depth)
        if e.is_op(ca.OP_FABS) and largest:
            a = e.dep(0)
            negative = [-piece for piece in self.pieces(a, False, depth)]
            return self.pieces(a, True, depth) + negative
        if e.is_op(ca.OP_NEG):
            return [-piece for piece in self.pieces(e.dep(0), not largest, depth)]
        if e.is_op(ca.OP_TWICE):
            return [2 * piece for piece in self.pieces(e.dep(0), largest, depth)]
        if e.is_op(ca.OP_ADD) or e.is_op(ca.OP_SUB):
            return self._of_sum(e, largest, depth)
        if e.is_op(ca.OP_MUL) or e.is_op(ca.OP_DIV):
            return self._of_product(e, largest, depth)
        for code, function in _INCREASING.items():
            if e.is_op(code):
                return [function(piece) for piece in self.pieces(e.dep(0), largest, depth)]
        return [e]

    def _of_sum(self, e: Any, largest: bool, depth: int) -> list[Any]:
        plus = e.is_op(ca.OP_ADD)
        left = self.pieces(e.dep(0), largest, depth)
        right = self.pieces(e.dep(1), largest == plus, depth)
        if len(left) * len(right) == 1:
            return [e]
        if len(left) * len(right) > _MOST:
            raise _TooManyError
        return [a + b if plus else a - b for a in left for b in right]

    def _of_product(self, e: Any, largest: bool, depth: int) -> list[Any]:
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
        pieces = self.pieces(b, largest == (factor > 0), depth)
        return [p / factor if over else factor * p for p in pieces] if len(pieces) > 1 else [e]
