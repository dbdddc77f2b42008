"""`Oracle`: can these limits hold together? What is cheap is asked first.

1. Is there a known point at which they hold? 2. A linear program of the linear ones. 3. Interval
arithmetic, and a linear program in the terms of the nonlinear rows. 4. Elastic problems with IPOPT
from several starts. The answers "yes" (with a point) and "no" of steps 2 and 3 are certain; after
step 4 the answer is "not found".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.diagnose.contract import proves_conflict
from archeng.diagnose.elastic import ElasticProgram
from archeng.diagnose.linear import Elastic, LinearProgram
from archeng.diagnose.system import Bools, Kind, Limit, System
from archeng.diagnose.terms import TermProgram
from archeng.model.variable import Floats

HOLDS = 1e-8
"""A limit holds if it is exceeded by at most this, in sizes of its quantity."""
_FIRST = 300
_FAR = 6.0  # how far outside the box points are looked for: up to 10**_FAR scales
_FAR_POINTS, _FAR_KEPT = 600, 6

LINEAR_PROGRAM = "linear program"
INTERVALS = "interval arithmetic"


@dataclass(frozen=True, eq=False)
class Answer:
    """``point`` at which the limits hold, or None; then ``proof`` names the proof, if any."""

    point: Floats | None
    proof: str = ""

    @property
    def consistent(self) -> bool:
        """Whether a point was found."""
        return self.point is not None


class Oracle:
    """Answers for subsets of the limits of one system; remembers the points it has seen.

    Parameters
    ----------
    system : System
    points : ndarray, shape (k, n)
        First points to look at.
    rng : Generator
        Chooses among the starts.
    """

    def __init__(self, system: System, points: Floats, rng: np.random.Generator) -> None:
        self.system = system
        self.attempts = 0
        self._rng = rng
        self.first_points = points[:_FIRST]
        self._points = points
        self._excess = system.excess(points)
        self.linear = LinearProgram(system)
        self._terms = TermProgram(system)
        bounds = [limit.kind is Kind.BOUND for limit in system.limits]
        self._stiff = np.where(bounds, np.inf, 1.0)  # rows give, bounds do not: x stays sane

    @property
    def everything(self) -> Bools:
        """All limits."""
        return np.ones(len(self.system.limits), dtype=bool)

    @cached_property
    def nonlinear(self) -> ElasticProgram:
        """Elastic problems in which rows give, compiled when first needed."""
        return ElasticProgram(self.system)

    @cached_property
    def nonlinear_with_bounds(self) -> ElasticProgram:
        """Elastic problems in which rows and bounds give."""
        return ElasticProgram(self.system, bounds_give=True)

    def remember(self, points: Floats) -> Floats:
        """Add points (k, n) to those that are known; return their excess (k, limits)."""
        excess = self.system.excess(points)
        self._points = np.vstack((points, self._points))
        self._excess = np.vstack((excess, self._excess))
        return excess

    def known_point(self, active: Bools) -> Floats | None:
        """Return a known point at which the active limits hold."""
        holds = np.all(self._excess[:, active] <= HOLDS, axis=1)
        return self._points[int(np.argmax(holds))] if holds.any() else None

    def quick(self, active: Bools) -> Answer | None:
        """Answer without a nonlinear solver; None if that is not enough."""
        point = self.known_point(active)
        if point is not None:
            return Answer(point)
        chosen = active & self.linear.usable
        answer = self.linear.solve(chosen)
        if answer is not None and np.sum(answer.give) > HOLDS:
            if self.linear.proves_conflict(chosen):
                return Answer(None, LINEAR_PROGRAM)
        elif answer is not None:
            excess = self.remember(answer.x[None, :])[0]
            if np.all(excess[active] <= HOLDS):
                return Answer(answer.x)
        if proves_conflict(self.system, active):
            return Answer(None, INTERVALS)
        if self._terms.proves_conflict(active):
            return Answer(None, LINEAR_PROGRAM)
        return None

    def ask(self, active: Bools, starts: int = 4) -> Answer:
        """Whether the active limits can hold together."""
        answer = self.quick(active)
        if answer is not None:
            return answer
        self._explore(active)
        point = self.known_point(active)
        if point is None:
            self.descents(active, starts)
            point = self.known_point(active)
        return Answer(point)

    def _explore(self, active: Bools) -> None:
        """Look far outside the bounds that are not asked for, and remember the better points."""
        system = self.system
        low, high = np.full(system.n, -np.inf), np.full(system.n, np.inf)
        for k in np.flatnonzero(active):
            limit = system.limits[k]
            if limit.quantity >= system.m:
                i = limit.quantity - system.m
                low[i] = max(low[i], limit.value) if limit.side < 0 else low[i]
                high[i] = min(high[i], limit.value) if limit.side > 0 else high[i]
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
        excess = np.clip(system.excess(points)[:, active], 0.0, 1e3).sum(axis=1)
        self.remember(points[np.argsort(excess, kind="stable")[:_FAR_KEPT]])

    def descents(self, active: Bools, starts: int) -> list[Elastic]:
        """Elastic problems of the active limits from several starts; stops when one is solved."""
        answers = []
        for start in self.starts(active, starts):
            self.attempts += 1
            answer = self.nonlinear.solve(active, start, self._stiff)
            if answer is None:
                continue
            answers.append(answer)
            excess = self.remember(answer.x[None, :])[0]
            if np.all(excess[active] <= HOLDS):
                break
        return answers

    def reaches(self, limits: Sequence[Limit], starts: Iterable[Floats]) -> bool:
        """Whether a local search finds a point at which other limits than the system's hold.

        ``limits`` may be more than those of the system; the first ones have its signs.
        """
        other = replace(self.system, limits=tuple(limits))
        active = np.ones(len(limits), dtype=bool)
        bounds = [limit.kind is Kind.BOUND for limit in limits]
        weights = np.where(bounds, np.inf, 1.0)
        for start in starts:
            answer = self.nonlinear.solve(active, start, weights, limits)
            if answer is not None and np.all(other.excess(answer.x[None, :]) <= HOLDS):
                return True
        return False

    def starts(self, active: Bools, k: int) -> list[Floats]:
        """Return the least violating known points, then others among the better half."""
        capped = np.clip(self._excess[:, active], 0.0, 1e3).sum(axis=1)
        order = np.argsort(capped, kind="stable")
        best = [int(i) for i in order[: (k + 1) // 2]]
        rest = order[len(best) : max(len(order) // 2, len(best) + k)]
        others = self._rng.choice(rest, min(k - len(best), len(rest)), replace=False)
        return [self._points[i] for i in (*best, *others)]

    def least_excess(self, active: Bools) -> tuple[Floats, Floats]:
        """Return the known point that exceeds the active limits least, and its excess (limits,)."""
        capped = np.clip(self._excess[:, active], 0.0, 1e3).sum(axis=1)
        best = int(np.argmin(capped))
        return self._points[best], self._excess[best]
