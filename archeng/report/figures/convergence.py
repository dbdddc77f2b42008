"""The objective over the calls and over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.records import Floats
from archeng.report.figures.style import (
    BLUE,
    DOT,
    GREY,
    RED,
    calls_axis,
    dots,
    legend,
    nothing,
    time_unit,
    title,
)
from archeng.report.shown import Shown


def convergence(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw every call and the best so far, and how far that was from the final best."""
    left, right = figure.subplots(1, 2)
    calls = calls_axis(shown)
    _objectives(left, calls, shown)
    gap = np.abs(shown.best_so_far - shown.best_so_far[-1:])
    gap[gap == 0] = np.nan
    if np.isfinite(gap).any():
        right.semilogy(calls, gap, color=BLUE, drawstyle="steps-post")
    else:
        nothing(right, "the best design has not changed")
    title(left, f"{prefix}convergence")
    title(right, "distance of the best so far to the last best")
    left.set(xlabel="simulator calls", ylabel="objective")
    right.set(xlabel="simulator calls")


def time(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw the best so far over time, and how long each call took."""
    left, right = figure.subplots(1, 2)
    seconds, measured = shown.times
    longest = float(np.nanmax(seconds)) if len(seconds) else 0.0
    unit, name = time_unit(longest)
    _objectives(left, seconds / unit, shown)
    title(left, f"{prefix}convergence over time")
    what = "since the run began" if measured else "in the simulator, added up"
    left.set(xlabel=f"{name} {what}", ylabel="objective")
    _durations(right, shown)


def _durations(axes: Any, shown: Shown) -> None:
    """How long each call took."""
    real = np.array([e.status != "reused" for e in shown.evaluations], dtype=bool)
    seconds = np.array([e.seconds for e in shown.evaluations], dtype=float)
    good = np.array([e.good for e in shown.evaluations], dtype=bool)
    title(axes, "time in the simulator")
    if not real.any():
        nothing(axes, "no simulator call")
        return
    unit, name = time_unit(float(np.nanmax(seconds[real])))
    calls = calls_axis(shown)
    dots(axes, calls[real & good], seconds[real & good] / unit, GREY, label="ended well")
    if (real & ~good).any():
        bad = real & ~good
        axes.plot(calls[bad], seconds[bad] / unit, "x", color=RED, ms=5, label="did not end well")
        legend(axes, loc="upper right")
    positive = seconds[real & (seconds > 0)]
    if len(positive) and positive.max() > 50 * np.median(positive):
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.35 * max(float(np.nanmax(seconds[real])) / unit, 1e-9))
    axes.set(xlabel="simulator calls", ylabel=f"{name} per call")


def _objectives(axes: Any, where: Floats, shown: Shown) -> None:
    """Every call, the best so far, and those without a result."""
    objectives, best = shown.objectives, shown.best_so_far
    ok = np.isfinite(objectives)
    dots(axes, where[ok], objectives[ok], DOT, 5, label="each simulator call")
    if ok.any():
        axes.plot(where, best, color=BLUE, drawstyle="steps-post", label="best so far")
        low, high = np.percentile(objectives[ok], [5, 100] if shown.maximize else [0, 95])
        pad = 0.08 * max(high - low, 1e-12 * max(abs(high), 1.0))
        axes.set_ylim(low - pad, high + pad)
    if not ok.all():
        floor = np.full(int((~ok).sum()), axes.get_ylim()[0])
        axes.plot(where[~ok], floor, "x", color=RED, ms=5, label="no result", clip_on=False)
    if len(where):
        legend(axes, loc="lower right" if shown.maximize else "upper right")
    else:
        nothing(axes, "no call has ended yet")
