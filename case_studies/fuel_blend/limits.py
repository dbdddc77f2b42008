"""The explicit limits once more, in plain NumPy and by another way: an independent check.

The model blends properties of gases; here the species of the blend come first, and the properties
follow from those.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from case_studies.fuel_blend.gases import gases, species
from case_studies.fuel_blend.simulator import RATIO, SHARE
from case_studies.shared import referee
from case_studies.shared.referee import ROUNDING, Range


def limits(design: Mapping[str, float]) -> dict[str, Range]:
    """Return value, lower and upper limit of every constraint, by its name in the model."""
    x = np.array([design[g.name] for g in gases()], dtype=float)
    table = species()
    names = list(table)
    matrix = np.array([[g.composition.get(s, 0.0) for s in names] for g in gases()])
    moles = x @ matrix

    def total(value: str) -> float:
        return float(moles @ np.array([table[s][value] for s in names]))

    net = total("net") / 22.414
    carbon, hydrogen, oxygen = total("C"), total("H"), total("O")
    needed = carbon + hydrogen / 4 - oxygen / 2
    nitrogen = float(moles[names.index("N2")]) + needed * 79 / 21
    flue = carbon + hydrogen / 2 + nitrogen
    renewable = np.array([g.renewable for g in gases()], dtype=float)
    green = float((x * renewable) @ matrix @ np.array([table[s]["net"] for s in names])) / 22.414
    wobbe = total("gross") / 22.414 / np.sqrt(total("mass") / 28.96)
    infinite = float("inf")
    return {
        "fractions add up": (float(x.sum()), 1 - 1e-6, 1 + 1e-6),
        "heating value (MJ/m3)": (net, 12.0, infinite),
        "Wobbe index (MJ/m3)": (float(wobbe), 10.0, 16.0),
        "hydrogen content": (float(moles[names.index("H2")]), -infinite, 0.35),
        "hot flame (MJ/m3)": (net - 3.0 * flue, 0.0, infinite),
        "renewable heat (MJ/m3)": (green - 0.10 * net, 0.0, infinite),
        **{g.name: (float(design[g.name]), 0.0, g.most) for g in gases()},
        RATIO: (float(design[RATIO]), 1.02, 1.4),
        SHARE: (float(design[SHARE]), 0.42, 1.0),
    }


def exceeded(design: Mapping[str, float], slack: float = ROUNDING) -> list[str]:
    """Return the names of the constraints that a design violates; none if it is legal."""
    return referee.exceeded(limits(design), slack)
