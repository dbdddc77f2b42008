"""The summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from case_studies.bbob_constrained.definitions import MULTIMODAL
from case_studies.bbob_constrained.methods import SOLVERS
from case_studies.bbob_constrained.trial import SLACK, TARGETS
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row

OURS = "archeng"
SHOWN = (1e1, 1e0, 1e-2, 1e-4, 1e-6, 1e-8)
"""Targets in the table of functions."""

PUBLISHED = {
    10: ("94 / 73 %", "476 / 1390"),
    40: ("58 / 50 %", ""),
}
PUBLISHED_FUNCTIONS = {(5, 10): "7.1 / 13", (35, 10): "67 / 101"}
"""FuRBO / SCBO with 30 n calls, arXiv:2506.14619, constraints learned."""

FALSE, OFF = 1e-3, 1e-4
"""A claim is false, or off, with more than this to gain relative to |f_opt| (1 where that is less),
as in the study of claims."""


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each run: that of the newest version."""
    keys = ("function", "n", "instance", "method", "budget")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def hits(row: Row) -> list[int]:
    """Return the calls that hit targets, the easiest first."""
    return [int(word) for word in str(row["hits"] if row["hits"] is not None else "").split()]


def common(rows: Iterable[Row], n: int) -> list[Row]:
    """Return the runs of an n on instances that all methods have, which have at least half."""
    own = [r for r in latest(rows) if int(r["n"]) == n]
    sets = {m: {(r["function"], r["instance"]) for r in own if r["method"] == m} for m in SOLVERS}
    most = max(len(s) for s in sets.values())
    shown = [m for m, s in sets.items() if 2 * len(s) >= most]
    both = set.intersection(*(sets[m] for m in shown))
    return [r for r in own if r["method"] in shown and (r["function"], r["instance"]) in both]


def summary(rows: list[Row]) -> str:
    """Return what was run, feasibility, gaps, targets and claims."""
    kept = latest(rows)
    parts = [
        "### Feasible designs and gaps after 30 n calls", feasibility(kept),
        "### Share of the 51 targets hit", shares(kept),
        "### archeng by function: median gap f - f_opt after 30 n calls, and calls to targets",
        *(functions(kept, n) for n in sorted({int(r["n"]) for r in kept})),
        "### Claims of convergence, judged by the optimum, for Rastrigin by IPOPT from the design",
        claims(kept),
    ]  # fmt: skip
    errors = sorted(
        {f"- {r['method']}, f{r['function']:03d}, n = {r['n']}: {r['error']}"
         for r in kept if r["error"] and r["stop"] == "ended"}
    )  # fmt: skip
    if errors:
        parts += ["### Errors", "\n".join(errors[:30])]
    return "\n\n".join(parts)


def feasibility(rows: Sequence[Row]) -> str:
    """Return for each n and method what the runs reached."""
    lines = []
    for n in sorted({int(r["n"]) for r in rows}):
        for method in SOLVERS:
            own = [r for r in rows if int(r["n"]) == n and r["method"] == method]
            if not own:
                continue
            first = sum(r["first_feasible"] == 1 for r in own)
            ever = sum(r["first_feasible"] is not None for r in own)
            calls = sum(int(r["calls"]) for r in own)
            outside = sum(int(r["infeasible"]) for r in own)
            gaps = [float(r["gap"]) for r in own if r["first_feasible"] is not None]
            lines.append([
                n, method, len(own), f"{100 * first / len(own):.0f} %",
                f"{100 * ever / len(own):.0f} %", f"{outside} of {calls}",
                f"{max(float(r['violation']) for r in own):.1e}",
                f"{np.median(gaps):.2g}" if gaps else "",
                sum(r["stop"] == "time" for r in own),
                f"{np.median([float(r['overhead_ms'] or 0) for r in own]):.1f}",
            ])  # fmt: skip
        if n in PUBLISHED:
            share, gap = PUBLISHED[n]
            lines.append([n, "FuRBO / SCBO, rows learned", "", "", share, "", "", gap, "", ""])
    head = ["n", "method", "runs", "feasible at call 1", "feasible at the end",
            "calls at infeasible designs", "worst violation", "median gap of these",
            "ended by time", "ms per call (median)"]  # fmt: skip
    return markdown_table(head, lines) + "\n\n" + _legend(rows)


def _legend(rows: Sequence[Row]) -> str:
    judge = "COCO's own values" if all(int(r["by_coco"]) for r in rows) else "our formulas"
    return (
        f"Judged by {judge}: a call is at an infeasible design if any row is above 0 there, "
        "without a tolerance; a run has a feasible design if its violations add up to at most "
        f"{SLACK:g}. "
        "Constraints are exact and free for the methods above; FuRBO and SCBO learn theirs. ms per "
        "call: processor time outside of the objective on a busy machine."
    )


def shares(rows: Sequence[Row]) -> str:
    """Return the share of targets hit, of the runs that all methods have in common."""
    lines = []
    sizes = sorted({int(r["n"]) for r in rows})
    for method in SOLVERS:
        line: list[str] = [method]
        for n in sizes:
            own = [r for r in common(rows, n) if r["method"] == method]
            share = np.mean([len(hits(r)) for r in own]) / len(TARGETS) if own else None
            line.append("" if share is None else f"{100 * share:.0f} %")
        lines.append(line)
    return markdown_table(["method", *(f"n = {n}" for n in sizes)], lines)


def functions(rows: Sequence[Row], n: int) -> str:
    """Return archeng's gaps and calls to targets by function."""
    own = [r for r in rows if int(r["n"]) == n and r["method"] == OURS]
    if not own:
        return ""
    lines = []
    places = [int(np.argmin(np.abs(np.log(TARGETS / t)))) for t in SHOWN]
    for f in sorted({int(r["function"]) for r in own}):
        runs = [r for r in own if int(r["function"]) == f]
        line = [f"f{f:03d}", runs[0]["kind"], runs[0]["rows"], len(runs)]
        line.append(f"{np.median([float(r['gap']) for r in runs]):.1e}")
        for place in places:
            reached = [h[place] for r in runs if len(h := hits(r)) > place]
            share = "" if len(reached) == len(runs) else f" ({len(reached)} of {len(runs)})"
            line.append(f"{np.median(reached):g}{share}" if reached else "")
        line.append(PUBLISHED_FUNCTIONS.get((f, n), ""))
        lines.append(line)
    head = ["", "objective", "rows", "runs", "median gap", *(f"{t:g}" for t in SHOWN),
            "FuRBO / SCBO, rows learned"]  # fmt: skip
    if not any(line[-1] for line in lines):
        head, lines = head[:-1], [line[:-1] for line in lines]
    return f"**n = {n}**\n\n" + markdown_table(head, lines)


def claims(rows: Sequence[Row]) -> str:
    """Return how many runs of archeng claim convergence, and how far from an optimum they are.

    For all but Rastrigin there is one optimum: the objective is pseudoconvex before space is bent.
    """
    lines = []
    for n in sorted({int(r["n"]) for r in rows}):
        for many, title in ((False, "one optimum"), (True, "Rastrigin")):
            own = [
                r
                for r in rows
                if int(r["n"]) == n and r["method"] == OURS and (r["kind"] in MULTIMODAL) == many
            ]
            if not own:
                continue
            said = [r for r in own if int(r["claimed"])]
            reached = [r for r in own if len(hits(r)) == len(TARGETS)]
            excess = [_excess(r, "gain" if many else "gap") for r in said]
            away = sum(_excess(r, "gap") > OFF for r in said) if many else ""
            worst = max((float(r["gain" if many else "gap"] or 0) for r in said), default=0.0)
            lines.append([n, title, len(own), len(reached), len(said), away,
                          sum(e > FALSE for e in excess), sum(e > OFF for e in excess),
                          f"{max(excess, default=0.0):.1e}", f"{worst:.1e}"])  # fmt: skip
    head = ["n", "objectives", "runs", "stopped at 1e-8", "claim convergence",
            "at another local optimum", "false (> 0.1 %)", "off (> 1e-4)", "worst, relative",
            "worst, absolute"]  # fmt: skip
    return markdown_table(head, lines)


def _excess(row: Row, column: str) -> float:
    """Above the optimum, or what IPOPT gains, relative to |f_opt| where that is above 1."""
    return float(row[column] or 0) / max(1.0, abs(float(row["f_opt"])))
