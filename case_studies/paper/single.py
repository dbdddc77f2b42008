"""Typical single runs on sphere and ellipsoid, n = 20: [SA22 fig:single].

CMA-ES without constraints, and resampling, AP-BCH and ARCH on BOX. The grid shows the first
seed: on top the criterion, the step size, the eigenvalues of the square root of C, and ARCH's
alpha and d_m; below them the coordinates of the mean and the share r_feas of the intervals
[lb, ub] that contain them.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.quadratics import UNCONSTRAINED, quadratic
from case_studies.paper.results import Row, Task
from case_studies.paper.trace import draw, spread, trace

NAME = "single"
HELP = "typical runs of CMA-ES, resampling, AP-BCH and ARCH (fig:single)"
RUNS, QUICK_RUNS = 1, 1

N = 20
METHODS = {
    "CMA-ES": (UNCONSTRAINED, "resampling"),  # all samples are feasible: nothing to handle
    "resampling": ("BOX", "resampling"),
    "AP-BCH": ("BOX", "ap-bch"),
    "ARCH": ("BOX", "arch"),
}
CAPS = {"sphere": 5000, "ellipsoid": 12_000}
QUICK_CAPS = {"sphere": 1500, "ellipsoid": 2000}
EVERY = {"sphere": 2, "ellipsoid": 10}


def tasks(runs: int, quick: bool) -> list[Task]:
    caps = QUICK_CAPS if quick else CAPS
    return [
        {"method": method, "function": function, "cap": cap, "seed": seed}
        for seed, (function, cap), method in product(range(runs), caps.items(), METHODS)
    ]


def run_task(task: Task) -> list[Row]:
    system, handler = METHODS[str(task["method"])]
    function = str(task["function"])
    problem = quadratic(function, system, N)
    return trace(problem, handler, int(task["seed"]), int(task["cap"]), EVERY[function], task)


def summary(rows: list[Row]) -> str:
    """Return a table of how the runs ended."""
    header = ["function", "method", "seed", "iterations to 1e-8", "last iteration", "criterion",
              "eig(sqrt(C)) spread", "median r_feas", "median d_m"]  # fmt: skip
    lines = []
    for (function, method, seed), run in _runs(rows).items():
        last = run[-1]
        d_m = [r["d_m"] for r in run if r["d_m"] is not None]
        lines.append(
            [
                function,
                method,
                seed,
                "-" if last["reached"] is None else last["reached"],
                last["iteration"],
                f"{last['criterion']:.1e}",
                f"{spread(last):.3g}",
                f"{np.median([r['r_feas'] for r in run]):.2f}",
                f"{np.median(d_m):.2f}" if d_m else "-",
            ]
        )
    return markdown_table(header, lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the grid of the paper: a row per method, a column per function."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 20), layout="constrained")
    grid = figure.add_gridspec(len(METHODS), len(CAPS))
    runs = _runs(rows)
    first = min(seed for _, _, seed in runs)
    for (i, method), (j, function) in product(enumerate(METHODS), enumerate(CAPS)):
        if (function, method, first) in runs:
            draw(grid[i, j], f"{method}, {function}", runs[function, method, first])
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=110)
    return [path]


def _runs(rows: list[Row]) -> dict[tuple[str, str, int], list[Row]]:
    """Rows of each run, by function, method and seed, in the order of the paper."""
    runs: dict[tuple[str, str, int], list[Row]] = {}
    seeds = sorted({int(r["seed"]) for r in rows})
    for function, method, seed in product(CAPS, METHODS, seeds):
        key = {"function": function, "method": method, "seed": seed}
        run = [r for r in rows if all(r[c] == v for c, v in key.items())]
        if run:
            runs[function, method, seed] = run
    return runs
