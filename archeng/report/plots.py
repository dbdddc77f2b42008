"""Figures (needs matplotlib: ``pip install archeng[plot]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from archeng.errors import SettingsError
from archeng.records import Evaluation, Generation

KINDS = ("convergence", "search")


def plot(
    kind: str,
    name: str,
    evaluations: Sequence[Evaluation],
    history: Sequence[Generation],
    maximize: bool,
) -> Any:
    """Return a matplotlib figure.

    ``convergence``: objective of every call and the best so far. ``search``: step size,
    ranking coefficient, distance of the mean, condition number and repairs per generation.
    """
    if kind not in KINDS:
        raise SettingsError(f"Unknown plot {kind!r}; there are {', '.join(KINDS)}.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib. Install it with: pip install 'archeng[plot]'"
        ) from error
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    if kind == "convergence":
        _convergence(figure, name, evaluations, maximize)
    else:
        _search(figure, name, history)
    return figure


def _convergence(figure: Any, name: str, evaluations: Sequence[Evaluation], maximize: bool) -> None:
    left, right = figure.subplots(1, 2)
    calls = np.arange(1, len(evaluations) + 1)
    objectives = np.array([e.objective for e in evaluations], dtype=float)
    ok = np.isfinite(objectives)
    left.plot(calls[ok], objectives[ok], ".", color="0.75", ms=4, label="each simulator call")
    if ok.any():
        feasible = np.where([e.feasible for e in evaluations], objectives, np.nan)
        best = (np.fmax if maximize else np.fmin).accumulate(feasible)
        left.plot(calls, best, color="C0", lw=2, drawstyle="steps-post", label="best so far")
        low, high = np.percentile(objectives[ok], [5, 100] if maximize else [0, 95])
        pad = 0.08 * max(high - low, 1e-12 * max(abs(high), 1.0))
        left.set_ylim(low - pad, high + pad)
        gap = np.abs(best - best[-1])
        gap[gap == 0] = np.nan
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
