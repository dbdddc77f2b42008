"""What the structure of its equations says about a conflict: one too many, or a loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.diagnose.conflict_text import listed
from archeng.diagnose.diagnosis import Conflict
from archeng.diagnose.equations import Equations
from archeng.diagnose.limits import LimitSystem
from archeng.diagnose.rank import MOST_RANKED, dependent_rows
from archeng.diagnose.structure import Block, block_of
from archeng.model.structure.incidence import Part

_POINTS = 3  # at which equations that depend on each other do


def with_structure(conflict: Conflict, equations: Equations, system: LimitSystem) -> Conflict:
    """Return a conflict with what structure says about its equations, if it says anything.

    In ``equations`` the named independent variables are given.
    """
    rows = [j for j, name in enumerate(equations.names) if name in conflict.rows]
    if not rows:
        return conflict
    own = replace(
        equations,
        names=tuple(equations.names[j] for j in rows),
        sources=tuple(equations.sources[j] for j in rows),
        pattern=equations.pattern[rows],
    )
    for part in own.surplus():
        return replace(conflict, note=_surplus(block_of(own, part)))
    if len(rows) > 1 and _depend(conflict, system):
        return replace(conflict, note=_DEPENDENT)
    loop = _loop(equations, rows) or _loop(own, range(len(rows)))
    return conflict if loop is None else replace(conflict, note=_about(loop, conflict), loop=loop)


_DEPENDENT = (
    "whatever the values, one of these equations follows from the others or contradicts them: one "
    "is too many, or a number in them is wrong"
)


def _surplus(block: Block) -> str:
    n, k = len(block.equations), len(block.variables)
    them = "this equation holds" if n == 1 else f"{listed(block.equations)}: {n} equations hold"
    what = "no unknown" if k == 0 else f"{k} unknown{'s' * (k > 1)}, {listed(block.variables)}"
    return f"{them} {what}; one equation is too many"


def _depend(conflict: Conflict, system: LimitSystem) -> bool:
    """Whether the gradients of the equations of a conflict depend on each other everywhere."""
    rows = [
        j
        for j, quantity in enumerate(system.quantities[: system.m])
        if quantity.equality and quantity.name in conflict.rows
    ]
    if len(rows) < 2 or len(rows) > MOST_RANKED:
        return False
    points = system.sample_inside(_POINTS, np.random.default_rng(0))
    gradients = (np.asarray(system.jacobian(point).full())[rows] * system.scale for point in points)
    return all(dependent_rows(g) for g in gradients)


def _loop(equations: Equations, rows: range | list[int]) -> Block | None:
    """Return the largest loop that has some of the rows in it; None if there is none."""
    loops = [
        block
        for block in equations.blocks
        if len(block.rows) > 1 and np.isin(block.rows, list(rows)).any()
    ]
    largest = max(loops, key=lambda block: len(block.rows), default=None)
    return None if largest is None else block_of(equations, Part(largest.rows, largest.columns))


def _about(loop: Block, conflict: Conflict) -> str:
    inside = [name for name in conflict.rows if name in loop.equations]
    whose = "they are" if set(inside) == set(loop.equations) else f"{listed(inside)} belong to"
    if len(inside) == 1:
        whose = f"{inside[0]} belongs to"
    return (
        f"{whose} a loop of {len(loop.equations)} equations ({listed(loop.equations)}) that "
        f"determine {listed(loop.variables)} together"
    )
