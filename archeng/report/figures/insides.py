"""For experts: the search inside, repairs, and failed calls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from archeng.records import Floats
from archeng.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    ORANGE,
    RED,
    VIOLET,
    calls_axis,
    dots,
    legend,
    nothing,
    title,
)
from archeng.report.shown import Shown

KIND_NAMES = {
    "feasible": "feasible as sampled",
    "intersection": "repaired to the intersection of the violated boundaries",
    "nearest": "repaired to the nearest feasible point",
    "proposed": "proposed by a model of the objective",
    "unrepaired": "infeasible, simulated as sampled",
    "failed": "not repairable",
}
_COLORS = {
    "feasible": GREY,
    "intersection": ORANGE,
    "nearest": BLUE,
    "proposed": GREEN,
    "unrepaired": RED,
    "failed": VIOLET,
}


def search(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw step size, ranking coefficient, distance of the mean, and eigenvalues."""
    figure.set_size_inches(10, 5.4)
    (first, second), (third, fourth) = figure.subplots(2, 2, sharex=True)
    history = shown.history
    where = np.array([g.evaluations for g in history], dtype=float)
    title(first, f"{prefix}search: step size sigma")
    title(second, "ranking coefficient alpha")
    title(third, "d_m: distance of the mean from the feasible set")
    _curve(first, where, np.array([g.sigma for g in history]), BLUE)
    _curve(second, where, np.array([g.alpha for g in history]), ORANGE)
    _curve(third, where, np.array([g.d_m for g in history]), GREEN, "0 in every generation")
    _eigenvalues(fourth, shown, where)
    turns = [b.evaluations for a, b in pairwise(history) if b.restart > a.restart]
    for axes in (first, second, third, fourth):
        for turn in turns:
            axes.axvline(turn, color=GREY, lw=0.8, ls=":")
    for axes in (third, fourth):
        axes.set_xlabel("simulator calls (dotted: restarts)" if turns else "simulator calls")


def _curve(axes: Any, where: Floats, values: Floats, color: str, empty: str = "not used") -> None:
    """Positive values on a logarithmic axis."""
    positive = np.where(values > 0, values, np.nan)
    if not np.isfinite(positive).any():
        axes.text(
            0.5, 0.5, empty, transform=axes.transAxes, ha="center", va="center", color="#7a858f"
        )
        return
    marker = "." if np.isfinite(positive).sum() < 60 else ""
    axes.semilogy(where, positive, color=color, marker=marker, ms=4, lw=1.4)


def _eigenvalues(axes: Any, shown: Shown, where: Floats) -> None:
    """Square roots of the eigenvalues of C; the condition number if they were not recorded."""
    known = [(x, g.eigenvalues) for x, g in zip(where, shown.history, strict=True) if g.eigenvalues]
    if not known:
        title(axes, "condition number of the covariance matrix")
        _curve(axes, where, np.array([g.condition for g in shown.history]), VIOLET)
        return
    title(axes, "axis lengths: square roots of the eigenvalues of C")
    lengths = np.sqrt(np.maximum([e for _, e in known], np.finfo(float).tiny))
    if lengths.shape[1] > 40:
        lengths = np.quantile(lengths, np.linspace(0, 1, 21), axis=1).T
    marker = "." if len(known) < 30 else ""
    axes.semilogy([x for x, _ in known], lengths, lw=1.0, color=VIOLET, alpha=0.7, marker=marker)


def repairs(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw how designs came to be feasible, and how far they were moved."""
    left, right = figure.subplots(1, 2)
    title(left, f"{prefix}where designs come from")
    title(right, "distance of the repairs")
    if not shown.evaluations:
        nothing(left, "no call has ended yet")
        nothing(right, "no call has ended yet")
        return
    calls = calls_axis(shown)
    kinds = np.array([e.repair_kind for e in shown.evaluations])
    for kind in [k for k in KIND_NAMES if k in kinds]:
        total = np.cumsum(kinds == kind)
        left.plot(
            calls,
            total,
            color=_COLORS[kind],
            drawstyle="steps-post",
            label=f"{KIND_NAMES[kind]} ({total[-1]})",
        )
    most = max(int((kinds == kind).sum()) for kind in set(kinds.tolist()))
    left.set_ylim(0, most * (1.15 + 0.09 * len(set(kinds.tolist()))))
    left.set(xlabel="simulator calls", ylabel="calls so far")
    legend(left, loc="upper left")
    distances = np.sqrt(np.maximum([e.repair_distance_squared for e in shown.evaluations], 0.0))
    for kind in ("intersection", "nearest"):
        mine = (kinds == kind) & (distances > 0)
        if mine.any():
            dots(right, calls[mine], distances[mine], _COLORS[kind], 5)
    if right.lines:
        right.set_yscale("log")
        right.set(xlabel="simulator calls", ylabel="standard deviations of the search")
    else:
        nothing(right, "no design was repaired")


_STATES = {
    "ok": (LIGHT, "ended well"),
    "reused": (GREY, "reused"),
    "failed": (RED, "failed"),
    "invalid": (ORANGE, "invalid answer"),
    "timed_out": (VIOLET, "took too long"),
    "lost": (BLUE, "worker lost"),
}


def failures(figure: Any, shown: Shown, prefix: str) -> None:
    """Draw how each call ended."""
    found = [s for s in _STATES if any(e.status == s for e in shown.evaluations)]
    figure.set_size_inches(10, 1.4 + 0.35 * max(len(found), 2))
    axes = figure.subplots()
    title(axes, f"{prefix}how calls ended")
    if not found:
        nothing(axes, "no call has ended yet")
        return
    calls = calls_axis(shown)
    for place, state in enumerate(found):
        mine = np.array([e.status == state for e in shown.evaluations], dtype=bool)
        raster = bool(mine.sum() > 2000)
        axes.plot(
            calls[mine], np.full(mine.sum(), place), "|", color=_STATES[state][0], ms=13, mew=1.4,
            rasterized=raster,
        )  # fmt: skip
    counts = [sum(e.status == s for e in shown.evaluations) for s in found]
    labels = [f"{_STATES[s][1]} ({n})" for s, n in zip(found, counts, strict=True)]
    axes.set_yticks(range(len(found)), labels)
    axes.set(ylim=(len(found) - 0.5, -0.5), xlabel="simulator calls")
    axes.grid(axis="y", visible=False)
