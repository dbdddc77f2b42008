"""Calls to target if half of the constraints are simulated.

Four arms, the same start and target (relative 1e-4 above the best known objective, all constraints
satisfied), restarts until the budget is used up:

==========  ====================================================================
arm         constraints
==========  ====================================================================
explicit    all in the model (default settings)
mixed       every second one simulated (default settings)
mixed-arch  the same with ARCH alone: ranking, no models
mcr         all by MCR: every constraint may be violated during the search
==========  ====================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.cec2006 import problem
from case_studies.mixed.problems import NAMES, half_simulated
from case_studies.paper.results import Row, Task

NAME = "mixed"
HELP = "calls to target if half of the constraints are simulated, beside all-explicit and MCR"
RUNS, QUICK_RUNS = 5, 1
QUICK_PROBLEMS = ("g04", "g24")
ACCURACY = 1e-4
BUDGETS = {"explicit": 600, "mixed": 600, "mixed-arch": 5_000, "mcr": 5_000}


def tasks(runs: int, quick: bool) -> list[Task]:
    return [
        {"problem": name, "arm": arm, "seed": seed}
        for seed in range(runs)
        for arm in BUDGETS
        for name in (QUICK_PROBLEMS if quick else NAMES)
    ]


def run_task(task: Task) -> list[Row]:
    """One problem, one arm, one seed."""
    name, arm, seed = str(task["problem"]), str(task["arm"]), int(task["seed"])
    p = problem(name)
    model, simulator, options = p.model, p.objective, {}
    settings = archeng.Settings(surrogate="none" if arm == "mixed-arch" else "auto")
    if arm.startswith("mixed"):
        model, simulator, limits = half_simulated(name)
        options["simulated"] = limits
    if arm == "mcr":
        settings = archeng.Settings(handler="mcr", simulator_defined_everywhere=True)
    result = archeng.solve(
        model,
        simulator,
        target=float(p.f_opt + ACCURACY * abs(p.f_opt)),
        max_evaluations=BUDGETS[arm],
        start=np.random.default_rng([seed, int(name[1:])]).uniform(p.lower, p.upper),
        restarts=99,
        seed=seed,
        settings=settings,
        **options,
    )
    reached = result.status is archeng.Status.TARGET
    seconds = sum(g.repair_seconds + g.strategy_seconds for g in result.history)
    return [
        {
            **task,
            "calls": result.nfev if reached else None,
            "evaluations": result.nfev,
            "infeasible_calls": result.n_infeasible_calls,
            "violating_calls": sum(bool(e.violated) for e in result.evaluations),
            "gap": float((result.fun - p.f_opt) / abs(p.f_opt)),
            "milliseconds": round(1e3 * seconds / max(result.nfev, 1), 2),
        }
    ]


def summary(rows: list[Row]) -> str:
    """Medians of the calls (with the share of runs that reached the target) by problem and arm."""
    names = [n for n in NAMES if any(r["problem"] == n for r in rows)]
    lines: list[list[object]] = []
    for name in names:
        these = [r for r in rows if r["problem"] == name]
        hidden = len(half_simulated(name)[2])
        lines.append([name, hidden, *(_cell([r for r in these if r["arm"] == a]) for a in BUDGETS)])
    text = markdown_table(["problem", "simulated", *BUDGETS], lines)
    explicit = sum(int(r["infeasible_calls"]) for r in rows if r["arm"] != "mcr")
    text += f"\n\nCalls at designs that violate an explicit constraint, without MCR: {explicit}."
    for arm in ("mixed", "mixed-arch"):
        ratios = [
            _median(rows, n, "mcr") / _median(rows, n, arm)
            for n in names
            if np.isfinite(_median(rows, n, "mcr")) and np.isfinite(_median(rows, n, arm))
        ]
        if ratios:
            mean = float(np.exp(np.mean(np.log(ratios))))
            text += (
                f"\n{arm}: {mean:.1f} times fewer calls than MCR (geometric mean of "
                f"{len(ratios)} problems with a median in both)."
            )
    return text


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the medians as bars."""
    from matplotlib.figure import Figure

    names = [n for n in NAMES if any(r["problem"] == n for r in rows)]
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots()
    for k, arm in enumerate(BUDGETS):
        places = np.arange(len(names)) + 0.2 * (k - 1.5)
        axes.bar(places, [_median(rows, n, arm) for n in names], 0.2, label=arm)
    axes.set_yscale("log")
    axes.set_xticks(np.arange(len(names)), names)
    axes.set_ylabel("median calls to 1e-4")
    axes.legend(ncol=4, fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=130)
    return [path]


def _calls(rows: list[Row]) -> list[float]:
    return [float("inf") if r["calls"] is None else float(r["calls"]) for r in rows]


def _median(rows: list[Row], name: str, arm: str) -> float:
    these: list[Any] = [r for r in rows if r["problem"] == name and r["arm"] == arm]
    return float(np.median(_calls(these))) if these else float("nan")


def _cell(rows: list[Row]) -> str:
    """Median of the calls, and how many runs reached the target."""
    if not rows:
        return "-"
    calls = _calls(rows)
    good, median = sum(np.isfinite(calls)), float(np.median(calls))
    shown = f"{median:.0f}" if np.isfinite(median) else f"> {max(r['evaluations'] for r in rows)}"
    return f"{shown} ({good}/{len(rows)})"
