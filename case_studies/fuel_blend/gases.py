"""The gases that can be blended: data of ``gases.json`` and what follows from them per m3.

Volumes are at 0 C and 101.325 kPa; the gases are ideal, so that volume fractions are mole
fractions and all properties below are linear in them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("gases.json")
MOLAR_VOLUME = 22.414  # m3/kmol
AIR_MASS = 28.96  # kg/kmol
OXYGEN_IN_AIR = 0.21


@dataclass(frozen=True)
class Gas:
    """One gas. Per m3: heating values in MJ, flue gas and oxygen in m3, carbon in kg of CO2."""

    name: str
    composition: Mapping[str, float]
    most: float
    price: float  # EUR/GJ, net
    allowances: bool
    renewable: bool
    net: float
    gross: float
    density: float  # relative to air
    oxygen: float
    flue: float
    carbon: float


@cache
def gases() -> tuple[Gas, ...]:
    """Return the gases in the order of the file."""
    data = _data()
    return tuple(_gas(name, entry, data["species"]) for name, entry in data["gases"].items())


def species() -> dict[str, dict[str, float]]:
    """Return the table of species: heating values, molar masses, formulas."""
    return {k: v for k, v in _data()["species"].items() if k != "note"}


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def _gas(name: str, entry: dict[str, Any], table: dict[str, dict[str, float]]) -> Gas:
    composition = entry["composition"]

    def mean(value: Any) -> float:
        return float(sum(x * value(table[s]) for s, x in composition.items()))

    oxygen = mean(lambda s: s["C"] + s["H"] / 4 - s["O"] / 2)
    products = mean(lambda s: s["C"] + s["H"] / 2) + composition.get("N2", 0.0)
    return Gas(
        name=name,
        composition=composition,
        most=entry["most"],
        price=entry["price"],
        allowances=entry["allowances"],
        renewable=entry["renewable"],
        net=mean(lambda s: s["net"]) / MOLAR_VOLUME,
        gross=mean(lambda s: s["gross"]) / MOLAR_VOLUME,
        density=mean(lambda s: s["mass"]) / AIR_MASS,
        oxygen=oxygen,
        flue=products + oxygen * (1 - OXYGEN_IN_AIR) / OXYGEN_IN_AIR,
        carbon=44.01 / MOLAR_VOLUME * mean(lambda s: s["C"]),
    )
