"""A minimal set of limits that cannot hold together (an irreducible infeasible subset).

A first set comes from the multipliers of an elastic problem, in which the rows may give at a
cost. It is completed until it is in conflict by itself, then reduced by a *deletion filter*: a
limit is dropped if the others cannot hold without it either (an equality with both its sides).
What is left is minimal: for each member a point is known at which all the others hold.

Variables keep their signs throughout.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.diagnose.contract import proves_conflict
from archeng.diagnose.oracle import HOLDS, INTERVALS, LINEAR_PROGRAM, Answer, Oracle
from archeng.diagnose.system import Bools, Kind
from archeng.model.variable import Floats

logger = logging.getLogger(__name__)

Group = tuple[int, ...]

_RELEVANT = 1e-7  # least multiplier of a limit that takes part in a conflict
_ROUNDS = 20
_CHEAP = 60  # searches after which one order of deletions must do


@dataclass(frozen=True, eq=False)
class Core:
    """A conflict as a set of limits.

    Attributes
    ----------
    limits : tuple of int
        Rows and bounds.
    signs : tuple of int
        Signs that the variables of the members keep; those that a proof does not need are left
        out, the others may be more than needed.
    witnesses : dict
        For each member a point (n,) at which all other members hold.
    proof : str
        What proves that they cannot hold together; empty if no point was found, no more.
    certain : str
        What proves that they cannot hold within all the bounds of the model: then it has no
        design, even if the conflict itself is not proved.
    """

    limits: tuple[int, ...]
    signs: tuple[int, ...]
    witnesses: dict[int, Floats]
    proof: str
    certain: str = ""


def find_cores(oracle: Oracle, most: int) -> list[Core]:
    """Return minimal conflicts, each without the rows and bounds of those before."""
    system = oracle.system
    within = oracle.everything
    found: list[Core] = []
    while len(found) < most:
        core = find_core(oracle, within)
        if not isinstance(core, Core):
            break
        found.append(core)
        named = {system.limits[k].quantity for k in core.limits}
        within &= np.array([limit.quantity not in named for limit in system.limits])
    return found


def find_core(oracle: Oracle, within: Bools, starts: int = 3) -> Core | Answer:
    """Return a minimal conflict among the limits ``within``, or a point at which they all hold."""
    answer = oracle.quick(within)
    if answer is not None and answer.consistent:
        return answer
    proof = "" if answer is None else answer.proof
    if proof:
        chosen = within
        if proof == LINEAR_PROGRAM:
            chosen = _linear_candidates(oracle, within)
    else:
        chosen = _pulling(oracle, within, starts)
    for _ in range(_ROUNDS):
        grown = _grown(oracle, chosen, within, starts)
        if isinstance(grown, Answer):
            return grown
        chosen = _with_both_sides(oracle, grown) & within
        core = _reduced(oracle, chosen, starts, rows_first=True)
        if core is not None:
            other = None
            if oracle.attempts < _CHEAP:
                other = _reduced(oracle, chosen, starts, rows_first=False)
            return core if other is None else min((core, other), key=lambda c: _length(oracle, c))
        logger.debug("a limit was dropped too early; filtering again with the new point")
    return Core(tuple(int(k) for k in np.flatnonzero(chosen & ~_signs(oracle))), (), {}, proof)


def _reduced(oracle: Oracle, chosen: Bools, starts: int, rows_first: bool) -> Core | None:
    """Return a minimal conflict; None if a point turns up at which its members hold."""
    rest, witnesses = _filtered(oracle, chosen, starts, rows_first)
    confirmed = oracle.ask(rest, 4 * starts)
    return None if confirmed.consistent else _core(oracle, rest, witnesses, confirmed.proof)


def _length(oracle: Oracle, core: Core) -> tuple[int, int]:
    """Few rows first, then few members: the shorter the better to read."""
    rows = sum(oracle.system.limits[k].kind is Kind.ROW for k in core.limits)
    return rows, len(core.limits)


def _linear_candidates(oracle: Oracle, within: Bools) -> Bools:
    """Linear limits with a multiplier in the elastic linear program; signs are always there."""
    answer = oracle.linear.solve(within & oracle.linear.usable)
    if answer is None or answer.give.sum() <= HOLDS:
        return within  # the proof needs terms of nonlinear rows
    chosen = within & ((answer.weight > _RELEVANT) | _signs(oracle))
    check = oracle.linear.solve(chosen)
    return chosen if check is not None and check.give.sum() > HOLDS else within


def _pulling(oracle: Oracle, within: Bools, starts: int) -> Bools:
    """Limits that pull at the best elastic point, and all signs."""
    answers = oracle.descents(within, starts)
    chosen = within & _signs(oracle)
    if answers:
        best = min(answers, key=lambda a: float(a.give.sum()))
        chosen |= within & ((best.weight > _RELEVANT) | (best.give > HOLDS))
    return chosen


def _grown(oracle: Oracle, chosen: Bools, within: Bools, starts: int) -> Bools | Answer:
    """Add what is violated at points where the chosen limits hold, until there is none."""
    while True:
        answer = oracle.ask(chosen, starts)
        if answer.point is None:
            return chosen
        excess = np.where(within & ~chosen, oracle.system.excess(answer.point[None, :])[0], -np.inf)
        if excess.max(initial=-np.inf) <= HOLDS:
            return answer
        chosen = chosen | (excess >= max(0.5 * min(float(excess.max()), 1e3), HOLDS))


def _filtered(
    oracle: Oracle, first: Bools, starts: int, rows_first: bool
) -> tuple[Bools, dict[int, Floats]]:
    """Drop limits one by one while the others stay in conflict; proofs first, then searches."""
    order = _order(oracle, first, rows_first)
    kept = _proved_rest(oracle, first, order)
    witnesses: dict[int, Floats] = {}
    for group in order:
        if not kept[group[0]]:
            continue
        trial = without(kept, group)
        answer = oracle.ask(trial, starts)
        if answer.point is None:
            kept = trial
        else:
            witnesses.update(dict.fromkeys(group, answer.point))
    return _with_signs(oracle, kept), witnesses


def _proved_rest(oracle: Oracle, kept: Bools, part: list[Group]) -> Bools:
    """Drop what a proof does not need: a whole part at once, or else its two halves."""
    trial = without(kept, [k for group in part for k in group])
    answer = oracle.quick(trial)
    if answer is not None and not answer.consistent:
        return trial
    if len(part) <= 1:
        return kept
    half = len(part) // 2
    return _proved_rest(oracle, _proved_rest(oracle, kept, part[:half]), part[half:])


def _with_signs(oracle: Oracle, kept: Bools) -> Bools:
    """Drop the signs of variables that do not occur, or that a proof does not need."""
    system = oracle.system
    members = [system.limits[k].quantity for k in np.flatnonzero(kept & ~_signs(oracle))]
    occur = {i for q in members for i in system.quantities[q].variables}
    for k in np.flatnonzero(kept & _signs(oracle)):
        trial = without(kept, [int(k)])
        if system.limits[k].quantity - system.m not in occur:
            kept = trial
            continue
        answer = oracle.quick(trial)
        if answer is not None and not answer.consistent:
            kept = trial
    return kept


def _order(oracle: Oracle, first: Bools, rows_first: bool) -> list[Group]:
    """Return the order in which limits other than signs are tried."""
    limits = oracle.system.limits
    groups = groups_of(oracle, [int(k) for k in np.flatnonzero(first & ~_signs(oracle))])
    return sorted(groups, key=lambda g: (limits[g[0]].kind is Kind.ROW) != rows_first)


def groups_of(oracle: Oracle, limits: Sequence[int]) -> list[Group]:
    """Return limits as they are dropped: both sides of an equality together, others alone."""
    system = oracle.system
    found: dict[tuple[int, int], list[int]] = {}
    for k in limits:
        quantity = system.limits[k].quantity
        equal = system.quantities[quantity].equality
        found.setdefault((quantity, 0 if equal else k + 1), []).append(k)
    return [tuple(group) for group in found.values()]


def _with_both_sides(oracle: Oracle, chosen: Bools) -> Bools:
    """Add the other side of every equality of which one side is chosen."""
    system = oracle.system
    taken = {system.limits[k].quantity for k in np.flatnonzero(chosen)}
    both = [
        limit.quantity in taken and system.quantities[limit.quantity].equality
        for limit in system.limits
    ]
    return np.asarray(chosen | np.array(both, dtype=bool), dtype=bool)


def without(active: Bools, dropped: Sequence[int]) -> Bools:
    """Return the active limits without some of them."""
    rest = active.copy()
    rest[list(dropped)] = False
    return rest


def _signs(oracle: Oracle) -> Bools:
    return np.array([limit.kind is Kind.SIGN for limit in oracle.system.limits], dtype=bool)


def _core(oracle: Oracle, kept: Bools, witnesses: dict[int, Floats], proof: str) -> Core:
    if not proof and proves_conflict(oracle.system, kept, split=True):
        proof = INTERVALS
    certain = proof
    if not certain:
        bounds = np.array([limit.kind is Kind.BOUND for limit in oracle.system.limits])
        if proves_conflict(oracle.system, kept | bounds | _signs(oracle), split=True):
            certain = INTERVALS
    signs = _signs(oracle)
    members = tuple(int(k) for k in np.flatnonzero(kept & ~signs))
    needed = tuple(int(k) for k in np.flatnonzero(kept & signs))
    points = {k: witnesses[k] for k in members if k in witnesses}
    return Core(members, needed, points, proof, certain)
