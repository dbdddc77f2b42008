"""A referee: catalogues, explicit rules and cost once more, in plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from case_studies.flange import data
from case_studies.flange.ring import Joint, State

ROUNDING = 1e-9  # of each limit


@dataclass(frozen=True)
class Parts:
    """A design as plain values, named as the variables of the model."""

    bolt: str
    bolts: int
    gasket: str
    gasket_width: float
    plate: float
    steel: str
    bolt_circle: float
    preload: float

    @classmethod
    def of(cls, design: Mapping[str, Any]) -> Parts:
        """Return the parts of a design."""
        return cls(
            bolt=str(design["bolt"]),
            bolts=design["bolts"],
            gasket=str(design["gasket"]),
            gasket_width=design["gasket width"],
            plate=design["plate"],
            steel=str(design["steel"]),
            bolt_circle=float(design["bolt circle"]),
            preload=float(design["preload"]),
        )

    @property
    def outer(self) -> float:
        """Outer diameter of the plates, mm."""
        return self.bolt_circle + 2 * data.EDGE * data.bolts()[self.bolt]["hole"]

    @property
    def gasket_outer(self) -> float:
        """Outer diameter of the gasket, mm."""
        return data.BORE + 2 * data.GASKET_CLEARANCE + 2 * self.gasket_width

    @property
    def gasket_area(self) -> float:
        """Of the ring, mm2."""
        inner = data.BORE + 2 * data.GASKET_CLEARANCE
        return float(np.pi / 4 * (self.gasket_outer**2 - inner**2))

    @property
    def bolt_force(self) -> float:
        """Preload of one bolt, N."""
        return self.preload * data.BOLT_YIELD * data.bolts()[self.bolt]["stress_area"]

    @property
    def least_circle(self) -> float:
        """Smallest bolt circle that the rules of room allow, mm."""
        row = data.bolts()[self.bolt]
        return float(
            max(
                self.gasket_outer + row["hole"] + 2 * data.BOLT_CLEARANCE,
                data.BORE + 2 * (data.WALL + data.WELD) + row["washer"],
                row["spacing"] / np.sin(np.pi / self.bolts),
            )
        )

    def joint(self) -> Joint:
        """Return the numbers that the ring model needs."""
        row, gasket = data.bolts()[self.bolt], data.GASKETS[self.gasket]
        return Joint(
            bolts=self.bolts,
            bolt_diameter=row["diameter"],
            stress_area=row["stress_area"],
            hole=row["hole"],
            bolt_circle=self.bolt_circle,
            preload=self.bolt_force,
            thickness=self.plate,
            gasket_width=self.gasket_width,
            gasket_modulus=gasket["modulus"],
            gasket_thickness=gasket["thickness"],
        )


def cost(parts: Parts) -> float:
    """Return the cost of a joint, two plates, in euros."""
    steel, gasket = data.STEELS[parts.steel], data.GASKETS[parts.gasket]
    volume = np.pi / 4 * (parts.outer**2 - data.BORE**2) * parts.plate
    plates = 2 * volume * data.DENSITY * steel["price"]
    holes = 2 * parts.bolts * (data.HOLE + data.DRILLING * parts.plate)
    bolts = parts.bolts * (data.bolts()[parts.bolt]["price"] + data.FITTING)
    return float(plates + holes + bolts + gasket["price"] * parts.gasket_area / data.SQUARE_METRE)


def broken_rules(parts: Parts) -> list[str]:
    """Return in words which rules a design breaks by more than rounding; parts not on a list first.

    A design with a part that is on no list is judged no further.
    """
    broken = _not_listed(parts)
    if broken:
        return broken
    gasket = data.GASKETS[parts.gasket]
    total = parts.bolts * parts.bolt_force
    inner = data.BORE + 2 * data.GASKET_CLEARANCE
    end = data.PRESSURE * np.pi / 4 * inner**2
    least, most = data.PRELOAD
    rules = {
        "the preload is out of its bounds": least <= parts.preload <= most,
        "bolts, gasket and weld have no room": _at_most(parts.least_circle, parts.bolt_circle),
        "the plates are too wide": _at_most(parts.outer, data.WIDEST),
        "the gasket is not seated": _at_most(
            gasket["seating"] * parts.gasket_area, (1 - data.SCATTER) * total
        ),
        "the gasket is crushed": _at_most(
            (1 + data.SCATTER) * total, gasket["most"] * parts.gasket_area
        ),
        "the preload is less than the load": _at_most(
            end + gasket["operating"] * parts.gasket_area, (1 - data.SCATTER) * total
        ),
    }
    return [what for what, holds in rules.items() if not holds]


def beyond_limits(parts: Parts, state: State) -> list[str]:
    """Return in words which simulated limits a joint exceeds."""
    gasket, steel = data.GASKETS[parts.gasket], data.STEELS[parts.steel]
    force = data.BOLT_SHARE * data.BOLT_YIELD * data.bolts()[parts.bolt]["stress_area"] / 1e3
    limits = {
        "gasket pressure in operation": gasket["operating"] <= state.least_pressure,
        "gasket pressure when assembled": state.most_pressure <= gasket["most"],
        "rotation": state.rotation <= data.MOST_ROTATION,
        "plate stress": state.plate_stress <= steel["yield"] / data.PLATE_SAFETY,
        "bolt force": state.bolt_force <= force,
    }
    return [what for what, holds in limits.items() if not holds]


def _at_most(value: float, limit: float) -> bool:
    return bool(value <= limit * (1 + ROUNDING))


def _not_listed(parts: Parts) -> list[str]:
    low, high = data.NUMBER
    listed = {
        f"bolt {parts.bolt}": parts.bolt in data.bolts(),
        f"{parts.bolts} bolts": parts.bolts in range(low, high + 1),
        f"gasket {parts.gasket}": parts.gasket in data.GASKETS,
        f"gasket width {parts.gasket_width}": parts.gasket_width in data.WIDTHS,
        f"plate {parts.plate}": parts.plate in data.THICKNESSES,
        f"steel {parts.steel}": parts.steel in data.STEELS,
    }
    return [f"{what} is not in the catalogue" for what, there in listed.items() if not there]
