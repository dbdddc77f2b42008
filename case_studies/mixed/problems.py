"""CEC 2006 problems with half of their constraints as simulated ones.

Every second constraint, in the order of the report, is not part of the model: the simulator
returns its value. An equality among them becomes a band of the report's tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from numpy.typing import ArrayLike

import archeng
from case_studies.cec2006 import EQUALITY_TOLERANCE, add_constraint, constraints, problem

NAMES = ("g01", "g04", "g05", "g06", "g07", "g08", "g09", "g10", "g16", "g18", "g19", "g24")
Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Simulator:
    """Objective of a problem, and the constraints that its model does not have."""

    problem: str
    rows: tuple[str, ...]

    def __call__(self, design: archeng.Design) -> archeng.Evaluation:
        """Simulate a design."""
        values = constraints(self.problem, design.x)
        return archeng.Evaluation(
            _objective(self.problem)(design.x),
            constraints={row: float(values[row]) for row in self.rows},
        )


@cache
def _objective(name: str) -> Callable[[ArrayLike], float]:
    return problem(name).objective


def half_simulated(name: str) -> tuple[archeng.Model, Simulator, dict[str, Limits]]:
    """Return the model with every second constraint, the simulator, and its limits.

    Examples
    --------
    >>> model, simulator, limits = half_simulated("g06")
    >>> limits
    {'g2': (None, 0.0)}
    """
    whole = problem(name)
    model = archeng.Model(f"{name}, half simulated")
    x = model.variable("x", shape=len(whole.lower), lower=whole.lower, upper=whole.upper)
    rows = constraints(name, x)
    hidden = tuple(rows)[1::2]
    for row, expression in rows.items():
        if row not in hidden:
            add_constraint(model, name, row, expression)
    return model, Simulator(name, hidden), {row: _limits(row) for row in hidden}


def _limits(row: str) -> Limits:
    if row.startswith("h"):
        return -EQUALITY_TOLERANCE, EQUALITY_TOLERANCE
    return None, 0.0
