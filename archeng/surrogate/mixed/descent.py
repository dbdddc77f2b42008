"""The best design by the models, over the exact mixed feasible set.

A search over the lattice: from a few designs, and from the relaxation rounded, it goes to better
neighbours until there is none. Each point of the lattice stands for the best real coordinates there
(:mod:`archeng.surrogate.mixed.fibres`). Which neighbours are worth such a search is said by the
Lagrange function with the multipliers of the present one: in a convex problem it is a lower bound
[G72].

[G72] A. M. Geoffrion, Generalized Benders decomposition, Journal of Optimization Theory and
Applications 10, 237-260, 1972, doi:10.1007/BF00934810.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.fibres import PRECISE, Fibres, Found
from archeng.surrogate.mixed.fitted import MixedModels
from archeng.surrogate.mixed.moves import kicked, pair_moves, single_moves


class Descent:
    """Searches of one set of models, within a radius of the best design.

    Points of the lattice are solved once and remembered.
    """

    def __init__(
        self, fs: FeasibleSet, wide: Distribution, models: MixedModels, radius: float = np.inf
    ) -> None:
        assert fs.lattice is not None
        self._lattice, self.fibres = fs.lattice, Fibres(fs, wide, models, radius)
        self._solved: dict[bytes, Found] = {}
        self._exact = not len(fs.lattice.continuous)

    def at(self, x: Floats) -> Found:
        """Return the best design with the levels of x (n,)."""
        (key,) = self._keys(x[None])
        if key not in self._solved:
            self._solved[key] = self.fibres.solve(x)
        return self._solved[key]

    def _keys(self, X: Floats) -> list[bytes]:
        """Return what designs (k, n) with the same levels have in common."""
        return [levels.tobytes() for levels in X[:, self._lattice.positions]]

    def relaxed(self, x: Floats) -> Floats:
        """Return the best design with real numbers for all but categories, rounded to levels."""
        found = self.fibres.solve(x, self._lattice.numeric)
        return self._lattice.decode(found.x)

    def down(self, x: Floats) -> Found:
        """Go from a design (n,) to better neighbours until there is none."""
        current = self.at(x)
        for _ in range(c.DESCENTS):
            better = self._step(current, single_moves) or self._step(current, pair_moves)
            if better is None:
                break
            current = better
        return current

    def _step(self, current: Found, moves: Callable[..., Floats]) -> Found | None:
        """Return a better neighbour; None if there is none among those worth a look."""
        X = self.fibres.near(moves(self._lattice, current.x))
        if not len(X):
            return None
        if self._exact:
            return self._best_of(current, X)
        if current.prices is None or not current.feasible:
            promise = np.array([f.violation for f in self.fibres.all_at(X)])
            order = np.argsort(promise, kind="stable")[: c.TRIED]
        else:
            promise = self.fibres.lagrangian(X, current.prices)
            order = np.argsort(promise, kind="stable")[: c.TRIED]
            order = order[promise[order] < current.objective]
        for k in order:
            found = self.at(X[k])
            if found.better_than(current, c.BETTER):
                return found
        return None

    def _best_of(self, current: Found, X: Floats) -> Found | None:
        """Return the best of designs (k, n) without real coordinates, if it is better."""
        best = current
        for found in self._all_at(X):
            if found.better_than(best):
                best = found
        return None if best is current else best

    def _all_at(self, X: Floats) -> list[Found]:
        keys = self._keys(X)
        missing = [k for k, key in enumerate(keys) if key not in self._solved]
        if missing:
            for k, found in zip(missing, self.fibres.all_at(X[missing]), strict=True):
                self._solved[keys[k]] = found
        return [self._solved[key] for key in keys]

    def polished(self, found: Found) -> Found:
        """Return the design of a point of the lattice with precise real coordinates."""
        return self.fibres.solve(found.x, effort=PRECISE)

    def search(self, starts: Floats, rng: np.random.Generator, times: int = 1) -> list[Found]:
        """Search from designs (k, n), the best one first; return all that were found, best first.

        The first one is relaxed, too, and changed at random, so many ``times`` the usual.
        """
        relaxed = [self.relaxed(x) for x in self.fibres.near(starts)]
        ends = [self.down(x) for x in (starts[0], *self.fibres.near(np.array(relaxed)))]
        best = _best(ends)
        if times > 1 and self._lattice.count <= c.ENUMERATED:
            every = itertools.product(*(range(len(levels)) for levels in self._lattice.levels))
            best = _best([best, *(self.at(self._lattice.at(k, best.x)) for k in every)])
        for _ in range(times * (c.KICKS_ALONE if self._exact else c.KICKS)):
            start = self.fibres.near(kicked(self._lattice, best.x, rng)[None])
            end = self.down(start[0]) if len(start) else best
            if end.better_than(best):
                best = end
        return sorted(self._solved.values(), key=_order)


def _order(found: Found) -> tuple[bool, float, float]:
    worst = 0.0 if found.feasible else found.violation
    return not found.feasible, worst, found.objective


def _best(found: list[Found]) -> Found:
    return min(found, key=_order)
