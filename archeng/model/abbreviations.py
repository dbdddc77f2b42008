"""CasADi abbreviates what occurs twice in a formula: ``@1=640000, (@1+sq(x))``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SHORT = re.compile(r"@(\d+)=")  # the definition of an abbreviation ...
_USED = re.compile(r"@(\d+)")  # ... and its use


def spelled_out(
    text: str, longest: int | None = None, names: Sequence[tuple[str, str]] = ()
) -> str:
    """Return a formula without abbreviations; as it is if one is longer than that.

    ``names`` are parts of formulas, each with what stands for it.
    """
    known: dict[str, str] = {}
    rest = text
    while (begin := _SHORT.match(rest)) is not None:
        end = _first_comma(rest)
        known[begin[1]] = renamed(_spelled(rest[begin.end() : end], known), names)
        rest = rest[end + 2 :]
        if longest is not None and len(known[begin[1]]) > longest:
            return text
    return renamed(_spelled(rest, known), names)


def renamed(text: str, names: Sequence[tuple[str, str]]) -> str:
    """Return a text with names in the place of parts, in this order."""
    for part, name in names:
        text = text.replace(part, name)
    return text


def _spelled(text: str, known: Mapping[str, str]) -> str:
    """Return a text with abbreviations written out."""
    return _USED.sub(lambda m: known.get(m[1], m[0]), text)


def _first_comma(text: str) -> int:
    """Position of the first comma that is not in brackets."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            return k
    return len(text)
