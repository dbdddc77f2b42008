"""Overhead per simulator call, repair included, and where it goes: ``make bench-overhead``.

The simulator is a cheap quadratic whose minimum violates most rows (for the wind farm: a wake
model, and then a quadratic that pulls all turbines to one point, the worst case for the
spacing rows), so that nearly all time is archeng's own. Each row is one
seeded run of ARCH alone (default settings without surrogate, whose own cost is measured by
``make bench-surrogate``); times are wall-clock per simulator call, but for "processor": the
processor time of the whole. Each run is made in a process of its own, with
``OPENBLAS_NUM_THREADS`` unset, as users have it, and set to 1, by turns: "set" is the processor
time with the variable set, "ratio" what it costs not to set it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.models import ball_and_planes, rotated_box, wake_loss, wind_farm
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import beside, verdict
from case_studies.cec2006 import problem

Simulator = Callable[[archeng.Design], float]
Case = tuple[str, Callable[[], archeng.Model], Simulator, float | None]


def quadratic(design: archeng.Design) -> float:
    """Ellipsoid around an infeasible point, so that many rows are active."""
    x = design.x
    weights = 10.0 ** np.linspace(0, 2, len(x))
    return float(weights @ (x + 1.0) ** 2)


TARGETS: list[Case] = [
    ("linear, rotated box, n = 50", lambda: rotated_box(50), quadratic, 1.0),
    ("dense nonlinear, g07, n = 10", lambda: problem("g07").model, problem("g07").objective, 1.5),
    ("sparse, 16-turbine layout, n = 32, 136 rows", wind_farm, wake_loss, 8.0),
]
GROWTH_N: list[Case] = [
    (f"linear, rotated box, n = {n}", lambda n=n: rotated_box(n), quadratic, None)  # type: ignore[misc]
    for n in (10, 20, 50, 100)
] + [
    (f"10 dense ellipsoids, n = {n}", lambda n=n: ball_and_planes(n, 10), quadratic, None)  # type: ignore[misc]
    for n in (5, 10, 20, 40)
]
GROWTH_M: list[Case] = (
    [
        (f"{m} dense ellipsoids, n = 10", lambda m=m: ball_and_planes(10, m), quadratic, None)  # type: ignore[misc]
        for m in (5, 10, 20, 40, 80)
    ]
    + [
        (
            f"layout of {k} turbines, {k * (k + 1) // 2} rows",
            lambda k=k: wind_farm(k),
            wake_loss,
            None,
        )  # type: ignore[misc]
        for k in (4, 8, 16)
    ]
    + [("16 turbines pulled to one point, 136 rows", wind_farm, quadratic, None)]
    + [
        (
            f"layout of {k} turbines, {k * (k + 1) // 2} rows",
            lambda k=k, radius=radius: wind_farm(k, radius),
            wake_loss,
            limit,
        )  # type: ignore[misc]
        for k, radius, limit in ((36, 2000.0, 20.0), (64, 3000.0, 100.0))
    ]
)


def measure(case: Case, calls: int, seed: int) -> dict[str, Any]:
    """One run; time per call by part."""
    label, build, simulator, target = case
    settings = archeng.Settings(surrogate="none")
    run = archeng.Run(build(), simulator, max_evaluations=calls, seed=seed, settings=settings)
    run.step()  # compiles the solvers
    first = run.n_evaluations
    begin, begin_cpu = time.perf_counter(), time.process_time()
    while not run.stopped:
        run.step()
    wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    n_calls = max(run.n_evaluations - first, 1)
    history = run.history[1:]

    def per_call(field: str) -> float:
        return 1e3 * sum(getattr(g, field) for g in history) / n_calls

    repair = per_call("repair_seconds")
    simulated, strategy = per_call("simulator_seconds"), per_call("strategy_seconds")
    total = 1e3 * wall / n_calls
    return {
        "case": label,
        "n": run.feasible_set.n,
        "rows": run.feasible_set.m,
        "calls": n_calls,
        "total_ms": total - simulated,
        "repair_ms": repair,
        "strategy_ms": strategy,
        "other_ms": total - repair - simulated - strategy,
        "processor_ms": 1e3 * cpu / n_calls,
        "target_ms": target,
        "infeasible_calls": run.result().n_infeasible_calls,
    }


def measure_by_name(label: str, calls: int, seed: int) -> dict[str, Any]:
    """Measure the case with this label."""
    return measure(next(c for c in TARGETS + GROWTH_N + GROWTH_M if c[0] == label), calls, seed)


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of :func:`beside` in Markdown."""
    header = ["case", "rows", "calls", "overhead ms/call", "repair", "strategy", "other", "target",
              "processor", "set", "ratio"]  # fmt: skip
    lines = [
        [
            r["case"],
            r["rows"],
            r["calls"],
            f"**{r['total_ms']:.2f}**",
            f"{r['repair_ms']:.2f}",
            f"{r['strategy_ms']:.2f}",
            f"{r['other_ms']:.2f}",
            "-" if r["target_ms"] is None else f"< {r['target_ms']:g}",
            f"{r['processor_ms']:.2f}",
            f"{r['set_ms']:.2f}",
            f"{r['ratio']:.2f}",
        ]
        for r in rows
    ]
    return markdown_table(header, lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m case_studies.benchmarks.overhead")
    parser.add_argument("--calls", type=int, default=2000, help="simulator calls per case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1, help="runs per case, for medians")
    parser.add_argument("--quick", action="store_true", help="only the three cases with targets")
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    groups = {"Targets": TARGETS}
    if not options.quick:
        groups |= {"Growth with the number of variables": GROWTH_N,
                   "Growth with the number of rows": GROWTH_M}  # fmt: skip
    results, text = {}, ""
    for title, cases in groups.items():
        results[title] = [
            beside(measure_by_name, case[0], options.calls, options.seed, repeats=options.repeats)
            for case in cases
        ]
        part = f"## {title}\n\n{table(results[title])}\n\n"
        print(part, flush=True)
        text += part
    part = verdict([row for rows in results.values() for row in rows])
    print(part, flush=True)
    text += part
    if options.record:
        write(
            options.record,
            "Overhead per simulator call",
            f"{__doc__}\n{text}",
            results,
            command_line("case_studies.benchmarks.overhead"),
        )


if __name__ == "__main__":
    main()
