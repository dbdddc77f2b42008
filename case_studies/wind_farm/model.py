"""The explicit constraints: every turbine in the circle, every pair two rotor diameters apart."""

from __future__ import annotations

import casadi as ca
import numpy as np

import archeng
from case_studies.wind_farm.published import scenario


def build_model(turbines: int = 16) -> archeng.Model:
    """Return the model of the farm with 16, 36 or 64 turbines.

    Variables are the vectors ``x`` (east) and ``y`` (north). Rows are squared distances, which
    are smooth everywhere.
    """
    farm = scenario(turbines)
    radius = farm.radius_m
    model = archeng.Model(f"wind farm, {turbines} turbines")
    x = model.variable("x", lower=-radius, upper=radius, shape=turbines, unit="m")
    y = model.variable("y", lower=-radius, upper=radius, shape=turbines, unit="m")
    model.subject_to(x**2 + y**2 <= radius**2, name="boundary")
    gaps = [(x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 for i, j in pairs(turbines)]
    model.subject_to(ca.vertcat(*gaps) >= farm.spacing_m**2, name="spacing")
    return model


def pairs(turbines: int) -> list[tuple[int, int]]:
    """Return every pair (i, j), i < j, in the order of the spacing rows."""
    i, j = np.triu_indices(turbines, 1)
    return list(zip(i.tolist(), j.tolist(), strict=True))
