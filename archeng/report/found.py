"""The sections about the answer: summary, best design, convergence, designs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from archeng.model.tables import number
from archeng.report.blocks import Block, Facts, Paragraph, Picture, Section, Table
from archeng.report.figures import sensible
from archeng.report.shown import Shown, short
from archeng.report.tables import optimality_text

_BEST = 10  # designs in the table of the best
_COLUMNS = 8  # variables in that table
_AT_BOUND = 1e-6  # of the width between the bounds


def summary(shown: Shown) -> Section:
    """Return the few numbers that everybody looks for first."""
    known = math.isfinite(shown.fun)
    calls = f"{shown.n_calls}"
    options = shown.provenance.get("options")
    budget = options.get("max_evaluations") if isinstance(options, dict) else None
    if budget:
        calls += f" of {budget}"
    bad = len(shown.failures)
    pairs = [
        ("best objective", f"{shown.fun:.6g}" if known else "none yet"),
        ("simulator calls", calls),
        ("did not end well", str(bad)),
        ("time", duration(_seconds(shown))),
    ]
    active = [a for a in shown.activity if a.active]
    if shown.activity:
        pairs.insert(2, ("active constraints", str(len(active))))
    if shown.simulated and known:
        broken = sum(not s.holds for s in shown.simulated)
        text = "all hold" if not broken else f"{broken} violated"
        pairs.insert(2, ("simulated constraints", text))
    end = {
        "ended": f"The run ended because {shown.message}.",
        "running": "The run goes on.",
        "cut off": f"Not ended: {shown.message}.",
    }[shown.state]
    first = f"The result: {shown.status}. {end}"
    if shown.optimality is not None:
        text = optimality_text(shown.optimality)
        first += f" {text[0].upper()}{text[1:]}."
    return Section("summary", "Summary", (Paragraph(first), Facts(tuple(pairs))))


def _seconds(shown: Shown) -> float:
    times, _ = shown.times
    seen = float(np.nanmax(times)) if len(times) and np.isfinite(times).any() else 0.0
    known = shown.provenance.get("elapsed")
    return max(seen, float(known)) if isinstance(known, int | float) else seen


def duration(seconds: float) -> str:
    """Return a length of time in words."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s"


def best_design(shown: Shown) -> Section:
    """Return the best design with units and bounds, and what the simulator said there."""
    if not math.isfinite(shown.fun):
        return Section("best", "Best design", (Paragraph(f"There is none: {shown.status}."),))
    objective = f"Objective: {shown.fun:.10g} ({'maximised' if shown.maximize else 'minimised'})."
    rows, bars, marked = [], [], []
    for k, v in enumerate(shown.at_best):
        place = _place(v.value, v.lower, v.upper)
        bars.append(place)
        note = _at_bound(place)
        if note:
            marked.append(k)
        rows.append(
            (v.name, f"{v.value:.8g}", v.unit or "-", number(v.lower), number(v.upper), note)
        )
    header = ("variable", "value", "unit", "lower", "upper", "at bound")
    table = Table("Variables", header, rows, "lrlrrl", frozenset(marked), tuple(bars))
    blocks: list[Block] = [Paragraph(objective), table]
    if shown.simulated:
        blocks.append(_simulated(shown))
    if shown.outputs:
        outputs = [(name, _text(value)) for name, value in shown.outputs.items()]
        blocks.append(Table("Other outputs of the simulator", ("output", "value"), outputs, "lr"))
    return Section("best", "Best design", tuple(blocks))


def _place(value: float, lower: float, upper: float) -> float | None:
    """Return where a value lies between its bounds, 0 to 1; None without bounds."""
    if not (math.isfinite(lower) and math.isfinite(upper)) or upper <= lower:
        return None
    return min(max((value - lower) / (upper - lower), 0.0), 1.0)


def _at_bound(place: float | None) -> str:
    if place is None:
        return ""
    return "lower" if place <= _AT_BOUND else "upper" if place >= 1 - _AT_BOUND else ""


def _simulated(shown: Shown) -> Table:
    rows, bad = [], []
    for k, s in enumerate(shown.simulated):
        margin = min(s.value - s.lower, s.upper - s.value)
        if not s.holds:
            bad.append(k)
        says = f"{margin:.3g}" if s.holds else f"violated by {-margin:.3g}"
        rows.append((s.name, f"{s.value:.8g}", number(s.lower), number(s.upper), says))
    header = ("simulated constraint", "value", "lower", "upper", "margin")
    return Table("Simulated constraints", header, rows, "lrrrr", frozenset(bad))


def _text(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else short(str(value), 300)


def convergence(shown: Shown) -> Section:
    """Return the objective over calls and over time."""
    if not shown.evaluations:
        return Section("convergence", "Convergence", (Paragraph("No call has ended yet."),))
    text = "Best so far counts only designs that satisfy all constraints."
    return Section(
        "convergence",
        "Convergence",
        (
            Paragraph(text),
            Picture("convergence", "Objective over the simulator calls."),
            Picture("time", "Objective over time, and how long each call took."),
        ),
    )


def designs(shown: Shown) -> Section:
    """Return the variables over the calls, and the best designs side by side."""
    blocks: list[Block] = []
    kinds = sensible(shown)
    if "variables" in kinds:
        caption = (
            "Variables over the simulator calls. Dots: every call; blue: the best design so far; "
            "dashed: bounds."
        )
        if len(shown.free) > 12:
            caption = "Variables in the best design so far, between their bounds."
        blocks.append(Picture("variables", caption))
    if "parallel" in kinds:
        caption = (
            "The best designs: one line each, from the lower (below) to the upper bound (above)."
        )
        blocks += [Picture("parallel", caption), _best_table(shown)]
    if not blocks:
        blocks.append(Paragraph("No call has ended yet."))
    return Section("designs", "Designs", tuple(blocks))


def _best_table(shown: Shown) -> Table:
    best = shown.best_calls[:_BEST]
    columns = shown.free[:_COLUMNS]
    names = [short(shown.at_best[j].name, 18) for j in columns]
    rows = [
        (str(e.index + 1), f"{e.objective:.8g}", *(f"{e.x[j]:.5g}" for j in columns)) for e in best
    ]
    fewer = f" (the first {_COLUMNS} variables)" if len(columns) < len(shown.free) else ""
    header = ("call", "objective", *names)
    return Table(f"The {len(best)} best designs{fewer}", header, rows, "r" * len(header))
