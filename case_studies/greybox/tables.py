"""The summary in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.greybox.methods import GREY, METHODS
from case_studies.greybox.statistics import (
    Cell,
    Grid,
    firsts,
    grid,
    latest,
    mean_ratio,
    ratio,
    ratios,
)
from case_studies.paper.results import Row

GROUPS = {0: "Problems", 1: "Held-out problems"}
"""Titles by the column ``held_out``."""


def summary(rows: list[Row]) -> str:
    """Return the tables of both groups of problems, and of the methods."""
    kept = latest(rows)
    parts = []
    for flag, title in GROUPS.items():
        group = [r for r in kept if r["held_out"] == flag]
        if group:
            found = grid(group)
            parts += [f"### {title}", problem_table(found, group), "\n".join(_lines(found))]
    parts += ["### Methods, all problems", method_table(kept), _LEGEND]
    return "\n\n".join(parts)


def problem_table(found: Grid, rows: Sequence[Row]) -> str:
    """Return problems by methods: medians, success, the ratio of grey to black."""
    methods = [m for m in METHODS if any(m in cells for cells in found.values())]
    sizes = {r["problem"]: (r["n"], r["outputs"]) for r in rows}
    header = ["problem", "n", "outputs", *methods[:2], "grey / black", *methods[2:]]
    lines = []
    for name, cells in found.items():
        shown = [show(cells.get(m), cells) for m in methods]
        r = ratio(cells)
        lines.append([name, *sizes[name], *shown[:2], "-" if r is None else f"{r:.2f}", *shown[2:]])
    return markdown_table(header, lines)


def show(cell: Cell | None, cells: dict[str, Cell]) -> str:
    """Return a cell as text, the least median of the problem in bold; empty if it was not run."""
    if cell is None:
        return ""
    text = "-"
    if math.isfinite(cell.median):
        text = f"{cell.median:g}"
        if cell.median == min(c.median for c in cells.values()):
            text = f"**{text}**"
    return text if cell.good == cell.runs else f"{text} ({cell.good}/{cell.runs})"


def method_table(rows: Sequence[Row]) -> str:
    """Return one line for each method: versions, success, illegal calls, overhead."""
    lines = []
    for method in METHODS:
        group = [r for r in rows if r["method"] == method]
        if not group:
            continue
        versions = [str(r["version"]) for r in group]
        overheads = [r["overhead_ms"] for r in group if r["overhead_ms"] is not None]
        lines.append(
            [
                method,
                ", ".join(f"{v} ({versions.count(v)})" for v in dict.fromkeys(versions)),
                len(group),
                f"{np.mean([bool(r['success']) for r in group]):.0%}",
                sum(int(r["calls"]) for r in group),
                sum(int(r["illegal_calls"]) for r in group),
                f"{np.median(overheads):.1f}" if overheads else "-",
                sum(r["stop"] == "time" for r in group),
                sum(bool(r["error"]) for r in group),
            ]
        )
    header = ["method", "version (runs)", "runs", "success", "calls", "illegal calls",
              "overhead, ms per call", "out of time", "errors"]  # fmt: skip
    return markdown_table(header, lines)


_LEGEND = (
    "Illegal calls are at designs that violate an explicit constraint or a bound by more than "
    "rounding, judged in plain NumPy. A method with more than one version was changed between "
    "runs: run it again for one record. The ratio is that of the two medians; an infinite one "
    "counts as the budget, and a problem where both are infinite has no ratio."
)


def _lines(found: Grid) -> list[str]:
    known = ratios(found)
    both = [n for n, cells in found.items() if GREY in cells]
    lines = [
        f"- {method}: first on {len(firsts(found, method))} of {len(found)} problems"
        for method in METHODS
        if any(method in cells for cells in found.values())
    ]
    if known:
        worst = max(known, key=lambda name: known[name])
        lines.insert(
            0,
            f"- grey / black: geometric mean {mean_ratio(found):.3f} over {len(known)} of "
            f"{len(both)} problems, largest {known[worst]:.2f} ({worst})",
        )
    return lines
