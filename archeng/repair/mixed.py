"""`MixedRepairer`: repairs onto a feasible set with discrete coordinates.

For a sample x the design is found whose **cell**, the points that are rounded to it, is nearest to
x. So the distance is zero exactly if rounding x is enough. Where few designs exist, and none of
their coordinates is real, they are all listed; otherwise a branch and bound
(:mod:`archeng.repair.tree`) looks for the levels. At the levels that are found the real coordinates
are repaired as in a continuous model: first to the intersection of the violated boundaries, then
to the nearest point.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from archeng.distribution import Distribution, Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.lattice import Lattice
from archeng.repair.cells import CellRepairer
from archeng.repair.certificate import Repair, RepairKind, repaired, unchanged
from archeng.repair.ladder import NearbyPoint, Repairer
from archeng.repair.lifted import lifted
from archeng.repair.neighbours import offer_descent, offer_neighbours
from archeng.repair.tree import Found, Tree
from archeng.settings import Settings

_FEW = 2000  # combinations of levels that are listed, if nothing is real
_NONE_FOUND = "no design with discrete variables at their levels was found within {} nodes"
_NONE_EXISTS = "the rows leave no design with discrete variables at their levels"


class MixedRepairer(Repairer):
    """Repairs points onto one feasible set with discrete coordinates.

    The anchor of a repair is the answer if no other is found. Methods that begin at a feasible
    design leave the discrete coordinates as they are there.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        settings: Settings | None = None,
        around: Distribution | None = None,
    ) -> None:
        super().__init__(feasible_set, settings, around)
        self._lifted = lifted(feasible_set)
        self._cells = CellRepairer(self._lifted, self.settings)

    @property
    def _lattice(self) -> Lattice:
        return self._lifted.lattice

    def _repair(self, x: Floats, distribution: Distribution, anchor: Floats | None) -> Repair:
        fs, lattice = self.feasible_set, self._lattice
        rounded = lattice.decode(x)
        values = fs.values(rounded)
        if fs.holds(values):
            return unchanged(fs, rounded, values)
        self._cells.begin(distribution)
        tree = Tree(self._cells, x, distribution.change_costs)
        proven = self._listed(tree) if self._designs is not None else self._searched(tree, anchor)
        if tree.best is not None:
            return self._answer(tree.best, tree.iterations, proven)
        if anchor is not None and fs.is_feasible(anchor):
            return self._anchored(x, distribution, anchor)
        limit = self.settings.repair_nodes
        reason = _NONE_EXISTS if proven else _NONE_FOUND.format(limit)
        violation = float(fs.violations_of(values).max())
        distance = distribution.distance_squared(x, rounded)
        return Repair(
            RepairKind.FAILED, rounded, distance, violation, np.inf, (), "tree",
            tree.iterations, proven=proven, reason=reason,
        )  # fmt: skip

    def _searched(self, tree: Tree, anchor: Floats | None) -> bool:
        """Search for the nearest design by branch and bound; return whether it is proven."""
        offer_neighbours(tree)
        if tree.best is None:
            offer_descent(tree)
        if tree.best is None and anchor is not None:
            tree.offer(self._lattice.indices(anchor), anchor)
        return tree.search(self.settings.repair_nodes) and tree.certain

    def _listed(self, tree: Tree) -> bool:
        """Look through all designs, the least distances that they can have in ascending order."""
        assert self._designs is not None
        least = np.array([tree.least(indices, indices) for indices in self._designs])
        for j in np.argsort(least, kind="stable"):
            if tree.best is not None and tree.best.squared <= least[j]:
                break
            tree.offer(self._designs[j])
        return True

    @cached_property
    def _designs(self) -> Integers | None:
        """Levels (k, d) of all feasible designs, if nothing is real and they are few."""
        lattice = self._lattice
        sizes = [len(levels) for levels in lattice.levels]
        if len(lattice.continuous) or np.prod(sizes, dtype=float) > _FEW:
            return None
        every = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
        every = every.reshape(-1, len(sizes))
        x = np.zeros(lattice.n)
        holds = [self.feasible_set.is_feasible(lattice.at(indices, x)) for indices in every]
        return np.asarray(every[np.array(holds, dtype=bool)], dtype=np.intp)

    def _answer(self, found: Found, iterations: int, proven: bool) -> Repair:
        """Return the repair at the levels that were found: the intersection first."""
        problem = self._cells.held_problem(found.x, found.indices)
        met = self._cells.intersection(problem)
        kind, point, changes = RepairKind.NEAREST, found.point, found.changes
        if met is not None and self._is_feasible(met[0].y):
            kind, point, iterations = RepairKind.INTERSECTION, met[0], iterations + met[1]
        return replace(
            self._lowered(repaired(kind, point, iterations), changes),
            proven=proven,
        )

    def _is_feasible(self, point: Floats) -> bool:
        return self.feasible_set.is_feasible(self._lifted.design(point))

    def _lowered(self, repair: Repair, changes: float = 0.0) -> Repair:
        """Return the repair of a vector (q, w) as that of a design."""
        rows = self._lifted.original_rows
        multipliers = repair.multipliers or (0.0,) * len(repair.active)
        kept = [(rows[j], u) for j, u in zip(repair.active, multipliers, strict=True) if j in rows]
        return replace(
            repair,
            x=self._lifted.design(repair.x),
            distance_squared=repair.distance_squared + changes,
            active=tuple(j for j, _ in kept),
            multipliers=tuple(u for _, u in kept) if repair.multipliers else (),
        )

    def _anchored(self, x: Floats, distribution: Distribution, anchor: Floats) -> Repair:
        """Return the known feasible design as the answer, as far away as it can be."""
        distance = distribution.distance_squared(x, anchor)
        as_it_is = unchanged(self.feasible_set, anchor, self.feasible_set.values(anchor))
        return replace(
            as_it_is,
            kind=RepairKind.NEAREST,
            distance_squared=distance,
            kkt_residual=np.inf,
            solver="tree",
            proven=False,
        )

    # -- with the discrete coordinates of a feasible design ---------------------------------------

    def _held(self, x: Floats, distribution: Distribution, design: Floats) -> tuple[Floats, Floats]:
        """Hold the levels of a design; return (q, w) of x with these levels, and of the design."""
        self._cells.begin(distribution)
        indices = self._lattice.indices(design)
        self._cells.hold(indices)
        design = self._lattice.decode(design)
        return self._lifted.point(self._lattice.at(indices, x), design), self._lifted.point(
            design, design
        )

    def project(
        self, x: Floats, distribution: Distribution, rows: Integers, sides: Floats, anchor: Floats
    ) -> Repair:
        """Return the nearest feasible design at which chosen limits are reached.

        As :meth:`archeng.repair.Repairer.project`, with the levels of the anchor.
        """
        point, start = self._held(x, distribution, anchor)
        chosen = self._lifted.rows[rows]
        metric = self._cells.held_metric
        return self._lowered(self._cells.project(point, metric, chosen, sides, start))

    def towards(self, x: Floats, distribution: Distribution, start: Floats) -> Repair:
        """Return a feasible design near x with the levels of a feasible one, by a short search."""
        point, begin = self._held(x, distribution, start)
        return self._lowered(self._cells.towards(point, self._cells.held_metric, begin))

    def near(self, x: Floats, distribution: Distribution, start: Floats) -> NearbyPoint | None:
        """Return the design of :meth:`towards` without a record; None if the search fails."""
        point, begin = self._held(x, distribution, start)
        found = self._cells.near(point, self._cells.held_metric, begin)
        return None if found is None else found._replace(x=self._lifted.design(found.x))

    def inset(self, x: Floats, distribution: Distribution) -> Repair:
        """Return a feasible design as far inside the limits as repaired ones, with its levels."""
        point, _ = self._held(x, distribution, x)
        return self._lowered(self._cells.inset(point, self._cells.held_metric))
