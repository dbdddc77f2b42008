"""From a conflict of limits to what the engineer reads: names, demands, smallest changes, hints.

The smallest changes that would remove a conflict, in the units of each row, come from elastic
programs: all members may give at the cost of their size, or one member alone, while the rest of
the model holds. Equations cost ten times as much: limits are easier to change than balances.
Nonlinear answers are the smallest that were found.

A slip of units is suspected if a row is typically far from what it is compared with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from archeng.diagnose.conflict import Core, Group, groups_of, without
from archeng.diagnose.diagnosis import Change, Conflict, Member
from archeng.diagnose.limits import Bools, Limit, LimitKind, LimitSystem, Quantity
from archeng.diagnose.oracle import HOLDS, Oracle
from archeng.model import number
from archeng.model.variable import Floats

_OTHERS = 1e5  # cost of a row that should not give, against 1
_EQUATION = 10.0  # cost of an equation that gives
_NOISE = 1e-3  # changes this much smaller than the largest are errors of the solver
_STARTS = 2  # of each elastic program, besides points at which the others hold
_SHRINK = (10.0, 10.0, 10.0, 10.0, 3.0, 2.0, 1.4, 1.2, 1.1, 1.03, 1.01)
"""Factors by which a change is made smaller, each as often as that works."""
_FACTORS = {  # between two units, and which
    9.80665: "kgf and N",
    25.4: "inch and mm",
    60.0: "minutes and seconds",
    100.0: "cm and m, or percent",
    1e3: "kilo, or mm and m",
    3600.0: "hours and seconds",
    1e6: "mega, or mm2 and m2",
    1e9: "giga, or mm3 and m3",
}
_THOUSANDS = (1e3, 1e6, 1e9)  # the usual slips; others only if they are much nearer
_SUSPICIOUS = 20.0  # a row that is typically this many times its limit
_FEW = 3  # rows of a conflict in which a slip of units is looked for


def explained(oracle: Oracle, core: Core) -> Conflict:
    """Return a conflict in the words of the engineer, with its smallest changes."""
    system = oracle.system
    together, alone = _changes(oracle, core)
    groups: dict[int, list[int]] = {}
    for k in core.limits:
        groups.setdefault(system.limits[k].quantity, []).append(k)
    few = sum(q < system.m for q in groups) <= _FEW
    members = []
    for q, limits in groups.items():
        quantity = system.quantities[q]
        witness = next((core.witnesses[k] for k in limits if k in core.witnesses), None)
        members.append(
            Member(
                name=quantity.name,
                demand=demands(quantity, [system.limits[k] for k in limits]),
                kind=str(system.limits[limits[0]].kind),
                source=quantity.source,
                change=next((together[k] for k in limits if k in together), None),
                alone=next((alone[k] for k in limits if k in alone), None),
                witness=None if witness is None else system.by_name(witness),
                note=_undefined(oracle, core, q) or (_slip_of_units(oracle, q) if few else ""),
            )
        )
    fixed = dict.fromkeys(text for q in groups for text in system.quantities[q].fixed)
    return Conflict(
        members=tuple(members),
        assumed=(*dict.fromkeys(statement(system, k) for k in core.signs), *fixed),
        proof=core.proof,
        minimal=all(m.witness is not None for m in members),
    )


def statement(system: LimitSystem, k: int) -> str:
    """Return a limit as a sentence: ``x >= 2``; of a list, what is in it."""
    quantity = system.quantities[system.limits[k].quantity]
    if quantity.listed:
        return f"{quantity.name} is {quantity.listed}"
    return f"{system.quantities[system.limits[k].quantity].name} {_demand(system.limits[k])}"


def _demand(limit: Limit) -> str:
    return f"{'<=' if limit.side > 0 else '>='} {number(limit.value)}"


def demands(quantity: Quantity, limits: list[Limit]) -> str:
    """Return what the limits of one quantity ask for."""
    if quantity.equality:
        middle, half = (quantity.lower + quantity.upper) / 2, (quantity.upper - quantity.lower) / 2
        return f"== {number(middle)} +- {half:.3g}"
    return " and ".join(_demand(limit) for limit in limits)


def _undefined(oracle: Oracle, core: Core, quantity: int) -> str:
    """Say so if a row is undefined wherever the other members hold, whatever its limit."""
    system = oracle.system
    guards = [guard for row, guard in system.guards if row == quantity]
    if not guards:
        return ""
    members = (system.limits[k] for k in (*core.limits, *core.signs))
    limits = tuple(
        replace(limit, value=limit.side * 1e300) if limit.quantity == quantity else limit
        for limit in members
    )
    starts = [core.witnesses[k] for k in core.limits if k in core.witnesses]
    starts += oracle.starts(system.everything, 3)
    if oracle.reaches(replace(system, limits=limits), starts[:6]):
        return ""
    what = ", ".join(dict.fromkeys(guard.what for guard in guards))
    return f"undefined wherever the others hold, whatever its limit ({what})"


# -- the smallest changes ----------------------------------------------------------------------


class _Relaxed(NamedTuple):
    """Excess of each limit at a point that needs the least changes."""

    excess: Floats
    cost: float


def _changes(oracle: Oracle, core: Core) -> tuple[dict[int, Change], dict[int, Change]]:
    """Return the smallest changes of all members together, and of each member alone.

    Members that need no change, or whose change alone does not help, are left out. If the change
    of one member can make the whole model consistent, only those that can are returned alone.
    """
    system = oracle.system
    for whole in (True, False):
        active = system.everything if whole else system.only((*core.limits, *core.signs))
        alone: dict[int, _Relaxed] = {}
        for group in groups_of(system, core.limits):
            relaxed = _alone(oracle, core, group, active)
            if relaxed is not None:
                alone[group[int(np.argmax(relaxed.excess[list(group)]))]] = relaxed
        starts = list(core.witnesses.values())[:_STARTS]
        every = _least(oracle, active, system.only(core.limits), starts)
        ways = [*alone.values(), *([] if every is None else [every])]
        if ways:
            best = min(ways, key=lambda r: r.cost * (1.0 + _NOISE * (r is every)))
            least = _NOISE * float(best.excess[list(core.limits)].max())
            moved = [k for k in core.limits if best.excess[k] > least]
            together = {k: _change(system, k, best, whole) for k in moved}
            return together, {k: _change(system, k, r, whole) for k, r in alone.items()}
    return {}, {}


def _alone(oracle: Oracle, core: Core, group: Group, active: Bools) -> _Relaxed | None:
    """Let one member give, then try to let it give less and less."""
    starts = [core.witnesses[k] for k in group[:1] if k in core.witnesses]
    relaxed = _least(oracle, active, oracle.system.only(group), starts)
    if relaxed is None or not np.all(np.isfinite(relaxed.excess[list(group)])):
        return None  # for instance because the row is undefined there, whatever its limit
    if np.all(oracle.linear.usable[active]):
        return relaxed
    return _shrunk(oracle, active, max(group, key=lambda k: float(relaxed.excess[k])), relaxed)


def _shrunk(oracle: Oracle, active: Bools, k: int, relaxed: _Relaxed) -> _Relaxed:
    """Divide the change by smaller and smaller factors while the rest can still hold."""
    system = oracle.system
    limit, size = system.limits[k], float(system.size[system.limits[k].quantity])
    best, cost = float(relaxed.excess[k]), relaxed.cost / float(relaxed.excess[k])
    for factor in _SHRINK:
        while best > HOLDS:
            moved = system.with_limit(k, value=limit.value + limit.side * size * best / factor)
            limits = tuple(moved.limits[j] for j in np.flatnonzero(active))
            starts = oracle.starts(without(active, [k]), 1)
            if not oracle.reaches(replace(system, limits=limits), starts):
                break
            best /= factor
    excess = relaxed.excess.copy()
    excess[k] = best
    return _Relaxed(excess, cost * best)


def _least(oracle: Oracle, active: Bools, gives: Bools, starts: list[Floats]) -> _Relaxed | None:
    """Point at which all active limits hold but those that may give, which give least."""
    system = oracle.system
    held = active & ~gives
    price = np.where(system.equality, _EQUATION, 1.0)
    stiff = np.where(system.of_kind(LimitKind.BOUND), np.inf, _OTHERS)
    weights = np.where(gives, price, stiff)
    if np.all(oracle.linear.usable[active]):
        solution = oracle.linear.solve(active, weights)
        points = [] if solution is None else [solution.x]
    else:
        inside = oracle.remembered(held)
        more = [] if inside is None else [inside]
        program = oracle.nonlinear_with_bounds
        begin = [*starts, *more, *oracle.starts(active, _STARTS)]
        solutions = [program.solve(system, active, start, weights) for start in begin]
        points = [s.x for s in solutions if s is not None] + more
    if not points:
        return None
    excess = oracle.remember(np.array(points))
    good = np.all(excess[:, held] <= HOLDS, axis=1)
    paid = np.where(gives & active, np.maximum(excess, 0.0) * price, 0.0)
    cost = np.where(good, paid.sum(axis=1), np.inf)
    best = int(np.argmin(cost))
    return _Relaxed(excess[best], float(cost[best])) if np.isfinite(cost[best]) else None


def _change(system: LimitSystem, k: int, relaxed: _Relaxed, whole: bool) -> Change:
    limit = system.limits[k]
    quantity = system.quantities[limit.quantity]
    by = max(float(relaxed.excess[k]), 0.0) * float(system.size[limit.quantity])
    old = (quantity.lower + quantity.upper) / 2 if quantity.equality else limit.value
    return Change(float(old + limit.side * by), by, whole)


# -- slips of units ----------------------------------------------------------------------------


def _slip_of_units(oracle: Oracle, row: int) -> str:
    """Say which factor to check if a row is typically far from what it is compared with."""
    system, points = oracle.system, oracle.first_points
    if row >= system.m:
        return ""
    left, right, what = _compared(system, row, points)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = left / right
    good = ratio[np.isfinite(ratio) & (ratio > 0)]
    if len(good) < len(points) / 2:
        return ""
    typical = float(np.median(good))
    size = max(typical, 1 / typical)
    if size < _SUSPICIOUS:
        return ""
    near = min(_FACTORS, key=lambda f: abs(np.log(f / size)) + (f not in _THOUSANDS) * 0.8)
    than = "times" if typical > 1 else "times smaller than"
    return (
        f"{what[0]} is typically {float(f'{size:.2g}'):g} {than} {what[1]}: check the units "
        f"(a factor of {near:g}: {_FACTORS[near]}?)"
    )


def _compared(
    system: LimitSystem, row: int, points: Floats
) -> tuple[Floats, Floats, tuple[str, str]]:
    """Return the two things that a row compares at the points, and what they are."""
    quantity = system.quantities[row]
    limits = [v for v in (quantity.lower, quantity.upper) if np.isfinite(v)]
    limit = float(np.mean(limits)) if limits else np.nan
    if limit != 0.0 and not (quantity.equality and abs(limit) < 1e-300):
        values = system.values(points)[:, row]
        return values, np.full(len(points), limit), ("it", "its limit")
    pairs = np.array([system.compared(p).full()[row] for p in points])
    return pairs[:, 0], pairs[:, 1], ("its left side", "its right side")
