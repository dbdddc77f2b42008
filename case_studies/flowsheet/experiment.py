"""archeng on models with many equalities: where the search is in the degrees of freedom only.

A call is one value of the cost, which is a black box; the models are Pyomo's. A run has a budget
and a time but no target, so that it has to find out by itself that it is over. Every called design
is judged by Pyomo's own evaluation of all constraints and bounds: equalities to archeng's tolerance
for that row (a 1e-7th of what the row changes over a deviation), bounds exactly. The calls of
IPOPT are judged by the formulas that Pyomo wrote for it, to the same tolerances. Success is a
feasible call at most 1e-4 above the optimum of the referee, relative to it. Methods, problems and
where the optima come from: case_studies/flowsheet/README.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from case_studies.flowsheet import tables
from case_studies.flowsheet.methods import AT_ONCE, METHODS
from case_studies.flowsheet.suite import PROBLEMS, known
from case_studies.flowsheet.trial import Ended, Trial, run, sizes
from case_studies.paper.results import Row, Task
from case_studies.peers.adapters import Method

NAME = "flowsheet"
HELP = "calls, set-up time and overhead on models with many equalities, judged by Pyomo"
RUNS, QUICK_RUNS = 5, 1
BUDGET = 300
"""Most calls of a run of archeng; IPOPT has none but the time."""
SECONDS = 60
"""Most seconds of a run, the set-up included."""
QUICK_PROBLEMS = ("case9", "chain10", "rankine")
GRACE = 600
"""Further seconds for the judgement, after which a process is ended."""
MEMORY = 10 * 2**30
"""Bytes that a run may use."""

summary = tables.summary


def version(method: str) -> str:
    """Return the version of what a method is made of; archeng's changes with its source."""
    package = "casadi" if method.startswith("ipopt") else "archeng"
    return Method(method, package, "").version


def tasks(runs: int, quick: bool) -> list[Task]:
    """All problems, held out or not, and all methods; the versions are in the key."""
    return [
        {
            "problem": name,
            "held_out": int(PROBLEMS[name].held_out),
            "method": method,
            "version": version(method),
            "optimum": known(name),
            "budget": BUDGET,
            "seconds": SECONDS,
            "seed": seed,
        }
        for seed in range(1, runs + 1)
        for name in (QUICK_PROBLEMS if quick else PROBLEMS)
        for method in METHODS
    ]


def run_task(task: Task) -> list[Row]:
    """Run a task in a process of its own: set-up is measured afresh, and it can be ended."""
    limit = float(task["seconds"]) + GRACE
    command = [sys.executable, "-m", "case_studies.flowsheet", "solve", str(task["problem"])]
    for option, key in (("method", "method"), ("seed", "seed"), ("evaluations", "budget")):
        command += [f"--{option}", str(task[key])]
    command += ["--seconds", str(task["seconds"]), "--json"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        done = subprocess.run(
            command, env=paths, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return [{**task, **failed(task, "ended after its time")}]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return [{**task, **failed(task, f"exit code {done.returncode}: {last}")}]
    return [{**task, **json.loads(done.stdout.splitlines()[-1])}]


def measured(name: str, method: str, seed: int, budget: int, seconds: float) -> Row:
    """Run a method here and return the columns."""
    trial = Trial(PROBLEMS[name], seed, budget, seconds)
    return {**sizes(trial.problem), **run(METHODS[method], trial, method in AT_ONCE)}


def failed(task: Task, error: str) -> Row:
    """Return the columns of a run that was lost with its process: as of one without calls."""
    problem = PROBLEMS[str(task["problem"])]
    lost = run(lambda _: Ended("lost", False, None), Trial(problem, 0, 1, 1.0))
    return {**sizes(problem), **lost, "error": error[:300]}


def limit_memory() -> None:
    """Let the system refuse more memory than a run may use."""
    try:
        import resource
    except ImportError:  # not everywhere
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the tables say it."""
    return []
