"""Feasible points to begin at: the user's start, then prepared ones for the restarts."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.errors import ModelError
from archeng.repair import Repairer
from archeng.sampling import feasible_points

logger = logging.getLogger("archeng")

Points = tuple[Floats, ...]
_LEAST_WIDTH = 32  # times the rounding noise of a row, that its tolerance must be wide


@dataclass(frozen=True, eq=False)
class Starts:
    """Hands out feasible points, so that no restart begins without one."""

    repairer: Repairer
    wide: Distribution  # the initial one of the search, around any mean
    count: int  # of points that are prepared at a time
    max_time: float | None = None  # seconds that the search for the first one may take

    def first(self, start: Floats | None, rng: np.random.Generator) -> tuple[Floats, Points]:
        """Return where to begin, and prepared points: the start, repaired, or the nearest of them.

        Raises
        ------
        ModelError
            If a tolerance is below the rounding noise of its constraint at that point.
        """
        point, others = self._first(start, rng)
        fs = self.repairer.feasible_set
        noise = fs.rounding_noise(point)
        with np.errstate(over="ignore"):  # bounds of 1e308
            width = fs.upper - fs.lower
        for j in np.flatnonzero(fs.equality & (width < _LEAST_WIDTH * noise)):
            raise ModelError(
                f"Constraint {fs.rows[j]}: its tolerance is below the rounding noise of its "
                f"terms, about {noise[j]:.1g} at the start. Use "
                f"tolerance={100 * noise[j]:.0e} or more, or scale the expression."
            )
        return point, others

    def next(self, points: Points, rng: np.random.Generator) -> tuple[Floats, Points]:
        """Return the next prepared point and those left; new ones are made when they run out."""
        points = points or self._prepared(rng, None)
        return points[0], points[1:]

    def _first(self, start: Floats | None, rng: np.random.Generator) -> tuple[Floats, Points]:
        if start is None:
            points = self._prepared(rng, self.max_time)
            return points[0], points[1:]
        repair = self.repairer.repair(start, replace(self.wide, mean=start))
        if repair.feasible:
            return repair.x, ()
        logger.warning("the start could not be repaired; beginning at the nearest point found")
        points = self._prepared(rng, self.max_time)
        distances = np.sum(self.wide.whiten(np.array(points) - start) ** 2, axis=1)
        nearest = int(np.argmin(distances))
        return points[nearest], points[:nearest] + points[nearest + 1 :]

    def _prepared(self, rng: np.random.Generator, max_time: float | None) -> Points:
        return tuple(feasible_points(self.repairer, self.count, rng, max_time))
