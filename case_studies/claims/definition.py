"""What a case consists of: archeng's part, and the formulas for the referee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.model import Model

Floats = NDArray[np.float64]
Limits = tuple[float | None, float | None]


@dataclass(frozen=True, eq=False)
class Formulas:
    """The whole problem: minimise f subject to lower <= g <= upper and the box.

    Attributes
    ----------
    x, f, g : casadi.SX
        Variables (n,), objective, and all rows (m,), simulated ones included.
    box : tuple of ndarray, shape (n,)
    lower, upper : ndarray, shape (m,)
        Equalities with their tolerance.
    """

    x: Any
    f: Any
    g: Any
    box: tuple[Floats, Floats]
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Case:
    """One problem as archeng gets it, and as the referee knows it.

    Attributes
    ----------
    model : Model
        With the explicit constraints only.
    simulator : callable
    simulated : dict
        Limits of the simulated constraints.
    formulas : Formulas
    known : float
        Best known objective.
    options : dict
        Further arguments of :func:`archeng.solve`.
    begin : callable, optional
        A design (n,) as the referee needs it, where its formulas have further variables.
    ipopt : dict
        Further options of the referee.
    """

    model: Model
    simulator: Callable[[Any], Any]
    simulated: dict[str, Limits]
    formulas: Formulas
    known: float
    options: dict[str, Any] = field(default_factory=dict)
    begin: Callable[[Floats], Floats] | None = None
    ipopt: dict[str, float] = field(default_factory=dict)


def formulas_of(model: Model, sign: float = 1.0) -> Formulas:
    """Return the formulas of a model with an objective; ``sign`` -1 to maximise it."""
    rows = [row.expression for constraint in model.constraints for row in constraint.rows]
    limits = [constraint.limits() for constraint in model.constraints]
    return Formulas(
        model.symbols,
        sign * model.objective,
        ca.vertcat(*rows) if rows else ca.SX(0, 1),
        (
            np.concatenate([v.lower for v in model.variables]),
            np.concatenate([v.upper for v in model.variables]),
        ),
        np.concatenate([low for low, _ in limits] or [np.zeros(0)]),
        np.concatenate([high for _, high in limits] or [np.zeros(0)]),
    )
