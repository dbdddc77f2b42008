"""`Constraint`: one declared constraint, and the tolerances of its equalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.checks import is_real, shown
from archeng.errors import ModelError
from archeng.model.relation import Row
from archeng.model.tolerance import declared_box, default_half_widths, neighbourhood
from archeng.model.variable import Floats, Variable


@dataclass(frozen=True)
class Constraint:
    """One call of ``subject_to``: a name, its source line, and one row per element.

    ``tolerance`` is what was asked for: the half-width of the rows whose two limits are equal, or
    None for the default. ``half_widths`` are the defaults, one for each row (0 for an
    inequality); :attr:`Model.constraints` fills them in.
    """

    name: str
    rows: tuple[Row, ...]
    tolerance: float | None
    source: str
    half_widths: tuple[float, ...] = ()

    def row_names(self) -> list[str]:
        """Name of each row: the constraint's own, with an index if there are several."""
        if len(self.rows) == 1:
            return [self.name]
        return [f"{self.name}[{i}]" for i in range(len(self.rows))]

    def widths(self) -> Floats:
        """Half-width of each row, 0 for an inequality."""
        given = [self.tolerance or 0.0] * len(self.rows)
        known = given if self.tolerance is not None else self.half_widths or given
        return np.where(self.equalities(), known, 0.0)

    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper limit of each row, equalities widened by the tolerance."""
        lower = np.array([r.lower for r in self.rows], dtype=float)
        upper = np.array([r.upper for r in self.rows], dtype=float)
        return lower - self.widths(), upper + self.widths()

    def equalities(self) -> list[bool]:
        """Which rows are equalities."""
        return [r.is_equality for r in self.rows]

    @property
    def needs_default(self) -> bool:
        """Whether an equality has neither a tolerance nor a default yet."""
        known = self.tolerance is not None or self.half_widths
        return not known and any(self.equalities())

    def __str__(self) -> str:
        return f"Constraint {self.name!r} ({self.source})"


def half_width(tolerance: Any, where: str) -> float | None:
    """Return the tolerance of an equality as a number; None stands for the default."""
    if tolerance is None:
        return None
    if not is_real(tolerance) or not tolerance > 0:
        raise ModelError(f"{where}: tolerance must be positive and finite, got {shown(tolerance)}.")
    return float(tolerance)


def with_defaults(
    constraints: Sequence[Constraint], variables: Sequence[Variable], symbols: Any
) -> tuple[Constraint, ...]:
    """Return the constraints; equalities without a tolerance get their defaults."""
    chosen = [r for c in constraints if c.needs_default for r in c.rows if r.is_equality]
    if not chosen:
        return tuple(constraints)
    rows = [(r.expression, r.lower, r.upper) for c in constraints for r in c.rows]
    near = neighbourhood(variables, *declared_box(variables, rows, symbols))
    widths = default_half_widths(
        [r.expression for r in chosen], [r.lower for r in chosen], symbols, near
    )
    left = iter(widths.tolist())
    return tuple(
        replace(c, half_widths=tuple(next(left) if e else 0.0 for e in c.equalities()))
        if c.needs_default
        else c
        for c in constraints
    )
