"""Tables of the case study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from case_studies.airfoil.cases import CHECK_NETWORK, Case, reference
from case_studies.airfoil.sections import Trimmed, broken_rules, known_section, trimmed
from case_studies.airfoil.simulator import kulfan
from case_studies.airfoil.study import Record
from case_studies.benchmarks.record import markdown_table
from case_studies.shared import forms

OPTIMUM = "optimum by gradients"
MACHS = (0.60, 0.66, 0.70, 0.72, 0.73, 0.74, 0.76)
"""Mach numbers of the table off design."""


def best_record(case: Case, records: Sequence[Record]) -> Record:
    """Return the best seed; any if none found a design that satisfies everything."""
    found = [r for r in records if not np.isnan(r.objective)] or records
    return (max if case.best_ratio else min)(found, key=lambda r: r.objective)


def seeds_table(case: Case, records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    optimum = reference()["optima"][case.name]["objective"]
    expert = expert_objective(case)
    side = "below" if case.best_ratio else "above"
    header = ["seed", *_headers(case), f"{side} gradient optimum", "calls",
              "infeasible calls", "calls that violated a simulated limit",
              f"calls to pass {case.expert}", "active rows", "s", "of it NeuralFoil"]  # fmt: skip
    lines = [
        [
            r.seed,
            *_figures(case, r.objective, r.simulated.get("lift", np.nan)),
            f"{100 * abs(r.objective / optimum - 1):.1f} %",
            r.calls,
            r.infeasible_calls,
            r.violating_calls,
            "-" if expert is None else r.calls_to(expert, case.sign) or "never",
            ", ".join(r.active) or "none",
            f"{r.seconds:.0f}",
            f"{r.simulator_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def sections_table(case: Case, records: Sequence[Record]) -> str:
    """Return archeng's best section among the known ones, the optimum first."""
    check = "lift over drag" if case.best_ratio else "drag"
    header = ["section", *_headers(case), "moment", "confidence",
              *(["critical Mach"] if case.mach else []),
              f"{check} by {CHECK_NETWORK}", "explicit limits it exceeds"]  # fmt: skip
    return markdown_table(
        header, [_section(name, case, p) for name, p in _all_sections(case, records).items()]
    )


def off_design_table(case: Case, records: Sequence[Record]) -> str:
    """Return lift over drag at other Mach numbers, each section at its best angle."""
    header = ["section", *(f"Mach {mach:.2f}" for mach in MACHS)]
    lines = []
    for name, parameters in _all_sections(case, records).items():
        found = (trimmed(parameters, replace(case, mach=mach)) for mach in MACHS)
        lines.append([name, *("-" if f is None else f"{f.objective:.1f}" for f in found)])
    return markdown_table(header, lines)


def forms_table(case: Case, groups: Mapping[str, Sequence[Record]]) -> str:
    """Return one line for each form of the study."""
    optimum = reference()["optima"][case.name]["objective"]
    return forms.forms_table(
        groups, optimum, lambda r: r.objective, lambda r: r.infeasible_calls, case.sign
    )


def verdict(case: Case, records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    calls, infeasible = (sum(getattr(r, k) for r in records) for k in ("calls", "infeasible_calls"))
    found = np.array([r.objective for r in records])
    best, worst = (found.max(), found.min()) if case.best_ratio else (found.min(), found.max())
    optimum = reference()["optima"][case.name]["objective"]
    what, unit = ("lift over drag", "") if case.best_ratio else ("drag", " counts")
    return "\n".join(
        [
            f"- infeasible calls: {infeasible} of {calls}, judged in NumPy at every call",
            f"- {what}: best {best:.2f}, median {np.median(found):.2f}, worst "
            f"{worst:.2f}{unit}; optimum by gradients {optimum:.2f}",
        ]
    )


def expert_objective(case: Case) -> float | None:
    """Return the objective of the section of the expert; None if it does not reach the lift."""
    file = reference()["sections"][case.shape.name][case.expert]["file"]
    found = trimmed(known_section(file), case)
    return None if found is None else found.objective


def _all_sections(case: Case, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    optimum = reference()["optima"][case.name]["design"]
    best = best_record(case, records)
    known = reference()["sections"][case.shape.name]
    return {
        OPTIMUM: kulfan(optimum),
        f"**archeng, best of {len(records)} seeds**": kulfan(best.design),
        **{name: known_section(data["file"]) for name, data in known.items()},
    }


def _section(name: str, case: Case, parameters: dict[str, Any]) -> list[str]:
    found, check = trimmed(parameters, case), trimmed(parameters, case, CHECK_NETWORK)
    stalls = "buffets before that lift" if case.mach else "does not reach the lift"
    broken = ", ".join(broken_rules(parameters, case.shape.name)) or "none"
    other = stalls if check is None else _objective(case, check.objective)
    if found is None:
        dashes = ["-"] * (len(_headers(case)) + 1 + bool(case.mach))
        return [name, stalls, *dashes, other, broken]
    return [
        name,
        *_figures(case, found.objective, found.lift),
        f"{found.moment:.3f}",
        f"{found.confidence:.3f}",
        *_critical(case, found),
        other,
        broken,
    ]


def _critical(case: Case, found: Trimmed) -> list[str]:
    return [f"{found.critical_mach:.3f}"] if case.mach else []


def _objective(case: Case, value: float) -> str:
    return f"{value:.1f}" if case.best_ratio else f"{value:.2f}"


def _headers(case: Case) -> list[str]:
    """Headers of `_figures`."""
    if case.best_ratio:
        return ["lift over drag", "lift", "drag (counts)"]
    ratio = [f"lift over drag at {case.lifts[0]:g}"] if len(case.lifts) == 1 else []
    return ["drag (counts)", *ratio]


def _figures(case: Case, objective: float, lift: float) -> list[str]:
    """Drag and lift over drag, the latter where there is one lift."""
    if case.best_ratio:
        return [f"{objective:.2f}", f"{lift:.3f}", f"{1e4 * lift / objective:.1f}"]
    ratio = [f"{case.lifts[0] / (1e-4 * objective):.1f}"] if len(case.lifts) == 1 else []
    return [f"{objective:.2f}", *ratio]
