"""Sheets of A4 on which text flows: what `pdf` draws on. Lengths are points from the top left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from archeng.report.figures.style import INK

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 547.0, 62.0, 790.0
SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"


@dataclass(frozen=True)
class Placed:
    """A figure on a sheet, and where."""

    sheet: int
    x: float
    y: float
    width: float
    height: float
    figure: Any


class Paper:
    """Sheets with a cursor that moves down."""

    def __init__(self) -> None:
        self.sheets: list[Any] = []
        self.placed: list[Placed] = []
        self.y = TOP
        self.turn()

    def turn(self) -> None:
        """Begin a new sheet."""
        from matplotlib.figure import Figure

        self.sheets.append(Figure(figsize=(WIDTH / 72, HEIGHT / 72)))
        self.y = TOP

    def need(self, height: float) -> None:
        """Begin a new sheet unless there is room for that."""
        if self.y + height > BOTTOM and self.y > TOP:
            self.turn()

    def down(self, height: float) -> None:
        """Leave some space."""
        self.y = min(self.y + height, BOTTOM)

    def text(
        self, x: float, y: float, text: str, size: float, *, sheet: int = -1, **style: Any
    ) -> None:
        """Write on a line whose base is at y; never taken as mathematics."""
        style = {"color": INK, "family": SANS, "va": "baseline", **style}
        text = drawable(text, style["family"], style.get("weight") == "bold")
        self.sheets[sheet].text(
            x / WIDTH, 1 - y / HEIGHT, text, fontsize=size, parse_math=False, **style
        )

    def line(self, x1: float, x2: float, y: float, color: str, width: float = 0.6) -> None:
        """Draw a horizontal line."""
        from matplotlib.lines import Line2D

        level = 1 - y / HEIGHT
        self._add(Line2D([x1 / WIDTH, x2 / WIDTH], [level, level], color=color, lw=width))

    def box(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """Draw a filled rectangle with its top left corner at x, y."""
        from matplotlib.patches import Rectangle

        corner = (x / WIDTH, 1 - (y + height) / HEIGHT)
        self._add(Rectangle(corner, width / WIDTH, height / HEIGHT, fc=color, ec="none", zorder=0))

    def _add(self, artist: Any) -> None:
        sheet = self.sheets[-1]
        artist.set_transform(sheet.transFigure)
        sheet.add_artist(artist)

    def picture(self, figure: Any) -> None:
        """Place a figure, as wide as the text; narrow ones keep their scale."""
        width, height = figure.get_size_inches()
        scale = min((RIGHT - LEFT) / max(width, 10.0), (BOTTOM - TOP) / height)
        wide, high = width * scale, height * scale
        self.need(high)
        self.placed.append(Placed(len(self.sheets) - 1, LEFT, self.y, wide, high, figure))
        self.y += high


def width_of(text: str, size: float, family: str = SANS, bold: bool = False) -> float:
    """Return how wide a text is."""
    return sum(_advance(c, family, bold) for c in text) * size


@cache
def _font(family: str, bold: bool) -> Any:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    weight = "bold" if bold else "normal"
    return get_font(findfont(FontProperties(family=family, weight=weight)))


def drawable(text: str, family: str = SANS, bold: bool = False) -> str:
    """Return a text with codes, as Python writes them, for characters that the font lacks."""
    return "".join(_drawable(c, family, bold) for c in text)


@cache
def _drawable(character: str, family: str, bold: bool) -> str:
    known = character.isprintable() and _font(family, bold).get_char_index(ord(character))
    return character if known else character.encode("unicode_escape").decode("ascii")


@cache
def _advance(character: str, family: str, bold: bool) -> float:
    font = _font(family, bold)
    font.set_size(100.0, 72)
    drawn = _drawable(character, family, bold)
    return sum(float(font.load_char(ord(c)).linearHoriAdvance) for c in drawn) / 65536 / 100


def fitted(text: str, size: float, width: float, **font: Any) -> str:
    """Return a text cut, with an ellipsis, so that it is not wider than that."""
    if width_of(text, size, **font) <= width:
        return text
    kept = text
    while kept and width_of(kept + "…", size, **font) > width:
        kept = kept[: min(len(kept) - 1, int(len(kept) * 0.97))]
    return kept + "…"


def wrapped(text: str, size: float, width: float, **font: Any) -> list[str]:
    """Return the lines of a text; words that are too long are broken."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        while width_of(word, size, **font) > width:
            room = fitted(word, size, width, **font)[:-1] or word[:1]
            if line:
                lines.append(line)
                line = ""
            lines.append(room)
            word = word[len(room) :]
        longer = f"{line} {word}" if line else word
        if line and width_of(longer, size, **font) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]
