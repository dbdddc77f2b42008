"""The repair operator: a ladder of solvers, each answer certified [SA22 ssec:repair].

For a point x the ladder asks, in this order:

1. Is x feasible? Then it is returned bit for bit.
2. Is there a point on the intersection of the violated boundaries? The nearest one is taken
   [SA22 eq:intersection].
3. Otherwise the nearest feasible point [SA22 eq:nearest].

Each of the last two is tried by the fast solver first (DAQP if all rows are linear, else SQP)
and by IPOPT if that fails. An answer counts only if every row holds in floating point at the
very vector that will be simulated; statuses of solvers are not trusted. The solvers may see rows in
another form than they were written (:mod:`archeng.repair.straight`); what counts is how they were
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats, Integers
from archeng.errors import SettingsError
from archeng.model import FeasibleSet
from archeng.repair.ipopt import Ipopt
from archeng.repair.problem import Limits, Metric, Problem, ProblemMaker
from archeng.repair.record import Repair, RepairKind
from archeng.repair.sqp import NEARBY, QUICK, Answer, Outcome, SequentialQp
from archeng.repair.straight import Straightened, straightened
from archeng.settings import Settings

_KKT_TOLERANCE = 1e-3
_NEAREST = 1e-6  # residual of a point that is the nearest one but for rounding
_POLISH_STEPS = 6
_ON_TARGET = 1e-6  # distance of a pinned row from its boundary, in deviations
_OTHER = 10.0  # change of a gradient between input and answer that calls for a new scale
Solver = Callable[..., Answer]


@dataclass(frozen=True, eq=False)
class _Point:
    """A certified answer: the vector to simulate and what is known about it."""

    y: Floats
    values: Floats
    feasible: bool
    residual: float
    solver: str
    multipliers: Floats


class Near(NamedTuple):
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
        Where rows are looked at that may be straightened, if the variables have no box. All
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
        self._straight: Straightened | None = None
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
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return _unchanged(fs, x, values)
        first = self._problem(distribution, x, values)
        iterations = 0
        fallback: tuple[RepairKind, Problem, _Point] | None = None
        for kind, limits, solver, name, start in self._attempts(first, anchor):
            problem = first
            answer = solver(problem, *limits, start)
            iterations += answer.iterations
            converged = answer.outcome is Outcome.CONVERGED
            if kind is RepairKind.INTERSECTION and not converged:
                continue
            if converged and not fs.is_linear:
                problem, limits, answer = self._rescaled(problem, limits, answer, solver)
            point = _certify(problem, answer, limits, name)
            if kind is RepairKind.INTERSECTION and not _on_target(problem, point, limits):
                continue
            if point.feasible and point.residual <= _KKT_TOLERANCE:
                return _record(kind, problem, point, iterations)
            if fallback is None or _better(point, fallback[2], first.feasible_set):
                fallback = (kind, problem, point)
        assert fallback is not None
        kind, problem, point = fallback
        if point.feasible:
            return _record(kind, problem, point, iterations)
        return _failed(problem, point, iterations, anchor)

    @one_thread
    def repair_all(
        self, points: Floats, distribution: Distribution, anchor: Floats | None = None
    ) -> list[Repair]:
        """Repair points (k, n) one after the other."""
        return [self.repair(point, distribution, anchor) for point in points]

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
            return _unchanged(fs, x, values)
        kind = RepairKind.INTERSECTION if len(rows) else RepairKind.NEAREST
        problem = self._problem(distribution, x, values)
        limits = problem.held(rows, sides)
        best: _Point | None = None
        iterations = 0
        for solver, name in self._rungs():
            for start in (problem.first_start(), distribution.whiten(anchor - x)):
                answer = solver(problem, *limits, start)
                iterations += answer.iterations
                point = _certify(problem, answer, limits, name)
                if _on_target(problem, point, limits) and point.residual <= _KKT_TOLERANCE:
                    return _record(kind, problem, point, iterations)
                if best is None or _better(point, best, problem.feasible_set):
                    best = point
        assert best is not None
        return _failed(problem, best, iterations, anchor)

    def towards(self, x: Floats, distribution: Distribution, start: Floats) -> Repair:
        """Return a feasible point near x by a short search from a feasible point.

        It is as certain to be feasible as a repaired point, but not to be the nearest one, and
        the search may fail where :meth:`project` goes on with IPOPT.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return _unchanged(fs, x, values)
        problem, point, iterations = self._short_search(x, values, distribution, start)
        if point.feasible:
            return _record(RepairKind.NEAREST, problem, point, iterations)
        return _failed(problem, point, iterations, start)

    def near(self, x: Floats, distribution: Distribution, start: Floats) -> Near | None:
        """Return the point of :meth:`towards` without a record; None if the search fails."""
        fs = self.feasible_set
        values = fs.values(x)
        if fs.holds(values):
            return Near(x, True)
        _, point, _ = self._short_search(x, values, distribution, start)
        return Near(point.y, point.residual <= _NEAREST) if point.feasible else None

    def _short_search(
        self, x: Floats, values: Floats, distribution: Distribution, start: Floats
    ) -> tuple[Problem, _Point, int]:
        """Search from a feasible point, then from x itself."""
        problem = self._problem(distribution, x, values)
        solver, name = next(self._rungs())
        options = {"effort": NEARBY} if name == "sqp" else {}
        answer = solver(problem, *problem.nearest, distribution.whiten(start - x), **options)
        point = _certify(problem, answer, problem.nearest, name)
        if not point.feasible:
            answer = solver(problem, *problem.nearest, problem.first_start(), **options)
            point = _certify(problem, answer, problem.nearest, name)
        return problem, point, answer.iterations

    def inset(self, x: Floats, distribution: Distribution) -> Repair:
        """Return a feasible point as far inside the limits as repaired points are.

        ``x`` is feasible. If a row is nearer to its limit than the margin of a repair in the
        metric of the distribution, the nearest point with all margins is taken.
        """
        fs = self.feasible_set
        values = fs.values(x)
        if fs.m == 0:
            return _unchanged(fs, x, values)
        problem = self._problem(distribution, x, values)
        if self._sqp is None:
            self._sqp = SequentialQp(problem.feasible_set)
        z, y, rows, feasible = np.zeros_like(x), x, problem.values, True
        for _ in range(_POLISH_STEPS):
            if _has_margins(problem, rows):
                break
            step = self._sqp.step(problem, *problem.nearest, z)
            if step is None:
                break
            z = z + step
            y = problem.point(z)
            rows, feasible = problem.straight.values(y)
        if y is x or not feasible:
            return _unchanged(fs, x, values)
        return _unchanged(fs, y, fs.values(y))

    def _rescaled(
        self, problem: Problem, limits: Limits, answer: Answer, solver: Solver
    ) -> tuple[Problem, Limits, Answer]:
        """Solve again from the answer if rows are much flatter or steeper there.

        Margins are then placed by the gradients at the boundary: a row such as exp(g) is
        repaired like g.
        """
        y = problem.x + problem.metric.L @ answer.z
        flattest, steepest = answer.steepness or _steepness(problem, y, answer.multipliers)
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
    ) -> Iterator[tuple[RepairKind, Limits, Solver, str, Floats]]:
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
                assert self._straight is not None
                self._sqp = SequentialQp(self._straight.feasible_set)
            yield self._sqp.solve, "qp" if fs.is_linear else "sqp"
        if choice in ("auto", "ipopt"):
            yield self._solve_by_ipopt, "ipopt"

    def _solve_by_ipopt(self, problem: Problem, lower: Floats, upper: Floats, z: Floats) -> Answer:
        if self._ipopt is None:
            self._ipopt = Ipopt(problem.feasible_set, self.settings.ipopt_max_iterations)
        return self._ipopt.solve(problem, lower, upper, z)

    def _problem(self, distribution: Distribution, x: Floats, values: Floats) -> Problem:
        """Return the repair problem of x, given the rows there as they were written."""
        if self._straight is None or self._maker is None:
            self._straight = straightened(self.feasible_set, self.around or distribution)
            self._maker = ProblemMaker(self._straight, self.settings.margin)
        if self._straight.found:
            values, _ = self._straight.values(x)
        return self._maker.make(self._metric_of(distribution), x, values)

    def _metric_of(self, distribution: Distribution) -> Metric:
        if self._metric is None or self._metric.distribution is not distribution:
            self._metric = Metric.of(self.feasible_set, distribution)
        return self._metric


def _record(kind: RepairKind, problem: Problem, point: _Point, iterations: int) -> Repair:
    """Return the certificate of a feasible answer."""
    distribution = problem.metric.distribution
    active = problem.active(point.values)
    prices = np.abs(point.multipliers / problem.norms) * problem.straight.slopes(point.values)
    return Repair(
        kind=kind,
        x=point.y,
        distance_squared=distribution.distance_squared(problem.x, point.y),
        max_violation=0.0,
        kkt_residual=point.residual,
        active=active,
        solver=point.solver,
        iterations=iterations,
        multipliers=tuple(prices[list(active)].tolist()),
    )


def _failed(problem: Problem, point: _Point, iterations: int, anchor: Floats | None) -> Repair:
    """Return the record of a failure, as far away as the known feasible point if there is one.

    A solver that gives up where it began would otherwise get the best g-rank.
    """
    distribution, x = problem.metric.distribution, problem.x
    distance = distribution.distance_squared(x, point.y)
    if anchor is not None:
        distance = max(distance, distribution.distance_squared(x, anchor))
    violation = float(problem.straight.written.violations(point.y).max())
    active = problem.active(point.values)
    return Repair(
        RepairKind.FAILED, point.y, distance, violation, np.inf, active, point.solver, iterations
    )


def _on_target(problem: Problem, point: _Point, limits: Limits) -> bool:
    """Whether the pinned rows of an intersection problem lie on their boundaries."""
    with np.errstate(invalid="ignore", over="ignore"):  # log 0: an infinite row is on no boundary
        outside = np.maximum(limits[0] - point.values, point.values - limits[1]) / problem.norms
    return point.feasible and bool(outside.max() <= _ON_TARGET)


def _unchanged(fs: FeasibleSet, x: Floats, values: Floats) -> Repair:
    active = np.flatnonzero((values == fs.lower) | (values == fs.upper) | fs.equality)
    return Repair(RepairKind.FEASIBLE, x, 0.0, 0.0, 0.0, tuple(int(j) for j in active), "none", 0)


def _better(a: _Point, b: _Point, fs: FeasibleSet) -> bool:
    """Feasible before infeasible; then the smaller residual, or the smaller violation."""
    if a.feasible != b.feasible:
        return a.feasible
    if a.feasible:
        return a.residual < b.residual
    return bool(fs.violations_of(a.values).max() < fs.violations_of(b.values).max())


def _certify(problem: Problem, answer: Answer, limits: Limits, name: str) -> _Point:
    """Round the answer to the vector to be simulated; polish it if a row is a hair outside."""
    z, known = answer.z, answer.residual
    y = problem.point(z)
    values, feasible = problem.straight.values(y)
    for _ in range(_POLISH_STEPS):
        if feasible:
            break
        step = _polish_step(problem, y, values, limits)
        if step is None:
            break
        z, known = z + step, None
        y = problem.point(z)
        values, feasible = problem.straight.values(y)
    if not feasible:
        return _Point(y, values, False, np.inf, name, answer.multipliers)
    if known is None:
        known = _lagrangian_gradient(problem, y, answer.multipliers)
    residual = known / (1.0 + float(np.abs(z).max()))
    return _Point(y, values, True, residual, name, answer.multipliers)


def _polish_step(problem: Problem, y: Floats, values: Floats, limits: Limits) -> Floats | None:
    """Shortest step that puts all rows near or beyond a limit exactly onto it (Newton)."""
    if not np.all(np.isfinite(values)):
        return None
    with np.errstate(over="ignore"):  # limits of 1e308
        low = (limits[0] - values) / problem.norms
        high = (limits[1] - values) / problem.norms
    if max(low.max(), (-high).max()) > 1e-3:
        return None
    below, above = low > -1e-7, high < 1e-7
    residual = np.where(above, high, np.where(below, low, 0.0))
    chosen = above | below
    A = problem.gradients(y)[chosen]
    if not np.all(np.isfinite(A)):
        return None
    step, *_ = np.linalg.lstsq(A, residual[chosen], rcond=1e-12)
    return np.asarray(step, dtype=float)


def _has_margins(problem: Problem, values: Floats) -> bool:
    """Whether all rows are at least half a margin inside their limits."""
    room = problem.slack * problem.norms
    lower, upper = problem.nearest
    return bool(np.all((values >= lower - room) & (values <= upper + room)))


def _steepness(problem: Problem, y: Floats, multipliers: Floats) -> tuple[float, float]:
    """Shortest and longest scaled gradient at y of the rows with a multiplier."""
    held = np.abs(multipliers) > 1e-6 * (1.0 + float(np.abs(multipliers).max()))
    lengths = np.linalg.norm(problem.gradients(y)[held], axis=1)
    return float(lengths.min(initial=1.0)), float(lengths.max(initial=1.0))


def _lagrangian_gradient(problem: Problem, y: Floats, multipliers: Floats) -> float:
    """Largest entry of z + A^T multipliers, z the whitened displacement at y."""
    A = problem.gradients(y)
    if not np.all(np.isfinite(A)):
        return float("inf")
    z = problem.metric.distribution.whiten(y - problem.x)
    return float(np.abs(z + A.T @ multipliers).max())
