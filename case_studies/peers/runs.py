"""One run of one method on one problem: from a task to a row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from case_studies.paper.results import Row, Task
from case_studies.peers import suites
from case_studies.peers.adapters import METHODS, NOT_INSTALLED
from case_studies.peers.case import Case
from case_studies.peers.constraints import (
    Constraints,
    compiled,
    exactly,
    strict_model,
    within_slack,
)
from case_studies.peers.recorder import Finished, Recorder
from case_studies.peers.variants import VARIANTS, Variant
from case_studies.shared.suites import BoxProblem

SECONDS = 600
"""Most processor time of a run: enough for NOMAD and Optuna, which take 20 to 100 ms a call."""


def tasks(
    problems: list[tuple[str, str]], variants: list[str], runs: int, budget: int, seconds: int
) -> list[Task]:
    """Return all combinations, the seed in the outer loop.

    The version of the method is part of the key: a method that is installed or upgraded later
    runs again. One that is missing gets one row for each problem.
    """
    versions = {name: method.version for name, method in METHODS.items()}
    return [
        {
            "suite": suite,
            "problem": name,
            "variant": variant,
            "method": method,
            "version": version,
            "budget": suites.budget(suite, name, budget),
            "seconds": seconds,
            "seed": seed,
        }
        for seed in range(runs)
        for suite, name in problems
        for variant in variants
        for method, version in versions.items()
        if seed == 0 or version != NOT_INSTALLED
    ]


def run_task(task: Task) -> list[Row]:
    """Run a task; errors of the method end up in its row, with what it had reached."""
    return [run_recorded(task)[0]]


def run_recorded(task: Task) -> tuple[Row, Recorder | None]:
    """Run a task; return its row, and the recorder if it could run."""
    method = METHODS[str(task["method"])]
    suite, name, seed = str(task["suite"]), str(task["problem"]), int(task["seed"])
    problem = suites.problem(suite, name)
    row: Row = {**task, "n": len(problem.lower), "calls_to_target": None, "calls": 0,
                "success": False, "infeasible_share": None, "overhead_ms": None,
                "best": None, "stop": "", "error": ""}  # fmt: skip
    if not method.installed or task["version"] == NOT_INSTALLED:
        return {**row, "stop": "skipped", "error": f"{method.package} is {NOT_INSTALLED}"}, None
    try:
        solve = method.solve  # imports the package before the clock starts
    except Exception as error:
        return {**row, "stop": "ended", "error": f"{type(error).__name__}: {error}"}, None
    case = make_case(
        problem,
        method.strict,
        VARIANTS[str(task["variant"])],
        suites.start_generator(suite, name, seed),
        seed=seed,
        budget=int(task["budget"]),
        seconds=float(task["seconds"]),
    )
    return {**row, **outcome(solve, case)}, case.objective


def make_case(
    problem: BoxProblem,
    strict: bool,
    variant: Variant,
    rng: np.random.Generator,
    *,
    seed: int,
    budget: int,
    seconds: float = math.inf,
) -> Case:
    """Return what an adapter gets.

    Parameters
    ----------
    problem : BoxProblem
    strict : bool
        Whether all constraints must hold exactly, equalities to archeng's own tolerance.
    variant : Variant
        What the method is told of the objective.
    rng : numpy.random.Generator
        Gives the start, then the restarts.
    seed, budget, seconds
        Of the run.
    """
    start = rng.uniform(problem.lower, problem.upper)
    model = strict_model(problem.model) if strict else problem.model
    fs = compiled(model)
    f_best = suites.best_known(problem, strict)
    recorder = Recorder(
        lambda x: problem.objective(fs.expand(x)),
        exactly(fs) if strict else within_slack(fs),
        target=suites.target(f_best, variant.accuracy),
        budget=budget,
        seconds=seconds,
        seen=variant.seen(seed),
    )
    return Case(
        model=model,
        feasible_set=fs,
        constraints=Constraints(fs, recorder.tick),
        objective=recorder,
        start=np.clip(fs.reduce(start), *fs.box()),
        rng=rng,
        seed=seed,
    )


def outcome(solve: Callable[[Case], None], case: Case) -> Row:
    """Run a method and return the measured columns. Warnings of the packages are dropped."""
    error = ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            solve(case)
        except Finished:
            pass
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    recorder = case.objective
    share, overhead = recorder.infeasible_share, recorder.overhead_ms()
    return {
        "calls_to_target": recorder.calls_to_target,
        "calls": recorder.calls,
        "success": recorder.calls_to_target is not None,
        "infeasible_share": None if share is None else round(share, 6),
        "overhead_ms": None if overhead is None else round(overhead, 4),
        "best": recorder.best if math.isfinite(recorder.best) else None,
        "stop": recorder.stop,
        "error": error,
    }
