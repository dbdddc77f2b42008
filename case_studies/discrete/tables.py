"""The summary in Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.discrete.methods import ARCHENG, METHODS
from case_studies.discrete.statistics import (
    Cell,
    Grid,
    best_peer,
    grid,
    latest,
    mean_ratio,
    ratio,
    ratios,
)
from case_studies.greybox.tables import GROUPS, show
from case_studies.paper.results import Row


def summary(rows: list[Row]) -> str:
    """Return the tables of both groups of problems, and of the methods."""
    kept = latest(rows)
    parts = []
    for flag, title in GROUPS.items():
        group = [r for r in kept if r["held_out"] == flag]
        if group:
            found = grid(group)
            parts += [f"### {title}: median calls to the target", problem_table(found, group)]
            if text := "\n".join(_lines(found)):
                parts.append(text)
            parts += [f"### {title}: expected calls per success", expected_table(found)]
            parts += [f"### {title}: seconds of a run (median)", seconds_table(found)]
    parts += ["### Methods, all problems", method_table(kept), _LEGEND]
    return "\n\n".join(parts)


def problem_table(found: Grid, rows: Sequence[Row]) -> str:
    """Return problems by methods: medians, success, the ratio of archeng to the best peer."""
    methods = _methods(found)
    sizes = {r["problem"]: (r["n"], r["discrete"]) for r in rows}
    lines = []
    for name, cells in found.items():
        r = ratio(cells)
        shown = [show(cells.get(m), cells) for m in methods]
        lines.append([name, *sizes[name], *shown, "-" if r is None else f"{r:.2g}"])
    return markdown_table(["problem", "n", "discrete", *methods, "archeng / best peer"], lines)


def expected_table(found: Grid) -> str:
    """Return all calls of all runs per success; "-" without a success."""
    return _plain_table(found, lambda c: f"{c.expected:.0f}" if math.isfinite(c.expected) else "-")


def seconds_table(found: Grid) -> str:
    """Return the median of the wall-clock time of a run, successful or not."""
    return _plain_table(found, lambda c: f"{c.seconds:.2g}")


def method_table(rows: Sequence[Row]) -> str:
    """Return one line for each method: versions, success, illegal calls, overhead."""
    lines = []
    for method in METHODS:
        group = [r for r in rows if r["method"] == method]
        if not group:
            continue
        versions = [str(r["version"]) for r in group]
        overheads = [r["overhead_ms"] for r in group if r["overhead_ms"] is not None]
        limits = {(r["budget"], r["seconds"]) for r in group}
        lines.append(
            [
                method,
                ", ".join(f"{v} ({versions.count(v)})" for v in dict.fromkeys(versions)),
                len(group),
                len({r["seed"] for r in group}),
                "; ".join(f"{b} calls, {s} s" for b, s in sorted(limits)),
                f"{np.mean([bool(r['success']) for r in group]):.0%}",
                sum(int(r["calls"]) for r in group),
                sum(int(r["illegal_calls"]) for r in group),
                f"{np.median(overheads):.1f}" if overheads else "-",
                sum(r["stop"] == "time" for r in group),
                sum(bool(r["error"]) for r in group),
            ]
        )
    header = ["method", "version (runs)", "runs", "seeds", "limits of a run", "success", "calls",
              "illegal calls", "overhead, ms per call", "out of time", "errors"]  # fmt: skip
    return markdown_table(header, lines)


_LEGEND = (
    "Illegal calls are at designs that violate a limit by more than rounding, or at values that "
    "are not on the list of their variable, judged in plain NumPy. A run that is out of time "
    "made fewer calls than its budget: the methods with the most overhead suffer from that. In "
    "the ratio an infinite median counts as 12,000 calls, on either side."
)


def _methods(found: Grid) -> list[str]:
    return [m for m in METHODS if any(m in cells for cells in found.values())]


def _plain_table(found: Grid, text: Callable[[Cell], str]) -> str:
    methods = _methods(found)
    lines = [
        [name, *(text(cells[m]) if m in cells else "" for m in methods)]
        for name, cells in found.items()
    ]
    return markdown_table(["problem", *methods], lines)


def _lines(found: Grid) -> list[str]:
    known = ratios(found)
    if not known:
        return []
    worst = max(known, key=lambda name: known[name])
    own = {name: cells[ARCHENG] for name, cells in found.items() if ARCHENG in cells}
    rates = {name: c.good / c.runs for name, c in own.items()}
    least = min(rates, key=lambda name: rates[name])
    without = [name for name, cells in found.items() if best_peer(cells) is None]
    lines = [
        f"- archeng / best peer: geometric mean {mean_ratio(found):.3f} over {len(known)} "
        f"problems, largest {known[worst]:.2g} ({worst})",
        f"- archeng's success: at least {rates[least]:.0%} ({least}), all runs on "
        f"{sum(r == 1 for r in rates.values())} of {len(rates)} problems",
    ]
    if without:
        lines.append(f"- no other method has a finite median: {', '.join(without)}")
    return lines
