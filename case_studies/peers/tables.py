"""The summary in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.results import Row
from case_studies.peers.statistics import (
    REFERENCE,
    Cell,
    Grid,
    best,
    compared,
    grid,
    latest,
    near_first,
    ratio_of_expected,
    ratio_of_medians,
)
from case_studies.peers.suites import SUITES
from case_studies.peers.variants import VARIANTS


def summary(rows: list[Row]) -> str:
    """Return the tables of each suite and variant, then what was missing or went wrong."""
    kept = latest(rows)
    run = [r for r in kept if r["stop"] != "skipped"]
    parts = []
    for suite, variant, group in groups(run):
        group = compared(group)
        found = grid(group)
        parts += [
            f"### {suite}, {variant}: {VARIANTS[variant].help}",
            problem_table(found, group),
            _runs_line(group),
            "\n".join(_first_lines(found)),
            method_table(found, group),
        ]
    parts.append(_LEGEND)
    parts += _remarks(kept, run)
    return "\n\n".join(parts)


def groups(rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield the rows of each suite and variant."""
    for suite in SUITES:
        for variant in VARIANTS:
            group = [r for r in rows if r["suite"] == suite and r["variant"] == variant]
            if group:
                yield suite, variant, group


def problem_table(found: Grid, rows: Sequence[Row]) -> str:
    """Return problems by methods: median calls, success below 100 %, the best in bold."""
    methods = _methods(found)
    sizes = {r["problem"]: r["n"] for r in rows}
    lines = [
        [name, sizes[name], *(show(cells.get(m), best(cells)) for m in methods)]
        for name, cells in found.items()
    ]
    return markdown_table(["problem", "n", *methods], lines)


def show(cell: Cell | None, first: float | None) -> str:
    """Return a cell as text; ``first`` is the best median on the problem."""
    if cell is None:
        return ""
    if cell.median is None:
        return "-"
    text = f"{cell.median:.0f}"
    if cell.eligible and cell.median == first:
        text = f"**{text}**"
    return text if cell.success == 1 else f"{text} ({100 * cell.success:.0f} %)"


def method_table(found: Grid, rows: Sequence[Row]) -> str:
    """Return one line per method: success, infeasible calls, overhead, ratios to archeng."""
    lines = []
    for method in _methods(found):
        group = [r for r in rows if r["method"] == method]
        calls = sum(r["calls"] for r in group)
        infeasible = sum(r["calls"] * (r["infeasible_share"] or 0) for r in group)
        overheads = [r["overhead_ms"] for r in group if r["overhead_ms"] is not None]
        lines.append(
            [
                method,
                ", ".join(sorted({str(r["version"]) for r in group})),
                len(group),
                _percent(sum(bool(r["success"]) for r in group), len(group)),
                _percent(infeasible, calls),
                f"{np.median(overheads):.2f}" if overheads else "-",
                _ratio(*ratio_of_medians(found, method)),
                _ratio(*ratio_of_expected(found, method)),
                _percent(sum(r["stop"] == "time" for r in group), len(group)),
            ]
        )
    header = ["method", "version", "runs", "success", "infeasible calls", "overhead, ms per call",
              f"median calls / {REFERENCE}", f"calls per success / {REFERENCE}",
              "out of time"]  # fmt: skip
    return markdown_table(header, lines)


_LEGEND = (
    "Overhead is the median over the runs of processor time outside of the objective, constraint "
    "evaluations included. Ratios are geometric means, with the number of problems in brackets: "
    "of medians where both methods succeed in at least 90 % of the runs, of all calls per success "
    "where both succeed at least once. A ratio above 1 means more calls than archeng. It leaves "
    "out the problems that one of the two does not solve, so read it beside the success."
)


def _first_lines(found: Grid) -> list[str]:
    return [
        f"- {method}: first or within 10 % of the first on {near_first(found, method)} of "
        f"{len(found)} problems"
        for method in _methods(found)
    ]


def _runs_line(rows: Sequence[Row]) -> str:
    """Say how many runs of each method there are, by the number of problems."""
    counts = Counter(
        len({r["seed"] for r in rows if r["problem"] == name})
        for name in {r["problem"] for r in rows}
    )
    parts = [f"{seeds} on {n} problems" for seeds, n in sorted(counts.items())]
    seconds = ", ".join(str(s) for s in sorted({r["seconds"] for r in rows}))
    return (
        f"Runs of each method: {', '.join(parts)}; at most {seconds} s of processor time a run. "
        "Of a comparison that is under way only those runs are shown that all methods have."
    )


def _methods(found: Grid) -> list[str]:
    return list(dict.fromkeys(m for cells in found.values() for m in cells))


def _remarks(kept: Sequence[Row], run: Sequence[Row]) -> list[str]:
    parts = []
    there = {r["method"] for r in run}
    missing = sorted({r["method"] for r in kept if r["stop"] == "skipped"} - there)
    if missing:
        parts.append(f"Not installed and skipped: {', '.join(missing)}.")
    errors: dict[tuple[Any, str], int] = {}
    for row in run:
        if row["error"]:
            key = (row["method"], str(row["error"])[:120])
            errors[key] = errors.get(key, 0) + 1
    if errors:
        lines = [[method, text, count] for (method, text), count in sorted(errors.items())]
        parts.append("Runs that ended with an error (they count with what they had reached):")
        parts.append(markdown_table(["method", "error", "runs"], lines))
    return parts


def _percent(part: float, whole: float) -> str:
    if not whole:
        return "-"
    share = 100 * part / whole
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"


def _ratio(value: float | None, count: int) -> str:
    return "-" if value is None else f"{value:.2f} ({count})"
