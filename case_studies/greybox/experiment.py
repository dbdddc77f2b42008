"""archeng with the formulas of composite problems, without them, and beside other methods.

A call is one simulation: it gives all outputs of a design. Every method has the same start, a
feasible design that depends on problem and seed only, the same budget of calls and the same limit
of processor time; explicit constraints are free. A run succeeds if it simulates a design with an
objective at most 1e-4 above the optimum (relative; 1e-6, absolute, for least squares without a
residual), explicit constraints met to 1e-8 and simulated ones to 1e-6 of their limits. Cells are
medians of the calls to the target over the seeds, a run without success counts as infinite; in
brackets how many runs succeeded, if not all. "-": the median is infinite. How the methods are set
up, and where the optima come from: case_studies/greybox/README.md.
"""

from __future__ import annotations

from case_studies.greybox import figures as drawing
from case_studies.greybox import tables
from case_studies.greybox.methods import METHODS, applies
from case_studies.greybox.suite import names, problem
from case_studies.greybox.trial import make_trial
from case_studies.paper.results import Row, Task
from case_studies.peers.adapters import NOT_INSTALLED
from case_studies.peers.runs import outcome

NAME = "greybox"
HELP = "calls to target on composite problems: formulas of outputs, black box, other methods"
RUNS, QUICK_RUNS = 10, 1
BUDGET, SECONDS = 500, 120
"""Most calls and most processor time of a run."""

QUICK_PROBLEMS = ("welded_beam", "brown_dennis", "cb2")

summary = tables.summary
figures = drawing.figures


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems, held out or not; the version of a method and the target are in the key."""
    chosen = [problem(name) for name in (QUICK_PROBLEMS if quick else names())]
    pairs = [(p, m) for p in chosen for m in METHODS.values() if m.installed and applies(m.name, p)]
    return [
        {
            "problem": p.name,
            "held_out": int(p.held_out),
            "method": m.name,
            "version": m.version,
            "target": p.target,
            "budget": BUDGET,
            "seconds": SECONDS,
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for p, m in pairs
    ]


def run_task(task: Task) -> list[Row]:
    """One problem, one method, one seed; errors of the method end up in the row."""
    p, method = problem(str(task["problem"])), METHODS[str(task["method"])]
    if method.version == NOT_INSTALLED:
        raise RuntimeError(f"{method.package} is {NOT_INSTALLED}: pip install {method.package}")
    solve = method.solve  # imports the package before the clock starts
    trial = make_trial(p, int(task["seed"]), int(task["budget"]), float(task["seconds"]))
    found = outcome(solve, trial)
    del found["infeasible_share"]  # that of the recorder holds simulated constraints, too
    return [
        {
            **task,
            "n": p.n,
            "outputs": p.q,
            "optimum": p.optimum,
            "illegal_calls": trial.measured.illegal,
            **found,
        }
    ]
