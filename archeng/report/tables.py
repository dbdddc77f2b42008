"""The text of ``print(result)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from archeng.model.tables import number, text_table
from archeng.records import (
    Activity,
    CallRecord,
    RowAtBest,
    SimulatedAtBest,
    VariableAtBest,
)
from archeng.surrogate import Optimality


def result_table(
    name: str,
    status: str,
    message: str,
    objective: float,
    variables: Sequence[VariableAtBest],
    rows: Sequence[RowAtBest],
    evaluations: Sequence[CallRecord],
    n_infeasible_calls: int,
    simulated: Sequence[SimulatedAtBest] = (),
    outputs: Mapping[str, Any] | None = None,
    activity: Sequence[Activity] = (),
    optimality: Optimality | None = None,
) -> str:
    """Design with units, simulated constraints, active constraints, calls used."""
    parts = [
        f"{name}: {status}",
        message,
        f"objective {objective:.10g} after {len(evaluations)} simulator calls, "
        f"{n_infeasible_calls} of them at infeasible designs",
    ]
    if optimality is not None:
        parts.append(optimality_text(optimality))
    if variables:
        parts += ["", _variables(variables)]
    if simulated:
        parts += ["", _simulated(simulated)]
        count = sum(bool(e.violated) for e in evaluations)
        parts.append(f"{count} of {len(evaluations)} calls violated a simulated constraint")
    if outputs:
        parts += ["", text_table(("output", "value"), [(k, _short(v)) for k, v in outputs.items()])]
    active = [r for r in rows if r.active]
    if active:
        parts += ["", _rows(active)]
    if any(a.active for a in activity):
        parts += ["", activity_table([a for a in activity if a.active])]
    if any(np.isfinite(r.value) for r in rows):
        parts += ["", f"{len(rows) - len(active)} of {len(rows)} constraints are not active"]
    if evaluations:
        kinds = Counter(e.repair_kind for e in evaluations)
        drawn, outside = kinds.pop("feasible", 0), kinds.pop("unrepaired", 0)
        proposed = kinds.pop("proposed", 0)
        how = ", ".join(f"{n} to the {k}" for k, n in sorted(kinds.items()))
        parts.append(
            f"{drawn} simulated designs were feasible as sampled, {sum(kinds.values())} were "
            f"repaired{f' ({how})' if how else ''}"
            + (f", {proposed} were proposed by a model of the objective" if proposed else "")
            + (f", {outside} violated constraints" if outside else "")
        )
        bad = [e for e in evaluations if e.status != "ok"]
        if bad:
            last = bad[-1].message.strip().splitlines()[-1:]
            parts.append(f"{len(bad)} calls did not end well; the last: {' '.join(last)}")
    return "\n".join(parts)


def _variables(variables: Sequence[VariableAtBest]) -> str:
    lines = [
        (v.name, f"{v.value:.8g}", v.unit or "-", number(v.lower), number(v.upper))
        for v in variables
    ]
    return text_table(("variable", "value", "unit", "lower", "upper"), lines)


def optimality_text(o: Optimality) -> str:
    """Return what speaks for the design being an optimum, in one sentence."""
    text = (
        f"to first order {o.gain:.2g} more is expected within {o.radius:g} deviations of it, "
        f"{o.residual:.1e} of the objective within one ({o.residual_not_excluded:.1e} is not "
        f"excluded), from {o.fresh_designs} designs around it"
    )
    if o.unknown_directions:
        text += f"; {o.unknown_directions} directions are not known"
    return text


def activity_table(activity: Sequence[Activity]) -> str:
    """Say what blocks the design, the largest gain first.

    Gains are estimates to first order, by a model of the objective; where its error is as large,
    the table says so.
    """
    ordered = sorted(activity, key=lambda a: (-np.nan_to_num(a.gain, nan=-1.0), -a.repaired))
    lines = [(a.name, _times(a), _distance(a), gain_text(a)) for a in ordered]
    header = ("what blocks the design", "repaired onto it", "by (median)", "gain per unit relaxed")
    return text_table(header, lines)


def _times(a: Activity) -> str:
    what = "violated " if a.kind == "simulated" else ""
    return f"{what}{a.repaired} times"


def _distance(a: Activity) -> str:
    return "-" if np.isnan(a.distance) else f"{a.distance:.2g} deviations"


def gain_text(a: Activity) -> str:
    """Return the estimated gain with its uncertainty, in words where it is not certain."""
    if np.isnan(a.gain):
        return "not estimated (too few calls)"
    if np.isnan(a.gain_error):
        return f"{a.gain:.3g} (error unknown)"
    if a.gain == 0 and a.gain_error == 0:
        return "0"
    doubt = "" if a.certain else ", uncertain"
    return f"{a.gain:.3g} +- {a.gain_error:.1g}{doubt}"


def _simulated(simulated: Sequence[SimulatedAtBest]) -> str:
    lines = [
        (s.name, f"{s.value:.8g}", number(s.lower), number(s.upper), _margin(s)) for s in simulated
    ]
    return text_table(("simulated constraint", "value", "lower", "upper", "margin"), lines)


def _margin(s: SimulatedAtBest) -> str:
    """Distance from the nearer limit, or that it is violated."""
    margin = min(s.value - s.lower, s.upper - s.value)
    return f"{margin:.3g}" if s.holds else f"VIOLATED by {-margin:.3g}"


def _short(value: Any) -> str:
    text = f"{value:.8g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _rows(rows: Sequence[RowAtBest]) -> str:
    lines = []
    for r in rows:
        at_upper = np.isfinite(r.upper) and (
            not np.isfinite(r.lower) or abs(r.upper - r.value) <= abs(r.value - r.lower)
        )
        limit = ("<= " if at_upper else ">= ") + number(r.upper if at_upper else r.lower)
        reached = r.upper if at_upper else r.lower
        value = 0.0 if reached == 0 and r.kind != "equality" else r.value
        lines.append((r.name, f"{value:.8g}", limit, r.kind, r.source or "-"))
    return text_table(("active constraint", "value", "limit", "kind", "source"), lines)
