"""Calls to target with restarts, in the setting of [SA22 ssec:vs-aal-mcr], with the surrogate.

Starts, restarts, targets and budget are those of :mod:`case_studies.paper.al_mcr`; the settings are
the defaults. g20 has no feasible design. g02 needs long runs: its budget is `G02_BUDGET`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.cec2006 import names
from case_studies.paper import al_mcr
from case_studies.paper.results import Row, Task

NAME = "bipop"
HELP = "calls to target on CEC 2006 with restarts, beside the paper's AL, MCR and ARCH"
RUNS, QUICK_RUNS = 25, 2

G02_BUDGET = 200_000
QUICK_PROBLEMS = ("g04", "g06", "g08", "g11", "g24")
PAPER = al_mcr.al_mcr_report.PAPER
METHODS = ("al", "mcr", "arch")


def tasks(runs: int, quick: bool) -> list[Task]:
    chosen = QUICK_PROBLEMS if quick else [n for n in names() if n != "g20"]
    found: list[Task] = [
        {
            "problem": name,
            "method": "surrogate",
            "budget": G02_BUDGET if name == "g02" else al_mcr.BUDGET,
            "seed": seed,
        }
        for seed in range(runs)
        for name in chosen
    ]
    return sorted(found, key=lambda task: task["problem"] == "g02")  # the longest runs come last


def run_task(task: Task) -> list[Row]:
    """One problem, one seed."""
    return al_mcr.run_task(task)


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw how many runs have reached the target after so many calls per variable."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    solvable = [r for r in rows if r["problem"] != "g02"]
    calls = np.sort([float(r["calls"]) for r in solvable if r["calls"] is not None])
    axes.step(calls, np.arange(1, len(calls) + 1) / max(len(solvable), 1), where="post")
    axes.set_xscale("log")
    axes.set_xlabel("calls")
    axes.set_ylabel("share of runs that reached the target")
    axes.set_title("All problems but g02 and g20", fontsize="medium")
    path = out / f"{NAME}.png"
    figure.savefig(path, dpi=110)
    return [path]


def summary(rows: list[Row]) -> str:
    """One line per problem, then the counts that matter."""
    found = [n for n in names() if any(r["problem"] == n for r in rows)]
    header = ["problem", "runs", "success", "calls", "restarts", "AL", "MCR", "ARCH", "ms per call"]
    lines = [_line(rows, name) for name in found]
    solved = [n for n in found if _best(n) is not None and _median(rows, n) is not None]
    below = [n for n in solved if (_median(rows, n) or np.inf) < (_best(n) or 0)]
    arch = [n for n in solved if _paper(n, "arch") is not None]
    ratio = np.exp(
        np.mean([np.log((_paper(n, "arch") or 1) / (_median(rows, n) or 1)) for n in arch])
    )
    others = [n for n in solved if n not in below]
    infeasible = sum(int(r["infeasible_calls"]) for r in rows)
    return (
        f"{markdown_table(header, lines)}\n\nMedians of successful runs; AL, MCR and ARCH are "
        f"the paper's, with their success rate where it is below 100 %.\n\n"
        f"- below the best of the paper's AL, MCR and ARCH on {len(below)} of {len(solved)} "
        f"problems that any of them solves{'; not on ' + ', '.join(others) if others else ''}\n"
        f"- geometric mean {ratio:.1f} times below the paper's ARCH ({len(arch)} problems)\n"
        f"- calls at infeasible designs: {infeasible}"
    )


def _line(rows: list[Row], name: str) -> list[object]:
    runs = [r for r in rows if r["problem"] == name]
    done = [r for r in runs if r["calls"] is not None]
    calls = sum(int(r["evaluations"]) for r in runs)
    overhead = 1e3 * sum(float(r["overhead_seconds"]) for r in runs) / max(calls, 1)
    return [
        name,
        len(runs),
        f"{len(done) / len(runs):.0%}",
        _text(_median(rows, name)),
        f"{np.mean([r['restarts'] for r in done]):.2f}" if done else "",
        *(_cell(name, method) for method in METHODS),
        f"{overhead:.1f}",
    ]


def _cell(name: str, method: str) -> str:
    row = PAPER.get(name, {}).get(method, {})
    if row.get("nfes") is None:
        return "-"
    rate = float(row["sr"])
    return f"{row['nfes']:g}" + (f" ({rate:.0%})" if rate < 1 else "")


def _paper(name: str, method: str) -> float | None:
    found = PAPER.get(name, {}).get(method, {}).get("nfes")
    return None if found is None else float(found)


def _best(name: str) -> float | None:
    values = [v for v in (_paper(name, m) for m in METHODS) if v is not None]
    return min(values, default=None)


def _median(rows: list[Row], name: str) -> float | None:
    calls = [r["calls"] for r in rows if r["problem"] == name and r["calls"] is not None]
    return float(np.median(calls)) if calls else None


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
