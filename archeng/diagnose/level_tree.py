"""`LevelTree`: whether limits can hold together if some variables take only their levels.

If there are few combinations and no other variables, all of them are tried. A row of whole numbers
may be impossible because all its values have a common divisor. Otherwise a tree of boxes: each is
contracted by interval arithmetic, with its ends moved to levels; a linear program of the linear
limits may prove that nothing is left; else it is split between two levels. Where all discrete
variables have one level, the others are looked for by a linear program, or by IPOPT.

The answer "no" is a proof if every box was closed by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from archeng.diagnose.elastic import LinearElastic
from archeng.diagnose.intervals import Box, EmptyError, Levels, box_and_rows, contracted
from archeng.diagnose.intervals import proves_conflict as intervals_prove
from archeng.diagnose.limits import Bools, Limit, LimitKind, LimitSystem
from archeng.diagnose.oracle import HOLDS, Oracle
from archeng.model.variable import Floats

_LISTED = 2**14  # combinations of levels that are tried one by one
_WHOLE = 2.0**50  # whole numbers below this are exact, sums of them, too
_FRACTION = 1e-6  # distance from a level, in gaps between levels, that is none
_WORK = 600_000  # operations of all rows times boxes that an answer may take
_FEWEST = 40  # boxes, however many operations the rows have
ENUMERATION, DIVISOR, TREE = "trying all combinations", "a common divisor", "branch and bound"
"""Names of the proofs."""


class TreeAnswer(NamedTuple):
    """``point`` (n,) at which the limits hold, or None.

    ``finished``: nothing is left to look at; then ``proof`` names the proof, if there is one.
    """

    point: Floats | None
    finished: bool = True
    proof: str = ""


@dataclass(frozen=True, eq=False)
class _Question:
    """Limits of a system that shall hold, at levels of some variables."""

    system: LimitSystem
    active: Bools
    levels: Levels

    @cached_property
    def rows(self) -> list[int]:
        """Quantities of the limits that are rows."""
        chosen: list[int] = self.system.quantity[
            self.active & self.system.of_kind(LimitKind.ROW)
        ].tolist()
        return chosen

    @cached_property
    def involved(self) -> frozenset[int]:
        """Variables that occur in the rows."""
        return frozenset(i for q in self.rows for i in self.system.quantities[q].variables)

    @cached_property
    def branching(self) -> list[int]:
        """Discrete variables that matter."""
        return [i for i in self.levels if i in self.involved]

    @cached_property
    def all_linear(self) -> bool:
        """Whether a linear program answers it."""
        return all(self.system.quantities[q].linear for q in self.system.quantity[self.active])

    def within(self, box: Box) -> tuple[LimitSystem, Bools]:
        """Return the system with a box that never gives instead of bounds, and its limits."""
        system, m = self.system, self.system.m
        rows = [k for k in np.flatnonzero(self.active) if system.limits[k].kind is LimitKind.ROW]
        limits = [system.limits[k] for k in rows]
        for i, ends in enumerate(box):
            for side, end in zip((-1, 1), ends, strict=True):
                if np.isfinite(end):
                    limits.append(Limit(m + i, side, end, LimitKind.SIGN))
        smaller = replace(system, limits=tuple(limits))
        return smaller, smaller.everything

    def holds(self, point: Floats) -> bool:
        """Whether the limits hold at a point (n,) whose discrete variables are at levels."""
        return bool(np.all(self.system.excess(point[None, :])[0][self.active] <= HOLDS))

    def decoded(self, x: Floats, box: Box) -> Floats:
        """Return a point with its discrete variables at the nearest levels of a box."""
        y = x.copy()
        for i, levels in self.levels.items():
            inside = left_of(levels, box[i])
            y[i] = inside[int(np.argmin(np.abs(inside - x[i])))]
        return y


class LevelTree:
    """Answers for subsets of the limits and of the discrete variables of one system.

    ``levels`` are the numbers that the discrete variables may take, by their positions.
    """

    def __init__(self, oracle: Oracle, levels: Mapping[int, Floats]) -> None:
        self._oracle, self.system, self.levels = oracle, oracle.system, dict(levels)
        self._points = np.zeros((0, self.system.n))

    def ask(
        self,
        active: Bools,
        discrete: Collection[int],
        most: int,
        system: LimitSystem | None = None,
        levels: Levels | None = None,
    ) -> TreeAnswer:
        """Say whether the active limits can hold with these variables at their levels.

        ``most`` boxes are looked at, fewer if the rows are long. ``system`` has other limits,
        ``levels`` other levels.
        """
        of = self.levels if levels is None else levels
        question = _Question(system or self.system, active, {i: of[i] for i in discrete})
        point = self._remembered(question)
        if point is not None:
            return TreeAnswer(point)
        if levels is None and len(discrete) == len(self.levels) and self.listed is not None:
            good = np.all(question.system.excess(self.listed)[:, active] <= HOLDS, axis=1)
            if good.any():
                return TreeAnswer(self.listed[int(np.argmax(good))])
            return TreeAnswer(None, True, ENUMERATION)
        if any(_divides(question, q) for q in set(question.rows)):
            return TreeAnswer(None, True, DIVISOR)
        answer = self._search(question, min(most, self._affordable))
        if answer.point is not None:
            self._points = np.vstack((answer.point, self._points))
        return answer

    def polished(self, point: Floats, group: Collection[int]) -> Floats:
        """Let real variables move so that some limits are exceeded less, while all others hold.

        The discrete ones stay. Returns the better point, or the same.
        """
        box = list(zip(self.system.lower.tolist(), self.system.upper.tolist(), strict=True))
        for i in self.levels:
            box[i] = (float(point[i]), float(point[i]))
        question = _Question(self.system, self.system.everything, {})
        system, active = question.within(box)
        gives = {self.system.limits[k] for k in group}
        weights = np.array([1.0 if limit in gives else np.inf for limit in system.limits])
        if question.all_linear:
            solution = LinearElastic(system).solve(active, weights)
        else:
            solution = self._oracle.nonlinear.solve(system, active, point, weights)
        if solution is None:
            return point
        both = self.system.excess(np.array([point, solution.x]))
        held = np.setdiff1d(np.arange(len(self.system.limits)), list(group))
        less = both[1, list(group)].max() < both[0, list(group)].max()
        return solution.x if less and np.all(both[1, held] <= HOLDS) else point

    @cached_property
    def listed(self) -> Floats | None:
        """All combinations of levels (k, n), if there are few and no other variables."""
        total = float(np.prod([float(len(levels)) for levels in self.levels.values()]))
        if len(self.levels) < self.system.n or total > _LISTED:
            return None
        return np.array(list(product(*(self.levels[i] for i in range(self.system.n)))))

    @cached_property
    def _affordable(self) -> int:
        """Boxes that do not take too long."""
        size = sum(len(graph.nodes) for graph in self.system.graphs if graph is not None)
        return max(_WORK // max(size, 1), _FEWEST)

    def _remembered(self, question: _Question) -> Floats | None:
        """Return a point of an earlier answer that is one of this question, too."""
        for point in self._points:
            at_levels = all(point[i] in levels for i, levels in question.levels.items())
            if at_levels and question.holds(point):
                return np.array(point)
        return None

    def _search(self, question: _Question, most: int) -> TreeAnswer:
        """Open boxes until a point is found, none is left, or there were too many."""
        proved = True
        try:
            root, rows = box_and_rows(question.system, question.active)
        except EmptyError:
            return TreeAnswer(None, True, TREE)
        todo = [root]
        for _ in range(most):
            if not todo:
                return TreeAnswer(None, True, TREE if proved else "")
            try:
                box = contracted(todo.pop(), rows, question.levels)
            except EmptyError:
                continue
            x = self._relaxed(question, box)
            if x is None:
                continue
            point = question.decoded(x, box)
            if question.holds(point):
                return TreeAnswer(point)
            open_ones = [i for i in question.branching if box[i][0] < box[i][1]]
            if open_ones:
                todo += _split(question, box, x, open_ones)
                continue
            found, certain = self._leaf(question, box, point)
            if found is not None:
                return TreeAnswer(found)
            proved &= certain
        return TreeAnswer(None, not todo, TREE if proved and not todo else "")

    def _relaxed(self, question: _Question, box: Box) -> Floats | None:
        """Return a point of a box at which the linear limits hold if they can; None: proved not."""
        system, active = question.within(box)
        low, high = np.array(box).T
        middle = np.clip(system.center, low, high)
        finite = np.isfinite(low) & np.isfinite(high)
        middle[finite] = (low[finite] + high[finite]) / 2
        linear = LinearElastic(system)
        usable = active & linear.usable
        if not np.any(usable & system.of_kind(LimitKind.ROW)):
            return middle
        solution = linear.solve(usable)
        if solution is None:
            return middle
        if solution.give.sum() > HOLDS and linear.proves_conflict(usable, solution):
            return None
        return np.clip(solution.x, low, high)

    def _leaf(self, question: _Question, box: Box, x: Floats) -> tuple[Floats | None, bool]:
        """Look for the real variables; return a point or None, and whether that is proved.

        A point of linear limits has been tried already.
        """
        system, active = question.within(box)
        if question.all_linear:
            solution = LinearElastic(system).solve(active)
            if solution is None:
                return None, False
            point = question.decoded(solution.x, box)
            return (point if question.holds(point) else None), False
        if all(box[i][0] == box[i][1] for i in question.involved):
            return None, True  # the rows have been evaluated, at the only point
        if intervals_prove(system, active, split=True):
            return None, True
        weights = np.ones(len(system.limits))
        for start in (x, *self._oracle.starts(self.system.everything, 2)):
            solution = self._oracle.nonlinear.solve(system, active, start, weights)
            if solution is not None:
                point = question.decoded(solution.x, box)
                if question.holds(point):
                    return point, False
        return None, False


def _divides(question: _Question, q: int) -> bool:
    """Whether a linear row of whole numbers has no value within its limits: all are multiples.

    Only for whole coefficients, so that there is nothing to be rounded.
    """
    system, quantity = question.system, question.system.quantities[q]
    own = [i for i in quantity.variables if system.linear[q][i] != 0]
    if not quantity.linear or not own or any(i not in question.levels for i in own):
        return False
    a = system.linear[q][own]
    first = np.array([question.levels[i][0] for i in own])
    steps = np.concatenate([c * np.diff(question.levels[i]) for c, i in zip(a, own, strict=True)])
    if not all(np.all(v == np.round(v)) and np.abs(v).max() < _WHOLE for v in (a, first, steps)):
        return False
    divisor = int(np.gcd.reduce(np.abs(steps).astype(np.int64)))
    base = float(system.offset[q] + a @ first)
    asked = question.active & (system.quantity == q)
    low = system.value[asked & (system.side < 0)].max(initial=-np.inf)
    high = system.value[asked & (system.side > 0)].min(initial=np.inf)
    slack = HOLDS * float(system.size[q])
    if not np.isfinite(low) or not np.isfinite(high):
        return False
    return bool(np.floor((high + slack - base) / divisor) * divisor + base < low - slack)


def left_of(levels: Floats, ends: tuple[float, float]) -> Floats:
    """Return the levels that lie in a range."""
    return levels[(levels >= ends[0]) & (levels <= ends[1])]


def _split(question: _Question, box: Box, x: Floats, among: list[int]) -> list[Box]:
    """Split a box between two levels, where the point is farthest from one; its part is last."""

    def fraction(i: int) -> float:
        inside = left_of(question.levels[i], box[i])
        gaps = np.abs(inside - x[i])
        return float(gaps.min() / np.diff(inside).min())

    i = max(among, key=fraction)
    if fraction(i) <= _FRACTION:  # nothing to tell them apart: the one with the fewest levels
        i = min(among, key=lambda j: len(left_of(question.levels[j], box[j])))
    inside = left_of(question.levels[i], box[i])
    cut = int(np.clip(np.searchsorted(inside, x[i], side="right"), 1, len(inside) - 1))
    below, above = list(box), list(box)
    below[i] = (box[i][0], float(inside[cut - 1]))
    above[i] = (float(inside[cut]), box[i][1])
    near = x[i] - inside[cut - 1] <= inside[cut] - x[i]
    return [above, below] if near else [below, above]
