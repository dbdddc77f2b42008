"""Expressions of ``.nl`` files: operators by number, in prefix order, one token a line.

Numbers of the operators: D. M. Gay, "Writing .nl files", Sandia report SAND2005-7907P, 2005,
tables 5 to 8; https://ampl.github.io/nlwrite.pdf (a report has no DOI).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import casadi as ca

Function = Callable[..., Any]

UNARY: dict[int, Function] = {
    13: ca.floor, 14: ca.ceil, 15: ca.fabs, 16: operator.neg, 34: ca.logic_not, 37: ca.tanh,
    38: ca.tan, 39: ca.sqrt, 40: ca.sinh, 41: ca.sin, 42: ca.log10, 43: ca.log, 44: ca.exp,
    45: ca.cosh, 46: ca.cos, 47: ca.atanh, 49: ca.atan, 50: ca.asinh, 51: ca.asin, 52: ca.acosh,
    53: ca.acos,
}  # fmt: skip
BINARY: dict[int, Function] = {
    0: operator.add, 1: operator.sub, 2: operator.mul, 3: operator.truediv, 4: ca.fmod,
    5: operator.pow, 6: lambda x, y: ca.fmax(x - y, 0), 20: ca.logic_or, 21: ca.logic_and,
    22: operator.lt, 23: operator.le, 24: operator.eq, 28: operator.ge, 29: operator.gt,
    30: operator.ne, 48: ca.atan2,
}  # fmt: skip
TERNARY: dict[int, Function] = {35: ca.if_else}
LISTS: dict[int, Function] = {
    11: ca.fmin, 12: ca.fmax, 54: operator.add, 70: ca.logic_and, 71: ca.logic_or,
}  # fmt: skip
UNSUPPORTED = {
    55: "integer division", 56: "precision", 57: "round", 58: "trunc", 59: "count",
    60: "numberof", 61: "numberof (symbolic)", 62: "atleast", 63: "atmost",
    64: "piecewise-linear term", 65: "if (symbolic)", 66: "exactly", 67: "not atleast",
    68: "not atmost", 69: "not exactly", 72: "implies", 73: "iff", 74: "alldiff",
}  # fmt: skip


class UnsupportedTokenError(Exception):
    """An expression has a part that archeng cannot take."""


@dataclass(frozen=True)
class Token:
    """A leaf (``operands`` 0, its value) or an operator (its function)."""

    operands: int
    value: Any
    line: int


def read_tokens(lines: Iterator[tuple[int, str]]) -> list[Token]:
    """Read the tokens of one expression.

    Raises
    ------
    UnsupportedTokenError
        At an operator or a leaf that cannot be imported.
    ValueError
        If the text is no expression, or ends too early.
    """
    tokens: list[Token] = []
    missing = 1
    while missing:
        number, text = _next(lines)
        token = _token(number, text, lines)
        tokens.append(token)
        missing += token.operands - 1
    return tokens


def build(tokens: Sequence[Token], variable: Callable[[int], Any]) -> Any:
    """Return the expression of tokens in prefix order, without recursion.

    ``variable`` returns the expression of a variable or common expression by its number.
    """
    stack: list[Any] = []
    for token in reversed(tokens):
        if token.operands == 0:
            stack.append(variable(token.value) if isinstance(token.value, int) else token.value)
            continue
        arguments = [stack.pop() for _ in range(token.operands)]
        stack.append(token.value(*arguments))
    return stack[0]


def _token(number: int, text: str, lines: Iterator[tuple[int, str]]) -> Token:
    key, rest = text[:1], text[1:]
    if key in "nsl":
        return Token(0, finite(rest), number)
    if key == "v":
        return Token(0, count(rest), number)
    if key == "f":
        raise UnsupportedTokenError("an imported function cannot be differentiated symbolically")
    if key == "h":
        raise UnsupportedTokenError("a string is not supported")
    if key != "o":
        raise ValueError(f"line {number}: {text[:40]!r} is not part of an expression")
    code = count(rest)
    for arity, table in ((1, UNARY), (2, BINARY), (3, TERNARY)):
        if code in table:
            return Token(arity, table[code], number)
    if code in LISTS:
        size = count(_next(lines)[1])
        if size < 1:
            raise ValueError(f"line {number}: a list without elements")
        function = LISTS[code]
        return Token(size, lambda *a: reduce(function, a), number)
    if code in UNSUPPORTED:
        raise UnsupportedTokenError(f"operator {UNSUPPORTED[code]} (o{code}) is not supported")
    raise ValueError(f"line {number}: there is no operator o{code}")


def _next(lines: Iterator[tuple[int, str]]) -> tuple[int, str]:
    line = next(lines, None)
    if line is None:
        raise ValueError("the file ends in the middle of an expression")
    return line


def count(text: str) -> int:
    """Return a non-negative integer."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"{text[:40]!r} is not a non-negative integer")
    return int(text)


def finite(text: str) -> float:
    """Return a finite number."""
    value = float(text)
    if value - value != 0.0:
        raise ValueError(f"{text[:40]!r} is not a finite number")
    return value
