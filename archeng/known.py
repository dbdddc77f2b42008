"""`Known`: what the simulator has said so far, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        """Return the last k > 0 of them."""
        return Known(self.points[-k:], self.objectives[-k:])

    def and_pending(self, x: Floats) -> Known:
        """Return them and a design (n,) whose objective is not known yet."""
        return Known(np.concatenate((self.points, x[None])), np.append(self.objectives, np.nan))

    def last_and(self, position: int, k: int) -> Known:
        """Return the last k > 0 of them, and the one at a position, first if it is older."""
        recent = self.last(k)
        if position >= len(self) - len(recent):
            return recent
        one = slice(position, position + 1)
        return Known(
            np.concatenate((self.points[one], recent.points)),
            np.concatenate((self.objectives[one], recent.objectives)),
        )
