"""Increasing transforms of the objective before a model is fitted.

Objectives are first normalised: 0 is the best of the designs at hand, 1 their median. A log
compresses high values, which a model near the best design need not reproduce. Which transform is
best is decided together with the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats

_WIDE = 3.0  # transforms are tried only if the worst design is this far above the median


@dataclass(frozen=True)
class Transform:
    """y -> log(1 + steepness y), or y itself if steepness is 0."""

    steepness: float

    def apply(self, y: Floats) -> Floats:
        """Transform normalised objectives; below 0 it goes on as a straight line."""
        k = self.steepness
        return np.where(y > 0, np.log1p(k * np.maximum(y, 0)), k * y) if k else y

    def log_slope(self, y: Floats) -> Floats:
        """Logarithm of the derivative at normalised objectives."""
        k = self.steepness
        return np.log(k) - np.log1p(k * np.maximum(y, 0)) if k else np.zeros_like(y)


IDENTITY = Transform(0.0)
TRANSFORMS = (IDENTITY, Transform(1.0), Transform(10.0), Transform(1e3), Transform(1e6))


def transforms_for(y: Floats) -> tuple[Transform, ...]:
    """Return the transforms worth trying on normalised objectives (p,)."""
    return TRANSFORMS if float(y.max()) > _WIDE else (IDENTITY,)
