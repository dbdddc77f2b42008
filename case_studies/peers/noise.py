"""archeng beside other optimisers when the simulator is noisy, rounded or fails now and then.

=============  =================================  ==========================
variant        what the method is told            success: within, relative
=============  =================================  ==========================
noise-1e-3     f (1 + 0.001 N(0, 1))              1e-2
noise-1e-2     f (1 + 0.01 N(0, 1))               5e-2
rounded        f to 3 significant digits          1e-2
failing        NaN at 5 % of the designs          1e-4
=============  =================================  ==========================

Success is judged on the true objective. The noise of a run comes from its seed; which designs
fail is decided by a hash of design and seed. What a method gets for a failed call is said in
case_studies/peers/README.md. Cells as in the experiment without noise.
"""

from __future__ import annotations

from pathlib import Path

from case_studies.paper.results import Row, Task
from case_studies.peers import profiles, runs, suites, tables
from case_studies.peers.variants import VARIANTS

NAME = "noise"
HELP = "the same with noise, rounding and failures, on eight problems"
RUNS, QUICK_RUNS = 10, 1

SUITE = "cec2006"
PROBLEMS = ("g04", "g05", "g06", "g07", "g09", "g10", "g15", "g24")
QUICK_PROBLEMS = ("g04", "g24")
QUICK_BUDGET, QUICK_SECONDS = 500, 5

run_task = runs.run_task
summary = tables.summary


def tasks(count: int, quick: bool) -> list[Task]:
    """Return the tasks of all methods and variants."""
    variants = [name for name in VARIANTS if name != "plain"]
    problems = [(SUITE, name) for name in (QUICK_PROBLEMS if quick else PROBLEMS)]
    if quick:
        return runs.tasks(problems, variants, count, QUICK_BUDGET, QUICK_SECONDS)
    return runs.tasks(problems, variants, count, suites.BUDGET, runs.SECONDS)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save a data profile per variant."""
    return profiles.figures(rows, out, NAME)
