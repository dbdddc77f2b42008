"""Texts of users, such as names and messages, where they could do harm or be too long."""

from __future__ import annotations

import unicodedata
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HIDDEN = {"Cc", "Cs", "Zl", "Zp"}  # categories of Unicode: control codes, surrogates, line ends
_TURNING = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """Return a text for a terminal: what would steer it is a code; ends of lines stay."""

    def steers(c: str) -> bool:
        return c != "\n" and (unicodedata.category(c) in _HIDDEN or c in _TURNING)

    return "".join(c.encode("unicode_escape").decode("ascii") if steers(c) else c for c in text)


def cell(value: Any) -> Any:
    """Return a value for a CSV file.

    Spreadsheets take a text that begins with ``=``, ``+``, ``-`` or ``@`` for a formula: it gets an
    apostrophe in front. Numbers stay as they are.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def short(text: str, length: int = 32) -> str:
    """Return a text on one line, cut in its middle if it is longer than that."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    if len(line) <= length:
        return line
    half = (length - 1) // 2
    return f"{line[: length - 1 - half]}…{line[-half:]}"
