"""Solve random models with a small budget and have every call judged: the command's work."""

from __future__ import annotations

import logging
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import archeng
from archeng.errors import ArchengError, InfeasibleModelError
from case_studies.random_models.models import KINDS, Case, make_case
from case_studies.random_models.referee import violated

BUDGET = 12
MAX_TIME = 60.0
"""Seconds for one model; a search for a first design that takes longer counts as not found."""
TARGET_NOT_FOUND = 0.03


@dataclass(frozen=True)
class Judged:
    """What happened to one model.

    Attributes
    ----------
    outcome : str
        ``solved``, ``not found`` (no feasible design), ``refused`` (another error of archeng) or
        ``raw`` (any other exception).
    infeasible : int
        Calls at designs that the referee rejects.
    """

    seed: int
    kind: str
    outcome: str
    calls: int
    infeasible: int
    seconds: float
    message: str = ""


def judge(case: Case, x: Any) -> bool:
    """Whether the referee accepts a design: bounds and all rows."""
    if case.bounded:
        low, high = case.center - case.half, case.center + case.half
        if not all(a <= v <= b for a, v, b in zip(low, x, high, strict=True)):
            return False
    return not any(violated(row.tree, *row.limits, x) for row in case.rows)


def run_one(seed: int) -> Judged:
    """Solve the model of a seed and judge its calls."""
    logging.getLogger("archeng").setLevel(logging.ERROR)
    case, calls = make_case(seed), []

    def simulate(design: archeng.Design) -> float:
        calls.append(design.x.copy())
        return case.objective(design.x)

    begin, outcome, message = time.perf_counter(), "solved", ""
    try:
        archeng.solve(case.model(), simulate, max_evaluations=BUDGET, max_time=MAX_TIME, seed=seed)
    except InfeasibleModelError as error:
        outcome, message = "not found", str(error)
    except ArchengError as error:
        outcome, message = "refused", f"{type(error).__name__}: {error}"
    except Exception as error:  # what must never happen
        outcome, message = "raw", f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - begin
    rejected = sum(not judge(case, x) for x in calls)
    return Judged(seed, case.kind, outcome, len(calls), rejected, seconds, message[:300])


def run_all(seeds: Iterable[int], jobs: int = 1) -> Iterator[Judged]:
    """Judge the models of some seeds, in their order."""
    if jobs == 1:
        yield from map(run_one, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_one, seeds)


def summary(results: list[Judged]) -> dict[str, Any]:
    """Return the figures of a study."""
    seconds = [r.seconds for r in results]
    slowest = max(results, key=lambda r: r.seconds)
    outcomes = Counter(r.outcome for r in results)
    return {
        "models": len(results),
        "calls": sum(r.calls for r in results),
        "infeasible calls": sum(r.infeasible for r in results),
        "raw exceptions": outcomes["raw"],
        "refused": outcomes["refused"],
        "no feasible design found": outcomes["not found"],
        "share not found": outcomes["not found"] / len(results),
        "longest time in s": round(slowest.seconds, 1),
        "slowest seed": slowest.seed,
        "median time in s": round(statistics.median(seconds), 2),
        "median calls": statistics.median(r.calls for r in results),
    }


def by_kind(results: list[Judged]) -> list[list[object]]:
    """Return a row of figures for each kind."""
    rows: list[list[object]] = []
    for kind in KINDS:
        of = [r for r in results if r.kind == kind]
        if of:
            found = summary(of)
            keys = ("models", "calls", "infeasible calls", "raw exceptions", "refused")
            more = ("no feasible design found", "median time in s", "longest time in s")
            rows.append([kind, *(found[key] for key in (*keys, *more))])
    return rows


def as_data(results: list[Judged]) -> dict[str, Any]:
    """Return what the record keeps: the figures, and every model that was not solved."""
    wrong = [asdict(r) for r in results if r.outcome != "solved" or r.infeasible]
    return {"summary": summary(results), "not solved": wrong}
