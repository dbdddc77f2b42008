"""The table of the hard problems, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.hard import elsewhere
from case_studies.paper.results import Row
from case_studies.peers.statistics import ENOUGH, NEAR, REFERENCE

ANCHORS = {
    "quadratic, n = 20": ("136", "COBYQA 94"),
    "quadratic, n = 50": ("524", "COBYQA 195"),
    "quadratic, n = 100": ("1036", "COBYQA 617"),
    "gas compressor": ("2687", "trust-constr 101"),
    "g17": ("323", "COBYLA 101"),
    "g09, noise of 1e-3": ("275", "COBYLA 122"),
    "HS 99": ("0.7 s a call, local optimum", "IPOPT: optimum"),
    "HS 108": ("0.7 s a call, local optimum", "IPOPT: optimum"),
    "PROLOG": ("1.1 above after 3000", "BARON, SCIP: optimum"),
    "refrigeration": ("1 of 3 runs in 2000; 5 % above", "IPOPT 746, 3 of 3"),
    "inverter, 3 levels": ("3 times the best after 2000", "nobody; SLSQP once"),
    "inverter, 5 levels": ("3 times the best after 2000", "nobody; SLSQP once"),
    "inverter, 7 levels": ("3 times the best after 2000", "nobody; SLSQP once"),
    "inverter, 9 levels": ("3 times the best after 2000", "nobody; SLSQP once"),
    "gripper": ("1.6 % above after 2000", "nobody"),
    "g19, half simulated": ("5 to 33 % above after 600", "all-explicit: 150 calls"),
}
"""What was reported before this table was made: archeng then, and the best rival."""


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem."""

    rows: Sequence[Row]

    @property
    def calls(self) -> float:
        """Median of the calls of the runs that succeed; infinite if there is none."""
        return median(self._reached) if self._reached else float("inf")

    @property
    def success(self) -> float:
        """Their share."""
        return len(self._reached) / len(self.rows)

    @property
    def gap(self) -> float:
        """Median distance to the best known value at the end, relative."""
        gaps = [float("inf") if r["gap"] is None else float(r["gap"]) for r in self.rows]
        return float(np.median(gaps))

    @property
    def text(self) -> str:
        """What the table shows."""
        if not self._reached:
            gap = f"{self.gap:.1e}" if np.isfinite(self.gap) else "no design"
            return f"({gap}{self._clock})"
        share = "" if self.success == 1 else f" ({100 * self.success:.0f} %{self._clock})"
        return f"{self.calls:.0f}{share}"

    @property
    def _clock(self) -> str:
        """After how many calls the runs ended that ran out of time; empty if none did."""
        calls = [r["calls"] for r in self.rows if r["stop"] in ("time", "max_time")]
        return f", time at {median(calls):.0f}" if calls else ""

    @property
    def _reached(self) -> list[int]:
        return [r["calls_to_target"] for r in self.rows if r["calls_to_target"] is not None]


def latest(rows: Sequence[Row]) -> list[Row]:
    """Keep the last row of each run: a newer version replaces the older."""
    keys = ("line", "method", "seed")
    return list({tuple(r[k] for k in keys): r for r in rows}.values())


def grid(rows: Sequence[Row]) -> dict[str, dict[str, Cell]]:
    """Return the cells of all lines and methods."""
    found: dict[str, dict[str, Cell]] = {}
    for line in ANCHORS:
        for method in dict.fromkeys(r["method"] for r in rows):
            group = [r for r in rows if r["line"] == line and r["method"] == method]
            if group:
                found.setdefault(line, {})[method] = Cell(group)
    return found


def ahead(cells: dict[str, Cell]) -> tuple[str, bool]:
    """Return who is ahead, and whether archeng is, or within 10 % of it."""
    own = cells.get(REFERENCE)
    good = {m: c.calls for m, c in cells.items() if c.success >= ENOUGH}
    if good:
        first = min(good, key=lambda m: good[m])
        return first, own is not None and REFERENCE in good and own.calls <= NEAR * good[first]
    first = min(cells, key=lambda m: cells[m].gap)
    return first, own is not None and first == REFERENCE


def summary(rows: list[Row]) -> str:
    """Return the table, who is ahead, and what the calls cost."""
    kept = latest(rows)
    found = grid(kept)
    methods = list(dict.fromkeys(m for cells in found.values() for m in cells))
    lines, won = [], []
    for line, cells in found.items():
        first, ours = ahead(cells)
        won += [line] if ours else []
        n = next(iter(cells.values())).rows[0]["n"]
        runs = {m: len(c.rows) for m, c in cells.items()}
        count = "-".join(str(k) for k in sorted({min(runs.values()), max(runs.values())}))
        texts = [cells[m].text if m in cells else "" for m in methods]
        lines.append([line, n, count, *texts, first, *ANCHORS[line]])
    head = ["problem", "n", "runs", *methods, "ahead", "archeng before", "best rival before"]
    lost = [line for line in found if line not in won]
    parts = [
        markdown_table(head, lines),
        f"archeng is ahead, or within 10 % of the first, on {len(won)} of {len(found)} problems; "
        f"not on: {', '.join(lost) or 'none'}.",
        "### With a study of their own",
        elsewhere.summary(),
        "### Cost and calls at infeasible designs",
        _costs(kept, methods),
        "Processor time outside of f, in milliseconds per call, the median over the runs; in "
        "brackets the share of the calls at designs that violate an explicit constraint.",
    ]
    limits = {m: sorted({r["seconds"] for r in kept if r["method"] == m}) for m in methods}
    texts = [f"{m} {' or '.join(map(str, s))}" for m, s in limits.items()]
    parts.append(f"Most processor time of a run in seconds: {', '.join(texts)}.")
    errors = sorted({f"- {r['method']}, {r['line']}: {r['error']}" for r in kept if r["error"]})
    return "\n\n".join([*parts, *(["### Errors", "\n".join(errors)] if errors else [])])


def _costs(rows: Sequence[Row], methods: Sequence[str]) -> str:
    lines = []
    for line in ANCHORS:
        group = [r for r in rows if r["line"] == line]
        if not group:
            continue
        cells = []
        for method in methods:
            own = [r for r in group if r["method"] == method and r["calls"]]
            if not own:
                cells.append("")
                continue
            cost = np.median([r["overhead_ms"] for r in own])
            calls = sum(r["calls"] for r in own)
            share = sum(r["calls"] * (r["infeasible_share"] or 0) for r in own) / calls
            cells.append(f"{cost:.3g} ({100 * share:.0f} %)")
        lines.append([line, *cells])
    return markdown_table(["problem", *methods], lines)
