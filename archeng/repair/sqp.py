r"""Sequential quadratic programming for the whitened repair problem.

Exact first and second derivatives (:mod:`archeng.repair.step`), an l1 merit function with
second-order correction, and an elastic mode for inconsistent linearisations that also
recognises infeasible problems [NW06 ch. 18]. If all rows are linear, the first step is the
answer: the quadratic program is the repair problem itself.

Because the rows are scaled to unit gradients in whitened coordinates, tolerances are in
standard deviations of the search distribution, whatever the units of the model.

[NW06] J. Nocedal, S. Wright, Numerical Optimization, 2nd ed., Springer, 2006,
doi:10.1007/978-0-387-40065-5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.linearised import is_large
from archeng.repair.many_steps import ManySteps
from archeng.repair.problem import Problem, RowLimits
from archeng.repair.step import CompiledSteps, Glance, Iterate, SqpStep, StepKind
from archeng.repair.working_set import WorkingSetSteps

_TOLERANCE = 1e-8  # largest gradient of the Lagrangian at a solution
_STEP_TOLERANCE = 1e-10  # give up when steps are this short
_CLOSE = 1e-7  # scaled violation that polishing removes; relaxing rows would only creep
_ARMIJO = 1e-4  # share of the promised decrease that a step must achieve
_NEAR = 0.3  # steps shorter than this are near enough to trust the active rows
_PRICE = 1e3  # of relaxing a row, relative to the size of z
_ALMOST = 0.9  # of a step that ends where rows are undefined, just beyond their domain
_SHRINK = (0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)  # step lengths that are tried in turn
_ROUNDING = 1e-12  # of the merit function, relative to it
_STUCK = 1e-5  # relaxed steps shorter than this say that the rows have no common point


class Outcome(StrEnum):
    """How a solver ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class SolverAnswer:
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


THOROUGH = Effort(40, 12, 40)  # where nothing else is left but IPOPT
QUICK = Effort(15, 1, 2)  # where there is another way: the intersection
UNRELAXED = Effort(15, 0, 2)  # the same with many variables: relaxed rows make dense programs
NEARBY = Effort(15, 1, 2, foresee=True)  # where the search begins at a feasible point


class SequentialQp:
    """One SQP solver for all repairs of a feasible set; its functions are compiled once."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self.name = "qp" if feasible_set.is_linear else "sqp"
        self._steps: WorkingSetSteps | CompiledSteps
        if feasible_set.has_many:
            self._steps = ManySteps(feasible_set)
        else:
            make = WorkingSetSteps if is_large(feasible_set) else CompiledSteps
            self._steps = make(feasible_set)

    def solve(
        self, problem: Problem, limits: RowLimits, z: Floats, effort: Effort = THOROUGH
    ) -> SolverAnswer:
        """Minimise |z|^2 / 2 subject to the limits of the rows, starting from ``z``."""
        here, step = self._steps.first_step(problem, limits, z)
        if here is None:  # all rows are linear
            outcome = Outcome.CONVERGED if step.solved else Outcome.INFEASIBLE
            return SolverAnswer(outcome, z + step.d, step.u, 1, step.unsteady)
        self._indefinite = False
        self._hopeless = 0
        rho, n_relaxed, u_kept = 1.0, 0, here.u
        for iteration in range(1, effort.iterations + 1):
            if not step.solved:
                close = iteration > 1 and here.violation < _CLOSE
                relax = not close and n_relaxed < effort.relaxed_steps
                here, step = self._harder_step(here, step, relax)
                if not step.solved:
                    return SolverAnswer(Outcome.FAILED, here.z, u_kept, iteration)
            self._hopeless += not step.relaxed and step.largest > _PRICE * (1.0 + here.size)
            rho = max(2.0 * step.largest, 0.5 * rho)
            first = effort.foresee and iteration == 1 and not step.relaxed
            accepted = self._search(here, step, rho, only_full=first)
            if first and accepted is None:
                curved = self._steps.evaluate(here.z, step.u)
                ahead = self._steps.step(self._convex("plain", step.u))
                if ahead.solved:
                    here, step = curved, ahead
                    rho = max(2.0 * step.largest, 0.5 * rho)
                accepted = self._search(here, step, rho)
            if accepted is None or self._hopeless > effort.hopeless_steps:
                short = step.relaxed and step.longest < _STUCK
                outcome = Outcome.INFEASIBLE if short else Outcome.FAILED
                return SolverAnswer(outcome, here.z, step.u, iteration)
            here, moved = accepted
            if step.relaxed:
                n_relaxed += 1
                rho = 1.0
            else:
                u_kept = step.u
            z, u, steep = here.z, here.u, (here.flattest, here.steepest)
            solved = here.satisfied and here.residual <= _TOLERANCE * (1.0 + here.size)
            if solved and not step.relaxed:
                return SolverAnswer(Outcome.CONVERGED, z, u, iteration, here.residual, steep)
            if moved < _STEP_TOLERANCE * (1.0 + here.size):
                outcome = Outcome.CONVERGED if here.satisfied else Outcome.INFEASIBLE
                return SolverAnswer(outcome, z, u, iteration, None, steep)
            step = self._steps.step(self._next_kind(step, u))
        return SolverAnswer(Outcome.FAILED, here.z, u_kept, effort.iterations)

    def step(self, problem: Problem, z: Floats) -> Floats | None:
        """Return the shortest step (n,) to the linearised rows, None if there is none."""
        _, step = self._steps.first_step(problem, problem.nearest, z)
        return step.d if step.solved else None

    def _search(
        self, here: Iterate, step: SqpStep, rho: float, only_full: bool = False
    ) -> tuple[Iterate, float] | None:
        """Backtrack on the l1 merit function; second-order correction at the full step.

        Returns the accepted iterate, which is the one evaluated last, and how far it has moved.
        """
        steps, merit = self._steps, here.half_squared + rho * here.violation
        promised = max(-step.slope + rho * here.violation, 0.0)
        slack = _ROUNDING * (1.0 + abs(merit)) if math.isfinite(merit) else 0.0

        def accept(there: Iterate | Glance, t: float) -> bool:
            value = there.half_squared + rho * there.violation
            if not math.isfinite(merit):
                return math.isfinite(value)
            return value <= merit - _ARMIJO * t * promised + slack

        def settled(there: Iterate | Glance) -> Iterate:
            return there if isinstance(there, Iterate) else steps.settled(there)

        after = np.zeros_like(step.u) if step.relaxed else step.u
        there = steps.glance(here.z + step.d, after)
        if accept(there, 1.0):
            return settled(there), step.longest
        if only_full:
            return None
        undefined = not math.isfinite(there.violation)
        if undefined:
            self._hopeless += 1
        elif not step.relaxed:
            corrected = self._corrected(here, step, bend=there.c - here.c - step.Ad)
            if corrected.solved:
                there = steps.glance(here.z + corrected.d, after)
                if accept(there, 1.0):
                    return settled(there), corrected.longest
        for t in (_ALMOST, *_SHRINK) if undefined else _SHRINK:
            there = steps.glance(here.z + t * step.d, after)
            if accept(there, t):
                return settled(there), t * step.longest
        return None

    def _corrected(self, here: Iterate, step: SqpStep, bend: Floats) -> SqpStep:
        """Return the step again, with the linearised rows moved by what they bend (m,)."""
        self._steps.evaluate(here.z, here.u)
        kind = "reflected" if step.reflected else self._convex("plain", here.u)
        return self._steps.step(kind, shift=bend)

    def _next_kind(self, step: SqpStep, u: Floats) -> StepKind:
        """Choose the step from the end of another one: near a solution trust its rows."""
        if step.longest < _NEAR:
            return self._convex("augmented", u)
        return "reflected" if self._indefinite else self._convex("plain", u)

    def _convex(self, kind: StepKind, u: Floats) -> StepKind:
        """Return this kind of step, or the one without curvature if u has none."""
        return kind if u[self._set.m - self._set.n_nonlinear :].any() else "identity"

    def _harder_step(self, here: Iterate, step: SqpStep, relax: bool) -> tuple[Iterate, SqpStep]:
        """Make the quadratic model convex; if the rows are inconsistent too, relax them.

        Without multipliers the model is convex already. Those of relaxed rows are prices, not
        curvature weights: they are not kept.
        """
        if np.any(here.u):
            here, step = self._steps.evaluate(here.z, here.u), self._steps.step("reflected")
            if step.solved:
                self._indefinite = True
                return here, step
        if not relax:
            return here, step
        price = _PRICE * (1.0 + float(np.abs(here.z).max()))
        here = self._steps.evaluate(here.z, np.zeros_like(here.u))
        return here, self._steps.step("elastic", price=price)
