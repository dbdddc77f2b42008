"""What happened from call to call: objective, time, how calls ended, the search; several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from archeng.plain_text import short
from archeng.records import Floats
from archeng.report.figures import style
from archeng.result import Result

_STATES = {
    "ok": (style.LIGHT, "ended well"),
    "reused": (style.GREY, "reused"),
    "failed": (style.RED, "failed"),
    "invalid": (style.ORANGE, "invalid answer"),
    "timed_out": (style.VIOLET, "took too long"),
    "lost": (style.BLUE, "worker lost"),
}


def convergence(figure: Any, result: Result, prefix: str) -> None:
    """Draw every call and the best so far, and how far that was from the final best."""
    left, right = figure.subplots(1, 2)
    calls = style.call_numbers(result.evaluations)
    _objectives(left, calls, result)
    gap = np.abs(result.best_so_far - result.best_so_far[-1:])
    gap[gap == 0] = np.nan
    if np.isfinite(gap).any():
        style.steps(right, calls, gap, style.BLUE)
        right.set_yscale("log")
    else:
        style.nothing(right, "the best design has not changed")
    style.title(left, f"{prefix}convergence")
    style.title(right, "distance of the best so far to the last best")
    left.set(xlabel="simulator calls")
    _label_objective(left, result)
    right.set(xlabel="simulator calls")


def time(figure: Any, result: Result, prefix: str) -> None:
    """Draw the best so far over time, and how long each call took."""
    left, right = figure.subplots(1, 2)
    seconds, measured = times(result)
    unit, name = style.time_unit(float(np.nanmax(seconds)))
    _objectives(left, seconds / unit, result)
    style.title(left, f"{prefix}convergence over time")
    what = "since the run began" if measured else "in the simulator, added up"
    left.set(xlabel=f"{name} {what}")
    _label_objective(left, result)
    _durations(right, result)


def _label_objective(axes: Any, result: Result) -> None:
    """Label the axis of the objective by its name, as plain text."""
    axes.set_ylabel(short(result.objective_name, 40) or "objective", parse_math=False)


def times(result: Result) -> tuple[Floats, bool]:
    """Return the seconds (k,) at which each call had ended, and whether they are measured.

    Runs of earlier versions did not record them: then the times in the simulator are added up.
    """
    elapsed = np.array([e.elapsed for e in result.evaluations], dtype=float)
    if np.isfinite(elapsed).any():
        return elapsed, True
    return np.cumsum([e.seconds for e in result.evaluations], dtype=float), False


def _durations(axes: Any, result: Result) -> None:
    """How long each call took."""
    style.title(axes, "time in the simulator")
    made = [(k, e) for k, e in enumerate(result.evaluations, start=1) if e.status != "reused"]
    if not made:
        style.nothing(axes, "no simulator call")
        return
    calls = np.array([k for k, _ in made], dtype=float)
    seconds = np.array([e.seconds for _, e in made], dtype=float)
    good = np.array([e.good for _, e in made], dtype=bool)
    bad, longest = ~good, float(np.nanmax(seconds))
    unit, name = style.time_unit(longest)
    style.dots(axes, calls[good], seconds[good] / unit, style.GREY, label="ended well")
    if bad.any():
        style.crosses(axes, calls[bad], seconds[bad] / unit, label="did not end well")
        style.legend(axes, loc="upper right")
    positive = seconds[seconds > 0]
    if len(positive) and positive.max() > 50 * np.median(positive):
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.35 * max(longest / unit, 1e-9))
    axes.set(xlabel="simulator calls", ylabel=f"{name} per call")


def _objectives(axes: Any, where: Floats, result: Result) -> None:
    """Every call, the best so far, and those without a result."""
    objectives = np.array([e.objective for e in result.evaluations], dtype=float)
    ok = np.isfinite(objectives)
    style.dots(axes, where[ok], objectives[ok], style.DOT, 5, label="each simulator call")
    if ok.any():
        style.steps(axes, where, result.best_so_far, style.BLUE, label="best so far")
        low, high = np.percentile(objectives[ok], [5, 100] if result.maximize else [0, 95])
        pad = 0.08 * max(high - low, 1e-12 * max(abs(high), 1.0))
        axes.set_ylim(low - pad, high + pad)
    if not ok.all():
        floor = np.full(int((~ok).sum()), axes.get_ylim()[0])
        style.crosses(axes, where[~ok], floor, label="no result", clip_on=False)
    style.legend(axes, loc="lower right" if result.maximize else "upper right")


def search(figure: Any, result: Result, prefix: str) -> None:
    """Draw step size, ranking coefficient, distance of the mean, and eigenvalues."""
    figure.set_size_inches(10, 5.4)
    (first, second), (third, fourth) = figure.subplots(2, 2, sharex=True)
    history = result.history
    where = np.array([g.evaluations for g in history], dtype=float)
    style.title(first, f"{prefix}search: step size sigma")
    style.title(second, "ranking coefficient alpha")
    style.title(third, "d_m: distance of the mean from the feasible set")
    _curve(first, where, np.array([g.sigma for g in history]), style.BLUE)
    _curve(second, where, np.array([g.alpha for g in history]), style.ORANGE)
    _curve(third, where, np.array([g.d_m for g in history]), style.GREEN, "0 in every generation")
    _eigenvalues(fourth, result, where)
    turns = [b.evaluations for a, b in pairwise(history) if b.restart > a.restart]
    for axes in (first, second, third, fourth):
        for turn in turns:
            axes.axvline(turn, color=style.GREY, lw=0.8, ls=":")
    for axes in (third, fourth):
        axes.set_xlabel("simulator calls (dotted: restarts)" if turns else "simulator calls")


def _curve(axes: Any, where: Floats, values: Floats, color: str, empty: str = "not used") -> None:
    """Positive values on a logarithmic axis."""
    positive = np.where(values > 0, values, np.nan)
    if not np.isfinite(positive).any():
        style.say(axes, empty)
        return
    marker = "." if np.isfinite(positive).sum() < 60 else ""
    axes.semilogy(where, positive, color=color, marker=marker, ms=4, lw=1.4)


def _eigenvalues(axes: Any, result: Result, where: Floats) -> None:
    """Square roots of the eigenvalues of C; the condition number if they were not recorded."""
    recorded = np.array([bool(g.eigenvalues) for g in result.history], dtype=bool)
    if not recorded.any():
        style.title(axes, "condition number of the covariance matrix")
        _curve(axes, where, np.array([g.condition for g in result.history]), style.VIOLET)
        return
    style.title(axes, "axis lengths: square roots of the eigenvalues of C")
    eigenvalues = [g.eigenvalues for g in result.history if g.eigenvalues]
    lengths = np.sqrt(np.maximum(eigenvalues, np.finfo(float).tiny))
    if lengths.shape[1] > 40:
        lengths = np.quantile(lengths, np.linspace(0, 1, 21), axis=1).T
    marker = "." if len(lengths) < 30 else ""
    axes.semilogy(where[recorded], lengths, lw=1.0, color=style.VIOLET, alpha=0.7, marker=marker)


def failures(figure: Any, result: Result, prefix: str) -> None:
    """Draw how each call ended."""
    counts = Counter(e.status for e in result.evaluations)
    states = [state for state in _STATES if counts[state]]
    figure.set_size_inches(10, 1.4 + 0.35 * max(len(states), 2))
    axes = figure.subplots()
    style.title(axes, f"{prefix}how calls ended")
    for place, state in enumerate(states):
        calls = [k for k, e in enumerate(result.evaluations, start=1) if e.status == state]
        look: dict[str, Any] = {"color": _STATES[state][0], "ms": 13, "mew": 1.4}
        axes.plot(calls, [place] * len(calls), "|", rasterized=len(calls) > style.MANY, **look)
    axes.set_yticks(range(len(states)), [f"{_STATES[s][1]} ({counts[s]})" for s in states])
    axes.set(ylim=(len(states) - 0.5, -0.5), xlabel="simulator calls")
    axes.grid(axis="y", visible=False)


def plot_comparison(results: Mapping[str, Result]) -> Any:
    """Return a matplotlib figure of runs by their labels: best objective over calls, over time."""
    with style.styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4.5), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        left.set(xlabel="simulator calls", ylabel="best objective so far")
        right.set(xlabel="seconds in the simulator")
        for k, (label, result) in enumerate(results.items()):
            best = result.best_so_far
            last = np.flatnonzero(best == best[-1:])[:1]  # the call that was best in the end
            seconds = np.cumsum([e.seconds for e in result.evaluations])
            for axes, where in ((left, style.call_numbers(result.evaluations)), (right, seconds)):
                # a label that begins with _ would be left out of the legend, so a blank comes first
                style.steps(axes, where, best, f"C{k % 10}", label=f" {label}")
                axes.plot(where[last], best[last], "o", color=f"C{k % 10}")
        style.legend(left)
    return figure
