"""How many runs claim convergence, and how many of the claims are true.

Every run has a budget and no target, so that it has to find out by itself that it is over. A
claim is judged by IPOPT on the formulas, begun at the design of the claim.

================  ==================================================================
column            meaning
================  ==================================================================
claims            whether the run says that it has converged
gap               its objective above the local optimum of the referee, relative
above_known       the same above the best known optimum
calls             until the run ended
calls_to_optimum  until 0.1 % above that local optimum, all constraints satisfied
by_itself         whether it ended before the budget was used up
================  ==================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.claims.cases import case, names
from case_studies.claims.definition import Case
from case_studies.claims.referee import gap, local_optimum
from case_studies.paper.results import Row, Task

NAME = "claims"
HELP = "runs that claim convergence, judged by IPOPT on the formulas"
RUNS, QUICK_RUNS = 12, 1
HS_RUNS = 4  # seeds of the problems of Hock and Schittkowski
BUDGET = 500
SUITES = ("textbook", "mixed", "cec2006", "hock_schittkowski", "greybox")
QUICK = {
    "textbook": ("spring", "welded_beam"),
    "mixed": ("g04", "g24"),
    "cec2006": ("g06", "g11"),
    "hock_schittkowski": ("hs035", "hs043"),
    "greybox": ("welded_beam", "cb2"),
}
WRONG = 1e-3
"""A claim this far above the optimum of the referee is false."""


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each suite, problem and seed."""
    return [
        {"suite": suite, "problem": name, "seed": seed}
        for seed in range(1, runs + 1)
        for suite in SUITES
        if suite != "hock_schittkowski" or seed <= HS_RUNS
        for name in (QUICK[suite] if quick else names(suite))
    ]


def run_task(task: Task) -> list[Row]:
    """Solve one problem and judge what the run says."""
    this = case(str(task["suite"]), str(task["problem"]))
    options: dict[str, Any] = {**this.options, "simulated": this.simulated or None}
    options.pop("restarts", None)
    result = archeng.solve(
        this.model, this.simulator, max_evaluations=BUDGET, seed=int(task["seed"]), **options
    )
    found = np.all(np.isfinite(result.x))
    acceptable = found and result.status is not archeng.Status.VIOLATING
    optimum = _referee(this, result) if acceptable else np.nan
    if np.isnan(optimum):
        optimum = this.known
    elif optimum > result.fun:  # by rounding, or IPOPT ended elsewhere
        optimum = result.fun
    own = gap(result.fun, optimum) if acceptable else np.nan
    return [
        {
            **task,
            "claims": int(result.status is archeng.Status.CONVERGED),
            "gap": own,
            "above_known": gap(result.fun, this.known) if acceptable else np.nan,
            "calls": result.nfev,
            "calls_to_optimum": _calls_to(result, optimum),
            "by_itself": int(result.stop_reason is not archeng.StopReason.MAX_EVALUATIONS),
            "reason": result.stop_reason.name,
            "infeasible_calls": result.n_infeasible_calls,
        }
    ]


def _referee(this: Case, result: archeng.Result) -> float:
    begin = result.x if this.begin is None else this.begin(result.x)
    return local_optimum(this.formulas, begin, result.fun, **this.ipopt)


def _calls_to(result: archeng.Result, optimum: float) -> int | None:
    """Return the number of the first call that is good enough."""
    for k, e in enumerate(result.evaluations, start=1):
        if e.status == "ok" and not e.violated and gap(e.objective, optimum) <= WRONG:
            return k
    return None


def summary(rows: list[Row]) -> str:
    """Return claims, false claims, calls and ends by suite and problem."""
    lines = []
    for suite in SUITES:
        these = [r for r in rows if r["suite"] == suite]
        problems = list(dict.fromkeys(r["problem"] for r in these))
        groups = [(name, [r for r in these if r["problem"] == name]) for name in problems]
        if suite == "hock_schittkowski":
            groups = []
        lines += [_line(suite, name, group) for name, group in groups]
        if these:
            lines.append(_line(suite, "**all**", these))
    header = [
        "suite", "problem", "runs", "claims", "false (> 0.1 %)", "off (> 1e-4)", "worst claim",
        "ended by themselves", "calls (median)", "calls to optimum", "ratio of medians",
        "reached the optimum",
    ]  # fmt: skip
    infeasible = sum(int(r["infeasible_calls"]) for r in rows)
    wrong = [r for r in rows if r["claims"] and not r["gap"] <= WRONG]
    named = ", ".join(f"{r['problem']} seed {r['seed']} ({r['gap']:.1e})" for r in wrong) or "none"
    return (
        f"{markdown_table(header, lines)}\n\nFalse claims: {named}.\n\n"
        f"Calls at designs that violate an explicit constraint: {infeasible}."
    )


def _line(suite: str, name: str, rows: list[Row]) -> list[object]:
    claims = [r for r in rows if r["claims"]]
    reached = [float(r["calls_to_optimum"] or np.inf) for r in rows]
    calls = float(np.median([float(r["calls"]) for r in rows]))
    first = float(np.median(reached))
    ratios = [r["calls"] / r["calls_to_optimum"] for r in rows if r["calls_to_optimum"]]
    worst = max((float(r["gap"]) for r in claims), default=np.nan)
    return [
        suite,
        name,
        len(rows),
        len(claims),
        sum(not r["gap"] <= WRONG for r in claims),
        sum(not r["gap"] <= 1e-4 for r in claims),
        f"{worst:.1e}" if claims else "-",
        f"{np.mean([r['by_itself'] for r in rows]):.0%}",
        f"{calls:g}",
        f"{first:g}",
        f"{np.median(ratios):.1f}" if ratios else "-",
        f"{np.mean(np.isfinite(reached)):.0%}",
    ]


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
