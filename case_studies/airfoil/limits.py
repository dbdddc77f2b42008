"""The explicit limits once more, in NumPy and from the shape itself: an independent check.

The model has formulas of the weights; here the two surfaces are drawn by SciPy's Bernstein
polynomials, and thickness and trailing edge are measured on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from case_studies.airfoil.cases import Floats

ROUNDING = 1e-9  # relative; a limit that is met exactly must not fail by the last digit

Range = tuple[float, float, float]

_STATIONS = (0.02, 0.05, 0.10, 0.20, 0.33, 0.45, 0.60, 0.75, 0.90, 0.96)
_LEAST = (0.002, 0.002, 0.002, 0.002, 0.128, 0.002, 0.002, 0.002, 0.014, 0.002)


def surface(weights: ArrayLike, leading_edge: float, x: ArrayLike) -> Floats:
    """Height of a surface over the chord line at the stations ``x``, without trailing edge."""
    x, w = np.asarray(x, dtype=float), np.asarray(weights, dtype=float)
    shape = BPoly(w[:, None], [0.0, 1.0])
    bent = leading_edge * x * (1 - x) ** (len(w) + 0.5)
    return np.asarray(np.sqrt(x) * (1 - x) * shape(x) + bent)


def limits(design: Mapping[str, Any]) -> dict[str, Range]:
    """Return value, lower and upper limit of every constraint, by its name in the model."""
    upper, lower = (np.asarray(design[k], dtype=float) for k in ("upper", "lower"))
    nose = float(design["leading edge"])
    infinite = float("inf")
    gaps = surface(upper, nose, _STATIONS) - surface(lower, nose, _STATIONS)
    end = 1 - 1e-9  # slopes of the chords that end at the trailing edge
    slopes = [-float(surface(w, nose, end)) / (end - 1) for w in (upper, lower)]
    angle = float(np.degrees(np.arctan(slopes[0]) - np.arctan(slopes[1])))
    bends = [w[:-2] - 2 * w[1:-1] + w[2:] for w in (upper, lower)]
    return {
        **{
            f"thickness at {x}": (float(gap), least, infinite)
            for x, gap, least in zip(_STATIONS, gaps, _LEAST, strict=True)
        },
        "trailing edge (deg)": (angle, 6.03, infinite),
        "wiggliness": (float(sum(b @ b for b in bends)), -infinite, 0.0929675861),
        **_ordered(np.atleast_1d(np.asarray(design["angle"], dtype=float))),
        "blunt above": (float(upper[0]), 0.05, infinite),
        "blunt below": (float(lower[0]), -infinite, -0.05),
        "upper, least": (float(upper.min()), -0.25, infinite),
        "upper, most": (float(upper.max()), -infinite, 0.5),
        "lower, least": (float(lower.min()), -0.5, infinite),
        "lower, most": (float(lower.max()), -infinite, 0.25),
        "leading edge": (nose, -1.0, 1.0),
    }


def _ordered(angles: Floats) -> dict[str, Range]:
    steps = np.diff(angles)
    return {
        "angle, least": (float(angles.min()), -5.0, float("inf")),
        "angle, most": (float(angles.max()), -float("inf"), 18.0),
        **{
            f"more angle, more lift (deg)[{i}]": (float(d), 0.0, float("inf"))
            for i, d in enumerate(steps)
        },
    }


def exceeded(design: Mapping[str, Any], slack: float = ROUNDING) -> list[str]:
    """Return the names of the limits that a design violates; none if it is legal.

    ``slack`` is relative to the limit. The trailing edge is measured on a chord of 1e-9 and is
    allowed 1e-6 of its limit.
    """
    found = []
    for name, (value, lower, upper) in limits(design).items():
        size = max(abs(v) for v in (lower, upper) if np.isfinite(v)) or 1.0
        allowed = size * max(slack, 1e-6 if name.startswith("trailing") else 0.0)
        if not lower - allowed <= value <= upper + allowed:
            found.append(name)
    return found
