"""Figures: the share of runs that have succeeded after so many calls, and the ratios."""

from __future__ import annotations

from pathlib import Path

from case_studies.discrete.methods import METHODS
from case_studies.discrete.statistics import grid, latest, ratios
from case_studies.greybox.figures import success_and_ratios
from case_studies.paper.results import Row


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save ``discrete.png``: success against calls (left), archeng over the best peer (right).

    Held-out problems are included.
    """
    kept = latest(rows)
    known, ratio = ratios(grid(kept)), "archeng / best peer"
    figure, right = success_and_ratios(kept, list(METHODS), known, ratio, 5)
    right.axvline(0.1, color="k", lw=0.8, ls=":")
    right.set(xscale="log")
    path = out / "discrete.png"
    figure.savefig(path, dpi=130)
    return [path]
