r"""Rows as functions g(x) <= 0, one for each limit, as penalty and ranking methods want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet


@dataclass(frozen=True, eq=False)
class Sides:
    """The finite limits of all rows: ``sign`` (m_s,) is 1 for upper and -1 for lower limits."""

    feasible_set: FeasibleSet
    row: Integers
    sign: Floats
    limit: Floats

    @classmethod
    def of(cls, feasible_set: FeasibleSet) -> Sides:
        """List lower limits, then upper limits."""
        fs = feasible_set
        low, high = np.flatnonzero(np.isfinite(fs.lower)), np.flatnonzero(np.isfinite(fs.upper))
        return cls(
            fs,
            np.concatenate((low, high)),
            np.concatenate((-np.ones(len(low)), np.ones(len(high)))),
            np.concatenate((fs.lower[low], fs.upper[high])),
        )

    def values(self, points: Floats) -> Floats:
        """Return g (k, m_s) at points (k, n); NaN where a row is undefined."""
        rows = np.array([self.feasible_set.values(x) for x in points]).reshape(len(points), -1)
        return self.sign * (rows[:, self.row] - self.limit)

    def violations(self, points: Floats) -> Floats:
        """Return max(g, 0), shape (k, m_s); infinite where a row is undefined."""
        g = self.values(points)
        return np.where(np.isnan(g), np.inf, np.maximum(g, 0.0))
