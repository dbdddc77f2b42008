"""The report as a PDF of A4 pages, figures as vectors."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from archeng._version import __version__
from archeng.errors import MissingPackageError
from archeng.report.blocks import Block, Facts, Message, Paragraph, Picture, Section, Table
from archeng.report.figures import plot, to_pdf
from archeng.report.html import subtitle
from archeng.report.paper import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MONO,
    RIGHT,
    Paper,
    drawable,
    fitted,
    width_of,
    wrapped,
)
from archeng.report.sections import sections
from archeng.report.shown import Shown, short

_TEXT, _SMALL = 9.0, 7.6
_SOFT, _LINE, _STRONG, _TINT, _BACK = "#5d6b78", "#dfe4e9", "#8a96a3", "#fff3e2", "#f3f5f7"
_ROWS = 120  # of a table; the rest is in the HTML
_LINES = 45  # of a message
_GAP = 12.0  # between columns


def to_pdf_report(shown: Shown) -> bytes:
    """Return the report as PDF.

    Raises
    ------
    MissingPackageError
        Without matplotlib or pypdf.
    """
    try:
        import matplotlib  # noqa: F401
        import pypdf  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            "A PDF report needs matplotlib and pypdf. Install them with: "
            "pip install 'archeng[plot]'"
        ) from error
    paper = Paper()
    _heading(paper, shown)
    marks = []
    for section in sections(shown):
        paper.need(_beginning(section, shown))
        marks.append((section.title, len(paper.sheets) - 1))
        _section(paper, section, shown)
    _margins(paper, shown)
    return _bound(paper, marks, shown)


def _heading(paper: Paper, shown: Shown) -> None:
    for line in wrapped(short(shown.name, 160), 19, RIGHT - LEFT, bold=True)[:3]:
        paper.text(LEFT, paper.y + 14, line, 19, weight="bold")
        paper.y += 25
    paper.text(
        LEFT, paper.y + 5, f"{shown.state} · {short(subtitle(shown), 110)}", _TEXT, color=_SOFT
    )
    paper.y += 22
    paper.line(LEFT, RIGHT, paper.y, _STRONG)
    paper.y += 14


def _beginning(section: Section, shown: Shown) -> float:
    """Return the room that a heading and what follows it need, so that none stands alone."""
    first = section.blocks[0]
    if isinstance(first, Picture):
        return 50 + _height(plot(first.kind, shown, titled=False))
    return 100.0


def _height(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(height * (RIGHT - LEFT) / max(width, 10.0))


def _section(paper: Paper, section: Section, shown: Shown) -> None:
    paper.down(8)
    paper.text(LEFT, paper.y + 12, section.title, 13.5, weight="bold", color="#1f5fa8")
    paper.y += 24
    for block in section.blocks:
        _block(paper, block, shown)
    paper.down(8)


def _block(paper: Paper, block: Block, shown: Shown) -> None:
    match block:
        case Paragraph(text):
            _lines(paper, wrapped(text, _TEXT, RIGHT - LEFT), _TEXT)
            paper.down(5)
        case Facts(pairs):
            _facts(paper, pairs)
        case Picture(kind, caption):
            _picture(paper, kind, caption, shown)
        case Message(head, text, _):
            _message(paper, head, text)
        case Table():
            _table(paper, block)


def _lines(paper: Paper, lines: Sequence[str], size: float, **style: Any) -> None:
    for line in lines:
        paper.need(size * 1.5)
        paper.text(LEFT, paper.y + size, line, size, **style)
        paper.y += size * 1.5


def _facts(paper: Paper, pairs: Sequence[tuple[str, str]]) -> None:
    across = 4 if len(pairs) in (4, 7, 8) else 3
    wide = (RIGHT - LEFT - 8 * (across - 1)) / across
    for k, (name, value) in enumerate(pairs):
        column = k % across
        if column == 0:
            paper.need(48)
        x = LEFT + column * (wide + 8)
        paper.box(x, paper.y, wide, 40, _BACK)
        paper.text(x + 8, paper.y + 14, fitted(name, 7.4, wide - 12), 7.4, color=_SOFT)
        shown = fitted(value, 11.5, wide - 14, bold=True)
        paper.text(x + 8, paper.y + 31, shown, 11.5, weight="bold")
        if column == across - 1 or k == len(pairs) - 1:
            paper.y += 47
    paper.down(5)


def _picture(paper: Paper, kind: str, caption: str, shown: Shown) -> None:
    figure = plot(kind, shown, titled=False)
    lines = wrapped(caption, _SMALL, RIGHT - LEFT)
    paper.need(_height(figure) + 14 * len(lines))
    paper.picture(figure)
    paper.y += 3
    _lines(paper, lines, _SMALL, color=_SOFT)
    paper.down(8)


def _message(paper: Paper, head: str, text: str) -> None:
    paper.need(40)
    _lines(paper, wrapped(head, _SMALL, RIGHT - LEFT, bold=True), _SMALL, weight="bold")
    wide = int((RIGHT - LEFT - 12) / width_of("x", 6.8, family=MONO))
    raw = []
    for line in text.expandtabs(4).splitlines():
        line = drawable(line, MONO)
        raw += [line[k : k + wide] for k in range(0, max(len(line), 1), wide)]
    if len(raw) > _LINES:
        raw = [*raw[: _LINES // 3], "…", *raw[-2 * _LINES // 3 :]]
    for line in raw:
        paper.need(10)
        paper.box(LEFT, paper.y, RIGHT - LEFT, 10.2, _BACK)
        paper.text(LEFT + 6, paper.y + 7.4, line, 6.8, family=MONO)
        paper.y += 10
    paper.down(8)


def _table(paper: Paper, table: Table) -> None:
    rows = [tuple(" ".join(cell.split()) for cell in row) for row in table.rows[:_ROWS]]
    columns = _columns(table.header, rows, table.numeric)
    paper.need(34 + 14 * min(len(rows), 5))
    if table.caption:
        paper.text(LEFT, paper.y + 9, table.caption, _TEXT - 0.6, weight="bold", color=_SOFT)
        paper.y += 14
    _row(paper, table.header, columns, table.numeric, head=True)
    for k, row in enumerate(rows):
        if paper.y + 14 > BOTTOM:
            paper.turn()
            _row(paper, table.header, columns, table.numeric, head=True)
        if k in table.marked:
            wide = columns[-1][0] + columns[-1][1] - LEFT
            paper.box(LEFT - 3, paper.y + 0.6, wide + 6, 12.8, _TINT)
        _row(paper, row, columns, table.numeric)
    if len(table.rows) > _ROWS:
        left = f"… and {len(table.rows) - _ROWS} more rows; they are in the HTML report."
        _lines(paper, [left], _SMALL, color=_SOFT)
    paper.down(10)


def _columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], kinds: str
) -> list[tuple[float, float]]:
    """Return left edge and width of each column; text columns give way if it is too wide."""
    natural = []
    for k, name in enumerate(header):
        cells = [width_of(row[k], _SMALL) for row in rows]
        natural.append(max([width_of(name, _SMALL, bold=True), *cells]) + 1)
    room = RIGHT - LEFT - _GAP * (len(header) - 1)
    excess = sum(natural) - room
    while excess > 0.5:
        widest = max(
            range(len(natural)), key=lambda k: natural[k] * (1.0 if kinds[k] == "l" else 0.55)
        )
        cut = min(excess, max(natural[widest] * 0.1, 1.0))
        natural[widest] -= cut
        excess -= cut
    edges, x = [], LEFT
    for width in natural:
        edges.append((x, width))
        x += width + _GAP
    return edges


def _row(
    paper: Paper,
    cells: Sequence[str],
    columns: Sequence[tuple[float, float]],
    kinds: str,
    head: bool = False,
) -> None:
    style: dict[str, Any] = {"weight": "bold", "color": _SOFT} if head else {}
    for cell, (x, width), kind in zip(cells, columns, kinds, strict=True):
        text = fitted(cell, _SMALL, width, bold=head)
        if kind == "r":
            paper.text(x + width, paper.y + 9.6, text, _SMALL, ha="right", **style)
        else:
            paper.text(x, paper.y + 9.6, text, _SMALL, **style)
    paper.y += 13.6
    end = columns[-1][0] + columns[-1][1]
    paper.line(LEFT, end, paper.y, _STRONG if head else _LINE, 0.7 if head else 0.5)


def _margins(paper: Paper, shown: Shown) -> None:
    """Write the name of the study and the number of the page on every sheet."""
    count = len(paper.sheets)
    for k in range(count):
        paper.text(LEFT, 36, short(shown.name, 70), 7.5, sheet=k, color=_SOFT)
        paper.text(RIGHT, 36, "archeng report", 7.5, sheet=k, color=_SOFT, ha="right")
        paper.text(RIGHT, 815, f"{k + 1} / {count}", 7.5, sheet=k, color=_SOFT, ha="right")
        paper.text(LEFT, 815, f"archeng {__version__}", 7.5, sheet=k, color=_SOFT)


def _bound(paper: Paper, marks: Sequence[tuple[str, int]], shown: Shown) -> bytes:
    """Put sheets and figures together."""
    from pypdf import PdfReader, PdfWriter, Transformation

    drawn = PdfReader(io.BytesIO(to_pdf([*paper.sheets, *(p.figure for p in paper.placed)])))
    count = len(paper.sheets)
    writer = PdfWriter()
    for sheet in drawn.pages[:count]:
        writer.add_page(sheet)
    for p, page in zip(paper.placed, drawn.pages[count:], strict=True):
        scale = p.height / float(page.mediabox.height)
        move = Transformation().scale(scale).translate(p.x, HEIGHT - p.y - p.height)
        writer.pages[p.sheet].merge_transformed_page(page, move)
    for title, number in marks:
        writer.add_outline_item(title=title, page_number=number)
    writer.add_metadata({"/Title": f"{short(shown.name, 200)}: archeng report"})
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()
