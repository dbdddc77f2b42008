"""The figure of the case study: shapes, convergence, and at high speed the drag rise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.airfoil.cases import Case, reference
from case_studies.airfoil.limits import surface
from case_studies.airfoil.report import OPTIMUM, best_record, expert_objective
from case_studies.airfoil.sections import known_section, trimmed
from case_studies.airfoil.simulator import kulfan
from case_studies.airfoil.study import Record


def figure(case: Case, records: Sequence[Record], path: Path) -> None:
    """Draw the shapes and the convergence, and lift over drag against the Mach number."""
    from matplotlib.figure import Figure

    best = best_record(case, records)
    expert = known_section(reference()["sections"][case.shape.name][case.expert]["file"])
    sections = [
        (kulfan(best.design), f"archeng, seed {best.seed}", "C0"),
        (kulfan(reference()["optima"][case.name]["design"]), OPTIMUM, "black"),
        (expert, f"{case.expert} (as fitted)", "C1"),
    ]
    heights = [1, 1.6, 1.6] if case.mach else [1, 1.6]
    sheet = Figure(figsize=(8, 10 if case.mach else 7), layout="constrained")
    shapes, progress, *more = sheet.subplots(len(heights), 1, height_ratios=heights)
    for section in sections:
        _shape(shapes, *section)
    shapes.set(aspect="equal", xlabel="x / chord", ylabel="y / chord")
    shapes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    _progress(progress, case, records)
    for axes in more:
        for section in sections:
            _rise(axes, case, *section)
        axes.axvline(case.mach, color="grey", lw=0.5)
        axes.set(xlabel="Mach number", ylabel="lift over drag, best angle")
        axes.legend(fontsize="small")
    sheet.savefig(path, dpi=150)


def _progress(axes: Any, case: Case, records: Sequence[Record]) -> None:
    for r in records:
        steps = [*r.curve, (r.calls, r.objective)]
        axes.step(*zip(*steps, strict=True), where="post", color="C0", lw=1)
    optimum = reference()["optima"][case.name]["objective"]
    axes.axhline(optimum, color="black", ls="--", lw=1, label=OPTIMUM)
    known = expert_objective(case)
    if known is not None:
        axes.axhline(known, color="C1", ls="--", lw=1, label=case.expert)
    what = "most lift over drag" if case.best_ratio else "least drag"
    unit = "" if case.best_ratio else " (counts)"
    axes.set(xlabel="simulator calls", ylabel=f"{what} so far{unit}")
    axes.set_title(f"{len(records)} seeds")
    axes.legend(fontsize="small")


def _rise(axes: Any, case: Case, parameters: dict[str, Any], label: str, color: str) -> None:
    machs = np.linspace(0.6, 0.8, 21)
    found = [trimmed(parameters, replace(case, mach=float(mach))) for mach in machs]
    ratios = [np.nan if f is None else f.objective for f in found]
    axes.plot(machs, ratios, color=color, lw=1, label=label)


def _shape(axes: Any, parameters: dict[str, Any], label: str, color: str) -> None:
    x = (1 - np.cos(np.linspace(0, np.pi, 200))) / 2
    nose = parameters["leading_edge_weight"]
    for k, side in enumerate(("upper_weights", "lower_weights")):
        sign = 1 - 2 * k
        y = surface(parameters[side], nose, x) + sign * parameters["TE_thickness"] / 2 * x
        axes.plot(x, y, color=color, lw=1, label=label if k == 0 else None)
