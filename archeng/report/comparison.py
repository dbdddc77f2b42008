"""Convergence of several runs in one figure (needs matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archeng.records import CallRecord


@dataclass(frozen=True, eq=False)
class Curve:
    """A run as the figure shows it."""

    label: str
    calls: Sequence[CallRecord]
    maximize: bool


def best_so_far(calls: Sequence[CallRecord], maximize: bool) -> Any:
    """Return the best objective after each call; NaN while no design satisfies everything."""
    values = np.array([e.objective if e.acceptable else np.nan for e in calls], dtype=float)
    return (np.fmax if maximize else np.fmin).accumulate(values) if len(values) else values


def plot_comparison(curves: Sequence[Curve]) -> Any:
    """Return a matplotlib figure: best objective over calls, and over simulator time."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with: pip install 'archeng[plot]'"
        ) from error
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for k, curve in enumerate(curves):
        best = best_so_far(curve.calls, curve.maximize)
        seconds = np.cumsum([e.seconds for e in curve.calls])
        # a label that begins with _ would be left out of the legend, so a blank comes first
        style: dict[str, Any] = {"drawstyle": "steps-post", "lw": 2, "color": f"C{k % 10}"}
        left.plot(np.arange(1, len(best) + 1), best, label=f" {curve.label}", **style)
        right.plot(seconds, best, **style)
        if np.isfinite(best).any():
            place = int(np.flatnonzero(best == best[-1])[0])
            left.plot([place + 1], [best[-1]], "o", color=style["color"])
            right.plot([seconds[place]], [best[-1]], "o", color=style["color"])
    left.set(xlabel="simulator calls", ylabel="best objective so far")
    right.set(xlabel="seconds in the simulator")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    for text in left.legend().get_texts():
        text.set_parse_math(False)
    return figure
