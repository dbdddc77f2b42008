r"""Sequential quadratic programming for the whitened repair problem.

Exact first and second derivatives (:mod:`archeng.repair.step`), an l1 merit function with
second-order correction, and an elastic mode for inconsistent linearisations that also
recognises infeasible problems [NW06 ch. 18]. If all rows are linear, the first step is the
answer: the quadratic program is the repair problem itself.

Because the rows are scaled to unit gradients in whitened coordinates, tolerances are in
standard deviations of the search distribution, whatever the units of the model.

[NW06] J. Nocedal, S. Wright, Numerical Optimization, 2nd ed., Springer, 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.linearised import LinearisedRows
from archeng.repair.problem import Problem
from archeng.repair.sparse import SparseRows, is_large
from archeng.repair.step import Hessian, Step, StepFunction
from archeng.repair.working_set import WorkingSetStep

_TOLERANCE = 1e-8  # largest gradient of the Lagrangian at a solution
_STEP_TOLERANCE = 1e-10  # give up when steps are this short
_CLOSE = 1e-7  # scaled violation that polishing removes; relaxing rows would only creep
_ARMIJO = 1e-4
_LAST = 3e-6  # after a step shorter than this, look whether it was the last one
_NEAR = 0.3  # steps shorter than this are near enough to trust the active rows
_PRICE = 1e3  # of relaxing a row, relative to the size of z
_ALMOST = 0.9  # of a step that ends where rows are undefined, just beyond their domain
_SHRINK = (0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)


class Outcome(StrEnum):
    """How a solver ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Answer:
    """Whitened solution of a solver, with multipliers of the scaled rows.

    If the solver knows them: ``residual`` is the largest entry of z + A^T multipliers,
    ``steepness`` the shortest and longest scaled gradient at z of the rows with a multiplier.
    """

    outcome: Outcome
    z: Floats
    multipliers: Floats
    iterations: int
    residual: float | None = None
    steepness: tuple[float, float] | None = None


@dataclass(frozen=True)
class Effort:
    """How long to try: iterations, and how many of them may be of two kinds.

    Those that relax inconsistent rows, and hopeless ones: their full step leads to where rows are
    undefined, or multipliers are so large that relaxing the rows would be cheaper. With
    ``foresee``, a first step that goes too far is computed again with its multipliers, so that it
    sees the curvature of the rows.
    """

    iterations: int
    relaxed_steps: int
    hopeless_steps: int
    foresee: bool = False


THOROUGH = Effort(40, 12, 40)
QUICK = Effort(15, 1, 2)
NEARBY = Effort(15, 1, 2, foresee=True)
AnyStep = StepFunction | WorkingSetStep


class SequentialQp:
    """One SQP solver for all repairs of a feasible set; its step function is compiled once."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._linearised = (
            LinearisedRows(SparseRows(feasible_set)) if is_large(feasible_set) else None
        )
        self._plain = self._new()
        self._lazy: dict[str, AnyStep] = {}
        self._loaded: tuple[Problem, Floats, Floats] | None = None

    def solve(
        self,
        problem: Problem,
        lower: Floats,
        upper: Floats,
        z: Floats,
        effort: Effort = THOROUGH,
    ) -> Answer:
        """Minimise |z|^2 / 2 subject to lower <= rows <= upper, starting from ``z``."""
        self._plain.load(problem, lower, upper)
        self._loaded = (problem, lower, upper)
        self._ready: set[str] = set()
        self._indefinite = False
        self._hopeless = 0
        fs = self._set
        u = np.zeros(fs.m)
        step = self._plain(z, u)
        if fs.is_linear:
            outcome = Outcome.CONVERGED if step.solved else Outcome.INFEASIBLE
            return Answer(outcome, z + step.d, step.u, 1, step.unsteady)
        rho, n_relaxed, u_kept = 1.0, 0, u
        for iteration in range(1, effort.iterations + 1):
            if not step.solved:
                close = iteration > 1 and step.violation < _CLOSE
                relax = not close and n_relaxed < effort.relaxed_steps
                step = self._harder_step(z, u, step, relax)
                if not step.solved:
                    return Answer(Outcome.FAILED, z, u_kept, iteration)
            self._hopeless += not step.relaxed and step.largest > _PRICE * (1.0 + step.size)
            rho = max(2.0 * step.largest, 0.5 * rho)
            first = effort.foresee and iteration == 1 and not step.relaxed
            accepted = self._search(z, u, step, rho, only_full=first)
            if first and accepted is None:
                ahead = self._plain(z, step.u)
                if ahead.solved:
                    u, step = step.u, ahead
                    rho = max(2.0 * step.largest, 0.5 * rho)
                accepted = self._search(z, u, step, rho)
            if accepted is None or self._hopeless > effort.hopeless_steps:
                short = step.relaxed and step.longest < 1e-5
                outcome = Outcome.INFEASIBLE if short else Outcome.FAILED
                return Answer(outcome, z, step.u, iteration)
            relaxed = step.relaxed
            n_relaxed += relaxed
            u = np.zeros(fs.m) if relaxed else step.u
            u_kept = u_kept if relaxed else step.u
            rho = 1.0 if relaxed else rho
            z, step, moved = accepted
            if _converged(step) and not relaxed:
                steep = (step.flattest, step.steepest)
                return Answer(Outcome.CONVERGED, z, u, iteration, step.residual, steep)
            if moved < _STEP_TOLERANCE * (1.0 + step.size):
                outcome = Outcome.CONVERGED if step.satisfied else Outcome.INFEASIBLE
                return Answer(outcome, z, u, iteration, None, (step.flattest, step.steepest))
        return Answer(Outcome.FAILED, z, u_kept, effort.iterations)

    def step(self, problem: Problem, lower: Floats, upper: Floats, z: Floats) -> Floats | None:
        """Return the shortest step (n,) to the linearised rows, None if there is none."""
        self._plain.load(problem, lower, upper)
        step = self._plain(z, np.zeros(self._set.m))
        return step.d if step.solved else None

    def _search(
        self, z: Floats, u: Floats, step: Step, rho: float, only_full: bool = False
    ) -> tuple[Floats, Step, float] | None:
        """Backtrack on the l1 merit function; second-order correction at the full step.

        Returns the accepted point, the next step from there, already computed, and how far
        the point has moved. A small model computes the step at a trial point at once, in one
        compiled call; a large one when the point is accepted.
        """
        merit = step.half_squared + rho * step.violation
        promised = max(-step.slope + rho * step.violation, 0.0)
        slack = 1e-12 * (1.0 + abs(merit)) if math.isfinite(merit) else 0.0

        def accept(there: Step, t: float) -> bool:
            value = there.half_squared + rho * there.violation
            if not math.isfinite(merit):
                return math.isfinite(value)
            return value <= merit - _ARMIJO * t * promised + slack

        after = np.zeros_like(u) if step.relaxed else step.u
        function = self._next_function(step)
        look = function if self._linearised is None else self._function("none")

        def onward(there: Step, point: Floats) -> Step:
            return there if look is function else function(point, after)

        trial = z + step.d
        if step.longest < _LAST:
            there = self._function("none")(trial, after)
            if _converged(there) and accept(there, 1.0):
                return trial, there, step.longest
        there = look(trial, after)
        if accept(there, 1.0):
            return trial, onward(there, trial), step.longest
        if only_full:
            return None
        if not math.isfinite(there.violation):
            self._hopeless += 1
        elif not step.relaxed:
            bend = there.c - step.c - step.Ad
            again = self._function("reflected") if step.reflected else self._plain
            corrected = again(z, u, shift=bend)
            if corrected.solved:
                curved = z + corrected.d
                at_curve = look(curved, after)
                if accept(at_curve, 1.0):
                    return curved, onward(at_curve, curved), corrected.longest
        undefined = not math.isfinite(there.violation)
        for t in (_ALMOST, *_SHRINK) if undefined else _SHRINK:
            trial = z + t * step.d
            there = look(trial, after)
            if accept(there, t):
                return trial, onward(there, trial), t * step.longest
        return None

    def _next_function(self, step: Step) -> AnyStep:
        """Choose the step function for the end of a step: near a solution trust its rows."""
        if step.longest < _NEAR:
            return self._function("augmented")
        return self._function("reflected") if self._indefinite else self._plain

    def _harder_step(self, z: Floats, u: Floats, step: Step, relax: bool) -> Step:
        """Make the quadratic model convex; if the rows are inconsistent too, relax them.

        Without multipliers the model is convex already. Those of relaxed rows are prices, not
        curvature weights: they are not kept.
        """
        if np.any(u):
            step = self._function("reflected")(z, u)
            if step.solved:
                self._indefinite = True
                return step
        if not relax:
            return step
        price = _PRICE * (1.0 + float(np.abs(z).max()))
        return self._function("elastic")(z, np.zeros_like(u), price=price)

    def _function(self, name: Literal["augmented", "reflected", "elastic", "none"]) -> AnyStep:
        """Return another step function, compiled on first use, loaded with this problem."""
        if name not in self._lazy:
            self._lazy[name] = self._new(elastic=True) if name == "elastic" else self._new(name)
        if name not in self._ready:
            assert self._loaded is not None
            self._lazy[name].load(*self._loaded)
            self._ready.add(name)
        return self._lazy[name]

    def _new(self, hessian: Hessian = "plain", elastic: bool = False) -> AnyStep:
        """Return a step function: with all rows at once, or with those that matter."""
        if self._linearised is None:
            return StepFunction(self._set, hessian=hessian, elastic=elastic)
        return WorkingSetStep(self._linearised, hessian=hessian, elastic=elastic)


def _converged(step: Step) -> bool:
    """Whether z, where the step was computed, solves the problem."""
    return step.satisfied and step.residual <= _TOLERANCE * (1.0 + step.size)
