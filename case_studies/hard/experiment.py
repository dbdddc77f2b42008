"""Problems on which archeng was beaten, missed the optimum or was slow, measured again in one run.

Every method gets the same start and budget; the limits of processor time are below the table, and
a cell says so if runs ended by them. Calls at infeasible designs count like all others. A run
succeeds with the first feasible design within 1e-4 of the best known value (relative; absolute for
PROLOG, where that is 0; with noise 1e-2).

A cell is the median of the calls of the runs that succeed, with their share below 100 %. If none
does it is the median distance to the best known value at the end, in brackets. *Ahead* is who
needs the fewest calls among the methods that succeed in at least 90 % of the runs, or, if there is
none, who ends nearest. What the earlier version and its best rival did is in the last columns, as
it was reported; the quadratics of that report were others. What is compared, and how:
case_studies/hard/README.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import archeng
from case_studies.cec2006 import problem as cec2006_problem
from case_studies.hard import tables
from case_studies.mixed.problems import half_simulated
from case_studies.paper.results import Row, Task
from case_studies.peers import runs as peer_runs
from case_studies.peers import suites
from case_studies.peers.adapters import METHODS
from case_studies.peers.variants import VARIANTS

NAME = "hard"
HELP = "the problems on which archeng was beaten, missed the optimum or was slow"
RUNS, QUICK_RUNS = 3, 1
SECONDS, QUICK_SECONDS = 120, 10
QUICK_LINES, QUICK_BUDGET = ("gas compressor", "HS 108"), 150

METHOD_NAMES = ("archeng", "cobyqa", "scipy-cobyla", "scipy-trust-constr", "slsqp-fd", "ipopt-fd",
                "gp", "pycma")  # fmt: skip
SAME_POINTS = ("cobyqa", "scipy-cobyla")
"""Methods that need the rows only where they call f: what is simulated costs them nothing more."""

summary = tables.summary


@dataclass(frozen=True)
class Line:
    """One line of the table: a problem as the peers' comparison knows it, and its budget."""

    label: str
    suite: str
    problem: str
    variant: str = "plain"
    budget: int = 2000


LINES = (
    Line("quadratic, n = 20", "hard", "quadratic_20"),
    Line("quadratic, n = 50", "hard", "quadratic_50"),
    Line("quadratic, n = 100", "hard", "quadratic_100"),
    Line("gas compressor", "engineering", "gas_compressor", budget=5000),
    Line("g17", "cec2006", "g17"),
    Line("g09, noise of 1e-3", "cec2006", "g09", "noise-1e-3"),
    Line("HS 99", "hard", "hs099"),
    Line("HS 108", "hard", "hs108"),
    Line("PROLOG", "hard", "prolog", budget=3000),
    Line("refrigeration", "hard", "refrigeration"),
    Line("inverter, 3 levels", "hard", "inverter_3"),
    Line("inverter, 5 levels", "hard", "inverter_5"),
    Line("inverter, 7 levels", "hard", "inverter_7"),
    Line("inverter, 9 levels", "hard", "inverter_9"),
    Line("gripper", "hard", "gripper"),
    Line("g19, half simulated", "mixed", "g19", budget=600),
)


def tasks(runs: int, quick: bool) -> list[Task]:
    """Return the tasks, the seed in the outer loop; methods that are not installed are left out."""
    return [
        {
            "line": line.label,
            "suite": line.suite,
            "problem": line.problem,
            "variant": line.variant,
            "method": name,
            "version": METHODS[name].version,
            "budget": QUICK_BUDGET if quick else line.budget,
            "seconds": QUICK_SECONDS if quick else SECONDS,
            "seed": seed,
        }
        for seed in range(runs)
        for line in LINES
        for name in METHOD_NAMES
        if METHODS[name].installed
        if not quick or line.label in QUICK_LINES
        if line.suite != "mixed" or name in ("archeng", *SAME_POINTS)
    ]


def run_task(task: Task) -> list[Row]:
    """Run a task; errors of the method end up in its row, with what it had reached."""
    if task["suite"] == "mixed":
        return [_simulated(task)]
    [row] = peer_runs.run_task(task)
    return [{**row, "gap": _gap(str(task["suite"]), task, row)}]


def _gap(suite: str, task: Task, row: Row) -> float | None:
    """How far the best feasible design is above the best known value."""
    if row["best"] is None:
        return None
    method = METHODS[str(task["method"])]
    best = suites.best_known(suites.problem(suite, str(task["problem"])), method.strict)
    return float((row["best"] - best) / (abs(best) or 1.0))


def _simulated(task: Task) -> Row:
    """Half of the constraints come from the simulator."""
    if task["method"] in SAME_POINTS:
        explicit = {**task, "suite": "cec2006"}
        [row] = peer_runs.run_task(explicit)
        return {**row, **task, "gap": _gap("cec2006", task, row)}
    name, seed = str(task["problem"]), int(task["seed"])
    p = cec2006_problem(name)
    model, simulator, limits = half_simulated(name)
    begin = time.process_time()
    result = archeng.solve(
        model,
        simulator,
        simulated=limits,
        target=suites.target(p.f_opt, VARIANTS["plain"].accuracy),
        max_evaluations=int(task["budget"]),
        max_time=float(task["seconds"]),
        start=suites.start_generator("cec2006", name, seed).uniform(p.lower, p.upper),
        restarts=99,
        seed=seed,
    )
    reached = result.status is archeng.Status.TARGET
    seconds = time.process_time() - begin
    allowed = [e.objective for e in result.evaluations if not e.violated]
    best = float(np.nanmin(allowed)) if np.isfinite(allowed).any() else None
    return {
        **task,
        "n": len(p.lower),
        "calls_to_target": result.nfev if reached else None,
        "calls": result.nfev,
        "success": reached,
        "infeasible_share": result.n_infeasible_calls / max(result.nfev, 1),
        "overhead_ms": round(1e3 * seconds / max(result.nfev, 1), 4),
        "best": best,
        "stop": result.stop_reason.name.lower(),
        "error": "",
        "gap": None if best is None else (best - p.f_opt) / abs(p.f_opt),
    }


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the tables say it."""
    return []
