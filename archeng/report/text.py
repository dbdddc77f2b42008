"""The text of ``print(result)``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from archeng.model import REAL, Domain, bound_domains, number, text_table
from archeng.records import (
    Activity,
    Estimate,
    ParameterSensitivity,
    RowAtBest,
    SimulatedAtBest,
    VariableAtBest,
)
from archeng.report.neighbours import neighbours_text
from archeng.result import Result
from archeng.surrogate import Neighbourhood, Optimality

PARAMETER_HEADER = ("parameter", "value", "unit", "best objective per unit")
OUTPUT_HEADER = ("output", "value", "unit")
_DEPENDENTS = 20  # variables that follow from others in the table, at most
SIMULATED_HEADER = ("simulated constraint", "value", "lower", "upper", "margin")


def result_text(result: Result) -> str:
    """Design with units, simulated constraints, active constraints, calls used."""
    calls = result.evaluations
    parts = [
        f"{result.name}: {result.status.value}",
        f"stopped because {result.message}" if result.ended else result.message,
        f"objective {result.fun:.10g} after {len(calls)} simulator calls, "
        f"{result.n_infeasible_calls} of them at infeasible designs",
    ]
    if len(result.costs) > 1:
        parts.append(levels_text(result))
    if result.estimate is not None:
        parts.append(estimate_text(result.estimate))
    if result.objective_formula:
        parts.append(f"objective: {objective_text(result)}")
    if result.optimality is not None:
        parts.append(optimality_text(result.optimality))
    lines = [variable_cells(v) for v in shown_variables(result, _DEPENDENTS)]
    parts += ["", text_table(("variable", "value", "unit", "lower", "upper"), lines)]
    if result.independents:
        parts.append(dependents_text(result, _DEPENDENTS))
    if result.parameters:
        parts += ["", text_table(PARAMETER_HEADER, parameter_cells(result))]
    if result.simulated:
        parts += ["", text_table(*simulated_table(result, "VIOLATED"))]
        count = sum(bool(e.violated) for e in calls)
        parts.append(f"{count} of {len(calls)} calls violated a simulated constraint")
    if result.outputs_at_best:
        parts += ["", text_table(OUTPUT_HEADER, output_cells(result))]
    if result.other_outputs:
        others = [(name, _output(value)) for name, value in result.other_outputs.items()]
        title = "other output" if result.outputs_at_best else "output"
        parts += ["", text_table((title, "value"), others)]
    active = [r for r in result.rows if r.active]
    if active:
        parts += ["", _rows(active, bound_domains(result.variables))]
    if any(a.active for a in result.activity):
        parts += ["", _activity([a for a in result.activity if a.active], formulas_of(result))]
    if result.neighbours:
        parts += ["", neighbours_text(result)]
    if any(np.isfinite(r.value) for r in result.rows):
        total = len(result.rows)
        parts += ["", f"{total - len(active)} of {total} constraints are not active"]
    if calls:
        parts.append(_repairs(result))
    if result.failures:
        last = result.failures[-1].message.strip().splitlines()[-1:]
        parts.append(f"{len(result.failures)} calls did not end well; the last: {' '.join(last)}")
    return "\n".join(parts)


def levels_text(result: Result) -> str:
    """Say how often each of several simulators was called, and what that cost."""
    pairs = zip(result.calls_by_level, result.costs, strict=True)
    counts = [f"{count} at {number(cost)}" for count, cost in pairs]
    failed = sum(not call.good for call in result.cheaper)
    text = f"calls of the simulators, the cheapest first: {', '.join(counts)}"
    if failed:
        text += f" ({failed} of cheaper ones did not end well)"
    return f"{text}; cost {result.cost:.6g} in all"


def estimate_text(estimate: Estimate) -> str:
    """Say how well the objective of the best design is known."""
    e = estimate
    times = "once" if e.calls == 1 else f"{e.calls} times"
    return (
        f"the simulator is noisy: one call is off by {e.noise_text}. The objective is an estimate: "
        f"{e.value:.6g}, between {e.lower:.6g} and {e.upper:.6g} with {100 * e.confidence:.4g} % "
        f"probability; this design was simulated {times}"
    )


def shown_variables(result: Result, most: int) -> list[VariableAtBest]:
    """Return the variables to show: independent ones first, of the others at most so many."""
    every = result.variables_at_best
    if not result.independents:
        return every
    own = set(result.independents)
    first = [v for v in every if v.name in own]
    return first + [v for v in every if v.name not in own][:most]


def dependents_text(result: Result, most: int) -> str:
    """Say which variables are independent, and how many are not shown."""
    others = len(result.variables_at_best) - len(result.independents)
    hidden = f"; {others - most} of them are not shown" if others > most else ""
    return (
        f"the first {len(result.independents)} are independent, the other {others} follow from "
        f"them by equations{hidden}"
    )


def _repairs(result: Result) -> str:
    """Say how the simulated designs came to be feasible."""
    kinds = Counter(e.repair_kind for e in result.evaluations)
    drawn, outside = kinds.pop("feasible", 0), kinds.pop("unrepaired", 0)
    proposed, repeated = kinds.pop("proposed", 0), kinds.pop("repeated", 0)
    how = ", ".join(f"{n} to the {k}" for k, n in sorted(kinds.items()))
    return (
        f"{drawn} simulated designs were feasible as sampled, {sum(kinds.values())} were "
        f"repaired{f' ({how})' if how else ''}"
        + (f", {proposed} were proposed by a model of the objective" if proposed else "")
        + (f", {repeated} were repeats" if repeated else "")
        + (f", {outside} violated constraints" if outside else "")
    )


def objective_text(result: Result) -> str:
    """Return the formula of the objective, with its name if it has one."""
    name = f"{result.objective_name} = " if result.objective_name else ""
    return name + result.objective_formula


def formulas_of(result: Result) -> dict[str, str]:
    """Return the formulas of simulated constraints by name; of those that have one."""
    return {s.name: s.formula for s in result.simulated if s.formula}


def parameter_cells(result: Result) -> list[tuple[str, ...]]:
    """Return name, value and unit of the parameters' entries, and what the objective does."""
    slopes = {s.name: _sensitivity(s) for s in result.sensitivities}
    return [
        (label, number(value), p.unit or "-", slopes.get(label, "-"))
        for p in result.parameters
        for label, value in zip(p.element_names(), p.values.tolist(), strict=True)
    ]


def _sensitivity(s: ParameterSensitivity) -> str:
    """Return how the best objective changes; by formulas only if the simulator reads it, too."""
    if math.isnan(s.slope):
        return "unknown"
    if not s.complete:
        return f"{s.slope:.3g} by formulas alone"
    return f"{s.slope:.3g}" if math.isnan(s.error) else f"{s.slope:.3g} +- {s.error:.1g}"


def output_cells(result: Result) -> list[tuple[str, ...]]:
    """Return name, value and unit of every entry of the declared outputs."""
    return [(o.name, _output(o.value), o.unit or "-") for o in result.outputs_at_best]


def simulated_table(
    result: Result, violated: str = "violated"
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of the simulated constraints, with formulas if there are some."""
    cells = [simulated_cells(s, violated) for s in result.simulated]
    if not formulas_of(result):
        return SIMULATED_HEADER, cells
    rows = [(*c, s.formula or "-") for c, s in zip(cells, result.simulated, strict=True)]
    return (*SIMULATED_HEADER, "formula"), rows


def variable_cells(v: VariableAtBest) -> tuple[str, ...]:
    """Return name, value, unit and bounds of a variable."""
    value, bounds = v.domain.value_shown(v.value), map(v.domain.bound_shown, (v.lower, v.upper))
    return v.name, value, v.unit or "-", *bounds


def optimality_text(o: Optimality) -> str:
    """Return what speaks for the design being an optimum, in one sentence."""
    if o.neighbours is None:
        return _first_order_text(o)
    around = _neighbours_text(o.neighbours)
    if not o.radius:  # nothing is continuous
        return around
    return f"with the discrete variables held, {_first_order_text(o)}; {around}"


def _neighbours_text(n: Neighbourhood) -> str:
    """Say what is known of the designs with discrete variables changed."""
    total = n.simulated + n.infeasible + n.predicted + n.open
    text = (
        f"of its {total} neighbours with one or two discrete variables changed {n.simulated} are "
        f"simulated and not better, {n.infeasible} infeasible, {n.predicted} predicted to be worse"
    )
    return f"{text}, {n.open} not known" if n.open else text


def _first_order_text(o: Optimality) -> str:
    text = (
        f"to first order {o.gain:.2g} more is expected within {o.radius:g} deviations of it, "
        f"{o.residual:.1e} of the objective within one ({o.residual_not_excluded:.1e} is not "
        f"excluded), from {o.fresh_designs} designs around it"
    )
    if o.unknown_directions:
        text += f"; {o.unknown_directions} directions are not known"
    return text


def _activity(activity: Sequence[Activity], formulas: Mapping[str, str]) -> str:
    """Say what blocks the design, the largest gain first; simulated rows with their formulas.

    Gains are estimates to first order, by a model of the objective; where its error is as large,
    the table says so.
    """
    ordered = sorted(activity, key=lambda a: (-np.nan_to_num(a.gain, nan=-1.0), -a.repaired))
    lines: list[tuple[str, ...]] = [
        (
            a.name,
            f"{'violated ' * (a.kind == 'simulated')}{a.repaired} times",
            "-" if np.isnan(a.distance) else f"{a.distance:.2g} deviations",
            gain_text(a),
        )
        for a in ordered
    ]
    header: tuple[str, ...]
    header = ("what blocks the design", "repaired onto it", "by (median)", "gain per unit relaxed")
    if any(a.name in formulas for a in ordered):
        lines = [(*line, formulas.get(a.name, "-")) for line, a in zip(lines, ordered, strict=True)]
        header = (*header, "formula")
    return text_table(header, lines)


def gain_text(a: Activity) -> str:
    """Return the estimated gain with its uncertainty, in words where it is not certain."""
    if np.isnan(a.gain) and a.gain_error == 0:
        return "at the end of its list" if a.kind == "bound" else "only discrete variables in it"
    if np.isnan(a.gain):
        return "not estimated (too few calls)"
    if np.isnan(a.gain_error):
        return f"{a.gain:.3g} (error unknown)"
    if a.gain == 0 and a.gain_error == 0:
        return "0"
    doubt = "" if a.certain else ", uncertain"
    return f"{a.gain:.3g} +- {a.gain_error:.1g}{doubt}"


def simulated_cells(s: SimulatedAtBest, violated: str = "violated") -> tuple[str, ...]:
    """Return name, value and limits of a simulated constraint, and how far the nearer limit is."""
    margin = min(s.value - s.lower, s.upper - s.value)
    distance = f"{margin:.3g}" if s.holds else f"{violated} by {-margin:.3g}"
    return s.name, f"{s.value:.8g}", number(s.lower), number(s.upper), distance


def _output(value: Any) -> str:
    text = f"{value:.8g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _rows(rows: Sequence[RowAtBest], domains: Mapping[str, Domain]) -> str:
    lines = []
    for r in rows:
        domain = domains.get(r.name, REAL)
        at_upper = np.isfinite(r.upper) and (
            not np.isfinite(r.lower) or abs(r.upper - r.value) <= abs(r.value - r.lower)
        )
        sign, limit = ("<=", r.upper) if at_upper else (">=", r.lower)
        value = 0.0 if limit == 0 and r.kind != "equality" else r.value
        shown, end = domain.value_shown(value), f"{sign} {domain.bound_shown(limit)}"
        lines.append((r.name, shown, end, r.kind, r.source or "-"))
    return text_table(("active constraint", "value", "limit", "kind", "source"), lines)
