"""Small pairs of simulators, importable by workers."""

from __future__ import annotations

import numpy as np

import archeng

COSTS = [0.05, 1.0]
BEST = 3.7903607302107  # of fine(), by runs that all end there


def make_model(n: int = 4) -> archeng.Model:
    """Return a box with a cut through it."""
    model = archeng.Model("pair")
    x = model.variable("x", shape=n, lower=-2.0, upper=2.0)
    model.subject_to(x[0] + x[1] <= 1.5, name="cut")
    return model


def fine(design: archeng.Design) -> float:
    """Return a curved valley, whose least value under the cut is `BEST`."""
    return _valley(_checked(design))


def coarse(design: archeng.Design) -> float:
    """Return something like it: shifted and scaled."""
    return 5.0 + 1.3 * _valley(_checked(design) * 1.02 + 0.02)


def _valley(x: np.ndarray) -> float:
    return float(np.sum(8 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2 + np.cosh(x[1:])))


def useless(design: archeng.Design) -> float:
    """Return what has nothing to do with it."""
    x = _checked(design)
    return float(np.sin(40 * x[0] + 7) + np.cos(31 * x[1] + 3) + np.sin(23 * x[2]))


def broken(design: archeng.Design) -> float:
    """Fail, as a simulation fails."""
    raise RuntimeError("no licence")


def with_stress(design: archeng.Design) -> archeng.Evaluation:
    """Return the fine one with a simulated constraint."""
    x = _checked(design)
    return archeng.Evaluation(fine(design), constraints={"stress": float(np.sum(x**2))})


def _checked(design: archeng.Design) -> np.ndarray:
    """Return the vector; every simulator is called at feasible designs only."""
    x = np.asarray(design.x)
    assert x[0] + x[1] <= 1.5
    assert np.all(np.abs(x) <= 2)
    return x
