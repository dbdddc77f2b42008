"""The repair operator: a ladder of solvers, each answer certified [SA22 ssec:repair, 4.1].

For a point x the ladder asks, in this order:

1. Is x feasible? Then it is returned bit for bit.
2. Is there a point on the intersection of the violated boundaries? The nearest one is taken
   [SA22 eq:intersection, (5)].
3. Otherwise the nearest feasible point [SA22 eq:nearest, (6)].

Each of the last two is tried by the fast solver first (DAQP if all rows are linear, else SQP)
and by IPOPT if that fails. An answer counts only if every row holds in floating point at the
very vector that will be simulated (:mod:`archeng.repair.certificate`); statuses of solvers are not
trusted. The solvers may see rows in another form than they were written
(:mod:`archeng.repair.reformulation`); what counts is how they were written.

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats, Integers
from archeng.errors import SettingsError
from archeng.model import FeasibleSet
from archeng.repair.certificate import (
    CertifiedPoint,
    Repair,
    RepairKind,
    certified,
    failed,
    is_better,
    repaired,
    steepness,
    unchanged,
)
from archeng.repair.full_space import FullSpaceIpopt
from archeng.repair.ipopt import Ipopt
from archeng.repair.problem import Problem, ProblemMaker, RowLimits
from archeng.repair.reformulation import reformulated
from archeng.repair.sqp import (
    NEARBY,
    QUICK,
    THOROUGH,
    UNRELAXED,
    Effort,
    Outcome,
    SequentialQp,
    SolverAnswer,
)
from archeng.settings import Settings

_KKT_TOLERANCE = 1e-3  # largest residual of an answer that ends the ladder
_NEAREST = 1e-6  # residual of a point that is the nearest one but for rounding
_INSET_STEPS = 6  # of Newton's method, to give a feasible point its margins
_OTHER = 10.0  # change of a gradient between input and answer that calls for a new scale


class Attempt(NamedTuple):
    """A problem, by its kind and limits, and how it is tried: the solver and its start (n,)."""

    kind: RepairKind
    limits: RowLimits
    solver: SequentialQp | Ipopt | FullSpaceIpopt
    start: Floats
    effort: Effort = THOROUGH


class NearbyPoint(NamedTuple):
    """A feasible point (n,), and whether it is the nearest one, at least locally."""

    x: Floats
    nearest: bool


class Repairer:
    """Repairs points onto one feasible set. Solvers are compiled on first use and kept.

    Parameters
    ----------
    feasible_set : FeasibleSet
    settings : Settings
    around : Distribution, optional
        Where rows are examined that may be reformulated, if the variables have no box. All
        processes of a run need the same one; by default that of the first repair.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        settings: Settings | None = None,
        around: Distribution | None = None,
    ) -> None:
        self.feasible_set, self.around = feasible_set, around
        self.settings = settings or Settings()
        if self.settings.repair_solver == "qp" and not feasible_set.is_linear:
            raise SettingsError(
                'repair_solver="qp" needs linear rows, but the model has '
                f'{feasible_set.n_nonlinear} nonlinear ones; use "auto" or "sqp".'
            )
        self._intersection_first = self.settings.intersection_first
        self._maker: ProblemMaker | None = None

    @one_thread
    def repair(self, x: Floats, distribution: Distribution, anchor: Floats | None = None) -> Repair:
        """Repair a point in the metric of the search distribution.

        Parameters
        ----------
        x : ndarray, shape (n,)
        distribution : Distribution
        anchor : ndarray, shape (n,), optional
            A known feasible point; the solvers start from it if they fail from ``x``.
        """
        return self._repair(x, distribution, anchor)

    @one_thread
    def repair_all(
        self, points: Floats, distribution: Distribution, anchor: Floats | None = None
    ) -> list[Repair]:
        """Repair points (k, n) one after the other."""
        return [self._repair(point, distribution, anchor) for point in points]

    def _repair(self, x: Floats, distribution: Distribution, anchor: Floats | None) -> Repair:
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return unchanged(fs, x, values)
        first = self._problem(distribution, x, values, self._scaled_at(values, anchor))
        found = self._climb(first, self._attempts(first, anchor))
        assert found is not None
        kind, point, iterations = found
        if point.feasible:
            return repaired(kind, point, iterations)
        return failed(point, iterations, anchor)

    def _climb(
        self, first: Problem, attempts: Iterable[Attempt]
    ) -> tuple[RepairKind, CertifiedPoint, int] | None:
        """Make attempts until one is good enough; otherwise the best answer, feasible or not.

        None if no attempt has an answer that counts. The last number is that of iterations.
        """
        iterations = 0
        fallback: tuple[RepairKind, CertifiedPoint] | None = None
        for attempt in attempts:
            kind, limits, solver, start, effort = attempt
            problem, answer = first, solver.solve(first, limits, start, effort)
            iterations += answer.iterations
            converged = answer.outcome is Outcome.CONVERGED
            if kind is RepairKind.INTERSECTION and not converged:
                continue
            if converged and not self.feasible_set.is_linear:
                problem, limits, answer = self._rescaled(problem, attempt, answer)
            point = certified(problem, limits, answer, solver.name)
            if kind is RepairKind.INTERSECTION and not point.on_target:
                continue
            if point.feasible and point.residual <= _KKT_TOLERANCE:
                return kind, point, iterations
            if fallback is None or is_better(point, fallback[1]):
                fallback = kind, point
        return None if fallback is None else (*fallback, iterations)

    def project(
        self, x: Floats, distribution: Distribution, rows: Integers, sides: Floats, anchor: Floats
    ) -> Repair:
        """Return the nearest feasible point at which chosen limits are reached.

        Parameters
        ----------
        x : ndarray, shape (n,)
        distribution : Distribution
        rows, sides : ndarray, shape (k,)
            Rows and their limits: 1 for the upper, -1 for the lower one.
        anchor : ndarray, shape (n,)
            A feasible point at which they are reached.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if len(rows) == 0 and fs.holds(values):
            return unchanged(fs, x, values)
        kind = RepairKind.INTERSECTION if len(rows) else RepairKind.NEAREST
        problem = self._problem(distribution, x, values)
        limits = problem.held(rows, sides)
        best: CertifiedPoint | None = None
        iterations = 0
        for solver in self._solvers():
            for start in (problem.first_start(), distribution.whiten(anchor - x)):
                answer = solver.solve(problem, limits, start)
                iterations += answer.iterations
                point = certified(problem, limits, answer, solver.name)
                if point.on_target and point.residual <= _KKT_TOLERANCE:
                    return repaired(kind, point, iterations)
                if best is None or is_better(point, best):
                    best = point
        assert best is not None
        return failed(best, iterations, anchor)

    def towards(self, x: Floats, distribution: Distribution, start: Floats) -> Repair:
        """Return a feasible point near x by a short search from a feasible point.

        It is as certain to be feasible as a repaired point, but not to be the nearest one, and
        the search may fail where :meth:`project` goes on with IPOPT.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return unchanged(fs, x, values)
        point = self._short_search(x, values, distribution, start)
        iterations = point.answer.iterations
        if point.feasible:
            return repaired(RepairKind.NEAREST, point, iterations)
        return failed(point, iterations, start)

    def near(self, x: Floats, distribution: Distribution, start: Floats) -> NearbyPoint | None:
        """Return the point of :meth:`towards` without a record; None if the search fails."""
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return NearbyPoint(x, True)
        point = self._short_search(x, values, distribution, start)
        return NearbyPoint(point.y, point.residual <= _NEAREST) if point.feasible else None

    def _short_search(
        self, x: Floats, values: Floats, distribution: Distribution, start: Floats
    ) -> CertifiedPoint:
        """Search from a feasible point, then from x itself."""
        problem = self._problem(distribution, x, values, self._scaled_at(values, start))
        limits, solver = problem.nearest, next(self._solvers())
        answer = solver.solve(problem, limits, distribution.whiten(start - x), NEARBY)
        point = certified(problem, limits, answer, solver.name)
        if point.feasible:
            return point
        answer = solver.solve(problem, limits, problem.first_start(), NEARBY)
        return certified(problem, limits, answer, solver.name)

    def inset(self, x: Floats, distribution: Distribution) -> Repair:
        """Return a feasible point as far inside the limits as repaired points are.

        ``x`` is feasible. If a row is nearer to its limit than the margin of a repair in the
        metric of the distribution, the nearest point with all margins is taken.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if fs.m == 0:
            return unchanged(fs, x, values)
        problem = self._problem(distribution, x, values)
        half = problem.slack * problem.norms  # of a margin
        least, most = problem.nearest[0] - half, problem.nearest[1] + half
        z, y, rows, feasible = np.zeros_like(x), x, problem.values, True
        for _ in range(_INSET_STEPS):
            if np.all((rows >= least) & (rows <= most)):
                break
            step = self._sqp.step(problem, z)
            if step is None:
                break
            z = z + step
            y, rows, feasible = problem.at(z)
        if y is x or not feasible:
            return unchanged(fs, x, values)
        return unchanged(fs, y, fs.values(y))

    def _rescaled(
        self, problem: Problem, attempt: Attempt, answer: SolverAnswer
    ) -> tuple[Problem, RowLimits, SolverAnswer]:
        """Solve again from the answer if rows are much flatter or steeper there.

        Margins are then placed by the gradients at the boundary: a row such as exp(g) is
        repaired like g.
        """
        as_it_was = problem, attempt.limits, answer
        L = problem.metric.factor
        y = problem.x + (L * answer.z if L.ndim == 1 else L @ answer.z)
        flattest, steepest = answer.steepness or steepness(problem, y, answer.multipliers)
        if flattest > 1 / _OTHER and steepest < _OTHER:
            return as_it_was
        again = self._problem(problem.metric.distribution, problem.x, problem.values, scale_at=y)
        limits = again.nearest if attempt.kind is RepairKind.NEAREST else again.intersection
        if limits is None:
            return as_it_was
        better = attempt.solver.solve(again, limits, answer.z, attempt.effort)
        return (again, limits, better) if better.outcome is Outcome.CONVERGED else as_it_was

    def _scaled_at(self, values: Floats, feasible: Floats | None) -> Floats | None:
        """Where rows are scaled: at a feasible point, if equations have no solution at x.

        Then all nonlinear rows are undefined there.
        """
        solved = self.feasible_set.dependents is None or np.all(np.isfinite(values))
        return None if solved else feasible

    def _attempts(self, problem: Problem, anchor: Floats | None) -> Iterator[Attempt]:
        """All attempts in order of preference, made lazily."""
        starts = [problem.first_start()]
        if self._intersection_first and problem.intersection is not None:
            # An intersection that the fast solver cannot reach is not worth IPOPT's time.
            kind, fast = RepairKind.INTERSECTION, next(self._solvers())
            effort = QUICK if problem.rows is None else UNRELAXED
            yield Attempt(kind, problem.intersection, fast, starts[0], effort)
        if anchor is not None:
            starts.append(problem.metric.distribution.whiten(anchor - problem.x))
        for solver in self._solvers():
            for start in starts:
                yield Attempt(RepairKind.NEAREST, problem.nearest, solver, start)

    def _solvers(self) -> Iterator[SequentialQp | Ipopt | FullSpaceIpopt]:
        """Yield the solvers that may be used, the fast one first."""
        choice = self.settings.repair_solver
        if choice != "ipopt":
            yield self._sqp
        if choice in ("auto", "ipopt"):
            yield self._ipopt

    @cached_property
    def _sqp(self) -> SequentialQp:
        assert self._maker is not None
        return SequentialQp(self._maker.reformulation.feasible_set)

    @cached_property
    def _ipopt(self) -> Ipopt | FullSpaceIpopt:
        assert self._maker is not None
        make = Ipopt if self.feasible_set.dependents is None else FullSpaceIpopt
        return make(self._maker.reformulation.feasible_set, self.settings.ipopt_max_iterations)

    def _problem(
        self, distribution: Distribution, x: Floats, values: Floats, scale_at: Floats | None = None
    ) -> Problem:
        """Return the repair problem of x, given the rows there as they were written."""
        if self._maker is None:
            reformulation = reformulated(self.feasible_set, self.around or distribution)
            self._maker = ProblemMaker(reformulation, self.settings.margin)
        return self._maker.make(distribution, x, values, scale_at)
