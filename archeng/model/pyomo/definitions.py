r"""Variables that equalities define by outputs of black boxes: they are not searched for.

An equality :math:`a v + r = c` with a number :math:`a \ne 0` gives :math:`v = (c - r) / a`, which
is put into all other formulas. It is done

- if outputs are in r and v is no input of a box;
- if outputs are in r and v is an input of a box, but no box feeds itself by it, and nothing else
  limits v: neither bounds nor other constraints. (A box is not called outside of the limits of its
  inputs: with limits, v stays a variable.)
- if r is explicit and v belongs to a grey box, as in ``box.inputs["T"] == model.temperature``.

Bounds of v become a constraint. Equalities with outputs that are left are simulated constraints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.constraint import Constraint, Row
from archeng.model.pyomo.boxes import BoxCall


@dataclass(frozen=True, eq=False)
class Unknown:
    """A free variable that an equality may define; ``own``: it belongs to a grey box."""

    name: str
    symbol: Any
    lower: float
    upper: float
    own: bool

    @property
    def bounded(self) -> bool:
        """Whether it has a bound."""
        return bool(np.isfinite(self.lower) or np.isfinite(self.upper))


@dataclass
class System:
    """Formulas of a model before variables are eliminated, and after.

    Attributes
    ----------
    constraints : list of Constraint
    calls : list of BoxCall
        Their arguments are formulas, too.
    objective : SX or None
    unknowns : dict
        Variables that may be eliminated, by the hash of their symbol.
    defined : dict
        Formulas of eliminated variables, by the hash of their symbol.
    """

    constraints: list[Constraint]
    calls: list[BoxCall]
    objective: Any
    unknowns: dict[int, Unknown]

    def __post_init__(self) -> None:
        self.defined: dict[int, tuple[Unknown, Any]] = {}
        self.outputs = {hash(s): call for call in self.calls for s in call.outputs}

    def eliminate(self) -> None:
        """Eliminate what can be, until nothing is left."""
        while self.calls and (found := _Round(self).definitions()):
            self._put_in(found)

    def equalities_with_outputs(self) -> list[Constraint]:
        """Return the constraints that are equalities with outputs in them."""
        return [c for c in self.constraints if any(c.equalities()) and self.holds_outputs(c)]

    def holds_outputs(self, constraint: Constraint) -> bool:
        """Whether outputs are in a constraint."""
        return any(s in self.outputs for row in constraint.rows for s in symbols(row.expression))

    def feeding(self) -> set[int]:
        """Return hashes of all symbols in the inputs of boxes."""
        return {s for call in self.calls for s in symbols(call.inputs)}

    def _put_in(self, found: Mapping[int, tuple[Constraint, Unknown, Any]]) -> None:
        used = {id(constraint) for constraint, _, _ in found.values()}
        kept = [c for c in self.constraints if id(c) not in used]
        for _, v, _ in found.values():
            if v.bounded:
                row = Row(v.symbol, v.lower, v.upper)
                kept.append(Constraint(f"bounds of {v.name}", (row,), None, "Pyomo"))
        formulas = [row.expression for c in kept for row in c.rows]
        formulas += [a for call in self.calls for a in call.arguments if not isinstance(a, str)]
        formulas += [formula for _, formula in self.defined.values()]
        formulas += [] if self.objective is None else [self.objective]
        old = [v.symbol for _, v, _ in found.values()]
        new = [formula for _, _, formula in found.values()]
        left = iter(ca.substitute([ca.SX(f) for f in formulas], old, new))  # all at once: faster
        self.constraints = [
            replace(c, rows=tuple(replace(r, expression=next(left)) for r in c.rows)) for c in kept
        ]
        for call in self.calls:
            call.arguments = [a if isinstance(a, str) else next(left) for a in call.arguments]
        self.defined = {key: (v, next(left)) for key, (v, _) in self.defined.items()}
        self.defined |= {key: (v, formula) for key, (_, v, formula) in found.items()}
        self.objective = next(left, None)
        for key in found:
            del self.unknowns[key]


class _Round:
    """One round: definitions that do not depend on each other."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._inside = [
            {s for row in c.rows for s in symbols(row.expression)} for c in system.constraints
        ]
        self._count = Counter(s for inside in self._inside for s in inside)
        self._feeding = system.feeding()
        self._order = {key: k for k, key in enumerate(system.unknowns)}

    def definitions(self) -> dict[int, tuple[Constraint, Unknown, Any]]:
        """Return eliminated variables by the hash of their symbols, with the equality used.

        Explicit definitions come first: they say what else feeds the boxes.
        """
        return self._definitions(explicit=True) or self._definitions(explicit=False)

    def _definitions(self, explicit: bool) -> dict[int, tuple[Constraint, Unknown, Any]]:
        found: dict[int, tuple[Constraint, Unknown, Any]] = {}
        taken: set[int] = set()  # symbols of the definitions so far
        fed = False  # one at a time: two may close a circle together
        for constraint, inside in zip(self._system.constraints, self._inside, strict=True):
            row, *more = constraint.rows
            if more or not row.is_equality or row.when is not None or inside & set(found):
                continue
            if explicit == self._depends(inside):
                continue
            best = self._best(row, inside - taken, inside, fed)
            if best is None:
                continue
            key, formula = best
            found[key] = constraint, self._system.unknowns[key], formula
            taken |= inside
            fed = fed or (not explicit and key in self._feeding)
        return found

    def _best(self, row: Row, free: set[int], inside: set[int], fed: bool) -> Any:
        """Return the variable that an equality defines, and its formula; None if there is none."""
        unknowns = self._system.unknowns
        possible = [k for k in free if k in unknowns and self._allowed(k, inside, fed)]
        if not possible:
            return None
        column = ca.vertcat(*(unknowns[k].symbol for k in possible))
        slopes = ca.densify(ca.jacobian(row.expression, column)).nonzeros()
        linear = {
            k: float(a)
            for k, a in zip(possible, slopes, strict=True)
            if ca.SX(a).is_constant() and np.isfinite(float(a)) and float(a) != 0
        }
        if not linear:
            return None
        key = min(linear, key=self._preference)
        v = unknowns[key].symbol
        rest = ca.substitute(row.expression, v, 0)
        return key, (row.lower - rest) / linear[key]

    def _preference(self, key: int) -> tuple[bool, int, bool, int]:
        """Order of variables that the same equality could define."""
        v = self._system.unknowns[key]
        return key in self._feeding, self._count[key], v.bounded, -self._order[key]

    def _allowed(self, key: int, inside: set[int], fed: bool) -> bool:
        v = self._system.unknowns[key]
        if not self._depends(inside):
            return v.own
        if key not in self._feeding:
            return True
        return not (fed or v.bounded or self._count[key] > 1 or self._circle(key, inside))

    def _depends(self, inside: set[int]) -> bool:
        return any(s in self._system.outputs for s in inside)

    def _circle(self, key: int, inside: set[int]) -> bool:
        """Whether boxes that compute a definition of the variable are fed by it."""
        outputs = self._system.outputs
        waiting = [outputs[s] for s in inside if s in outputs]
        seen: set[int] = set()
        while waiting:
            call = waiting.pop()
            if id(call) not in seen:
                seen.add(id(call))
                inputs = symbols(call.inputs)
                if key in inputs:
                    return True
                waiting += [outputs[s] for s in inputs if s in outputs]
        return False


def symbols(expression: Any) -> set[int]:
    """Return the hashes of the symbols in a formula."""
    return {hash(s) for s in ca.symvar(expression)}
