"""What is asked of the section: flight conditions, and the figures of the known designs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WEIGHTS = 8
"""Kulfan weights of each surface: what NeuralFoil takes."""
LEAST_MOMENT = -0.133
LEAST_CONFIDENCE = 0.90
NETWORK = "large"
"""Size of the network that is optimised."""
CHECK_NETWORK = "xxxlarge"
"""Size of the network that checks the result."""


@dataclass(frozen=True)
class Case:
    """Lift coefficients at which the section flies, and how much the drag counts at each.

    Attributes
    ----------
    name : str
    lifts, weights : tuple of float
    """

    name: str
    lifts: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def reynolds(self) -> Floats:
        """Reynolds number at each lift: the aircraft flies slower where the lift is high."""
        return np.asarray(500e3 * (np.array(self.lifts) / 1.25) ** -0.5)

    def drag(self, coefficients: Floats) -> float:
        """Weighted mean of drag coefficients, in counts (1e-4)."""
        return 1e4 * float(np.average(coefficients, weights=self.weights))


CASES = {
    "point": Case("point", (1.25,), (1.0,)),
    "polar": Case("polar", (0.8, 1.0, 1.2, 1.4, 1.5, 1.6), (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)),
}
"""One flight condition, and the six of the published problem."""


def simulated_limits(case: Case) -> dict[str, tuple[float, None]]:
    """Return the limits of the simulated constraints, by name."""
    return {
        **{f"lift at {c:g}": (c, None) for c in case.lifts},
        **{f"moment at {c:g}": (LEAST_MOMENT, None) for c in case.lifts},
        **{f"confidence at {c:g}": (LEAST_CONFIDENCE, None) for c in case.lifts},
    }


@cache
def reference() -> dict[str, Any]:
    """Return what ``reference.json`` holds."""
    path = Path(__file__).with_name("reference.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
