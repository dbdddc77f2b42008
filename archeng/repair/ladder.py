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

from collections.abc import Callable, Iterator
from functools import partial
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
    has_margins,
    is_better,
    on_target,
    repaired,
    steepness,
    unchanged,
)
from archeng.repair.ipopt import Ipopt
from archeng.repair.problem import Metric, Problem, ProblemMaker, RowLimits
from archeng.repair.reformulation import Reformulation, reformulated
from archeng.repair.sqp import NEARBY, QUICK, Outcome, SequentialQp, SolverAnswer
from archeng.settings import Settings

_KKT_TOLERANCE = 1e-3  # largest residual of an answer that ends the ladder
_NEAREST = 1e-6  # residual of a point that is the nearest one but for rounding
_INSET_STEPS = 6  # of Newton's method, to give a feasible point its margins
_OTHER = 10.0  # change of a gradient between input and answer that calls for a new scale
Solver = Callable[..., SolverAnswer]


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
        self._reformulation: Reformulation | None = None
        self._maker: ProblemMaker | None = None
        self._metric: Metric | None = None
        self._sqp: SequentialQp | None = None
        self._ipopt: Ipopt | None = None

    @one_thread
    def repair(self, x: Floats, distribution: Distribution, anchor: Floats | None = None) -> Repair:
        """Repair a point in the metric of the search distribution.

        Parameters
        ----------
        x : ndarray, shape (n,)
        distribution : Distribution
        anchor : ndarray, shape (n,), optional
            A known feasible point; the solvers start from it if they fail from ``x``.

        Returns
        -------
        Repair
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
        first = self._problem(distribution, x, values)
        iterations = 0
        fallback: tuple[RepairKind, Problem, CertifiedPoint] | None = None
        for kind, limits, solver, name, start in self._attempts(first, anchor):
            problem = first
            answer = solver(problem, *limits, start)
            iterations += answer.iterations
            converged = answer.outcome is Outcome.CONVERGED
            if kind is RepairKind.INTERSECTION and not converged:
                continue
            if converged and not fs.is_linear:
                problem, limits, answer = self._rescaled(problem, limits, answer, solver)
            point = certified(problem, answer, limits, name)
            if kind is RepairKind.INTERSECTION and not on_target(problem, point, limits):
                continue
            if point.feasible and point.residual <= _KKT_TOLERANCE:
                return repaired(kind, problem, point, iterations)
            if fallback is None or is_better(point, fallback[2], first.feasible_set):
                fallback = (kind, problem, point)
        assert fallback is not None
        kind, problem, point = fallback
        if point.feasible:
            return repaired(kind, problem, point, iterations)
        return failed(problem, point, iterations, anchor)

    def project(
        self,
        x: Floats,
        distribution: Distribution,
        rows: Integers,
        sides: Floats,
        anchor: Floats,
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
        for solver, name in self._rungs():
            for start in (problem.first_start(), distribution.whiten(anchor - x)):
                answer = solver(problem, *limits, start)
                iterations += answer.iterations
                point = certified(problem, answer, limits, name)
                if on_target(problem, point, limits) and point.residual <= _KKT_TOLERANCE:
                    return repaired(kind, problem, point, iterations)
                if best is None or is_better(point, best, problem.feasible_set):
                    best = point
        assert best is not None
        return failed(problem, best, iterations, anchor)

    def towards(self, x: Floats, distribution: Distribution, start: Floats) -> Repair:
        """Return a feasible point near x by a short search from a feasible point.

        It is as certain to be feasible as a repaired point, but not to be the nearest one, and
        the search may fail where :meth:`project` goes on with IPOPT.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return unchanged(fs, x, values)
        problem, point, iterations = self._short_search(x, values, distribution, start)
        if point.feasible:
            return repaired(RepairKind.NEAREST, problem, point, iterations)
        return failed(problem, point, iterations, start)

    def near(self, x: Floats, distribution: Distribution, start: Floats) -> NearbyPoint | None:
        """Return the point of :meth:`towards` without a record; None if the search fails."""
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return NearbyPoint(x, True)
        _, point, _ = self._short_search(x, values, distribution, start)
        return NearbyPoint(point.y, point.residual <= _NEAREST) if point.feasible else None

    def _short_search(
        self, x: Floats, values: Floats, distribution: Distribution, start: Floats
    ) -> tuple[Problem, CertifiedPoint, int]:
        """Search from a feasible point, then from x itself."""
        problem = self._problem(distribution, x, values)
        solver, name = next(self._rungs())
        options = {"effort": NEARBY} if name == "sqp" else {}
        answer = solver(problem, *problem.nearest, distribution.whiten(start - x), **options)
        point = certified(problem, answer, problem.nearest, name)
        if not point.feasible:
            answer = solver(problem, *problem.nearest, problem.first_start(), **options)
            point = certified(problem, answer, problem.nearest, name)
        return problem, point, answer.iterations

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
        if self._sqp is None:
            self._sqp = SequentialQp(problem.feasible_set)
        z, y, rows, feasible = np.zeros_like(x), x, problem.values, True
        for _ in range(_INSET_STEPS):
            if has_margins(problem, rows):
                break
            step = self._sqp.step(problem, *problem.nearest, z)
            if step is None:
                break
            z = z + step
            y = problem.point(z)
            rows, feasible = problem.reformulation.values(y)
        if y is x or not feasible:
            return unchanged(fs, x, values)
        return unchanged(fs, y, fs.values(y))

    def _rescaled(
        self, problem: Problem, limits: RowLimits, answer: SolverAnswer, solver: Solver
    ) -> tuple[Problem, RowLimits, SolverAnswer]:
        """Solve again from the answer if rows are much flatter or steeper there.

        Margins are then placed by the gradients at the boundary: a row such as exp(g) is
        repaired like g.
        """
        y = problem.x + problem.metric.L @ answer.z
        flattest, steepest = answer.steepness or steepness(problem, y, answer.multipliers)
        if flattest > 1 / _OTHER and steepest < _OTHER:
            return problem, limits, answer
        assert self._maker is not None
        again = self._maker.make(problem.metric, problem.x, problem.values, scale_at=y)
        aims = again.nearest if limits is problem.nearest else again.intersection
        if aims is None:
            return problem, limits, answer
        better = solver(again, *aims, answer.z)
        if better.outcome is not Outcome.CONVERGED:
            return problem, limits, answer
        return again, aims, better

    def _attempts(
        self, problem: Problem, anchor: Floats | None
    ) -> Iterator[tuple[RepairKind, RowLimits, Solver, str, Floats]]:
        """All attempts in order of preference, made lazily."""
        rungs = list(self._rungs())
        starts = [problem.first_start()]
        if self.settings.intersection_first and problem.intersection is not None:
            # An intersection that the fast solver cannot reach is not worth IPOPT's time.
            solver, name = rungs[0]
            quick = partial(solver, effort=QUICK) if name == "sqp" else solver
            yield RepairKind.INTERSECTION, problem.intersection, quick, name, starts[0]
        if anchor is not None:
            starts.append(problem.metric.distribution.whiten(anchor - problem.x))
        for solver, name in rungs:
            for start in starts:
                yield RepairKind.NEAREST, problem.nearest, solver, name, start

    def _rungs(self) -> Iterator[tuple[Solver, str]]:
        fs, choice = self.feasible_set, self.settings.repair_solver
        if choice != "ipopt":
            if self._sqp is None:
                assert self._reformulation is not None
                self._sqp = SequentialQp(self._reformulation.feasible_set)
            yield self._sqp.solve, "qp" if fs.is_linear else "sqp"
        if choice in ("auto", "ipopt"):
            yield self._solve_by_ipopt, "ipopt"

    def _solve_by_ipopt(
        self, problem: Problem, lower: Floats, upper: Floats, z: Floats
    ) -> SolverAnswer:
        if self._ipopt is None:
            self._ipopt = Ipopt(problem.feasible_set, self.settings.ipopt_max_iterations)
        return self._ipopt.solve(problem, lower, upper, z)

    def _problem(self, distribution: Distribution, x: Floats, values: Floats) -> Problem:
        """Return the repair problem of x, given the rows there as they were written."""
        if self._reformulation is None or self._maker is None:
            self._reformulation = reformulated(self.feasible_set, self.around or distribution)
            self._maker = ProblemMaker(self._reformulation, self.settings.margin)
        if self._reformulation.homogeneous:
            values, _ = self._reformulation.values(x)
        return self._maker.make(self._metric_of(distribution), x, values)

    def _metric_of(self, distribution: Distribution) -> Metric:
        if self._metric is None or self._metric.distribution is not distribution:
            self._metric = Metric.of(self.feasible_set, distribution)
        return self._metric
