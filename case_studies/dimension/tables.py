"""The page of the record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.dimension.methods import METHODS
from case_studies.paper.results import Row

ENOUGH_CALLS = 20
"""Calls from which on the time per call is told: fewer are mostly the set-up."""


def calls_summary(rows: list[Row]) -> str:
    """Return the tables of calls, of what is left of the gap, and of times."""
    parts = [
        "One run of each cell, from the same feasible start, with 30 n calls and "
        f"{_limits(rows)} s of processor time (objective and set-up included). Targets are shares "
        "of the gap between the objective at the start and the optimum (IPOPT on the "
        "formulas). archeng and ARCH alone are held to every row exactly, the others to 1e-8; "
        "constraints cost them no calls. Not run: not yet, or, with more than 500 variables, "
        "COBYQA, of which one step would take minutes. "
        "The problems are synthetic and convex, which suits "
        "SLSQP: with exact derivatives it would need n + 1 times fewer calls."
    ]
    kinds = dict.fromkeys((str(r["objective"]), str(r["rows"])) for r in rows)
    for objective, kind in kinds:
        own = [r for r in rows if r["objective"] == objective and r["rows"] == kind]
        title = f"Objective `{objective}`, rows `{kind}`"
        parts += [f"## {title}", _calls_table(own), _time_table(own)]
    return "\n\n".join(parts)


def _limits(rows: Sequence[Row]) -> str:
    found = sorted({int(r["seconds"]) for r in rows})
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else f"{found[0]}"


def _names(rows: Sequence[Row]) -> tuple[list[str], list[int]]:
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    return methods, sorted({int(r["n"]) for r in rows})


def _calls_table(rows: Sequence[Row]) -> str:
    methods, sizes = _names(rows)
    cells = {(int(r["n"]), str(r["method"])): r for r in rows}
    body = [[n, *(_calls(cells.get((n, m))) for m in methods)] for n in sizes]
    text = (
        "Calls to 10 %, 1 % and 0.01 % of the gap; in brackets the share of the gap that was left, "
        "the calls and what ended a run that did not get there, and the share of infeasible calls."
    )
    return text + "\n\n" + markdown_table(["n", *methods], body)


def _calls(row: Row | None) -> str:
    if row is None:
        return "not run"
    reached = [row["to_10"], row["to_1"], row["to_target"]]
    text = " / ".join("-" if r is None else str(r) for r in reached)
    infeasible = row["infeasible_share"]
    if infeasible:
        text += f"; {100 * float(infeasible):.0f} % infeasible"
    if row["to_target"] is None:
        left = "nothing feasible" if row["gap"] is None else f"{float(row['gap']):.2g}"
        why = "error" if row["error"] else row["stop"]
        text += f" ({left}; {row['calls']}, {why})"
    return text


def _time_table(rows: Sequence[Row]) -> str:
    methods, sizes = _names(rows)
    cells = {(int(r["n"]), str(r["method"])): r for r in rows}
    body = [[str(n), *(_time(cells.get((n, m))) for m in methods)] for n in sizes]
    body.append(["grows like", *(_exponent(rows, m) for m in methods)])
    text = "Milliseconds of processor time per call outside of the objective, set-up included."
    return text + "\n\n" + markdown_table(["n", *methods], body)


def _time(row: Row | None) -> str:
    if row is None or row["overhead_ms"] is None or int(row["calls"]) < ENOUGH_CALLS:
        return "-"
    return f"{float(row['overhead_ms']):.3g}"


def _exponent(rows: Sequence[Row], method: str) -> str:
    """Return the exponent of n in the time per call, by least squares of logarithms."""
    points = [
        (int(r["n"]), float(r["overhead_ms"]))
        for r in rows
        if r["method"] == method and _time(r) != "-"
    ]
    if len({n for n, _ in points}) < 2:
        return "-"
    n, ms = np.log(np.array(points)).T
    return f"n^{np.polyfit(n, ms, 1)[0]:.1f} ({len(points)} sizes)"


def repair_summary(rows: list[Row]) -> str:
    """Return the table of repairs."""
    keys = dict.fromkeys((int(r["n"]), str(r["rows"]), str(r["metric"])) for r in rows)
    cells = {(int(r["n"]), str(r["rows"]), str(r["metric"]), str(r["way"])): r for r in rows}
    body = []
    for n, kind, metric in keys:
        now, before = (cells.get((n, kind, metric, way)) for way in ("now", "before"))
        if now is None:
            continue
        earlier = "not run" if before is None else f"{float(before['ms']):.3g}"
        ratio = "-" if before is None else f"{float(before['ms']) / float(now['ms']):.1f}"
        body.append(
            [
                n,
                kind,
                metric,
                f"{float(now['violated']):.0f} / {float(now['active']):.0f}",
                f"{float(now['ms']):.3g}",
                f"{float(now['ms_worst']):.3g}",
                earlier,
                ratio,
                f"{100 * float(now['certified']):.0f} %",
                f"{float(now['residual']):.1g}",
            ]
        )
    text = (
        "Processor time of a repair in milliseconds, n variables and n sparse rows (and the n "
        "bounds), samples of a search whose mean lies on the boundary: median and worst of 20 (of "
        "fewer where they take more than 10 s). `before` is the same repair without the structure "
        "of metric and rows, as models with up to 150 variables "
        "have it. Certified: every row holds at the very vector."
    )
    header = ["n", "rows", "metric", "violated / active", "ms", "worst ms", "before, ms", "ratio",
              "certified", "largest residual"]  # fmt: skip
    return text + "\n\n" + markdown_table(header, body)
