"""Loops through the simulator: outputs that feed equations from which its inputs follow.

A reactor in a recycle is such a loop: what it returns decides what flows back into it, so the
equations cannot be solved before the call. The loop is *torn*: a variable of the equation with the
output is searched for like any other independent one, everything else follows from it, and that the
equation holds is a simulated constraint, its mismatch.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.declarations import Declarations
from archeng.model.structure.incidence import Indices

_SHOWN = 6  # names in a message


def mismatches(model: Declarations) -> list[tuple[str, list[int]]]:
    """Return the equalities with outputs: name, and positions of the variables in each."""
    rows = [
        (name, row.expression)
        for c in model.simulated
        for name, row, equal in zip(c.row_names(), c.rows, c.equalities(), strict=True)
        if equal
    ]
    if not rows:
        return []
    inside: list[list[int]] = [[] for _ in rows]
    pattern = ca.jacobian_sparsity(ca.vertcat(*(e for _, e in rows)), model.symbols)
    for j, i in zip(*pattern.get_triplet(), strict=True):
        inside[j].append(int(i))
    return [(name, inside[j]) for j, (name, _) in enumerate(rows)]


def torn_variables(model: Declarations, free: Indices, n_equations: int) -> Any:
    """Return which free variables (N,) are candidates for tearing loops.

    Raises
    ------
    ModelError
        If there are more equalities with outputs than degrees of freedom: no choice of torn
        variables can satisfy them all.
    """
    found = mismatches(model)
    left = len(free) - n_equations
    if len(found) > left:
        names = model.element_names()
        loops = [
            f"{name} (holds {_some([names[i] for i in inside]) or 'no variable'})"
            for name, inside in found
        ]
        raise ModelError(
            f"Model {model.name!r}: {len(found)} equations with outputs cannot be met: the other "
            f"{n_equations} equations leave {left} of {len(free)} variables free, and each loop "
            f"through the simulator needs one of its own to be torn. The loops: "
            f"{'; '.join(loops[:_SHOWN])}. Free a variable, or leave out an equation that "
            "follows from others."
        )
    return np.isin(free, [i for _, inside in found for i in inside])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
