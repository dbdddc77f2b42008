"""Mutable `Param`s of Pyomo that stay symbols: parameters of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
from pyomo.core.base.block import Block
from pyomo.core.base.param import Param
from pyomo.core.expr.numvalue import value
from pyomo.core.expr.visitor import identify_mutable_parameters

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.quantities import Parameter
from archeng.model.teaching import symbol

_MOST = 12  # names that an error lists

Chosen = dict[int, tuple[Any, Parameter]]
"""Symbols and records, by the id of the element of a Param."""


def chosen_parameters(block: Any, wanted: Any) -> Chosen:
    """Return the Params that are asked for, by their names or by themselves.

    Raises
    ------
    ModelError
        If there is no such Param, if it is not mutable, or if it has no value.
    """
    if wanted is None:
        return {}
    if not isinstance(wanted, list | tuple | set | frozenset):
        raise ModelError(
            'parameters must be a list of Params or of their names, such as ["load"]; got '
            f"{shown(wanted)}."
        )
    chosen: Chosen = {}
    for entry in wanted:
        for data in _elements(block, entry):
            if id(data) not in chosen:
                units = getattr(data, "get_units", lambda: None)()
                number = value(data, exception=False)
                record = Parameter.declared(data.name, number, "" if units is None else str(units))
                chosen[id(data)] = symbol(ca.SX, data.name), record
    return chosen


def _elements(block: Any, entry: Any) -> list[Any]:
    """Return the elements of one Param, or the element itself."""
    root = block.model()
    found = root.find_component(entry) if isinstance(entry, str) else entry
    if getattr(found, "ctype", None) is not Param or found.model() is not root:
        names = [p.name for p in _mutable(root)]
        have = ", ".join(names[:_MOST]) + (", ..." if len(names) > _MOST else "")
        raise ModelError(
            f"Pyomo model {root.name!r} has no Param {getattr(entry, 'name', entry)!r}; its "
            f"mutable Params are: {have or 'none'}."
        )
    if not found.parent_component().mutable:
        raise ModelError(
            f"Param {found.name!r} is not mutable, so that its value is a number in the "
            "expressions of Pyomo already: declare it with Param(..., mutable=True)."
        )
    return list(found.values()) if hasattr(found, "values") else [found]


def _mutable(root: Any) -> Iterator[Any]:
    for component in root.component_objects(Param, active=None, descend_into=Block):
        if component.mutable:
            yield component


def holds(expression: Any, chosen: Chosen) -> bool:
    """Whether an expression without variables holds one of the Params."""
    if not chosen or not hasattr(expression, "is_expression_type"):
        return False
    return any(id(p) in chosen for p in identify_mutable_parameters(expression))
