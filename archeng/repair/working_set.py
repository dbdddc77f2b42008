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
c_j         scaled rows r_j / norm_j, shape (m,)                   ``c``
J           scaled gradients of all rows, sparse, shape (m, n)     ``nonzeros``
A_S         scaled whitened gradients of S, shape (k, n)           ``A``
u           multipliers of the scaled rows, shape (m,)             ``u``
W           I + sum_j u_j d2c_j, shape (n, n)                      ``W``
d           step, shape (n,)                                       ``d``
l, h        room of the scaled rows to their limits, shape (m,)    ``lba``, ``uba``
==========  =====================================================  ==============

Negative eigenvalues of W are found by LAPACK: CasADi's own iteration seldom converges for
matrices of this size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.repair.least_distance import LeastDistance, lower_root
from archeng.repair.problem import Problem
from archeng.repair.sparse import SparseRows
from archeng.repair.step import (
    INFINITE,
    LARGE,
    LEAST_EIGENVALUE,
    REACH,
    WEIGHT,
    Hessian,
    Step,
    is_solved,
)

_NEAR = 1.0  # rows within so many deviations of a limit are in the working set from the start
_OUTSIDE = 1e-10  # violation of a linearised row that puts it into the working set


class _At(NamedTuple):
    """What is known at z: scaled rows, their gradients, room to the limits, and violations."""

    y: Floats
    c: Floats
    nonzeros: Floats
    usable: Any
    lba: Floats
    uba: Floats
    excess: Floats
    violation: float
    farthest: float


class WorkingSetStep:
    """The step for one feasible set, called like :class:`archeng.repair.step.StepFunction`.

    Parameters
    ----------
    rows : SparseRows
    hessian, elastic
        As there.
    """

    def __init__(
        self, rows: SparseRows, *, hessian: Hessian = "plain", elastic: bool = False
    ) -> None:
        self.elastic = elastic
        self._rows = rows
        self._hessian = hessian
        self._qp = LeastDistance()

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        self._problem = problem
        self._low = np.maximum(lower / problem.norms, -INFINITE)
        self._high = np.minimum(upper / problem.norms, INFINITE)
        self._pinned = self._high - self._low < 1
        self._inverse_norms = 1.0 / problem.norms[self._rows.row]
        self._spread = np.sqrt(np.sum(problem.metric.L**2, axis=1))[self._rows.variable]

    def __call__(
        self, z: Floats, u: Floats, *, shift: Floats | float = 0.0, price: float = 0.0
    ) -> Step:
        """Evaluate at z with multipliers u; the arguments are those of ``StepFunction``."""
        with np.errstate(all="ignore"):
            return self._step(z, u, shift, price)

    def _step(self, z: Floats, u: Floats, shift: Floats | float, price: float) -> Step:
        L = self._problem.metric.L
        at = self._evaluate(z, shift)
        held = np.flatnonzero(u)
        A_held = self._whitened(at, held)
        gradient = z + A_held.T @ u[held]
        lengths = np.sqrt(np.sum(A_held * A_held, axis=1))
        d, Ad, u_next = np.zeros_like(z), np.zeros_like(u), u
        unsteady = infeasible = np.inf
        if self._hessian != "none":
            W, g = self._model(z, u, at, held, A_held)
            d, u_next, unsteady = self._solve(W, g, at, held, price)
            Ad = self._rows.times(at.nonzeros, L @ d)
            missing = 0.0 if self.elastic else self._missing(at, Ad, d)
            infeasible = float(np.max(missing, initial=0.0))
        longest = float(np.abs(d).max())
        return Step(
            d=d,
            u=u_next,
            c=at.c,
            Ad=Ad,
            violation=at.violation,
            satisfied=at.farthest <= 0.0,
            residual=float(np.abs(gradient).max()),
            unsteady=unsteady,
            longest=longest,
            largest=float(np.abs(u_next).max(initial=0.0)),
            size=float(np.abs(z).max()),
            half_squared=float(z @ z) / 2,
            slope=float(z @ d),
            flattest=float(lengths.min(initial=1.0)),
            steepest=float(lengths.max(initial=1.0)),
            solved=is_solved(infeasible, unsteady, longest, price),
            relaxed=self.elastic,
            reflected=self._hessian == "reflected",
        )

    def _evaluate(self, z: Floats, shift: Floats | float) -> _At:
        """Rows that are undefined, or infinitely steep, at z leave the linearisation."""
        problem, rows = self._problem, self._rows
        y = problem.x + problem.metric.L @ z
        c = problem.feasible_set.values(y) / problem.norms
        nonzeros = rows.nonzeros(y) * self._inverse_norms
        defined = np.abs(c) < LARGE
        steepness = rows.by_rows(np.abs(nonzeros) * self._spread)
        usable = defined & (steepness < LARGE)
        if not usable.all():
            nonzeros = np.where(usable[rows.row], nonzeros, 0.0)
        c_safe = np.where(defined, c, 0.0)
        outside = np.maximum(c_safe - self._high, self._low - c_safe)
        excess = np.maximum(outside, 0.0)
        return _At(
            y,
            c,
            nonzeros,
            usable,
            np.where(usable, np.maximum(self._low - c_safe - shift, -INFINITE), -INFINITE),
            np.where(usable, np.minimum(self._high - c_safe - shift, INFINITE), INFINITE),
            excess,
            float(excess.sum()) if defined.all() else np.inf,
            float(np.where(defined, outside - problem.slack, 1.0).max()),
        )

    def _whitened(self, at: _At, chosen: Integers) -> Floats:
        """Scaled whitened gradients (k, n) of some rows."""
        return self._rows.chosen(at.nonzeros, chosen) @ self._problem.metric.L

    def _model(
        self, z: Floats, u: Floats, at: _At, held: Integers, A: Floats
    ) -> tuple[Floats, Floats]:
        """Hessian W (n, n) and gradient g (n,) of the quadratic model."""
        fs, L = self._problem.feasible_set, self._problem.metric.L
        W, g = np.eye(len(z)), z
        if not np.any(held >= fs.m - fs.n_nonlinear):
            return W, g
        bend = self._rows.bend(at.y, u / self._problem.norms, L)
        size = float(np.linalg.norm(bend))
        if size < LARGE:
            W = W + (bend + bend.T) / 2
        else:
            size = 0.0
        if self._hessian == "augmented":
            tau, aim = _active_rows(u[held], A, at.lba[held], at.uba[held], size)
            W = W + A.T @ (tau[:, None] * A)
            g = z - A.T @ (tau * aim)
        elif self._hessian == "reflected":
            W = _reflected(W)
        return W, g

    def _solve(
        self, W: Floats, g: Floats, at: _At, held: Integers, price: float
    ) -> tuple[Floats, Floats, float]:
        """Step (n,), multipliers (m,) and residual of the program, by growing working sets."""
        L = self._problem.metric.L
        near = (at.lba > -_NEAR) | (at.uba < _NEAR)
        near[held] = True
        working = np.flatnonzero(near & at.usable)
        A = self._whitened(at, working)
        u_next = np.zeros(len(at.c))
        root = lower_root(W)
        if root is None:
            return np.full_like(g, np.nan), u_next, np.inf
        while True:
            d, multipliers = self._program(root, g, A, at, working, price)
            unsteady = float(np.abs(W @ d + g + A.T @ multipliers).max())
            missing = self._missing(at, self._rows.times(at.nonzeros, L @ d), d)
            longest = float(np.abs(d).max())
            stuck = 0.0 if self.elastic else float(missing[working].max(initial=0.0))
            missing[working] = 0.0
            joining = np.flatnonzero(missing > _OUTSIDE * (1.0 + longest))
            if not len(joining) or not is_solved(stuck, unsteady, longest, price):
                break
            joining = joining[np.argsort(-missing[joining], kind="stable")[: len(d)]]
            working = np.concatenate((working, joining))
            A = np.concatenate((A, self._whitened(at, joining)))
        u_next[working] = multipliers
        return d, u_next, unsteady

    def _missing(self, at: _At, Ad: Floats, d: Floats) -> Floats:
        """Violations (m,) of the linearised rows at a step, without sides out of reach.

        As in the dense step, sides that no step of reasonable length can reach do not count.
        """
        below, above = at.lba - Ad, Ad - at.uba
        worse = np.maximum(below, above)
        if self._problem.feasible_set.is_linear or float(np.linalg.norm(d)) < REACH:
            return worse
        doubtful = np.flatnonzero((worse > 0) & ~self._pinned)
        A = self._whitened(at, doubtful)
        reach = REACH * np.sqrt(np.sum(A * A, axis=1))
        low = np.where(at.lba[doubtful] > -reach, below[doubtful], 0.0)
        high = np.where(at.uba[doubtful] < reach, above[doubtful], 0.0)
        worse[doubtful] = np.maximum(low, high)
        return worse

    def _program(
        self, root: Floats, g: Floats, A: Floats, at: _At, working: Integers, price: float
    ) -> tuple[Floats, Floats]:
        """Solve the quadratic program of the working set: step (n,) and multipliers (k,).

        The elastic program relaxes the rows that are violated now by one common t >= 0, at a
        price: low - t <= A d <= high + t, as two one-sided rows each.
        """
        lba, uba = at.lba[working], at.uba[working]
        if not self.elastic:
            return self._qp(root, g, A, lba, uba)
        n, k = len(g), len(working)
        relax = (at.excess[working] > 0).astype(float)[:, None]
        infinite = np.full(k, INFINITE)
        wider, last = np.eye(n + 1), np.zeros((1, n + 1))
        wider[:n, :n] = root
        last[0, n] = 1.0
        x, multipliers = self._qp(
            wider,
            np.append(g, price),
            np.concatenate((np.hstack((A, relax)), np.hstack((A, -relax)), last)),
            np.concatenate((lba, -infinite, [0.0])),
            np.concatenate((infinite, uba, [INFINITE])),
        )
        return x[:n], multipliers[:k] + multipliers[k : 2 * k]


def _active_rows(
    u: Floats, A: Floats, lba: Floats, uba: Floats, size: float
) -> tuple[Floats, Floats]:
    """Weights tau and right-hand sides b_S of the squares of the active rows."""
    aim = np.where(u > 0, uba, lba)
    length_squared = np.maximum(np.sum(A * A, axis=1), 1e-12)
    tau = (np.abs(aim) < LARGE) * (size > 1e-3) * WEIGHT * (1 + size) / length_squared
    return tau, np.where(tau > 0, aim, 0.0)


def _reflected(W: Floats) -> Floats:
    """Return W with its negative eigenvalues reflected, and none below a small margin."""
    if not np.all(np.isfinite(W)):
        return W
    eigenvalues, B = np.linalg.eigh(W)
    return np.asarray((B * np.maximum(np.abs(eigenvalues), LEAST_EIGENVALUE)) @ B.T)
