"""The runtime's own cost: ``make bench-runtime``.

Throughput of worker processes against the ideal, cost of the journal per call, memory per
call and the time to resume after 100,000 calls, and the ways to repair a generation on two
cores. Figures are ratios or differences against a baseline in the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from archeng.distribution import initial_distribution
from archeng.model import compile_model
from archeng.repair import Repairer
from archeng.simulator import Workers
from case_studies.benchmarks.models import ball_and_planes, rotated_box
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import compared

Row = tuple[str, str, str]
ENDLESS = archeng.Settings(stop_tests=False, surrogate="none")


def sleeper(design: archeng.Design) -> float:
    """Take 50 ms."""
    time.sleep(0.05)
    return float(design.x @ design.x)


def scrambled(design: archeng.Design) -> float:
    """Return a number without any structure, so that the search neither converges nor stops."""
    return float(np.sin(1e6 * design.x).sum())


def box(n: int = 2) -> archeng.Model:
    """Return a model with bounds only."""
    model = archeng.Model("box")
    model.variable("x", lower=-1, upper=1, shape=n)
    return model


def throughput(calls: int, workers: int) -> Row:
    """Compare the wall-clock time of a run with 50 ms calls with the ideal."""
    run = archeng.Run(
        rotated_box(10), sleeper, seed=1, workers=workers, max_evaluations=calls, settings=ENDLESS
    )
    run.step()  # starts the workers
    before = run.n_evaluations
    begin = time.perf_counter()
    run.run()
    seconds = time.perf_counter() - begin
    made = run.n_evaluations - before
    share = made * 0.05 / workers / seconds
    return (
        f"{workers} workers, 50 ms simulator, {made} calls (workers already started)",
        f"{100 * share:.1f} % of the ideal throughput",
        "at least 90 %",
    )


def journal_cost(calls: int, folder: Path) -> Row:
    """Compare runs with and without a journal, in turn."""

    def timed(**options: Any) -> float:
        begin = time.perf_counter()
        archeng.solve(
            box(10), scrambled, seed=1, max_evaluations=calls, settings=ENDLESS, **options
        )
        return time.perf_counter() - begin

    differences = []
    for k in range(5):
        plain = timed()
        differences.append((timed(journal=folder / f"cost{k}.db") - plain) / calls)
    return (
        f"journal, n = 10, median of 5 pairs of runs with {calls} calls",
        f"{1e3 * statistics.median(differences):.2f} ms a call",
        "below 2 ms",
    )


def memory_and_resume(calls: int, folder: Path) -> list[Row]:
    """Run for long, watch the memory, then open the journal again."""
    path = folder / "long.db"
    marks: dict[int, float] = {}

    def watch(run: archeng.Run) -> None:
        for mark in (calls // 10, calls):
            if run.n_evaluations >= mark:
                marks.setdefault(mark, _resident())

    options: dict[str, Any] = {"seed": 1, "max_evaluations": calls, "restarts": 10_000}
    begin = time.perf_counter()
    archeng.solve(box(), scrambled, callback=watch, journal=path, **options)
    wall = time.perf_counter() - begin
    growth = (marks[calls] - marks[calls // 10]) / (calls - calls // 10)
    begin = time.perf_counter()
    run = archeng.Run.resume(path, scrambled, max_evaluations=calls + 1)
    seconds = time.perf_counter() - begin
    assert run.n_evaluations > 0.9 * calls  # the last generation is open
    run.close()
    size = path.stat().st_size / calls
    return [
        (
            f"memory from {calls // 10} to {calls} calls, n = 2 ({wall:.0f} s, {size:.0f} B a call "
            "on disk)",
            f"{growth:.0f} B a call",
            "below 1 kB",
        ),
        (f"resume of a journal with {calls} calls", f"{seconds:.1f} s", "below 10 s"),
    ]


def _resident() -> float:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


class RepairTask:
    """Repair a list of points with a repairer of its own."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._repairer: Repairer | None = None

    def __call__(self, points: Any) -> list[Any]:
        """Repair the points around the origin with unit deviations."""
        if self._repairer is None:
            self._repairer = Repairer(compile_model(ball_and_planes(self._n, 10)))
        around = initial_distribution(np.zeros(self._n), np.ones(self._n))
        return [self._repairer.repair(p, around).x for p in points]


def repair_rows(n: int, generations: int) -> list[Row]:
    """Repair the same generations by one core, two threads, two processes."""
    rng = np.random.default_rng(1)
    size = 4 + int(3 * np.log(n))
    points = [3.0 * rng.standard_normal((size, n)) for _ in range(generations)]
    alone, first, second = RepairTask(n), RepairTask(n), RepairTask(n)
    pool = Workers(RepairTask(n), 2)
    threads = ThreadPoolExecutor(2)

    def by_threads(group: Any) -> None:
        list(threads.map(lambda t, g: t(g), (first, second), (group[::2], group[1::2])))

    def by_processes(group: Any) -> None:
        pool.submit(0, group[::2])
        pool.submit(1, group[1::2])
        while pool.next() is not None:
            pass

    ways: dict[str, Callable[[Any], Any]] = {
        "one core": alone,
        "two threads": by_threads,
        "two processes": by_processes,
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for way in ways.values():
        way(points[0])  # compiles, starts
    for group in points:
        for name, way in ways.items():
            begin = time.perf_counter()
            way(group)
            seconds[name].append(time.perf_counter() - begin)
    pool.close()
    threads.shutdown()
    base = statistics.median(seconds["one core"])
    return [
        (
            f"repair of a generation of {size}, ten ellipsoids, n = {n}, {name}",
            f"{1e3 * statistics.median(times) / size:.2f} ms a repair, "
            f"{base / statistics.median(times):.2f} times as fast",
            "-",
        )
        for name, times in seconds.items()
    ]


def map_row(n: int) -> Row:
    """Evaluate rows and Jacobian of a generation by CasADi's map on two threads."""
    fs = compile_model(ball_and_planes(n, 10))
    function = fs.nonlinear_rows_and_jacobian.function
    size = 4 + int(3 * np.log(n))
    points = np.random.default_rng(1).standard_normal((n, size))
    mapped = function.map(size, "thread", 2)
    mapped(points)
    times: dict[str, list[float]] = {"map": [], "loop": []}
    for _ in range(50):
        begin = time.perf_counter()
        mapped(points)
        times["map"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        for k in range(size):
            fs.nonlinear_rows_and_jacobian(points[:, k])
        times["loop"].append(time.perf_counter() - begin)
    ratio = statistics.median(times["loop"]) / statistics.median(times["map"])
    return (
        f"CasADi map on two threads, rows and Jacobian of {size} points, n = {n}",
        f"{ratio:.2f} times as fast as our loop",
        "-",
    )


def workload() -> None:
    """2000 calls of a run without rows."""
    archeng.solve(box(10), scrambled, seed=1, max_evaluations=2000, settings=ENDLESS)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="calls of the long run")
    parser.add_argument("--record", action="store_true", help="write docs/benchmarks/runtime.*")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="archeng-bench-") as name:
        folder = Path(name)
        rows.append(throughput(600, 2))
        rows.append(journal_cost(2000, folder))
        rows += repair_rows(10, 12)
        rows += repair_rows(40, 6)
        rows.append(map_row(40))
        rows += memory_and_resume(options.calls, folder)
    table = markdown_table(("what", "measured", "wanted"), rows) + f"\n\n{compared(workload)}"
    print(table)
    if options.record:
        command = command_line("case_studies.benchmarks.runtime")
        write("runtime", "Runtime: workers, journal, memory", table, rows, command)


if __name__ == "__main__":
    main()
