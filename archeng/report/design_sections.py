"""The sections about the design: summary, best design, designs tried, what blocks the best one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from archeng.model import REAL, Domain, bound_domains
from archeng.plain_text import short
from archeng.progress import duration
from archeng.records import Activity, RowAtBest, SimulatedAtBest
from archeng.report.figures import sensible
from archeng.report.figures.calls import times
from archeng.report.figures.designs import MOST_PANELS, free_variables
from archeng.report.html import Html, facts, paragraph, picture, table
from archeng.report.neighbours import NEIGHBOUR_HEADER, held_text, neighbour_cells
from archeng.report.text import (
    OUTPUT_HEADER,
    dependents_text,
    formulas_of,
    gain_text,
    levels_text,
    optimality_text,
    output_cells,
    shown_variables,
    simulated_table,
    variable_cells,
)
from archeng.result import Result

_BEST = 10  # designs in the table of the best
_COLUMNS = 8  # variables in that table
_DEPENDENTS = 200  # variables that follow from others in the table, at most
_DIGITS = 5  # of real numbers in it
_NAMES = 10  # active constraints that are named
_AT_BOUND = 1e-6  # nearer to a bound than this, relative to the distance of the bounds: at it
_UNKNOWN = "a constraint that only the simulator knows"
_ROUNDING = 1e-9  # a value that far from a limit of 0 is shown as 0


def summary(result: Result) -> list[Html]:
    """Return the few numbers that everybody looks for first."""
    budget = (result.provenance.get("options") or {}).get("max_evaluations")
    has_design = math.isfinite(result.fun)
    pairs = [
        (
            f"best {short(result.objective_name, 40) or 'objective'}",
            f"{result.fun:.6g}" if has_design else "none yet",
        ),
        ("simulator calls", f"{result.nfev} of {budget}" if budget else str(result.nfev)),
    ]
    if len(result.costs) > 1:
        pairs.append(("calls by simulator", ", ".join(map(str, result.calls_by_level))))
        pairs.append(("cost", f"{result.cost:.6g}"))
    if result.simulated and has_design:
        violated = sum(not s.holds for s in result.simulated)
        pairs.append(("simulated constraints", f"{violated} violated" if violated else "all hold"))
    if result.activity:
        pairs.append(("active constraints", str(sum(a.active for a in result.activity))))
    pairs.append(("did not end well", str(len(result.failures))))
    pairs.append(("time", duration(_seconds(result))))
    end = {
        "ended": f"The run ended because {result.message}.",
        "running": "The run goes on.",
        "cut off": f"Not ended: {result.message}.",
    }[result.state]
    text = f"The result: {result.status.value}. {end}"
    if result.optimality is not None:
        evidence = optimality_text(result.optimality)
        text += f" {evidence[0].upper()}{evidence[1:]}."
    if len(result.costs) > 1:
        text += f" {levels_text(result).capitalize()}."
    return [paragraph(text), facts(pairs)]


def _seconds(result: Result) -> float:
    """Return how long the run took, or takes since it began."""
    ends, _ = times(result)
    last = float(np.nanmax(ends)) if np.isfinite(ends).any() else 0.0
    elapsed = result.provenance.get("elapsed")
    return max(last, float(elapsed)) if isinstance(elapsed, int | float) else last


def best_design(result: Result) -> list[Html]:
    """Return the best design with units and bounds, and what the simulator said there."""
    if not math.isfinite(result.fun):
        return [paragraph(f"There is none: {result.status.value}.")]
    sense = "maximised" if result.maximize else "minimised"
    variables = shown_variables(result, _DEPENDENTS)
    places = [_place(v.value, v.lower, v.upper) if v.domain.is_ordered else None for v in variables]
    bounds = [_at_bound(place) for place in places]
    rows = [(*variable_cells(v), bound) for v, bound in zip(variables, bounds, strict=True)]
    header = ("variable", "value", "unit", "lower", "upper", "at bound")
    marked = [k for k, bound in enumerate(bounds) if bound]
    named = f" {result.objective_name}" if result.objective_name else ""
    elements = [
        paragraph(f"Objective{named}: {result.fun:.10g} ({sense})."),
        table("Variables", header, rows, "lrlrrl", marked, places),
    ]
    if result.independents:
        elements.append(paragraph(f"Of these {dependents_text(result, _DEPENDENTS)}."))
    if result.simulated:
        columns, cells = simulated_table(result)
        violated = [k for k, s in enumerate(result.simulated) if not s.holds]
        align = "lrrrr" + "l" * (len(columns) - 5)
        elements.append(table("Simulated constraints", columns, cells, align, violated))
    if result.outputs_at_best:
        title = "Outputs of the simulator"
        elements.append(table(title, OUTPUT_HEADER, output_cells(result), "lrl"))
    if result.other_outputs:
        others = [(name, _output(value)) for name, value in result.other_outputs.items()]
        title = "Other outputs of the simulator"
        elements.append(table(title, ("output", "value"), others, "lr"))
    return elements


def _place(value: float, lower: float, upper: float) -> float | None:
    """Return where a value lies between its bounds, 0 to 1; None without bounds."""
    if not (math.isfinite(lower) and math.isfinite(upper)) or upper <= lower:
        return None
    return min(max((value - lower) / (upper - lower), 0.0), 1.0)


def _at_bound(place: float | None) -> str:
    if place is None:
        return ""
    return "lower" if place <= _AT_BOUND else "upper" if place >= 1 - _AT_BOUND else ""


def _output(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else short(str(value), 300)


def designs(result: Result) -> list[Html]:
    """Return the variables over the calls, and the best designs side by side."""
    kinds, free = sensible(result), free_variables(result)
    elements: list[Html] = []
    if "variables" in kinds:
        caption = (
            "Variables over the simulator calls. Dots: every call; blue: the best design so far; "
            "dashed: bounds."
        )
        if len(free) > MOST_PANELS:
            caption = "Variables in the best design so far, between their bounds."
        elements.append(picture("variables", caption))
    if "parallel" in kinds:
        caption = (
            "The best designs: one line each, from the lower (below) to the upper bound (above)."
        )
        elements += [picture("parallel", caption), _best_table(result, free)]
    return elements


def _best_table(result: Result, free: list[int]) -> Html:
    best, columns = result.best_calls[:_BEST], free[:_COLUMNS]
    header = ["call", "objective", *(short(result.variables_at_best[j].name, 18) for j in columns)]
    rows = [
        (
            str(e.index + 1),
            f"{e.objective:.8g}",
            *(result.variables_at_best[j].domain.value_shown(e.x[j], _DIGITS) for j in columns),
        )
        for e in best
    ]
    fewer = f" (the first {_COLUMNS} variables)" if len(columns) < len(free) else ""
    return table(f"The {len(best)} best designs{fewer}", header, rows, "r" * len(header))


def constraints(result: Result) -> list[Html]:
    """Return what blocks the design, and the simulated constraints."""
    kinds = sensible(result)
    elements: list[Html] = []
    if "activity" in kinds:
        active = [short(a.name, 60) for a in result.activity if a.active]
        more = f" and {len(active) - _NAMES} more" if len(active) > _NAMES else ""
        text = f"Active at the best design: {', '.join(active[:_NAMES])}{more}."
        if not active:
            text = "No constraint is active at the best design."
        caption = (
            "How often designs were repaired onto a constraint (simulated: violated it). The gain "
            "is what the objective would improve per unit of relaxation, to first order, by a "
            "model of the objective."
        )
        elements += [paragraph(text), _activity(result), picture("activity", caption)]
    elif "incomplete" in result.provenance:
        elements.append(paragraph(f"Note: {result.provenance['incomplete']}."))
    if result.neighbours:
        rows, caption = neighbour_cells(result.neighbours), "Next values of discrete variables"
        elements.append(table(caption, NEIGHBOUR_HEADER, rows, "ll"))
        if held_text(result):
            elements.append(paragraph(f"{held_text(result).capitalize()}."))
    if "simulated" in kinds:
        count, total = sum(bool(e.violated) for e in result.evaluations), len(result.evaluations)
        what = "a simulated constraint" if formulas_of(result) else _UNKNOWN
        text = f"{count} of {total} calls violated {what}."
        caption = "Simulated constraints over the calls. Red: violated."
        elements += [paragraph(text), picture("simulated", caption)]
    none = "There is no design yet at which constraints could be active."
    return elements or [paragraph(none)]


def _activity(result: Result) -> Html:
    at_best: dict[str, RowAtBest | SimulatedAtBest] = {r.name: r for r in result.rows}
    at_best |= {s.name: s for s in result.simulated}
    blocking = [a for a in result.activity if a.active or a.repaired]
    blocking.sort(key=lambda a: (not a.active, -np.nan_to_num(a.gain, nan=-1.0), -a.repaired))
    domains = bound_domains(result.variables)
    rows = [_activity_row(a, at_best.get(a.name), domains.get(a.name, REAL)) for a in blocking]
    marked = [k for k, a in enumerate(blocking) if a.active]
    header = ["constraint", "kind", "active", "value", "limits", "blocked calls", "gain per unit"]
    formulas, align = formulas_of(result), "lllrrrr"
    if any(a.name in formulas for a in blocking):
        texts = (formulas.get(a.name, "-") for a in blocking)
        rows = [(*row, text) for row, text in zip(rows, texts, strict=True)]
        header, align = [*header, "formula"], f"{align}l"
    return table("Constraints that blocked designs", header, rows, align, marked)


def _activity_row(
    a: Activity, row: RowAtBest | SimulatedAtBest | None, domain: Domain
) -> tuple[str, ...]:
    value = limits = "-"
    number = domain.shown
    if row is not None:
        near_zero = 0.0 in (row.lower, row.upper) and abs(row.value) < _ROUNDING
        value = "0" if near_zero else number(row.value)
        limits = f"{number(row.lower)} … {number(row.upper)}"
        if not math.isfinite(row.lower):
            limits = f"≤ {number(row.upper)}"
        elif not math.isfinite(row.upper):
            limits = f"≥ {number(row.lower)}"
    blocked = f"{a.repaired} ({100 * a.share:.0f} %)"
    gain = gain_text(a) if a.active else "-"
    return a.name, a.kind, "yes" if a.active else "no", value, limits, blocked, gain
