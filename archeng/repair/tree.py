r"""Branch and bound for the cell that is nearest to a sample [LD60], [D65].

A **node** is a range of levels for each discrete coordinate. The rows with real numbers between
these levels in their place, solved by :class:`archeng.repair.cells.CellRepairer`, say how near a
design of the node can be at best. The node that promises most is looked at first; it is split
between two levels of a coordinate. Nodes that promise less than a design that is known are left
out; if none is left, that design is the nearest. Wherever a relaxed solution is found, the levels
next to it are tried.

A category has no order, so nothing is known between its rows: it is split first, into one node for
each row, and costs what the search distribution says. A group of binaries of which exactly one is
1 is split as a whole, too.

What is proven is that of relaxed solutions: for convex rows they are the best ones, for others the
best that the solver found.

[LD60] A. Land, A. Doig, An automatic method of solving discrete programming problems,
Econometrica 28(3), 497-520, 1960, doi:10.2307/1910129.
[D65] R. Dakin, A tree-search algorithm for mixed integer programming problems, The Computer
Journal 8(3), 250-255, 1965, doi:10.1093/comjnl/8.3.250.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.repair.cells import CellRepairer, Relaxed
from archeng.repair.certificate import CertifiedPoint
from archeng.repair.sqp import Outcome

_AT_LEVEL = 1e-6  # distance from a level, relative to that of the levels, that is rounding
_SAME = 1e-7  # relative and absolute difference of squared distances that does not matter
_BOTH = 0.1  # weight of a coordinate whose sample is on the edge between two levels


class Node(NamedTuple):
    """Ranges of levels, by their first and last numbers (d,), and the least squared distance."""

    bound: float
    order: int
    depth: int
    low: Integers
    high: Integers
    start: Floats | None  # whitened solution of the node above


class Found(NamedTuple):
    """A design: its levels (d,), the sample x (n,) with its categories, and the nearest point."""

    indices: Integers
    x: Floats
    changes: float  # squared costs of changed categories
    squared: float  # these, and the squared distance to the cell
    point: CertifiedPoint


class Tree:
    """The search for one sample.

    Parameters
    ----------
    cells : CellRepairer
        With the metric set.
    x : ndarray, shape (n,)
    change_costs : mapping of int to ndarray, optional
        As the search distribution has them.
    """

    def __init__(
        self, cells: CellRepairer, x: Floats, change_costs: Mapping[int, Floats] | None
    ) -> None:
        self.cells, self.x = cells, x
        self.lattice = lattice = cells.lifted.lattice
        self.own = lattice.indices(x)
        self._categories = np.flatnonzero(~lattice.ordered)
        self.costs = {
            int(j): self._change_costs(int(j), change_costs or {}) for j in self._categories
        }
        self._samples: dict[tuple[int, ...], Floats] = {}
        self._tried: set[tuple[int, ...]] = set()
        self._open: list[Node] = []
        self._top = np.array([len(levels) - 1 for levels in lattice.levels], dtype=np.intp)
        self._reach: tuple[float, Integers, Integers] | None = None  # levels within a distance
        self.best: Found | None = None
        self.nodes, self.iterations, self.certain = 0, 0, True

    def _change_costs(self, j: int, given: Mapping[int, Floats]) -> Floats:
        rows = len(self.lattice.levels[j])
        costs = given.get(int(self.lattice.positions[j]))
        costs = np.full(rows, 2.0 * np.log(rows)) if costs is None else np.array(costs, dtype=float)
        costs[self.own[j]] = 0.0
        return costs

    @property
    def _radius_squared(self) -> float:
        return np.inf if self.best is None else self.best.squared

    def _reaches(self, bound: float) -> bool:
        """Whether a node with this bound may have a better design than the best one."""
        limit = self._radius_squared
        return bound < limit - _SAME * (1.0 + limit) if np.isfinite(limit) else bound < np.inf

    def sample(self, indices: Integers) -> Floats:
        """Return the sample (n,) as if its categories had been drawn at these levels (d,)."""
        key = tuple(indices[self._categories].tolist())
        if key not in self._samples:
            x = self.x.copy()
            for j, k in zip(self._categories, key, strict=True):
                x[self.lattice.positions[j]] = self.lattice.levels[j][k]
            self._samples[key] = x
        return self._samples[key]

    def changes(self, low: Integers, high: Integers) -> float:
        """Return the squared costs of the categories that a range forces to change."""
        return float(sum(c[low[j] : high[j] + 1].min() for j, c in self.costs.items()))

    def least(self, low: Integers, high: Integers) -> float:
        """Return a squared distance that no cell of a range is nearer than, without its rows."""
        first, last = self.cells.cell(low, high)
        near = self.x[self.lattice.positions]
        apart = np.maximum(np.maximum(first - near, near - last), 0.0) / self.cells.deviations
        apart[self._categories] = 0.0
        together = float(apart @ apart) / self.cells.stretch
        return self.changes(low, high) + max(together, float(apart.max()) ** 2)

    def offer(self, indices: Integers, *starts: Floats) -> float:
        """Repair at these levels (d,), unless that was done; return the squared distance."""
        key = tuple(indices.tolist())
        if key in self._tried or not self._reaches(self.least(indices, indices)):
            return np.inf
        self._tried.add(key)
        x = self.sample(indices)
        point = self.cells.nearest(x, indices, starts)
        if point is None:
            return np.inf
        self.iterations += point.answer.iterations
        changes = self.changes(indices, indices)
        squared = changes + point.problem.metric.distribution.distance_squared(
            point.problem.x, point.y
        )
        if squared < self._radius_squared:
            self.best = Found(indices, x, changes, squared, point)
        return squared

    def search(self, limit: int) -> bool:
        """Search until no node is left or so many were looked at; return whether none is left."""
        self._add(0.0, 0, np.zeros_like(self._top), self._top, None)
        while self._open:
            node = self._next()
            if not self._reaches(node.bound):
                continue
            if self.nodes >= limit:
                return False
            self.nodes += 1
            unsettled = [j for j in self.costs if node.low[j] < node.high[j]]
            if unsettled:
                self._split_category(node, unsettled[0])
            else:
                self._look_at(node)
        return True

    def _next(self) -> Node:
        """Return the most promising node; before there is a design, one of the deepest."""
        if self.best is not None:
            return heapq.heappop(self._open)
        k = min(range(len(self._open)), key=lambda i: (-self._open[i].depth, self._open[i][:2]))
        node = self._open.pop(k)
        heapq.heapify(self._open)
        return node

    def _add(
        self, bound: float, depth: int, low: Integers, high: Integers, start: Floats | None
    ) -> None:
        bound = max(bound, self.least(low, high))
        if self._reaches(bound):
            order = self.nodes * (1 << 20) + len(self._open)
            heapq.heappush(self._open, Node(bound, order, depth, low, high, start))

    def _split(self, node: Node, j: int, parts: list[tuple[int, int]], relaxed: Relaxed) -> None:
        """Split a node by ranges of a coordinate."""
        for a, b in parts:
            if a <= b:
                low, high = node.low.copy(), node.high.copy()
                low[j], high[j] = a, b
                changes = self.changes(low, high)
                bound = max(node.bound, relaxed.bound + changes if relaxed.w is not None else 0.0)
                self._add(bound, node.depth + 1, low, high, relaxed.z)

    def _split_category(self, node: Node, j: int) -> None:
        order = np.argsort(self.costs[j], kind="stable").tolist()
        self._split(node, j, [(k, k) for k in order], Relaxed(Outcome.FAILED))

    def _look_at(self, node: Node) -> None:
        """Solve a node with all categories chosen, and split it if need be."""
        changes = self.changes(node.low, node.high)
        budget = self._radius_squared - changes
        ranges = self._within(node, budget)
        if ranges is None:
            return
        low, high = ranges
        x, radius = self.sample(low), float(np.sqrt(max(budget, 0.0)))
        if np.array_equal(low, high):
            self.offer(low)
            return
        relaxed = self.cells.relaxed(x, low, high, radius, node.start)
        if relaxed.outcome is Outcome.INFEASIBLE:
            return
        node = node._replace(low=low, high=high)
        if relaxed.w is None or relaxed.q is None:
            self.certain = False  # nothing is known about this node: try its parts
            j = int(np.argmax(high - low))
            middle = int(low[j] + high[j]) // 2
            self._split(node, j, [(int(low[j]), middle), (middle + 1, int(high[j]))], relaxed)
            return
        if not self._reaches(relaxed.bound + changes):
            return
        rounded = self._rounded(relaxed.w, low, high)
        squared = self.offer(rounded, self.lattice.at(rounded, relaxed.q))
        if squared <= relaxed.bound + changes or not self._reaches(relaxed.bound + changes):
            return
        self._branch(node, relaxed, rounded)

    def _within(self, node: Node, budget: float) -> tuple[Integers, Integers] | None:
        """Leave out levels whose cells are farther than the best design; None if none is left."""
        if not np.isfinite(budget):
            return node.low, node.high
        if self._reach is None or self._reach[0] != budget:
            room = np.sqrt(max(budget, 0.0)) * self.cells.deviations * (1.0 + _SAME)
            near = self.x[self.lattice.positions]
            first, last = np.zeros_like(node.low), self._top.copy()
            for j, ends in enumerate(self.lattice.ends):
                if j not in self.costs:
                    first[j] = np.searchsorted(ends, near[j] - room[j], side="left")
                    last[j] = np.searchsorted(ends, near[j] + room[j], side="right")
            self._reach = budget, first, last
        low, high = np.maximum(node.low, self._reach[1]), np.minimum(node.high, self._reach[2])
        return None if np.any(low > high) else (low, high)

    def _rounded(self, w: Floats, low: Integers, high: Integers) -> Integers:
        """Return the levels (d,) next to w, within a range."""
        found = [
            int(np.searchsorted(ends, value, side="right"))
            for ends, value in zip(self.lattice.ends, w, strict=True)
        ]
        return np.minimum(np.maximum(np.array(found, dtype=np.intp), low), high)

    def _branch(self, node: Node, relaxed: Relaxed, rounded: Integers) -> None:
        """Split a node where its relaxed solution is between levels, or in another cell."""
        assert relaxed.w is not None
        assert relaxed.q is not None
        lattice, s = self.lattice, self.cells.deviations
        best, score = (-1, -1), 0.0
        cell_low, cell_high = self.cells.cell(rounded, rounded)
        q = relaxed.q[lattice.positions]
        outside = np.maximum(cell_low - q, q - cell_high) / s
        fractions = np.zeros(len(s))
        for j in np.flatnonzero(node.low < node.high).tolist():
            levels, ends = lattice.levels[j], lattice.ends[j]
            k = int(np.searchsorted(levels, relaxed.w[j], side="right")) - 1
            k = min(max(k, int(node.low[j])), int(node.high[j]) - 1)
            part = (relaxed.w[j] - levels[k]) / (levels[k + 1] - levels[k])
            fractions[j] = min(part, 1.0 - part)
            if fractions[j] > _AT_LEVEL:
                edge = abs(float(self.x[lattice.positions[j]] - ends[k])) / s[j]
                value = fractions[j] * (_BOTH + edge)
                if value > score:
                    best, score = (j, k), value
        for group in self.cells.lifted.groups:
            if fractions[group].max() > _AT_LEVEL:
                self._split_group(node, group, relaxed)
                return
        j, k = best
        low, high = node.low, node.high
        if j >= 0:
            self._split(node, j, [(int(low[j]), k), (k + 1, int(high[j]))], relaxed)
            return
        outside[low == high] = -np.inf
        j = int(np.argmax(outside))
        k = int(rounded[j])
        if outside[j] > _AT_LEVEL:  # the level of another cell than that of q
            k -= int(q[j] < cell_low[j])
            self._split(node, j, [(int(low[j]), k), (k + 1, int(high[j]))], relaxed)
            return
        j = int(np.argmax(high - low))
        k = int(rounded[j])
        self._split(node, j, [(k, k), (int(low[j]), k - 1), (k + 1, int(high[j]))], relaxed)

    def _split_group(self, node: Node, group: Integers, relaxed: Relaxed) -> None:
        """Make one node for each binary of a group that may be the one."""
        for j in group:
            if node.high[j] == 0 or node.low[np.setdiff1d(group, j)].any():
                continue
            low, high = node.low.copy(), node.high.copy()
            low[group] = high[group] = 0
            low[j] = high[j] = 1
            changes = self.changes(low, high)
            self._add(relaxed.bound + changes, node.depth + 1, low, high, relaxed.z)
