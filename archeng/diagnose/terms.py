"""Linear programs in the terms of nonlinear rows: proofs where nonlinear terms cancel.

Every row is written as a sum of coefficients times *terms*; a term is a variable, a product, or
any other operation of which no more is known than its range over the box. If even with the terms
as independent variables the rows cannot hold, they cannot hold at all. Products also obey the
inequalities of McCormick [M76]. That settles limits on the same expression, balances with
products of flows and fractions, and cycles of such rows.

[M76] G. P. McCormick, Computability of global solutions to factorable nonconvex programs: part I,
Mathematical Programming 10, 1976, doi:10.1007/BF01580665.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from archeng.diagnose import intervals as iv
from archeng.diagnose.elastic import certified, elastic_program
from archeng.diagnose.graph import Graph
from archeng.diagnose.intervals import Box, EmptyError, Interval
from archeng.diagnose.limits import Bools, LimitSystem
from archeng.model.variable import Floats

Term = tuple[int, ...]
"""Sorted numbers of its factors; the empty term is the constant 1."""
Form = dict[Term, float]
"""Coefficients of terms."""
Frozen = tuple[tuple[Term, float], ...]
FormRange = tuple[Form, Interval]
"""A form, and the range in which it has to lie."""

_FACTORS = {ca.OP_ASSIGN: 1.0, ca.OP_NEG: -1.0, ca.OP_TWICE: 2.0}  # operations that only scale
_LONGEST = 40  # products of sums with more terms than this are not multiplied out
_LARGEST = 400  # operations of a row that is looked at
_MOST_TERMS = 300  # of all rows; with more of them no proof is tried
_HUGE = 1e30  # ends of ranges beyond this count as infinite
_GAP = 1e-6  # scaled gap between the rows that counts as a proof


class TermProgram:
    """Proofs for subsets of the limits of one system."""

    def __init__(self, system: LimitSystem) -> None:
        self._system = system
        self._factors = Factors()
        self._forms = [
            None if graph is None or len(graph.nodes) > _LARGEST else self._factors.form(graph)
            for graph in system.graphs
        ]

    def proves_conflict(self, active: Bools) -> bool:
        """Whether the active limits cannot hold together even with independent terms."""
        try:
            box, rows = iv.box_and_rows(self._system, active)
            box = iv.contracted(box, rows)
            forms = [(form, r) for j, _, r in rows if (form := self._forms[j]) is not None]
            terms = {t for form, _ in forms for t in form if t}
            if not forms or len(terms) > _MOST_TERMS:
                return False
            splits = _splits(terms)
            factors: dict[int, Interval] = {}
            ranges = {
                t: _tamed(self._factors.range_of_term(t, box, factors))
                for t in sorted(terms.union(*((a, b) for _, a, b in splits)))
            }
        except EmptyError:
            return True
        envelopes = [e for w, a, b in splits for e in _envelope(w, a, b, ranges[a], ranges[b])]
        return _impossible([*forms, *envelopes], ranges)


def _tamed(r: Interval) -> Interval:
    """Return a range with huge ends as infinite ones, which is always true."""
    return (r[0] if r[0] > -_HUGE else -np.inf), (r[1] if r[1] < _HUGE else np.inf)


def _splits(terms: set[Term]) -> list[tuple[Term, Term, Term]]:
    """Products of two (term, one part, other part), such that at most one part is new."""
    splits: list[tuple[Term, Term, Term]] = []
    for term in sorted(terms):
        for factor in dict.fromkeys(term) if len(term) > 1 else ():
            at = term.index(factor)
            rest = term[:at] + term[at + 1 :]
            if len(term) == 2 or rest in terms:
                splits.append((term, rest, (factor,)))
    return splits


def _envelope(w: Term, a: Term, b: Term, p: Interval, q: Interval) -> list[FormRange]:
    """Inequalities that the product w = a b obeys for a in p and b in q (McCormick)."""
    rows: list[FormRange] = []
    for s, t in ((0, 0), (1, 1), (0, 1), (1, 0)):
        if np.isfinite(p[s]) and np.isfinite(q[t]):
            form = _added({w: 1.0}, _added({a: -q[t]}, _added({b: -p[s]}, {(): p[s] * q[t]})))
            rows.append((form, (0.0, np.inf) if s == t else (-np.inf, 0.0)))
    return rows


def _impossible(rows: Sequence[FormRange], ranges: dict[Term, Interval]) -> bool:
    """Solve the elastic program: rows and columns scaled to coefficients of about one."""
    place = {t: i for i, t in enumerate(ranges)}
    matrix = np.zeros((len(rows), len(ranges)))
    ends = np.zeros((len(rows), 2))
    for r, (form, limits) in enumerate(rows):
        for term, coefficient in form.items():
            if term:
                matrix[r, place[term]] = coefficient
        ends[r] = np.array(limits) - form.get((), 0.0)
    if not np.all(np.isfinite(matrix)) or np.any(np.isnan(ends)):
        return False
    upper, lower = np.isfinite(ends[:, 1]), np.isfinite(ends[:, 0])
    a = np.vstack((matrix[upper], -matrix[lower]))
    b = np.concatenate((ends[upper, 1], -ends[lower, 0]))
    least, most = (np.array(side, dtype=float) for side in zip(*ranges.values(), strict=True))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        row, column = _scales(a, b, least, most)
        a, b = a / row[:, None] * column, b / row
        least, most = least / column, most / column
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b)) and np.all(np.isfinite(column))):
        return False
    answer = elastic_program(a, b, least, most, np.ones(len(b)))
    if answer.status != 0 or answer.fun < _GAP:
        return False
    return certified(a, b, least, most, -answer.ineqlin.marginals)


def _scales(a: Floats, b: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Typical size of each row and of each term."""
    ends = np.abs(np.array((least, most)))
    column = np.where(np.isfinite(ends), ends, 0.0).max(axis=0)
    for _ in range(3):
        row = np.maximum((np.abs(a) * column).max(axis=1), np.abs(b))
        row[row == 0] = 1.0
        wish = np.where(a != 0, row[:, None] / np.abs(a), np.inf).min(axis=0)
        column = np.where(column > 0, column, np.where(np.isfinite(wish), wish, 1.0))
    return row, column


class Factors:
    """A numbered list of variables and operations; equal ones have the same number.

    An entry is ``("x", i)``, ``("+", form)`` or ``(op, form, ...)`` with the forms of its inputs.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[Any, ...]] = []
        self._number: dict[tuple[Any, ...], int] = {}

    def form(self, graph: Graph) -> Form:
        """Return a row as coefficients of terms."""

        def variable(i: int) -> Form:
            return {(self._numbered(("x", i)),): 1.0}

        def constant(c: float) -> Form:
            return {(): c}

        return graph.evaluated(variable, constant, self._combined)[-1]

    def range_of_term(self, term: Term, box: Box, ranges: dict[int, Interval]) -> Interval:
        """Range of a product of factors over a box; ``ranges`` keeps those of the factors."""
        result: Interval = (1.0, 1.0)
        for factor in dict.fromkeys(term):
            own = self._range_of_factor(factor, box, ranges)
            result = iv.mul(result, iv.power(own, float(term.count(factor))))
        return result

    def _range_of_factor(self, factor: int, box: Box, ranges: dict[int, Interval]) -> Interval:
        if factor not in ranges:
            op, *inputs = self._entries[factor]
            if op == "x":
                ranges[factor] = box[inputs[0]]
            else:
                of_inputs = [self._range_of_form(form, box, ranges) for form in inputs]
                ranges[factor] = of_inputs[0] if op == "+" else iv.forward(op, of_inputs)
        return ranges[factor]

    def _range_of_form(self, form: Frozen, box: Box, ranges: dict[int, Interval]) -> Interval:
        total: Interval = (0.0, 0.0)
        for term, c in form:
            total = iv.add(total, iv.mul((c, c), self.range_of_term(term, box, ranges)))
        return total

    def _numbered(self, entry: tuple[Any, ...]) -> int:
        if entry not in self._number:
            self._number[entry] = len(self._entries)
            self._entries.append(entry)
        return self._number[entry]

    def _alone(self, op: int, inputs: list[Form]) -> Term:
        """Return an operation as a term of its own."""
        return (self._numbered((op, *(_frozen(form) for form in inputs))),)

    def _combined(self, op: int, inputs: list[Form]) -> Form:
        if op in _FACTORS:
            return _scaled(inputs[0], _FACTORS[op])
        if op in (ca.OP_ADD, ca.OP_SUB):
            return _added(inputs[0], _scaled(inputs[1], 1.0 if op == ca.OP_ADD else -1.0))
        if op in (ca.OP_SQ, ca.OP_MUL):
            return self._multiplied(inputs[0], inputs[-1])
        if op in (ca.OP_DIV, ca.OP_INV):
            numerator: Form = inputs[0] if op == ca.OP_DIV else {(): 1.0}
            if set(inputs[-1]) == {()} and inputs[-1][()] != 0.0:
                return _scaled(numerator, 1.0 / inputs[-1][()])
            return self._multiplied(numerator, {self._alone(ca.OP_INV, [inputs[-1]]): 1.0})
        return {self._alone(op, inputs): 1.0}

    def _multiplied(self, a: Form, b: Form) -> Form:
        if len(a) * len(b) > _LONGEST:
            first, second = (self._numbered(("+", _frozen(form))) for form in (a, b))
            return {tuple(sorted((first, second))): 1.0}
        product: Form = {}
        for s, p in a.items():
            for t, q in b.items():
                term = tuple(sorted((*s, *t)))
                product[term] = product.get(term, 0.0) + p * q
        return product


def _scaled(form: Form, factor: float) -> Form:
    return {term: factor * c for term, c in form.items()}


def _added(a: Form, b: Form) -> Form:
    total = dict(a)
    for term, c in b.items():
        total[term] = total.get(term, 0.0) + c
        if total[term] == 0.0:
            del total[term]
    return total


def _frozen(form: Form) -> Frozen:
    return tuple(sorted(form.items()))
