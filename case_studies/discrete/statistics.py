"""Figures of merit: medians with failures as infinite, expected calls, ratios to the best peer.

The ratio of a problem is that of archeng's median to the least median of the other methods. An
infinite median counts as `MOST` calls, the budget of the other methods, on either side: so archeng
pays for a failure more than its own budget, and a ratio where every other method fails is an upper
bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from case_studies.discrete.methods import ARCHENG, METHODS
from case_studies.greybox.statistics import latest as latest
from case_studies.paper.results import Row
from case_studies.paper.statistics import geometric_mean

MOST = 12_000.0
"""Calls that stand for an infinite median in a ratio."""


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem.

    Attributes
    ----------
    median : float
        Calls to target, infinite if half of the runs or more do not succeed.
    good, runs : int
        Successful runs, and all.
    expected : float
        All calls of all runs per success, infinite without one.
    seconds : float
        Median of the wall-clock time of a run.
    """

    median: float
    good: int
    runs: int
    expected: float
    seconds: float


Grid = dict[str, dict[str, Cell]]
"""Cells by problem, then by method."""


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
    good = sum(map(math.isfinite, calls))
    total = sum(int(r["calls"]) for r in rows)
    with np.errstate(invalid="ignore"):  # the mean of two infinite ones
        median = float(np.median(calls))
    seconds = float(np.median([float(r["wall_seconds"]) for r in rows]))
    return Cell(median, good, len(rows), total / good if good else math.inf, seconds)


def best_peer(cells: dict[str, Cell]) -> str | None:
    """Name of the other method with the least median; None if all are infinite."""
    others = {m: c.median for m, c in cells.items() if m != ARCHENG and math.isfinite(c.median)}
    return min(others, key=lambda m: others[m]) if others else None


def ratio(cells: dict[str, Cell]) -> float | None:
    """Ratio of archeng to the best peer; None if archeng, or every other, was not run."""
    if ARCHENG not in cells or len(cells) == 1:
        return None
    peer = best_peer(cells)
    return min(cells[ARCHENG].median, MOST) / (MOST if peer is None else cells[peer].median)


def ratios(found: Grid) -> dict[str, float]:
    """Ratios of the problems that have one."""
    return {name: r for name, cells in found.items() if (r := ratio(cells)) is not None}


def mean_ratio(found: Grid) -> float:
    """Geometric mean of the ratios, NaN without any."""
    return geometric_mean(list(ratios(found).values()))
