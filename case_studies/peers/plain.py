"""archeng beside other optimisers with explicit constraints: calls to target, exact objective.

Every method gets the same start, the same budget of objective calls and the same limit of
processor time. Constraint evaluations are free. A run succeeds if a feasible design within 1e-4 of
the best known value (relative) is simulated. Cells of the first table: median calls of the
successful runs, and the share of those if it is below 100 %; bold: the fewest calls among the
methods that succeed in at least 90 % of the runs. How each method is set up, and what favours
whom: case_studies/peers/README.md.
"""

from __future__ import annotations

from pathlib import Path

from case_studies.paper.results import Row, Task
from case_studies.peers import profiles, runs, suites, tables

NAME = "peers"
HELP = "calls to target on CEC 2006 and engineering problems, archeng beside other methods"
RUNS, QUICK_RUNS = 10, 2

QUICK_PROBLEMS = {
    "cec2006": ("g04", "g06", "g11", "g24"),
    "engineering": ("three_bar_truss", "pressure_vessel"),
}
QUICK_BUDGET, QUICK_SECONDS = 500, 5

run_task = runs.run_task
summary = tables.summary


def tasks(count: int, quick: bool) -> list[Task]:
    """Return the tasks of all methods, installed or not."""
    problems = [
        (suite, name)
        for suite in suites.suites()
        for name in suites.names(suite)
        if not quick or name in QUICK_PROBLEMS[suite]
    ]
    if quick:
        return runs.tasks(problems, ["plain"], count, QUICK_BUDGET, QUICK_SECONDS)
    return runs.tasks(problems, ["plain"], count, suites.BUDGET, runs.SECONDS)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save a data profile per suite."""
    return profiles.figures(rows, out, NAME)
