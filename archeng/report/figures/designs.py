"""The designs: every variable over the calls, and the best designs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.records import Floats
from archeng.report.figures.style import (
    BLUE,
    DOT,
    GREY,
    ORANGE,
    calls_axis,
    dots,
    nothing,
    title,
)
from archeng.report.shown import Shown, short

_PANELS = 12  # variables that get a panel each
_COLUMNS = 400  # of the picture of many variables
_NAMED = 60  # variables of which a picture shows the names
_DESIGNS = 40  # best designs in parallel coordinates
_AXES = 16  # variables in parallel coordinates


def variables(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw each variable at every call and in the best design so far."""
    if not shown.evaluations:
        nothing(figure.subplots(), "no call has ended yet")
        return
    if len(shown.free) <= _PANELS:
        _panels(figure, shown, prefix)
    else:
        _picture(figure, shown, prefix)


def _panels(figure: Any, shown: Shown, prefix: str) -> None:
    free = shown.free or [0]
    columns = 2 if len(free) == 4 else min(3, len(free))
    rows = -(-len(free) // columns)
    figure.set_size_inches(10, 2.1 * rows + 0.7)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).reshape(-1)
    calls, holders = calls_axis(shown), shown.holders
    known = holders >= 0
    for axes, j in zip(panels, free, strict=False):
        v, values = shown.at_best[j], shown.designs[:, j]
        dots(axes, calls, values, DOT)
        axes.plot(calls[known], values[holders[known]], color=BLUE, drawstyle="steps-post")
        low, high = _view(values, v.lower, v.upper)
        axes.set_ylim(low, high)
        for bound in (v.lower, v.upper):
            if low <= bound <= high:
                axes.axhline(bound, color=ORANGE, lw=1, ls="--")
        unit = f" [{short(v.unit, 12)}]" if v.unit else ""
        title(axes, short(v.name, 22) + unit, fontsize=9.5)
    for axes in panels[len(free) :]:
        axes.set_axis_off()
    for axes in panels[max(len(free) - columns, 0) : len(free)]:
        axes.set_xlabel("simulator calls")
        axes.tick_params(labelbottom=True)
    if prefix:
        what = "dots: every call; blue: best so far; dashed: bounds"
        figure.suptitle(f"{prefix}variables ({what})", parse_math=False, fontsize=10.5)


def _view(values: Floats, lower: float, upper: float) -> tuple[float, float]:
    """Limits of an axis: what the values need, and bounds that are not far from them."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    width = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-300)
    low = max(lower, low - 0.5 * width)
    high = min(upper, high + 0.5 * width)
    pad = 0.06 * max(high - low, width)
    return float(low - pad), float(high + pad)


def _picture(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw many variables: one line of a picture each, the best design so far over the calls."""
    free, holders = shown.free, shown.holders
    figure.set_size_inches(10, float(np.clip(0.16 * len(free) + 1.2, 4, 8.5)))
    axes = figure.subplots()
    chosen = np.unique(np.linspace(0, len(holders) - 1, _COLUMNS).astype(int))
    source = np.where(holders >= 0, holders, np.arange(len(holders)))
    image = _positions(shown, shown.designs[source[chosen]][:, free], free).T
    extent = (1, len(holders) + 1, len(free) - 0.5, -0.5)
    drawn = axes.imshow(
        image, aspect="auto", extent=extent, vmin=0, vmax=1, cmap="viridis", interpolation="nearest"
    )
    axes.grid(False)
    step = -(-len(free) // _NAMED)
    axes.set_yticks(
        range(0, len(free), step),
        [short(shown.at_best[j].name, 24) for j in free[::step]],
        parse_math=False,
        fontsize=6.5,
    )
    axes.set_xlabel("simulator calls")
    bar = figure.colorbar(drawn, ax=axes, pad=0.01)
    bar.set_ticks([0, 0.5, 1], labels=["lower\nbound", "middle", "upper\nbound"])
    bar.outline.set_visible(False)
    title(axes, f"{prefix}variables in the best design so far")


def _positions(shown: Shown, designs: Floats, columns: list[int]) -> Floats:
    """Values (k, n) between bounds, 0 to 1; between the extremes where there is no bound."""
    lower = np.array([shown.at_best[j].lower for j in columns])
    upper = np.array([shown.at_best[j].upper for j in columns])
    every = shown.designs[:, columns]
    low = np.where(np.isfinite(lower), lower, every.min(axis=0))
    high = np.where(np.isfinite(upper), upper, every.max(axis=0))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.nan_to_num((designs - low) / np.where(high > low, high - low, 1.0), nan=0.5)


def parallel(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw the best designs as lines across one axis per variable."""
    best = shown.best_calls[:_DESIGNS]
    if not best:
        nothing(figure.subplots(), "no design satisfies all constraints yet")
        return
    places = _positions(shown, np.array([e.x for e in best]), list(range(len(shown.at_best))))
    spread = np.ptp(places, axis=0)
    chosen = sorted(sorted(shown.free, key=lambda j: -spread[j])[:_AXES])
    objectives = np.array([e.objective for e in best])
    lowest, width = objectives.min(), max(float(np.ptp(objectives)), 1e-300)
    lines = np.column_stack((places[:, chosen], (objectives - lowest) / width))
    names = [shown.at_best[j] for j in chosen]
    long = len(names) > 8
    figure.set_size_inches(10, 5.0 if long else 4.2)
    axes = figure.subplots()
    _lines(axes, lines)
    span = [(n.lower, n.upper) for n in names]
    every = shown.designs[:, chosen]
    ends = [
        (a if np.isfinite(a) else every[:, k].min(), b if np.isfinite(b) else every[:, k].max())
        for k, (a, b) in enumerate(span)
    ]
    ends.append((float(objectives.min()), float(objectives.max())))
    for k, (low, high) in enumerate(ends):
        axes.vlines(k, 0, 1, color=GREY, lw=1, zorder=1)
        axes.text(k, -0.03, f"{low:.4g}", ha="center", va="top", fontsize=8)
        axes.text(k, 1.03, f"{high:.4g}", ha="center", va="bottom", fontsize=8)
    labels = [short(n.name, 20) + (f"\n[{short(n.unit, 10)}]" if n.unit else "") for n in names]
    labels.append("objective")
    rotation: dict[str, Any] = {"rotation": 35, "ha": "right"} if long else {}
    axes.set_xticks(range(len(labels)), labels, parse_math=False, **rotation)
    axes.tick_params(axis="x", length=0, pad=14)
    axes.set(ylim=(-0.08, 1.08), xlim=(-0.4, len(labels) - 0.6), yticks=[])
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    fewer = f", the {len(chosen)} variables that vary most" if len(chosen) < len(shown.free) else ""
    title(axes, f"{prefix}the {len(best)} best designs{fewer} (orange: the best)", pad=16)


def _lines(axes: Any, lines: Floats) -> None:
    import matplotlib

    colors = matplotlib.colormaps["Blues"](np.linspace(0.85, 0.25, len(lines)))
    across = np.arange(lines.shape[1])
    for line, color in reversed(list(zip(lines[1:], colors[1:], strict=True))):
        axes.plot(across, line, color=color, lw=1.1, alpha=0.8, zorder=2)
    axes.plot(across, lines[0], color=ORANGE, lw=2.4, marker="o", ms=4, zorder=3)
