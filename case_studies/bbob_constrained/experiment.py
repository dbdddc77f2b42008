"""The suite bbob-constrained with 30 n calls: gaps, calls to targets, and the share of targets hit.

In all figures the constraints are *exact and free*: formulas with derivatives, for every method.
Published figures of trust-region Bayesian optimisation with the same budget, FuRBO and SCBO
(arXiv:2506.14619), *learn* the constraints from the calls, so they solve a harder task; they are
repeated only to say what knowing the constraints is worth. What COCO counts as cost are evaluations
of the objective and of the constraints; here a call is an evaluation of the objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from case_studies.bbob_constrained import figures as drawing
from case_studies.bbob_constrained import tables, trial
from case_studies.bbob_constrained.definitions import FUNCTIONS
from case_studies.bbob_constrained.methods import SOLVERS, version
from case_studies.paper.results import Row, Task

NAME = "bbob_constrained"
HELP = "COCO's suite bbob-constrained, 30 n calls"
RUNS, QUICK_RUNS = 15, 1
SIZES = (2, 5, 10, 20, 40)
BUDGET = 30
"""Calls of a run, times n."""

SECONDS = 120
"""Most processor time of a run."""

QUICK_FUNCTIONS, QUICK_SIZES = (1, 11, 35, 48), (2,)

run_task = trial.run_task
summary = tables.summary


def tasks(
    runs: int, quick: bool, sizes: Sequence[int] = SIZES, seconds: int = SECONDS
) -> list[Task]:
    """All functions, sizes and methods; the instance in the outer loop."""
    return [
        {
            "function": function,
            "n": n,
            "instance": instance,
            "method": method,
            "version": version(method),
            "budget": BUDGET,
            "seconds": seconds,
        }
        for instance in range(1, runs + 1)
        for n in (QUICK_SIZES if quick else sizes)
        for function in (QUICK_FUNCTIONS if quick else FUNCTIONS)
        for method in SOLVERS
    ]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save the share of targets hit over the calls."""
    return drawing.figures(rows, out, NAME)
