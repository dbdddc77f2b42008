"""Tables and the figure of the case study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.airfoil.cases import CHECK_NETWORK, Case, reference
from case_studies.airfoil.limits import surface
from case_studies.airfoil.sections import broken_rules, known_section, trimmed
from case_studies.airfoil.simulator import kulfan
from case_studies.airfoil.study import Record
from case_studies.benchmarks.record import markdown_table

EXPERT = "DAE-11"
"""The section that an expert designed for this aircraft."""


def seeds_table(case: Case, records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    optimum = reference()["optima"][case.name]["drag"]
    expert = _drag(case, EXPERT)
    header = ["seed", "drag (counts)", *_ratio_header(case), "above gradient optimum", "calls",
              "infeasible calls", "calls that violated a simulated limit",
              f"calls to pass {EXPERT}", "active rows", "s", "of it NeuralFoil"]  # fmt: skip
    lines = [
        [
            r.seed,
            f"{r.drag:.2f}",
            *_ratio(case, r.drag),
            f"{100 * (r.drag / optimum - 1):.1f} %",
            r.calls,
            r.infeasible_calls,
            r.violating_calls,
            "-" if expert is None else r.calls_to(expert) or "never",
            ", ".join(r.active) or "none",
            f"{r.seconds:.0f}",
            f"{r.simulator_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def sections_table(case: Case, records: Sequence[Record]) -> str:
    """Return archeng's best section among the known ones, the optimum first."""
    header = ["section", "drag (counts)", *_ratio_header(case), "moment", "confidence",
              f"drag by {CHECK_NETWORK}", "explicit limits it exceeds"]  # fmt: skip
    optimum = reference()["optima"][case.name]["design"]
    best = min(records, key=lambda r: r.drag)
    lines = [
        _section("optimum by gradients", case, kulfan(optimum)),
        _section(f"**archeng, best of {len(records)} seeds**", case, kulfan(best.design)),
    ]
    for name, data in reference()["sections"].items():
        lines.append(_section(name, case, known_section(data["file"])))
    return markdown_table(header, lines)


def verdict(case: Case, records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    calls, infeasible = (sum(getattr(r, k) for r in records) for k in ("calls", "infeasible_calls"))
    drags = np.array([r.drag for r in records])
    optimum = reference()["optima"][case.name]["drag"]
    return "\n".join(
        [
            f"- infeasible calls: {infeasible} of {calls}, judged in NumPy at every call",
            f"- drag: best {drags.min():.2f}, median {np.median(drags):.2f}, worst "
            f"{drags.max():.2f} counts; optimum by gradients {optimum:.2f}",
        ]
    )


def figure(case: Case, records: Sequence[Record], path: Path) -> None:
    """Draw the shapes and the convergence."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(8, 7), layout="constrained")
    shapes, progress = sheet.subplots(2, 1, height_ratios=[1, 1.6])
    best = min(records, key=lambda r: r.drag)
    optimum = reference()["optima"][case.name]
    _draw(shapes, kulfan(best.design), f"archeng, seed {best.seed}", "C0")
    _draw(shapes, kulfan(optimum["design"]), "optimum by gradients", "black")
    expert = known_section(reference()["sections"][EXPERT]["file"])
    _draw(shapes, expert, f"{EXPERT} (as fitted)", "C1")
    shapes.set(aspect="equal", xlabel="x / chord", ylabel="y / chord")
    shapes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    for r in records:
        steps = [*r.curve, (r.calls, r.drag)]
        progress.step(*zip(*steps, strict=True), where="post", color="C0", lw=1)
    progress.axhline(optimum["drag"], color="black", ls="--", lw=1, label="optimum by gradients")
    known = _drag(case, EXPERT)
    if known is not None:
        progress.axhline(known, color="C1", ls="--", lw=1, label=EXPERT)
    progress.set(xlabel="simulator calls", ylabel="least drag so far (counts)")
    progress.set_title(f"{len(records)} seeds")
    progress.legend(fontsize="small")
    sheet.savefig(path, dpi=150)


def _draw(axes: Any, parameters: dict[str, Any], label: str, color: str) -> None:
    x = (1 - np.cos(np.linspace(0, np.pi, 200))) / 2
    nose = parameters["leading_edge_weight"]
    for k, side in enumerate(("upper_weights", "lower_weights")):
        sign = 1 - 2 * k
        y = surface(parameters[side], nose, x) + sign * parameters["TE_thickness"] / 2 * x
        axes.plot(x, y, color=color, lw=1, label=label if k == 0 else None)


def _drag(case: Case, name: str) -> float | None:
    found = trimmed(known_section(reference()["sections"][name]["file"]), case)
    return None if found is None else found.drag


def _section(name: str, case: Case, parameters: dict[str, Any]) -> list[str]:
    found, check = trimmed(parameters, case), trimmed(parameters, case, CHECK_NETWORK)
    stalls = "does not reach the lift"
    broken = ", ".join(broken_rules(parameters)) or "none"
    other = stalls if check is None else f"{check.drag:.2f}"
    if found is None:
        return [name, stalls, *("-" for _ in _ratio_header(case)), "-", "-", other, broken]
    return [
        name,
        f"{found.drag:.2f}",
        *_ratio(case, found.drag),
        f"{found.moment:.3f}",
        f"{found.confidence:.3f}",
        other,
        broken,
    ]


def _ratio_header(case: Case) -> list[str]:
    return [f"lift over drag at {case.lifts[0]:g}"] if len(case.lifts) == 1 else []


def _ratio(case: Case, drag: float) -> list[str]:
    """Lift over drag, where there is one lift."""
    return [f"{case.lifts[0] / (1e-4 * drag):.1f}"] if len(case.lifts) == 1 else []
