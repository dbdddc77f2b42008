"""Which entries of a design the engineer names as independent: by symbols, or by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np

from archeng.checks import did_you_mean, shown
from archeng.errors import ModelError
from archeng.model.table_symbol import TableSymbol
from archeng.model.variable import Variable, stacked

_MOST = 12  # names that an error lists


def named_positions(
    items: Sequence[Any], variables: Sequence[Variable], column: Any
) -> tuple[int, ...]:
    """Return the places of named variables in the flat vector of a design, in its order.

    Entries of a vector that are fixed are left out if the vector is named as a whole.

    Parameters
    ----------
    items : sequence
        Symbols of variables, entries or parts of them; or names: of a variable, of an entry, or
        the common name of several (``"flow"`` of ``flow[1]``, ``flow[2]``).
    variables : sequence of Variable
    column : casadi.SX or casadi.MX
        Their symbols, as one column vector.

    Raises
    ------
    ModelError
        For anything that is no variable of the model, or that is fixed.
    """
    labels = [name for v in variables for name in v.element_names()]
    lower, upper = stacked(variables, "lower", "upper")
    every = list(_flat(items))
    texts = [item for item in every if isinstance(item, str)]
    symbols = [item for item in every if not isinstance(item, str)]
    groups = [*_by_name(texts, variables, labels), *_by_symbol(symbols, column, labels)]
    places: set[int] = set()
    for own in groups:
        free = [i for i in own if lower[i] != upper[i]]
        if not free:
            raise ModelError(
                f"independent: variable {labels[own[0]]!r} is fixed at {lower[own[0]]:g}. Name "
                "variables that the search may choose; fixed ones are known anyway."
            )
        places.update(free)
    return tuple(sorted(places))


def named_items(value: Any) -> list[Any]:
    """Return what an option ``independent=`` names; it must be a list. None: nothing."""
    if value is None:
        return []
    if not isinstance(value, list | tuple | set | frozenset):
        raise ModelError(
            'independent must be a list of variables or of their names, such as ["flow"]; got '
            f"{shown(value)}."
        )
    return list(value)


def _flat(items: Any) -> Iterator[Any]:
    """Yield what is named, also within lists."""
    for item in items:
        if isinstance(item, list | tuple | set | frozenset):
            yield from _flat(item)
        else:
            yield item.number if isinstance(item, TableSymbol) else item


def _by_name(
    names: list[str], variables: Sequence[Variable], labels: list[str]
) -> Iterator[list[int]]:
    """Yield the places that each name stands for."""
    if not names:
        return
    entries = {label: [i] for i, label in enumerate(labels)}
    families: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        families.setdefault(label.rpartition("[")[0], []).append(i)
    first = 0
    for v in variables:
        entries[v.name] = list(range(first, first + v.size))
        first += v.size
    for name in names:
        own = entries.get(name) or (families.get(name) if name else None)
        if own is None:
            raise ModelError(
                f"independent: the model has no variable {name!r}.{did_you_mean(name, entries)} "
                f"{_have(labels)}"
            )
        yield own


def _by_symbol(items: list[Any], column: Any, labels: list[str]) -> Iterator[list[int]]:
    """Yield the places of the entries of each symbol; found by what they are at two designs."""
    if not items:
        return
    known = {hash(s) for s in ca.symvar(column)}
    for item in items:
        if not isinstance(item, ca.SX | ca.MX) or any(
            hash(s) not in known for s in ca.symvar(item)
        ):
            raise ModelError(
                f"independent: {shown(item)} is not a variable of the model. Name symbols as "
                f"model.variable() returns them, or their names. {_have(labels)}"
            )
        if isinstance(item, ca.MX) != isinstance(column, ca.MX) or item.numel() == 0:
            raise _no_variable(item)
    n = column.numel()
    entries = ca.vertcat(*(ca.densify(ca.vec(item)) for item in items))
    function = ca.Function("named", [column], [entries])
    points = np.arange(float(n)), np.random.default_rng(0).random(n)
    number, other = (np.array(function(x).full(), dtype=float).reshape(-1) for x in points)
    places = np.where((number >= 0) & (number < n), number, 0.0).astype(np.intp)
    right = (number == places) & (other == points[1][places])
    end = 0
    for item in items:
        begin, end = end, end + item.numel()
        if not right[begin:end].all():
            raise _no_variable(item)
        yield places[begin:end].tolist()


def _no_variable(item: Any) -> ModelError:
    return ModelError(
        f"independent: {shown(item)} is a formula, not a variable. Declare a variable for it, with "
        "an equality, if it is what you choose freely."
    )


def _have(names: list[str]) -> str:
    more = ", ..." if len(names) > _MOST else ""
    return f"It has {', '.join(names[:_MOST])}{more}."
