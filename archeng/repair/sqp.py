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

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.look import Look, LookFunction, Memory
from archeng.repair.problem import Problem
from archeng.repair.step import Kind, Step, StepFunction

_TOLERANCE = 1e-8  # largest gradient of the Lagrangian at a solution
_STEP_TOLERANCE = 1e-10  # give up when steps are this short
_CLOSE = 1e-7  # scaled violation that polishing removes; relaxing rows would only creep
_ARMIJO = 1e-4
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


class SequentialQp:
    """One SQP solver for all repairs of a feasible set; its functions are compiled once."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._memory = Memory(feasible_set)
        self._steps: dict[Kind, StepFunction] = {}
        self._straight = self._function("straight")
        self._last_reflected = Look(np.zeros(feasible_set.m), 0.0, True, 0.0, 0.0, 0.0, 0.0, 0.0)
        if not feasible_set.is_linear:
            self._look = LookFunction(feasible_set, self._memory)

    def solve(
        self,
        problem: Problem,
        lower: Floats,
        upper: Floats,
        z: Floats,
        effort: Effort = THOROUGH,
    ) -> Answer:
        """Minimise |z|^2 / 2 subject to lower <= rows <= upper, starting from ``z``."""
        fs = self._set
        if fs.is_linear:
            step = self._first_step(problem, lower, upper, z)
            outcome = Outcome.CONVERGED if step.solved else Outcome.INFEASIBLE
            return Answer(outcome, z + step.d, step.u, 1, step.unsteady)
        self._memory.load(problem, lower, upper)
        self._indefinite = False
        self._hopeless = 0
        u = np.zeros(fs.m)
        here, step = self._look(z, u), self._straight()
        rho, n_relaxed, u_kept = 1.0, 0, u
        for iteration in range(1, effort.iterations + 1):
            if not step.solved:
                close = iteration > 1 and here.violation < _CLOSE
                relax = not close and n_relaxed < effort.relaxed_steps
                here, step = self._harder_step(z, u, here, step, relax)
                if not step.solved:
                    return Answer(Outcome.FAILED, z, u_kept, iteration)
            self._hopeless += not step.relaxed and step.largest > _PRICE * (1.0 + here.size)
            rho = max(2.0 * step.largest, 0.5 * rho)
            first = effort.foresee and iteration == 1 and not step.relaxed
            accepted = self._search(z, u, here, step, rho, only_full=first)
            if first and accepted is None:
                self._look(z, step.u)
                ahead = self._convex("plain", step.u)()
                if ahead.solved:
                    u, step = step.u, ahead
                    rho = max(2.0 * step.largest, 0.5 * rho)
                accepted = self._search(z, u, here, step, rho)
            if accepted is None or self._hopeless > effort.hopeless_steps:
                short = step.relaxed and step.longest < 1e-5
                outcome = Outcome.INFEASIBLE if short else Outcome.FAILED
                return Answer(outcome, z, step.u, iteration)
            relaxed = step.relaxed
            n_relaxed += relaxed
            u = np.zeros(fs.m) if relaxed else step.u
            u_kept = u_kept if relaxed else step.u
            rho = 1.0 if relaxed else rho
            z, here, moved, known = accepted
            steep = (here.flattest, here.steepest)
            if _converged(here) and not relaxed:
                return Answer(Outcome.CONVERGED, z, u, iteration, here.residual, steep)
            if moved < _STEP_TOLERANCE * (1.0 + here.size):
                outcome = Outcome.CONVERGED if here.satisfied else Outcome.INFEASIBLE
                return Answer(outcome, z, u, iteration, None, steep)
            step = known or self._next_function(step, u)()
        return Answer(Outcome.FAILED, z, u_kept, effort.iterations)

    def step(self, problem: Problem, lower: Floats, upper: Floats, z: Floats) -> Floats | None:
        """Return the shortest step (n,) to the linearised rows, None if there is none."""
        step = self._first_step(problem, lower, upper, z)
        return step.d if step.solved else None

    def _first_step(self, problem: Problem, lower: Floats, upper: Floats, z: Floats) -> Step:
        """Return the step from z without multipliers."""
        self._memory.load(problem, lower, upper)
        if self._set.is_linear:
            self._memory["z"][:] = z
        else:
            self._look(z, np.zeros(self._set.m))
        return self._straight()

    def _search(
        self, z: Floats, u: Floats, here: Look, step: Step, rho: float, only_full: bool = False
    ) -> tuple[Floats, Look, float, Step | None] | None:
        """Backtrack on the l1 merit function; second-order correction at the full step.

        Returns the accepted point, the look at it, which is the last one, how far the point has
        moved, and the next step if it is known already.
        """
        merit = here.half_squared + rho * here.violation
        promised = max(-step.slope + rho * here.violation, 0.0)
        slack = 1e-12 * (1.0 + abs(merit)) if math.isfinite(merit) else 0.0

        def accept(there: Look, t: float) -> bool:
            value = there.half_squared + rho * there.violation
            if not math.isfinite(merit):
                return math.isfinite(value)
            return value <= merit - _ARMIJO * t * promised + slack

        after = np.zeros_like(u) if step.relaxed else step.u
        look = self._look_ahead if self._reflects(step) else self._look_only
        trial = z + step.d
        there, following = look(trial, after)
        if accept(there, 1.0):
            return trial, there, step.longest, following
        if only_full:
            return None
        undefined = not math.isfinite(there.violation)
        if undefined:
            self._hopeless += 1
        elif not step.relaxed:
            bend = there.c - here.c - step.Ad
            corrected = self._corrected(z, u, step, bend)
            if corrected.solved:
                curved = z + corrected.d
                at_curve, following = look(curved, after)
                if accept(at_curve, 1.0):
                    return curved, at_curve, corrected.longest, following
        for t in (_ALMOST, *_SHRINK) if undefined else _SHRINK:
            trial = z + t * step.d
            there, following = look(trial, after)
            if accept(there, t):
                return trial, there, t * step.longest, following
        return None

    def _look_only(self, z: Floats, u: Floats) -> tuple[Look, None]:
        return self._look(z, u), None

    def _look_ahead(self, z: Floats, u: Floats) -> tuple[Look, Step]:
        """Look at a point and take the next step, with reflected eigenvalues.

        If they cannot be computed, the point is judged by the last one where they could be.
        """
        there, step = self._look(z, u), self._function("reflected")()
        if step.computed:
            self._last_reflected = there
        return self._last_reflected, step

    def _corrected(self, z: Floats, u: Floats, step: Step, bend: Floats) -> Step:
        """Return the step from z again, with the linearised rows moved by what they bend (m,)."""
        here = self._look(z, u)
        if not step.reflected:
            return self._convex("plain", u)(shift=bend)
        corrected = self._function("reflected")(shift=bend)
        if corrected.computed:
            self._last_reflected = here
        return corrected

    def _reflects(self, step: Step) -> bool:
        """Whether the next step is computed with reflected eigenvalues."""
        return self._indefinite and not step.longest < _NEAR

    def _next_function(self, step: Step, u: Floats) -> StepFunction:
        """Choose the step function for the end of a step: near a solution trust its rows."""
        if self._reflects(step):
            return self._function("reflected")
        return self._convex("augmented" if step.longest < _NEAR else "plain", u)

    def _convex(self, kind: Kind, u: Floats) -> StepFunction:
        """Return the step function of a kind, or the same without curvature if u has none."""
        curved = u[self._set.m - self._set.n_nonlinear :].any()
        return self._function(kind) if curved else self._straight

    def _harder_step(
        self, z: Floats, u: Floats, here: Look, step: Step, relax: bool
    ) -> tuple[Look, Step]:
        """Make the quadratic model convex; if the rows are inconsistent too, relax them.

        Without multipliers the model is convex already. Those of relaxed rows are prices, not
        curvature weights: they are not kept.
        """
        if np.any(u):
            here, step = self._look_ahead(z, u)
            if step.solved:
                self._indefinite = True
                return here, step
        if not relax:
            return here, step
        price = _PRICE * (1.0 + float(np.abs(z).max()))
        here = self._look(z, np.zeros_like(u))
        return here, self._function("elastic")(price=price)

    def _function(self, kind: Kind) -> StepFunction:
        """Return a step function, compiled on first use."""
        if kind not in self._steps:
            self._steps[kind] = StepFunction(self._set, self._memory, kind)
        return self._steps[kind]


def _converged(here: Look) -> bool:
    """Whether the point of the look solves the problem."""
    return here.satisfied and here.residual <= _TOLERANCE * (1.0 + here.size)
