"""The simulator: annual energy of a layout, by py_wake's model of the case study."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from case_studies.wind_farm.published import TURBINES, scenario


class MinusAnnualEnergy:
    """Minus the annual energy of a layout in MWh, to be minimised.

    It judges every layout by itself, in numpy, and counts. It can be pickled; the wind-farm model
    is made once in every process.

    Parameters
    ----------
    turbines : {16, 36, 64}

    Attributes
    ----------
    energies_mwh : list of float
        Annual energy of every call so far. In worker processes each worker has its own list.
    best_mwh : float
    n_infeasible : int
        How many of them were at layouts that violate a constraint.
    """

    def __init__(self, turbines: int = 16) -> None:
        self.turbines = turbines
        self.energies_mwh: list[float] = []
        self.best_mwh = -np.inf
        self.n_infeasible = 0

    @property
    def n_calls(self) -> int:
        """Number of calls so far."""
        return len(self.energies_mwh)

    def __call__(self, design: Mapping[str, Any]) -> float:
        """Simulate a layout."""
        self.n_infeasible += not is_feasible(design["x"], design["y"], self.turbines)
        self.energies_mwh.append(annual_energy(design["x"], design["y"]))
        self.best_mwh = max(self.best_mwh, self.energies_mwh[-1])
        return -self.energies_mwh[-1]


def annual_energy(x: ArrayLike, y: ArrayLike) -> float:
    """Return the annual energy of a layout in MWh; positions in m.

    Raises
    ------
    ImportError
        Without py_wake.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return 1000.0 * float(_wind_farm(len(x)).aep(x, y))  # py_wake counts in GWh


def energy_of_any(x: ArrayLike, y: ArrayLike) -> float:
    """Return the annual energy in MWh of any number of turbines; positions in m."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    smallest, *_ = TURBINES
    return 1000.0 * float(_wind_farm(smallest).aep(x, y))  # the sizes differ in layouts only


def is_feasible(x: ArrayLike, y: ArrayLike, turbines: int) -> bool:
    """Whether a layout satisfies every constraint, in floating point, with no tolerance."""
    farm = scenario(turbines)
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    i, j = np.triu_indices(turbines, 1)
    inside = x * x + y * y <= farm.radius_m**2
    apart = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 >= farm.spacing_m**2
    return x.shape == y.shape == (turbines,) and bool(inside.all() and apart.all())


@cache
def _wind_farm(turbines: int) -> Any:
    try:
        from py_wake.literature.iea37_case_study1 import IEA37CaseStudy1
    except ImportError as error:
        raise ImportError("This case study needs py_wake: pip install 'archeng[wind]'.") from error
    return IEA37CaseStudy1(turbines)
