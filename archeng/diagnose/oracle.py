"""`Oracle`: can these limits hold together? What is cheap is asked first.

1. Is there a remembered point at which they hold? 2. A linear program of the linear ones.
3. Interval arithmetic, and a linear program in the terms of the nonlinear rows. 4. Elastic programs
with IPOPT from several starts. The answers "yes" (with a point) and "no" of steps 2 and 3 are
certain; after step 4 the answer is "not found".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archeng.diagnose.elastic import ElasticPoint, LinearElastic, NonlinearElastic
from archeng.diagnose.intervals import proves_conflict
from archeng.diagnose.limits import Bools, LimitKind, LimitSystem
from archeng.diagnose.terms import TermProgram
from archeng.model.variable import Floats

HOLDS = 1e-8
"""A limit holds if it is exceeded by at most this, in sizes of its quantity."""
LINEAR_PROGRAM, INTERVALS = "linear program", "interval arithmetic"
"""Names of the proofs."""
_FIRST = 300  # first points that are kept apart, as typical ones of the box
_FAR = 6.0  # how far outside the box points are looked for: up to 10**_FAR scales
_FAR_POINTS, _FAR_KEPT = 600, 6  # points that are looked at there, and remembered
_CAP = 1e3  # an excess beyond this counts as this when points are compared


class Consistency(NamedTuple):
    """``point`` at which the limits hold, or None; then ``proof`` names the proof, if any."""

    point: Floats | None
    proof: str = ""


class Oracle:
    """Answers for subsets of the limits of one system; remembers the points it has seen.

    The first ``points`` (k, n) are given; ``rng`` chooses among the starts; ``attempts`` counts the
    searches by IPOPT.
    """

    def __init__(self, system: LimitSystem, points: Floats, rng: np.random.Generator) -> None:
        self.system = system
        self.attempts = 0
        self.first_points = points[:_FIRST]
        self.linear = LinearElastic(system)
        self._terms = TermProgram(system)
        self._rng, self._points, self._excess = rng, points, system.excess(points)

    @cached_property
    def nonlinear(self) -> NonlinearElastic:
        """Elastic programs in which rows give, compiled when first needed."""
        return NonlinearElastic(self.system)

    @cached_property
    def nonlinear_with_bounds(self) -> NonlinearElastic:
        """Elastic programs in which rows and bounds give."""
        return NonlinearElastic(self.system, bounds_give=True)

    def remember(self, points: Floats) -> Floats:
        """Add points (k, n) to those that are remembered; return their excess (k, limits)."""
        excess = self.system.excess(points)
        self._points = np.vstack((points, self._points))
        self._excess = np.vstack((excess, self._excess))
        return excess

    def remembered(self, active: Bools) -> Floats | None:
        """Return a remembered point at which the active limits hold."""
        holds = np.all(self._excess[:, active] <= HOLDS, axis=1)
        return self._points[int(np.argmax(holds))] if holds.any() else None

    def quick(self, active: Bools) -> Consistency:
        """Answer without a nonlinear solver; neither point nor proof if that is not enough."""
        point = self.remembered(active)
        if point is not None:
            return Consistency(point)
        linear = active & self.linear.usable
        elastic = self.linear.solve(linear)
        if elastic is not None and np.sum(elastic.give) > HOLDS:
            if self.linear.proves_conflict(linear, elastic):
                return Consistency(None, LINEAR_PROGRAM)
        elif elastic is not None:
            excess = self.remember(elastic.x[None, :])[0]
            if np.all(excess[active] <= HOLDS):
                return Consistency(elastic.x)
        if proves_conflict(self.system, active):
            return Consistency(None, INTERVALS)
        if self._terms.proves_conflict(active):
            return Consistency(None, LINEAR_PROGRAM)
        return Consistency(None)

    def impossible(self, active: Bools) -> bool:
        """Whether it is proved, without a nonlinear solver, that the limits cannot hold."""
        return bool(self.quick(active).proof)

    def ask(self, active: Bools, starts: int = 4) -> Consistency:
        """Whether the active limits can hold together."""
        answer = self.quick(active)
        if answer.point is not None or answer.proof:
            return answer
        self._explore(active)
        point = self.remembered(active)
        if point is None:
            self.descents(active, starts)
            point = self.remembered(active)
        return Consistency(point)

    def _explore(self, active: Bools) -> None:
        """Look far outside the bounds that are not asked for, and remember the better points."""
        system = self.system
        low, high = system.box(active, LimitKind.BOUND, LimitKind.SIGN)
        loose = np.flatnonzero((low < system.lower) | (high > system.upper))
        if len(loose) == 0:
            return
        rng, shape = self._rng, (_FAR_POINTS, len(loose))
        points = self._points[rng.integers(len(self._points), size=_FAR_POINTS)]
        reach = system.scale[loose] * 10 ** rng.uniform(-1, _FAR, shape)
        step = np.where(rng.random(shape) < 0.5, -reach, reach)
        moves = rng.random(shape) < rng.random((_FAR_POINTS, 1))
        points[:, loose] += np.where(moves, step, 0.0)
        points = np.clip(points, low, high)
        order = np.argsort(_total(system.excess(points)[:, active]), kind="stable")
        self.remember(points[order[:_FAR_KEPT]])

    def descents(self, active: Bools, starts: int) -> list[ElasticPoint]:
        """Elastic programs of the active limits from several starts; stops when one is solved."""
        weights = _stiff_bounds(self.system)
        solutions = []
        for start in self.starts(active, starts):
            self.attempts += 1
            solution = self.nonlinear.solve(self.system, active, start, weights)
            if solution is None:
                continue
            solutions.append(solution)
            excess = self.remember(solution.x[None, :])[0]
            if np.all(excess[active] <= HOLDS):
                break
        return solutions

    def reaches(self, other: LimitSystem, starts: Iterable[Floats]) -> bool:
        """Whether a local search finds a point at which all limits of another system hold.

        ``other`` is the system of the oracle but for its limits.
        """
        every, weights = other.everything, _stiff_bounds(other)
        solutions = (self.nonlinear.solve(other, every, start, weights) for start in starts)
        return any(s is not None and np.all(other.excess(s.x[None, :]) <= HOLDS) for s in solutions)

    def starts(self, active: Bools, k: int) -> list[Floats]:
        """Return the least violating points, then others among the better half."""
        order = np.argsort(_total(self._excess[:, active]), kind="stable")
        best = [int(i) for i in order[: (k + 1) // 2]]
        rest = order[len(best) : max(len(order) // 2, len(best) + k)]
        others = self._rng.choice(rest, min(k - len(best), len(rest)), replace=False)
        return [self._points[i] for i in (*best, *others)]

    def least_excess(self) -> tuple[Floats, Floats]:
        """Return the point that exceeds the limits least, and its excess (limits,)."""
        best = int(np.argmin(_total(self._excess[:, self.system.everything])))
        return self._points[best], self._excess[best]


def _total(excess: Floats) -> Floats:
    """Return by how much points (k, limits) exceed all limits together."""
    return np.asarray(np.clip(excess, 0.0, _CAP).sum(axis=1))


def _stiff_bounds(system: LimitSystem) -> Floats:
    """Costs at which rows give and bounds do not: x stays sane."""
    return np.where(system.of_kind(LimitKind.BOUND), np.inf, 1.0)
