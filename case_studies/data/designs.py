"""Calls to target with 40 old designs, half of them infeasible, and without.

Each problem is solved without data, with those of the same simulator, of another load case (all
that the simulator sees is moved by 2 % of the box, and its values are 1.25 times as large), and
with useless ones, whose values belong to other designs.

==========  ==================================================================
column      meaning
==========  ==================================================================
data        what the old designs are of; "none" without
calls       until 0.1 % above the best known objective, all constraints satisfied
==========  ==================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.claims.cases import case
from case_studies.claims.referee import gap
from case_studies.data.old_designs import KINDS, old_designs
from case_studies.paper.results import Row, Task

NAME = "designs"
HELP = "calls to target with 40 old designs and without"
RUNS, QUICK_RUNS = 7, 1
BUDGET = 400
CLOSE = 1e-3
PROBLEMS = (
    ("textbook", "welded_beam"),
    ("textbook", "spring"),
    ("textbook", "pressure_vessel"),
    ("textbook", "speed_reducer"),
    ("mixed", "g04"),
    ("mixed", "g07"),
    ("cec2006", "g07"),
    ("cec2006", "g09"),
    ("cec2006", "g10"),
    ("cec2006", "g18"),
)
ASIDE = (("textbook", "cantilever_stepped"), ("cec2006", "g19"))
"""Nothing was tuned on these."""
QUICK = (("textbook", "spring"), ("cec2006", "g09"))


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each problem, kind of data and seed."""
    return [
        {"suite": suite, "problem": name, "data": data, "seed": seed}
        for seed in range(1, runs + 1)
        for suite, name in (QUICK if quick else (*PROBLEMS, *ASIDE))
        for data in ("none", *KINDS)
    ]


def run_task(task: Task) -> list[Row]:
    """Solve one problem, and count the calls."""
    suite, name, seed = str(task["suite"]), str(task["problem"]), int(task["seed"])
    this = case(suite, name)
    options: dict[str, Any] = {**this.options, "simulated": this.simulated or None}
    if task["data"] != "none":
        options["data"] = old_designs(suite, name, task["data"], seed)
    target = this.known + CLOSE * (abs(this.known) or 1.0)
    result = archeng.solve(
        this.model, this.simulator, seed=seed, max_evaluations=BUDGET, target=target, **options
    )
    best = result.fun if np.all(np.isfinite(result.x)) else np.nan
    return [
        {
            **task,
            "calls": result.nfev if result.stop_reason is archeng.StopReason.TARGET else None,
            "gap": gap(best, this.known),
            "all_calls": result.nfev,
            "reason": result.stop_reason.name,
            "infeasible_calls": result.n_infeasible_calls,
        }
    ]


def summary(rows: list[Row]) -> str:
    """Return medians and success by problem and kind of data."""
    header = ["problem", "without", *(f"{kind} (ratio)" for kind in KINDS)]
    lines = [_line(*problem, rows) for problem in (*PROBLEMS, *ASIDE)]
    lines = [line for line in lines if line]
    ratios = {kind: _ratios(rows, kind) for kind in KINDS}
    told = "\n".join(
        f"- {kind}: geometric mean of the ratios of medians {np.exp(np.mean(np.log(r))):.2f}, "
        f"largest {max(r):.2f}"
        for kind, r in ratios.items()
        if r
    )
    infeasible = sum(int(r["infeasible_calls"]) for r in rows)
    seeds = len({r["seed"] for r in rows})
    return (
        f"Calls until 0.1 % above the best known objective: median of {seeds} seeds (a run that "
        f"does not get there within {BUDGET} calls counts as {BUDGET}), share of runs that get "
        "there where it is not all of them, and the ratio to the median without data. * nothing "
        f"was tuned on these.\n\n{markdown_table(header, lines)}\n\n{told}\n\n"
        f"Calls at designs that violate an explicit constraint: {infeasible}."
    )


def _line(suite: str, name: str, rows: list[Row]) -> list[object]:
    these = [r for r in rows if (r["suite"], r["problem"]) == (suite, name)]
    plain = _calls(these, "none")
    if not plain:
        return []
    label = f"{name} ({suite})" + ("*" if (suite, name) in ASIDE else "")
    line: list[object] = [label, _shown(plain)]
    for kind in KINDS:
        calls = _calls(these, kind)
        ratio = f" ({np.median(calls) / np.median(plain):.2f})" if calls else ""
        line.append(_shown(calls) + ratio if calls else "-")
    return line


def _calls(rows: list[Row], data: str) -> list[float]:
    return [float(r["calls"] or BUDGET) for r in rows if r["data"] == data]


def _shown(calls: list[float]) -> str:
    there = float(np.mean(np.array(calls) < BUDGET))
    return f"{np.median(calls):g}" + ("" if there == 1 else f", {there:.0%}")


def _ratios(rows: list[Row], kind: str) -> list[float]:
    ratios = []
    for suite, name in (*PROBLEMS, *ASIDE):
        these = [r for r in rows if (r["suite"], r["problem"]) == (suite, name)]
        plain, calls = _calls(these, "none"), _calls(these, kind)
        if plain and calls:
            ratios.append(float(np.median(calls) / np.median(plain)))
    return ratios


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
