"""Calls to target in the setting of [SA22 ssec:vs-active-set]: ``make bench-cec2006-active``.

The initial mean is uniform in the box and repaired, sigma0 = 0.2 min(ub - lb), C0 = I, at most
1200 iterations, no other stopping test and no restart. A run succeeds if a feasible design
with f < f* + eps |f*| was simulated. Every call is counted up to and including that one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.cec2006 import problem

ACCURACIES = (1e-4, 1e-8)
MAX_ITERATIONS = 1200
DEFAULT_PROBLEMS = [*(f"g{i:02d}" for i in range(1, 12)), "g16"]
PAPER = json.loads(Path(__file__).with_name("paper_active_set.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Outcome:
    """One run: calls to each accuracy (None if not reached)."""

    name: str
    seed: int
    calls: tuple[int | None, ...]
    evaluations: int
    infeasible_calls: int
    seconds: float
    error: str = ""


Task = tuple[str, int, str, int]


def run_once(task: Task) -> Outcome:
    """One problem, one seed."""
    name, seed, preset, iterations = task
    p = problem(name)
    f_opt = min(p.f_opt, p.f_strict) if name == "g22" else p.f_opt
    rng = np.random.default_rng([seed, int(name[1:])])
    start = rng.uniform(p.lower, p.upper)
    settings = archeng.Settings.paper() if preset == "paper" else archeng.Settings()

    def limit(run: archeng.Run) -> None:
        if len(run.history) >= iterations:
            raise StopIteration

    try:
        run = archeng.Run(
            p.model,
            p.objective,
            target=float(np.nextafter(f_opt + ACCURACIES[-1] * abs(f_opt), -np.inf)),
            seed=seed,
            start=start,
            sigma=0.2 * float(np.min(p.upper - p.lower)),
            callback=limit,
            settings=replace(settings, stop_tests=False),
        )
    except archeng.errors.InfeasibleModelError as error:
        return Outcome(name, seed, (None,) * len(ACCURACIES), 0, 0, 0.0, str(error))
    result = run.run()
    f = np.array([e.objective for e in result.evaluations])
    calls = []
    for accuracy in ACCURACIES:
        reached = np.flatnonzero(f < f_opt + accuracy * abs(f_opt))
        calls.append(int(reached[0]) + 1 if len(reached) else None)
    seconds = sum(g.repair_seconds + g.strategy_seconds for g in result.history)
    return Outcome(name, seed, tuple(calls), result.nfev, result.n_infeasible_calls, seconds)


def summarise(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Median calls and success rates per problem and accuracy, with the paper's beside them."""
    rows = []
    for name in dict.fromkeys(o.name for o in outcomes):
        runs = [o for o in outcomes if o.name == name]
        row: dict[str, Any] = {"problem": name, "runs": len(runs)}
        for k, accuracy in enumerate(ACCURACIES):
            key = f"1e{round(np.log10(accuracy))}"
            ok = [o.calls[k] for o in runs if o.calls[k] is not None]
            paper = PAPER["rows"].get(name, {}).get(key, {}).get("arch", {})
            row[key] = {
                "median": float(np.median(ok)) if ok else None,
                "success": len(ok) / len(runs),
                "paper_median": paper.get("nfes"),
                "paper_success": paper.get("sr"),
            }
        row["infeasible_calls"] = sum(o.infeasible_calls for o in runs)
        total = sum(o.evaluations for o in runs)
        row["overhead_ms_per_call"] = 1e3 * sum(o.seconds for o in runs) / max(total, 1)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the summary as a Markdown table."""
    lines = []
    for row in rows:
        cells: list[object] = [row["problem"], row["runs"]]
        for key in ("1e-4", "1e-8"):
            r = row[key]
            cells += [
                _show(r["median"]),
                f"{100 * r['success']:.0f} %",
                _show(r["paper_median"]),
                "-" if r["paper_success"] is None else f"{100 * r['paper_success']:.0f} %",
            ]
        lines.append([*cells, row["infeasible_calls"], f"{row['overhead_ms_per_call']:.2f}"])
    header = ["problem", "runs"]
    for key in ("1e-4", "1e-8"):
        header += [f"calls to {key}", "success", "paper", "paper success"]
    return markdown_table([*header, "infeasible calls", "overhead ms/call"], lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m case_studies.cec2006.active_set")
    parser.add_argument("--problems", default=",".join(DEFAULT_PROBLEMS), help="e.g. g01,g07")
    parser.add_argument("--seeds", type=int, default=25, help="number of runs per problem")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--preset", choices=("paper", "default"), default="paper")
    parser.add_argument("--max-iterations", type=int, default=MAX_ITERATIONS)
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    names = options.problems.split(",")
    tasks = [
        (name, seed, options.preset, options.max_iterations)
        for name in names
        for seed in range(options.seeds)
    ]
    outcomes: list[Outcome] = []
    for outcome in _run_all(tasks, options.jobs):
        outcomes.append(outcome)
        if len(outcomes) % options.seeds == 0:
            print(f"{outcome.name} done ({len(outcomes)}/{len(tasks)} runs)", flush=True)
    rows = summarise(outcomes)
    text = table(rows)
    print(text)
    if options.record:
        write(
            options.record,
            f"CEC 2006 in the active-set setting, preset `{options.preset}`",
            f"{__doc__}\n{text}",
            {"summary": rows, "runs": [asdict(o) for o in outcomes]},
            command_line("case_studies.cec2006.active_set"),
        )


def _run_all(tasks: list[Task], jobs: int) -> Iterator[Outcome]:
    """Run the tasks in order, in ``jobs`` processes if more than one."""
    if jobs == 1:
        yield from map(run_once, tasks)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run_once, tasks)


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


if __name__ == "__main__":
    main()
