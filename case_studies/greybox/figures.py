"""Figures: the share of runs that have succeeded after so many calls, and the ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.greybox.methods import METHODS
from case_studies.greybox.statistics import grid, latest, ratios
from case_studies.paper.results import Row


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save ``greybox.png``: success against calls (left), grey over black by problem (right).

    Held-out problems are included. Methods of least squares have fewer problems than the others.
    """
    kept = latest(rows)
    figure, _ = success_and_ratios(kept, list(METHODS), ratios(grid(kept)), "grey / black", 4.2)
    path = out / "greybox.png"
    figure.savefig(path, dpi=130)
    return [path]


def success_and_ratios(
    rows: Sequence[Row],
    methods: Sequence[str],
    known: Mapping[str, float],
    ratio: str,
    height: float,
) -> tuple[Any, Any]:
    """Draw success against calls, and ratios by problem; return the figure and the right axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, height), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, method in enumerate(methods):
        group = [r for r in rows if r["method"] == method]
        if group:
            calls, shares = profile(group)
            left.step(calls, shares, where="post", color=f"C{k}", label=f"{method} ({len(group)})")
    left.set(xscale="log", ylim=(0, 1), xlabel="calls", ylabel="runs that reached the target")
    left.legend(fontsize="small")
    ordered = sorted(known.items(), key=lambda item: item[1])
    right.plot([value for _, value in ordered], [name for name, _ in ordered], "o", color="C0")
    right.grid(axis="y", alpha=0.3)
    right.axvline(1.0, color="k", lw=0.8)
    right.set(xlabel=f"median calls, {ratio}")
    right.tick_params(axis="y", labelsize="small")
    return figure, right


def profile(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Return calls and the share of runs that had succeeded by then, to the end of the budget."""
    calls = sorted(float(r["calls_to_target"]) for r in rows if r["calls_to_target"] is not None)
    shares = (np.arange(1, len(calls) + 1) / len(rows)).tolist()
    end = max(float(r["budget"]) for r in rows)
    return [1.0, *calls, end], [0.0, *shares, shares[-1] if shares else 0.0]
