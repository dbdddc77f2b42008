"""Reading a text ``.nl`` file into plain data; every count and every index is checked.

The format: D. M. Gay, "Writing .nl files", Sandia report SAND2005-7907P, 2005,
https://ampl.github.io/nlwrite.pdf (a report has no DOI).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.domain import refusal
from archeng.model.nl.expressions import (
    UnsupportedTokenError,
    build,
    count,
    finite,
    read_tokens,
)

_HEADER_LINES = 10  # of every .nl file
_SEGMENT = re.compile(r"[FSVCLOdxrbkKJG]")


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
    symbols: list[Any] = field(default_factory=list)
    common: dict[int, Any] = field(default_factory=dict)
    bodies: dict[int, Any] = field(default_factory=dict)
    goals: dict[int, tuple[Any, bool]] = field(default_factory=dict)
    row_limits: list[tuple[float, float]] | None = None
    bounds: list[tuple[float, float]] | None = None
    start: dict[int, float] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    linear: dict[str, dict[int, list[tuple[int, float]]]] = field(
        default_factory=lambda: {"J": {}, "G": {}}
    )

    def problem(self, segment: str, why: str) -> None:
        """Note something that cannot be imported."""
        self.problems.setdefault(segment, []).append(why)

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
    """Read the text of a file.

    Raises
    ------
    ValueError
        If the file is damaged; the message says where.
    """
    lines = [(i, _strip(line)) for i, line in enumerate(text.splitlines(), 1)]
    file = _header([line for _, line in lines[:_HEADER_LINES]], len(lines))
    file.symbols = [ca.SX.sym(f"x{i}") for i in range(file.variables)]
    body = _Rewindable([entry for entry in lines[_HEADER_LINES:] if entry[1]])
    for number, line in body:
        try:
            _segment(file, line, body)
        except UnsupportedTokenError as error:
            file.problem(line.split()[0], str(error))
            body.skip()
        except (ValueError, IndexError) as error:
            raise ValueError(f"segment {line[:20]!r} at line {number}: {error}") from error
    if not any(key[0] != "O" for key in file.problems):
        _check_complete(file)
    return file


class _Rewindable:
    """Lines that can be skipped up to the next segment."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self._lines, self._position = lines, 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self

    def __next__(self) -> tuple[int, str]:
        if self._position >= len(self._lines):
            raise StopIteration
        self._position += 1
        return self._lines[self._position - 1]

    def skip(self) -> None:
        """Go to the next line that begins a segment."""
        while self._position < len(self._lines):
            if _SEGMENT.match(self._lines[self._position][1]):
                return
            self._position += 1

    def take(self, size: int) -> Iterator[list[str]]:
        """Yield the words of the next lines."""
        for _ in range(size):
            entry = next(self, None)
            if entry is None:
                raise ValueError("the file ends in the middle of the segment")
            yield entry[1].split()


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
        numbers = [[count(word) for word in line.split()] for line in lines[1:]]
        sizes = [*numbers[0], 0, 0, 0]
        variables, rows, objectives = numbers[0][:3]
    except ValueError as error:
        raise ValueError(f"the header is damaged: {error}") from error
    if variables + rows > 2 * total:
        raise ValueError(f"the header speaks of {variables} variables and {rows} rows")
    nonzeros = [*numbers[6], 0, 0]
    file = NlFile(variables, rows, objectives, sizes[5], nonzeros[0], nonzeros[1])
    if sum(numbers[5]):
        file.problem("variables", refusal("discrete", f"{sum(numbers[5])} in the header"))
    if sum(numbers[4][1:2]):
        file.problem("F segments", "imported functions cannot be differentiated symbolically")
    if sizes[5]:
        file.problem("L segments", f"{sizes[5]} logical constraints")
    if sum(numbers[1][2:4]):
        file.problem("r segment", f"{sum(numbers[1][2:4])} complementarity conditions")
    return file


def _segment(file: NlFile, line: str, body: _Rewindable) -> None:
    key, words = line[0], line[1:].split()
    name = key if key in "rbxdkK" else line.split()[0]
    if key not in "SF" and name in file.seen:
        raise ValueError("the segment was there before")
    file.seen.add(name)
    if key == "V":
        _common(file, words, body)
    elif key == "C":
        index = _index(words[0], file.rows)
        file.bodies[index] = build(read_tokens(body), file.variable)
    elif key == "O":
        index = _index(words[0], file.objectives)
        file.goals[index] = (build(read_tokens(body), file.variable), words[1] != "0")
    elif key in "JG":
        size = file.rows if key == "J" else file.objectives
        terms = _terms(body, count(words[1]), file.variables)
        file.linear[key][_index(words[0], size)] = terms
    elif key == "r":
        file.row_limits = [_limits(words) for words in body.take(file.rows)]
    elif key == "b":
        file.bounds = [_limits(words) for words in body.take(file.variables)]
    elif key == "x":
        file.start = dict(_terms(body, count(words[0]), file.variables))
    elif key == "d":
        _terms(body, count(words[0]), file.rows)
    elif key in "kK":
        for entry in body.take(count(words[0])):
            count(entry[0])
    elif key == "S":
        for entry in body.take(count(words[1])):
            count(entry[0])
    elif key in "FL":
        file.problem(f"{key} segments", "not supported")
        body.skip()
    else:
        raise ValueError("there is no such segment")


def _common(file: NlFile, words: list[str], body: _Rewindable) -> None:
    """Read a common expression (``V``): linear terms and a nonlinear part."""
    index = count(words[0])
    if index < file.variables:
        raise ValueError(f"v{index} is a variable")
    value = file.common[index] = ca.SX(0)  # a stand-in, should its expression be unsupported
    linear = [(file.variable(count(w[0])), finite(w[1])) for w in body.take(count(words[1]))]
    for expression, coefficient in linear:
        value = value + coefficient * expression
    file.common[index] = value + build(read_tokens(body), file.variable)


def _index(text: str, size: int) -> int:
    index = count(text)
    if index >= size:
        raise ValueError(f"number {index}, but there are only {size}")
    return index


def _terms(body: _Rewindable, size: int, most: int) -> list[tuple[int, float]]:
    """Read lines with an index and a number."""
    return [(_index(words[0], most), finite(words[1])) for words in body.take(size)]


def _limits(words: list[str]) -> tuple[float, float]:
    """Read the limits of a row or a variable: a type and its numbers."""
    kind, numbers = words[0], [float(w) for w in words[1:]]
    if np.any(np.isnan(numbers)):
        raise ValueError("a limit is NaN")
    if kind == "0":
        return numbers[0], numbers[1]
    if kind == "1":
        return -np.inf, numbers[0]
    if kind == "2":
        return numbers[0], np.inf
    if kind == "3":
        return -np.inf, np.inf
    if kind == "4":
        return numbers[0], numbers[0]
    if kind == "5":
        raise UnsupportedTokenError("complementarity conditions")
    raise ValueError(f"there is no limit of type {kind!r}")


def _check_complete(file: NlFile) -> None:
    """Raise if a segment is missing: no constraint may silently be lost."""
    missing = [f"C{i}" for i in range(file.rows) if i not in file.bodies]
    missing += [f"O{i}" for i in range(file.objectives) if f"O{i}" not in file.seen]
    if file.rows and file.row_limits is None:
        missing.append("r")
    if file.variables and file.bounds is None:
        missing.append("b")
    if missing:
        raise ValueError(f"segments {', '.join(missing[:10])} are missing")
    entries = {k: sum(len(t) for t in v.values()) for k, v in file.linear.items()}
    if entries["J"] != file.nonzeros:
        raise ValueError(
            f"the J segments have {entries['J']} entries, the header says {file.nonzeros}"
        )
    if file.objectives and entries["G"] < file.gradient_nonzeros:
        raise ValueError(
            f"the G segments have {entries['G']} entries, the header says {file.gradient_nonzeros}"
        )
