"""Designs of an earlier model in one of today: rows of tables are found by their names.

A flat vector has the number of a row, and numbers change when a table gets another row. A row is
the same if it has the same name, and every attribute that it had then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from archeng.errors import ModelError
from archeng.model.parts_table import Item, PartsTable
from archeng.model.variable import Floats, Variable

Translation = Callable[[Floats], Floats | None]
"""Turns a flat vector (n,) of then into one of now; None if a row of it is no longer the same."""


def translation(then: Sequence[Variable], now: Sequence[Variable]) -> Translation:
    """Return how designs of other variables are read; names and shapes must be the same.

    Raises
    ------
    ModelError
        If a variable was a row of a table and is none now, or the other way round: its numbers mean
        something else.
    """
    first, changed = 0, list[tuple[slice, Floats]]()
    for a, b in zip(then, now, strict=True):
        old, new = a.domain.table, b.domain.table
        if (old is None) != (new is None):
            raise ModelError(
                f"variable {b.name!r} was {a.domain.summary} and is {b.domain.summary} now"
            )
        if old is not None and new is not None and old != new:
            changed.append((slice(first, first + b.size), _positions(old, new)))
        first += b.size

    def translated(x: Floats) -> Floats | None:
        if not changed:
            return x
        y = x.copy()
        for part, positions in changed:
            y[part] = positions[x[part].astype(int)]
        return None if np.isnan(y).any() else y

    return translated


def _positions(old: PartsTable, new: PartsTable) -> Floats:
    """Return the number of each row in a newer table; NaN for one that is not there as it was."""
    rows = {str(item): k for k, item in enumerate(new.items)}
    positions = np.full(len(old.names), np.nan)
    for k, item in enumerate(old.items):
        place = rows.get(str(item))
        if place is not None and _same(item, new.items[place]):
            positions[k] = place
    return positions


def _same(old: Item, new: Item) -> bool:
    missing = object()
    return all(
        equal_cells(value, new.attributes.get(column, missing))
        for column, value in old.attributes.items()
    )


def equal_cells(a: Any, b: Any) -> bool:
    """Whether two cells of tables are the same; empty ones are NaN in some."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)
