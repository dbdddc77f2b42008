"""One run of one method: who may call the simulator how often, and who judges it.

A call is one simulation; it gives all outputs, so objective and simulated constraints of one
design cost one call together, whoever asks. Peers that ask for a design again get the old answer
for nothing. Explicit constraints are free.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import archeng
from archeng import Design
from case_studies.greybox.definition import Floats, Outputs, Plain, Problem
from case_studies.peers.case import Case
from case_studies.peers.constraints import SLACK, Constraints, compiled
from case_studies.peers.recorder import Recorder
from case_studies.shared.referee import exceeded

SIMULATED_SLACK = 1e-6
"""How far outside a simulated limit a design may be and still reach the target, relative to it.

The same for all methods. Of explicit constraints it is that of the peers, 1e-8.
"""

STEP = 1e-7
"""Of finite differences, relative to the box."""


class Measured:
    """The simulator of a problem as a method sees it.

    Parameters
    ----------
    problem : Problem
    budget : int
        Most calls.
    seconds : float
        Most processor time of the run.

    Attributes
    ----------
    recorder : Recorder
        Calls, best objective, why the run ended. It raises `Finished` when it is over.
    illegal : int
        Calls at designs that violate an explicit constraint or a bound by more than rounding,
        judged in plain NumPy.
    """

    def __init__(self, problem: Problem, budget: int, seconds: float = math.inf) -> None:
        self.problem, self.illegal = problem, 0
        self.recorder = Recorder(
            self._objective,
            lambda x: self._acceptable,
            target=problem.target,
            budget=budget,
            seconds=seconds,
        )
        self._last: tuple[Outputs, Plain] | Exception | None = None
        self._acceptable = False
        self._memory: dict[bytes, tuple[Outputs, Plain] | Exception] = {}

    def call(self, x: Floats) -> tuple[Outputs, Plain]:
        """Simulate a design (n,); the exceptions of the simulator come through."""
        self.recorder(x)
        assert self._last is not None
        if isinstance(self._last, Exception):
            raise self._last
        return self._last

    def look_up(self, x: Floats) -> tuple[Outputs, Plain]:
        """Return the same, for nothing if the design has been simulated before."""
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self._memory:
            try:
                self._memory[key] = self.call(x)
            except Exception as error:
                self._memory[key] = error
        found = self._memory[key]
        if isinstance(found, Exception):
            raise found
        return found

    def grey(self, design: Design) -> Outputs:
        """Return the outputs: what archeng gets with the formulas in the model."""
        return self.call(design.x)[0]

    def black(self, design: Design) -> archeng.Evaluation:
        """Return objective and constraints only: what archeng gets without them."""
        plain = self.call(design.x)[1]
        rows = {name: value for name, (value, _, _) in plain.simulated.items()}
        return archeng.Evaluation(plain.objective, constraints=rows)

    def _objective(self, x: Floats) -> float:
        self._acceptable = False
        box = self.problem.box(x)
        try:
            self._last = self.problem.at(x)
        except Exception as error:
            self.illegal += bool(exceeded(box))
            self._last = error
            raise
        plain = self._last[1]
        explicit = box | plain.explicit
        self.illegal += bool(exceeded(explicit))
        self._acceptable = not (
            exceeded(explicit, SLACK) or exceeded(plain.simulated, SIMULATED_SLACK)
        )
        return plain.objective


@dataclass(frozen=True, eq=False)
class Trial(Case):
    """What a method gets: a case of the peers with the simulator and its problem.

    Attributes
    ----------
    problem : Problem
    measured : Measured
    """

    problem: Problem
    measured: Measured

    def starts(self) -> Iterator[Floats]:
        """Yield the start, then other feasible designs until the run is over."""
        yield self.start.copy()
        while True:
            self.objective.tick()
            yield feasible(self.problem, self.new_seed())

    def total(self, x: Floats) -> Floats:
        """Objective and simulated constraints (1 + m,) at a design (n,)."""
        _, plain = self.measured.look_up(x)
        return np.array([plain.objective, *(value for value, _, _ in plain.simulated.values())])

    def slopes(self, u: Floats) -> Floats:
        """Differences (1 + m, n) of them at a point of the unit cube; n calls, and one for it."""
        here, columns = self.total(self.from_unit(u)), []
        for i in range(self.n):
            step = STEP if u[i] + STEP <= 1.0 else -STEP
            moved = u.copy()
            moved[i] += step
            columns.append((self.total(self.from_unit(moved)) - here) / step)
        # In C order: SLSQP of SciPy 1.17 misreads gradients that are columns of another array.
        return np.ascontiguousarray(np.array(columns).T)

    def limits(self) -> tuple[Floats, Floats, Floats]:
        """Lower and upper limits (m,) of the simulated constraints, and their sizes (m,).

        The size is that of the limit or of the value at the start, whichever is larger.
        """
        _, plain = self.measured.look_up(self.start)
        rows = np.array(list(plain.simulated.values())).reshape(-1, 3)
        sizes = np.abs(np.where(np.isfinite(rows), rows, 0.0)).max(axis=1, initial=0.0)
        return rows[:, 1], rows[:, 2], np.where(sizes > 0, sizes, 1.0)


def make_trial(problem: Problem, seed: int, budget: int, seconds: float = math.inf) -> Trial:
    """Return what a method gets; the start depends on problem and seed only.

    Variables must be free (no equal bounds) and have two bounds.
    """
    fs = compiled(problem.black)
    measured = Measured(problem, budget, seconds)
    return Trial(
        model=problem.black,
        feasible_set=fs,
        constraints=Constraints(fs, measured.recorder.tick),
        objective=measured.recorder,
        start=feasible(problem, seed),
        rng=np.random.default_rng(seed),
        seed=seed,
        problem=problem,
        measured=measured,
    )


def feasible(problem: Problem, seed: int) -> Floats:
    """Return a design (n,) that satisfies the explicit constraints."""
    found: Floats = archeng.sample_feasible(problem.black, 1, seed=seed).x[0]
    return found
