r"""Sequential quadratic programming for the whitened repair problem.

Exact first and second derivatives, the Hessian of the Lagrangian made convex by clipping its
eigenvalues, an l1 merit function with second-order correction, and an elastic mode for
inconsistent linearisations that also recognises infeasible problems [NW06 ch. 18].

Because the rows are scaled to unit gradients in whitened coordinates, tolerances are in
standard deviations of the search distribution, whatever the units of the model.

[NW06] J. Nocedal, S. Wright, Numerical Optimization, 2nd ed., Springer, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from archeng.distribution import Floats
from archeng.repair.problem import Problem
from archeng.repair.qp import QuadraticProgram

_MAX_ITERATIONS = 40
_TOLERANCE = 1e-8  # largest gradient of the Lagrangian at a solution
_STEP_TOLERANCE = 1e-10  # give up when steps are this short
_ARMIJO = 1e-4
_SHRINK = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)
_LEAST_CURVATURE = 0.05


class Outcome(StrEnum):
    """How a solver ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Answer:
    """Whitened solution of a solver, with multipliers of the scaled rows."""

    outcome: Outcome
    z: Floats
    multipliers: Floats
    iterations: int


@dataclass(frozen=True, eq=False)
class _Local:
    """Rows at an iterate, scaled: distances to the limits and unit gradients."""

    low: Floats
    high: Floats
    A: Floats
    violation: float
    satisfied: bool


class SequentialQp:
    """One SQP solver for all repairs of a feasible set: its QP work space is allocated once."""

    def __init__(self, n: int, m: int) -> None:
        self._n, self._m = n, m
        self._qp = QuadraticProgram(n, m)
        self._elastic: QuadraticProgram | None = None

    def solve(
        self, problem: Problem, lower: Floats, upper: Floats, z: Floats | None = None
    ) -> Answer:
        """Minimise |z|^2 / 2 subject to lower <= rows <= upper, from ``z`` (default 0)."""
        linear = problem.feasible_set.is_linear
        z = np.zeros(self._n) if z is None else z
        multipliers = np.zeros(self._m)
        rho = 1.0
        local = _localise(problem, z, lower, upper)
        for iteration in range(1, _MAX_ITERATIONS + 1):
            H = self._hessian(problem, z, multipliers)
            solution = self._qp.solve(H, z, local.A, local.low, local.high)
            if linear:
                if solution is None:
                    return Answer(Outcome.INFEASIBLE, z, multipliers, iteration)
                return Answer(Outcome.CONVERGED, z + solution[0], solution[1], iteration)
            relaxed = solution is None
            if solution is None:
                solution = self._elastic_step(H, z, local)
                if solution is None:
                    return Answer(Outcome.FAILED, z, multipliers, iteration)
            d, multipliers = solution
            rho = max(rho, 2.0 * float(np.max(np.abs(multipliers), initial=0.0)))
            step = self._search(problem, z, d, H, local, lower, upper, rho)
            length = float(np.max(np.abs(d)))
            if step is None:
                outcome = Outcome.INFEASIBLE if relaxed and length < 1e-5 else Outcome.FAILED
                return Answer(outcome, z, multipliers, iteration)
            moved = float(np.max(np.abs(step[0] - z)))
            z, local = step
            if local.satisfied and not relaxed:
                gradient = z + multipliers @ local.A
                if np.max(np.abs(gradient)) <= _TOLERANCE * (1.0 + float(np.max(np.abs(z)))):
                    return Answer(Outcome.CONVERGED, z, multipliers, iteration)
            if moved < _STEP_TOLERANCE * (1.0 + float(np.max(np.abs(z)))):
                outcome = Outcome.CONVERGED if local.satisfied else Outcome.INFEASIBLE
                return Answer(outcome, z, multipliers, iteration)
        return Answer(Outcome.FAILED, z, multipliers, _MAX_ITERATIONS)

    def _hessian(self, problem: Problem, z: Floats, multipliers: Floats) -> Floats:
        """I + whitened curvature of the rows, eigenvalues clipped to stay convex."""
        identity = np.eye(self._n)
        if problem.feasible_set.is_linear or not np.any(multipliers):
            return identity
        curvature = problem.curvature(problem.point(z), multipliers / problem.norms)
        if not np.all(np.isfinite(curvature)):
            return identity
        H = identity + (curvature + curvature.T) / 2
        try:
            np.linalg.cholesky(H - _LEAST_CURVATURE * identity)
        except np.linalg.LinAlgError:
            eigenvalues, B = np.linalg.eigh(H)
            H = (B * np.maximum(np.abs(eigenvalues), _LEAST_CURVATURE)) @ B.T
            H = (H + H.T) / 2
        return H

    def _search(
        self,
        problem: Problem,
        z: Floats,
        d: Floats,
        H: Floats,
        local: _Local,
        lower: Floats,
        upper: Floats,
        rho: float,
    ) -> tuple[Floats, _Local] | None:
        """Backtrack on the l1 merit function; second-order correction at the full step."""
        merit = 0.5 * float(z @ z) + rho * local.violation
        promised = max(float(-z @ d) + rho * local.violation, 0.0)
        slack = 1e-12 * (1.0 + abs(merit)) if np.isfinite(merit) else 0.0
        for t in _SHRINK:
            trial = z + t * d
            there = _localise(problem, trial, lower, upper)
            value = 0.5 * float(trial @ trial) + rho * there.violation
            if value <= merit - _ARMIJO * t * promised + slack:
                return trial, there
            if t == 1.0 and np.isfinite(there.violation):
                corrected = self._corrected(problem, z, d, H, local, there, lower, upper)
                if corrected is not None:
                    trial, there = corrected
                    value = 0.5 * float(trial @ trial) + rho * there.violation
                    if value <= merit - _ARMIJO * promised + slack:
                        return corrected
        return None

    def _corrected(
        self,
        problem: Problem,
        z: Floats,
        d: Floats,
        H: Floats,
        local: _Local,
        there: _Local,
        lower: Floats,
        upper: Floats,
    ) -> tuple[Floats, _Local] | None:
        """Repeat the step with the curvature of the rows along it added [NW06 eq. 18.57]."""
        bend_low = there.low + local.A @ d
        bend_high = there.high + local.A @ d
        solution = self._qp.solve(H, z, local.A, bend_low, bend_high)
        if solution is None:
            return None
        trial = z + solution[0]
        return trial, _localise(problem, trial, lower, upper)

    def _elastic_step(self, H: Floats, z: Floats, local: _Local) -> tuple[Floats, Floats] | None:
        """Step that violates the linearised rows as little as it must.

        One extra variable t >= 0 relaxes all rows that are violated now:
        low - t <= A d <= high + t, at a high price.
        """
        n, m = self._n, self._m
        if self._elastic is None:
            self._elastic = QuadraticProgram(n + 1, 2 * m + 1)
        relax = ((local.low > 0) | (local.high < 0)).astype(float)[:, None]
        A = np.block([[local.A, relax], [local.A, -relax], [np.zeros((1, n)), np.ones((1, 1))]])
        infinite = np.full(m, np.inf)
        low = np.concatenate((local.low, -infinite, [0.0]))
        high = np.concatenate((infinite, local.high, [np.inf]))
        price = 1e3 * (1.0 + float(np.max(np.abs(z))))
        extended = np.zeros((n + 1, n + 1))
        extended[:n, :n], extended[n, n] = H, 1.0
        solution = self._elastic.solve(extended, np.append(z, price), A, low, high)
        if solution is None:
            return None
        multipliers = solution[1][:m] + solution[1][m : 2 * m]
        return solution[0][:n], multipliers


def _localise(problem: Problem, z: Floats, lower: Floats, upper: Floats) -> _Local:
    """Scaled rows at z. Rows undefined there leave the QP and make the violation infinite."""
    with np.errstate(invalid="ignore", over="ignore"):
        values, gradients = problem.linearise(problem.point(z))
        low, high = problem.scaled(values, lower, upper)
        A = gradients / problem.norms[:, None]
        excess = np.maximum(np.maximum(low, -high), 0.0)
        violation = float(excess.sum())
    if np.isfinite(violation) and np.isfinite(A.sum()):
        return _Local(low, high, A, violation, bool((excess <= problem.slack).all()))
    good = np.isfinite(values) & np.isfinite(A).all(axis=1)
    low, high = np.where(good, low, -np.inf), np.where(good, high, np.inf)
    return _Local(low, high, np.where(good[:, None], A, 0.0), np.inf, False)
