"""Plain records of what happened: one per simulator call, one per generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """One simulator call with the certificate of the repair that led to it.

    Attributes
    ----------
    index : int
        Number of the call, from 0.
    x : ndarray
        The full vector that was simulated.
    objective : float
        As the simulator returned it; NaN if the call did not end well.
    status : str
        ``ok``, ``failed``, ``invalid``, ``timed_out``, ``lost``, or ``reused`` (not simulated: the
        objective comes from an earlier run).
    max_violation : float
        Largest violation of an explicit constraint at ``x``, evaluated by the gate: 0, unless
        the handler simulates infeasible designs and was allowed to.
    sampled : ndarray
        The candidate that CMA-ES drew, before the repair.
    repair_kind, repair_solver : str
    repair_iterations : int
    repair_distance_squared, kkt_residual : float
    seconds : float
        Time in the simulator.
    message : str
        Traceback or reason if the call did not end well.
    attempts : int
        How often the design was simulated, retries included.
    """

    index: int
    generation: int
    restart: int
    x: Floats
    objective: float
    status: str
    max_violation: float
    sampled: Floats
    repair_kind: str
    repair_solver: str
    repair_iterations: int
    repair_distance_squared: float
    kkt_residual: float
    seconds: float
    message: str = ""
    attempts: int = 1

    @property
    def good(self) -> bool:
        """Whether there is an objective."""
        return self.status in ("ok", "reused")

    @property
    def feasible(self) -> bool:
        """Whether every explicit constraint holds."""
        return self.max_violation == 0


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation. Times are seconds; ``best`` is the best objective so far."""

    generation: int
    restart: int
    population_size: int
    evaluations: int
    best: float
    best_in_generation: float
    sigma: float
    alpha: float
    d_m: float
    condition: float
    n_active: int
    repairs: dict[str, int] = field(default_factory=dict)
    repair_seconds: float = 0.0
    simulator_seconds: float = 0.0
    strategy_seconds: float = 0.0


@dataclass(frozen=True)
class RowAtBest:
    """An explicit constraint at the best design."""

    name: str
    kind: str
    value: float
    lower: float
    upper: float
    active: bool
    source: str = ""


@dataclass(frozen=True)
class VariableAtBest:
    """A scalar variable at the best design."""

    name: str
    value: float
    lower: float
    upper: float
    unit: str


def column_names(reserved: Sequence[str], variables: Sequence[str]) -> list[str]:
    """Names of variables as columns beside others; ``design.`` in front where they clash."""
    return [f"design.{name}" if name in reserved else name for name in variables]
