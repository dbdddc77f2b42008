"""Formulas as text, with the names that the engineer gave.

CasADi's own names of symbols have ASCII letters only, and are the same for names that differ in
others. So formulas are printed with a number in the place of each symbol, which its name then
replaces.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import casadi as ca

from archeng.model.abbreviations import spelled_out
from archeng.model.table_text import attribute_texts

_LONGEST = 120  # characters of a formula in a table
_MARK = re.compile(r"\$(\d+)\$")  # a number in the place of a symbol; CasADi prints no $
_LONGEST_PART = 20_000  # characters of an abbreviation that is written out to look for tables


class _Named(Protocol):
    """What has a name, and names of its entries."""

    @property
    def name(self) -> str: ...
    def element_names(self) -> Iterable[str]: ...


def formula_texts(
    expressions: Sequence[Any], symbols: Sequence[Any], records: Sequence[_Named]
) -> list[str]:
    """Return formulas as CasADi writes them, but with the names of the records; cut if long.

    ``symbols`` are those of the records. Entries have names of their own, such as ``w[0]``; only
    where a formula calls functions of MX CasADi shows the position behind the name.
    """
    if not expressions:
        return []
    function = ca.Function("shown", list(symbols), list(expressions))
    scalar = isinstance(expressions[0], ca.SX)
    if not scalar:
        with contextlib.suppress(RuntimeError):
            function, scalar = function.expand(), True
    if scalar:
        names = [label for record in records for label in record.element_names()]
        numbers = itertools.count()
        marks = [_entries(s.shape, [next(numbers) for _ in range(s.numel())]) for s in symbols]
    else:
        names = [record.name for record in records]
        marks = [ca.MX.sym(f"${k}$", *s.shape) for k, s in enumerate(symbols)]
    shown = function.call(marks, True, False)
    tables = attribute_texts(records, marks) if scalar else []
    texts = [_bare(_in_one_piece(str(e), tables)) for e in shown]
    return [_cut(_MARK.sub(lambda m: names[int(m[1])], text)) for text in texts]


def _in_one_piece(text: str, names: Sequence[tuple[str, str]]) -> str:
    """Return a formula without abbreviations, unless it becomes much longer.

    ``names`` are parts of formulas with what stands for them: then it becomes shorter first.
    """
    if names:
        text = spelled_out(text, _LONGEST_PART, names)
    whole = spelled_out(text, _LONGEST)
    return whole if len(whole) <= _LONGEST or len(whole) <= len(text) else text


def _entries(shape: tuple[int, int], numbers: Sequence[int]) -> Any:
    """Return a matrix whose entries stand for numbers, column by column."""
    return ca.reshape(ca.vertcat(*(ca.SX.sym(f"${k}$") for k in numbers)), *shape)


def _bare(text: str) -> str:
    """Return a text without brackets around the whole of it."""
    return text[1:-1] if text.startswith("(") and _closes_last(text) else text


def _closes_last(text: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return k == len(text) - 1
    return False


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
