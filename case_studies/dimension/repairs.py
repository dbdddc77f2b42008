"""Processor time of a repair against the number of variables, beside the way without structure.

The mean of the search is a repaired uniform point, so it lies where many rows meet; deviations are
a tenth of the box, times a random factor in the diagonal metric and with random correlations
in the dense one. Samples are repaired with the mean as the known feasible point. ``before`` is
the way that smaller models take (`archeng.repair.working_set`), made to take these, too.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import archeng
from archeng.distribution import (
    Distribution,
    diagonal_distribution,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.model import compile_model, feasible_set
from archeng.repair import Repairer
from archeng.sampling.search import feasible_points
from case_studies.dimension import tables
from case_studies.dimension.problems import ROWS, sparse_model
from case_studies.paper.results import Row, Task

NAME = "repair"
HELP = "time of a repair, n = 100 to 1000, dense and diagonal metric, linear and nonlinear rows"
RUNS, QUICK_RUNS = 1, 1
SIZES, QUICK_SIZES = (200, 400, 1000), (160,)
SAMPLES, QUICK_SAMPLES = 20, 3
SECONDS = 10.0
"""Processor time after which no further sample is repaired."""
DEVIATION = 0.4
NEVER = 10**9
"""Variables beyond which structure is used, for the way before: never."""

summary = tables.repair_summary


def tasks(runs: int, quick: bool) -> list[Task]:
    """All sizes, metrics, rows and ways."""
    return [
        {
            "n": n,
            "rows": rows,
            "metric": metric,
            "way": way,
            "samples": QUICK_SAMPLES if quick else SAMPLES,
            "version": archeng.__version__,
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for n in (QUICK_SIZES if quick else SIZES)
        for rows in ROWS
        for metric in ("diagonal", "dense")
        for way in ("now", "before")
    ]


def metric_of(kind: str, mean: np.ndarray, rng: np.random.Generator) -> Distribution:
    """Return a diagonal or a dense metric around a mean (n,)."""
    n = len(mean)
    d = initial_distribution(mean, DEVIATION * np.exp(rng.normal(size=n) / 3))
    if kind == "diagonal":
        return diagonal_distribution(d)
    Q = rng.normal(size=(n, n)) / np.sqrt(n)
    return distribution_from_covariance(mean, d.sigma**2 * (d.covariance + Q @ Q.T) / 2)


def run_task(task: Task) -> list[Row]:
    """Repair samples, first one for what is compiled on first use."""
    rng, n = np.random.default_rng(int(task["seed"])), int(task["n"])
    fs = compile_model(sparse_model(str(task["rows"]), n, rng))
    mean = feasible_points(Repairer(fs), 1, rng)[0]
    d = metric_of(str(task["metric"]), mean, rng)
    usual = feasible_set.MANY_VARIABLES
    if task["way"] == "before":
        feasible_set.MANY_VARIABLES = NEVER
        fs = compile_model(
            sparse_model(str(task["rows"]), n, np.random.default_rng(int(task["seed"])))
        )
        assert not fs.has_many
    try:
        return [{**task, **timed(Repairer(fs), d, rng, int(task["samples"]))}]
    finally:
        feasible_set.MANY_VARIABLES = usual


def timed(repairer: Repairer, d: Distribution, rng: np.random.Generator, count: int) -> Row:
    """Return the time of repairs and what became of them."""
    fs, n = repairer.feasible_set, len(d.mean)
    dense = Distribution(d.mean, d.sigma, d.scaled_factor / d.sigma, d.inverse_factor)
    if d.is_diagonal and not fs.has_many:
        dense = initial_distribution(d.mean, d.deviations)
    metric = d if fs.has_many else dense
    points = d.mean + d.sigma * d.steps(rng.standard_normal((count + 1, n)))
    repairer.repair(points[0], metric, d.mean)
    times, violated, active, good, residual = [], [], [], 0, 0.0
    begin = time.process_time()
    for x in points[1:]:
        before = time.process_time()
        if before - begin > SECONDS:
            break
        repair = repairer.repair(x, metric, d.mean)
        times.append(time.process_time() - before)
        violated.append(int(np.count_nonzero(fs.violations(x))))
        active.append(len(repair.active))
        good += repair.feasible and fs.is_feasible(repair.x)
        residual = max(residual, repair.kkt_residual)
    return {
        "repairs": len(times),
        "ms": round(1e3 * float(np.median(times)), 3),
        "ms_worst": round(1e3 * max(times), 3),
        "violated": float(np.median(violated)),
        "active": float(np.median(active)),
        "certified": good / len(times),
        "residual": float(residual),
    }


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
