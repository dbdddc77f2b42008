"""Beams: the welded beam, two stepped cantilevers and an I-beam."""

from __future__ import annotations

import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats
from case_studies.welded_beam.model import OVERHANG, build_model
from case_studies.welded_beam.simulator import BAR_STOCK, LABOUR, WELD_METAL

# -- welded beam: the model is the one of the demo -----------------------------------------


def _welded_beam_cost(x: Floats) -> float:
    h, length, t, b = x
    return (LABOUR + WELD_METAL) * h**2 * length + BAR_STOCK * t * b * (OVERHANG + length)


# -- cantilever of five hollow square segments ---------------------------------------------

_SQUARE_FLEXIBILITY = (61.0, 37.0, 19.0, 7.0, 1.0)
"""Share of each segment in the tip deflection, from the wall to the tip."""


def _square_cantilever() -> Model:
    model = Model("cantilever of five hollow squares")
    sides = [model.variable(f"side {i}", lower=0.01, upper=100) for i in range(1, 6)]
    deflection = sum(c / s**3 for c, s in zip(_SQUARE_FLEXIBILITY, sides, strict=True))
    model.subject_to(deflection <= 1, name="tip deflection over limit")
    return model


def _square_cantilever_weight(x: Floats) -> float:
    return 0.0624 * x.sum()


# -- cantilever of five rectangular segments -----------------------------------------------

_LOAD = 50_000.0  # N, at the tip
_SEGMENT = 100.0  # cm, length of each segment
_YOUNG = 2e7  # N / cm^2
_STRESS = 14_000.0  # N / cm^2
_DEFLECTION = 2.7  # cm


def _stepped_cantilever() -> Model:
    model = Model("stepped cantilever")
    widths = [model.variable(f"width {i}", lower=1, upper=5, unit="cm") for i in range(1, 6)]
    heights = [model.variable(f"height {i}", lower=30, upper=65, unit="cm") for i in range(1, 6)]
    flexibility = 0.0
    for i, (b, h) in enumerate(zip(widths, heights, strict=True), start=1):
        arm = (6 - i) * _SEGMENT  # from the tip to the inner end of segment i
        stress = 6 * _LOAD * arm / (b * h**2)
        flexibility += ((6 - i) ** 3 - (5 - i) ** 3) / (b * h**3 / 12)
        model.subject_to(stress <= _STRESS, name=f"bending stress {i} (N/cm2)")
        model.subject_to(h <= 20 * b, name=f"aspect ratio {i} (cm)")
    deflection = _LOAD * _SEGMENT**3 / (3 * _YOUNG) * flexibility
    model.subject_to(deflection <= _DEFLECTION, name="tip deflection (cm)")
    return model


def _stepped_cantilever_volume(x: Floats) -> float:
    return _SEGMENT * (x[:5] * x[5:]).sum()


# -- I-beam of least deflection --------------------------------------------------------------


def _i_beam() -> Model:
    model = Model("I-beam")
    h = model.variable("height", lower=10, upper=80, unit="cm")
    b = model.variable("flange width", lower=10, upper=50, unit="cm")
    web = model.variable("web thickness", lower=0.9, upper=5, unit="cm")
    flange = model.variable("flange thickness", lower=0.9, upper=5, unit="cm")
    inner = h - 2 * flange
    strong = web * inner**3 + 2 * b * flange * (4 * flange**2 + 3 * h * inner)
    weak = inner * web**3 + 2 * flange * b**3
    model.subject_to(2 * b * flange + web * inner <= 300, name="area (cm2)")
    stress = 180_000 * h / strong + 15_000 * b / weak
    model.subject_to(stress <= 56, name="bending stress (kN/cm2)")
    return model


def _i_beam_deflection(x: Floats) -> float:
    h, b, web, flange = x
    inertia = web * (h - 2 * flange) ** 3 / 12 + b * flange**3 / 6
    inertia = inertia + 2 * b * flange * ((h - flange) / 2) ** 2
    return 5000.0 / inertia


def square_cantilever_optimum() -> tuple[float, Floats]:
    """Return the optimum of the cantilever of five squares, which has a closed form.

    The weight is w sum(s) and the row sum(c / s^3) = 1 is active. The condition of Lagrange
    makes each s proportional to c^(1/4).
    """
    root = np.array(_SQUARE_FLEXIBILITY) ** 0.25
    sides = root * root.sum() ** (1 / 3)
    return _square_cantilever_weight(sides), sides


DEFINITIONS: dict[str, Definition] = {
    "welded_beam": Definition("Welded beam of least cost", build_model, _welded_beam_cost),
    "cantilever_square": Definition(
        "Cantilever of five hollow squares, least weight",
        _square_cantilever,
        _square_cantilever_weight,
    ),
    "cantilever_stepped": Definition(
        "Stepped cantilever of five rectangles, least volume",
        _stepped_cantilever,
        _stepped_cantilever_volume,
        relaxed=("width 1", "width 2", "width 3", "height 1", "height 2", "height 3"),
    ),
    "i_beam": Definition("I-beam of least deflection", _i_beam, _i_beam_deflection),
}
"""Definition of each problem of this module."""
