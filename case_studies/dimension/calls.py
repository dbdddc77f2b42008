"""Calls to a target, and processor time per call, against the number of variables.

Targets are shares of the gap between the objective at the start (0, feasible, the same for all) and
the optimum that IPOPT finds on the formulas: 0.1, 1e-2 and 1e-4. A run has 30 n calls and a limit
of processor time: 10 seconds, and from n = 50 on n / 5 seconds, at most 60.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from case_studies.dimension import tables
from case_studies.dimension.methods import METHODS, STRICT, version
from case_studies.dimension.problems import problem
from case_studies.paper.results import Row, Task
from case_studies.peers.case import Case
from case_studies.peers.constraints import Constraints, exactly, within_slack
from case_studies.peers.recorder import Floats, Recorder
from case_studies.peers.runs import outcome

NAME = "dimension"
HELP = "calls to targets and time per call, n = 20 to 1000, beside other packages"
RUNS, QUICK_RUNS = 1, 1
SIZES, QUICK_SIZES = (20, 50, 100, 200, 500, 1000), (5,)
KINDS = (("chained", "linear"), ("smooth", "discs"))
CALLS_PER_VARIABLE = 30
SECONDS, QUICK_SECONDS = (10, 60), 2
"""Processor time of a run: the least and the most; between them a fifth of a second a variable."""
MOST_VARIABLES = {"COBYQA": 500}
"""Methods of which one step takes minutes with more variables, without a look at the clock."""
TARGETS = {"to_10": 0.1, "to_1": 1e-2, "to_target": 1e-4}
"""Shares of the gap, by the column that says how many calls they took."""

summary = tables.calls_summary


class Milestones(Recorder):
    """A recorder that notes when each of several targets was reached."""

    def __init__(self, limits: dict[str, float], **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self._limits = limits
        self.reached: dict[str, int | None] = dict.fromkeys(limits)

    def _call(self, x: Floats) -> float:
        try:
            return super()._call(x)
        finally:
            for name, limit in self._limits.items():
                if self.reached[name] is None and self.best <= limit:
                    self.reached[name] = self.calls


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems and methods; the seed in the outer loop."""
    return [
        {
            "objective": objective,
            "rows": rows,
            "n": n,
            "method": method,
            "version": version(method),
            "budget": CALLS_PER_VARIABLE * n,
            "seconds": QUICK_SECONDS if quick else seconds(n),
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for n in (QUICK_SIZES if quick else SIZES)
        for objective, rows in KINDS
        for method in METHODS
        if n <= MOST_VARIABLES.get(method, n)
    ]


def seconds(n: int) -> int:
    """Return the processor time of a run."""
    return min(max(n // 5, SECONDS[0]), SECONDS[1])


def run_task(task: Task) -> list[Row]:
    """Run a method once; its errors end up in the row."""
    n, method, seed = int(task["n"]), str(task["method"]), int(task["seed"])
    p = problem(str(task["objective"]), str(task["rows"]), n)
    fs, gap = p.feasible_set, p.f_start - p.f_opt
    limits = {name: p.f_opt + share * gap for name, share in TARGETS.items()}
    recorder = Milestones(
        limits,
        objective=p.objective,
        feasible=exactly(fs) if method in STRICT else within_slack(fs),
        target=min(limits.values()),
        budget=int(task["budget"]),
        seconds=float(task["seconds"]),
    )
    rng = np.random.default_rng(seed)
    constraints = Constraints(fs, recorder.tick)
    start = np.zeros(n)
    case = Case(p.model, fs, constraints, recorder, start, rng, seed)
    recorder._begin = begin = time.process_time()  # IPOPT and scales are not the method's time
    row = outcome(METHODS[method], case)
    took = time.process_time() - begin
    row |= {"gap": (recorder.best - p.f_opt) / gap if math.isfinite(recorder.best) else None}
    return [{**task, **recorder.reached, **row, "took": round(took, 3)}]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the tables say it."""
    return []
