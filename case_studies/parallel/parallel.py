"""Time and calls to a target at widths 1 to 64, generation by generation.

Calls take a second each, or seconds with a log-normal distribution of mean one. Nobody waits for
them here: the times of the calls of each generation are added up as so many workers would need
them, and the processor time that archeng itself took is measured and added. The other experiment,
`slept`, waits, and shows that this is what happens.

============  ==============================================================================
column        meaning
============  ==============================================================================
reached       whether the target was reached within the budget
calls         until then
generations   until then
seconds       until then: calls on so many workers, and archeng's own time
busy          share of the time of all workers in which they simulate
============  ==============================================================================
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row, Task
from case_studies.parallel.cases import ASIDE, CASES
from case_studies.parallel.durations import counted_seconds

NAME = "parallel"
HELP = "time and calls to a target at widths 1 to 64, counted"
RUNS, QUICK_RUNS = 5, 1
WIDTHS = (1, 2, 4, 8, 16, 64)
BUDGET = 1200
FEWER = {"wind farm": 3}
"""Seeds of problems whose calls take long."""
KINDS = ("fixed", "lognormal")


def tasks(runs: int, quick: bool) -> list[Task]:
    """One task for each problem, width and seed."""
    return [
        {"problem": name, "width": width, "seed": seed}
        for seed in range(1, runs + 1)
        for width in ((1, 8) if quick else WIDTHS)
        for name in (("g07", "spring") if quick else CASES)
        if seed <= FEWER.get(name, runs)
    ]


def run_task(task: Task) -> list[Row]:
    """Solve one problem at one width; the same calls serve for both kinds of durations."""
    case, width, seed = CASES[str(task["problem"])](), int(task["width"]), int(task["seed"])
    begin = time.process_time()
    result = archeng.solve(
        case.model,
        case.simulator,
        target=case.target,
        max_evaluations=BUDGET,
        seed=seed,
        parallel=width,
        **case.options,
    )
    inside = sum(e.seconds for e in result.evaluations)
    own = max(time.process_time() - begin - inside, 0.0)
    reached = result.stop_reason is archeng.StopReason.TARGET
    rows = []
    for kind in KINDS:
        counted, work = counted_seconds(result.evaluations, kind, seed, width)
        rows.append(
            {
                **task,
                "durations": kind,
                "reached": int(reached),
                "calls": result.nfev,
                "generations": len({e.generation for e in result.evaluations}),
                "seconds": counted + own,
                "own_seconds": own,
                "busy": work / (width * (counted + own)),
            }
        )
    return rows


def summary(rows: list[Row]) -> str:
    """Return medians by problem and width, and ratios to width 1."""
    parts = []
    for kind, title in (("fixed", "Calls of a second each"), ("lognormal", "Log-normal calls")):
        lines = []
        for name in CASES:
            base: tuple[float, float] | None = None
            for width in WIDTHS:
                these = [
                    r
                    for r in rows
                    if (r["problem"], r["width"], r["durations"]) == (name, width, kind)
                ]
                if not these:
                    continue
                calls, seconds = _median(these, "calls"), _median(these, "seconds")
                base = base or (calls, seconds)
                busy = float(np.median([r["busy"] for r in these]))
                lines.append(
                    [
                        name + (" (kept aside)" if name in ASIDE else ""),
                        width,
                        f"{sum(r['reached'] for r in these)}/{len(these)}",
                        f"{calls:g}",
                        f"{calls / base[0]:.2f}" if np.isfinite(calls / base[0]) else "-",
                        f"{seconds:.1f}",
                        f"{seconds / base[1]:.2f}" if np.isfinite(seconds / base[1]) else "-",
                        f"{busy:.0%}",
                    ]
                )
        header = [
            "problem", "width", "reached", "calls", "calls / width 1", "seconds",
            "seconds / width 1", "busy",
        ]  # fmt: skip
        parts.append(f"### {title}\n\n{markdown_table(header, lines)}")
    return "\n\n".join([_verdict(rows), *parts])


def _verdict(rows: list[Row]) -> str:
    """Say at how many problems width 8 is as fast, and as frugal, as it is meant to be."""
    fast, frugal, ratios = [], [], []
    fixed = [r for r in rows if r["durations"] == "fixed"]
    for name in CASES:
        one, eight = ([r for r in fixed if (r["problem"], r["width"]) == (name, w)] for w in (1, 8))
        if one and eight:
            time_ratio = _median(eight, "seconds") / _median(one, "seconds")
            call_ratio = _median(eight, "calls") / _median(one, "calls")
            ratios.append((time_ratio, call_ratio))
            fast += [name] if time_ratio <= 0.2 else []
            frugal += [name] if call_ratio <= 1.6 else []
    if not ratios:
        return ""
    times, calls = np.median(np.array(ratios), axis=0)
    return (
        f"Width 8 beside width 1, calls of a second: at most a fifth of the time on {len(fast)} of "
        f"{len(ratios)} problems ({', '.join(fast) or 'none'}), at most 1.6 times the calls on "
        f"{len(frugal)} ({', '.join(frugal) or 'none'}). Medians of the ratios over the problems: "
        f"{times:.2f} of the time, {calls:.2f} times the calls. A run that missed the target "
        "counts as infinitely long."
    )


def _median(rows: list[Row], column: str) -> float:
    return float(np.median([r[column] if r["reached"] else np.inf for r in rows]))


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw nothing: the table says it."""
    return []
