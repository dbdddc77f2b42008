"""archeng on problems with discrete variables, beside other methods.

A call is one value of the objective, which is a black box. The explicit constraints are formulas
that cost nothing, for archeng and for the others: all call the objective at feasible designs only,
as judged in plain NumPy, and a call at an infeasible design, or at one that is not on the lists,
counts as illegal. A run succeeds if it calls a design with an objective at most 1e-4 above the
known optimum, relative to it (the gear train, 2.7e-12, too). Cells are medians of the calls to the
target over the seeds, a run without success counts as infinite; in brackets how many runs
succeeded, if not all. "-": the median is infinite. archeng has 1,000 calls, the others 12,000 and
less processor time. How the methods are set up, and where the optima come from:
case_studies/discrete/README.md.
"""

from __future__ import annotations

import time

from case_studies.discrete import figures as drawing
from case_studies.discrete import tables
from case_studies.discrete.methods import ARCHENG, METHODS, applies
from case_studies.discrete.suite import names, problem
from case_studies.discrete.trial import Trial
from case_studies.paper.results import Row, Task
from case_studies.peers.adapters import NOT_INSTALLED
from case_studies.peers.runs import outcome

NAME = "discrete"
HELP = "calls to target on problems with integers, lists and categories, beside other methods"
RUNS, QUICK_RUNS = 10, 1

BUDGETS = {ARCHENG: 1_000}
BUDGET = 12_000
"""Most calls of a run: of archeng, and of the other methods."""

SECONDS = {ARCHENG: 300, **dict.fromkeys(("nomad", "optuna-tpe", "nevergrad"), 5)}
OTHER_SECONDS = 10
"""Most processor time of a run: of archeng, of those that take more than 1 ms a call, the rest."""

QUICK_PROBLEMS = ("pressure_vessel", "concrete_beam", "welded_beam")

summary = tables.summary
figures = drawing.figures


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems, held out or not; the version of a method and the target are in the key.

    One method after the other, so that an unfinished record has whole ones.
    """
    chosen = [problem(name) for name in (QUICK_PROBLEMS if quick else names())]
    return [
        {
            "problem": p.name,
            "held_out": int(p.held_out),
            "method": m.name,
            "version": m.version,
            "target": p.target,
            "budget": BUDGETS.get(m.name, BUDGET),
            "seconds": SECONDS.get(m.name, OTHER_SECONDS),
            "seed": seed,
        }
        for m in METHODS.values()
        if m.installed
        for seed in range(1, runs + 1)
        for p in chosen
        if applies(m.name, p)
    ]


def run_task(task: Task) -> list[Row]:
    """One problem, one method, one seed; errors of the method end up in the row."""
    p, method = problem(str(task["problem"])), METHODS[str(task["method"])]
    if method.version == NOT_INSTALLED:
        raise RuntimeError(f"{method.package} is {NOT_INSTALLED}: pip install {method.package}")
    solve = method.solve  # imports the package before the clock starts
    trial = Trial(p, int(task["seed"]), int(task["budget"]), float(task["seconds"]))
    begin = time.perf_counter()
    found = outcome(solve, trial)
    del found["infeasible_share"]
    if found["stop"] == "target":
        found["error"] = ""  # how the run was ended
    return [
        {
            **task,
            "n": p.n,
            "discrete": p.discrete,
            "optimum": p.optimum,
            "illegal_calls": trial.objective.infeasible_calls,
            "wall_seconds": round(time.perf_counter() - begin, 3),
            **found,
        }
    ]
