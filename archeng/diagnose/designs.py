"""Feasible designs for a diagnosis: certified by the same repair as in a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archeng.diagnose.oracle import Oracle
from archeng.diagnose.system import System
from archeng.distribution import Distribution, initial_distribution
from archeng.errors import InfeasibleModelError
from archeng.model import FeasibleSet
from archeng.model.variable import Floats
from archeng.repair import Repairer
from archeng.sampling import feasible_points
from archeng.settings import Settings

_STARTS = 8
_ITERATIONS = 60
LAST_SEARCHES = 90
"""Searches that :func:`last_resort` makes before it gives up."""


@dataclass(frozen=True, eq=False)
class Search:
    """A compiled model with a start and a scale for each variable, also where it has none.

    ``places`` are the positions of its free variables in the system, which may have more: compiling
    fixes a variable if constraints leave it one value.
    """

    system: System
    repairer: Repairer
    wide: Distribution
    places: list[int]

    @classmethod
    def of(cls, system: System, compiled: FeasibleSet) -> Search:
        """Prepare a search in the system of the same model."""
        places = [system.free.index(int(i)) for i in compiled.free]
        low, high = compiled.box()
        scale = np.where(np.isnan(compiled.scale), system.scale[places], compiled.scale)
        center = np.clip(system.center[places], low, high)
        start = np.where(np.isnan(compiled.start), center, compiled.start)
        fs = replace(compiled, start=start, scale=scale)
        wide = initial_distribution(np.zeros(fs.n), scale)
        return cls(system, Repairer(fs, Settings()), wide, places)

    def full(self, points: Floats) -> Floats:
        """Points of the system (k, n) from points of the compiled model."""
        template = self.repairer.feasible_set.template[list(self.system.free)]
        full = np.tile(template, (len(points), 1))
        full[:, self.places] = points
        return full


def find_designs(oracle: Oracle, search: Search, k: int, rng: np.random.Generator) -> Floats:
    """Up to k feasible designs (k, n) of the system, as different as possible, or none."""
    system, repairer = oracle.system, search.repairer
    wide, places = search.wide, search.places
    point = oracle.ask(oracle.everything, _STARTS).point
    first = None if point is None else repairer.repair(point[places], wide)
    if first is None or not first.feasible:
        return np.zeros((0, system.n))
    found = [first.x]
    for x in system.sample_inside(2 * k, rng)[:, places]:
        moved = repairer.towards(x, wide, found[0])
        if moved.feasible:
            found.append(moved.x)
    for _ in range(k):
        i, j = rng.integers(len(found), size=2)
        between = found[i] + rng.uniform(-0.1, 1.1) * (found[j] - found[i])
        moved = repairer.towards(between, wide, found[i])
        if moved.feasible:
            found.append(moved.x)
    points = np.array(found)
    return search.full(points[_spread(wide.whiten(points), k)])


def last_resort(search: Search, k: int, rng: np.random.Generator) -> Floats:
    """Search as a run would: feasible designs (k, n), or none."""
    repairer = Repairer(search.repairer.feasible_set, Settings(ipopt_max_iterations=_ITERATIONS))
    try:
        return search.full(feasible_points(repairer, k, rng))
    except InfeasibleModelError:
        return np.zeros((0, search.system.n))


def _spread(z: Floats, k: int) -> list[int]:
    """Greedy choice of k points, each far from those before; the first is kept."""
    chosen = [0]
    distance = np.sum((z - z[0]) ** 2, axis=1)
    while len(chosen) < min(k, len(z)) and distance.max() > 1e-20:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.sum((z - z[chosen[-1]]) ** 2, axis=1))
    return chosen
