"""Designs with discrete variables: all levels that are possible, each about as often.

1. A *pool* of feasible designs (:mod:`archeng.sampling.level_pool`).
2. *Slots*: one combination of levels for each design that is asked for, so that the levels of each
   variable occur as evenly as the pool allows, and combinations differ while there are new ones.
   Ordered variables with more levels than designs are asked for count by ranges of levels.
3. The real variables of a slot: points that walk on the feasible set while the discrete ones are
   held (:mod:`archeng.sampling.walk`), uniform there. Of some of them the one is taken that is
   farthest from the designs before.

Notation: n free variables, d of them discrete, k designs, N combinations of levels.
"""

from __future__ import annotations

import logging

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats, Integers
from archeng.model.lattice import Lattice
from archeng.repair import Repairer
from archeng.sampling.level_pool import LevelPool
from archeng.sampling.levels import Differences, on_lattice, part_of_list
from archeng.sampling.manifold import EqualityManifold, equality_manifold
from archeng.sampling.walk import FeasibleWalk, unlimited_variables, walk_lengths

logger = logging.getLogger("archeng")

_CANDIDATES, _WALKERS = 4, 2000  # points that walk for each slot, and about how many in all
_SAME = 1e-6  # designs no farther apart than this count as one


@one_thread
def level_filling_points(
    repairer: Repairer, lattice: Lattice, k: int, rng: np.random.Generator
) -> Floats:
    """Return k feasible designs (k, n) of a set with discrete variables.

    Fewer rows come back only if no more different ones were found; a warning says so.

    Raises
    ------
    InfeasibleModelError
        If none is found.
    """
    fs = repairer.feasible_set
    pool = LevelPool(repairer, lattice, rng)
    pool.fill(k)
    manifold = _manifold(pool)
    combinations, of = np.unique(lattice.indices(pool.points), axis=0, return_inverse=True)
    of = of.reshape(-1)
    capacity = np.full(len(combinations), k) if manifold else np.bincount(of)
    slots = evenly(lattice, combinations, capacity, k, rng)
    candidates, owners = pool.points, of
    if manifold is not None:
        known = np.bincount(of) if pool.uniform else np.zeros(len(combinations), dtype=int)
        more = [c for i, c in enumerate(slots) if slots[:i].count(c) >= known[c]]
        walked, theirs = _walked(pool, manifold, of, more, rng)
        kept = slice(None if pool.uniform else 0)
        candidates = np.concatenate((candidates[kept], walked))
        owners = np.concatenate((owners[kept], theirs))
    points = _farthest_in_slots(Differences.of_points(fs, lattice, candidates), owners, slots)
    if len(points) < k:
        how_many = "there are only" if pool.complete else "only so many different ones were found:"
        logger.warning("%d designs of %r were asked for; %s %d.", k, fs.name, how_many, len(points))
    return candidates[points]


def evenly(
    lattice: Lattice, combinations: Integers, capacity: Integers, k: int, rng: np.random.Generator
) -> list[int]:
    """Choose up to k of the combinations (N, d), so that levels occur evenly in each variable.

    Each may be chosen as often as its capacity (N,) says; those not yet chosen come first. Among
    equally good ones the one is taken that is farthest from those before.
    """
    parts = [part_of_list(lattice, j, column, k) for j, column in enumerate(combinations.T)]
    weights = [float(part.max() + 1) for part in parts]
    differences = Differences.of_levels(lattice, combinations)
    left, cost = capacity.copy(), np.zeros(len(combinations))
    nearest = np.full(len(combinations), np.inf)
    chosen: list[int] = []
    while len(chosen) < k and left.any():
        score = np.where(left > 0, cost, np.inf)
        best = np.flatnonzero(score <= score.min() * (1 + 1e-12))
        c = int(best[np.argmax(nearest[best])]) if chosen else int(rng.integers(len(best)))
        chosen.append(c)
        left[c] -= 1
        cost[c] += max(weights)
        for part, weight in zip(parts, weights, strict=True):
            cost += weight * (part == part[c])
        np.minimum(nearest, differences.from_one(c), out=nearest)
    return chosen


def _manifold(pool: LevelPool) -> EqualityManifold | None:
    """Return where real variables can move while discrete ones are held; None if nowhere."""
    scale = pool.fs.scale.copy()
    scale[pool.lattice.positions] = 0.0
    if not scale.any():
        return None
    manifold = equality_manifold(pool.rows, scale, pool.points)
    return manifold if manifold.dimension > 0 else None


def _walked(
    pool: LevelPool,
    manifold: EqualityManifold,
    of: Integers,
    slots: list[int],
    rng: np.random.Generator,
) -> tuple[Floats, Integers]:
    """Return points that have walked from designs of the pool, and the combinations they have.

    ``of`` (N,) is the combination of each design of the pool.
    """
    if not slots:
        return pool.points[:0], of[:0]
    by_slot = {slot: np.flatnonzero(of == slot) for slot in set(slots)}
    each = int(np.clip(_WALKERS // len(slots), 1, _CANDIDATES))
    starts = [int(rng.choice(by_slot[slot])) for slot in slots for _ in range(each)]
    begin = pool.points[starts]
    middle = manifold.nearby(begin)
    begin = np.where(manifold.rows.hold(middle)[:, None], middle, begin)
    walk = FeasibleWalk(manifold, begin, unlimited_variables(manifold, begin), rng)
    for _ in range(walk_lengths(manifold)[0]):
        walk.step(learn=True)
    good = manifold.rows.hold(walk.points) & on_lattice(pool.lattice, walk.points)
    ended = np.where(good[:, None], walk.points, pool.points[starts])
    return ended, of[starts]


def _farthest_in_slots(differences: Differences, owners: Integers, slots: list[int]) -> list[int]:
    """Choose a candidate for each slot, the one farthest from those before; none twice.

    ``owners`` are the combinations of the candidates. Where a combination has no further design,
    any other candidate takes the place.
    """
    nearest = np.full(len(owners), np.inf)
    chosen: list[int] = []
    for slot in slots:
        mine = np.flatnonzero(owners == slot)
        c = int(mine[np.argmax(nearest[mine])])
        if nearest[c] <= _SAME:
            c = int(np.argmax(nearest))
        if nearest[c] <= _SAME:
            break
        chosen.append(c)
        np.minimum(nearest, differences.from_one(c), out=nearest)
    return chosen
