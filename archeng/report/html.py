"""The report as one HTML file that needs no network, no script and no other file.

Every text is escaped here, whoever wrote it: names of variables and constraints, units, outputs
and messages of the simulator. A content security policy forbids scripts besides.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape

from archeng._version import __version__
from archeng.report.assets import asset
from archeng.report.blocks import Block, Facts, Message, Paragraph, Picture, Section, Table
from archeng.report.figures import plot, to_svg
from archeng.report.sections import sections
from archeng.report.shown import Shown, short

_TALL = 25  # rows from which on a table scrolls in itself
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def to_html(shown: Shown) -> str:
    """Return the whole report as one page."""
    parts = sections(shown)

    def source(kind: str) -> str:
        data = base64.b64encode(to_svg(plot(kind, shown, titled=False))).decode("ascii")
        return f"data:image/svg+xml;base64,{data}"

    body = "\n".join(section_html(part, source) for part in parts)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(short(shown.name, 80))} · archeng report</title>
<style>
{asset("report.css")}</style>
</head>
<body>
<header class="top"><div class="inside">
<h1>{escape(shown.name)} {state_badge(shown.state)}</h1>
<p class="sub">{escape(subtitle(shown))}</p>
</div></header>
<div class="body">
{contents(parts)}
<main>
{body}
</main>
</div>
<footer>archeng {escape(__version__)} · report made {made}</footer>
</body>
</html>
"""


def state_badge(state: str) -> str:
    """Return the little label that says whether the run has ended."""
    return f'<span class="state {escape(state.replace(" ", "-"))}">{escape(state)}</span>'


def subtitle(shown: Shown) -> str:
    """Return where a run comes from, in one line."""
    known = shown.provenance
    parts = [f"seed {known.get('seed', '-')}", f"archeng {known.get('archeng', '-')}"]
    if known.get("created"):
        where = f" on {known['machine']}" if known.get("machine") else ""
        parts.insert(0, f"begun {known['created']}{where}")
    return " · ".join(parts)


def contents(parts: Sequence[Section]) -> str:
    """Return the list of sections, to click."""
    links = "".join(f'<a href="#{p.key}">{escape(p.title)}</a>' for p in parts)
    return f'<nav class="toc" aria-label="contents">{links}</nav>'


def section_html(section: Section, source: Callable[[str], str]) -> str:
    """Return a section; ``source`` gives the address of a figure of a kind, empty for none yet."""
    inside = "\n".join(_block(block, source) for block in section.blocks)
    return (
        f'<section id="{escape(section.key)}">\n<h2>{escape(section.title)}</h2>\n'
        f"{inside}\n</section>"
    )


def _block(block: Block, source: Callable[[str], str]) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Facts(pairs):
            inside = "".join(
                f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                for name, value in pairs
            )
            return f'<dl class="facts">{inside}</dl>'
        case Picture(kind, caption):
            where = source(kind)
            address = f' src="{escape(where)}"' if where else ""
            return (
                f'<figure><img data-kind="{escape(kind)}"{address} '
                f'alt="{escape(caption)}"><figcaption>{escape(caption)}</figcaption></figure>'
            )
        case Message(head, text, group):
            inside = f"<summary>{escape(head)}</summary><pre>{escape(text)}</pre>"
            return f'<details data-group="{escape(group)}">{inside}</details>'
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    bars = bool(table.bars)
    kinds = [' class="r"' if kind == "r" else "" for kind in table.numeric]
    head = "".join(
        f"<th{k}>{escape(text)}</th>" for text, k in zip(table.header, kinds, strict=True)
    )
    lines = []
    for i, row in enumerate(table.rows):
        cells = "".join(f"<td{k}>{escape(text)}</td>" for text, k in zip(row, kinds, strict=True))
        if bars:
            cells += f"<td>{_bar(table.bars[i])}</td>"
        marked = ' class="marked"' if i in table.marked else ""
        lines.append(f"<tr{marked}>{cells}</tr>")
    if bars:
        head += "<th>between the bounds</th>"
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    tall = " tall" if len(table.rows) > _TALL else ""
    return (
        f'<div class="table{tall}"><table>{caption}<thead><tr>{head}</tr></thead>'
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
