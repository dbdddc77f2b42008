"""A Dask cluster of eight worker processes, one of which is killed in the middle of the run.

Calls sleep with log-normal durations of half a second on average. The budget is fixed, and there is
no target: what is looked at is who is busy, and what a lost worker costs. Batches wait for each
generation, asynchronous runs for nobody.

============  ==============================================================================
column        meaning
============  ==============================================================================
calls         that ended well
lost          calls that were given up with a worker
seconds       from the begin of the run to its end, by the clock
busy          share of the time of all workers in which they slept, from the begin of the second
              call (the first one is alone) to that of the last one
best          objective at the end; the optimum is 0
============  ==============================================================================
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row, Task
from case_studies.parallel.cases import CASES
from case_studies.parallel.durations import duration
from case_studies.parallel.local_dask import dask_cluster

NAME = "cluster"
HELP = "a Dask cluster of eight processes, one of them killed; who is busy"
RUNS, QUICK_RUNS = 1, 1
WIDTH, BUDGET, QUICK_BUDGET = 8, 80, 40
MEAN = 0.5
"""Seconds of a call."""
PROBLEMS = ("waves",)


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each problem, way to wait, seed, and whether a worker is killed."""
    return [
        {"problem": name, "mode": mode, "killed": killed, "seed": seed, "budget": budget}
        for seed in range(1, runs + 1)
        for name in (PROBLEMS[:1] if quick else PROBLEMS)
        for killed in (1, 0)
        for mode in ("asynchronous", "batches")
        for budget in (QUICK_BUDGET if quick else BUDGET,)
    ]


class Slow:
    """A simulator whose calls take their time, and say in which process."""

    def __init__(self, name: str, seed: int) -> None:
        self._about, self._simulator = (name, seed), CASES[name]().simulator

    def __call__(self, design: archeng.Design) -> Any:
        """Sleep, then answer."""
        time.sleep(MEAN * duration("lognormal", design.x, self._about[1]))
        value = float(self._simulator(design))
        return archeng.Evaluation(value, outputs={"process": os.getpid()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Slow, self._about


def run_task(task: Task) -> list[Row]:
    """Run on a cluster, kill a worker after a quarter of the calls, and look at the clock."""
    name, seed, budget = str(task["problem"]), int(task["seed"]), int(task["budget"])
    case = CASES[name]()
    with dask_cluster(WIDTH) as client:
        client.run(Slow, name, seed)  # everything is imported before the clock begins
        killer = _Killer(client, budget // 4) if task["killed"] else None
        begin = time.perf_counter()
        result = archeng.solve(
            case.model,
            Slow(name, seed),
            max_evaluations=budget,
            seed=seed,
            workers=client,
            parallel=WIDTH,
            asynchronous=task["mode"] == "asynchronous",
            callback=killer,
            **case.options,
        )
        seconds = time.perf_counter() - begin
    calls = result.evaluations
    return [
        {
            **task,
            "calls": sum(e.good for e in calls),
            "lost": sum(e.status == "lost" for e in calls),
            "processes": len({e.outputs["process"] for e in calls if e.good}),
            "seconds": seconds,
            "busy": _busy([e for e in calls if e.good]),
            "best": result.fun,
        }
    ]


class _Killer:
    """A callback that kills one worker after so many calls."""

    def __init__(self, client: Any, calls: int) -> None:
        self._pids, self._calls = list(client.run(os.getpid).values()), calls

    def __call__(self, run: archeng.Run) -> None:
        """Kill it once."""
        if self._pids and run.n_evaluations >= self._calls:
            os.kill(self._pids[0], signal.SIGKILL)
            self._pids = []


def _busy(calls: list[archeng.CallRecord]) -> float:
    ends = np.array([e.elapsed for e in calls])
    begins = np.sort(ends - [e.seconds for e in calls])
    first, last = begins[1], begins[-1]
    spans = [min(e.elapsed, last) - max(e.elapsed - e.seconds, first) for e in calls]
    return float(np.clip(spans, 0.0, None).sum() / (WIDTH * (last - first)))


def summary(rows: list[Row]) -> str:
    """Return medians by problem, way to wait, and whether a worker was killed."""
    lines = []
    for name in PROBLEMS:
        for killed in (0, 1):
            for mode in ("batches", "asynchronous"):
                key = (name, killed, mode)
                these = [r for r in rows if (r["problem"], r["killed"], r["mode"]) == key]
                if these:
                    m = {
                        c: float(np.median([r[c] for r in these]))
                        for c in ("calls", "lost", "seconds", "busy", "best")
                    }
                    lines.append(
                        [
                            *(name, mode, "one" if killed else "none", len(these)),
                            *(f"{m['calls']:g}", f"{m['lost']:g}", f"{m['seconds']:.1f}"),
                            *(f"{m['busy']:.0%}", f"{m['best']:.1e}"),
                        ]
                    )
    header = [
        "problem", "mode", "workers killed", "runs", "calls", "lost", "seconds", "busy", "best",
    ]  # fmt: skip
    return markdown_table(header, lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
