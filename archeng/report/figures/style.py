"""One look for all figures: colours, fonts, parts of axes; figures as SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from archeng.checks import needed
from archeng.records import CallRecord, Floats

BLUE, ORANGE, RED, GREEN, VIOLET = "#1f5fa8", "#d9822b", "#c0392b", "#2e8b57", "#7b5ea7"
GREY, LIGHT, DOT, INK = "#9aa5b1", "#c9d1d9", "#aeb8c2", "#263238"
MANY = 2000  # points from which on they are drawn as pixels: vectors would make files huge

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.usetex": False,
    "text.color": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#8a949e",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "grid.color": "#e4e8ec",
    "grid.linewidth": 0.8,
    "xtick.color": "#55606b",
    "ytick.color": "#55606b",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "archeng",
}


def styled(fonttype: str = "path") -> Any:
    """Return a context in which our style holds, whatever the user's is; texts are outlines."""
    return needed("matplotlib", "plot").rc_context({**_STYLE, "svg.fonttype": fonttype})


def to_svg(figure: Any) -> bytes:
    """Return a figure as SVG; the same figure gives the same bytes.

    Texts are outlines, which look the same everywhere. If our font lacks a letter (Chinese, for
    instance), they are texts, and whoever shows the figure takes a font that has it.
    """
    data, lacks_letters = _saved(figure, "path")
    return _saved(figure, "none")[0] if lacks_letters else data


def _saved(figure: Any, texts: str) -> tuple[bytes, bool]:
    """Return a figure as SVG, and whether matplotlib warned that a letter has no outline.

    Its other warnings, that panels are too small for their labels, help nobody who reads a report.
    """
    stream = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught, styled(texts):
        warnings.simplefilter("always", UserWarning)
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": "archeng"})
    return stream.getvalue(), any("missing from font" in str(w.message) for w in caught)


def call_numbers(calls: Sequence[CallRecord]) -> Floats:
    """Numbers (k,) of the calls, from 1."""
    return np.arange(1, len(calls) + 1, dtype=float)


def panels(figure: Any, count: int, height: float, heading: str, **shared: bool) -> list[Any]:
    """Return axes over the calls, at most three in a row, under a heading if there is one."""
    columns = 2 if count == 4 else min(3, count)
    rows = -(-count // columns)
    figure.set_size_inches(10, height * rows + 0.7)
    grid = figure.subplots(rows, columns, squeeze=False, **shared).reshape(-1)
    for axes in grid[count:]:
        axes.set_axis_off()
    for axes in grid[max(count - columns, 0) : count]:
        axes.set_xlabel("simulator calls")
        axes.tick_params(labelbottom=True)
    if heading:
        figure.suptitle(heading, parse_math=False, fontsize=10.5)
    return list(grid[:count])


def dots(axes: Any, x: Floats, y: Floats, color: str, size: float = 4, **more: Any) -> Any:
    """Draw a cloud of points, as pixels if there are many."""
    return axes.plot(x, y, ".", color=color, ms=size, rasterized=len(x) > MANY, **more)


def crosses(axes: Any, x: Floats, y: Floats, **more: Any) -> None:
    """Draw calls that did not end well."""
    axes.plot(x, y, "x", color=RED, ms=5, **more)


def steps(axes: Any, x: Floats, y: Floats, color: str, **more: Any) -> None:
    """Draw a line that keeps each value until the next call."""
    axes.plot(x, y, color=color, drawstyle="steps-post", **more)


def legend(axes: Any, **more: Any) -> None:
    """Add a legend whose labels are plain text."""
    for text in axes.legend(**more).get_texts():
        text.set_parse_math(False)


def title(axes: Any, text: str, **more: Any) -> None:
    """Set a title that is plain text, above the left edge."""
    axes.set_title(text, x=0.0, ha="left", parse_math=False, **more)


def say(axes: Any, text: str) -> None:
    """Write a text into the middle of empty axes."""
    middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.5, text, color="#7a858f", parse_math=False, wrap=True, **middle)


def nothing(axes: Any, text: str) -> None:
    """Say in empty axes why they are empty, and leave nothing else of them."""
    say(axes, text)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit in which a length of time reads well, and its name."""
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return size, name
    return 1.0, "seconds"
