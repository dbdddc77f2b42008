"""The summary in Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.flowsheet.methods import METHODS
from case_studies.paper.results import Row

GROUPS = {0: "Problems", 1: "Problems kept aside"}
"""Titles by the column ``held_out``."""
FALSE, OFF = 1e-3, 1e-4
"""A claim this far above the optimum is false, or off."""
ARCHENG = "archeng"


def latest(rows: list[Row]) -> list[Row]:
    """Return the last row of each problem, method and seed: that of the newest version."""
    return list({(r["problem"], r["method"], r["seed"]): r for r in rows}.values())


def summary(rows: list[Row]) -> str:
    """Return the tables of both groups of problems, and what was lost."""
    kept, parts = latest(rows), []
    for flag, title in GROUPS.items():
        group = [r for r in kept if r["held_out"] == flag]
        if group:
            parts += [f"### {title}: calls", calls_table(group)]
            parts += [f"### {title}: time", time_table(group)]
            parts += [f"### {title}: judgement by Pyomo", judgement_table(group)]
    parts += ["### Where archeng loses", losses(kept), "### Versions", versions(kept), _LEGEND]
    return "\n\n".join(parts)


def calls_table(rows: Sequence[Row]) -> str:
    """Return sizes and optima, median calls to the target, success, median final gap."""
    methods, lines = _methods(rows), []
    for name, group in _by(rows, "problem").items():
        first, cells = group[0], []
        for method, runs in _by(group, "method").items():
            cells.append((method, f"{_success(runs)}, {_median(runs, 'gap', '.1e')}"))
        found = dict(cells)
        size = [first[key] for key in ("n", "equalities", "dof")]
        optimum = f"{first['optimum']:.8g}"
        lines.append([name, *size, optimum, *(found.get(m, "") for m in methods)])
    return markdown_table(
        ["problem", "variables", "equalities", "degrees of freedom", "optimum", *methods], lines
    )


def time_table(rows: Sequence[Row]) -> str:
    """Return medians: seconds to the first call (wall, processor), overhead, simulator."""

    def cell(runs: Sequence[Row]) -> str:
        both = (_median(runs, key, ".2g") for key in ("first_wall", "first_process"))
        overhead, own = (_median(runs, key, ".3g") for key in ("overhead_ms", "simulator_ms"))
        return f"{' / '.join(both)} s; {overhead} ms (simulator {own})"

    return _table(rows, cell)


def judgement_table(rows: Sequence[Row]) -> str:
    """Return infeasible calls of all calls, largest violations, claims with false and off ones."""

    def cell(runs: Sequence[Row]) -> str:
        calls, bad = (sum(int(r[key]) for r in runs) for key in ("calls", "infeasible"))
        claims = [r for r in runs if r["claims"]]
        false, off = (sum(_above(r, limit) for r in claims) for limit in (FALSE, OFF))
        residual, excess = (_largest(runs, k) for k in ("largest_residual", "largest_excess"))
        return (
            f"{bad} of {calls}; {residual}, {excess}; {len(claims)} of {len(runs)} ({false}, {off})"
        )

    return _table(rows, cell)


def losses(rows: Sequence[Row]) -> str:
    """Return a list of what archeng did not do, and where another method needs fewer calls."""
    found = []
    for name, group in _by(rows, "problem").items():
        cells = _by(group, "method")
        runs = cells.get(ARCHENG, [])
        if not runs:
            continue
        missed = [r for r in runs if r["calls_to_target"] is None]
        if missed:
            gaps = _median(missed, "gap", ".1e")
            found.append(f"{name}: {len(missed)} of {len(runs)} runs miss the target (gap {gaps})")
        own = _calls(runs)
        found += [
            f"{name}: {method} needs {_calls(others):g} calls, archeng {own:g}"
            for method, others in cells.items()
            if method != ARCHENG and _calls(others) < own
        ]
        bad = sum(int(r["infeasible"]) for r in runs)
        if bad:
            found.append(f"{name}: {bad} calls at infeasible designs")
        false = [r for r in runs if r["claims"] and _above(r, FALSE)]
        if false:
            found.append(f"{name}: {len(false)} false claims of convergence")
        errors = sorted({str(r["error"]) for r in runs if r["error"]})
        found += [f"{name}: {error}" for error in errors]
    return "\n".join(f"- {text}" for text in found) or "Nowhere."


def versions(rows: Sequence[Row]) -> str:
    """Return versions, limits and numbers of runs of the methods, how many ended by the clock."""
    lines = []
    for method, runs in _by(rows, "method").items():
        used = ", ".join(dict.fromkeys(str(r["version"]) for r in runs))
        limits = "; ".join(sorted({f"{r['budget']} calls, {r['seconds']} s" for r in runs}))
        late = sum(r["stop"] in ("time", "lost", "MAX_TIME") for r in runs)
        seeds = len({r["seed"] for r in runs})
        errors = sum(bool(r["error"]) for r in runs)
        lines.append([method, used, limits, len(runs), seeds, late, errors])
    header = ["method", "version", "limits", "runs", "seeds", "out of time", "errors"]
    return markdown_table(header, lines)


_LEGEND = f"""Calls: median to the target (a run without success counts as infinite; in brackets
how many runs succeeded, if not all), then the median gap at the end, relative to the optimum
(negative: within the tolerances of the equalities). Time: seconds from the Pyomo model to the
first call, wall and processor; then the overhead of each further call, and the simulator's own
time. Judgement: calls at infeasible designs of all calls; the largest residual of an equality and
the largest excess over another limit, in the units of their rows; runs that claim convergence
(of these more than {FALSE:g} above the optimum, more than {OFF:g})."""


def _by(rows: Sequence[Row], key: str) -> dict[str, list[Row]]:
    order = list(METHODS) if key == "method" else []
    found: dict[str, list[Row]] = {name: [] for name in order}
    for row in rows:
        found.setdefault(str(row[key]), []).append(row)
    return {name: group for name, group in found.items() if group}


def _methods(rows: Sequence[Row]) -> list[str]:
    return list(_by(rows, "method"))


def _table(rows: Sequence[Row], cell: Callable[[Sequence[Row]], str]) -> str:
    methods, lines = _methods(rows), []
    for name, group in _by(rows, "problem").items():
        cells = _by(group, "method")
        lines.append([name, *(cell(cells[m]) if m in cells else "" for m in methods)])
    return markdown_table(["problem", *methods], lines)


def _calls(runs: Sequence[Row]) -> float:
    return float(np.median([r["calls_to_target"] or math.inf for r in runs]))


def _success(runs: Sequence[Row]) -> str:
    calls, good = _calls(runs), sum(r["calls_to_target"] is not None for r in runs)
    text = f"{calls:g}" if math.isfinite(calls) else "-"
    return text if good == len(runs) else f"{text} ({good}/{len(runs)})"


def _median(runs: Sequence[Row], key: str, form: str) -> str:
    values = [float(r[key]) for r in runs if r[key] is not None]
    return f"{np.median(values):{form}}" if values else "-"


def _largest(runs: Sequence[Row], key: str) -> str:
    values = [float(r[key]) for r in runs if r[key] is not None]
    return f"{max(values):.1e}" if values else "-"


def _above(row: Any, limit: float) -> bool:
    return row["gap"] is None or float(row["gap"]) > limit
