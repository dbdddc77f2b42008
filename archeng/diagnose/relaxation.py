"""The smallest changes of limits that would remove a conflict, in the units of each row.

Found by elastic problems: all members may give at the cost of their size, or one member alone,
while the rest of the model holds. Equations cost ten times as much: limits are easier to change
than balances. Nonlinear answers are the smallest that were found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archeng.diagnose.conflict import Core, Group, groups_of, without
from archeng.diagnose.oracle import HOLDS, Oracle
from archeng.diagnose.system import Bools, Kind
from archeng.model.variable import Floats

_OTHERS = 1e5  # cost of a row that should not give, against 1
_EQUATION = 10.0
_NOISE = 1e-3  # changes this much smaller than the largest are errors of the solver
_STARTS = 2
_SHRINK = (10.0, 10.0, 10.0, 10.0, 3.0, 2.0, 1.4, 1.2, 1.1, 1.03, 1.01)


@dataclass(frozen=True)
class Change:
    """A limit moved to ``limit``; ``by`` is the distance.

    ``whole`` says whether the whole model is then consistent, not only the conflict.
    """

    limit: float
    by: float
    whole: bool


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Excess of each limit at a point that needs the least changes."""

    excess: Floats
    cost: float
    whole: bool


def changes(oracle: Oracle, core: Core) -> tuple[dict[int, Change], dict[int, Change]]:
    """Return the smallest changes of all members together, and of each member alone.

    Members that need no change, or whose change alone does not help, are left out. If the change
    of one member can make the whole model consistent, only those that can are returned alone.
    """
    for whole in (True, False):
        active = oracle.everything if whole else _mask(oracle, (*core.limits, *core.signs))
        alone: dict[int, Relaxed] = {}
        for group in groups_of(oracle, core.limits):
            relaxed = _alone(oracle, core, group, active, whole)
            if relaxed is not None:
                alone[group[int(np.argmax(relaxed.excess[list(group)]))]] = relaxed
        starts = list(core.witnesses.values())[:_STARTS]
        every = _least(oracle, active, _mask(oracle, core.limits), starts, whole)
        ways = [*alone.values(), *([] if every is None else [every])]
        if ways:
            best = min(ways, key=lambda r: r.cost * (1.0 + _NOISE * (r is every)))
            least = _NOISE * float(best.excess[list(core.limits)].max())
            together = {k: _change(oracle, k, best) for k in core.limits if best.excess[k] > least}
            return together, {k: _change(oracle, k, r) for k, r in alone.items()}
    return {}, {}


def _alone(oracle: Oracle, core: Core, group: Group, active: Bools, whole: bool) -> Relaxed | None:
    """Let one member give, then try to let it give less and less."""
    starts = [core.witnesses[k] for k in group[:1] if k in core.witnesses]
    found = _least(oracle, active, _mask(oracle, group), starts, whole)
    if found is None or not np.all(np.isfinite(found.excess[list(group)])):
        return None  # for instance because the row is undefined there, whatever its limit
    if np.all(oracle.linear.usable[active]):
        return found
    return _shrunk(oracle, active, max(group, key=lambda k: float(found.excess[k])), found)


def _shrunk(oracle: Oracle, active: Bools, k: int, found: Relaxed) -> Relaxed:
    """Divide the change by smaller and smaller factors while the rest can still hold."""
    system = oracle.system
    limit, size = system.limits[k], float(system.size[system.limits[k].quantity])
    best, cost = float(found.excess[k]), found.cost / float(found.excess[k])
    chosen = [int(j) for j in np.flatnonzero(active)]
    for factor in _SHRINK:
        while best > HOLDS:
            moved = replace(limit, value=limit.value + limit.side * size * best / factor)
            limits = [moved if j == k else system.limits[j] for j in chosen]
            if not oracle.reaches(limits, oracle.starts(without(active, [k]), 1)):
                break
            best /= factor
    excess = found.excess.copy()
    excess[k] = best
    return replace(found, excess=excess, cost=cost * best)


def _least(
    oracle: Oracle, active: Bools, gives: Bools, starts: list[Floats], whole: bool
) -> Relaxed | None:
    """Point at which all active limits hold but those that may give, which give least."""
    system = oracle.system
    held = active & ~gives
    bounds = np.array([limit.kind is Kind.BOUND for limit in system.limits])
    equations = np.array([system.quantities[limit.quantity].equality for limit in system.limits])
    price = np.where(equations, _EQUATION, 1.0)
    weights = np.where(gives, price, np.where(bounds, np.inf, _OTHERS))
    if np.all(oracle.linear.usable[active]):
        answer = oracle.linear.solve(active, weights)
        answers = [] if answer is None else [answer.x]
    else:
        known = oracle.known_point(held)
        begin = [*starts, *([] if known is None else [known]), *oracle.starts(active, _STARTS)]
        found = [oracle.nonlinear_with_bounds.solve(active, start, weights) for start in begin]
        answers = [a.x for a in found if a is not None] + ([] if known is None else [known])
    if not answers:
        return None
    excess = oracle.remember(np.array(answers))
    good = np.all(excess[:, held] <= HOLDS, axis=1)
    paid = np.where(gives & active, np.maximum(excess, 0.0) * price, 0.0)
    cost = np.where(good, paid.sum(axis=1), np.inf)
    best = int(np.argmin(cost))
    return Relaxed(excess[best], float(cost[best]), whole) if np.isfinite(cost[best]) else None


def _change(oracle: Oracle, k: int, relaxed: Relaxed) -> Change:
    limit = oracle.system.limits[k]
    quantity = oracle.system.quantities[limit.quantity]
    by = max(float(relaxed.excess[k]), 0.0) * float(oracle.system.size[limit.quantity])
    old = (quantity.lower + quantity.upper) / 2 if quantity.equality else limit.value
    return Change(float(old + limit.side * by), by, relaxed.whole)


def _mask(oracle: Oracle, chosen: tuple[int, ...]) -> Bools:
    mask = np.zeros(len(oracle.system.limits), dtype=bool)
    mask[list(chosen)] = True
    return mask
