"""`Repair`: a repaired point and its certificate, and how an answer of a solver gets one.

An answer counts if every row holds in floating point, as it was written, at the very vector that
will be simulated. Its residual is that of the KKT conditions of the repair problem
[SA22 eq:intersection, (5)], [SA22 eq:nearest, (6)], in whitened coordinates.

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np

from archeng.codec import OMITTED
from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.dual import shortest
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.sqp import SolverAnswer

_POLISH_STEPS = 6  # of Newton's method, to move rows that are a hair outside onto their limits
_POLISHED = 1e-3  # scaled violation beyond which polishing would lead astray
_TOUCHED = 1e-7  # scaled distance of a row from its limit that polishing removes
_ON_TARGET = 1e-6  # distance of a pinned row from its boundary, in deviations
_ACTIVE = 1e-7  # distance from its limit, in deviations, of an active row
_ACTIVE_MARGINS = 4  # the same in margins
_RANK = 1e-12  # relative singular values that count as zero
_HELD = 1e-6  # multiplier of a row that holds the answer, relative to the largest


class RepairKind(StrEnum):
    """Which problem the repaired point solves."""

    FEASIBLE = "feasible"  # the input was feasible and is returned bit for bit
    INTERSECTION = "intersection"  # [SA22 eq:intersection, (5)]
    NEAREST = "nearest"  # [SA22 eq:nearest, (6)]
    PROPOSED = "proposed"  # a feasible design proposed by a model of the objective
    REPEATED = "repeated"  # the same as before: how much the simulator's values differ is unknown
    FAILED = "failed"  # no feasible point was found
    UNREPAIRED = "unrepaired"  # infeasible as sampled, and no repair was asked for


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired point with its certificate.

    Attributes
    ----------
    kind : RepairKind
    x : ndarray, shape (n,)
        The repaired point; for ``FAILED`` the least violating one found.
    distance_squared : float
        Squared Mahalanobis distance to the input.
    max_violation : float
        Largest violation of any row at ``x``, in raw units; exactly 0 unless failed.
    kkt_residual : float
        Norm of the gradient of the Lagrangian at ``x`` relative to the repair distance, in
        whitened coordinates; 0 for a feasible input.
    active : tuple of int
        Rows whose limit is reached at ``x``.
    solver : str
        ``none``, ``qp``, ``sqp`` or ``ipopt``.
    iterations : int
        Iterations of all solvers tried.
    multipliers : tuple of float
        Of the active rows, in units of half the squared distance per unit of the row; empty if
        nothing was projected.
    proven : bool
        Whether no design with other levels of its discrete coordinates can be nearer, as far as
        the relaxed problems of a branch and bound say. True if all coordinates are real: then the
        residual says what there is to say.
    reason : str
        Why there is no answer, if a branch and bound failed.
    """

    kind: RepairKind
    x: Floats
    distance_squared: float
    max_violation: float
    kkt_residual: float
    active: tuple[int, ...]
    solver: str
    iterations: int
    multipliers: tuple[float, ...] = ()
    proven: bool = field(default=True, metadata=OMITTED)
    reason: str = field(default="", metadata=OMITTED)

    @cached_property
    def feasible(self) -> bool:
        """Whether the point satisfies every row exactly."""
        return self.kind not in (RepairKind.FAILED, RepairKind.UNREPAIRED)


@dataclass(frozen=True, eq=False)
class CertifiedPoint:
    """A certified answer: the vector to simulate, its rows, and what is known about it.

    ``on_target``: it is feasible, and the pinned rows of an intersection problem lie on their
    boundaries.
    """

    problem: Problem
    answer: SolverAnswer
    solver: str
    y: Floats
    values: Floats
    feasible: bool
    on_target: bool = False
    residual: float = np.inf


def repaired(kind: RepairKind, point: CertifiedPoint, iterations: int) -> Repair:
    """Return the certificate of a feasible answer."""
    problem = point.problem
    active = _active(problem, point.values)
    prices = np.abs(point.answer.multipliers / problem.norms)
    if problem.reformulation.homogeneous:
        prices = prices * problem.reformulation.slopes(point.values)
    return Repair(
        kind=kind,
        x=point.y,
        distance_squared=problem.metric.distribution.distance_squared(problem.x, point.y),
        max_violation=0.0,
        kkt_residual=point.residual,
        active=active,
        solver=point.solver,
        iterations=iterations,
        multipliers=tuple(prices[list(active)].tolist()),
    )


def failed(point: CertifiedPoint, iterations: int, anchor: Floats | None) -> Repair:
    """Return the record of a failure, as far away as the known feasible point if there is one.

    A solver that gives up where it began would otherwise get the best g-rank.
    """
    problem = point.problem
    squared = problem.metric.distribution.distance_squared
    distance = squared(problem.x, point.y)
    if anchor is not None:
        distance = max(distance, squared(problem.x, anchor))
    violation = float(problem.reformulation.written.violations(point.y).max())
    active = _active(problem, point.values)
    return Repair(
        RepairKind.FAILED, point.y, distance, violation, np.inf, active, point.solver, iterations
    )


def _active(problem: Problem, values: Floats) -> tuple[int, ...]:
    """Equalities, and rows that reach a limit to within a few margins or 1e-7 deviations."""
    fs = problem.feasible_set
    near = np.maximum(_ACTIVE_MARGINS * problem.margins, _ACTIVE * problem.norms)
    reached = (values <= fs.lower + near) | (values >= fs.upper - near)
    return tuple(np.flatnonzero(reached | fs.equality).tolist())


def unchanged(fs: FeasibleSet, x: Floats, values: Floats) -> Repair:
    """Return the record of a feasible point, given its rows (m,)."""
    active = np.flatnonzero((values == fs.lower) | (values == fs.upper) | fs.equality)
    return Repair(RepairKind.FEASIBLE, x, 0.0, 0.0, 0.0, tuple(active.tolist()), "none", 0)


def is_better(a: CertifiedPoint, b: CertifiedPoint) -> bool:
    """Feasible before infeasible; then the smaller residual, or the smaller violation."""
    if a.feasible != b.feasible:
        return a.feasible
    if a.feasible:
        return a.residual < b.residual
    violations = a.problem.feasible_set.violations_of
    return bool(violations(a.values).max() < violations(b.values).max())


def certified(
    problem: Problem, limits: RowLimits, answer: SolverAnswer, solver: str
) -> CertifiedPoint:
    """Round the answer to the vector to be simulated; polish it if a row is a hair outside."""
    z, gradient = answer.z, answer.residual
    y, values, feasible = problem.at(z)
    for _ in range(_POLISH_STEPS):
        if feasible:
            break
        step = _polish_step(problem, y, values, limits)
        if step is None:
            break
        z, gradient = z + step, None
        y, values, feasible = problem.at(z)
    if not feasible:
        return CertifiedPoint(problem, answer, solver, y, values, feasible)
    with np.errstate(invalid="ignore", over="ignore"):  # log 0: an infinite row is on no boundary
        outside = np.maximum(limits[0] - values, values - limits[1]) / problem.norms
    on_target = bool(outside.max() <= _ON_TARGET)
    if gradient is None:
        gradient = _lagrangian_gradient(problem, y, answer.multipliers)
    residual = gradient / (1.0 + float(np.abs(z).max()))
    return CertifiedPoint(problem, answer, solver, y, values, feasible, on_target, residual)


def _polish_step(problem: Problem, y: Floats, values: Floats, limits: RowLimits) -> Floats | None:
    """Shortest step that puts all rows near or beyond a limit exactly onto it (Newton)."""
    if not np.all(np.isfinite(values)):
        return None
    with np.errstate(over="ignore"):  # limits of 1e308
        low = (limits[0] - values) / problem.norms
        high = (limits[1] - values) / problem.norms
    if max(low.max(), (-high).max()) > _POLISHED:
        return None
    below, above = low > -_TOUCHED, high < _TOUCHED
    residual = np.where(above, high, np.where(below, low, 0.0))
    chosen = above | below
    A = problem.chosen_gradients(y, chosen)
    if not np.all(np.isfinite(A)):
        return None
    if problem.rows is not None:
        return shortest(A, residual[chosen])
    step, *_ = np.linalg.lstsq(A, residual[chosen], rcond=_RANK)
    return np.asarray(step, dtype=float)


def steepness(problem: Problem, y: Floats, multipliers: Floats) -> tuple[float, float]:
    """Shortest and longest scaled gradient at y of the rows with a multiplier."""
    held = np.abs(multipliers) > _HELD * (1.0 + float(np.abs(multipliers).max()))
    lengths = np.linalg.norm(problem.chosen_gradients(y, held), axis=1)
    return float(lengths.min(initial=1.0)), float(lengths.max(initial=1.0))


def _lagrangian_gradient(problem: Problem, y: Floats, multipliers: Floats) -> float:
    """Largest entry of z + A^T multipliers, z the whitened displacement at y."""
    return float(np.abs(problem.lagrangian_gradient(y, multipliers)).max())
