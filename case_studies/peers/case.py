"""`Case`: what an adapter gets for one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from archeng.model import FeasibleSet, Model
from case_studies.peers.constraints import Constraints
from case_studies.peers.recorder import Floats, Recorder


@dataclass(frozen=True, eq=False)
class Case:
    """One run of one method.

    Attributes
    ----------
    model : archeng.model.Model
        Variables and explicit constraints, for archeng.
    feasible_set : FeasibleSet
        The same, compiled.
    constraints : Constraints
        The same, for everybody else. Evaluations are free; they watch the clock.
    objective : Recorder
        The black box, a function of x (n,). It raises `Finished` when the run is over.
    start : ndarray, shape (n,)
        Uniform in the box, the same for all methods.
    rng : numpy.random.Generator
        For further starts and whatever else is random in an adapter.
    seed : int
        For methods that want a number.
    """

    model: Model
    feasible_set: FeasibleSet
    constraints: Constraints
    objective: Recorder
    start: Floats
    rng: np.random.Generator
    seed: int

    @property
    def n(self) -> int:
        """Return the number of free variables."""
        return len(self.start)

    @property
    def lower(self) -> Floats:
        """Return the lower bounds (n,)."""
        return self.constraints.lower

    @property
    def upper(self) -> Floats:
        """Return the upper bounds (n,)."""
        return self.constraints.upper

    @property
    def width(self) -> Floats:
        """Return the widths (n,) of the box."""
        return self.upper - self.lower

    def starts(self) -> Iterator[Floats]:
        """Yield the start, then uniform points of the box until the run is over."""
        x = self.start
        while True:
            yield x.copy()
            self.objective.tick()
            x = self.rng.uniform(self.lower, self.upper)

    def new_seed(self) -> int:
        """Return a seed for the next restart of a method."""
        return int(self.rng.integers(1, 2**31 - 1))

    def from_unit(self, u: Floats) -> Floats:
        """Design (n,) of a point of the unit cube; never outside of the box by rounding."""
        x = self.lower + np.asarray(u, dtype=float) * self.width
        return np.where((x < self.lower) | (x > self.upper), self._snapped(x), x)

    def to_unit(self, x: Floats) -> Floats:
        """Point (n,) of the unit cube of a design."""
        return (x - self.lower) / self.width

    def _snapped(self, x: Floats) -> Floats:
        """Move what is outside by rounding only onto the bound."""
        near = 4 * np.finfo(float).eps * (np.abs(x) + self.width)
        inside = np.clip(x, self.lower, self.upper)
        return np.where(np.abs(x - inside) <= near, inside, x)
