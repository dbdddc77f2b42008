"""Disjunctions of Pyomo (GDP): the constraints of a disjunct hold where its indicator is 1.

They become rows with a condition, which is exact: nothing is transformed, and no M is chosen.
Models that were transformed by ``gdp.bigm`` or ``gdp.hull`` are ordinary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import casadi as ca
import numpy as np
from pyomo.core.base.block import Block

from archeng.model.constraint import Row

DISJUNCT, DISJUNCTION = "Disjunct", "Disjunction"
"""Kinds of components; by their names, because importing their module takes a while."""


def branches(
    block: Any,
    symbol_of: Callable[[Any], Any],
    add: Callable[[str, Row], None],
    problems: dict[str, list[str]],
    outer: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield the active disjuncts of a block, also nested ones, with their conditions.

    A condition is the disjunct's indicator, times those of the disjuncts around it. The rows of
    disjunctions are added: of an exclusive one exactly one disjunct is chosen, of others at least
    one. A disjunct that is in none is a problem.
    """
    known: dict[int, Any] = {}
    for disjunction in _active(block, DISJUNCTION):
        chosen = [symbol_of(d.binary_indicator_var) for d in disjunction.disjuncts]
        most = 1.0 if disjunction.xor else np.inf
        add(disjunction.name, Row(ca.sum1(ca.vertcat(*chosen)), 1.0, most, outer))
        known |= {id(d): d for d in disjunction.disjuncts if d.active}
    for disjunct in _active(block, DISJUNCT):
        if id(disjunct) not in known:
            owner = disjunct.parent_component().name
            problems[owner].append("a disjunct in no disjunction of its block; deactivate it")
    for disjunct in known.values():
        own = symbol_of(disjunct.binary_indicator_var)
        when = own if outer is None else outer * own
        yield disjunct, when
        yield from branches(disjunct, symbol_of, add, problems, when)


def _active(block: Any, kind: str) -> Iterator[Any]:
    for b in block.block_data_objects(active=True, descend_into=Block):
        for component in b.component_objects(active=True, descend_into=False):
            if component.ctype.__name__ == kind:
                yield from (data for data in component.values() if data.active)
