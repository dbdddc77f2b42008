"""One look for all figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.records import Floats
from archeng.report.shown import Shown

BLUE, ORANGE, RED, GREEN, VIOLET = "#1f5fa8", "#d9822b", "#c0392b", "#2e8b57", "#7b5ea7"
GREY, LIGHT, DOT, INK = "#9aa5b1", "#c9d1d9", "#aeb8c2", "#263238"
MANY = 2000  # points from which on they are drawn as pixels: vectors would make files huge

STYLE: Any = {
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
    "svg.fonttype": "path",
    "svg.hashsalt": "archeng",
    "pdf.fonttype": 42,
}


def calls_axis(shown: Shown) -> Floats:
    """Numbers (k,) of the calls, from 1."""
    return np.arange(1, len(shown.evaluations) + 1, dtype=float)


def dots(axes: Any, x: Floats, y: Floats, color: str, size: float = 4, **more: Any) -> Any:
    """Draw a cloud of points, as pixels if there are many."""
    return axes.plot(x, y, ".", color=color, ms=size, rasterized=len(x) > MANY, **more)


def legend(axes: Any, **more: Any) -> None:
    """Add a legend whose labels are plain text."""
    for text in axes.legend(**more).get_texts():
        text.set_parse_math(False)


def title(axes: Any, text: str, **more: Any) -> None:
    """Set a title that is plain text, above the left edge."""
    axes.set_title(text, x=0.0, ha="left", parse_math=False, **more)


def nothing(axes: Any, text: str) -> None:
    """Say in empty axes why they are empty."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#7a858f",
        parse_math=False, wrap=True,
    )  # fmt: skip
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
