"""The text of a conflict: its members, what is certain, and the smallest changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from archeng.model import number, text_table

if TYPE_CHECKING:
    from archeng.diagnose.diagnosis import Change, Conflict, Member

MOST = 8
"""Findings of one kind that are listed."""


def conflict_text(conflict: Conflict, i: int, total: int) -> str:
    """Return the text of the i-th of some conflicts."""
    title = "conflict" if total == 1 else f"conflict {i} of {total}"
    size = len(conflict.members)
    several = f"these {size} constraints cannot hold together"
    what = several if size > 1 else "this constraint cannot hold"
    if conflict.discrete:
        what = _discrete_conflict(conflict)
    proof = conflict.proof
    certain = f"proved by {proof}" if proof else "no point was found where they do"
    if not conflict.minimal:
        certain += "; perhaps not all of them are needed"
    elif conflict.discrete:
        certain += "; without any one of the constraints, or with any one of the variables real, "
        certain += "the others can"
    elif size > 1:
        certain += "; without any one of them the others can"
    rows = [(m.label, m.demand if m.kind != "bound" else "", m.source or "-")
            for m in conflict.members]  # fmt: skip
    table = text_table(("constraint", "asks for", "source"), rows)
    lines = [f"{title}: {what} ({certain})", *(f"  {line}" for line in table.splitlines())]
    if conflict.assumed:
        lines.append(f"  given that {listed(conflict.assumed)}")
    lines += [f"  {conflict.note}"] if conflict.note else []
    lines += [f"  {m.name}: {m.note}" for m in conflict.members if m.note]
    return "\n".join([*lines, *_ways_out(conflict)])


def _discrete_conflict(conflict: Conflict) -> str:
    """Say that constraints could hold together if variables were real."""
    rows, variables = len(conflict.rows), len(conflict.discrete)
    which = "this constraint cannot hold"
    which = f"these {rows} constraints cannot hold together" if rows > 1 else which
    of = f"these {variables} variables" if variables > 1 else "this variable"
    return f"{which}, because of the values that {of} can take"


def _ways_out(conflict: Conflict) -> list[str]:
    """Lines with the smallest changes, all together and one by one."""
    moved = [(m, m.change) for m in conflict.members if m.change is not None]
    if not moved:
        return []
    whole = all(change.whole for _, change in moved)
    what = "the model" if whole else "these constraints, not yet the whole model,"
    only = moved[0][0] if len(moved) == 1 else None
    alone = [_moved(m, m.alone) for m in conflict.members if m.alone and m is not only]
    return [
        f"  smallest change that makes {what} consistent:",
        *(_moved(m, change) for m, change in moved),
        *(["  or one of these alone:", *alone] if alone else []),
    ]


def _moved(member: Member, change: Change) -> str:
    sign, old = member.demand.split()[:2]
    more = "+" if change.limit > float(old) else "-"
    new = f"{number(change.limit)} ({more}{change.by:.3g})"
    return f"    {member.name} {sign} {old} -> {sign} {new}"


def listed(items: Sequence[str]) -> str:
    """Return names in a line, the first ones of many."""
    if len(items) <= MOST:
        return ", ".join(items)
    return ", ".join(items[:MOST]) + f" and {len(items) - MOST} more"
