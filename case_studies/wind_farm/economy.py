"""How many turbines, and where: what energy costs, and a referee, in plain formulas.

Positions in m, energies in MWh, money in thousands of dollars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Site:
    """A round site and what building on it costs.

    Attributes
    ----------
    most : int
        Turbines, at most.
    radius_m, spacing_m : float
    turbine : float
        Cost of a turbine with its foundation and cable, thousands of dollars.
    fixed : float
        Cost of roads, grid connection and planning, however many turbines there are.
    yearly : float
        Operation of a turbine, thousands of dollars a year.
    years : int
        Of operation.
    interest : float
        A year.
    """

    most: int = 8
    radius_m: float = 600.0
    spacing_m: float = 260.0
    turbine: float = 1400.0 * 3.35  # dollars a kW, MW of a turbine of the case study
    fixed: float = 7400.0
    yearly: float = 40.0 * 3.35
    years: int = 20
    interest: float = 0.07

    @property
    def annuity(self) -> float:
        """What a dollar a year is worth today."""
        growth = (1 + self.interest) ** self.years
        return (growth - 1) / (growth * self.interest)

    def cost_of_energy(self, turbines: Any, energy: Any) -> Any:
        """Return dollars for a MWh, of so many turbines and MWh a year; also for formulas."""
        a_year = (self.fixed + self.turbine * turbines) / self.annuity + self.yearly * turbines
        return 1000 * a_year / energy


SITE = Site()


def is_legal(built: ArrayLike, x: ArrayLike, y: ArrayLike, site: Site = SITE) -> bool:
    """Whether a farm satisfies every rule, in floating point, with no tolerance.

    The first places of the list are built on, at least one; all are within the circle, and those
    that are built on far enough apart.
    """
    b, east, north = (np.asarray(v, dtype=float) for v in (built, x, y))
    if not b.shape == east.shape == north.shape == (site.most,):
        return False
    if not (np.isin(b, (0.0, 1.0)).all() and b[0] == 1 and (np.diff(b) <= 0).all()):
        return False
    inside = (east * east + north * north <= site.radius_m**2).all()
    e, n = east[b == 1], north[b == 1]
    i, j = np.triu_indices(len(e), 1)
    apart = (e[i] - e[j]) ** 2 + (n[i] - n[j]) ** 2 >= site.spacing_m**2
    return bool(inside and apart.all())
