"""Models for measuring: linear, dense nonlinear, and a sparse wind-farm layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model


def rotated_box(n: int) -> Model:
    """Linear rows that form a rotated box, as in [SA22 sec:exp1] (rotBox): 2n sides, n rows."""
    model = Model(f"rotated box, n = {n}")
    x = model.variable("x", shape=n, start=np.zeros(n), scale=1.0)
    lower = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    c, s = np.cos(np.pi / 4), np.sin(np.pi / 4)
    rotation = np.kron(np.eye(n // 2), np.array([[c, -s], [s, c]]))
    model.subject_to(ca.DM(rotation) @ x, lower=lower, upper=lower + 5, name="box")
    return model


def ball_and_planes(n: int, m: int, seed: int = 0) -> Model:
    """Dense nonlinear rows: m random ellipsoids around the origin, and bounds."""
    rng = np.random.default_rng(seed)
    model = Model(f"ellipsoids, n = {n}, m = {m}")
    x = model.variable("x", shape=n, lower=-5.0, upper=5.0, start=np.ones(n))
    for j in range(m):
        A = rng.standard_normal((n, n)) / np.sqrt(n)
        r = ca.DM(A) @ x
        model.subject_to(ca.dot(r, r) <= 4.0, name=f"ellipsoid {j}")
    return model


def wind_farm(turbines: int = 16, radius: float = 1300.0, spacing: float = 260.0) -> Model:
    """Layout of IEA Wind Task 37 case study 1: a circle and all pair spacings, sparse rows."""
    model = Model(f"wind farm, {turbines} turbines")
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, turbines)
    distance = radius * np.sqrt(rng.uniform(0, 1, turbines))
    start = distance * np.array([np.cos(angle), np.sin(angle)])
    kwargs = {"scale": radius / 5, "shape": turbines, "unit": "m"}
    x = model.variable("x", start=start[0], **kwargs)
    y = model.variable("y", start=start[1], **kwargs)
    model.subject_to(x**2 + y**2 <= radius**2, name="boundary")
    pairs = [(i, j) for i in range(turbines) for j in range(i)]
    gaps = ca.vertcat(*((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 for i, j in pairs))
    model.subject_to(gaps >= spacing**2, name="spacing")
    return model


def wake_loss(design: Mapping[str, Any]) -> float:
    """Mean power lost to wakes, a bell-shaped deficit behind each turbine, 16 directions.

    A cheap stand-in with the character of a wind-farm simulator: turbines repel each other.
    """
    positions = np.array([design["x"], design["y"]])
    diameter, spread = 130.0, 0.0324555
    loss = 0.0
    for angle in np.arange(16) * np.pi / 8:
        along, across = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        x, y = along @ positions, across @ positions
        behind = x[:, None] - x[None, :]
        width = spread * np.maximum(behind, 0.0) + diameter / np.sqrt(8)
        depth = 1 - np.sqrt(1 - (8 / 9) / (8 * width**2 / diameter**2))
        deficit = depth * np.exp(-0.5 * ((y[:, None] - y[None, :]) / width) ** 2) * (behind > 0)
        speed = 1 - np.sqrt(np.sum(deficit**2, axis=1))
        loss += 1 - float(np.mean(np.maximum(speed, 0.0) ** 3))
    return loss / 16
