"""Neighbours of a design on the lattice: which levels change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.model import Lattice
from archeng.surrogate.mixed import constants as c


def neighbours(lattice: Lattice, x: Floats) -> Floats:
    """Return the designs (k, n) next to x (n,): one level up or down, or another category.

    And with two such changes at once, unless these are too many. These are what a claim of
    convergence is about.
    """
    here = lattice.indices(x)
    single = _changed(lattice, x, ([move] for move in _steps(lattice, here)))
    pairs = _pairs(lattice, here)
    if len(pairs) > c.PAIRS_CLAIMED:
        return single
    return np.concatenate((single, _changed(lattice, x, iter(pairs))))


def single_moves(lattice: Lattice, x: Floats) -> Floats:
    """Return designs (k, n) with one coordinate at another level, near ones first of long lists."""
    here = lattice.indices(x)
    return _changed(lattice, x, ([move] for move in _jumps(lattice, here)))


def pair_moves(lattice: Lattice, x: Floats) -> Floats:
    """Return designs (k, n) with two coordinates one level up or down, or another category."""
    pairs = _pairs(lattice, lattice.indices(x))
    return _changed(lattice, x, iter(pairs[: c.PAIR_MOVES]))


def kicked(lattice: Lattice, x: Floats, rng: np.random.Generator) -> Floats:
    """Return a design with a few levels changed at random."""
    here, d = lattice.indices(x), len(lattice.positions)
    for j in rng.choice(d, size=min(c.KICKED, d), replace=False):
        here[j] = rng.integers(len(lattice.levels[j]))
    return lattice.at(here, x)


def _steps(lattice: Lattice, here: Integers) -> Iterator[tuple[int, int]]:
    """Yield coordinates and their new levels: next ones in order, all others of a category."""
    for j, levels in enumerate(lattice.levels):
        if not lattice.ordered[j]:
            yield from ((j, k) for k in range(len(levels)) if k != here[j])
            continue
        yield from ((j, int(k)) for k in (here[j] - 1, here[j] + 1) if 0 <= k < len(levels))


def _pairs(lattice: Lattice, here: Integers) -> list[list[tuple[int, int]]]:
    steps = itertools.combinations(_steps(lattice, here), 2)
    return [[a, b] for a, b in steps if a[0] != b[0]]


def _jumps(lattice: Lattice, here: Integers) -> Iterator[tuple[int, int]]:
    """Yield coordinates and their new levels, all of them but for those far off in long lists."""
    share = max(c.MOVES // len(lattice.levels), 2)
    for j, levels in enumerate(lattice.levels):
        first, last = (here[j] - share, here[j] + share) if lattice.ordered[j] else (0, len(levels))
        near = range(max(int(first), 0), min(int(last) + 1, len(levels)))  # lists may be very long
        others = [k for k in near if k != here[j]]
        if lattice.ordered[j]:
            others.sort(key=lambda k: abs(k - here[j]))
        yield from ((j, k) for k in others[:share])


def _changed(lattice: Lattice, x: Floats, moves: Iterator[list[tuple[int, int]]]) -> Floats:
    designs = []
    for changes in moves:
        y = np.array(x, dtype=float)
        for j, k in changes:
            y[lattice.positions[j]] = lattice.levels[j][k]
        designs.append(y)
    return np.array(designs).reshape(len(designs), len(x))
