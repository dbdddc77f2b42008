"""Repairs onto rows with conditions are the nearest designs, beside a fine grid of points."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.repair import RepairKind, make_repairer

pytestmark = pytest.mark.slow

STEP = 0.02  # of the grid
GRID = np.array(np.meshgrid(*2 * [np.arange(-5, 5 + STEP, STEP)])).reshape(2, -1)
LINE = np.linspace(-5, 5, 20_001)


def linear(model: Model, x: Any, y: Any, b: Any) -> None:
    model.subject_to(x + y <= -1, when=b)
    model.subject_to(x - y >= 1, when=1 - b)


def discs(model: Model, x: Any, y: Any, b: Any) -> None:
    model.subject_to((x - 2) ** 2 + y**2 <= 1, when=b)
    model.subject_to((x + 2) ** 2 + y**2 <= 1, when=1 - b)


def undefined(model: Model, x: Any, y: Any, b: Any) -> None:
    model.subject_to(ca.sqrt(x) + y <= 0, when=b)
    model.subject_to(x <= -1, when=1 - b)


def equalities(model: Model, x: Any, y: Any, b: Any) -> None:
    model.subject_to(x + y == 1, when=b)
    model.subject_to(x * y == -2, when=1 - b)


def points(rows: Any, b: int) -> Any:
    """Points (2, k) of the set with a yes or a no, by formulas of NumPy."""
    x, y = GRID
    root = np.sqrt(np.maximum(x, 0))
    if rows is linear:
        return GRID[:, x + y <= -1 if b else x - y >= 1]
    if rows is discs:
        return GRID[:, (x - (2 if b else -2)) ** 2 + y**2 <= 1]
    if rows is undefined:
        return GRID[:, (x >= 0) & (root + y <= 0) if b else x <= -1]
    t = LINE[np.abs(LINE) > 0.4]
    curve = np.array([LINE, 1 - LINE]) if b else np.array([t, -2 / t])
    return curve[:, np.abs(curve[1]) <= 5]


@pytest.mark.parametrize("rows", [linear, discs, undefined, equalities])
def test_the_nearest_design_of_both_branches_is_found(rows: Any) -> None:
    model = Model(rows.__name__)
    x, y = (model.variable(name, lower=-5, upper=5) for name in "xy")
    rows(model, x, y, model.binary("b"))
    fs = compile_model(model)
    repairer, rng = make_repairer(fs), np.random.default_rng(0)
    distribution = Distribution(np.zeros(3), 1.0, np.eye(3), np.eye(3))
    both, compared = [points(rows, b) for b in (0, 1)], 0
    for _ in range(60):
        sample = np.append(rng.uniform(-6, 6, 2), rng.uniform(-0.8, 1.8))
        repair = repairer.repair(sample, distribution)
        assert repair.feasible
        assert fs.is_feasible(repair.x)
        assert repair.x[2] in (0, 1)
        apart = [max(0.0, sample[2] - 0.5), max(0.0, 0.5 - sample[2])]  # from the two cells
        squares = [
            float(np.min(np.sum((p - sample[:2, None]) ** 2, axis=0))) + d**2
            for p, d in zip(both, apart, strict=True)
        ]
        if repair.kind is not RepairKind.INTERSECTION:
            gap = np.sqrt(repair.distance_squared) - np.sqrt(min(squares))
            assert -2 * STEP <= gap <= 1e-5
            compared += repair.kind is RepairKind.NEAREST
    assert compared >= 3
