"""`Lattice`: which of the free coordinates are discrete, their levels, and the cells around them.

A **cell** is the set of points that are rounded to the same levels. Cells end half-way between
neighbouring levels; a point on such an end belongs to the upper one. The outermost cells go on to
infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Discrete coordinates among n free ones.

    Attributes
    ----------
    n : int
        Number of free coordinates.
    positions : ndarray of int, shape (d,)
        Those that are discrete.
    levels : tuple of ndarray
        The ascending numbers that each of them may take, at least two.
    ordered : ndarray of bool, shape (d,)
        Whether near levels are alike; False for categories.
    """

    n: int
    positions: Integers
    levels: tuple[Floats, ...]
    ordered: NDArray[np.bool_]

    @cached_property
    def ends(self) -> tuple[Floats, ...]:
        """Ends of the cells of each discrete coordinate, half-way between its levels."""
        return tuple((levels[1:] + levels[:-1]) / 2 for levels in self.levels)

    @cached_property
    def continuous(self) -> Integers:
        """Positions of the real coordinates."""
        return np.setdiff1d(np.arange(self.n), self.positions)

    @cached_property
    def categories(self) -> Integers:
        """Positions of the coordinates without an order."""
        return np.asarray(self.positions[~self.ordered])

    @cached_property
    def numeric(self) -> Integers:
        """Positions of all other coordinates, real or discrete."""
        return np.setdiff1d(np.arange(self.n), self.categories)

    @cached_property
    def count(self) -> float:
        """Number of combinations of levels."""
        return float(np.prod([float(len(levels)) for levels in self.levels]))

    def indices(self, x: Floats) -> Integers:
        """Return the numbers (..., d) of the levels to which points (..., n) are rounded."""
        found = [
            np.searchsorted(ends, x[..., i], side="right")
            for i, ends in zip(self.positions, self.ends, strict=True)
        ]
        return np.stack(found, axis=-1).astype(np.intp)

    def at(self, indices: Sequence[int] | Integers, x: Floats) -> Floats:
        """Return x (n,) with its discrete coordinates at chosen levels (d,)."""
        y = np.array(x, dtype=float)
        for i, levels, k in zip(self.positions, self.levels, indices, strict=True):
            y[i] = levels[k]
        return y

    def decode(self, x: Floats) -> Floats:
        """Return points (..., n) with each discrete coordinate at the level of its cell."""
        y = np.array(x, dtype=float)
        for i, levels, ends in zip(self.positions, self.levels, self.ends, strict=True):
            y[..., i] = levels[np.searchsorted(ends, y[..., i], side="right")]
        return y

    def cell(self, indices: Sequence[int] | Integers) -> tuple[Floats, Floats]:
        """Return lower and upper ends (d,) of a cell, infinite for the outermost ones."""
        low, high = np.full(len(self.levels), -np.inf), np.full(len(self.levels), np.inf)
        for j, (ends, k) in enumerate(zip(self.ends, indices, strict=True)):
            low[j] = ends[k - 1] if k > 0 else -np.inf
            high[j] = ends[k] if k < len(ends) else np.inf
        return low, high

    def distances(self, x: Floats) -> Floats:
        """Return how far (d,) the discrete coordinates of x (n,) are from their levels."""
        return np.abs(x - self.decode(x))[self.positions]

    def contains(self, x: Floats) -> bool:
        """Whether all discrete coordinates of x (n,) are at levels, exactly."""
        return bool((self.decode(x) == x).all())

    def key(self, x: Floats) -> tuple[int, ...]:
        """Return the numbers of the levels of x (n,) as something to look up by."""
        return tuple(self.indices(x).tolist())
