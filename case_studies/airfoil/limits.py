"""The explicit limits once more, in NumPy and from the shape itself: an independent check.

The model has formulas of the weights; here the two surfaces are drawn by SciPy's Bernstein
polynomials, and thickness and trailing edge are measured on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from case_studies.airfoil.cases import Floats

ROUNDING = 1e-9  # relative; a limit that is met exactly must not fail by the last digit

Range = tuple[float, float, float]


@dataclass(frozen=True)
class Judged:
    """Figures that a section is judged by; written down once more, not taken from the model."""

    stations: tuple[float, ...]
    least: tuple[float, ...]
    trailing: float
    wiggles: float
    nose: float
    most_angle: float


JUDGED = {
    "low speed": Judged(
        (0.02, 0.05, 0.10, 0.20, 0.33, 0.45, 0.60, 0.75, 0.90, 0.96),
        (0.002, 0.002, 0.002, 0.002, 0.128, 0.002, 0.002, 0.002, 0.014, 0.002),
        trailing=6.03,
        wiggles=0.0929675861,
        nose=0.05,
        most_angle=18.0,
    ),
    "transport": Judged(
        (0.02, 0.05, 0.10, 0.20, 0.38, 0.50, 0.65, 0.75, 0.90, 0.96),
        (0.002, 0.002, 0.002, 0.095, 0.12, 0.002, 0.08, 0.002, 0.014, 0.002),
        trailing=6.0,
        wiggles=0.0929675861,
        nose=0.1,
        most_angle=8.0,
    ),
}
"""By the name of the shape."""


def surface(weights: ArrayLike, leading_edge: float, x: ArrayLike) -> Floats:
    """Height of a surface over the chord line at the stations ``x``, without trailing edge."""
    x, w = np.asarray(x, dtype=float), np.asarray(weights, dtype=float)
    shape = BPoly(w[:, None], [0.0, 1.0])
    bent = leading_edge * x * (1 - x) ** (len(w) + 0.5)
    return np.asarray(np.sqrt(x) * (1 - x) * shape(x) + bent)


def limits(design: Mapping[str, Any], shape: str) -> dict[str, Range]:
    """Return value, lower and upper limit of every constraint, by its name in the model."""
    judged = JUDGED[shape]
    upper, lower = (np.asarray(design[k], dtype=float) for k in ("upper", "lower"))
    nose = float(design["leading edge"])
    infinite = float("inf")
    gaps = surface(upper, nose, judged.stations) - surface(lower, nose, judged.stations)
    end = 1 - 1e-9  # slopes of the chords that end at the trailing edge
    slopes = [-float(surface(w, nose, end)) / (end - 1) for w in (upper, lower)]
    angle = float(np.degrees(np.arctan(slopes[0]) - np.arctan(slopes[1])))
    bends = [w[:-2] - 2 * w[1:-1] + w[2:] for w in (upper, lower)]
    return {
        **{
            f"thickness at {x}": (float(gap), least, infinite)
            for x, gap, least in zip(judged.stations, gaps, judged.least, strict=True)
        },
        "trailing edge (deg)": (angle, judged.trailing, infinite),
        "wiggliness": (float(sum(b @ b for b in bends)), -infinite, judged.wiggles),
        **_ordered(np.atleast_1d(np.asarray(design["angle"], dtype=float)), judged.most_angle),
        "blunt above": (float(upper[0]), judged.nose, infinite),
        "blunt below": (float(lower[0]), -infinite, -judged.nose),
        "upper, least": (float(upper.min()), -0.25, infinite),
        "upper, most": (float(upper.max()), -infinite, 0.5),
        "lower, least": (float(lower.min()), -0.5, infinite),
        "lower, most": (float(lower.max()), -infinite, 0.25),
        "leading edge": (nose, -1.0, 1.0),
    }


def _ordered(angles: Floats, most: float) -> dict[str, Range]:
    steps = np.diff(angles)
    return {
        "angle, least": (float(angles.min()), -5.0, float("inf")),
        "angle, most": (float(angles.max()), -float("inf"), most),
        **{
            f"more angle, more lift (deg)[{i}]": (float(d), 0.0, float("inf"))
            for i, d in enumerate(steps)
        },
    }


def exceeded(design: Mapping[str, Any], shape: str, slack: float = ROUNDING) -> list[str]:
    """Return the names of the limits that a design violates; none if it is legal.

    ``shape`` is the name of a shape in `JUDGED`; ``slack`` is relative to the limit. The trailing
    edge is measured on a chord of 1e-9 and is allowed 1e-6 of its limit.
    """
    found = []
    for name, (value, lower, upper) in limits(design, shape).items():
        size = max(abs(v) for v in (lower, upper) if np.isfinite(v)) or 1.0
        allowed = size * max(slack, 1e-6 if name.startswith("trailing") else 0.0)
        if not lower - allowed <= value <= upper + allowed:
            found.append(name)
    return found
