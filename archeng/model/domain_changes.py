"""How the values that a variable may take differ between two stored models, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archeng.model.domain import Kind
from archeng.model.same_rows import equal_cells

DOMAIN_KEYS = ("domain", "choices", "table")
"""What a stored variable says of its values; nothing of real ones."""

_FEW = 8  # changes of a table that are named


def domain_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say what changed in the kind, the list or the table of a stored variable."""
    kinds = [record.get("domain", Kind.REAL.value) for record in (old, new)]
    if kinds[0] != kinds[1]:
        return [f"variable {name!r}, kind: {kinds[0]} became {kinds[1]}"]
    if old.get("choices") != new.get("choices"):
        return [f"variable {name!r}, choices: {old.get('choices')} became {new.get('choices')}"]
    if old.get("table") == new.get("table"):
        return []
    changes = list(_table_changes(name, old["table"], new["table"]))
    more = len(changes) - _FEW
    return changes[:_FEW] + ([f"{more} more changes of {name}"] if more > 0 else [])


def _table_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = old["names"], new["names"]
    columns, others = old["columns"], new["columns"]
    for kind, had, has in (("row", before, after), ("column", columns, others)):
        yield from (f"{kind} {entry!r} of {name} is gone" for entry in had if entry not in has)
        yield from (f"{kind} {entry!r} of {name} is new" for entry in has if entry not in had)
    for row in (r for r in before if r in after):
        for column in (c for c in columns if c in others):
            value = columns[column][before.index(row)]
            now = others[column][after.index(row)]
            if not equal_cells(value, now):
                yield f"row {row!r} of {name}: {column} {value} became {now}"
    if [r for r in before if r in after] != [r for r in after if r in before]:
        yield f"the order of the rows of {name}"
