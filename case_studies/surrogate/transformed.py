"""Calls to target if the objective is transformed: with the surrogate, and with ARCH alone.

ARCH does the same whatever increasing function is applied to f. Models of f do not; this experiment
counts what that costs. t = (f - f*) / |f*|, and the target is t = 1e-4 under each of

==========  ====================================================================
name        objective
==========  ====================================================================
plain       t
exp         exp(t), at most exp(600)
flat        t^5: next to the optimum it is flat
steep       t^(1/8): next to the optimum it is steep
uneven      steps of log(1 + 1e4 t), almost level and almost vertical in turn
==========  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.cec2006 import problem
from case_studies.paper.results import Row, Task

NAME = "transformed"
HELP = "calls to target if f is transformed, with the surrogate and without"
RUNS, QUICK_RUNS = 15, 2

PROBLEMS = ("g04", "g07", "g09", "g10", "g11", "g24")
QUICK_PROBLEMS = ("g04", "g11")
BUDGET = 6_000
ACCURACY = 1e-4
ALLOWED = 1.15
"""Calls with the surrogate relative to ARCH alone that are acceptable."""


def _uneven(t: float) -> float:
    stair = 20 * float(np.log1p(1e4 * max(t, 0.0)))
    return float(np.floor(stair) + (stair % 1) ** 5)


TRANSFORMS: dict[str, Callable[[float], float]] = {
    "plain": lambda t: t,
    "exp": lambda t: float(np.exp(min(t, 600.0))),
    "flat": lambda t: t**5,
    "steep": lambda t: float(np.sign(t) * abs(t) ** 0.125),
    "uneven": _uneven,
}


def tasks(runs: int, quick: bool) -> list[Task]:
    arms = [("none", "plain"), *(("auto", name) for name in TRANSFORMS)]
    return [
        {"problem": name, "surrogate": surrogate, "transform": transform, "seed": seed}
        for seed in range(runs)
        for name in (QUICK_PROBLEMS if quick else PROBLEMS)
        for surrogate, transform in arms
    ]


def run_task(task: Task) -> list[Row]:
    """One problem, one transform, one seed."""
    name, seed = str(task["problem"]), int(task["seed"])
    p = problem(name)
    transform, size = TRANSFORMS[str(task["transform"])], abs(p.f_opt)
    target = transform(ACCURACY)

    def objective(design: archeng.Design) -> float:
        return transform((p.objective(design.x) - p.f_opt) / size)

    settings = archeng.Settings(
        surrogate="auto" if task["surrogate"] == "auto" else "none", stop_tests=False
    )
    result = archeng.solve(
        p.model,
        objective,
        seed=seed,
        start=np.random.default_rng([seed, int(name[1:])]).uniform(p.lower, p.upper),
        settings=settings,
        max_evaluations=BUDGET,
        target=target,
    )
    calls = result.nfev if result.fun <= target else None
    return [{**task, "calls": calls, "infeasible_calls": result.n_infeasible_calls}]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """There is none: the table says it."""
    return []


def summary(rows: list[Row]) -> str:
    """Medians by problem and transform, beside ARCH alone."""
    header = ["problem", "ARCH alone", *TRANSFORMS]
    lines: list[list[object]] = []
    over = []
    for name in PROBLEMS:
        alone = _median(rows, name, "none", "plain")
        ours = {t: _median(rows, name, "auto", t) for t in TRANSFORMS}
        if alone is None:
            continue
        lines.append([name, f"{alone:g}", *(_cell(v, alone) for v in ours.values())])
        over += [f"{name} {t}" for t, v in ours.items() if v is not None and v > ALLOWED * alone]
    verdict = f"more than {ALLOWED - 1:.0%} above ARCH alone: {', '.join(over) or 'none'}"
    return (
        f"{markdown_table(header, lines)}\n\nMedian calls (ratio to ARCH alone, which does the "
        f"same under every transform); runs that miss the target count as endless.\n\n- {verdict}"
    )


def _median(rows: list[Row], name: str, surrogate: str, transform: str) -> float | None:
    wanted = {"problem": name, "surrogate": surrogate, "transform": transform}
    runs = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    calls = [np.inf if r["calls"] is None else float(r["calls"]) for r in runs]
    return float(np.median(calls)) if calls else None


def _cell(value: float | None, alone: float) -> str:
    return "" if value is None else f"{value:g} ({value / alone:.2f})"
