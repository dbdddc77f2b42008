"""How many turbines, and where: the model, and py_wake as its simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

import archeng
from archeng import Evaluation
from case_studies.wind_farm.economy import SITE, Site, is_legal
from case_studies.wind_farm.model import pairs
from case_studies.wind_farm.simulator import energy_of_any

ENERGY = "annual energy"


def build_number_model(site: Site = SITE) -> archeng.Model:
    """Return the model: is a place built on (yes or no), and where is it.

    A place that is not built on keeps no distance. The first places of the list are built on:
    which of them would make no difference.
    """
    n = site.most
    model = archeng.Model(f"wind farm, up to {n} turbines")
    built = model.binary("built", shape=n)
    x = model.variable("x", lower=-site.radius_m, upper=site.radius_m, shape=n, unit="m")
    y = model.variable("y", lower=-site.radius_m, upper=site.radius_m, shape=n, unit="m")
    model.subject_to(built[0] >= 1, name="at least one")
    model.subject_to(built[:-1] - built[1:] >= 0, name="the first ones")
    model.subject_to(x**2 + y**2 <= site.radius_m**2, name="boundary")
    for i, j in pairs(n):  # whoever builds on j has built on i
        gap = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
        model.subject_to(
            gap >= site.spacing_m**2, when=built[j], name=f"spacing of {i + 1} and {j + 1}"
        )
    energy = model.output(ENERGY, unit="MWh")
    turbines = ca.sum1(built)
    model.minimize(site.cost_of_energy(turbines, energy), name="cost of energy ($/MWh)")
    return model


class FarmEnergy:
    """Annual energy of the turbines that are built. It judges every farm in numpy, and counts.

    Attributes
    ----------
    n_calls, n_illegal : int
        Calls so far, and how many of them were at farms that break a rule.
    """

    def __init__(self, site: Site = SITE) -> None:
        self.site = site
        self.n_calls = 0
        self.n_illegal = 0

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a farm."""
        self.n_calls += 1
        self.n_illegal += not is_legal(design["built"], design["x"], design["y"], self.site)
        chosen = np.asarray(design["built"], dtype=float) == 1
        x, y = (np.asarray(design[axis], dtype=float)[chosen] for axis in "xy")
        return Evaluation(outputs={ENERGY: energy_of_any(x, y)})
