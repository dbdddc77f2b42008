"""Rows that are undefined in part of the box, or whose numbers ask for trouble."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from archeng.diagnose.graph import Graph, denominators
from archeng.diagnose.system import System
from archeng.model.variable import Floats

_LARGE = 1e8
_EPSILON = float(np.finfo(float).eps)
_CURVES = 1e9  # ratio of the steepest to the flattest gradient in the box that is worth a word


@dataclass(frozen=True, eq=False)
class Gap:
    """A row that is undefined somewhere: ``why``, ``share`` of the box, and a point there.

    The share is 0 if it happens only at the bounds, or on a surface inside.
    """

    row: int
    share: float
    why: str
    point: Floats


def undefined(system: System, inside: Floats, edges: Floats) -> list[Gap]:
    """Rows that are not finite at some of the points, or have a pole between them.

    Parameters
    ----------
    system : System
    inside, edges : ndarray, shapes (k, n), (l, n)
        Uniform points in the box, and points on its faces.
    """
    points = np.vstack((inside, edges))
    values = system.values(points)[:, : system.m]
    found = []
    for j in range(system.m):
        bad = ~np.isfinite(values[:, j])
        graph = system.graphs[j]
        if bad.any():
            why = _reason(system, j, points[bad])
            share = float(bad[: len(inside)].mean())
            found.append(Gap(j, share, why, points[int(np.argmax(bad))]))
        elif graph is not None:
            pole = _pole(graph, system.n, points)
            if pole is not None:
                found.append(Gap(j, 0.0, "division by a quantity that changes its sign", pole))
    return found


def _reason(system: System, row: int, points: Floats) -> str:
    """Name the operation that fails at these points."""
    first = len(system.quantities)
    with np.errstate(invalid="ignore"):
        values = system.safe(points.T).full()[first:]
    reasons = []
    for value, (owner, guard) in zip(values, system.guards, strict=True):
        outside = (value < guard.lower) | (value > guard.upper)
        if owner == row and np.any(outside | (value == guard.lower)):
            reasons.append(guard.what)
    if reasons:
        return ", ".join(dict.fromkeys(reasons))
    return "division by zero, or a number too large"


def _pole(graph: Graph, n: int, points: Floats) -> Floats | None:
    """Point at which a denominator is nearest to zero, if it takes both signs."""
    x = ca.SX.sym("x", n)
    for expression in denominators(graph, x):
        value = ca.Function("d", [x], [expression])(points.T).full().ravel()
        good = value[np.isfinite(value)]
        if len(good) and good.min() < 0 < good.max():
            return np.asarray(points[int(np.nanargmin(np.abs(value)))], dtype=float)
    return None


def badly_scaled(system: System, points: Floats) -> list[tuple[int, str]]:
    """Rows whose numbers ask for trouble: (row, what and why).

    Constant factors do not matter to archeng; what matters is a tolerance below the rounding
    errors, or one that is wider than what the row can change at all.
    """
    found = []
    lengths, terms = _gradients(system, points)
    defined = np.any(np.isfinite(system.values(points)), axis=0)
    for j in range(system.m):
        quantity, size = system.quantities[j], float(system.size[j])
        good = lengths[:, j][np.isfinite(lengths[:, j]) & (lengths[:, j] > 0)]
        noise = _EPSILON * float(np.median(terms[:, j]))
        if not defined[j]:
            continue
        if quantity.equality:
            tolerance = (quantity.upper - quantity.lower) / 2
            if tolerance < 4 * noise:
                found.append((j, f"its tolerance {tolerance:.3g} is below the rounding errors of "
                              f"its terms ({noise:.2g}): give a tolerance above {10 * noise:.1g}, "
                              "or other units"))  # fmt: skip
            elif tolerance > size:
                found.append((j, f"its tolerance {tolerance:.3g} is wider than a typical change "
                              f"of the row ({size:.3g}): hardly an equality"))  # fmt: skip
        if not 1 / _LARGE < size < _LARGE:
            found.append((j, f"it changes by {size:.1e} over the scale of the variables: other "
                          "units would make it readable"))  # fmt: skip
        if len(good) and good.max() > _CURVES * good.min():
            found.append((j, f"its slope differs by a factor of {good.max() / good.min():.0e} "
                          "within the box: tighten the bounds, or take logarithms"))  # fmt: skip
    return found


def _gradients(system: System, points: Floats) -> tuple[Floats, Floats]:
    """Scaled lengths of the gradients (k, m), and the size of the terms of each row (k, m)."""
    values = system.values(points)[:, : system.m]
    lengths, terms = np.zeros(values.shape), np.zeros(values.shape)
    for k, point in enumerate(points):
        with np.errstate(invalid="ignore", over="ignore"):
            jacobian = np.abs(system.jacobian(point).full()[: system.m])
            lengths[k] = np.linalg.norm(jacobian * system.scale, axis=1)
            size = jacobian @ np.abs(point) + np.abs(values[k])
        terms[k] = np.where(np.isfinite(size), size, 0.0)
    return lengths, terms
