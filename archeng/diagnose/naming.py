"""From limits back to what the engineer wrote: names, demands, source lines."""

from __future__ import annotations

import numpy as np

from archeng.diagnose.conflict import Core
from archeng.diagnose.diagnosis import Conflict, Finding, Member
from archeng.diagnose.oracle import Oracle
from archeng.diagnose.relaxation import Change, changes
from archeng.diagnose.system import Kind, Limit, System
from archeng.diagnose.units import units_hint
from archeng.model import number

_FEW = 3  # rows of a conflict in which a slip of units is looked for


def named_conflict(oracle: Oracle, core: Core) -> Conflict:
    """Return a conflict in the words of the engineer, with its smallest changes."""
    system = oracle.system
    together, alone = changes(oracle, core)
    groups: dict[int, list[int]] = {}
    for k in core.limits:
        groups.setdefault(system.limits[k].quantity, []).append(k)
    points = oracle.first_points
    few = sum(q < system.m for q in groups) <= _FEW
    members = tuple(
        Member(
            name=system.quantities[q].name,
            demand=demand_of(system, limits),
            kind=str(system.limits[limits[0]].kind),
            source=system.quantities[q].source,
            change=_first(together, limits),
            alone=_first(alone, limits),
            witness=_witness(oracle, core, limits),
            note=_undefined_note(oracle, core, q) or (units_hint(system, q, points) if few else ""),
        )
        for q, limits in sorted(groups.items())
    )
    assumed = [statement(system, system.limits[k]) for k in core.signs]
    fixed = dict.fromkeys(text for q in groups for text in system.quantities[q].fixed)
    return Conflict(
        members=members,
        assumed=(*assumed, *fixed),
        proof=core.proof,
        minimal=all(m.witness is not None for m in members),
    )


def demand_of(system: System, limits: list[int]) -> str:
    """Return what the limits of one quantity ask for."""
    quantity = system.quantities[system.limits[limits[0]].quantity]
    if quantity.equality:
        middle, half = (quantity.lower + quantity.upper) / 2, (quantity.upper - quantity.lower) / 2
        return f"== {number(middle)} +- {half:.3g}"
    return " and ".join(_demand(system.limits[k]) for k in limits)


def statement(system: System, limit: Limit) -> str:
    """Return a limit as a sentence: ``x >= 2``."""
    return f"{system.quantities[limit.quantity].name} {_demand(limit)}"


def finding(system: System, quantity: int, text: str, proved: bool = True) -> Finding:
    """Return a finding about a row or a variable."""
    q = system.quantities[quantity]
    return Finding(q.name, text, q.source, proved)


def finding_at(system: System, k: int, text: str, proved: bool) -> Finding:
    """Return a finding about one limit of a row."""
    q = system.quantities[system.limits[k].quantity]
    return Finding(statement(system, system.limits[k]), text, q.source, proved)


def _demand(limit: Limit) -> str:
    return f"{'<=' if limit.side > 0 else '>='} {number(limit.value)}"


def _first(found: dict[int, Change], limits: list[int]) -> Change | None:
    return next((found[k] for k in limits if k in found), None)


def _witness(oracle: Oracle, core: Core, limits: list[int]) -> dict[str, float] | None:
    point = next((core.witnesses[k] for k in limits if k in core.witnesses), None)
    if point is None:
        return None
    return {n: float(v) for n, v in zip(oracle.system.names, point, strict=True)}


def _undefined_note(oracle: Oracle, core: Core, quantity: int) -> str:
    """Say so if a row is undefined wherever the other members hold, whatever its limit."""
    system = oracle.system
    guards = [guard for row, guard in system.guards if row == quantity]
    if not guards:
        return ""
    limits = []
    for k in (*core.limits, *core.signs):
        limit = system.limits[k]
        far = limit.quantity == quantity and limit.kind is Kind.ROW
        limits.append(Limit(quantity, limit.side, limit.side * 1e300, limit.kind) if far else limit)
    starts = [core.witnesses[k] for k in core.limits if k in core.witnesses]
    starts += oracle.starts(np.ones(len(system.limits), dtype=bool), 3)
    if oracle.reaches(limits, starts[:6]):
        return ""
    what = ", ".join(dict.fromkeys(guard.what for guard in guards))
    return f"undefined wherever the others hold, whatever its limit ({what})"
