"""Conflicts that exist only because variables are discrete, and values that no design can take.

The model with all variables real has a design, and no design at levels was found. What is named is
a minimal set of rows and discrete variables: if any one of the rows is dropped, or any one of the
variables may be real, the others can hold together. The bounds of all variables are taken for
granted.

Rows are dropped first, then variables are made real, each only if it is certain that the rest is
still in conflict, or as certain as the conflict itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from archeng.diagnose.conflict import Group, without
from archeng.diagnose.diagnosis import Change, Conflict, Finding, Member
from archeng.diagnose.explain import demands
from archeng.diagnose.intervals import EmptyError, box_and_rows, contracted
from archeng.diagnose.level_tree import LevelTree, TreeAnswer
from archeng.diagnose.limits import Bools, Limit, LimitKind, LimitSystem
from archeng.diagnose.oracle import HOLDS
from archeng.model import number
from archeng.model.domain import Domain, Kind
from archeng.model.variable import Floats

FIRST = 3000
"""Boxes that the search for a first design at levels may open."""
_EACH = 400  # boxes of each further question
_SHRINKS = 12  # questions that make a change of a row smaller
_WIDER = (1, 2, 4, 8, 16, 32, 64)  # whole numbers by which a range is tried to be wider
_FEWEST, _LEVELS = 40, 400  # values for which it is asked whether a design can have them
_WORK = 150_000  # operations of all rows times values that this may take
_NAMED = 8  # values that a line lists

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class DiscreteCore:
    """Rows and discrete variables in conflict, with a point for each at which the others hold."""

    rows: tuple[Group, ...]
    variables: tuple[int, ...]
    proof: str
    row_witnesses: dict[Group, Floats] = field(default_factory=dict)
    variable_witnesses: dict[int, Floats] = field(default_factory=dict)


def find_discrete_core(tree: LevelTree, answer: TreeAnswer) -> DiscreteCore:
    """Return a minimal conflict; ``answer`` has said that there is no design, or found none."""
    system, certain = tree.system, bool(answer.proof)

    def stays(active: Bools, discrete: Collection[int]) -> bool:
        """Whether a smaller set is in conflict as surely as the first one."""
        found = tree.ask(active, discrete, _EACH)
        if found.point is not None or not found.finished:
            return False
        return bool(found.proof) or not certain

    rows = _rows(system)
    variables = sorted(tree.levels)

    def active(kept: Iterable[Group]) -> Bools:
        chosen = {k for group in kept for k in group}
        return system.everything & (~system.of_kind(LimitKind.ROW) | system.only(chosen))

    rows = reduced(rows, lambda kept: stays(active(kept), variables))
    variables = reduced(variables, lambda kept: stays(active(rows), kept))
    rows = reduced(rows, lambda kept: stays(active(kept), variables))
    row_witnesses, variable_witnesses = {}, {}
    for group in rows:
        found = tree.ask(without(active(rows), group), variables, _EACH)
        if found.point is not None:
            row_witnesses[group] = found.point
    for i in variables:
        found = tree.ask(active(rows), [j for j in variables if j != i], _EACH)
        if found.point is not None:
            variable_witnesses[i] = found.point
    proof = tree.ask(active(rows), variables, _EACH).proof or answer.proof
    return DiscreteCore(tuple(rows), tuple(variables), proof, row_witnesses, variable_witnesses)


def _rows(system: LimitSystem) -> list[Group]:
    """Return the limits of each row."""
    rows: dict[int, list[int]] = {}
    for k in np.flatnonzero(system.of_kind(LimitKind.ROW)).tolist():
        rows.setdefault(system.limits[k].quantity, []).append(k)
    return [tuple(limits) for limits in rows.values()]


def reduced(items: Sequence[_T], stays: Callable[[list[_T]], bool]) -> list[_T]:
    """Drop items while ``stays`` is true of the rest: whole parts at once, or else their halves."""

    def drop(kept: list[_T], part: Sequence[_T]) -> list[_T]:
        rest = [item for item in kept if item not in part]
        if part and stays(rest):
            return rest
        if len(part) <= 1:
            return kept
        half = len(part) // 2
        return drop(drop(kept, part[:half]), part[half:])

    return drop(list(items), list(items))


def discrete_conflict(
    tree: LevelTree, core: DiscreteCore, domains: Mapping[int, Domain]
) -> Conflict:
    """Return a conflict in the words of the engineer; domains are those of the variables."""
    system = tree.system
    changes = {group: _least_change(tree, group) for group in core.rows}
    costs = {g: c.by / _size(system, g) for g, c in changes.items() if c is not None}
    cheapest = min(costs, key=lambda group: costs[group], default=None)
    members = []
    for group in core.rows:
        quantity, change = system.quantities[system.limits[group[0]].quantity], changes[group]
        members.append(
            Member(
                name=quantity.name,
                demand=demands(quantity, _moved_first(system, group, change)),
                kind="row",
                source=quantity.source,
                change=change if group == cheapest else None,
                alone=change,
                witness=_named(tree, core.row_witnesses.get(group), domains),
            )
        )
    for i in core.variables:
        members.append(
            Member(
                name=system.names[i],
                demand=values_text(domains[i], tree.levels[i]),
                kind="discrete",
                source="",
                change=None,
                alone=None,
                witness=_named(tree, core.variable_witnesses.get(i), domains),
                note=_way_out(tree, core, i, domains[i]),
            )
        )
    return Conflict(
        members=tuple(members),
        assumed=(),
        proof=core.proof,
        minimal=all(m.witness is not None for m in members),
    )


def _moved_first(system: LimitSystem, group: Group, change: Change | None) -> list[Limit]:
    """Return the limits of a row, first the one that a change moves."""
    limits = [system.limits[k] for k in group]
    if change is None:
        return limits
    return sorted(limits, key=lambda limit: -limit.side * (change.limit - limit.value))


def values_text(domain: Domain, levels: Floats) -> str:
    """Say which values a variable may take."""
    if domain.kind is Kind.INTEGER:
        return f"a whole number from {levels[0]:g} to {levels[-1]:g}"
    if domain.kind is Kind.BINARY:
        return "0 or 1"
    names = [domain.shown(level) for level in levels[:_NAMED]]
    more = f", ... ({len(levels)} values)" if len(levels) > _NAMED else ""
    return f"one of {', '.join(names)}{more}"


def _named(
    tree: LevelTree, point: Floats | None, domains: Mapping[int, Domain]
) -> dict[str, Any] | None:
    return None if point is None else design_by_name(tree.system, point, domains)


def design_by_name(
    system: LimitSystem, point: Floats, domains: Mapping[int, Domain]
) -> dict[str, Any]:
    """Return a point (n,) by name, values of discrete variables as the engineer wrote them."""
    return {
        name: domains[i].value(float(v)) if i in domains else float(v)
        for i, (name, v) in enumerate(zip(system.names, point, strict=True))
    }


def _size(system: LimitSystem, group: Group) -> float:
    return float(system.size[system.limits[group[0]].quantity])


def _least_change(tree: LevelTree, group: Group) -> Change | None:
    """Return by how little a row has to give so that a design at levels exists; None: not found.

    All other rows hold. Each design that is found asks for one that needs less.
    """
    system, variables = tree.system, sorted(tree.levels)
    others = without(system.everything, group)
    if tree.listed is not None:
        excess = system.excess(tree.listed)
        good = np.all(excess[:, others] <= HOLDS, axis=1)
        worst = np.where(good, excess[:, list(group)].max(axis=1), np.inf)
        return _change(system, group, excess[int(np.argmin(worst))]) if good.any() else None
    point = tree.ask(others, variables, _EACH).point
    if point is None:
        return None
    best, excess = point, system.excess(point[None, :])[0]
    factor = 0.5
    for _ in range(_SHRINKS):
        give = factor * float(excess[list(group)].max())
        moved = _moved(system, group, give)
        point = tree.ask(system.everything, variables, _EACH, moved).point
        if point is not None:
            best, excess = point, system.excess(point[None, :])[0]
        elif factor > 0.999:
            break
        else:
            factor = 1 - (1 - factor) / 4
    return _change(system, group, system.excess(tree.polished(best, group)[None, :])[0])


def _moved(system: LimitSystem, group: Group, give: float) -> LimitSystem:
    """Return the system with the limits of a row wider by so many sizes of it."""
    by = give * _size(system, group)
    for k in group:
        system = system.with_limit(k, value=system.limits[k].value + system.limits[k].side * by)
    return system


def _change(system: LimitSystem, group: Group, excess: Floats) -> Change | None:
    """Return the change of a row that an excess (limits,) needs."""
    k = max(group, key=lambda j: float(excess[j]))
    if not np.isfinite(excess[k]):
        return None
    limit, quantity = system.limits[k], system.quantities[system.limits[k].quantity]
    by = max(float(excess[k]), 0.0) * _size(system, group)
    old = limit.value
    if quantity.equality:  # the tolerance stays around the new value
        old = (quantity.lower + quantity.upper) / 2
        by += (quantity.upper - quantity.lower) / 2
    return Change(float(old + limit.side * by), by, whole=True)


def _way_out(tree: LevelTree, core: DiscreteCore, i: int, domain: Domain) -> str:
    """Say which other value of a variable would do, if there is one."""
    hints = _wider(tree, i) if domain.kind is Kind.INTEGER else []
    if i not in core.variable_witnesses or not domain.is_ordered:
        return "; ".join(hints)
    every = tree.ask(tree.system.everything, [j for j in tree.levels if j != i], _EACH).point
    which = "these constraints" if every is None else "all constraints"
    value = float((core.variable_witnesses[i] if every is None else every)[i])
    if domain.table is None:
        hints.append(f"with {number(value)} {which} could hold")
    else:
        below, above = domain.shown(np.floor(value)), domain.shown(np.ceil(value))
        hints.append(f"with a row between {below} and {above} {which} could hold")
    return "; ".join(hints)


def _wider(tree: LevelTree, i: int) -> list[str]:
    """Return the nearest whole number beyond a bound with which the model has a design."""
    system, name = tree.system, tree.system.names[i]
    first, last = float(tree.levels[i][0]), float(tree.levels[i][-1])
    found = []
    for sign, end, text in ((1, last, "upper"), (-1, first, "lower")):
        bound = [
            k for k, limit in enumerate(system.limits)
            if limit.quantity == system.m + i and limit.kind is LimitKind.BOUND
            and limit.side == sign
        ]  # fmt: skip
        if not bound:
            continue  # zero: the sign stays
        for before, steps in zip((0, *_WIDER), _WIDER, strict=False):
            beyond = np.sort(end + sign * np.arange(before + 1, steps + 1))
            if sign < 0 and first >= 0:
                beyond = beyond[beyond >= 0]
            if not len(beyond):
                break
            levels = {**tree.levels, i: beyond}
            active = without(system.everything, bound)
            point = tree.ask(active, sorted(tree.levels), _EACH, levels=levels).point
            if point is not None:
                found.append(f"{text} bound of {name} {end:g} -> {point[i]:g} would do")
                break
    return found


def unusable_levels(
    system: LimitSystem, levels: dict[int, Floats], domains: Mapping[int, Domain]
) -> list[Finding]:
    """Return the values that no design can take, proved by interval arithmetic.

    Of many values, those of tables are looked at, and not all of long ones.
    """
    size = sum(len(graph.nodes) for graph in system.graphs if graph is not None)
    most = int(np.clip(_WORK // max(size, 1), _FEWEST, _LEVELS))
    if sum(len(each) for each in levels.values()) > most:
        levels = {i: each for i, each in levels.items() if domains[i].table is not None}
    findings, asked = [], 0
    try:
        box, rows = box_and_rows(system, system.everything)
        box = contracted(box, rows, levels)
    except EmptyError:
        return []
    for i, each in levels.items():
        never = []
        for level in each.tolist():
            asked += 1
            if asked > most:
                break
            held = [*box[:i], (level, level), *box[i + 1 :]]
            try:
                if not box[i][0] <= level <= box[i][1]:
                    raise EmptyError
                contracted(held, rows, levels)
            except EmptyError:
                never.append(domains[i].shown(level))
        if never:
            shown = ", ".join(never[:_NAMED])
            more = f" and {len(never) - _NAMED} more" if len(never) > _NAMED else ""
            findings.append(Finding(system.names[i], f"{shown}{more}"))
    return findings
