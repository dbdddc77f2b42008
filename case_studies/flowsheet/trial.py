"""One run of one method on one problem: its calls with their times, then the judgement of them."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np

from case_studies.flowsheet.definition import Problem, constraints, variables
from case_studies.flowsheet.judge import Judge, Verdict, tolerances
from case_studies.flowsheet.referee import Floats
from case_studies.flowsheet.suite import known
from case_studies.paper.results import Row

TARGET = 1e-4
"""Calls are counted to this gap, relative to the optimum."""

LATE = 1.5
"""Times its seconds, after which a method that goes on is interrupted."""

SCATTER = 0.02
"""Part of the box, or of the size of a value, by which starts of IPOPT differ among seeds."""


class OutOfTime(BaseException):
    """The time of a run is over; not an `Exception`, which a method might catch."""


@dataclass(frozen=True)
class Ended:
    """Why a method ended, whether it claims convergence, and its own count of infeasible calls."""

    reason: str
    claims: bool
    infeasible: int | None


class Trial:
    """What a method gets: the problem, seed and limits, and the black box with its clock.

    Attributes
    ----------
    names : list of str
        Of the variables, in the order of ``designs``.
    designs : list of ndarray
        All designs that were called, to be judged by Pyomo when the run is over.
    costs : list of float
    look : callable, optional
        Judges a design (n,) at once, for methods with too many calls to keep.
    verdicts : list of Verdict
        What it said.
    """

    def __init__(self, problem: Problem, seed: int, budget: int, seconds: float) -> None:
        self.problem, self.seed, self.budget, self.seconds = problem, seed, budget, seconds
        self.names: list[str] = []
        self.designs: list[Floats] = []
        self.costs: list[float] = []
        self.look: Callable[[Floats], Verdict] | None = None
        self.verdicts: list[Verdict] = []
        self.looking = 0.0  # seconds
        self.simulating = 0.0  # seconds
        self.first: tuple[float, float] | None = None  # wall and processor seconds
        self._begin = time.perf_counter(), time.process_time()

    @cached_property
    def allowed(self) -> dict[str, float]:
        """Tolerances of the equalities by name."""
        return tolerances(self.problem)

    def begin(self) -> None:
        """Start the clocks."""
        self._begin = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        """Seconds since the beginning, without those of judgements."""
        return time.perf_counter() - self._begin[0] - self.looking

    def simulator(self, design: Any) -> float:
        """Return the cost of a design of archeng."""
        self.names = self.names or list(design)
        return self._called(design, np.array(design.x, dtype=float))

    def at(self, x: Floats) -> float:
        """Return the cost at values (n,) in the order of ``names``; NaN when the time is over."""
        if self.wall > self.seconds:
            return math.nan
        return self._called(dict(zip(self.names, x.tolist(), strict=True)), x)

    def scattered(self, start: Floats, low: Floats, high: Floats) -> Floats:
        """Return a start (n,) near the given one, by the seed."""
        width = np.where(np.isfinite(high - low), high - low, np.maximum(1.0, np.abs(start)))
        step = np.random.default_rng(self.seed).uniform(-SCATTER, SCATTER, len(start)) * width
        return np.asarray(np.clip(start + step, low, high))

    def _called(self, design: Mapping[str, Any], x: Floats) -> float:
        begin = self.wall
        if self.first is None:
            self.first = begin, time.process_time() - self._begin[1]
        try:
            value = float(self.problem.cost(design, math))
        except (ArithmeticError, ValueError):
            value = math.nan
        self.costs.append(value)
        self.simulating += self.wall - begin
        if self.look is None:
            self.designs.append(x)
        else:
            begin = time.perf_counter()
            self.verdicts.append(self.look(x))
            self.looking += time.perf_counter() - begin
        return value


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` after so many seconds, unless infinite, if the system has alarms."""

    def ring(_: int, __: FrameType | None) -> None:
        raise OutOfTime

    if not hasattr(signal, "setitimer") or math.isinf(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again: IPOPT swallows the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def run(method: Callable[[Trial], Ended], trial: Trial, at_once: bool = False) -> Row:
    """Run a method and return the measured columns; its errors end up in the row.

    ``at_once``: it judges its designs as it calls them, and watches the clock by itself.
    """
    error, ended = "", Ended("time", False, None)
    if at_once:
        _ = trial.allowed
    trial.begin()
    try:
        with limited(math.inf if at_once else LATE * trial.seconds):
            ended = method(trial)
    except OutOfTime:
        pass
    except Exception as raised:
        error, ended = f"{type(raised).__name__}: {raised}", Ended("error", False, None)
    wall, calls = trial.wall, len(trial.costs)
    first = trial.first or (None, None)
    overhead = None
    if trial.first and calls > 1:
        overhead = 1e3 * (wall - trial.first[0] - trial.simulating) / (calls - 1)
    return {
        "calls": calls,
        **judged(trial, ended),
        "first_wall": _short(first[0]),
        "first_process": _short(first[1]),
        "overhead_ms": _short(overhead),
        "simulator_ms": _short(1e3 * trial.simulating / calls if calls else None),
        "wall": _short(wall),
        "stop": ended.reason,
        "error": error[:300],
    }


def judged(trial: Trial, ended: Ended) -> Row:
    """Return what Pyomo says of the calls: feasible or not, calls to the target, gap, claim."""
    verdicts, optimum = trial.verdicts, known(trial.problem.name)
    if trial.designs:
        judge = Judge(trial.problem, trial.allowed)
        verdicts = [judge(dict(zip(trial.names, x.tolist(), strict=True))) for x in trial.designs]
    best, reached = math.inf, None
    for k, (cost, verdict) in enumerate(zip(trial.costs, verdicts, strict=True), start=1):
        if not verdict.broken and cost < best:
            best = cost
            if reached is None and best <= optimum + TARGET * abs(optimum):
                reached = k
    broken = [verdict.broken[0] for verdict in verdicts if verdict.broken]
    return {
        "infeasible": len(broken),
        "first_broken": broken[0] if broken else "",
        "own_infeasible": ended.infeasible,
        "largest_residual": max((v.residual for v in verdicts), default=None),
        "largest_excess": max((v.excess for v in verdicts), default=None),
        "calls_to_target": reached,
        "best": best if math.isfinite(best) else None,
        "gap": (best - optimum) / abs(optimum) if math.isfinite(best) else None,
        "claims": int(ended.claims),
    }


def sizes(problem: Problem) -> dict[str, int]:
    """Return numbers of free variables, equalities and degrees of freedom."""
    model = problem.build()
    n = sum(not var.fixed for var in variables(model).values())
    equalities = sum(row.equality for row in constraints(model))
    return {"n": n, "equalities": equalities, "dof": n - equalities}


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")
