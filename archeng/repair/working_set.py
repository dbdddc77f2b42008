r"""The SQP step of large models: a quadratic program of the rows that matter.

Of 2000 rows a few dozen decide where a repaired point lies; the others are far from their limits.
The step is that of :mod:`archeng.repair.step`, with the same meaning of every number, but its
quadratic program gets a **working set** S of rows only:

.. math:: \min_d \tfrac12 d^T W d + g^T d \quad\text{s.t.}\quad l_S \le A_S d \le h_S .

S begins with the rows that are violated, near their limits, or have a multiplier. After each
solution *all* linearised rows are evaluated, those that the step violates join S, and the program
is solved again. When none does, the step solves the program with all rows: it satisfies them,
it is stationary with multipliers that are zero outside S, and W is positive definite, so there is
no other solution. If the rows of S have no common point, all rows have none. So nothing is
approximated, whatever S began with, and the choice need not be invariant.

The cost is that of a small dense program, plus products with the sparse Jacobian J: linearised
rows are J (L d), the gradient of the Lagrangian is z + L^T (J^T u).

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
c_j, J      scaled rows and their sparse gradients at z            ``point``
A_S         scaled whitened gradients of S, shape (k, n)           ``A``
u           multipliers of the scaled rows, shape (m,)             ``u``
W           I + sum_j u_j d2c_j, shape (n, n)                      ``W``
d           step, shape (n,)                                       ``d``
l, h        room of the scaled rows to their limits, shape (m,)    ``low``, ``high``
==========  =====================================================  ==============

Negative eigenvalues of W are found by LAPACK: CasADi's own iteration seldom converges for
matrices of this size.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.repair.least_distance import LeastDistance, lower_root
from archeng.repair.linearised import LinearisedPoint, SparseRows
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.step import (
    CURVED,
    INFINITE,
    LARGE,
    LEAST_EIGENVALUE,
    PINNED,
    REACH,
    SHORTEST_SQUARED,
    WEIGHT,
    Glance,
    Iterate,
    SqpStep,
    StepKind,
    is_solved,
)

_NEAR = 1.0  # rows within so many deviations of a limit are in the working set from the start
_OUTSIDE = 1e-10  # violation of a linearised row that puts it into the working set
_KEPT = 3  # points that are remembered: a trial point is evaluated before its step is computed


class WorkingSetSteps:
    """Iterates and steps for the repairs of one set, as :class:`CompiledSteps` has them."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._rows = SparseRows(feasible_set)
        self._qp = LeastDistance()
        self._loaded: tuple[Problem, RowLimits] | None = None

    def load(self, problem: Problem, limits: RowLimits) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        if self._loaded and self._loaded[0] is problem and self._loaded[1] is limits:
            return
        self._loaded, self._problem = (problem, limits), problem
        self._low = np.maximum(limits[0] / problem.norms, -INFINITE)
        self._high = np.minimum(limits[1] / problem.norms, INFINITE)
        self._inverse_norms = 1.0 / problem.norms[self._rows.row]
        self._spread = problem.metric.spread[self._rows.variable]
        self._points: list[LinearisedPoint] = []
        self._seen: tuple[Floats, Floats] | None = None

    def evaluate(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate the rows at z (n,), not to be changed afterwards, with multipliers u (m,)."""
        with np.errstate(all="ignore"):
            point = self._point_at(z)
            held = np.flatnonzero(u)
            A = point.gradients(held)
            lengths = np.sqrt(np.sum(A * A, axis=1))
            self._point, self._u, self._held, self._A = point, u, held, A
            return iterate(point, u, z + A.T @ u[held], lengths)

    def _point_at(self, z: Floats) -> LinearisedPoint:
        """Return the rows linearised at z; the last few are remembered."""
        point = next((p for p in self._points if p.z is z), None)
        if point is None:
            point = self._linearised(z)
            self._points = [point, *self._points[: _KEPT - 1]]
        return point

    def glance(self, z: Floats, u: Floats) -> Glance:
        """Evaluate the rows at z (n,) without their gradients."""
        with np.errstate(all="ignore"):
            c = self._values(z)
            defined = np.abs(c) < LARGE
            outside = np.maximum(self._low - c, c - self._high)
            violation = float(np.maximum(outside, 0.0).sum()) if defined.all() else np.inf
        return Glance(z, u, c, violation, float(z @ z) / 2)

    def settled(self, there: Glance) -> Iterate:
        """Return the iterate of a glance, with gradients."""
        return self.evaluate(there.z, there.u)

    def _values(self, z: Floats) -> Floats:
        """Scaled rows (m,) at z (n,); those of the point looked at last are remembered."""
        if self._seen is None or self._seen[0] is not z:
            y = self._problem.x + self._problem.metric.displacement(z)
            self._seen = z, self._problem.feasible_set.values(y) / self._problem.norms
        return self._seen[1]

    def _linearised(self, z: Floats) -> LinearisedPoint:
        problem, rows = self._problem, self._rows
        L = problem.metric.factor
        y = problem.x + problem.metric.displacement(z)
        c = self._values(z)
        nonzeros = rows.nonzeros(y) * self._inverse_norms
        defined = np.abs(c) < LARGE
        usable = defined & (rows.by_rows(np.abs(nonzeros) * self._spread) < LARGE)
        c_safe = c if defined.all() else np.where(defined, c, 0.0)
        room_low, room_high = self._low - c_safe, self._high - c_safe
        outside = np.maximum(room_low, -room_high)
        excess = np.maximum(outside, 0.0)
        low, high = np.maximum(room_low, -INFINITE), np.minimum(room_high, INFINITE)
        beyond = outside - problem.slack
        violation = float(excess.sum())
        if not usable.all():
            nonzeros = np.where(usable[rows.row], nonzeros, 0.0)
            low, high = np.where(usable, low, -INFINITE), np.where(usable, high, INFINITE)
            beyond = np.where(defined, beyond, 1.0)
            violation = violation if defined.all() else np.inf
        farthest = float(beyond.max())
        return LinearisedPoint(
            rows, L, z, y, c, nonzeros, usable, low, high, excess, violation, farthest
        )

    def first_step(
        self, problem: Problem, limits: RowLimits, z: Floats
    ) -> tuple[Iterate | None, SqpStep]:
        """Load a problem and return the first iterate and step, as :class:`CompiledSteps` does."""
        self.load(problem, limits)
        here = self.evaluate(z, np.zeros(self._set.m))
        return None if self._set.is_linear else here, self.step("identity")

    def step(self, kind: StepKind, *, shift: Floats | float = 0.0, price: float = 0.0) -> SqpStep:
        """Return the step from the iterate evaluated last, as :meth:`CompiledSteps.step` does."""
        with np.errstate(all="ignore"):
            point = self._shifted(shift) if np.any(shift) else self._point
            W, g = self._model(point, kind)
            d, u, Ad, infeasible, unsteady = self._solve(
                W, g, point, price if kind == "elastic" else None
            )
            return self._judged(kind, (d, u, Ad), point, infeasible, unsteady, price)

    def _judged(
        self,
        kind: StepKind,
        solution: tuple[Floats, Floats, Floats],
        point: LinearisedPoint,
        infeasible: float,
        unsteady: float,
        price: float,
    ) -> SqpStep:
        """Return the record of a step d with u and changes of the rows, by what it leaves open."""
        d, u, Ad = solution
        longest = float(np.abs(d).max())
        return SqpStep(
            d=d,
            u=u,
            Ad=Ad,
            unsteady=unsteady,
            longest=longest,
            largest=float(np.abs(u).max(initial=0.0)),
            slope=float(point.z @ d),
            solved=is_solved(infeasible, unsteady, longest, price),
            relaxed=kind == "elastic",
            reflected=kind == "reflected",
        )

    def _shifted(self, shift: Floats | float) -> LinearisedPoint:
        """Return the point evaluated last with its linearised rows moved."""
        point = self._point
        shift = np.where(point.usable, shift, 0.0)
        return replace(point, low=point.low - shift, high=point.high - shift)

    def _model(self, point: LinearisedPoint, kind: StepKind) -> tuple[Floats, Floats]:
        """Hessian W (n, n) and gradient g (n,) of the quadratic model."""
        u, held, A, z = self._u, self._held, self._A, point.z
        W, g = np.eye(len(z)), z
        nonlinear = self._set.m - self._set.n_nonlinear
        if kind in ("identity", "elastic") or not np.any(held >= nonlinear):
            return W, g
        bend = self._rows.bend(point.y, u / self._problem.norms, point.L)
        size = float(np.linalg.norm(bend))
        if size < LARGE:
            W += (bend + bend.T) / 2
        else:
            size = 0.0
        if kind == "augmented":
            squared = np.sum(A * A, axis=1)
            tau, aim = active_rows(u[held], squared, point.low[held], point.high[held], size)
            W += A.T @ (tau[:, None] * A)
            g = z - A.T @ (tau * aim)
        elif kind == "reflected":
            W = reflected(W)
        return W, g

    def _solve(
        self, W: Floats, g: Floats, point: LinearisedPoint, price: float | None
    ) -> tuple[Floats, Floats, Floats, float, float]:
        """Solve the quadratic program with all rows by growing working sets.

        With a price, it is the elastic program. Returns the step (n,), multipliers (m,), changes
        of the rows (m,), and what is left of the conditions: how far rows are violated, and the
        gradient of the model.
        """
        u = np.zeros(len(point.c))
        root = lower_root(W)
        if root is None:
            return np.full_like(g, np.nan), u, u, np.inf, np.inf
        near = (point.low > -_NEAR) | (point.high < _NEAR)
        near[self._held] = True
        working = np.flatnonzero(near & point.usable)
        A = point.gradients(working)
        while True:
            d, multipliers = self._program(root, g, A, point, working, price)
            unsteady = float(np.abs(W @ d + g + A.T @ multipliers).max())
            longest = float(np.abs(d).max())
            Ad = point.changes(d)
            missing = self._missing(point, Ad, d)
            infeasible = 0.0 if price is not None else float(missing[working].max(initial=0.0))
            missing[working] = 0.0
            joining = np.flatnonzero(missing > _OUTSIDE * (1.0 + longest))
            if not len(joining) or not is_solved(infeasible, unsteady, longest, price or 0.0):
                break
            joining = joining[np.argsort(-missing[joining], kind="stable")[: len(d)]]
            working = np.concatenate((working, joining))
            A = np.concatenate((A, point.gradients(joining)))
        u[working] = multipliers
        return d, u, Ad, max(infeasible, float(missing.max(initial=0.0))), unsteady

    def _missing(self, point: LinearisedPoint, Ad: Floats, d: Floats) -> Floats:
        """Violations (m,) of the linearised rows at a step, without sides out of reach.

        As in the dense step, sides that no step of reasonable length can reach do not count.
        """
        below, above = point.low - Ad, Ad - point.high
        worse = np.maximum(below, above)
        if self._set.is_linear or float(np.linalg.norm(d)) < REACH:
            return worse
        doubtful = np.flatnonzero((worse > 0) & (self._high - self._low >= PINNED))
        A = point.gradients(doubtful)
        reach = REACH * np.sqrt(np.sum(A * A, axis=1))
        low = np.where(point.low[doubtful] > -reach, below[doubtful], 0.0)
        high = np.where(point.high[doubtful] < reach, above[doubtful], 0.0)
        worse[doubtful] = np.maximum(low, high)
        return worse

    def _program(
        self,
        root: Floats,
        g: Floats,
        A: Floats,
        point: LinearisedPoint,
        working: Integers,
        price: float | None,
    ) -> tuple[Floats, Floats]:
        """Solve the quadratic program of the working set: step (n,) and multipliers (k,).

        The elastic program relaxes the rows that are violated now by one common t >= 0, at a
        price: low - t <= A d <= high + t, as two one-sided rows each.
        """
        low, high = point.low[working], point.high[working]
        if price is None:
            return self._qp(root, g, A, low, high)
        n, k = len(g), len(working)
        relax = (point.excess[working] > 0).astype(float)[:, None]
        infinite = np.full(k, INFINITE)
        wider, last = np.eye(n + 1), np.zeros((1, n + 1))
        wider[:n, :n] = root
        last[0, n] = 1.0
        x, multipliers = self._qp(
            wider,
            np.append(g, price),
            np.concatenate((np.hstack((A, relax)), np.hstack((A, -relax)), last)),
            np.concatenate((low, -infinite, [0.0])),
            np.concatenate((infinite, high, [INFINITE])),
        )
        return x[:n], multipliers[:k] + multipliers[k : 2 * k]


def iterate(point: LinearisedPoint, u: Floats, gradient: Floats, lengths: Floats) -> Iterate:
    """Return the record of a point: gradient (n,) of the Lagrangian, lengths of those of rows."""
    z = point.z
    return Iterate(
        z=z,
        u=u,
        c=point.c,
        violation=point.violation,
        satisfied=point.farthest <= 0.0,
        residual=float(np.abs(gradient).max()),
        size=float(np.abs(z).max()),
        half_squared=float(z @ z) / 2,
        flattest=float(lengths.min(initial=1.0)),
        steepest=float(lengths.max(initial=1.0)),
    )


def active_rows(
    u: Floats, squared: Floats, low: Floats, high: Floats, size: float
) -> tuple[Floats, Floats]:
    """Weights tau and right-hand sides b_S of the squares of the active rows.

    ``squared`` (k,) are the squared lengths of their gradients, ``size`` that of the curvature.
    """
    aim = np.where(u > 0, high, low)
    length_squared = np.maximum(squared, SHORTEST_SQUARED)
    tau = (np.abs(aim) < LARGE) * (size > CURVED) * WEIGHT * (1 + size) / length_squared
    return tau, np.where(tau > 0, aim, 0.0)


def reflected(W: Floats) -> Floats:
    """Return W with its negative eigenvalues reflected, and none below a small margin."""
    eigenvalues, B = np.linalg.eigh(W)
    return np.asarray((B * np.maximum(np.abs(eigenvalues), LEAST_EIGENVALUE)) @ B.T)
