"""Three quadratics in three coordinate systems, C0 matched to the box: [SA22 fig:medfig].

The setting of [SA22 subsec:settings]: sigma0 = 1.25, C0 = I in the coordinates of the box and
transformed in the others, the initial mean uniform in [-1, 1]^n around the middle of the box.
ARCH is ``Settings.paper()``; resampling draws at most 500 samples per iteration; AP-BCH handles
bounds only, that is BOX. A run ends when the criterion (m - x*)^T H (m - x*) is below 1e-9, when
it has not improved for long below 1e-6, or at its most iterations.
"""

from __future__ import annotations

from pathlib import Path

from case_studies.paper import curves
from case_studies.paper.results import Row, Task

NAME = "median"
HELP = "convergence on quadratics in three coordinate systems (fig:medfig)"
RUNS, QUICK_RUNS = 100, 2

tasks = curves.tasks
summary = curves.summary


def run_task(task: Task) -> list[Row]:
    return curves.run_task(task, matched=True)


def figures(rows: list[Row], out: Path) -> list[Path]:
    return curves.figures(rows, out, NAME)
