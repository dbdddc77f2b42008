"""Ten load cases: simulator calls of a sweep that learns, and of ten fresh runs.

Plain black boxes with a parameter that only the simulator looks at: there are no outputs, and no
formulas of them. Fresh runs begin where archeng likes, the sweep's at the design of the nearest
load case before, with the calls of all before it as teachers.

================  ==================================================================
column            meaning
================  ==================================================================
calls             of a run until it ended by itself
calls_to_target   until 0.1 % above the best objective that any run of this load case found
================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.data.loaded import LOADED, Loaded
from case_studies.paper.results import Row, Task

NAME = "load_cases"
HELP = "simulator calls of a sweep over ten load cases, and of ten fresh runs"
RUNS, QUICK_RUNS = 3, 1
CASES, QUICK_CASES = 10, 3
BUDGET = 400
CLOSE = 1e-3


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each problem and seed."""
    cases = QUICK_CASES if quick else CASES
    names = list(LOADED)[:1] if quick else list(LOADED)
    return [
        {"problem": name, "cases": cases, "seed": seed}
        for seed in range(1, runs + 1)
        for name in names
    ]


def run_task(task: Task) -> list[Row]:
    """Make ten fresh runs and a sweep, and count their calls."""
    this, seed = LOADED[str(task["problem"])], int(task["seed"])
    loads = np.linspace(*this.loads, int(task["cases"])).tolist()
    fresh, learned = (_sweep(this, loads, seed, learn) for learn in (False, True))
    rows: list[Row] = []
    for k, load in enumerate(loads):
        best = min(fresh[k].fun, learned[k].fun)
        target = best + CLOSE * abs(best)
        for how, results in (("fresh", fresh), ("sweep", learned)):
            rows.append(
                {
                    **task,
                    "load": load,
                    "how": how,
                    "calls": results[k].nfev,
                    "calls_to_target": _calls_to(results[k], target),
                    "objective": results[k].fun,
                    "converged": int(results[k].status is archeng.Status.CONVERGED),
                }
            )
    return rows


def _sweep(this: Loaded, loads: Sequence[float], seed: int, learn: bool) -> archeng.Sweep:
    return archeng.sweep(
        this.model(),
        this.simulator,
        parameters={"load": loads},
        learn=learn,
        seed=seed,
        simulated=this.simulated or None,
        max_evaluations=BUDGET,
    )


def _calls_to(result: archeng.Result, target: float) -> int | None:
    for k, call in enumerate(result.evaluations, start=1):
        if call.acceptable and call.objective <= target:
            return k
    return None


def summary(rows: list[Row]) -> str:
    """Return total calls of fresh runs and sweeps, by problem."""
    header = ["problem", "variables", "sweeps", "calls to target, fresh", "sweep", "ratio",
              "missed (fresh, sweep)", "calls to the end, fresh", "sweep", "ratio"]  # fmt: skip
    lines, shares, ends = [], [], []
    for name, this in LOADED.items():
        these = [r for r in rows if r["problem"] == name]
        if not these:
            continue
        totals = {how: _totals(these, how) for how in ("fresh", "sweep")}
        (fresh, fresh_end, missed), (learned, end, missed_too) = totals.values()
        shares.append(learned / fresh)
        ends.append(end / fresh_end)
        lines.append(
            [this.label, this.n, len({r["seed"] for r in these}), f"{fresh:g}", f"{learned:g}",
             f"{shares[-1]:.0%}", f"{missed}, {missed_too}", f"{fresh_end:g}", f"{end:g}",
             f"{ends[-1]:.0%}"]
        )  # fmt: skip
    cases = int(rows[0]["cases"])
    return (
        f"Simulator calls of {cases} load cases together, median of the seeds: until each is "
        "within 0.1 % of the best objective known for it (a run that does not get there counts "
        "with all its calls), and until the runs end by themselves.\n\n"
        f"{markdown_table(header, lines)}\n\n"
        f"Calls to target: {np.exp(np.mean(np.log(shares))):.0%} of those of fresh runs (geometric "
        f"mean), to the end {np.exp(np.mean(np.log(ends))):.0%}: an end needs designs around the "
        "optimum, however well it is known where that is."
    )


def _totals(rows: list[Row], how: str) -> tuple[float, float, int]:
    """Median total of calls to target and to the end, and runs that missed the target."""
    target, end, missed = [], [], 0
    for seed in sorted({r["seed"] for r in rows}):
        these = [r for r in rows if (r["seed"], r["how"]) == (seed, how)]
        target.append(sum(int(r["calls_to_target"] or r["calls"]) for r in these))
        end.append(sum(int(r["calls"]) for r in these))
        missed += sum(not r["calls_to_target"] for r in these)
    return float(np.median(target)), float(np.median(end)), missed


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
