"""The summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.noise.methods import METHODS
from case_studies.paper.results import Row

TITLES = {0: "Problems looked at while it was built", 1: "Problems kept aside"}
"""By the column ``held_out``."""
OURS = "archeng"
TIE = 1e-6
"""Gaps that differ by less than this are equal."""


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each cell and seed: that of the newest version."""
    keys = ("problem", "kind", "level", "method", "seed")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def summary(rows: list[Row]) -> str:
    """Return gaps of all methods, the score, and what archeng says of its designs."""
    kept, parts = latest(rows), []
    for flag, title in TITLES.items():
        group = [r for r in kept if r["held_out"] == flag]
        if group:
            parts += [f"### {title}: median and worst gap", gap_table(group)]
    parts += ["### Who is first", score(kept), "### What archeng says", claims(kept)]
    errors = sorted(
        {f"- {r['method']} on {r['problem']}: {r['error']}" for r in kept if r["error"]}
    )
    if errors:
        parts += ["### Errors", "\n".join(errors)]
    return "\n\n".join([*parts, _LEGEND])


def cells(rows: Sequence[Row]) -> dict[tuple[str, str, float], list[Row]]:
    """Return the rows by problem, kind and level of noise."""
    found: dict[tuple[str, str, float], list[Row]] = {}
    for r in rows:
        found.setdefault((r["problem"], r["kind"], r["level"]), []).append(r)
    return dict(sorted(found.items()))


def gap_table(rows: Sequence[Row]) -> str:
    """Return the median and the worst gap of each method, and how many runs that is."""
    lines = []
    for (name, kind, level), group in cells(rows).items():
        line = [name, kind, f"{level:g}"]
        for method in METHODS:
            gaps = [float(r["gap"]) for r in group if r["method"] == method]
            text = f"{np.median(gaps):.1e}, {max(gaps):.1e} ({len(gaps)})" if gaps else ""
            line.append(text)
        lines.append(line)
    return markdown_table(["problem", "noise", "level", *METHODS], lines)


def score(rows: Sequence[Row]) -> str:
    """Return in how many cells each method has the least median gap."""
    first = dict.fromkeys(METHODS, 0)
    lost = []
    total = cells(rows)
    for cell, group in total.items():
        medians = {
            m: float(np.median([float(r["gap"]) for r in group if r["method"] == m]))
            for m in METHODS
            if any(r["method"] == m for r in group)
        }
        least = min(medians.values())
        for method, value in medians.items():
            first[method] += value <= least + TIE
        if medians.get(OURS, np.inf) > least + TIE:
            best = min(medians, key=lambda m: medians[m])
            lost.append(
                f"- {cell[0]}, {cell[1]} {cell[2]:g}: {best} {least:.1e}, {OURS} "
                f"{medians.get(OURS, np.inf):.1e}"
            )
    table = markdown_table(
        ["method", "first, of all cells"], [[m, f"{n} of {len(total)}"] for m, n in first.items()]
    )
    return "\n\n".join([table, "Where archeng is not first:", "\n".join(lost) or "- nowhere"])


def claims(rows: Sequence[Row]) -> str:
    """Return coverage and width of archeng's intervals, runs that end by themselves, calls."""
    own = [r for r in rows if r["method"] == OURS]
    lines = []
    levels = sorted({(r["kind"], r["level"]) for r in own})
    groups = [
        (f"{k} {level:g}", [r for r in own if (r["kind"], r["level"]) == (k, level)])
        for k, level in levels
    ]
    for title, group in [*groups, ("all", own)]:
        said = [r for r in group if r["covered"] not in (None, "")]
        covered = sum(int(r["covered"]) for r in said)
        widths = [float(r["width"]) for r in said]
        lines.append(
            [
                title,
                str(len(group)),
                f"{len(said)}",
                f"{covered} ({100 * covered / max(len(said), 1):.0f} %)",
                f"{np.median(widths):.1e}" if widths else "",
                f"{sum(int(r['ended']) for r in group)}",
                f"{np.median([r['calls'] for r in group]):.0f}" if group else "",
                f"{np.median([r['seconds'] for r in group]):.1f}" if group else "",
            ]
        )
    head = [
        "noise",
        "runs",
        "noise found",
        "interval holds the true value",
        "half width (median)",
        "ended by themselves",
        "calls (median)",
        "seconds (median)",
    ]
    return markdown_table(head, lines)


_LEGEND = """\
A gap is the true objective of the returned design above the best known value, relative to it; \
infinite if the design violates a constraint (rows of the others may be off by 1e-8, and \
equalities by the tolerance of the suite). In brackets the number of runs. archeng is not told \
that there is noise. Its constraints are exact and never violated by a call; the others call \
the simulator where they like (TPE and LRA-CMA-ES: at feasible designs only)."""
