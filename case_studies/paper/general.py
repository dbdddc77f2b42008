"""The same as `median` with C0 that does not match the box: [SA22 fig:med-general].

C0 = I in the coordinates illrotBox, and transformed in the others: C0 = P P^T in BOX with the P
of illrotBox, ill-conditioned and rotated [SA22 sec:lin-prob-general]. All else is as in
`median`.
"""

from __future__ import annotations

from pathlib import Path

from case_studies.paper import curves
from case_studies.paper.results import Row, Task

NAME = "general"
HELP = "the same with an initial covariance that does not match the box (fig:med-general)"
RUNS, QUICK_RUNS = 100, 2

tasks = curves.tasks
summary = curves.summary


def run_task(task: Task) -> list[Row]:
    return curves.run_task(task, matched=False)


def figures(rows: list[Row], out: Path) -> list[Path]:
    return curves.figures(rows, out, NAME)
