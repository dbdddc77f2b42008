"""The problems, and what a noisy simulator says of their objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from archeng.model import FeasibleSet, compile_model
from case_studies import cec2006, engineering
from case_studies.peers.constraints import Constraints, within_slack
from case_studies.shared.suites import BoxProblem, Floats

LOOKED_AT = ("g04", "g06", "g07", "g09", "g10")
"""Problems that were looked at while the search under noise was built."""
HELD_OUT = ("g05", "g18", "welded_beam")
"""Problems that were kept aside."""
NAMES = (*LOOKED_AT, *HELD_OUT)
LEVELS = (1e-3, 1e-2, 5e-2)
"""Standard deviations of the noise, relative to the value, or to the optimum if additive."""
KINDS = ("additive", "multiplicative")


def problem(name: str) -> BoxProblem:
    """Return a problem by name."""
    return cec2006.problem(name) if name.startswith("g") else engineering.problem(name)


@dataclass(frozen=True, eq=False)
class Trial:
    """One run: a problem, the noise, and the start that all methods have."""

    problem: BoxProblem
    kind: str
    level: float
    seed: int
    budget: int

    @property
    def start(self) -> Floats:
        """Return the start (n,), uniform in the box."""
        rng = np.random.default_rng([self.seed, 7])
        return rng.uniform(self.problem.lower, self.problem.upper)

    def simulator(self) -> Callable[[Floats], float]:
        """Return the noisy objective of flat vectors; the noise comes from the seed of the run."""
        rng = np.random.default_rng([self.seed, 1])
        size = self.level * abs(self.problem.f_opt)

        def noisy(x: Floats) -> float:
            value, error = self.problem.objective(x), rng.standard_normal()
            if self.kind == "additive":
                return value + size * error
            return value * (1 + self.level * error)

        return noisy

    def gap(self, x: Floats | None) -> float:
        """Return the true value of a design above the optimum, relative to it.

        Infinite if there is no design, or it violates a constraint by more than peers may.
        """
        if x is None or not self.feasible(x):
            return float("inf")
        best = self.problem.f_opt
        return (self.problem.objective(x) - best) / abs(best)

    def feasible(self, x: Floats) -> bool:
        """Whether a design may be returned: rows as in case_studies/peers, bounds exactly."""
        inside = np.all(x >= self.problem.lower) and np.all(x <= self.problem.upper)
        return bool(inside) and self._holds(x)

    @cached_property
    def constraints(self) -> Constraints:
        """The constraints, as methods other than archeng get them."""
        return Constraints(self._set)

    @cached_property
    def _set(self) -> FeasibleSet:
        return compile_model(self.problem.model)

    @cached_property
    def _holds(self) -> Callable[[Floats], bool]:
        return within_slack(self._set)
