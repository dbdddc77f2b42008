"""Figures of merit from rows: medians, success rates, ratios, who is first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from case_studies.paper.results import Row
from case_studies.peers.adapters import METHODS

ENOUGH = 0.9
"""Share of successful runs from which a method can be the best on a problem."""

NEAR = 1.1
"""A method is about as good as the first up to this ratio of calls."""

REFERENCE = "archeng"


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem.

    Attributes
    ----------
    median : float or None
        Calls to target of the successful runs.
    success : float
        Their share.
    expected : float or None
        All calls of all runs per success: what a success costs if one repeats until then.
    """

    median: float | None
    success: float
    expected: float | None

    @property
    def eligible(self) -> bool:
        """Whether it succeeds often enough to be called the best."""
        return self.median is not None and self.success >= ENOUGH


Grid = dict[str, dict[str, Cell]]
"""Cells by problem, then by method."""


def latest(rows: Sequence[Row]) -> list[Row]:
    """Keep the last row of each run: a newer version or another budget replaces the older."""
    keys = ("suite", "problem", "variant", "method", "seed")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def compared(rows: Sequence[Row]) -> list[Row]:
    """Keep, on each problem, the seeds that all its methods have run; methods without any drop out.

    A method that has run on less than half of the problems is not compared yet. So the page of a
    comparison that is under way has the same number of runs of all methods on each problem.
    """
    problems = {r["problem"] for r in rows}
    methods = {
        m
        for m in {r["method"] for r in rows}
        if 2 * len({r["problem"] for r in rows if r["method"] == m}) >= len(problems)
    }
    kept = []
    for problem in problems:
        group = [r for r in rows if r["problem"] == problem and r["method"] in methods]
        seeds = [{r["seed"] for r in group if r["method"] == m} for m in methods]
        common = set.intersection(*(s for s in seeds if s)) if any(seeds) else set()
        kept += [r for r in group if r["seed"] in common]
    return kept


def cell(rows: Sequence[Row]) -> Cell:
    """Return the cell of the runs of one method on one problem."""
    calls = [r["calls_to_target"] for r in rows if r["calls_to_target"] is not None]
    total = sum(r["calls"] for r in rows)
    return Cell(
        median=float(np.median(calls)) if calls else None,
        success=len(calls) / len(rows),
        expected=total / len(calls) if calls else None,
    )


def grid(rows: Sequence[Row]) -> Grid:
    """Return the cells of all problems and methods, in the order of their names."""
    found: Grid = {}
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    for problem in sorted({r["problem"] for r in rows}):
        for method in methods:
            group = [r for r in rows if r["problem"] == problem and r["method"] == method]
            if group:
                found.setdefault(problem, {})[method] = cell(group)
    return found


def best(cells: dict[str, Cell]) -> float | None:
    """Return the fewest calls of the methods that succeed often enough; None without one."""
    return min((c.median for c in cells.values() if c.eligible and c.median), default=None)


def near_first(found: Grid, method: str) -> int:
    """Count the problems on which a method is first or within 10 % of the first."""
    count = 0
    for cells in found.values():
        first, own = best(cells), cells.get(method)
        if first is not None and own is not None and own.eligible and own.median is not None:
            count += own.median <= NEAR * first
    return count


def ratio_of_medians(found: Grid, method: str) -> tuple[float | None, int]:
    """Geometric mean of median calls relative to archeng's, and over how many problems.

    These are the problems on which both succeed often enough.
    """
    pairs = [
        (cells[method].median, cells[REFERENCE].median)
        for cells in found.values()
        if method in cells and REFERENCE in cells
        if cells[method].eligible and cells[REFERENCE].eligible
    ]
    return _geometric(pairs)


def ratio_of_expected(found: Grid, method: str) -> tuple[float | None, int]:
    """Return the same of the expected calls per success, where both succeed at least once."""
    pairs = [
        (cells[method].expected, cells[REFERENCE].expected)
        for cells in found.values()
        if method in cells and REFERENCE in cells
    ]
    return _geometric(pairs)


def _geometric(pairs: list[tuple[float | None, float | None]]) -> tuple[float | None, int]:
    logs = [math.log(a / b) for a, b in pairs if a is not None and b is not None]
    return (math.exp(sum(logs) / len(logs)) if logs else None), len(logs)
