"""One run of one method: the black box with its counter, and the free constraints beside it.

Other methods work in *coordinates*: a real variable is itself, a discrete one is the number of its
level, from 0. Every call is judged in plain NumPy: is each value on its list, are all limits met?
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from case_studies.discrete.definition import Floats, Problem
from case_studies.peers.recorder import Recorder

TRIES = 5000
"""Random designs among which a start is looked for; they cost nothing but time."""

FAR = 1e12
"""Value of an infeasible design for methods without constraints, before its violation."""


class Measured(Recorder):
    """The black box: a function of coordinates; archeng gives flat vectors to `design`."""

    def __init__(self, problem: Problem, budget: int, seconds: float) -> None:
        super().__init__(
            problem.objective, problem.legal, target=problem.target, budget=budget, seconds=seconds
        )
        self._problem = problem

    def __call__(self, x: ArrayLike) -> float:
        """Simulate the design of coordinates (n,)."""
        return self.design(self.decode(np.asarray(x, dtype=float)))

    def design(self, x: Floats) -> float:
        """Simulate a flat vector (n,)."""
        return super().__call__(x)

    def decode(self, u: Floats) -> Floats:
        """Return the flat vector (n,) of coordinates: rounded to levels, within the bounds."""
        x = np.empty(len(u))
        for i, (values, v) in enumerate(zip(self._problem.space, u, strict=True)):
            if values.levels is None:
                x[i] = min(max(v, values.lower), values.upper)
            else:
                x[i] = values.levels[min(max(round(float(v)), 0), len(values.levels) - 1)]
        return x


class Rows:
    """The explicit constraints in coordinates: one-sided rows (k,), at most 0 where they hold.

    They are divided by what is typical of random designs, because most methods add them up.
    """

    def __init__(self, problem: Problem, objective: Measured) -> None:
        self._problem, self._objective = problem, objective
        self.n_excess = len(problem.row_sizes)

    def excess(self, u: Floats) -> Floats:
        """Return the rows (k,)."""
        self._objective.tick()
        x = self._objective.decode(np.asarray(u, dtype=float))
        return self._problem.excess(x) / self._problem.row_sizes

    def violation(self, u: Floats) -> float:
        """Return the sum of what is violated."""
        return float(np.maximum(self.excess(u), 0.0).sum())


class Trial:
    """What a method gets.

    Parameters
    ----------
    problem : Problem
    seed, budget, seconds
        Of the run.

    Attributes
    ----------
    objective : Measured
        The black box in coordinates. It raises `Finished` when the run is over.
    constraints : Rows
        They are free, and watch the clock.
    lower, upper : ndarray of shape (n,)
        The box of the coordinates.
    discrete, unordered : ndarray of bool, shape (n,)
        Which coordinates are numbers of levels, and which of these have no order.
    rng : numpy.random.Generator
    """

    def __init__(self, problem: Problem, seed: int, budget: int, seconds: float) -> None:
        self.problem, self.seed = problem, seed
        self.rng = np.random.default_rng(seed)
        space = problem.space
        self.discrete = np.array([v.levels is not None for v in space])
        self.unordered = np.array([not v.ordered for v in space])
        self.lower = np.array([v.lower if v.levels is None else 0.0 for v in space])
        self.upper = np.array([v.upper if v.levels is None else len(v.levels) - 1.0 for v in space])
        self._sizes = problem.row_sizes  # before the clock starts
        self.objective = Measured(problem, budget, seconds)
        self.constraints = Rows(problem, self.objective)
        self._worst: float | None = None

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.lower)

    @property
    def width(self) -> Floats:
        """Widths (n,) of the box."""
        return self.upper - self.lower

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Number of levels (n,) of discrete coordinates, 0 for real ones."""
        return np.where(self.discrete, self.upper + 1, 0).astype(np.intp)

    def starts(self) -> Iterator[Floats]:
        """Yield feasible coordinates (n,), or the least infeasible ones of many, until the end."""
        while True:
            yield self.start()
            self.objective.tick()

    def start(self) -> Floats:
        """Return one of these."""
        best = (np.inf, self.lower)
        for _ in range(TRIES):
            u = self.rng.uniform(self.lower, self.upper)
            u = np.where(self.discrete, np.floor(self.rng.uniform(0, self.upper + 1)), u)
            violation = self.constraints.violation(u)
            if violation == 0.0:
                return u
            best = min(best, (violation, u), key=lambda pair: pair[0])
        return best[1]

    def new_seed(self) -> int:
        """Return a seed for the next restart of a method."""
        return int(self.rng.integers(1, 2**31 - 1))

    def far(self, u: Floats) -> float:
        """Call at feasible designs; else a value above all objectives, by violation."""
        violation = self.constraints.violation(u)
        return self.objective.finite(u) if violation == 0.0 else FAR * (1.0 + violation)

    def worse(self, u: Floats) -> float:
        """Call at feasible designs; else more than the worst of them so far, by violation.

        For methods that look at differences of values, which `far` would spoil.
        """
        violation = self.constraints.violation(u)
        if violation == 0.0:
            value = self.objective.finite(u)
            self._worst = value if self._worst is None else max(self._worst, value)
            return value
        worst = 0.0 if self._worst is None else self._worst
        return worst + (1.0 + abs(worst)) * violation
