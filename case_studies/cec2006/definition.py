"""What one problem of the suite consists of: a box, an objective and two lists of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Scalar CasADi expressions in the order of the report.

    Attributes
    ----------
    g : sequence of casadi.SX
        Inequalities, g_j(x) <= 0.
    h : sequence of casadi.SX
        Equalities, h_j(x) = 0.
    """

    g: Sequence[Any] = ()
    h: Sequence[Any] = ()


@dataclass(frozen=True, eq=False)
class Definition:
    """One problem as the report defines it.

    Attributes
    ----------
    lower, upper : sequence of float, length n
        The box.
    objective : callable
        Value at a flat vector (n,), in plain numpy; minimised.
    constraints : callable
        Takes the CasADi column vector of the variables and returns its `Rows`.
    """

    lower: Sequence[float]
    upper: Sequence[float]
    objective: Callable[[Floats], float]
    constraints: Callable[[Any], Rows]
