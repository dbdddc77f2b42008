"""archeng beside other optimisers on real simulators: best value after so many calls.

Wind farm with 16 turbines (py_wake), airfoil (NeuralFoil), Rankine cycle (CoolProp), fuel blend
(Cantera), water network (EPANET), ten-bar truss (an external program). Every method gets the same
start (those that begin at feasible designs of their own say so), 200 calls and the same limit of
processor time. What only the simulator knows is a penalty for all methods, archeng included
(case_studies/peers/real.py): archeng does better with simulated constraints and formulas of
outputs, see the studies. Cells: how far the best design that satisfies the explicit constraints is
above the best known value, relative to it, the median over the runs; bold: the least. The best
known values are those of the studies, most of them found with gradients.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row, Task
from case_studies.peers import real, runs, suites
from case_studies.peers.profiles import STYLES

NAME = "real"
HELP = "best value over calls on the simulators of the case studies"
RUNS, QUICK_RUNS = 3, 1
BUDGET, SECONDS = 200, 300
QUICK_NAMES, QUICK_BUDGET = ("rankine_cycle",), 30
METHOD_NAMES = ("archeng", "cobyqa", "pycma", "scipy-de", "slsqp-fd", "ipopt-fd", "nomad", "gp")
MARKS = (25, 50, 100, 200)
"""Calls after which the table looks."""


def tasks(count: int, quick: bool) -> list[Task]:
    """Return the tasks of all studies whose simulator is installed."""
    names = [("real", name) for name in real.names() if not quick or name in QUICK_NAMES]
    every = runs.tasks(names, ["plain"], count, QUICK_BUDGET if quick else BUDGET, SECONDS)
    return [task for task in every if task["method"] in METHOD_NAMES]


def run_task(task: Task) -> list[Row]:
    """Run a task; the row has the improvements, and how many calls failed."""
    row, recorder = runs.run_recorded(task)
    curve = [] if recorder is None else recorder.curve
    failed = 0 if recorder is None else recorder.failed_calls
    return [{**row, "failed": failed, "curve": json.dumps(curve)}]


def summary(rows: list[Row]) -> str:
    """Return the tables of each mark, then calls at infeasible designs and failures."""
    kept = [r for r in _latest(rows) if r["stop"] != "skipped"]
    methods = [m for m in METHOD_NAMES if any(r["method"] == m for r in kept)]
    parts: list[str] = []
    most = max((r["budget"] for r in kept), default=0)
    for mark in [mark for mark in MARKS if mark <= most]:
        lines, first = [], dict.fromkeys(methods, 0)
        for name in dict.fromkeys(r["problem"] for r in kept):
            gaps = {m: _gap(_of(kept, name, m), name, mark) for m in methods}
            least = min(gaps.values())
            for m in methods:
                first[m] += np.isfinite(gaps[m]) and gaps[m] <= least
            shown = [_shown(gaps[m], least, len(_of(kept, name, m))) for m in methods]
            lines.append([name, *shown])
        lines.append(["first", *first.values()])
        parts += [f"### After {mark} calls", markdown_table(["simulator", *methods], lines)]
    return "\n\n".join([*parts, "### Calls", _calls(kept, methods), _LEGEND])


_LEGEND = (
    "In the last table: runs; calls; the share of these at designs that violate an explicit "
    "constraint; the calls that failed. A run that ends earlier (by the clock) counts with what "
    "it had reached. A dash: no design that satisfies the explicit constraints."
)


def _latest(rows: Sequence[Row]) -> list[Row]:
    keys = ("problem", "method", "seed")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def _of(rows: Sequence[Row], name: str, method: str) -> list[Row]:
    return [r for r in rows if r["problem"] == name and r["method"] == method]


def _best_at(row: Row, mark: int) -> float:
    return min((value for call, value in json.loads(row["curve"]) if call <= mark), default=np.inf)


def _gap(rows: Sequence[Row], name: str, mark: int) -> float:
    best = suites.problem("real", name).f_opt
    gaps = [(_best_at(r, mark) - best) / abs(best) for r in rows]
    return float(np.median(gaps)) if gaps else np.inf


def _shown(gap: float, least: float, runs_: int) -> str:
    if not runs_:
        return ""
    if not np.isfinite(gap):
        return "-"
    text = f"{100 * gap:.2g} %"
    return f"**{text}**" if gap <= least else text


def _calls(rows: Sequence[Row], methods: Sequence[str]) -> str:
    lines = []
    for name in dict.fromkeys(r["problem"] for r in rows):
        cells = []
        for method in methods:
            own = _of(rows, name, method)
            calls = sum(r["calls"] for r in own)
            wrong = sum(r["calls"] * (r["infeasible_share"] or 0) for r in own)
            share = 100 * wrong / calls if calls else 0.0
            failed = sum(r["failed"] for r in own)
            cells.append(f"{len(own)}; {calls}; {share:.0f} %; {failed}" if own else "")
        lines.append([name, *cells])
    return markdown_table(["simulator", *methods], lines)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Save the distance to the best known value over the calls, medians, one plot for each."""
    from matplotlib.figure import Figure

    kept = [r for r in _latest(rows) if r["stop"] != "skipped"]
    names = list(dict.fromkeys(r["problem"] for r in kept))
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    for axes, name in zip(np.ravel(figure.subplots(2, 3)), names, strict=False):
        end = max(r["budget"] for r in kept if r["problem"] == name)
        calls = np.arange(1, end + 1)
        for i, method in enumerate(METHOD_NAMES):
            own = _of(kept, name, method)
            if own:
                axes.plot(
                    calls,
                    [100 * _gap(own, name, k) for k in calls],
                    label=method,
                    color=f"C{i % 10}",
                    linestyle=STYLES[i % len(STYLES)],
                    linewidth=2.5 if method == "archeng" else 1.2,
                )
        axes.set(title=name, yscale="symlog", xlabel="calls", ylabel="above the best known, %")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="xx-small")
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=130)
    return [path]
