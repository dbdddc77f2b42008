"""Slips of units: rows whose values are typically far from their limit, by a telling factor."""

from __future__ import annotations

import numpy as np

from archeng.diagnose.system import System
from archeng.model.variable import Floats

_FACTORS = {
    9.80665: "kgf and N",
    25.4: "inch and mm",
    60.0: "minutes and seconds",
    100.0: "cm and m, or percent",
    1e3: "kilo, or mm and m",
    3600.0: "hours and seconds",
    1e6: "mega, or mm2 and m2",
    1e9: "giga, or mm3 and m3",
}
_THOUSANDS = (1e3, 1e6, 1e9)  # the usual slips; others only if they are much nearer
_SUSPICIOUS = 20.0  # a row that is typically this many times its limit


def units_hint(system: System, row: int, points: Floats) -> str:
    """Say which factor to check if a row is typically far from what it is compared with.

    Parameters
    ----------
    system : System
    row : int
    points : ndarray, shape (k, n)
        Points of the box.
    """
    if row >= system.m:
        return ""
    left, right, what = _both_sides(system, row, points)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = left / right
    good = ratio[np.isfinite(ratio) & (ratio > 0)]
    if len(good) < len(points) / 2:
        return ""
    typical = float(np.median(good))
    size = max(typical, 1 / typical)
    if size < _SUSPICIOUS:
        return ""
    near = min(_FACTORS, key=lambda f: abs(np.log(f / size)) + (f not in _THOUSANDS) * 0.8)
    than = "times" if typical > 1 else "times smaller than"
    rounded = float(f"{size:.2g}")
    return (
        f"{what[0]} is typically {rounded:g} {than} {what[1]}: check the units "
        f"(a factor of {near:g}: {_FACTORS[near]}?)"
    )


def _both_sides(system: System, row: int, points: Floats) -> tuple[Floats, Floats, tuple[str, str]]:
    """Return the two things that a row compares at the points, and what they are."""
    quantity = system.quantities[row]
    limits = [v for v in (quantity.lower, quantity.upper) if np.isfinite(v)]
    limit = float(np.mean(limits)) if limits else np.nan
    if limit != 0.0 and not (quantity.equality and abs(limit) < 1e-300):
        values = system.values(points)[:, row]
        return values, np.full(len(points), limit), ("it", "its limit")
    pairs = np.array([system.sides(p).full()[row] for p in points])
    return pairs[:, 0], pairs[:, 1], ("its left side", "its right side")
