"""Points of a set with discrete variables: samples of all levels, and how different points are.

Notation: n free variables, d of them discrete, k points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.lattice import Lattice

_WIDTH = 5.0  # distance between the ends of the levels of a variable, and between two categories


def latin_points(fs: FeasibleSet, lattice: Lattice, k: int, rng: np.random.Generator) -> Floats:
    """Return points (k, n), with each level of each discrete variable as often as the others.

    Real variables are stratified between their bounds, or normal around their start.
    """
    low, high = fs.bounds
    u = np.column_stack([(rng.permutation(k) + rng.random(k)) / k for _ in range(fs.n)])
    z = rng.standard_normal((k, fs.n))
    with np.errstate(invalid="ignore", over="ignore"):
        points = np.where(fs.boxed, low + u * (high - low), fs.start + fs.scale * z)
    points = np.clip(points, low, high)
    for i, levels in zip(lattice.positions, lattice.levels, strict=True):
        points[:, i] = levels[np.minimum((u[:, i] * len(levels)).astype(int), len(levels) - 1)]
    return points


def part_of_list(lattice: Lattice, j: int, numbers: Integers, k: int) -> Integers:
    """Return to which part of the list of the j-th discrete variable its levels belong.

    ``numbers`` are those of the levels. An ordered list of more than k levels has k parts; else
    each level is one.
    """
    count = len(lattice.levels[j])
    return numbers * min(count, k) // count if lattice.ordered[j] else numbers


def combined(lattice: Lattice, a: Floats, b: Floats, t: float, rng: np.random.Generator) -> Floats:
    """Return a + t (b - a); each category is that of one of the two points (n,)."""
    between = a + t * (b - a)
    categories = lattice.categories
    either = rng.random(len(categories)) < t
    between[categories] = np.where(either, b[categories], a[categories])
    return np.asarray(between, dtype=float)


def on_lattice(lattice: Lattice, points: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether all discrete coordinates of each of the points (k, n) are at levels, exactly."""
    return np.asarray((lattice.decode(points) == points).all(axis=-1))


@dataclass(frozen=True, eq=False)
class Differences:
    """How different points are.

    Real variables in their deviations; ordered levels by their number, the ends of a list being as
    far apart as two bounds; categories are the same, or as different as that.
    """

    numeric: Floats  # (k, p)
    categories: Integers  # (k, c)

    @classmethod
    def of_levels(cls, lattice: Lattice, indices: Integers) -> Differences:
        """Of numbers of levels (k, d)."""
        steps = np.array([_WIDTH / (len(levels) - 1) for levels in lattice.levels])
        return cls((indices * steps)[:, lattice.ordered], indices[:, ~lattice.ordered])

    @classmethod
    def of_points(cls, fs: FeasibleSet, lattice: Lattice, points: Floats) -> Differences:
        """Of points (k, n)."""
        levels = cls.of_levels(lattice, lattice.indices(points))
        real = points[:, lattice.continuous] / fs.scale[lattice.continuous]
        return cls(np.concatenate((real, levels.numeric), axis=1), levels.categories)

    def from_one(self, i: int) -> Floats:
        """Distances (k,) of all points from one of them."""
        squares = np.sum((self.numeric - self.numeric[i]) ** 2, axis=1)
        other = np.sum(self.categories != self.categories[i], axis=1)
        return np.asarray(np.sqrt(squares + _WIDTH**2 * other))

    def farthest(self, k: int, first: int) -> list[int]:
        """Choose up to k points from the first one on, each as far as possible from those before.

        No two are the same.
        """
        chosen, nearest = [first], self.from_one(first)
        while len(chosen) < k and nearest.max() > 0:
            chosen.append(int(np.argmax(nearest)))
            nearest = np.minimum(nearest, self.from_one(chosen[-1]))
        return chosen
