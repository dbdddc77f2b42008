"""The same with simulators that really take their time, at width 8: threads, and a Dask cluster.

Every call sleeps as long as it takes. ``batches`` waits for each generation, ``asynchronous`` for
nobody. The Dask cluster has eight worker processes on this machine.

============  ==============================================================================
column        meaning
============  ==============================================================================
reached       whether the target was reached within the budget
calls         until then
seconds       from the begin of the run to its end, by the clock
counted       what `parallel` would have counted for the same calls, without archeng's own time
busy          share of the time of all workers in which they slept
============  ==============================================================================
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row, Task
from case_studies.parallel.cases import CASES
from case_studies.parallel.durations import counted_seconds, duration
from case_studies.parallel.local_dask import dask_cluster

NAME = "slept"
HELP = "the same by the clock at width 8: batches, asynchronous, Dask"
RUNS, QUICK_RUNS = 2, 1
WIDTH = 8
BUDGET = 600
PROBLEMS = ("g07", "welded beam", "waves", "spring", "g19")
ON_DASK = ("g07",)
DASK_RUNS = 1


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each problem, way to wait, kind of durations, place and seed."""
    return [
        {"problem": name, "mode": mode, "durations": kind, "place": place, "seed": seed}
        for seed in range(1, runs + 1)
        for place in ("threads", "dask")
        for name in (PROBLEMS if place == "threads" else ON_DASK)
        for kind in ("fixed", "lognormal")
        for mode in ("batches", "asynchronous")
        if (place == "threads" or seed <= DASK_RUNS) and (not quick or name == "welded beam")
    ]


class Slow:
    """A simulator whose calls take their time."""

    def __init__(self, name: str, kind: str, seed: int) -> None:
        self._about, self._simulator = (name, kind, seed), CASES[name]().simulator

    def __call__(self, design: archeng.Design) -> Any:
        """Sleep, then answer."""
        _, kind, seed = self._about
        time.sleep(duration(kind, design.x, seed))
        return self._simulator(design)

    def __reduce__(self) -> tuple[Any, ...]:
        return Slow, self._about


def run_task(task: Task) -> list[Row]:
    """Solve one problem and look at the clock."""
    name, kind, seed = str(task["problem"]), str(task["durations"]), int(task["seed"])
    case = CASES[name]()
    with _workers(str(task["place"])) as workers:
        begin = time.perf_counter()
        result = archeng.solve(
            case.model,
            Slow(name, kind, seed),
            target=case.target,
            max_evaluations=BUDGET,
            seed=seed,
            workers=workers,
            parallel=WIDTH,
            asynchronous=task["mode"] == "asynchronous",
            **case.options,
        )
        seconds = time.perf_counter() - begin
    counted, work = counted_seconds(result.evaluations, kind, seed, WIDTH)
    return [
        {
            **task,
            "reached": int(result.stop_reason is archeng.StopReason.TARGET),
            "calls": result.nfev,
            "seconds": seconds,
            "counted": counted if task["mode"] == "batches" else None,
            "busy": work / (WIDTH * seconds),
        }
    ]


@contextmanager
def _workers(place: str) -> Iterator[Any]:
    if place == "threads":
        yield f"threads:{WIDTH}"
        return
    with dask_cluster(WIDTH) as client:
        yield client


def summary(rows: list[Row]) -> str:
    """Return medians by problem, place and way to wait."""
    lines = []
    for place in ("threads", "dask"):
        for name in PROBLEMS:
            for kind in ("fixed", "lognormal"):
                for mode in ("batches", "asynchronous"):
                    key = (name, mode, kind, place)
                    these = [
                        r
                        for r in rows
                        if (r["problem"], r["mode"], r["durations"], r["place"]) == key
                    ]
                    if these:
                        lines.append(_line(name, place, kind, mode, these))
    header = [
        "problem", "workers", "durations", "mode", "reached", "calls", "seconds", "counted", "busy",
    ]  # fmt: skip
    return markdown_table(header, lines)


def _line(name: str, place: str, kind: str, mode: str, rows: list[Row]) -> list[object]:
    reached = [r for r in rows if r["reached"]]
    medians = [
        float(np.median([r[column] if r["reached"] else np.inf for r in rows]))
        for column in ("calls", "seconds")
    ]
    counted = [r["counted"] for r in reached if r["counted"] is not None]
    return [
        name,
        place,
        kind,
        mode,
        f"{len(reached)}/{len(rows)}",
        f"{medians[0]:g}",
        f"{medians[1]:.1f}",
        f"{np.median(counted):.1f}" if counted else "-",
        f"{np.median([r['busy'] for r in rows]):.0%}",
    ]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
