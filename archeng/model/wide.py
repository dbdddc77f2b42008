"""Refusing tolerances that are wider than what their equalities can change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from archeng.errors import ModelError
from archeng.model.feasible_set import FeasibleSet
from archeng.model.variable import Floats

_POINTS = 64  # at which rows are looked at
_POINTS_OF_FUNCTIONS = 8  # the same if rows are Python functions, which may take their time


@np.errstate(over="ignore", invalid="ignore")
def refuse_wide(fs: FeasibleSet) -> None:
    """Raise if a given tolerance leaves nothing of its equality.

    A row is looked at between the bounds of its variables: at random points, and at the two corners
    to which its gradient points, which for a linear row are its extremes. Rows with an unbounded
    variable can change without limit.

    Raises
    ------
    ModelError
        It names the tolerance, and what the row can change.
    """
    if not any(row.chosen for row in fs.rows):
        return
    low, high = fs.bounds
    finite = np.isfinite(high / 2 - low / 2) & (high / 2 - low / 2 < np.finfo(float).max / 2)
    depends = _variables(fs)
    wanted = [j for j, row in enumerate(fs.rows) if row.chosen and np.all(finite[depends[j]])]
    if not wanted:
        return
    at, to = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    count = _POINTS_OF_FUNCTIONS if fs.functions else _POINTS
    shares = np.random.default_rng(0).random((count, fs.n))
    values = np.array([fs.values(at + s * (to - at)) for s in shares])
    _, jacobian = fs.values_and_jacobian((at + to) / 2)
    for j in wanted:
        corners = (np.where(sign * jacobian[j] > 0, to, at) for sign in (1.0, -1.0))
        seen = np.append(values[:, j], [fs.values(corner)[j] for corner in corners])
        _check(fs, j, seen[np.isfinite(seen)])


def _variables(fs: FeasibleSet) -> NDArray[np.bool_]:
    """Which variables each row depends on (m, n)."""
    depends = np.zeros((fs.m, fs.n), dtype=bool)
    first = fs.m - fs.n_nonlinear
    depends[:first] = fs.constant_jacobian != 0
    for row, column in zip(*fs.jacobian_sparsity.get_triplet(), strict=True):
        depends[first + row, column] = True
    return depends


def _check(fs: FeasibleSet, row: int, seen: Floats) -> None:
    if len(np.unique(seen)) < 2:  # undefined, or flat where it was looked at
        return
    tolerance = (fs.upper[row] - fs.lower[row]) / 2
    least, most = float(seen.min()), float(seen.max())
    always = fs.lower[row] <= least and most <= fs.upper[row]
    if always or tolerance >= most - least:
        raise ModelError(
            f"Constraint {fs.rows[row]}: its tolerance {tolerance:.3g} is wider than what the row "
            f"can change: between the bounds of its variables it was found from {least:.6g} to "
            f"{most:.6g}. Leave the tolerance out, use one far below {most - least:.1g}, or, if a "
            "wide band is meant, write it with lower= and upper=."
        )
