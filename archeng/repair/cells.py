"""Repairs at chosen levels, and bounds for many of them: what a branch and bound asks for.

:class:`CellRepairer` is the repairer of the lifted set (:mod:`archeng.repair.lifted`): with given
levels it finds the real coordinates, by the solvers of continuous models; between given levels it
finds how near a cell could be at best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats, Integers
from archeng.repair.certificate import CertifiedPoint, RepairKind
from archeng.repair.cuts import Range, Tangents
from archeng.repair.ladder import Attempt, Repairer
from archeng.repair.lifted import LiftedSet
from archeng.repair.problem import Problem, ProblemMaker, RowLimits
from archeng.repair.reformulation import Reformulation
from archeng.repair.sqp import QUICK, Outcome, SolverAnswer
from archeng.settings import Settings

_WIDE = 10.0  # deviation of w, in those of q or level distances: moving w costs little
_SLACK = 1e-9  # scaled tolerance of the rows of a relaxed problem: its solution is no answer
_DRAWN = 1e-4  # relative part of a squared distance that the light draw on w may hide
_CENTRES = 3  # times that the light draw on w is taken away, to see what a node promises
_INSIDE_CELL = 1e-9  # relative widening of what is left of the range of a coordinate


class Relaxed(NamedTuple):
    """How near a cell between some levels could be.

    ``bound`` is at most the squared distance of any, as far as rows are convex; the relaxed
    solution has its point q (n,) and the levels w (d,) that it would like.
    """

    outcome: Outcome
    bound: float = np.inf
    q: Floats | None = None
    w: Floats | None = None
    z: Floats | None = None  # whitened, to begin from


class CellRepairer(Repairer):
    """Repairs with the discrete coordinates at given levels: say which by :meth:`hold`."""

    def __init__(self, lifted: LiftedSet, settings: Settings) -> None:
        super().__init__(lifted.feasible_set, settings)
        self.lifted = lifted
        self._distribution: Distribution | None = None
        whole = Reformulation(lifted.feasible_set, lifted.feasible_set)
        self._maker = self._held_maker = ProblemMaker(whole, settings.margin)
        self._free_maker = ProblemMaker(whole, settings.margin)
        self._tangents = Tangents(lifted)
        self._kept: tuple[Floats, Problem] | None = None
        levels, ends = lifted.lattice.levels, lifted.lattice.ends
        self._top = np.array([len(v) - 1 for v in levels], dtype=np.intp)
        self._offsets = np.concatenate(([0], np.cumsum(self._top + 1)[:-1]))
        self._levels = np.concatenate(levels)
        self._first = np.concatenate([np.append(-np.inf, e) for e in ends])
        self._last = np.concatenate([np.append(e, np.inf) for e in ends])
        # How far inner cells reach below and above their levels, at most.
        self._under = np.array([-np.diff(v).max() / 2 for v in levels])
        self._over = -self._under

    @cached_property
    def _mixed_rows(self) -> Integers:
        """Rows of the lifted set with real and with discrete coordinates."""
        lifted = self.lifted
        return lifted.rows[~lifted.settled]

    def begin(self, distribution: Distribution) -> None:
        """Begin a repair in the metric of a search distribution."""
        self._kept = None
        if self._distribution is distribution:
            return
        lifted, lattice = self.lifted, self.lifted.lattice
        self._distribution = distribution
        L = distribution.scaled_factor[lattice.positions]
        self.deviations = np.sqrt(np.sum(L * L, axis=1))
        related = L @ L.T / np.outer(self.deviations, self.deviations)
        self.stretch = float(np.linalg.eigvalsh(related)[-1])
        spacing = self._over * 2.0
        scale = np.maximum(self.deviations, spacing)
        self._width = _WIDE * scale
        self.held_metric = lifted.distribution(distribution, np.zeros(len(spacing)))
        self._free_metric = lifted.distribution(distribution, self._width)
        self._bound_metric = lifted.distribution(distribution, scale)

    def hold(self, indices: Integers) -> None:
        """Hold the discrete coordinates at these levels (d,) in the following repairs."""
        self._cell = self.lifted.lattice.cell(indices)

    def _problem(
        self, distribution: Distribution, x: Floats, values: Floats, scale_at: Floats | None = None
    ) -> Problem:
        problem = self._held_maker.make(distribution, x, values, scale_at)
        lifted, fs = self.lifted, self.feasible_set
        gone = np.concatenate((lifted.at_levels, lifted.apart, lifted.rows[lifted.settled]))
        # Rows that do not change with the real coordinates have no inside to aim at.
        flat, mixed = np.arange(0), self._mixed_rows
        gradients = problem.gradients(x if scale_at is None else scale_at)[mixed]
        if not gradients.any(axis=1).all():
            holds = (values >= fs.lower) & (values <= fs.upper)
            flat = mixed[~gradients.any(axis=1) & holds[mixed]]
        limits = []
        for lower, upper in (problem.nearest, problem.pinned):
            low, high = lower.copy(), upper.copy()
            low[flat], high[flat] = fs.lower[flat], fs.upper[flat]
            low[gone], high[gone] = -np.inf, np.inf
            low[lifted.in_cells], high[lifted.in_cells] = self._cell
            limits.append((low, high))
        box = tuple(each.copy() for each in problem.box)
        box[0][lifted.lattice.positions], box[1][lifted.lattice.positions] = self._cell
        return replace(problem, nearest=limits[0], pinned=limits[1], box=(box[0], box[1]))

    def nearest(
        self, x: Floats, indices: Integers, starts: Iterable[Floats]
    ) -> CertifiedPoint | None:
        """Return the nearest point (q, w) to x (n,) at given levels; None if none is found.

        The fast solver tries the point itself, then each of the starts (points of designs).
        """
        lifted = self.lifted
        design = lifted.lattice.at(indices, x)
        if not lifted.settled_rows_hold(design):
            return None
        problem = self.held_problem(x, indices)
        solver = next(self._solvers())
        whiten, middle = self.held_metric.whiten, lifted.point(x, design)
        attempts = (
            Attempt(RepairKind.NEAREST, problem.nearest, solver, start)
            for start in (
                problem.first_start(),
                *(whiten(lifted.point(y, design) - middle) for y in starts),
            )
        )
        found = self._climb(problem, attempts)
        return found[1] if found is not None and found[1].feasible else None

    def held_problem(self, x: Floats, indices: Integers) -> Problem:
        """Return the problem of x (n,) at given levels (d,)."""
        self.hold(indices)
        point = self.lifted.point(x, self.lifted.lattice.at(indices, x))
        return self._problem(self.held_metric, point, self.feasible_set.values(point))

    def intersection(self, problem: Problem) -> tuple[CertifiedPoint, int] | None:
        """Return the point where all violated rows are on their limits, and the iterations.

        None if no row is violated at the levels of the problem, or there is no such point.
        """
        fs = self.feasible_set
        if not self._intersection_first or fs.holds(problem.values) or problem.intersection is None:
            return None
        start, solver = problem.first_start(), next(self._solvers())
        attempt = Attempt(RepairKind.INTERSECTION, problem.intersection, solver, start, QUICK)
        found = self._climb(problem, [attempt])
        return None if found is None or not found[1].feasible else found[1:]

    def relaxed(
        self, x: Floats, low: Integers, high: Integers, radius: float, start: Floats | None
    ) -> Relaxed:
        """Return how near a cell between levels low and high (d,) can be to x (n,).

        ``radius`` is a distance within which cells are looked for, in deviations.
        """
        limits = self._between(x, low, high, radius)
        near, (first, last) = x[self.lifted.lattice.positions], self.cell(low, high)
        apart = np.maximum(np.maximum(first - near, near - last), 0.0)
        node = Range(low, high, apart, radius**2)
        bounded = self._tangents.bound(self._bound_problem(x), limits, node)
        if not np.isfinite(bounded.squared):
            return Relaxed(Outcome.INFEASIBLE)
        if self._tangents.convex.all() or bounded.squared >= radius**2:
            return Relaxed(Outcome.CONVERGED, bounded.squared, bounded.q, bounded.w)
        answer = self._locally(x, limits, low, high, radius, start)
        return answer._replace(bound=max(answer.bound, bounded.squared))

    def _locally(
        self,
        x: Floats,
        limits: RowLimits,
        low: Integers,
        high: Integers,
        radius: float,
        start: Floats | None,
    ) -> Relaxed:
        """Solve the relaxed problem with all its rows, convex or not.

        It is drawn to levels w0; then to its own solution, until that hardly matters.
        """
        w0 = self.lifted.lattice.decode(x)[self.lifted.lattice.positions]
        answer, hidden = self._drawn(x, w0, limits, low, high, start)
        for _ in range(_CENTRES):
            doubtful = hidden > _DRAWN * (1.0 + answer.bound)
            if answer.w is None or answer.bound >= radius**2 or not doubtful:
                break
            again, rest = self._drawn(x, answer.w, limits, low, high, answer.z)
            if again.w is None:
                break
            answer, hidden = again, rest
        return answer

    def _drawn(
        self,
        x: Floats,
        w0: Floats,
        limits: RowLimits,
        low: Integers,
        high: Integers,
        start: Floats | None,
    ) -> tuple[Relaxed, float]:
        """Solve the relaxed problem with w drawn, lightly, towards w0; and what that may hide."""
        problem, n = self._free_problem(x, w0, self._free_metric), self.lifted.n
        answer = self._solved(problem, limits, start)
        if answer.outcome is not Outcome.CONVERGED:
            return Relaxed(answer.outcome), 0.0
        v, y = answer.z[:n], problem.x + problem.metric.L @ answer.z
        squared, w = float(v @ v), y[n:]
        # By the KKT conditions, for convex rows: what the draw can have cost.
        span = np.maximum(self._level(high) - w, w - self._level(low))
        hidden = 2.0 * float(np.sum(np.abs(w - w0) * np.maximum(span, 0.0) / self._width**2))
        bound = max(squared - hidden, 0.0)
        return Relaxed(answer.outcome, bound, y[:n], w, answer.z), hidden

    def _solved(self, problem: Problem, limits: RowLimits, start: Floats | None) -> SolverAnswer:
        """Solve a relaxed problem whose rows are not convex, from one or two starts."""
        first = problem.first_start()
        for begin in (first,) if start is None else (start, first):
            answer = self._sqp.solve(problem, limits, begin)
            if answer.outcome is Outcome.CONVERGED:
                break
        return answer

    def row_scale(self, x: Floats) -> Floats:
        """Return what one deviation changes the original rows (m,) by, at x (n,)."""
        return self._bound_problem(x).norms[self.lifted.rows]

    def _bound_problem(self, x: Floats) -> Problem:
        """Return where x (n,) is, in the metric of (q, w)."""
        if self._kept is None or self._kept[0] is not x:
            w0 = self.lifted.lattice.decode(x)[self.lifted.lattice.positions]
            problem = self._free_problem(x, w0, self._bound_metric)
            self._tangents.begin(problem, self.stretch, self.deviations)
            self._kept = x, problem
        return self._kept[1]

    def _free_problem(self, x: Floats, w0: Floats, metric: Distribution) -> Problem:
        point = np.concatenate((x, w0))
        values = self.feasible_set.values(point)
        problem = self._free_maker.make(metric, point, values)
        return replace(problem, slack=np.maximum(problem.slack, _SLACK))

    def _level(self, indices: Integers) -> Floats:
        return self._levels[self._offsets + indices]

    def cell(self, low: Integers, high: Integers) -> tuple[Floats, Floats]:
        """Return the ends (d,) of the cells from levels low to high (d,)."""
        return self._first[self._offsets + low], self._last[self._offsets + high]

    def _between(self, x: Floats, low: Integers, high: Integers, radius: float) -> RowLimits:
        """Return the limits of the rows between levels, without margins."""
        lifted, fs = self.lifted, self.feasible_set
        lower, upper = fs.lower.copy(), fs.upper.copy()
        first, last = self._level(low), self._level(high)
        lower[lifted.at_levels], upper[lifted.at_levels] = first, last
        lower[lifted.in_cells], upper[lifted.in_cells] = self.cell(low, high)
        # The outermost cells have no end, but nothing beyond the radius is looked for.
        near = x[lifted.lattice.positions]
        room = radius * self.deviations * (1 + _INSIDE_CELL) if np.isfinite(radius) else np.inf
        under = np.where(low == 0, np.minimum(near - room - first, self._under), self._under)
        over = np.where(high == self._top, np.maximum(near + room - last, self._over), self._over)
        several = low < high
        lower[lifted.apart] = np.where(several, under, -np.inf)
        upper[lifted.apart] = np.where(several, over, np.inf)
        return lower, upper
