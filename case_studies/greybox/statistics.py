"""Figures of merit: medians with failures as infinite, and ratios of grey to black.

The ratio of a problem is that of the medians of ``archeng-grey`` and ``archeng-black``. An
infinite median counts as the budget, which favours the one that fails. If both are infinite the
problem has no ratio: it is left out of the mean, which says over how many problems it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from case_studies.greybox.methods import BLACK, GREY, METHODS
from case_studies.paper.results import Row
from case_studies.paper.statistics import geometric_mean


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem.

    Attributes
    ----------
    median : float
        Calls to target, infinite if half of the runs or more do not succeed.
    good, runs : int
        Successful runs, and all.
    budget : int
        Most calls of a run.
    """

    median: float
    good: int
    runs: int
    budget: int


Grid = dict[str, dict[str, Cell]]
"""Cells by problem, then by method."""


def latest(rows: Sequence[Row]) -> list[Row]:
    """Keep the last row of each run: a newer version or another budget replaces the older."""
    keys = ("problem", "method", "seed")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def grid(rows: Sequence[Row]) -> Grid:
    """Return the cells of all problems and methods, in the order of the rows and of `METHODS`."""
    found: Grid = {}
    for problem in dict.fromkeys(r["problem"] for r in rows):
        for method in METHODS:
            group = [r for r in rows if r["problem"] == problem and r["method"] == method]
            if group:
                found.setdefault(problem, {})[method] = cell(group)
    return found


def cell(rows: Sequence[Row]) -> Cell:
    """Return the cell of the runs of one method on one problem."""
    calls = [math.inf if (c := r["calls_to_target"]) is None else float(c) for r in rows]
    budget = max(int(r["budget"]) for r in rows)
    good = sum(map(math.isfinite, calls))
    with np.errstate(invalid="ignore"):  # the mean of two infinite ones
        return Cell(float(np.median(calls)), good, len(rows), budget)


def ratio(cells: dict[str, Cell]) -> float | None:
    """Ratio of grey to black; None if one was not run, or both medians are infinite."""
    grey, black = cells.get(GREY), cells.get(BLACK)
    if grey is None or black is None:
        return None
    if not (math.isfinite(grey.median) or math.isfinite(black.median)):
        return None
    return min(grey.median, grey.budget) / min(black.median, black.budget)


def ratios(found: Grid) -> dict[str, float]:
    """Ratios of the problems that have one."""
    return {name: r for name, cells in found.items() if (r := ratio(cells)) is not None}


def mean_ratio(found: Grid) -> float:
    """Geometric mean of the ratios, NaN without any."""
    return geometric_mean(list(ratios(found).values()))


def firsts(found: Grid, method: str) -> list[str]:
    """Problems on which a method has the least median, alone or together with another."""
    return [
        name
        for name, cells in found.items()
        if method in cells
        and math.isfinite(cells[method].median)
        and cells[method].median == min(c.median for c in cells.values())
    ]
