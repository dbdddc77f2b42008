"""The black box: what a welded beam costs to make. It knows nothing of CasADi or archeng.

It stands for an expensive program that must not be run at an illegal design. To show that it
never is, it checks every design it receives, with formulas of its own, and refuses illegal ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

LABOUR = 1.0  # $ per cubic inch of weld
WELD_METAL = 0.10471  # $ per cubic inch
BAR_STOCK = 0.04811  # $ per cubic inch
ROUNDING = 1e-9  # relative; a limit that is met exactly must not fail by the last digit


class FabricationCost:
    """Callable that prices a design and counts its calls.

    Attributes
    ----------
    n_calls : int
        Calls so far.
    n_illegal : int
        How many of them were at designs that exceed a limit.
    """

    def __init__(self) -> None:
        self.n_calls = 0
        self.n_illegal = 0

    def __call__(self, design: Mapping[str, float]) -> float:
        """Return the fabrication cost in dollars.

        Raises
        ------
        ValueError
            If the design exceeds a limit.
        """
        self.n_calls += 1
        h = float(design["weld thickness"])
        l = float(design["weld length"])  # noqa: E741
        t = float(design["bar height"])
        b = float(design["bar thickness"])
        exceeded = exceeded_limits(h, l, t, b)
        if exceeded:
            self.n_illegal += 1
            raise ValueError(f"illegal design {h, l, t, b}: {'; '.join(exceeded)}")
        weld_volume = h**2 * l  # two fillets of h^2 / 2 each
        bar_volume = t * b * (14.0 + l)
        return (LABOUR + WELD_METAL) * weld_volume + BAR_STOCK * bar_volume


def exceeded_limits(h: float, l: float, t: float, b: float) -> list[str]:  # noqa: E741
    """Return the limits that a design exceeds, in words; none if it is legal."""
    return [
        f"{name} {value:.10g} is above {limit:.10g}"
        for name, (value, limit) in _utilisation(h, l, t, b).items()
        if not value <= limit + ROUNDING * abs(limit)
    ]


def _utilisation(
    h: float,
    l: float,  # noqa: E741
    t: float,
    b: float,
) -> dict[str, tuple[float, float]]:
    """Return each quantity with its upper limit (lower limits with both signs changed).

    The shear stress is added up by components and the bar is treated by beam theory, which is
    another way to the formulas of the model.
    """
    load, overhang, young, shear = 6000.0, 14.0, 30e6, 12e6

    # Weld group: load at distance arm from its centre, farthest point at (l/2, (h + t)/2).
    arm = overhang + 0.5 * l
    x, y = 0.5 * l, 0.5 * (h + t)
    area = np.sqrt(2.0) * h * l
    twist = load * arm / (2.0 * area * (l**2 / 12.0 + y**2))
    weld_stress = np.hypot(load / area + twist * x, twist * y)

    # Bar: cantilever with second moments I about the strong and about the weak axis.
    strong, weak = b * t**3 / 12.0, t * b**3 / 12.0
    bar_stress = load * overhang * (0.5 * t) / strong
    deflection = load * overhang**3 / (3.0 * young * strong)
    lateral = 4.013 * young * (2.0 * weak) / overhang**2
    buckling = lateral * (1.0 - 0.25 * t / overhang * np.sqrt(young / shear))

    return {
        "shear stress": (float(weld_stress), 13600.0),
        "bending stress": (bar_stress, 30000.0),
        "weld thickness over bar thickness": (h / b, 1.0),
        "material cost": (WELD_METAL * h**2 + BAR_STOCK * t * b * (overhang + l), 5.0),
        "minus weld thickness": (-h, -0.125),
        "end deflection": (deflection, 0.25),
        "minus buckling load": (-float(buckling), -load),
        "weld thickness": (h, 2.0),
        "weld length": (l, 10.0),
        "minus weld length": (-l, -0.1),
        "bar height": (t, 10.0),
        "minus bar height": (-t, -0.1),
        "bar thickness": (b, 2.0),
        "minus bar thickness": (-b, -0.1),
    }
