"""`Known`: what the simulator has said so far, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

from archeng.distribution import Floats


@dataclass(frozen=True, eq=False)
class Known:
    """Designs simulated so far, in the order of the calls.

    Attributes
    ----------
    points : ndarray, shape (k, n)
        Free variables.
    objectives : ndarray, shape (k,)
        To be minimised; NaN where the simulation failed or the design violates a constraint.
    """

    points: Floats
    objectives: Floats

    def __len__(self) -> int:
        return len(self.objectives)

    def last(self, k: int) -> Known:
        """Return the last k of them."""
        return Known(self.points[-k:], self.objectives[-k:])
