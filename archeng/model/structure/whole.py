"""`Whole`: a model before its dependent variables are eliminated, every row and every variable.

What is left of it in a reduced set is the check of full vectors: the gate evaluates every bound and
every row, equations included, at the very vector that the simulator gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from archeng.model.structure.anchor import Limits
from archeng.model.structure.incidence import Indices
from archeng.model.structure.system import RowSystem
from archeng.model.variable import Floats

if TYPE_CHECKING:
    from archeng.model.feasible_set import RowInfo


@dataclass(frozen=True, eq=False)
class Choice:
    """Which variables are independent, and where the equations were first solved.

    A journal holds it, so that a run goes on with the same ones.

    Attributes
    ----------
    independent : ndarray of int, shape (n,)
        Positions in the full vector.
    equations : ndarray of int, shape (p,)
        Rows that are solved for the others, among those of `Whole`.
    anchor : ndarray, shape (n_full,)
    """

    independent: Indices
    equations: Indices
    anchor: Floats


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows over the free variables x (N,).

    Attributes
    ----------
    free : ndarray of int, shape (N,)
        Positions of the free variables in the full vector.
    template : ndarray, shape (n_full,)
        Full vector with the fixed values in place.
    names : tuple of str, length N
    bounds : tuple of RowInfo, length N
        What the bounds of each variable are called.
    rows : tuple of RowInfo, length M
        The other rows, as the system has them.
    linear : ndarray of bool, shape (M,)
    system : RowSystem
    limits : Limits
    independent : ndarray of bool, shape (N,)
        Variables that have to be independent: discrete ones, and those that were named.
    torn : ndarray of bool, shape (N,)
        Variables in equations with outputs, of which loops through the simulator are torn.
    """

    free: Indices
    template: Floats
    names: tuple[str, ...]
    bounds: tuple[RowInfo, ...]
    rows: tuple[RowInfo, ...]
    linear: Any
    system: RowSystem
    limits: Limits
    independent: Any
    torn: Any

    @cached_property
    def all_rows(self) -> tuple[RowInfo, ...]:
        """Bounds, then the other rows."""
        return (*self.bounds, *self.rows)

    @property
    def may_move(self) -> Any:
        """Variables (N,) that may become independent or dependent for better conditioning."""
        return ~(self.independent | self.torn)

    def violations(self, full: Floats) -> Floats | None:
        """Violation (N + M,) of every row at a full vector; None if a fixed variable was changed.

        Infinite where a row is undefined.
        """
        fixed = np.ones(len(full), dtype=bool)
        fixed[self.free] = False
        if not np.array_equal(full[fixed], self.template[fixed]):
            return None
        x, limits = full[self.free], self.limits
        values = np.concatenate((x, self.system.values(x)))
        low, high = np.append(limits.low, limits.row_low), np.append(limits.high, limits.row_high)
        finite = np.isfinite(values)
        safe = np.where(finite, values, 0.0)
        excess = np.maximum(np.maximum(low - safe, safe - high), 0.0)
        return np.where(finite, excess, np.inf)

    def expand(self, x: Floats) -> Floats:
        """Full vector (n_full,) of x (N,)."""
        full = self.template.copy()
        full[self.free] = x
        return full
