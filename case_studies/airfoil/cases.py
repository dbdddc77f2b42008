"""What is asked of the section: flight conditions, and the figures of the known designs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from case_studies.airfoil.shapes import LOW_SPEED, TRANSPORT, Shape

Floats = NDArray[np.float64]

WEIGHTS = 8
"""Kulfan weights of each surface: what NeuralFoil takes."""
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
        The lifts are lower limits.
    shape : Shape
        Limits of the geometry.
    least_moment : float
        Lower limit of the moment coefficient about the quarter chord.
    start : str
        Section at which a search begins, in ``reference.json``.
    expert : str
        Section that an expert designed for such a task.
    mach : float
        Mach number; 0 for incompressible flow, without any correction.
    transition : float
        Where the boundary layers are tripped, in chords; 1 leaves them free.
    chord_reynolds : float or None
        Reynolds number; None for an aircraft that flies slower where the lift is high.
    best_ratio : bool
        Whether lift over drag is maximised, at whatever lift above the limit suits it best;
        otherwise the drag is minimised.
    """

    name: str
    lifts: tuple[float, ...]
    weights: tuple[float, ...]
    shape: Shape = LOW_SPEED
    least_moment: float = -0.133
    start: str = "NACA 4412"
    expert: str = "DAE-11"
    mach: float = 0.0
    transition: float = 1.0
    chord_reynolds: float | None = None
    best_ratio: bool = False

    @property
    def reynolds(self) -> Floats:
        """Reynolds number at each lift."""
        lifts = np.array(self.lifts)
        if self.chord_reynolds is not None:
            return np.full(lifts.shape, self.chord_reynolds)
        return np.asarray(500e3 * (lifts / 1.25) ** -0.5)

    @property
    def sense(self) -> Literal["minimize", "maximize"]:
        """What is to be done with the objective."""
        return "maximize" if self.best_ratio else "minimize"

    def objective(self, lift: Floats, drag: Floats) -> float:
        """Weighted mean of drag coefficients in counts (1e-4), or lift over drag."""
        values = lift / drag if self.best_ratio else drag
        return (1.0 if self.best_ratio else 1e4) * float(np.average(values, weights=self.weights))

    @property
    def sign(self) -> float:
        """Of the objective when it is minimised."""
        return -1.0 if self.best_ratio else 1.0


CASES = {
    "transonic": Case(
        "transonic",
        (0.4,),
        (1.0,),
        shape=TRANSPORT,
        least_moment=-0.12,
        start="RAE 2822",
        expert="RAE 2822",
        mach=0.73,
        transition=0.07,
        chord_reynolds=6.5e6,
        best_ratio=True,
    ),
    "point": Case("point", (1.25,), (1.0,)),
    "polar": Case("polar", (0.8, 1.0, 1.2, 1.4, 1.5, 1.6), (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)),
}
"""A transport aircraft; a human-powered one at one lift, and at the six of the published
problem."""


def simulated_limits(case: Case) -> dict[str, tuple[float, None]]:
    """Return the limits of the simulated constraints, by name."""
    where = [""] if case.best_ratio else [f" at {c:g}" for c in case.lifts]
    return {
        **{f"lift{w}": (c, None) for w, c in zip(where, case.lifts, strict=True)},
        **{f"moment{w}": (case.least_moment, None) for w in where},
        **{f"confidence{w}": (LEAST_CONFIDENCE, None) for w in where},
    }


@cache
def reference() -> dict[str, Any]:
    """Return what ``reference.json`` holds."""
    path = Path(__file__).with_name("reference.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
