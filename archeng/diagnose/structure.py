"""What the structure of a model says: degrees of freedom, variables that nothing limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.diagnose.oracle import HOLDS, Oracle
from archeng.diagnose.system import Bools, Kind, Limit, System
from archeng.model.variable import Floats

_DEPENDENT = 1e-8  # an equality whose gradient is this near to those of the others
_FAR = 1e4  # how many scales away a variable must get to count as unlimited


@dataclass(frozen=True)
class Freedom:
    """Free variables less independent equalities, and the equalities that depend on others."""

    variables: int
    equalities: int
    independent: int
    dependent: tuple[int, ...]

    @property
    def degrees(self) -> int:
        """Degrees of freedom that the equalities leave."""
        return self.variables - self.independent


def freedom(system: System, point: Floats, free: Sequence[int]) -> Freedom:
    """Count the degrees of freedom of the free variables at a point, in scaled gradients."""
    rows = [j for j in range(system.m) if system.quantities[j].equality]
    if not rows or not free:
        return Freedom(len(free), len(rows), 0, tuple(rows))
    jacobian = np.asarray(system.jacobian(point).full(), dtype=float)
    gradients = (jacobian[rows] * system.scale)[:, list(free)]
    gradients = np.where(np.isfinite(gradients), gradients, 0.0)
    basis = np.zeros((0, len(free)))
    dependent = []
    for row, gradient in zip(rows, gradients, strict=True):
        length = np.linalg.norm(gradient)
        unit = gradient / length if length > 0 else gradient
        for _ in range(2):  # twice, for rounding errors
            unit = unit - (basis @ unit) @ basis
        left = np.linalg.norm(unit)
        if left > _DEPENDENT:
            basis = np.vstack((basis, unit / left))
        else:
            dependent.append(row)
    return Freedom(len(free), len(rows), len(basis), tuple(dependent))


def unlimited(oracle: Oracle, points: Floats) -> list[tuple[int, int, bool]]:
    """Variables that can go to infinity: (variable, direction, occurs in a row).

    Parameters
    ----------
    oracle : Oracle
    points : ndarray, shape (k, n)
        Feasible points, possibly none.
    """
    system = oracle.system
    occurs = {i for j in range(system.m) for i in system.quantities[j].variables}
    found = []
    for i in range(system.n):
        for side, bound in ((-1, system.lower[i]), (1, system.upper[i])):
            if np.isfinite(bound):
                continue
            if i not in occurs:
                found.append((i, side, False))
            elif len(points) and _escapes(oracle, i, side, points[0]):
                found.append((i, side, True))
    return found


def _escapes(oracle: Oracle, i: int, side: int, point: Floats) -> bool:
    """Whether all limits hold at a point where the variable is very far out."""
    system = oracle.system
    quantity = system.m + i
    most = oracle.linear.extreme(oracle.everything, quantity, side)
    if np.isfinite(most):
        return False
    if oracle.linear.usable.all():
        return bool(np.isinf(most))
    goal = point[i] + side * _FAR * system.scale[i]
    limits = [*system.limits, Limit(quantity, -side, float(goal), Kind.BOUND)]
    moved = point.copy()
    moved[i] = goal
    return oracle.reaches(limits, (moved, point))


def at_limit(excess: Floats, tolerance: float = 1e-6) -> Bools:
    """Which limits (k, limits) are reached, in sizes of their quantities."""
    return np.asarray(excess >= -max(tolerance, HOLDS), dtype=bool)
