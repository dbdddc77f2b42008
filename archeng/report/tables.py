"""The text of ``print(result)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from archeng.model.tables import number, text_table
from archeng.records import Evaluation, RowAtBest, VariableAtBest


def result_table(
    name: str,
    status: str,
    message: str,
    objective: float,
    variables: Sequence[VariableAtBest],
    rows: Sequence[RowAtBest],
    evaluations: Sequence[Evaluation],
    n_infeasible_calls: int,
) -> str:
    """Design with units, active constraints, calls used."""
    parts = [
        f"{name}: {status}",
        f"stopped because {message}",
        f"objective {objective:.10g} after {len(evaluations)} simulator calls, "
        f"{n_infeasible_calls} of them at infeasible designs",
    ]
    if variables:
        parts += ["", _variables(variables)]
    active = [r for r in rows if r.active]
    if active:
        parts += ["", _rows(active)]
    if rows:
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
