"""Declaring conditions: what ``subject_to(..., when=...)`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import casadi as ca
import numpy as np

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.constraint import Row, elements_of, rows_of_relation
from archeng.model.table_symbol import TableSymbol
from archeng.model.variable import Variable, stacked

_TRIED = 4096  # designs at which a condition is looked at: all of them, or so many at random
_KNOWN = (
    "a binary of the model, an indicator such as material.is_('S355'), `1 - binary`, or a product "
    "of such"
)


def with_conditions(rows: Sequence[Row], when: Any, relation: Any, where: str) -> list[Row]:
    """Return the rows of a relation with conditions: one for all, or one for each element."""
    conditions, size = elements_of(when), relation.numel()
    if len(conditions) == 1:
        return [replace(row, when=conditions[0]) for row in rows]
    if len(conditions) == len(rows):
        return [replace(row, when=c) for row, c in zip(rows, conditions, strict=True)]
    if len(conditions) != size or not isinstance(relation, ca.SX):
        raise ModelError(
            f"{where}: when= has {len(conditions)} elements, the relation has {size}; give one "
            "condition, or one for each element."
        )
    pairs = zip(elements_of(relation), conditions, strict=True)  # some always hold: no rows
    return [replace(row, when=c) for r, c in pairs for row in rows_of_relation(r, where)]


def check_condition(when: Any, variables: Sequence[Variable], symbols: Any, where: str) -> None:
    """Raise unless a condition is 0 or 1 for all values of the discrete variables in it.

    Raises
    ------
    ModelError
        It says what it is otherwise, and where.
    """
    if isinstance(when, TableSymbol):
        raise ModelError(f"{where}: when= is a row of a table; use its is_(), as {_KNOWN}.")
    if not isinstance(when, type(symbols)):
        raise ModelError(f"{where}: when= must be {_KNOWN}; got {shown(when)}.")
    own = {hash(s) for s in ca.symvar(symbols)}
    if any(hash(s) not in own for s in ca.symvar(when)) or when.is_constant():
        raise ModelError(
            f"{where}: when={when} must hold variables of the model, and only these: {_KNOWN}."
        )
    column = ca.vec(when)
    inside = sorted(set(ca.jacobian_sparsity(column, symbols).get_triplet()[1]))
    lower, upper = stacked(variables, "lower", "upper")
    names = [name for v in variables for name in v.element_names()]
    domains = [v.domain for v in variables for _ in range(v.size)]
    levels = []
    for i in inside:
        if not domains[i].is_discrete:
            raise ModelError(
                f"{where}: when={when} holds the variable {names[i]!r}, which is not discrete; it "
                f"must be {_KNOWN}."
            )
        levels.append(domains[i].levels_between(lower[i], upper[i]))
    function = ca.Function("when", [symbols], [column])
    for chosen in _combinations(levels):
        x = np.zeros(len(names))
        x[inside] = chosen
        values = function(x).full().reshape(-1)
        if not np.all((values == 0.0) | (values == 1.0)):
            wrong = values[(values != 0.0) & (values != 1.0)][0]
            at = ", ".join(
                f"{names[i]} = {domains[i].shown(v)}" for i, v in zip(inside, chosen, strict=True)
            )
            raise ModelError(
                f"{where}: when={when} is {wrong:g} at {at}; it must be 0 or 1 everywhere: "
                f"{_KNOWN}."
            )


def _combinations(levels: Sequence[Any]) -> Any:
    """All combinations of levels, or many of them."""
    if np.prod([float(len(each)) for each in levels]) <= _TRIED:
        return product(*levels)
    rng = np.random.default_rng(0)
    return ([rng.choice(each) for each in levels] for _ in range(_TRIED))
