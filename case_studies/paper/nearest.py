"""Repair to the intersection first, or to the nearest point at once: [SA22 fig:nearest].

ARCH on sphere, BOX, n = 20, in the setting of `median`. With nearest points only, the eigenvalues
of the covariance matrix split into two groups [SA22 app:repair]. Of the first seed the whole run
is kept, for the figure; of the others the last iteration.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.quadratics import quadratic
from case_studies.paper.results import Row, Task
from case_studies.paper.trace import draw, spread, trace

NAME = "nearest"
HELP = "ARCH with and without repair to the intersection first (fig:nearest)"
RUNS, QUICK_RUNS = 25, 3

N = 20
HANDLERS = {"arch": "intersection first", "arch-nearest": "nearest only"}
CAP, QUICK_CAP = 10_000, 1500
EVERY = 5


def tasks(runs: int, quick: bool) -> list[Task]:
    return [
        {"handler": handler, "cap": QUICK_CAP if quick else CAP, "seed": seed}
        for seed, handler in product(range(runs), HANDLERS)
    ]


def run_task(task: Task) -> list[Row]:
    seed = int(task["seed"])
    problem = quadratic("sphere", "BOX", N)
    rows = trace(problem, str(task["handler"]), seed, int(task["cap"]), EVERY, task)
    return rows if seed == 0 else rows[-1:]


def summary(rows: list[Row]) -> str:
    """Return medians over the seeds, side by side."""
    header = ["repair", "runs", "iterations to 1e-8 (median)", "reached",
              "eig(sqrt(C)) spread at the end (median)"]  # fmt: skip
    lines = []
    for handler, name in HANDLERS.items():
        last = {r["seed"]: r for r in rows if r["handler"] == handler}
        if not last:
            continue
        reached = [r["reached"] for r in last.values() if r["reached"] is not None]
        lines.append(
            [
                name,
                len(last),
                f"{np.median(reached):g}" if reached else "-",
                f"{100 * len(reached) / len(last):.0f} %",
                f"{np.median([spread(r) for r in last.values()]):.3g}",
            ]
        )
    return markdown_table(header, lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the first seed of both, if it is there."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5), layout="constrained")
    grid = figure.add_gridspec(1, len(HANDLERS))
    for i, (handler, name) in enumerate(HANDLERS.items()):
        run = [r for r in rows if r["handler"] == handler and r["seed"] == 0]
        if run:
            draw(grid[0, i], f"ARCH, {name}", run)
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=110)
    return [path]
