"""Figures (needs matplotlib: ``pip install archeng[plot]``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archeng.errors import SettingsError
from archeng.records import Activity, CallRecord, Generation, SimulatedAtBest
from archeng.report.tables import gain_text

KINDS = ("convergence", "search", "simulated", "activity")
_MOST_BARS = 25


@dataclass(frozen=True, eq=False)
class Figures:
    """What figures show: the name of the study, its calls, generations and constraints."""

    name: str
    evaluations: Sequence[CallRecord]
    history: Sequence[Generation]
    maximize: bool
    simulated: Sequence[SimulatedAtBest]
    activity: Sequence[Activity]


def plot(kind: str, shown: Figures) -> Any:
    """Return a matplotlib figure.

    ``convergence``: objective of every call and the best so far. ``search``: step size,
    ranking coefficient, distance of the mean, condition number and repairs per generation.
    ``simulated``: simulated constraints over the calls, with their limits. ``activity``: which
    constraints designs were repaired onto, and what relaxing them would gain.
    """
    if kind not in KINDS:
        raise SettingsError(f"Unknown plot {kind!r}; there are {', '.join(KINDS)}.")
    if kind == "simulated" and not shown.simulated:
        raise SettingsError("There are no simulated constraints to plot in this result.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with: pip install 'archeng[plot]'"
        ) from error
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    if kind == "convergence":
        _convergence(figure, shown.name, shown.evaluations, shown.maximize)
    elif kind == "search":
        _search(figure, shown.name, shown.history)
    elif kind == "simulated":
        _simulated(figure, shown)
    else:
        _activity(figure, shown)
    return figure


def _convergence(figure: Any, name: str, evaluations: Sequence[CallRecord], maximize: bool) -> None:
    left, right = figure.subplots(1, 2)
    calls = np.arange(1, len(evaluations) + 1)
    objectives = np.array([e.objective for e in evaluations], dtype=float)
    ok = np.isfinite(objectives)
    left.plot(calls[ok], objectives[ok], ".", color="0.75", ms=4, label="each simulator call")
    if ok.any():
        feasible = np.where([e.acceptable for e in evaluations], objectives, np.nan)
        best = (np.fmax if maximize else np.fmin).accumulate(feasible)
        left.plot(calls, best, color="C0", lw=2, drawstyle="steps-post", label="best so far")
        low, high = np.percentile(objectives[ok], [5, 100] if maximize else [0, 95])
        pad = 0.08 * max(high - low, 1e-12 * max(abs(high), 1.0))
        left.set_ylim(low - pad, high + pad)
        gap = np.abs(best - best[-1])
        gap[gap == 0] = np.nan
        if np.isfinite(gap).any():
            right.semilogy(calls, gap, color="C0", lw=2, drawstyle="steps-post")
    if not ok.all():
        floor = np.full(int((~ok).sum()), left.get_ylim()[0])
        left.plot(calls[~ok], floor, "x", color="C3", label="no result", clip_on=False)
    left.set(xlabel="simulator calls", ylabel="objective", title=f"{name}: convergence")
    left.legend(loc="lower right" if maximize else "upper right")
    right.set(xlabel="simulator calls", ylabel="distance of the best so far to the final best")
    for axes in (left, right):
        axes.grid(alpha=0.3)


def _search(figure: Any, name: str, history: Sequence[Generation]) -> None:
    top, bottom = figure.subplots(2, 1, sharex=True)
    t = np.arange(1, len(history) + 1)
    series = {
        "sigma": [g.sigma for g in history],
        "alpha": [g.alpha for g in history],
        "condition number": [g.condition for g in history],
    }
    for label, values in series.items():
        top.semilogy(t, values, label=label)
    top.plot(t, [g.d_m if g.d_m > 0 else np.nan for g in history], ".", ms=3, label="d_m")
    top.legend(ncol=4, fontsize="small")
    top.set_title(f"{name}: search")
    top.grid(alpha=0.3)
    kinds = sorted({k for g in history for k in g.repairs})
    if kinds:
        bottom.stackplot(t, [[g.repairs.get(k, 0) for g in history] for k in kinds], labels=kinds)
        bottom.legend(loc="upper right", fontsize="small")
    bottom.set_xlabel("generation")
    bottom.set_ylabel("candidates by repair")


def _simulated(figure: Any, shown: Figures) -> None:
    """One panel per constraint: its value at every call, and the forbidden side."""
    count = len(shown.simulated)
    columns = min(count, 3)
    rows = -(-count // columns)
    figure.set_size_inches(4.2 * columns + 1, 2.6 * rows + 1)
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).reshape(-1)
    calls = np.arange(1, len(shown.evaluations) + 1)
    for axes, s in zip(panels, shown.simulated, strict=False):
        values = np.array([e.constraints.get(s.name, np.nan) for e in shown.evaluations])
        bad = np.array([s.name in e.violated for e in shown.evaluations], dtype=bool)
        axes.plot(calls[~bad], values[~bad], ".", color="C0", ms=4)
        axes.plot(calls[bad], values[bad], ".", color="C3", ms=4)
        low, high = axes.get_ylim()
        if np.isfinite(s.upper):
            axes.axhline(s.upper, color="C3", lw=1)
            axes.axhspan(s.upper, max(high, s.upper), color="C3", alpha=0.08)
        if np.isfinite(s.lower):
            axes.axhline(s.lower, color="C3", lw=1)
            axes.axhspan(min(low, s.lower), s.lower, color="C3", alpha=0.08)
        axes.set_title(s.name, fontsize="medium", parse_math=False)
        axes.set_xlabel("simulator calls")
        axes.grid(alpha=0.3)
    for axes in panels[count:]:
        axes.set_axis_off()
    figure.suptitle(f"{shown.name}: simulated constraints (red: violated)", parse_math=False)


def _activity(figure: Any, shown: Figures) -> None:
    """Bars: how often designs were repaired onto a constraint; its estimated gain beside it."""
    blocking = [a for a in shown.activity if a.repaired or a.active]
    blocking.sort(key=lambda a: (a.active, a.repaired))
    blocking = blocking[-_MOST_BARS:]
    figure.set_size_inches(10, 1.5 + 0.32 * max(len(blocking), 3))
    axes = figure.subplots()
    places = np.arange(len(blocking))
    colors = ["C1" if a.active else "0.75" for a in blocking]
    axes.barh(places, [a.repaired for a in blocking], color=colors)
    axes.set_yticks(places, [a.name for a in blocking], parse_math=False)
    for place, a in zip(places, blocking, strict=True):
        if a.active:
            axes.annotate(
                f" gain per unit {gain_text(a)}", (a.repaired, place), va="center", fontsize="small"
            )
    axes.margins(x=0.35)
    axes.set_xlabel("calls repaired onto the constraint (simulated: that violated it)")
    axes.set_title(
        f"{shown.name}: what blocks the design (orange: active at the best design)",
        parse_math=False,
    )
    axes.grid(axis="x", alpha=0.3)
