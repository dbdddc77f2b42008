"""Convex quadratics with random axes and linear rows, of any size."""

from __future__ import annotations

from functools import cache, partial

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

SIZES = (20, 50, 100)
CONDITION = 100.0
"""Ratio of the largest to the smallest curvature."""
BOX = 5.0
DATA_SEED = 22


@cache
def quadratic_data(n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Root R (n, n) of the curvature, its minimum c (n,), rows A (n/2, n) and their limits.

    The directions of the axes are random, half of the rows are violated at the minimum.
    """
    rng = np.random.default_rng([DATA_SEED, n])
    axes, _ = np.linalg.qr(rng.standard_normal((n, n)))
    root = np.diag(CONDITION ** np.linspace(0.0, 0.5, n)) @ axes.T
    centre = rng.uniform(-2.0, 2.0, n)
    rows = rng.standard_normal((n // 2, n)) / np.sqrt(n)
    # At the minimum half of the rows are beyond their limits; the origin satisfies all of them.
    limits = np.abs(rows @ centre) * 0.5 + 0.1
    return root, centre, rows, limits


def _quadratic(n: int) -> Model:
    model = Model(f"quadratic, n = {n}")
    x = model.variable("x", shape=n, lower=-BOX, upper=BOX)
    _, _, rows, limits = quadratic_data(n)
    model.subject_to(ca.DM(rows) @ x <= ca.DM(limits), name="rows")
    return model


def _quadratic_value(n: int, x: Floats) -> float:
    root, centre, _, _ = quadratic_data(n)
    z = root @ (np.asarray(x) - centre)
    return 1.0 + (z * z).sum()


DEFINITIONS = {
    f"quadratic_{n}": Definition(
        f"convex quadratic of {n} variables with {n // 2} linear rows",
        partial(_quadratic, n),
        partial(_quadratic_value, n),
    )
    for n in SIZES
}
