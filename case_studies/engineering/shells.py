"""Shells and plates: pressure vessel, tubular column and corrugated bulkhead."""

from __future__ import annotations

import math

import casadi as ca

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

# -- pressure vessel -------------------------------------------------------------------------


def _pressure_vessel() -> Model:
    model = Model("pressure vessel")
    shell = model.variable("shell thickness", lower=0.0625, upper=6.1875, unit="in")
    head = model.variable("head thickness", lower=0.0625, upper=6.1875, unit="in")
    radius = model.variable("radius", lower=10, upper=200, unit="in")
    length = model.variable("length", lower=10, upper=200, unit="in")
    volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
    model.subject_to(shell >= 0.0193 * radius, name="hoop stress in shell (in)")
    model.subject_to(head >= 0.00954 * radius, name="stress in head (in)")
    model.subject_to(volume >= 1_296_000, name="volume (in3)")
    model.subject_to(length <= 240, name="length (in)")
    return model


def _pressure_vessel_cost(x: Floats) -> float:
    shell, head, radius, length = x
    forming = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    return forming + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius


# -- tubular column --------------------------------------------------------------------------


def _tubular_column() -> Model:
    model = Model("tubular column")
    d = model.variable("mean diameter", lower=2, upper=14, unit="cm")
    t = model.variable("wall thickness", lower=0.2, upper=0.8, unit="cm")
    load, strength, length, young = 2500.0, 500.0, 250.0, 0.85e6  # kgf, cm
    stress = load / (math.pi * d * t)
    buckling = math.pi**2 * young * (d**2 + t**2) / (8 * length**2)
    model.subject_to(stress <= strength, name="stress (kgf/cm2)")
    model.subject_to(stress <= buckling, name="stress below buckling (kgf/cm2)")
    return model


def _tubular_column_cost(x: Floats) -> float:
    d, t = x
    return 9.82 * d * t + 2.0 * d


# -- corrugated bulkhead ---------------------------------------------------------------------


def _corrugated_bulkhead() -> Model:
    model = Model("corrugated bulkhead")
    b = model.variable("width", lower=0, upper=100, unit="cm")
    h = model.variable("depth", lower=0, upper=100, unit="cm")
    side = model.variable("length", lower=0, upper=100, unit="cm")
    t = model.variable("plate thickness", lower=0, upper=5, unit="cm")
    # The row "slope" makes the difference positive; the absolute value keeps the other rows
    # defined elsewhere.
    pitch = b + ca.sqrt(ca.fabs(side**2 - h**2))
    modulus = t * h * (0.4 * b + side / 6)
    inertia = t * h**2 * (0.2 * b + side / 12)
    model.subject_to(modulus >= 8.94 * pitch, name="section modulus (cm3)")
    model.subject_to(inertia >= 2.2 * (8.94 * pitch) ** (4 / 3), name="moment of inertia (cm4)")
    model.subject_to(t >= 0.0156 * b + 0.15, name="thickness for width (cm)")
    model.subject_to(t >= 0.0156 * side + 0.15, name="thickness for length (cm)")
    model.subject_to(t >= 1.05, name="least thickness (cm)")
    model.subject_to(side >= h, name="slope (cm)")
    return model


def _corrugated_bulkhead_weight(x: Floats) -> float:
    b, h, side, t = x
    return 5.885 * t * (b + side) / (b + (side**2 - h**2) ** 0.5)


DEFINITIONS: dict[str, Definition] = {
    "pressure_vessel": Definition(
        "Pressure vessel of least cost",
        _pressure_vessel,
        _pressure_vessel_cost,
        relaxed=("shell thickness", "head thickness"),
    ),
    "tubular_column": Definition(
        "Tubular column of least cost", _tubular_column, _tubular_column_cost
    ),
    "corrugated_bulkhead": Definition(
        "Corrugated bulkhead of least weight", _corrugated_bulkhead, _corrugated_bulkhead_weight
    ),
}
"""Definition of each problem of this module."""
