"""First designs for a branch and bound: rounding the sample, steps from there, and a descent.

A good first design saves nodes: everything that is farther away is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from archeng.distribution import Integers
from archeng.repair.tree import Tree

_CHEAPEST = 8  # steps to other levels that are tried in pairs
_OFFERS = 3  # neighbours that are repaired
_DESCENT = 40  # steps of a descent, at most

_Change = tuple[int, int]  # a discrete coordinate and its new level


def offer_neighbours(tree: Tree) -> None:
    """Try the levels of the sample, then one or two steps where all rows hold without more."""
    tree.offer(tree.own)
    fs = tree.cells.lifted.original
    x = np.clip(tree.x, *fs.bounds)
    offers = 0
    for _, *changes in _one_or_two(tree):
        indices = _changed(tree.own, changes)
        if fs.is_feasible(tree.lattice.at(indices, x)):
            tree.offer(indices)
            offers += 1
            if offers == _OFFERS:
                return


def offer_descent(tree: Tree) -> None:
    """Step from the levels of the sample to where rows are violated less, and try the last ones."""
    fs, indices = tree.cells.lifted.original, tree.own
    x = np.clip(tree.x, *fs.bounds)
    scale = tree.cells.row_scale(tree.sample(tree.own))

    def violation(at: Integers) -> float:
        return float(np.sum(fs.violations_of(fs.values(tree.lattice.at(at, x))) / scale))

    least = violation(indices)
    for _ in range(_DESCENT):
        steps = [_changed(indices, [change]) for change in _single(tree, indices)]
        values = [violation(step) for step in steps]
        k = int(np.argmin(values))
        if not values[k] < least:
            break
        indices, least = steps[k], values[k]
        if least == 0.0:
            break
    tree.offer(indices)


def _changed(indices: Integers, changes: list[_Change]) -> Integers:
    changed = indices.copy()
    for j, k in changes:
        changed[j] = k
    return changed


def _single(tree: Tree, indices: Integers) -> Iterator[_Change]:
    """Single steps from some levels (d,): to neighbouring ones, to all rows of a category."""
    for j, levels in enumerate(tree.lattice.levels):
        own = int(indices[j])
        near = range(len(levels)) if j in tree.costs else (own - 1, own + 1)
        yield from ((j, k) for k in near if k != own and 0 <= k < len(levels))


def _one_or_two(tree: Tree) -> list[tuple[float, *tuple[_Change, ...]]]:
    """Single steps from the sample and pairs of the cheapest, by their squared costs."""
    steps = sorted((_cost(tree, j, k), (j, k)) for j, k in _single(tree, tree.own))
    pairs = [
        (a + b, first, second)
        for (a, first), (b, second) in combinations(steps[:_CHEAPEST], 2)
        if first[0] != second[0]
    ]
    return sorted([*steps, *pairs])


def _cost(tree: Tree, j: int, k: int) -> float:
    """Squared cost of a single step, as if coordinates were independent."""
    if j in tree.costs:
        return float(tree.costs[j][k])
    ends, near = tree.lattice.ends[j], tree.x[tree.lattice.positions[j]]
    apart = ends[k - 1] - near if k > tree.own[j] else near - ends[k]
    return float(max(apart / tree.cells.deviations[j], 0.0) ** 2)
