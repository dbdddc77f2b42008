r"""The SQP step with many variables: the structure of metric and rows is kept.

The step is that of :mod:`archeng.repair.step` and :mod:`archeng.repair.working_set`, with the same
meaning of every number. With linear rows nothing costs n^3 operations, and with a diagonal metric
nothing n^2; curved rows cost p^3 in the p variables that they bend (all n in a full metric). So
rows stay sparse, whitened gradients are made of the rows that matter only, W differs from the
identity in the variables that have a curvature only, and the quadratic program is solved for its
multipliers (:mod:`archeng.repair.dual`).

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
c_j, J      scaled rows and their sparse gradients at z            ``point``
L           factor of the metric, (n, n) or its diagonal (n,)      ``L``
P           coordinates in which W is not the identity             ``bent``
W_PP        = R R^T, shape (p, p)                                  ``root``
u           multipliers of the scaled rows, shape (m,)             ``u``
d           step, shape (n,)                                       ``d``
==========  =====================================================  ==============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.repair.dual import Program, solve
from archeng.repair.least_distance import solved_lower
from archeng.repair.linearised import LinearisedPoint
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.step import LARGE, Iterate, SqpStep, StepKind
from archeng.repair.working_set import WorkingSetSteps, active_rows, iterate, reflected


@dataclass(frozen=True, eq=False)
class Bend:
    """W (n, n) = I, but W_PP = M = R R^T."""

    bent: Integers  # P (p,)
    matrix: Floats  # M (p, p)
    root: Floats  # R (p, p)

    def times(self, v: Floats) -> Floats:
        """Return W v (n,)."""
        result = v.copy()
        result[self.bent] = self.matrix @ v[self.bent]
        return result

    def half(self, B: Any, transposed: bool = False) -> Any:
        """Return R^-1 B or R^-T B for a vector or a matrix B (n, k) or (n,)."""
        if not len(self.bent):
            return B
        result = B.copy() if isinstance(B, np.ndarray) else B.toarray()
        result[self.bent] = solved_lower(self.root, result[self.bent], transposed)
        return result


class ManySteps(WorkingSetSteps):
    """Iterates and steps for the repairs of a set with many variables."""

    def load(self, problem: Problem, limits: RowLimits) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        super().load(problem, limits)
        self._brief = limits is problem.pinned  # boundaries that may have no common point

    def evaluate(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate the rows at z (n,), not to be changed afterwards, with multipliers u (m,)."""
        with np.errstate(all="ignore"):
            point, metric = self._point_at(z), self._problem.metric
            held = np.flatnonzero(u)
            self._point, self._u, self._held = point, u, held
            lengths = point.rows.lengths(point.nonzeros, held, metric.factor)
            gradient = z + metric.pulled_back(point.rows.back(point.nonzeros, u))
            return iterate(point, u, gradient, lengths)

    def step(self, kind: StepKind, *, shift: Floats | float = 0.0, price: float = 0.0) -> SqpStep:
        """Return the step from the iterate evaluated last, as :meth:`CompiledSteps.step` does."""
        if kind == "elastic":
            self._A = self._point.gradients(self._held)
            return super().step(kind, shift=shift, price=price)
        with np.errstate(all="ignore"):
            point = self._point if not np.any(shift) else self._shifted(shift)
            bend, g = self._bend(point, kind)
            if bend is None:
                nothing, u = np.full_like(g, np.nan), np.zeros(len(point.c))
                return SqpStep(nothing, u, u, np.inf, np.inf, 0.0, 0.0, False, False, False)
            d, u, Ad = self._solved(bend, g, point)
            back = self._problem.metric.pulled_back(point.rows.back(point.nonzeros, u))
            unsteady = float(np.abs(bend.times(d) + g + back).max())
            infeasible = float(self._missing(point, Ad, d).max(initial=0.0))
            return self._judged(kind, (d, u, Ad), point, infeasible, unsteady, price)

    def _bend(self, point: LinearisedPoint, kind: StepKind) -> tuple[Bend | None, Floats]:
        """Hessian W and gradient g (n,) of the quadratic model; no W if it is not convex."""
        u, held, z = self._u, self._held, point.z
        none, flat = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
        nonlinear = self._set.m - self._set.n_nonlinear
        if kind == "identity" or not np.any(held >= nonlinear):
            return Bend(none, flat, flat), z
        bent, matrix = self._curvature(point, u / self._problem.norms)
        size = float(np.linalg.norm(matrix))
        if not size < LARGE:
            bent, matrix, size = none, flat, 0.0
        g = z
        if kind == "augmented":
            A = self._whitened(point, held)
            tau, aim = active_rows(
                u[held], _squared_lengths(A), point.low[held], point.high[held], size
            )
            g = z - A.T @ (tau * aim)
            bent, matrix = _joined(bent, matrix, A, tau)
        matrix = matrix + np.eye(len(bent))
        matrix = (matrix + matrix.T) / 2
        if kind == "reflected":
            matrix = reflected(matrix)
        try:
            return Bend(bent, matrix, np.asfortranarray(np.linalg.cholesky(matrix))), g
        except np.linalg.LinAlgError:
            return None, g

    def _curvature(self, point: LinearisedPoint, weights: Floats) -> tuple[Integers, Floats]:
        """Return the coordinates in which rows are curved, and L^T H L there."""
        present, H = point.rows.hessian(point.y, weights)
        L = point.L
        if L.ndim == 1:
            return present, L[present, None] * H * L[present]
        part = L[present]
        return np.arange(len(L)), part.T @ (H @ part)

    def _whitened(self, point: LinearisedPoint, chosen: Integers) -> Any:
        """Scaled whitened gradients (k, n) of some rows: sparse if the metric is diagonal."""
        J, L = point.rows.sparse(point.nonzeros, chosen), point.L
        if L.ndim == 1:
            J.data *= L[J.indices]
            return J
        return np.asarray(J @ L)

    def _solved(
        self, bend: Bend, g: Floats, point: LinearisedPoint
    ) -> tuple[Floats, Floats, Floats]:
        """Solve the quadratic program: step (n,), multipliers (m,), changes of the rows (m,)."""
        program = Program(
            low=np.where(point.low > -LARGE, point.low, -np.inf),
            high=np.where(point.high < LARGE, point.high, np.inf),
            columns=lambda rows: bend.half(self._whitened(point, rows).T),
            step=lambda v: bend.half(v, transposed=True),
            rows=point.changes,
            least=self._least,
        )
        free = -bend.half(bend.half(g), transposed=True)
        return solve(program, free, self._u, self._brief)

    def _least(self, root: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return self._qp.least(root, low, high)


def _squared_lengths(A: Any) -> Floats:
    squares = A * A
    return np.asarray(squares.sum(axis=1), dtype=float).reshape(-1)


def _joined(bent: Integers, matrix: Floats, A: Any, tau: Floats) -> tuple[Integers, Floats]:
    """Return the coordinates and the matrix of M + A^T diag(tau) A."""
    chosen = np.flatnonzero(tau)
    A = A[chosen] * np.sqrt(tau[chosen])[:, None] if isinstance(A, np.ndarray) else A[chosen]
    if isinstance(A, np.ndarray):
        full = A.T @ A
        full[np.ix_(bent, bent)] += matrix
        return np.arange(len(full)), full
    both = np.union1d(bent, A.indices)
    dense = A[:, both].toarray() * np.sqrt(tau[chosen])[:, None]
    full = dense.T @ dense
    at = np.searchsorted(both, bent)
    full[np.ix_(at, at)] += matrix
    return both, full
