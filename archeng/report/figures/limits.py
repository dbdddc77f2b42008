"""The constraints: what blocks the design, and what only the simulator knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.report.figures.style import BLUE, LIGHT, ORANGE, RED, calls_axis, dots, nothing, title
from archeng.report.shown import Shown, short
from archeng.report.tables import gain_text

_MOST_BARS = 25


def simulated(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw one panel per constraint: its value at every call, and the forbidden side."""
    count = len(shown.simulated)
    columns = min(count, 3)
    rows = -(-count // columns)
    figure.set_size_inches(10 if columns > 1 else 6.5, 2.6 * rows + 0.7)
    panels = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    calls = calls_axis(shown)
    for axes, s in zip(panels, shown.simulated, strict=False):
        values = np.array([e.constraints.get(s.name, np.nan) for e in shown.evaluations])
        bad = np.array([s.name in e.violated for e in shown.evaluations], dtype=bool)
        dots(axes, calls[~bad], values[~bad], BLUE)
        dots(axes, calls[bad], values[bad], RED)
        low, high = _window(values, s.lower, s.upper)
        axes.set_ylim(low, high)
        if np.isfinite(s.upper):
            axes.axhline(s.upper, color=RED, lw=1)
            axes.axhspan(s.upper, max(high, s.upper), color=RED, alpha=0.08, lw=0)
        if np.isfinite(s.lower):
            axes.axhline(s.lower, color=RED, lw=1)
            axes.axhspan(min(low, s.lower), s.lower, color=RED, alpha=0.08, lw=0)
        title(axes, short(s.name, 32), fontsize=9.5)
        axes.set_xlabel("simulator calls")
    for axes in panels[count:]:
        axes.set_axis_off()
    if prefix:
        what = f"{prefix}simulated constraints (red: violated)"
        figure.suptitle(what, parse_math=False, fontsize=10.5)


def _window(values: Any, lower: float, upper: float) -> tuple[float, float]:
    """Limits of the axis: most values and both limits; a few extreme ones may lie outside."""
    finite = values[np.isfinite(values)]
    seen = [x for x in (lower, upper) if np.isfinite(x)]
    if len(finite):
        seen += [*np.percentile(finite, [2, 98]).tolist()]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    pad = 0.08 * max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-300)
    return low - pad, high + pad


def activity(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw bars: how often designs were repaired onto a constraint; its gain beside it."""
    blocking = [a for a in shown.activity if a.repaired or a.active]
    blocking.sort(key=lambda a: (a.active, a.repaired))
    blocking = blocking[-_MOST_BARS:]
    figure.set_size_inches(10, 1.4 + 0.3 * max(len(blocking), 3))
    axes = figure.subplots()
    title(axes, f"{prefix}what blocks the design (orange: active at the best design)")
    if not blocking:
        nothing(axes, "no constraint blocked the design")
        return
    places = np.arange(len(blocking))
    colors = [ORANGE if a.active else LIGHT for a in blocking]
    axes.barh(places, [a.repaired for a in blocking], color=colors, height=0.65)
    axes.set_yticks(places, [short(a.name, 36) for a in blocking], parse_math=False)
    for place, a in zip(places, blocking, strict=True):
        if a.active:
            text = f" gain per unit {gain_text(a)}"
            axes.annotate(text, (a.repaired, place), va="center", fontsize=8.5)
    axes.margins(x=0.35)
    axes.set_xlim(left=0)
    axes.set_xlabel("calls repaired onto the constraint (simulated: that violated it)")
    axes.grid(axis="y", visible=False)
