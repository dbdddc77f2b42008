"""The text of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from archeng.model import number, text_table

if TYPE_CHECKING:
    from archeng.diagnose.diagnosis import Change, Conflict, Diagnosis, Finding, Member, Region

_MOST = 8  # findings of one kind that are listed


def report(diagnosis: Diagnosis) -> str:
    """Return the text of ``print(diagnosis)``."""
    d = diagnosis
    parts = [_freedom(d)] if d.feasible else []
    parts.append(_verdict(d))
    parts += [_conflict(c, i, len(d.conflicts)) for i, c in enumerate(d.conflicts, start=1)]
    parts.append(_size(d))
    for title, findings in (
        ("variables that nothing limits", d.unlimited),
        ("equalities that depend on others", d.dependent),
        ("always at their limit", d.always_active),
        ("redundant", d.redundant),
        ("undefined in part of the box", d.undefined),
        ("badly scaled", d.badly_scaled),
    ):
        parts.append(_findings(title, findings))
    return "\n\n".join(part for part in parts if part)


def _verdict(d: Diagnosis) -> str:
    if d.design is not None:
        lines = [f"  {name} = {value:.10g}" for name, value in d.design.items()]
        return "\n".join(["feasible design: found", *lines])
    if d.proof:
        return f"feasible design: NONE FOUND, and there is none (proved by {d.proof})"
    return (
        f"feasible design: NONE FOUND in {d.attempts} searches from different starts "
        "(which is no proof that there is none)"
    )


def _freedom(d: Diagnosis) -> str:
    dependent = d.equalities - d.independent_equalities
    more = f" ({dependent} of them depend on the others)" if dependent else ""
    return (
        f"degrees of freedom: {d.degrees_of_freedom} = {d.free_variables} free variables - "
        f"{d.independent_equalities} of {d.equalities} equalities{more}"
    )


def _conflict(conflict: Conflict, number: int, total: int) -> str:
    title = "conflict" if total == 1 else f"conflict {number} of {total}"
    size = len(conflict.members)
    if size == 1:
        what = "this constraint cannot hold"
    else:
        what = f"these {size} constraints cannot hold together"
    certain = (
        f"proved by {conflict.proof}" if conflict.proof else "no point was found where they do"
    )
    if not conflict.minimal:
        which = "; perhaps not all of them are needed"
    elif size > 1:
        which = "; without any one of them the others can"
    else:
        which = ""
    rows = [
        (m.label if m.kind == "bound" else m.name, "" if m.kind == "bound" else m.demand,
         m.source or "-")
        for m in conflict.members
    ]  # fmt: skip
    lines = [f"{title}: {what} ({certain}{which})", *_indented(_member_table(rows))]
    if conflict.assumed:
        lines.append(f"  given that {_listed(conflict.assumed)}")
    lines += [f"  {m.name}: {m.note}" for m in conflict.members if m.note]
    return "\n".join([*lines, *_ways_out(conflict)])


def _member_table(rows: Sequence[tuple[str, str, str]]) -> str:
    return text_table(("constraint", "asks for", "source"), rows)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _ways_out(conflict: Conflict) -> list[str]:
    """Lines with the smallest changes, all together and one by one."""
    moved = [(m, m.change) for m in conflict.members if m.change is not None]
    alone = [(m, m.alone) for m in conflict.members if m.alone is not None]
    if not moved:
        return []
    whole = all(change.whole for _, change in moved)
    what = "the model" if whole else "these constraints, not yet the whole model,"
    lines = [f"  smallest change that makes {what} consistent:"]
    lines += [f"    {_moved(m, change)}" for m, change in moved]
    others = [(m, change) for m, change in alone if len(moved) > 1 or m is not moved[0][0]]
    if others:
        lines.append("  or one of these alone:")
        lines += [f"    {_moved(m, change)}" for m, change in others]
    return lines


def _moved(member: Member, change: Change) -> str:
    sign, old = member.demand.split()[:2]
    more = "+" if change.limit > float(old) else "-"
    return f"{member.name} {sign} {old} -> {sign} {number(change.limit)} ({more}{change.by:.3g})"


def _size(d: Diagnosis) -> str:
    lines = []
    if d.share is not None:
        s = d.share
        which = "satisfies the inequalities (equalities have no volume)" if (
            s.inequalities_only
        ) else "is feasible"  # fmt: skip
        if s.value == 0.0:
            lines.append(f"share of the box that {which}: too small to be seen by sampling")
        else:
            lines.append(
                f"share of the box that {which}: about {_percent(s.value)} "
                f"({_percent(s.low)} to {_percent(s.high)}, {s.samples} samples)"
            )
    if len(d.regions) == 1:
        lines.append("disconnected regions: none found by sampling")
    elif d.regions:
        least = "" if d.all_regions_tried else "at least "
        lines.append(
            f"disconnected regions: {least}{len(d.regions)} found by sampling (no feasible path "
            "between them was found)"
        )
        lines += [_region(r, d.regions) for r in d.regions[:_MOST]]
        if len(d.regions) > _MOST:
            lines.append(f"  ... and {len(d.regions) - _MOST} more")
    return "\n".join(lines)


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _region(region: Region, regions: Sequence[Region]) -> str:
    """One line: how many designs, and where, in the variables that tell the regions apart."""

    def overlap(name: str) -> float:
        a, b = region.ranges[name]
        shared = [
            max(0.0, min(b, r.ranges[name][1]) - max(a, r.ranges[name][0]))
            for r in regions
            if r is not region
        ]
        return max(shared) / (b - a) if b > a else float(max(shared) > 0)

    names = sorted(region.ranges, key=overlap)[:3]
    where = ", ".join(f"{n} {region.ranges[n][0]:.4g} to {region.ranges[n][1]:.4g}" for n in names)
    return f"  {region.points} designs with {where}"


def _findings(title: str, findings: Sequence[Finding]) -> str:
    """Return the findings of one kind; those with the same text share a line."""
    if not findings:
        return ""
    groups: dict[str, list[str]] = {}
    for f in findings:
        where = f" ({f.source})" if f.source else ""
        doubt = "" if f.proved else " (by sampling)"
        groups.setdefault(f.text + doubt, []).append(f"{f.name}{where}")
    lines = [f"  {_listed(names)}: {text}" for text, names in groups.items()]
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], f"  ... and {len(lines) - _MOST} more"]
    return "\n".join([f"{title}:", *lines])


def _listed(items: Sequence[str]) -> str:
    if len(items) <= _MOST:
        return ", ".join(items)
    return ", ".join(items[:_MOST]) + f" and {len(items) - _MOST} more"
