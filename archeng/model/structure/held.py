"""`Held`: the dependent variables as a function of some independents, with the others held.

The discrete variables of a model are held where only its real ones move. Solutions are those of
the whole function, bit for bit, so they do not depend on when one of these was made.
"""

from __future__ import annotations

from typing import Any

from archeng.model.structure.dependents import Dependents, Solution, Split
from archeng.model.structure.incidence import Indices
from archeng.model.variable import Floats


class Held(Dependents):
    """Dependents of the independents ``own``, numbers among all n, with the others as in u (n,)."""

    def __init__(self, every: Dependents, own: Indices, u: Floats) -> None:
        system, split, middle, half, scale, anchor, bounds = every.about
        anchor = anchor.copy()
        anchor[split.independent] = u
        part = Split(split.independent[own], split.dependent, split.equations)
        super().__init__(system, part, middle, half, scale, anchor, bounds)
        self._made_of = every, own, u

    def solve(self, u: Floats) -> Solution | None:
        """Return the solution at the own independents (k,); None if there is none."""
        every, own, others = self._made_of
        whole = others.copy()
        whole[own] = u
        found = every.solve(whole)
        return None if found is None else Solution(self, found.x, found.rows)

    def __reduce__(self) -> Any:
        return Held, self._made_of
