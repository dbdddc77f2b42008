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
from archeng.repair.cuts import Tangents, looks_convex
from archeng.repair.ladder import Attempt, Repairer
from archeng.repair.lifted import LiftedSet
from archeng.repair.problem import Problem, ProblemMaker, RowLimits
from archeng.repair.reformulation import Reformulation
from archeng.repair.sqp import QUICK, Outcome, SolverAnswer
from archeng.settings import Settings

_WIDE_CONVEX = 100.0  # deviation of w, in those of q or level distances: moving w costs little
_WIDE = 10.0  # the same for rows that are not convex: the SQP needs moderate scales
_SLACK = 1e-9  # scaled tolerance of the rows of a relaxed problem: its solution is no answer
_DRAWN = 1e-4  # relative part of a squared distance that the light draw on w may hide
_CENTRES = 3  # times that the light draw on w is taken away, to see what a node promises
_INSIDE_CELL = 1e-9  # relative widening of what is left of the range of a coordinate


class Relaxed(NamedTuple):
    """How near a cell between some levels could be.

    ``bound`` is at most the squared distance of any, if the rows are convex; ``squared`` that of
    the relaxed solution itself: where its point q (n,) is and what levels w (d,) it would like.
    """

    outcome: Outcome
    bound: float = np.inf
    squared: float = np.inf
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
        self._tangents = Tangents(lifted.feasible_set)
        self._centre: tuple[Floats, Floats, Problem] | None = None

    @cached_property
    def _mixed_rows(self) -> Integers:
        """Rows of the lifted set with real and with discrete coordinates."""
        lifted = self.lifted
        return lifted.rows[~lifted.settled]

    @cached_property
    def _reach(self) -> list[tuple[Floats, Floats]]:
        """How far cells reach below and above their levels, infinite for the outermost."""
        return [
            (np.append(-np.inf, ends) - levels, np.append(ends, np.inf) - levels)
            for levels, ends in zip(
                self.lifted.lattice.levels, self.lifted.lattice.ends, strict=True
            )
        ]

    @cached_property
    def convex(self) -> bool:
        """Whether the rows look convex."""
        return looks_convex(self.lifted.original, *self.lifted.original.bounds)

    def begin(self, distribution: Distribution) -> None:
        """Begin a repair in the metric of a search distribution."""
        self._tangents.forget()
        if self._distribution is distribution:
            return
        lifted, lattice = self.lifted, self.lifted.lattice
        self._distribution = distribution
        L = distribution.scaled_factor[lattice.positions]
        self.deviations = np.sqrt(np.sum(L * L, axis=1))
        related = L @ L.T / np.outer(self.deviations, self.deviations)
        self.stretch = float(np.linalg.eigvalsh(related)[-1])
        spacing = np.array([(v[-1] - v[0]) / (len(v) - 1) for v in lattice.levels])
        wide = _WIDE_CONVEX if self.convex else _WIDE
        self._width = wide * np.maximum(self.deviations, spacing)
        self.held_metric = lifted.distribution(distribution, np.zeros(len(spacing)))
        self._free_metric = lifted.distribution(distribution, self._width)
        self._centre = None

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
        w0 = self.lifted.lattice.decode(x)[self.lifted.lattice.positions]
        limits = self._between(x, low, high, radius)
        answer = self._relaxed(x, w0, limits, low, high, start, radius**2)
        for _ in range(_CENTRES):
            doubtful = answer.squared - answer.bound > _DRAWN * (1.0 + answer.squared)
            if answer.w is None or answer.bound >= radius**2 or not doubtful:
                break
            again = self._relaxed(x, answer.w, limits, low, high, answer.z, radius**2)
            if again.w is None:
                break
            answer = again
        return answer

    def _relaxed(
        self,
        x: Floats,
        w0: Floats,
        limits: RowLimits,
        low: Integers,
        high: Integers,
        start: Floats | None,
        radius_squared: float,
    ) -> Relaxed:
        """Solve the relaxed problem with w drawn, very lightly, towards w0."""
        problem, n = self._free_problem(x, w0), self.lifted.n
        if self.convex:
            answer = self._tangents.solve(problem, limits, radius_squared)
            if answer.outcome is Outcome.INFEASIBLE:
                return Relaxed(answer.outcome)
        else:
            answer = self._solved(problem, limits, start)
            if answer.outcome is not Outcome.CONVERGED:
                return Relaxed(answer.outcome)
        v, y = answer.z[:n], problem.x + problem.metric.L @ answer.z
        squared, w = float(v @ v), y[n:]
        # By the KKT conditions, for convex rows: what the light draw can have cost.
        levels = self.lifted.lattice.levels
        ends = np.array([(v[a], v[b]) for v, a, b in zip(levels, low, high, strict=True)])
        span = np.maximum(ends[:, 1] - w, w - ends[:, 0])
        drawn = 2.0 * float(np.sum(np.abs(w - w0) * np.maximum(span, 0.0) / self._width**2))
        return Relaxed(answer.outcome, max(squared - drawn, 0.0), squared, y[:n], w, answer.z)

    def _solved(self, problem: Problem, limits: RowLimits, start: Floats | None) -> SolverAnswer:
        """Solve a relaxed problem whose rows are not convex, from one or two starts."""
        first = problem.first_start()
        for begin in (first,) if start is None else (start, first):
            answer = self._sqp.solve(problem, limits, begin)
            if answer.outcome is Outcome.CONVERGED:
                break
        return answer

    def _free_problem(self, x: Floats, w0: Floats) -> Problem:
        kept = self._centre
        if kept is None or kept[0] is not x or not np.array_equal(kept[1], w0):
            point = np.concatenate((x, w0))
            values = self.feasible_set.values(point)
            problem = self._free_maker.make(self._free_metric, point, values)
            problem = replace(problem, slack=np.maximum(problem.slack, _SLACK))
            self._centre = kept = x, w0, problem
        return kept[2]

    def _between(self, x: Floats, low: Integers, high: Integers, radius: float) -> RowLimits:
        """Return the limits of the rows between levels, without margins."""
        lifted, lattice, fs = self.lifted, self.lifted.lattice, self.feasible_set
        lower, upper = fs.lower.copy(), fs.upper.copy()
        near = x[lattice.positions]
        room = radius * self.deviations * (1 + _INSIDE_CELL) if np.isfinite(radius) else np.inf
        first, last = near - room, near + room
        q_low, q_high = lattice.cell(low)[0], lattice.cell(high)[1]
        for j, (levels, (below, above)) in enumerate(zip(lattice.levels, self._reach, strict=True)):
            a, b = low[j], high[j]
            lower[lifted.at_levels[j]], upper[lifted.at_levels[j]] = levels[a], levels[b]
            if a == b:
                continue
            under, over = below[a : b + 1].copy(), above[a : b + 1].copy()
            # The outermost cells have no end, but nothing beyond the radius is looked for.
            if a == 0:
                under[0] = min(first[j] - levels[0], 0.0)
            if b == len(levels) - 1:
                over[-1] = max(last[j] - levels[-1], 0.0)
            lower[lifted.apart[j]], upper[lifted.apart[j]] = under.min(), over.max()
        lower[lifted.in_cells], upper[lifted.in_cells] = q_low, q_high
        return lower, upper
