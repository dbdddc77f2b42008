"""What a call costs beside its simulation, at widths 8 and 64: archeng alone, and through Dask.

The simulator takes no time; ARCH alone, without models, on ten variables. Through Dask the workers
are threads of this process, so that everything shares one processor: an upper limit. ``dask`` are
tasks of Dask that do nothing, without archeng.

============  ==============================================================================
column        meaning
============  ==============================================================================
milliseconds  of the clock for each call (or task), in the middle half of the calls
============  ==============================================================================
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row, Task

NAME = "wide"
HELP = "what a call costs beside its simulation at widths 8 and 64"
RUNS, QUICK_RUNS = 1, 1
WIDTHS = (8, 64)
PLACES = ("archeng", "archeng on dask", "dask")
CALLS = 600


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each width and place."""
    return [
        {"place": place, "mode": mode, "width": width, "seed": seed}
        for seed in range(1, runs + 1)
        for width in (WIDTHS[:1] if quick else WIDTHS)
        for place in PLACES
        for mode in ("batches", "asynchronous")
        if place != "dask" or mode == "batches"
    ]


def run_task(task: Task) -> list[Row]:
    """Measure one of them."""
    from distributed import Client, LocalCluster

    place, width = str(task["place"]), int(task["width"])
    if place == "archeng":
        return [{**task, "milliseconds": _archeng(task, f"threads:{min(width, 64)}")}]
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=min(width, 64),
            processes=False,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        measured = _dask(client, width) if place == "dask" else _archeng(task, client)
    return [{**task, "milliseconds": measured}]


def _archeng(task: Task, workers: Any) -> float:
    model = archeng.Model("wide")
    x = model.variable("x", shape=10, lower=-5, upper=5)
    model.subject_to(ca.sum1(x) >= 1, name="sum")
    calls = archeng.solve(
        model,
        _squares,
        workers=workers,
        parallel=int(task["width"]),
        asynchronous=task["mode"] == "asynchronous",
        max_evaluations=CALLS,
        seed=int(task["seed"]),
        settings=archeng.Settings(surrogate="none", stop_tests=False),
    ).evaluations
    ends = np.sort([e.elapsed for e in calls])
    middle = ends[len(ends) // 4 : 3 * len(ends) // 4]
    return float(1e3 * (middle[-1] - middle[0]) / (len(middle) - 1))


def _squares(design: archeng.Design) -> float:
    return float(design.x @ design.x)


def _dask(client: Any, width: int) -> float:
    """Keep so many tasks under way, and take them as they end."""
    from distributed import as_completed

    begin = time.perf_counter()
    under_way = as_completed([client.submit(int, 0, pure=False) for _ in range(width)])
    for made, _ in enumerate(under_way, width):
        if made >= CALLS:
            break
        under_way.add(client.submit(int, 0, pure=False))
    return 1e3 * (time.perf_counter() - begin) / (CALLS - width)


def summary(rows: list[Row]) -> str:
    """Return milliseconds by width."""
    lines = []
    for place in PLACES:
        for mode in ("batches", "asynchronous"):
            found = {
                r["width"]: r["milliseconds"]
                for r in rows
                if (r["place"], r["mode"]) == (place, mode)
            }
            if found:
                shown = [f"{found[w]:.1f}" if w in found else "-" for w in WIDTHS]
                lines.append([place, mode if place != "dask" else "-", *shown])
    widths = [f"ms per call, width {w}" for w in WIDTHS]
    return markdown_table(["where", "mode", *widths], lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
