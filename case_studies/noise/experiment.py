"""The returned design under noise, judged by the true objective.

Simulators say f + s N(0, 1) (additive, s a share of the best known value) or f (1 + s N(0, 1))
(multiplicative). Every method has the same start, uniform in the box, and 500 calls; it returns one
design. What counts is the *true* objective there, above the best known value, relative to it. Of
archeng also: whether the interval that it prints for that design's objective, with 95 % confidence,
holds the true one; and whether it ends by itself.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

from case_studies.noise import tables
from case_studies.noise.methods import METHODS, PACKAGES
from case_studies.noise.problems import HELD_OUT, KINDS, LEVELS, NAMES, Trial, problem
from case_studies.paper.results import Row, Task
from case_studies.peers.adapters import Method

NAME = "noise"
HELP = "true value of the returned design under noise, and whether its interval is true"
RUNS, QUICK_RUNS = 10, 1
BUDGET = 500
QUICK_NAMES, QUICK_BUDGET = ("g04", "g06"), 100

summary = tables.summary


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems, kinds and levels of noise, and methods; the seed in the outer loop."""
    return [
        {
            "problem": name,
            "held_out": int(name in HELD_OUT),
            "kind": kind,
            "level": level,
            "method": method,
            "version": Method(method, PACKAGES[method], "").version,
            "budget": QUICK_BUDGET if quick else BUDGET,
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for name in (QUICK_NAMES if quick else NAMES)
        for kind in KINDS
        for level in LEVELS
        for method in METHODS
    ]


def run_task(task: Task) -> list[Row]:
    """Run a task; errors of a method end up in its row."""
    trial = Trial(
        problem(str(task["problem"])),
        str(task["kind"]),
        float(task["level"]),
        int(task["seed"]),
        int(task["budget"]),
    )
    begin, error = time.process_time(), ""
    row: Row = {
        "gap": float("inf"),
        "calls": 0,
        "ended": 0,
        "covered": None,
        "width": None,
        "noise": "",
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = METHODS[str(task["method"])](trial)
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"[:200]
    else:
        row |= {"gap": trial.gap(answer.x), "calls": answer.calls, "ended": int(answer.ended)}
        row["noise"] = answer.noise
        if answer.interval is not None and answer.x is not None:
            low, high = answer.interval
            true = trial.problem.objective(answer.x)
            row["covered"] = int(low <= true <= high)
            row["width"] = (high - low) / 2 / abs(trial.problem.f_opt)
    return [{**task, **row, "seconds": time.process_time() - begin, "error": error}]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the tables say it."""
    return []
