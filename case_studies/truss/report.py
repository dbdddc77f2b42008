"""Tables of the case study, as Markdown: the seeds, and archeng beside the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from archeng import Design
from case_studies.benchmarks.record import markdown_table
from case_studies.shared import forms
from case_studies.truss.cases import CASES
from case_studies.truss.model import build_model
from case_studies.truss.reference import reference
from case_studies.truss.rules import ROUNDING, broken_rules
from case_studies.truss.simulator import build_simulator
from case_studies.truss.study import Record

EXCESSES = (0.05, 0.01, 0.001)
"""Calls are counted until the mass is within these of the reference."""


def seeds_table(name: str, records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    best = reference(name).mass
    header = ["seed", "mass (lb)", "above reference", "limits hold", "calls", "illegal", "failed",
              *(f"calls to {100 * e:g} %" for e in EXCESSES), "restarts", "s",
              "of which program"]  # fmt: skip
    lines = [
        [
            r.seed,
            f"{r.mass:.2f}",
            _excess(r.mass, best),
            "yes" if r.holds else "no",
            r.calls,
            r.illegal,
            r.failed,
            *(r.calls_to(best * (1 + e)) or "never" for e in EXCESSES),
            r.restarts,
            f"{r.seconds:.0f}",
            f"{r.program_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def reference_table(name: str, records: Sequence[Record]) -> str:
    """Return archeng's seeds beside the design before, the literature and the optimum.

    The limits of known designs are recomputed by the program.
    """
    case, known = CASES[name], reference(name)
    model, program = build_model(name, "black"), build_simulator(name, "black")
    designs: dict[str, ArrayLike] = {"before": case.start}
    for p in known.published:
        designs[f"{p.label}{'; ' + p.variant if p.variant else ''}"] = p.x
    designs[f"reference, {known.how}"] = known.x
    lines: list[list[object]] = []
    for label, x in designs.items():
        answer = program(Design(model.variables, np.array(x), model.parameters))
        over = max(_overshoot(v, *case.limits[k]) for k, v in answer.constraints.items())
        legal = "no" if broken_rules(name, x) else "yes"
        held = "yes" if over <= ROUNDING else f"exceeded by {over:.1g} of a limit"
        lines.append([label, f"{answer.objective:.2f}", _excess(answer.objective, known.mass),
                      legal, held])  # fmt: skip
    masses = [r.mass for r in records if r.holds]
    if masses:
        found = {"best": min(masses), "median": float(np.median(masses)), "worst": max(masses)}
        for word, mass in found.items() if len(masses) > 1 else [("only", masses[0])]:
            label = f"**archeng, {word} of {len(masses)} seeds**"
            lines.append([label, f"{mass:.2f}", _excess(mass, known.mass), "yes", "yes"])
    header = ["design", "mass (lb)", "above reference", "explicit rules hold", "limits hold"]
    return markdown_table(header, lines)


def forms_table(name: str, groups: Mapping[str, Sequence[Record]]) -> str:
    """Return one line for each form of the study."""
    return forms.forms_table(
        groups,
        reference(name).mass,
        lambda r: r.mass if r.holds else np.nan,
        lambda r: r.illegal,
    )


def verdict(name: str, records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    best = reference(name).mass
    calls, illegal, failed = (
        sum(getattr(r, k) for r in records) for k in ("calls", "illegal", "failed")
    )
    lines = [
        f"- illegal calls: {illegal} of {calls}, judged in numpy; failed calls: {failed}",
        f"- runs that end within all limits: {sum(r.holds for r in records)} of {len(records)}",
    ]
    for e in EXCESSES:
        reached = [c for r in records if (c := r.calls_to(best * (1 + e))) is not None]
        median = f", after {np.median(reached):.0f} calls (median of these)" if reached else ""
        lines.append(
            f"- within {100 * e:g} % of the reference: {len(reached)} of {len(records)}{median}"
        )
    return "\n".join(lines)


def _overshoot(value: float, lower: float | None, upper: float | None) -> float:
    """Return by how much of the limit a value is beyond it; negative inside."""
    sides = [(value - upper) / abs(upper)] if upper is not None else []
    return max([*sides, (lower - value) / abs(lower)] if lower is not None else sides)


def _excess(mass: float, best: float) -> str:
    return f"{100 * (mass / best - 1):+.3f} %"
