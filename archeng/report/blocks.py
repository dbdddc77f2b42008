"""What a report is made of: sections of paragraphs, tables, figures and messages.

The page and the PDF are drawn from the same sections. Texts are plain: whoever draws them escapes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A sentence or two."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names with their values, a few large ones at the top of a report."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    caption : str
    header : tuple of str
    rows : sequence of tuples of str
    numeric : str
        One letter per column: ``l`` text, ``r`` number.
    marked : frozenset of int
        Rows that stand out.
    bars : tuple of (float or None)
        Of each row, where its value lies between its bounds (0 to 1); empty for no bars.
    """

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: str
    marked: frozenset[int] = frozenset()
    bars: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure by its kind, and what it shows."""

    kind: str
    caption: str


@dataclass(frozen=True)
class Message:
    """A text as a simulator wrote it, such as a traceback.

    ``group`` stays the same when a later call with the same message takes its place.
    """

    head: str
    text: str
    group: str


Block = Paragraph | Facts | Table | Picture | Message


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    key: str
    title: str
    blocks: tuple[Block, ...]
