"""The elements of a report in HTML: paragraphs, tables, figures, messages.

Every text is escaped here, whoever wrote it: names of variables and constraints, units, outputs and
messages of the simulator. Only these functions make `Html`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import NewType

_TALL = 25  # rows from which on a table scrolls in itself

Html = NewType("Html", str)


@dataclass(frozen=True)
class Section:
    """A part of a report; ``html`` has its title and its elements."""

    key: str
    title: str
    html: Html


def section(key: str, title: str, *elements: Html) -> Section:
    """Return elements under a title."""
    inside = "\n".join((f"<h2>{escape(title)}</h2>", *elements))
    return Section(key, title, Html(f'<section id="{escape(key)}">\n{inside}\n</section>'))


def paragraph(text: str) -> Html:
    """Return a sentence or two."""
    return Html(f"<p>{escape(text)}</p>")


def facts(pairs: Sequence[tuple[str, str]]) -> Html:
    """Return names with their values, a few large ones."""
    boxes = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return Html(f'<dl class="facts">{"".join(boxes)}</dl>')


def picture(kind: str, caption: str) -> Html:
    """Return the place of a figure by its kind; whoever shows the page puts the figure there."""
    return Html(
        f'<figure><img data-kind="{escape(kind)}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def message(head: str, text: str, group: str) -> Html:
    """Return a text as a simulator wrote it, such as a traceback, to open.

    ``group`` stays the same when a later call with the same message takes its place.
    """
    inside = f"<summary>{escape(head)}</summary><pre>{escape(text)}</pre>"
    return Html(f'<details data-group="{escape(group)}">{inside}</details>')


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str,
    marked: Collection[int] = (),
    bars: Sequence[float | None] = (),
) -> Html:
    """Return a table.

    Parameters
    ----------
    align : str
        One letter per column: ``l`` text, ``r`` number.
    marked : collection of int
        Rows that stand out.
    bars : sequence of (float or None)
        Of each row, where its value lies between its bounds (0 to 1); empty for no bars.
    """
    classes = [' class="r"' if letter == "r" else "" for letter in align]

    def cells(tag: str, texts: Sequence[str]) -> str:
        pairs = zip(texts, classes, strict=True)
        return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in pairs)

    lines = []
    for i, row in enumerate(rows):
        bar = f"<td>{_bar(bars[i])}</td>" if bars else ""
        kind = ' class="marked"' if i in marked else ""
        lines.append(f"<tr{kind}>{cells('td', row)}{bar}</tr>")
    head = cells("th", header) + ("<th>between the bounds</th>" if bars else "")
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    tall = " tall" if len(rows) > _TALL else ""
    return Html(
        f'<div class="table{tall}"><table>{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _bar(place: float | None) -> str:
    """Return a small drawing of where a value lies between its bounds."""
    if place is None:
        return ""
    x = 6 + 88 * place
    return (
        f'<svg class="bar" viewBox="0 0 100 10" role="img" aria-label="{100 * place:.0f} %">'
        f'<line x1="6" y1="5" x2="94" y2="5"/><circle cx="{x:.1f}" cy="5" r="4.5"/></svg>'
    )
