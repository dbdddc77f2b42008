"""The record of one repair: the point and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from archeng.distribution import Floats


class RepairKind(StrEnum):
    """Which problem the repaired point solves."""

    FEASIBLE = "feasible"  # the input was feasible and is returned bit for bit
    INTERSECTION = "intersection"  # [SA22 eq:intersection]
    NEAREST = "nearest"  # [SA22 eq:nearest]
    PROPOSED = "proposed"  # a feasible design proposed by a model of the objective
    FAILED = "failed"  # no feasible point was found
    UNREPAIRED = "unrepaired"  # infeasible as sampled, and no repair was asked for


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired point with its certificate.

    Attributes
    ----------
    kind : RepairKind
    x : ndarray, shape (n,)
        The repaired point; for ``FAILED`` the least violating one found.
    distance_squared : float
        Squared Mahalanobis distance to the input.
    max_violation : float
        Largest violation of any row at ``x``, in raw units; exactly 0 unless failed.
    kkt_residual : float
        Norm of the gradient of the Lagrangian at ``x`` relative to the repair distance, in
        whitened coordinates; 0 for a feasible input.
    active : tuple of int
        Rows whose limit is reached at ``x``.
    solver : str
        ``none``, ``qp``, ``sqp`` or ``ipopt``.
    iterations : int
        Iterations of all solvers tried.
    multipliers : tuple of float
        Of the active rows, in units of half the squared distance per unit of the row; empty if
        nothing was projected.
    """

    kind: RepairKind
    x: Floats
    distance_squared: float
    max_violation: float
    kkt_residual: float
    active: tuple[int, ...]
    solver: str
    iterations: int
    multipliers: tuple[float, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether the point satisfies every row exactly."""
        return self.kind not in (RepairKind.FAILED, RepairKind.UNREPAIRED)
