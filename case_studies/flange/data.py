"""The joint as data: what is given, and the catalogues. Units are mm, N, MPa and euros.

Bolts are in ``bolts.csv``. Standards are named in README.md; prices, and the figures of the
gaskets, are typical ones and those of no product.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

BOLT_TABLE = Path(__file__).with_name("bolts.csv")

# -- given -----------------------------------------------------------------------------------

BORE = 207.0  # mm: inner diameter of the pipe, DN 200
WALL = 6.0  # mm: of the pipe
WELD = 5.0  # mm: leg of the weld between pipe and plate
PRESSURE = 4.0  # MPa
YOUNG = 210e3  # MPa, of plates, pipe and bolts
POISSON = 0.3
DENSITY = 7.85e-6  # kg/mm3
BOLT_YIELD = 640.0  # MPa, class 8.8
GASKET_CLEARANCE = 4.0  # mm, from the bore to the gasket
BOLT_CLEARANCE = 2.0  # mm, from the gasket to the holes
EDGE = 1.3  # from the centre of a hole to the edge of the plate, over the hole
SCATTER = 0.2  # of the preload by a torque wrench

# -- limits ----------------------------------------------------------------------------------

WIDEST = 460.0  # mm, outer diameter: there is no more room
MOST_ROTATION = 0.3  # degrees, of a flange that is welded to its pipe
PLATE_SAFETY = 1.5  # yield over stress
BOLT_SHARE = 0.8  # of the yield of a bolt in operation
PRELOAD = (0.2, 0.65)  # bounds of the preload as a share of the yield

# -- parts -----------------------------------------------------------------------------------

NUMBER = (6, 24)
"""Least and most bolts."""

THICKNESSES = (10, 12, 15, 18, 20, 22, 25, 30, 35, 40)
"""Of the plate, mm: usual ones of hot rolled plate."""

WIDTHS = (8, 10, 12, 15, 20, 25)
"""Of the gasket ring, mm."""

STEELS: dict[str, dict[str, float]] = {
    "S235": {"yield": 235.0, "price": 1.60},
    "S355": {"yield": 355.0, "price": 1.95},
    "1.4404": {"yield": 220.0, "price": 5.80},
}
"""Yield strength in MPa and price of a kilogram, cut."""

GASKETS: dict[str, dict[str, float]] = {
    "rubber": {
        "seating": 2.0, "operating": 5.0, "most": 18.0, "modulus": 80.0, "thickness": 3.0,
        "price": 70.0,
    },
    "filled PTFE": {
        "seating": 14.0, "operating": 9.0, "most": 55.0, "modulus": 500.0, "thickness": 2.0,
        "price": 450.0,
    },
    "fibre": {
        "seating": 22.0, "operating": 12.0, "most": 110.0, "modulus": 1200.0, "thickness": 2.0,
        "price": 160.0,
    },
    "graphite": {
        "seating": 20.0, "operating": 8.0, "most": 130.0, "modulus": 900.0, "thickness": 2.0,
        "price": 320.0,
    },
}  # fmt: skip
"""Least mean pressure when it is assembled, least pressure in operation, most pressure and modulus
in MPa, thickness in mm, price of a square metre."""

# -- prices in euros -------------------------------------------------------------------------

HOLE = 0.60  # for each, and
DRILLING = 0.045  # for each mm of its depth
FITTING = 1.80  # a bolt: placing and tightening it twice
SQUARE_METRE = 1e6  # mm2


@cache
def bolts() -> dict[str, dict[str, float]]:
    """Return the rows of the bolt table by name."""
    with BOLT_TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row.pop("name"): {key: float(value) for key, value in row.items()} for row in rows}
