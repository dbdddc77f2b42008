"""Reading a text ``.nl`` file into plain data; every count and every index is checked.

A file is a header and segments; a segment is a line that begins with its letter, and lines of
numbers or of one expression, in prefix order with one token a line.

The format, and the numbers of the operators (tables 5 to 8): D. M. Gay, "Writing .nl files",
Sandia report SAND2005-7907P, 2005, https://ampl.github.io/nlwrite.pdf (a report has no DOI).
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import casadi as ca
import numpy as np

Lines = Iterator[tuple[int, str]]  # with their numbers
Function = Callable[..., Any]

_HEADER_LINES = 10  # of every .nl file
_SEGMENT = re.compile(r"[FSVCLOdxrbkKJG]")  # no line within a segment begins like this
_UNARY: dict[int, Function] = {
    13: ca.floor, 14: ca.ceil, 15: ca.fabs, 16: operator.neg, 34: ca.logic_not, 37: ca.tanh,
    38: ca.tan, 39: ca.sqrt, 40: ca.sinh, 41: ca.sin, 42: ca.log10, 43: ca.log, 44: ca.exp,
    45: ca.cosh, 46: ca.cos, 47: ca.atanh, 49: ca.atan, 50: ca.asinh, 51: ca.asin, 52: ca.acosh,
    53: ca.acos,
}  # fmt: skip
_BINARY: dict[int, Function] = {
    0: operator.add, 1: operator.sub, 2: operator.mul, 3: operator.truediv, 4: ca.fmod,
    5: operator.pow, 6: lambda x, y: ca.fmax(x - y, 0), 20: ca.logic_or, 21: ca.logic_and,
    22: operator.lt, 23: operator.le, 24: operator.eq, 28: operator.ge, 29: operator.gt,
    30: operator.ne, 48: ca.atan2,
}  # fmt: skip
_TERNARY: dict[int, Function] = {35: ca.if_else}
_LISTS: dict[int, Function] = {
    11: ca.fmin, 12: ca.fmax, 54: operator.add, 70: ca.logic_and, 71: ca.logic_or,
}  # fmt: skip
_UNSUPPORTED = {
    55: "integer division", 56: "precision", 57: "round", 58: "trunc", 59: "count",
    60: "numberof", 61: "numberof (symbolic)", 62: "atleast", 63: "atmost",
    64: "piecewise-linear term", 65: "if (symbolic)", 66: "exactly", 67: "not atleast",
    68: "not atmost", 69: "not exactly", 72: "implies", 73: "iff", 74: "alldiff",
}  # fmt: skip
_UNSUPPORTED_LEAVES = {
    "f": "an imported function cannot be differentiated symbolically",
    "h": "a string is not supported",
}
# Where the lower and the upper limit are among the numbers of a row or a variable, by its type.
_LIMITS = {"0": (0, 1), "1": (None, 0), "2": (0, None), "3": (None, None), "4": (0, 0)}


class _UnsupportedError(Exception):
    """A segment has a part that archeng cannot take."""


@dataclass
class NlFile:
    """The contents of a file.

    ``problems`` maps segments, such as ``C3``, to what cannot be imported in them.
    """

    variables: int
    rows: int
    objectives: int
    logical: int
    nonzeros: int
    gradient_nonzeros: int
    integers: set[int] = field(default_factory=set)
    symbols: list[Any] = field(default_factory=list)
    common: dict[int, Any] = field(default_factory=dict)
    bodies: dict[int, Any] = field(default_factory=dict)
    goals: dict[int, tuple[Any, bool]] = field(default_factory=dict)
    row_limits: list[tuple[float, float]] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    start: dict[int, float] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    seen: set[str] = field(default_factory=set)
    linear: dict[str, dict[int, list[tuple[int, float]]]] = field(
        default_factory=lambda: {"J": {}, "G": {}}
    )

    def variable(self, index: int) -> Any:
        """Return the expression of a variable or of a common expression defined before."""
        if index < self.variables:
            return self.symbols[index]
        if index not in self.common:
            raise ValueError(f"v{index} is not defined")
        return self.common[index]

    def with_linear(self, kind: str, index: int, body: Any) -> Any:
        """Add the linear terms of a row (J) or an objective (G); zeros only mark columns."""
        for column, coefficient in self.linear[kind].get(index, []):
            if coefficient != 0.0:
                body = body + coefficient * self.symbols[column]
        return body


def read(text: str) -> NlFile:
    """Read the text of a file; a ValueError says where it is damaged."""
    lines = [(i, _strip(line)) for i, line in enumerate(text.splitlines(), 1)]
    file = _header([line for _, line in lines[:_HEADER_LINES]], len(lines))
    file.symbols = [ca.SX.sym(f"x{i}") for i in range(file.variables)]
    segments: list[list[tuple[int, str]]] = []
    for entry in lines[_HEADER_LINES:]:
        if _SEGMENT.match(entry[1]) or not segments:
            segments.append([])
        segments[-1] += [entry] if entry[1] else []
    for (number, line), *others in filter(None, segments):
        try:
            _segment(file, line, iter(others))
        except _UnsupportedError as error:
            file.problems[line.split()[0]].append(str(error))
        except (ValueError, IndexError) as error:
            raise ValueError(f"segment {line[:20]!r} at line {number}: {error}") from error
    if not any(key[0] != "O" for key in file.problems):
        _check_complete(file)
    return file


def _strip(line: str) -> str:
    """Remove a comment. A string (``h5:a # b``) has none: its length is in the file."""
    string = re.match(r"h(\d{1,9}):", line)
    if string:
        return line[: string.end() + int(string[1])]
    return line.split("#", 1)[0].strip()


def _header(lines: list[str], total: int) -> NlFile:
    """Read the ten header lines; of some, writers leave the last numbers away."""
    if len(lines) < _HEADER_LINES:
        raise ValueError("the header needs ten lines")
    try:
        numbers = [[_count(word) for word in line.split()] for line in lines[1:]]
        variables, rows, objectives = numbers[0][:3]
    except ValueError as error:
        raise ValueError(f"the header is damaged: {error}") from error
    if variables + rows > 2 * total:
        raise ValueError(f"the header speaks of {variables} variables and {rows} rows")
    logical, nonzeros = sum(numbers[0][5:6]), [*numbers[6], 0, 0]
    file = NlFile(variables, rows, objectives, logical, nonzeros[0], nonzeros[1])
    file.integers = integer_positions(variables, numbers[3], numbers[5])
    functions, conditions = sum(numbers[4][1:2]), sum(numbers[1][2:4])
    for segment, size, why in (
        ("F segments", functions, "imported functions cannot be differentiated symbolically"),
        ("L segments", logical, f"{logical} logical constraints"),
        ("r segment", conditions, f"{conditions} complementarity conditions"),
    ):
        if size:
            file.problems[segment].append(why)
    return file


def integer_positions(variables: int, curved: list[int], discrete: list[int]) -> set[int]:
    """Return the positions of the integers, by the order of variables in the file (table 3).

    Nonlinear ones in constraints and objectives, only in constraints, only in objectives, each
    with the continuous ones first; then linear ones: arcs, continuous, binary, integer.
    """
    in_rows, in_goals, both = (*curved, 0, 0, 0)[:3]
    binary, linear, *nonlinear = (*discrete, 0, 0, 0, 0, 0)[:5]
    ends = both, max(in_rows, both), max(in_rows, in_goals, both)
    found = set(range(variables - binary - linear, variables))
    for end, count in zip(ends, nonlinear, strict=True):
        found |= set(range(end - count, end))
    if len(found) != sum(discrete[:5]) or min(found, default=0) < 0 or ends[2] > variables:
        raise ValueError(f"the header speaks of {sum(discrete)} discrete variables")
    return found


def _segment(file: NlFile, line: str, lines: Lines) -> None:
    key, words = line[0], line[1:].split()
    name = key if key in "rbxdkK" else line.split()[0]
    if key not in "SF" and name in file.seen:
        raise ValueError("the segment was there before")
    file.seen.add(name)
    if key == "V":
        _common(file, words, lines)
    elif key == "C":
        file.bodies[_index(words[0], file.rows)] = _expression(file, lines)
    elif key == "O":
        index = _index(words[0], file.objectives)
        file.goals[index] = (_expression(file, lines), words[1] != "0")
    elif key in "JG":
        size = file.rows if key == "J" else file.objectives
        file.linear[key][_index(words[0], size)] = _terms(file, words[1], lines)
    elif key == "r":
        file.row_limits = [_limits(words) for words in _words(file.rows, lines)]
    elif key == "b":
        file.bounds = [_limits(words) for words in _words(file.variables, lines)]
    elif key == "x":
        file.start = dict(_terms(file, words[0], lines))
    elif key in "dkKS":  # not needed: dual values, columns, suffixes
        for entry in _words(_count(words[1 if key == "S" else 0]), lines):
            _count(entry[0])
    elif key in "FL":
        file.problems[f"{key} segments"].append("not supported")
        return
    else:
        raise ValueError("there is no such segment")
    for number, rest in lines:
        raise ValueError(f"line {number}: {rest[:40]!r} does not belong to it")


def _common(file: NlFile, words: list[str], lines: Lines) -> None:
    """Read a common expression (``V``): linear terms and a nonlinear part."""
    index = _count(words[0])
    if index < file.variables:
        raise ValueError(f"v{index} is a variable")
    value = file.common[index] = ca.SX(0)  # a stand-in, should its expression be unsupported
    terms = _words(_count(words[1]), lines)
    linear = [(file.variable(_count(w[0])), _finite(w[1])) for w in terms]
    for expression, coefficient in linear:
        value = value + coefficient * expression
    file.common[index] = value + _expression(file, lines)


def _expression(file: NlFile, lines: Lines) -> Any:
    """Read an expression, and build it from its last token to the first, without recursion."""
    tokens: list[tuple[int, Any]] = []
    missing = 1
    while missing:
        tokens.append(_token(lines))
        missing += tokens[-1][0] - 1
    stack: list[Any] = []
    for operands, value in reversed(tokens):
        if operands:
            stack.append(value(*[stack.pop() for _ in range(operands)]))
        else:
            stack.append(file.variable(value) if isinstance(value, int) else value)
    return stack[0]


def _token(lines: Lines) -> tuple[int, Any]:
    """Read the number of operands and the function of an operator, or 0 and the value of a leaf.

    The value of a variable or a common expression is its number, an integer.
    """
    number, text = _next(lines)
    key, rest = text[0], text[1:]
    if key in "nsl":
        return 0, _finite(rest)
    if key == "v":
        return 0, _count(rest)
    if key in _UNSUPPORTED_LEAVES:
        raise _UnsupportedError(_UNSUPPORTED_LEAVES[key])
    if key != "o":
        raise ValueError(f"line {number}: {text[:40]!r} is not part of an expression")
    code = _count(rest)
    for arity, table in ((1, _UNARY), (2, _BINARY), (3, _TERNARY)):
        if code in table:
            return arity, table[code]
    if code in _LISTS:
        size = _count(_next(lines)[1])
        if size < 1:
            raise ValueError(f"line {number}: a list without elements")
        return size, lambda *a: reduce(_LISTS[code], a)
    if code in _UNSUPPORTED:
        raise _UnsupportedError(f"operator {_UNSUPPORTED[code]} (o{code}) is not supported")
    raise ValueError(f"line {number}: there is no operator o{code}")


def _next(lines: Lines) -> tuple[int, str]:
    line = next(lines, None)
    if line is None:
        raise ValueError("it ends too early")
    return line


def _words(size: int, lines: Lines) -> Iterator[list[str]]:
    """Yield the words of the next lines."""
    for _ in range(size):
        yield _next(lines)[1].split()


def _terms(file: NlFile, size: str, lines: Lines) -> list[tuple[int, float]]:
    """Read lines with the number of a variable and a coefficient or value."""
    terms = _words(_count(size), lines)
    return [(_index(words[0], file.variables), _finite(words[1])) for words in terms]


def _limits(words: list[str]) -> tuple[float, float]:
    """Read the limits of a row or a variable: a type and its numbers."""
    kind, numbers = words[0], [float(w) for w in words[1:]]
    if np.any(np.isnan(numbers)):
        raise ValueError("a limit is NaN")
    if kind == "5":
        raise _UnsupportedError("complementarity conditions")
    if kind not in _LIMITS:
        raise ValueError(f"there is no limit of type {kind!r}")
    lower, upper = _LIMITS[kind]
    return -np.inf if lower is None else numbers[lower], np.inf if upper is None else numbers[upper]


def _index(text: str, size: int) -> int:
    index = _count(text)
    if index >= size:
        raise ValueError(f"number {index}, but there are only {size}")
    return index


def _count(text: str) -> int:
    """Return a non-negative integer."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"{text[:40]!r} is not a non-negative integer")
    return int(text)


def _finite(text: str) -> float:
    """Return a finite number."""
    value = float(text)
    if value - value != 0.0:
        raise ValueError(f"{text[:40]!r} is not a finite number")
    return value


def _check_complete(file: NlFile) -> None:
    """Raise if a segment is missing: no constraint may silently be lost."""
    missing = [f"C{i}" for i in range(file.rows) if i not in file.bodies]
    missing += [f"O{i}" for i in range(file.objectives) if f"O{i}" not in file.seen]
    missing += ["r"] if len(file.row_limits) < file.rows else []
    missing += ["b"] if len(file.bounds) < file.variables else []
    if missing:
        raise ValueError(f"segments {', '.join(missing[:10])} are missing")
    rows, goals = (sum(map(len, file.linear[key].values())) for key in "JG")
    if rows != file.nonzeros:
        raise ValueError(f"the J segments have {rows} entries, the header says {file.nonzeros}")
    if file.objectives and goals < file.gradient_nonzeros:
        raise ValueError(
            f"the G segments have {goals} entries, the header says {file.gradient_nonzeros}"
        )
