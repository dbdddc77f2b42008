"""The constraints: what blocks the design, what only the simulator knows, repairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.plain_text import short
from archeng.report.figures import style
from archeng.report.text import gain_text
from archeng.result import Result

_MOST_BARS = 25  # constraints in the figure of what blocks the design
REPAIR_KINDS = {
    "feasible": (style.GREY, "feasible as sampled"),
    "intersection": (style.ORANGE, "repaired to the intersection of the violated boundaries"),
    "nearest": (style.BLUE, "repaired to the nearest feasible point"),
    "proposed": (style.GREEN, "proposed by a model of the objective"),
    "unrepaired": (style.RED, "infeasible, simulated as sampled"),
    "failed": (style.VIOLET, "not repairable"),
}
"""Colour and meaning of the kinds of repairs that calls record."""


def simulated(figure: Any, result: Result, prefix: str) -> None:
    """Draw one panel per constraint: its value at every call, and the forbidden side."""
    heading = f"{prefix}simulated constraints (red: violated)" if prefix else ""
    grid = style.panels(figure, len(result.simulated), 2.6, heading)
    if len(result.simulated) == 1:
        figure.set_figwidth(6.5)
    calls = style.call_numbers(result.evaluations)
    for axes, s in zip(grid, result.simulated, strict=True):
        values = np.array([e.constraints.get(s.name, np.nan) for e in result.evaluations])
        bad = np.array([s.name in e.violated for e in result.evaluations], dtype=bool)
        style.dots(axes, calls[~bad], values[~bad], style.BLUE)
        style.dots(axes, calls[bad], values[bad], style.RED)
        low, high = _window(values, s.lower, s.upper)
        axes.set_ylim(low, high)
        for limit, end in ((s.upper, high), (s.lower, low)):  # the window has both limits in it
            if np.isfinite(limit):
                axes.axhline(limit, color=style.RED, lw=1)
                axes.axhspan(limit, end, color=style.RED, alpha=0.08, lw=0)
        style.title(axes, short(s.name, 32), fontsize=9.5)


def _window(values: Any, lower: float, upper: float) -> tuple[float, float]:
    """Limits of the axis: most values and both limits; a few extreme ones may lie outside."""
    finite = values[np.isfinite(values)]
    seen = [x for x in (lower, upper) if np.isfinite(x)]
    if len(finite):
        seen += [*np.percentile(finite, [2, 98]).tolist()]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    pad = 0.08 * max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-300)
    return low - pad, high + pad


def activity(figure: Any, result: Result, prefix: str) -> None:
    """Draw bars: how often designs were repaired onto a constraint; its gain beside it."""
    blocking = [a for a in result.activity if a.repaired or a.active]
    blocking.sort(key=lambda a: (a.active, a.repaired))
    blocking = blocking[-_MOST_BARS:]
    figure.set_size_inches(10, 1.4 + 0.3 * max(len(blocking), 3))
    axes = figure.subplots()
    style.title(axes, f"{prefix}what blocks the design (orange: active at the best design)")
    if not blocking:
        style.nothing(axes, "no constraint blocked the design")
        return
    places = np.arange(len(blocking))
    colors = [style.ORANGE if a.active else style.LIGHT for a in blocking]
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


def repairs(figure: Any, result: Result, prefix: str) -> None:
    """Draw how designs came to be feasible, and how far they were moved."""
    left, right = figure.subplots(1, 2)
    style.title(left, f"{prefix}where designs come from")
    style.title(right, "distance of the repairs")
    calls = style.call_numbers(result.evaluations)
    kinds = np.array([e.repair_kind for e in result.evaluations])
    totals = {kind: np.cumsum(kinds == kind) for kind in REPAIR_KINDS if kind in kinds}
    for kind, total in totals.items():
        color, meaning = REPAIR_KINDS[kind]
        style.steps(left, calls, total, color, label=f"{meaning} ({total[-1]})")
    most = max((int(total[-1]) for total in totals.values()), default=1)
    left.set_ylim(0, most * (1.15 + 0.09 * len(totals)))  # room for the legend
    left.set(xlabel="simulator calls", ylabel="calls so far")
    style.legend(left, loc="upper left")
    distances = np.sqrt(np.maximum([e.repair_distance_squared for e in result.evaluations], 0.0))
    for kind in ("intersection", "nearest"):
        mine = (kinds == kind) & (distances > 0)
        if mine.any():
            style.dots(right, calls[mine], distances[mine], REPAIR_KINDS[kind][0], 5)
    if right.lines:
        right.set_yscale("log")
        right.set(xlabel="simulator calls", ylabel="standard deviations of the search")
    else:
        style.nothing(right, "no design was repaired")
