"""Variables of Pyomo that are named as independent."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyomo.core.base.indexed_component_slice import IndexedComponent_slice
from pyomo.core.base.var import Var

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.pyomo.components import Import
from archeng.model.structure.named import named_items


def independent_names(wanted: Any, state: Import, defined: Collection[str]) -> list[str]:
    """Return names of Vars, of the free members of indexed ones; names stay as they are.

    ``defined`` are names of variables that were eliminated.

    Raises
    ------
    ModelError
        For what is no variable of the model, is fixed, or is computed from outputs.
    """
    names: list[str] = []
    for item in named_items(wanted):
        names += [item] if isinstance(item, str) else _members(item, state)
    computed = [name for name in names if name in defined]
    if computed:
        raise ModelError(
            f"independent: {', '.join(computed)} is not searched for, because an equality defines "
            "it by outputs of a black box. Name the inputs of the box instead."
        )
    return names


def _members(item: Any, state: Import) -> list[str]:
    """Return the names of one Var, or of those members of an indexed one that are not fixed."""
    if isinstance(item, IndexedComponent_slice):
        members = list(item)
    elif getattr(item, "ctype", None) is Var:
        members = list(item.values()) if item.is_indexed() else [item]
    else:
        members = [item]
    records = []
    for member in members:
        if id(member) not in state.variables:
            label = member.name if getattr(member, "ctype", None) is Var else shown(member)
            raise ModelError(
                f"independent: {label} is not a variable of Pyomo model {state.name!r}. Name Vars "
                "of its active blocks, their members, or their names."
            )
        records.append(state.variables[id(member)][2])
    free = [record.name for record in records if record.lower[0] != record.upper[0]]
    return free or [record.name for record in records]
