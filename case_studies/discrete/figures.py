"""Figures: the share of runs that have succeeded after so many calls, and the ratios."""

from __future__ import annotations

from pathlib import Path

from case_studies.discrete.methods import METHODS
from case_studies.discrete.statistics import grid, latest, ratios
from case_studies.greybox.figures import profile
from case_studies.paper.results import Row


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save ``discrete.png``: success against calls (left), archeng over the best peer (right).

    Held-out problems are included.
    """
    from matplotlib.figure import Figure

    kept = latest(rows)
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, method in enumerate(METHODS):
        group = [r for r in kept if r["method"] == method]
        if group:
            calls, shares = profile(group)
            left.step(calls, shares, where="post", color=f"C{k}", label=f"{method} ({len(group)})")
    left.set(xscale="log", ylim=(0, 1), xlabel="calls", ylabel="runs that reached the target")
    left.legend(fontsize="small")
    known = sorted(ratios(grid(kept)).items(), key=lambda item: item[1])
    right.plot([value for _, value in known], [name for name, _ in known], "o", color="C0")
    right.grid(axis="y", alpha=0.3)
    right.axvline(1.0, color="k", lw=0.8)
    right.axvline(0.1, color="k", lw=0.8, ls=":")
    right.set(xlabel="median calls, archeng / best peer", xscale="log")
    right.tick_params(axis="y", labelsize="small")
    path = out / "discrete.png"
    figure.savefig(path, dpi=130)
    return [path]
