"""Feasible points to begin at: the user's start, then prepared ones for the restarts."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.errors import ModelError
from archeng.repair import Repairer
from archeng.sampling import feasible_points

logger = logging.getLogger("archeng")


class Starts:
    """Hands out feasible points, so that no restart begins without one.

    Parameters
    ----------
    repairer : Repairer
    wide : Distribution
        The initial search distribution, around any mean.
    count : int
        How many points are prepared at a time.
    rng : numpy.random.Generator
    max_time : float, optional
        Seconds that the search for the first one may take.
    """

    def __init__(
        self,
        repairer: Repairer,
        wide: Distribution,
        count: int,
        rng: np.random.Generator,
        max_time: float | None = None,
    ) -> None:
        self._max_time = max_time
        self._repairer, self._wide, self._count, self._rng = repairer, wide, count, rng
        self.points: list[Floats] = []

    def first(self, start: Floats | None) -> Floats:
        """Return the repaired start; without one, or if it cannot be repaired, another point.

        Raises
        ------
        ModelError
            If a tolerance is below the rounding noise of its constraint at that point.
        """
        point = self._first(start)
        fs = self._repairer.feasible_set
        noise = fs.rounding_noise(point)
        with np.errstate(over="ignore"):  # bounds of 1e308
            width = fs.upper - fs.lower
        for j in np.flatnonzero(fs.equality & (width < 32 * noise)):
            raise ModelError(
                f"Constraint {fs.rows[j]}: its tolerance is below the rounding noise of its "
                f"terms, about {noise[j]:.1g} at the start. Use "
                f"tolerance={100 * noise[j]:.0e} or more, or scale the expression."
            )
        return point

    def _first(self, start: Floats | None) -> Floats:
        if start is None:
            self._prepare(self._max_time)
            return self.points.pop(0)
        repair = self._repairer.repair(start, replace(self._wide, mean=start))
        if repair.feasible:
            return repair.x
        logger.warning("the start could not be repaired; beginning at the nearest point found")
        self._prepare(self._max_time)
        distances = np.sum(self._wide.whiten(np.array(self.points) - start) ** 2, axis=1)
        return self.points.pop(int(np.argmin(distances)))

    def next(self) -> Floats:
        """Return the next prepared point; new ones are made when they run out."""
        if not self.points:
            self._prepare()
        return self.points.pop(0)

    def _prepare(self, max_time: float | None = None) -> None:
        self.points = list(feasible_points(self._repairer, self._count, self._rng, max_time))
