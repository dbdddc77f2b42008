"""Variables and explicit constraints of the welded beam, as CasADi formulas."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from archeng import Model

LOAD = 6000.0  # P, lb
OVERHANG = 14.0  # L, in: from the weld to the load
YOUNG = 30e6  # E, psi
SHEAR_MODULUS = 12e6  # G, psi

KNOWN_DESIGN = {
    "weld thickness": 0.205729639786080,
    "weld length": 3.470488665628002,
    "bar height": 9.036623910357634,
    "bar thickness": 0.205729639786080,
}
"""Best known design in inches (source: README.md)."""

KNOWN_COST = 1.724852308597365
"""Its fabrication cost in dollars."""


def build_model() -> Model:
    """Return the welded beam in the form of Coello Coello (2000): 4 variables, 7 constraints."""
    model = Model("welded beam")
    h = model.variable("weld thickness", lower=0.1, upper=2, unit="in")
    l = model.variable("weld length", lower=0.1, upper=10, unit="in")  # noqa: E741
    t = model.variable("bar height", lower=0.1, upper=10, unit="in")
    b = model.variable("bar thickness", lower=0.1, upper=2, unit="in")

    stress = 6 * LOAD * OVERHANG / (b * t**2)
    deflection = 4 * LOAD * OVERHANG**3 / (YOUNG * b * t**3)
    material = 0.10471 * h**2 + 0.04811 * t * b * (OVERHANG + l)

    model.subject_to(_shear_stress(h, l, t) <= 13600, name="shear stress (psi)")
    model.subject_to(stress <= 30000, name="bending stress (psi)")
    model.subject_to(h <= b, name="weld not thicker than bar (in)")
    model.subject_to(material <= 5, name="material cost ($)")
    model.subject_to(h >= 0.125, name="least weld thickness (in)")
    model.subject_to(deflection <= 0.25, name="end deflection (in)")
    model.subject_to(_buckling_load(t, b) >= LOAD, name="buckling load (lb)")
    return model


def _shear_stress(h: Any, l: Any, t: Any) -> Any:  # noqa: E741
    """Resultant shear stress in the weld, psi: direct part tau1, part from twisting tau2."""
    moment = LOAD * (OVERHANG + l / 2)
    radius = ca.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    tau1 = LOAD / (math.sqrt(2) * h * l)
    tau2 = moment * radius / polar
    return ca.sqrt(tau1**2 + tau1 * tau2 * l / radius + tau2**2)


def _buckling_load(t: Any, b: Any) -> Any:
    """Load at which the bar buckles sideways, lb; sqrt(t^2 b^6 / 36) is t b^3 / 6."""
    slender = 1 - t / (2 * OVERHANG) * math.sqrt(YOUNG / (4 * SHEAR_MODULUS))
    return 4.013 * YOUNG * (t * b**3 / 6) / OVERHANG**2 * slender
