r"""Conditional rows: ``subject_to(row, when=b)`` holds where b is 1, and is not there where b is 0.

The row :math:`l \le r(x) \le u` with the condition w becomes rows of x and w that are exactly r
where w = 1, and that hold where w = 0, also if r is undefined there. In between, where only
relaxations look, they are

.. math:: r(x) - M (1 - w) \le u

with M so large that it holds for w = 0 everywhere between the bounds, by interval arithmetic; and
without such an M, with c between the limits,

.. math:: l \le w r(x) + (1 - w) c \le u .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.ranges import range_of
from archeng.model.variable import Floats

_ROOM = 1e-6  # by which M is larger than it must be, relative to the numbers in it


@dataclass(frozen=True)
class Relaxed:
    """A row of x and its condition, as solvers take it; ``side`` says which limit, if one."""

    expression: Any
    lower: float
    upper: float
    side: str = ""


def in_one(expression: Any, when: Any, lower: float, upper: float) -> Any:
    """Return a row and its condition, None if it has none, as one expression with its limits."""
    if when is None:
        return expression
    inside = _between(lower, upper)
    return ca.if_else(when > 0, when * expression, 0) + (1 - when) * inside


def relaxed(
    expression: Any, when: Any, limits: tuple[float, float], x: Any, box: tuple[Floats, Floats]
) -> list[Relaxed]:
    """Return a row and its condition as rows of x between bounds: linear if both are.

    A row with two limits becomes two.
    """
    lower, upper = limits
    least, most = range_of(expression, x, *box)
    if not np.isfinite(most - least):
        return [Relaxed(in_one(expression, when, lower, upper), lower, upper)]
    both = np.isfinite(lower) and np.isfinite(upper)
    room = _ROOM * max(abs(least), abs(most), *(abs(v) for v in limits if np.isfinite(v)))
    found = []
    if np.isfinite(upper):
        above = max(0.0, most - upper) + room
        body = expression - above * (1 - when)
        found.append(Relaxed(body, -np.inf, upper, "upper" if both else ""))
    if np.isfinite(lower):
        below = max(0.0, lower - least) + room
        body = expression + below * (1 - when)
        found.append(Relaxed(body, lower, np.inf, "lower" if both else ""))
    return found


def _between(lower: float, upper: float) -> float:
    """Return a number between two limits, well inside."""
    if np.isfinite(lower) and np.isfinite(upper):
        return lower / 2 + upper / 2
    if np.isfinite(upper):
        return upper - max(abs(upper), 1.0)
    return lower + max(abs(lower), 1.0) if np.isfinite(lower) else 0.0
