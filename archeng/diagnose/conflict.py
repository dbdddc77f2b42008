"""A minimal set of limits that cannot hold together (an irreducible infeasible subset).

A first set comes from the multipliers of an elastic program, in which the rows may give at a
cost. It is completed until it is in conflict by itself, then reduced by a *deletion filter*
[CD91]: a limit is dropped if the others cannot hold without it either (an equality with both its
sides). What is left is minimal: for each member there is a point at which all the others hold.

Variables keep their signs throughout.

[CD91] J. W. Chinneck, E. W. Dravnieks, Locating minimal infeasible constraint sets in linear
programs, ORSA Journal on Computing 3, 1991, doi:10.1287/ijoc.3.2.157.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from archeng.diagnose.intervals import proves_conflict
from archeng.diagnose.limits import Bools, LimitKind, LimitSystem
from archeng.diagnose.oracle import HOLDS, INTERVALS, LINEAR_PROGRAM, Oracle
from archeng.model.variable import Floats

logger = logging.getLogger(__name__)

Group = tuple[int, ...]
"""Limits that are dropped together."""

_RELEVANT = 1e-7  # least multiplier of a limit that takes part in a conflict
_STARTS = 3  # of each search; four times as many confirm that a conflict is one
_ROUNDS = 20  # filters, each with a new point that showed the one before to be wrong
_CHEAP = 60  # searches after which one order of deletions must do


@dataclass(frozen=True, eq=False)
class Core:
    """A conflict as a set of limits.

    The variables of the members keep their ``signs``; those that a proof does not need are left
    out, the others may be more than needed. ``certain`` is what proves that the members cannot
    hold within all the bounds of the model: then it has no design, even if the conflict itself is
    not proved.
    """

    limits: tuple[int, ...]  # rows and bounds
    signs: tuple[int, ...]
    witnesses: dict[int, Floats]  # for each member a point (n,) at which all others hold
    proof: str  # that they cannot hold together; empty if no point was found, no more
    certain: str = ""


def find_cores(oracle: Oracle, most: int) -> list[Core]:
    """Return minimal conflicts, each without the rows and bounds of those before."""
    quantity, within = oracle.system.quantity, oracle.system.everything
    cores: list[Core] = []
    while len(cores) < most:
        core = find_core(oracle, within)
        if core is None:
            break
        cores.append(core)
        within &= ~np.isin(quantity, quantity[list(core.limits)])
    return cores


def find_core(oracle: Oracle, within: Bools) -> Core | None:
    """Return a minimal conflict among the limits ``within``; None if a point is found."""
    point, proof = oracle.quick(within)
    if point is not None:
        return None
    if proof == LINEAR_PROGRAM:
        chosen = _linear_candidates(oracle, within)
    else:
        chosen = within if proof else _pulling(oracle, within)
    quantity, equality = oracle.system.quantity, oracle.system.equality
    for _ in range(_ROUNDS):
        grown = _grown(oracle, chosen, within)
        if grown is None:
            return None
        both_sides = np.isin(quantity, quantity[grown]) & equality
        chosen = (grown | both_sides) & within
        core = _reduced(oracle, chosen, rows_first=True)
        if core is not None:
            other = None
            if oracle.attempts < _CHEAP:
                other = _reduced(oracle, chosen, rows_first=False)
            return core if other is None else min((core, other), key=lambda c: _length(oracle, c))
        logger.debug("a limit was dropped too early; filtering again with the new point")
    return Core(_indices(chosen & ~_signs(oracle)), (), {}, proof)


def _reduced(oracle: Oracle, chosen: Bools, rows_first: bool) -> Core | None:
    """Return a minimal conflict; None if a point turns up at which its members hold."""
    kept, witnesses = _filtered(oracle, chosen, rows_first)
    point, proof = oracle.ask(kept, 4 * _STARTS)
    if point is not None:
        return None
    system, signs = oracle.system, _signs(oracle)
    if not proof and proves_conflict(system, kept, split=True):
        proof = INTERVALS
    certain, inside = proof, kept | ~system.of_kind(LimitKind.ROW)
    if not certain and proves_conflict(system, inside, split=True):
        certain = INTERVALS
    members = _indices(kept & ~signs)
    points = {k: witnesses[k] for k in members if k in witnesses}
    return Core(members, _indices(kept & signs), points, proof, certain)


def _length(oracle: Oracle, core: Core) -> tuple[int, int]:
    """Few rows first, then few members: the shorter the better to read."""
    rows = sum(oracle.system.limits[k].kind is LimitKind.ROW for k in core.limits)
    return rows, len(core.limits)


def _linear_candidates(oracle: Oracle, within: Bools) -> Bools:
    """Linear limits with a multiplier in the elastic linear program; signs are always there."""
    elastic = oracle.linear.solve(within & oracle.linear.usable)
    if elastic is None or elastic.give.sum() <= HOLDS:
        return within  # the proof needs terms of nonlinear rows
    chosen = within & ((elastic.weight > _RELEVANT) | _signs(oracle))
    check = oracle.linear.solve(chosen)
    return chosen if check is not None and check.give.sum() > HOLDS else within


def _pulling(oracle: Oracle, within: Bools) -> Bools:
    """Limits that pull at the best elastic point, and all signs."""
    solutions = oracle.descents(within, _STARTS)
    chosen = within & _signs(oracle)
    if solutions:
        best = min(solutions, key=lambda s: float(s.give.sum()))
        chosen |= within & ((best.weight > _RELEVANT) | (best.give > HOLDS))
    return chosen


def _grown(oracle: Oracle, chosen: Bools, within: Bools) -> Bools | None:
    """Add what is violated where the chosen limits hold, until they cannot; None if all hold."""
    while True:
        point = oracle.ask(chosen, _STARTS).point
        if point is None:
            return chosen
        excess = np.where(within & ~chosen, oracle.system.excess(point[None, :])[0], -np.inf)
        if excess.max(initial=-np.inf) <= HOLDS:
            return None
        chosen = chosen | (excess >= max(0.5 * min(float(excess.max()), 1e3), HOLDS))


def _filtered(oracle: Oracle, first: Bools, rows_first: bool) -> tuple[Bools, dict[int, Floats]]:
    """Drop limits one by one while the others stay in conflict; proofs first, then searches."""
    limits = oracle.system.limits
    groups = groups_of(oracle.system, _indices(first & ~_signs(oracle)))
    order = sorted(groups, key=lambda g: (limits[g[0]].kind is LimitKind.ROW) != rows_first)
    kept = _proved_rest(oracle, first, order)
    witnesses: dict[int, Floats] = {}
    for group in order:
        if not kept[group[0]]:
            continue
        trial = without(kept, group)
        point = oracle.ask(trial, _STARTS).point
        if point is None:
            kept = trial
        else:
            witnesses.update(dict.fromkeys(group, point))
    return _without_idle_signs(oracle, kept), witnesses


def _proved_rest(oracle: Oracle, kept: Bools, part: list[Group]) -> Bools:
    """Drop what a proof does not need: a whole part at once, or else its two halves."""
    trial = without(kept, [k for group in part for k in group])
    if oracle.impossible(trial):
        return trial
    if len(part) <= 1:
        return kept
    half = len(part) // 2
    return _proved_rest(oracle, _proved_rest(oracle, kept, part[:half]), part[half:])


def _without_idle_signs(oracle: Oracle, kept: Bools) -> Bools:
    """Drop the signs of variables that do not occur, or that a proof does not need."""
    system, signs = oracle.system, _signs(oracle)
    members = system.quantity[kept & ~signs]
    occurring = {i for q in members for i in system.quantities[q].variables}
    for k in _indices(kept & signs):
        trial = without(kept, [k])
        if system.quantity[k] - system.m not in occurring or oracle.impossible(trial):
            kept = trial
    return kept


def groups_of(system: LimitSystem, limits: Iterable[int]) -> list[Group]:
    """Return limits as they are dropped: both sides of an equality together, others alone."""
    groups: dict[tuple[int, int], list[int]] = {}
    for k in limits:
        key = (int(system.quantity[k]), 0 if system.equality[k] else k + 1)
        groups.setdefault(key, []).append(k)
    return [tuple(group) for group in groups.values()]


def without(active: Bools, dropped: Iterable[int]) -> Bools:
    """Return the active limits without some of them."""
    rest = active.copy()
    rest[list(dropped)] = False
    return rest


def _signs(oracle: Oracle) -> Bools:
    return oracle.system.of_kind(LimitKind.SIGN)


def _indices(mask: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
