"""Tables of the case study, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.flange.ring import Ring
from case_studies.flange.rules import Parts, beyond_limits, broken_rules, cost
from case_studies.flange.study import Record, reference

GAPS = (0.02, 0.005, 1e-6)
"""Calls are counted until the cost is within these of the reference; the last is the optimum."""


def seeds_table(records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    best = reference()["cost"]
    header = ["seed", "cost (EUR)", "above the optimum", "limits hold", "calls", "illegal",
              "failed", *(_gap_name(g) for g in GAPS), "restarts", "s"]  # fmt: skip
    lines = [
        [
            r.seed,
            f"{r.cost:.3f}",
            f"{100 * (r.cost / best - 1):+.2f} %",
            "yes" if r.holds else "no",
            r.calls,
            r.illegal,
            r.failed,
            *(r.calls_to(best * (1 + g)) or "never" for g in GAPS),
            r.restarts,
            f"{r.seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def designs_table(records: Sequence[Record]) -> str:
    """Return the designs that the seeds found beside the optimum; the referee judges them again."""
    header = ["design", "cost (EUR)", "bolts", "gasket", "plate", "bolt circle (mm)", "preload",
              "least pressure (MPa)", "rotation (deg)", "plate stress (MPa)", "broken"]  # fmt: skip
    designs = {"optimum by exhaustion": Parts(**reference()["design"])}
    for r in sorted(records, key=lambda r: (not r.holds, r.cost)):
        parts = Parts(**r.design)
        if all(_kinds(parts) != _kinds(other) for other in designs.values()):
            designs[f"archeng, seed {r.seed}"] = parts
    lines = []
    for name, parts in designs.items():
        state = Ring(parts.joint()).solve()
        broken = broken_rules(parts) + beyond_limits(parts, state)
        lines.append(
            [
                name,
                f"{cost(parts):.3f}",
                f"{parts.bolts} {parts.bolt}",
                f"{parts.gasket}, {parts.gasket_width:g} mm",
                f"{parts.steel}, {parts.plate:g} mm",
                f"{parts.bolt_circle:.2f}",
                f"{parts.preload:.3f}",
                f"{state.least_pressure:.2f}",
                f"{state.rotation:.3f}",
                f"{state.plate_stress:.1f}",
                ", ".join(broken) or "nothing",
            ]
        )
    return markdown_table(header, lines)


def verdict(records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    best = reference()["cost"]
    calls, illegal, failed = (
        sum(getattr(r, k) for r in records) for k in ("calls", "illegal", "failed")
    )
    lines = [
        f"- calls at designs that are illegal or in no catalogue: {illegal} of {calls}, judged in "
        f"NumPy at every call; failed calls: {failed}"
    ]
    for g in GAPS:
        reached = [c for r in records if (c := r.calls_to(best * (1 + g))) is not None]
        median = f", after {np.median(reached):.0f} calls (median of these)" if reached else ""
        what = "the optimum" if g < 1e-3 else f"within {100 * g:g} % of the optimum"
        lines.append(f"- {what}: {len(reached)} of {len(records)} seeds{median}")
    return "\n".join(lines)


def _gap_name(gap: float) -> str:
    return "calls to the optimum" if gap < 1e-3 else f"calls to {100 * gap:g} %"


def _kinds(parts: Parts) -> tuple[object, ...]:
    """Return the parts without the real variables."""
    return (parts.bolt, parts.bolts, parts.gasket, parts.gasket_width, parts.plate, parts.steel)
