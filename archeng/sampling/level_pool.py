"""`LevelPool`: feasible designs of a set with discrete variables, for a choice among them.

If there are only discrete variables with few combinations, all of them are tried. Elsewhere: those
of a Latin sample (each level of each variable as often as the others) that are feasible; if these
are few, repaired ones; then, for each level that is still missing, a search with the variable held
there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product

import numpy as np

from archeng.distribution import Distribution, Floats, initial_distribution
from archeng.errors import InfeasibleModelError
from archeng.model import RowKind
from archeng.model.lattice import Lattice
from archeng.repair import Repairer
from archeng.sampling.levels import latin_points, on_lattice, part_of_list
from archeng.sampling.manifold import RowEvaluator
from archeng.sampling.search import FirstPoints, deviations

_LISTED = 2**17  # combinations of levels that are tried one by one
_MOST_TERMS = 2**29  # operations that evaluating rows of samples may take
_POOL = 5  # points in the pool for each design that is asked for
_LEAST, _MOST = 200, 20_000  # size of the pool, however many are asked for
_BATCHES, _BATCH = 8, 2**12  # Latin samples: how often, and how many
_REPAIRED = 60  # repaired samples, where few samples are feasible
_HELD_SAMPLES, _HELD_REPAIRS = 256, 3  # tried for a level that is missing
_MOST_HELD = 400  # levels for which that is done
_STIFF = 1e-4  # deviation of a variable that is held in a repair, relative to its own


class LevelPool:
    """Feasible designs that are known, as rows of ``points``.

    ``complete``: they are all that exist. ``uniform``: real variables are uniform in them, given
    the discrete ones.
    """

    def __init__(self, repairer: Repairer, lattice: Lattice, rng: np.random.Generator) -> None:
        self._repairer, self._rng = repairer, rng
        self.fs, self.lattice = repairer.feasible_set, lattice
        self.rows = RowEvaluator(self.fs)
        self.points = np.zeros((0, self.fs.n))
        self.complete, self.uniform = False, True

    def fill(self, k: int) -> None:
        """Find designs for a choice of k.

        Raises
        ------
        InfeasibleModelError
            If there is none.
        """
        if self._listed():
            return
        deviations(self.fs)  # raises if there is no telling where to look
        size = max(min(_POOL * k, _MOST), _LEAST)
        most = max(_MOST_TERMS // (self.rows.terms * _BATCH), 1)
        for _ in range(min(_BATCHES, most)):
            self._add(latin_points(self.fs, self.lattice, _BATCH, self._rng))
            if len(self.points) >= size or not len(self.points):
                break
        self.points = self.points[:size]
        if len(self.points) < size:
            self._repair(min(_REPAIRED, 2 * k))
        self._hold_missing_levels(k)

    def _listed(self) -> bool:
        """Try all designs if there are few; whether that was done."""
        lattice = self.lattice
        total = float(np.prod([float(len(levels)) for levels in lattice.levels]))
        if len(lattice.continuous) or total > _LISTED or total * self.rows.terms > _MOST_TERMS:
            return False
        combinations = product(*lattice.levels)
        while block := list(islice(combinations, _BATCH)):
            x = np.zeros((len(block), lattice.n))
            x[:, lattice.positions] = block
            self._add(x)
        if not len(self.points):
            raise InfeasibleModelError(
                f"Model {self.fs.name!r} has no feasible design: each of the {total:.0f} "
                "combinations of its discrete variables violates a constraint. `archeng check`, or "
                "archeng.diagnose(model), says which constraints are in conflict.",
                [str(row) for row in self.fs.rows if row.kind is not RowKind.BOUND],
            )
        self.complete = True
        return True

    def _add(self, points: Floats) -> int:
        """Add those of the points that are feasible; return how many."""
        good = points[self.rows.hold(points) & on_lattice(self.lattice, points)]
        self.points = np.concatenate((self.points, good))
        return len(good)

    def _repair(self, k: int) -> None:
        """Add repaired samples."""
        search, before = FirstPoints(self._repairer, self._rng), len(self.points)
        repairs = search.repaired_samples(k, before)[0] if before else search.repairs(k)
        self._add(np.array([r.x for r in repairs]).reshape(-1, self.fs.n))
        self.uniform = False

    def _hold_missing_levels(self, k: int) -> None:
        """Search for designs with each level, or part of a long list, that no design has so far."""
        searches = 0
        for j, levels in enumerate(self.lattice.levels):
            numbers = np.arange(len(levels))
            parts = part_of_list(self.lattice, j, numbers, k)
            for part in np.unique(parts).tolist():
                column = self.lattice.indices(self.points)[:, j]
                if part in part_of_list(self.lattice, j, column, k) or searches >= _MOST_HELD:
                    continue
                searches += 1
                number = self._rng.choice(numbers[parts == part])
                self._hold(int(self.lattice.positions[j]), float(levels[number]))

    def _hold(self, i: int, level: float) -> None:
        """Search for a design with a variable at a level."""
        samples = latin_points(self.fs, self.lattice, _HELD_SAMPLES, self._rng)
        samples[:, i] = level
        if self._add(samples):
            return
        stiff = self._stiff(i)
        for x in samples[:_HELD_REPAIRS]:
            anchor = self.points[int(self._rng.integers(len(self.points)))]
            repair = self._repairer.repair(x, stiff, anchor)
            if repair.feasible and repair.x[i] == level and self._add(repair.x[None, :]):
                self.uniform = False
                return

    def _stiff(self, i: int) -> Distribution:
        """Return a metric in which a variable is dear to change."""
        scale = deviations(self.fs).copy()
        scale[i] *= _STIFF
        stiff = initial_distribution(np.zeros(self.fs.n), scale)
        costs = {
            int(p): np.full(len(levels), _STIFF**-2 if p == i else 1.0)
            for p, levels in zip(self.lattice.positions, self.lattice.levels, strict=True)
            if p in self.lattice.categories
        }
        return replace(stiff, change_costs=costs) if costs else stiff
