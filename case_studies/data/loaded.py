"""Problems with a load that only the simulator looks at.

- ``welded_beam``: cost of a welded beam (Rao 1996, section 5), stresses, deflection and buckling
  simulated; the load is the force at its end, in lbf.
- ``cantilever``: volume of a stepped cantilever of five segments (Vanderplaats 1984), stresses and
  deflection simulated; the load is the force at its end, in N.
- ``moved``: objective of CEC 2006 g07 under its explicit constraints; the load moves the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import archeng
from archeng.model import Model
from case_studies import cec2006


@dataclass(frozen=True)
class Loaded:
    """A problem with the parameter ``load``."""

    label: str
    n: int
    model: Callable[[], Model]
    simulator: Callable[[archeng.Design], Any]
    loads: tuple[float, float]
    simulated: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)


def _beam() -> Model:
    model = archeng.Model("welded_beam")
    h = model.variable("h", lower=0.125, upper=5)
    model.variable("l", lower=0.1, upper=10)
    model.variable("t", lower=0.1, upper=10)
    b = model.variable("b", lower=0.1, upper=5)
    model.parameter("load", 6000.0)
    model.subject_to(h <= b, name="weld not thicker than the bar")
    return model


def _weld(design: archeng.Design) -> archeng.Evaluation:
    """Return cost and utilisations of the welded beam."""
    h, l, t, b = design.x  # noqa: E741
    P, length, E, G = design.parameters["load"], 14.0, 30e6, 12e6
    radius = np.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    direct = P / (np.sqrt(2) * h * l)
    polar = 2 * np.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    bending = P * (length + l / 2) * radius / polar
    shear = np.sqrt(direct**2 + direct * bending * l / radius + bending**2)
    buckling = 4.013 * E * t * b**3 / 6 / length**2 * (1 - t / (2 * length) * np.sqrt(E / (4 * G)))
    return archeng.Evaluation(
        1.10471 * h**2 * l + 0.04811 * t * b * (14 + l),
        constraints={
            "shear": shear / 13600,
            "stress": 6 * P * length / (b * t**2) / 30000,
            "deflection": 4 * P * length**3 / (E * t**3 * b) / 0.25,
            "buckling": P / buckling,
        },
    )


_SEGMENTS, _SEGMENT = 5, 1.0  # of the cantilever, in m


def _cantilever() -> Model:
    model = archeng.Model("cantilever")
    b = model.variable("b", shape=_SEGMENTS, lower=0.01, upper=0.1)
    h = model.variable("h", shape=_SEGMENTS, lower=0.1, upper=1.0)
    model.parameter("load", 50e3)
    for k in range(_SEGMENTS):
        model.subject_to(h[k] <= 20 * b[k], name=f"slender {k + 1}")
    return model


def _bend(design: archeng.Design) -> archeng.Evaluation:
    """Return volume and utilisations of the cantilever."""
    b, h, P = design["b"], design["h"], design.parameters["load"]
    E, allowed, most = 200e9, 140e6, 0.025
    root = _SEGMENT * np.arange(_SEGMENTS, 0, -1)  # arm of the force at the root of each segment
    tip = root - _SEGMENT
    inertia = b * h**3 / 12
    stresses = P * root * h / 2 / inertia
    deflection = float(np.sum(P * (root**3 - tip**3) / (3 * E * inertia)))
    constraints = {f"stress {k + 1}": s / allowed for k, s in enumerate(stresses.tolist())}
    return archeng.Evaluation(
        float(1e3 * _SEGMENT * np.sum(b * h)),
        constraints={**constraints, "deflection": deflection / most},
    )


def _moved() -> Model:
    model = cec2006.problem("g07").model
    model.parameter("load", 0.0)
    return model


_g07 = cec2006.problem("g07").objective


def _moved_g07(design: archeng.Design) -> float:
    return float(_g07(design.x + design.parameters["load"] * np.linspace(-1, 1, len(design.x))))


def _at_most_one(*names: str) -> dict[str, tuple[float | None, float | None]]:
    return dict.fromkeys(names, (None, 1.0))


LOADED = {
    "welded_beam": Loaded(
        "welded beam", 4, _beam, _weld, (4000.0, 8000.0),
        _at_most_one("shear", "stress", "deflection", "buckling"),
    ),
    "cantilever": Loaded(
        "stepped cantilever", 10, _cantilever, _bend, (30e3, 70e3),
        _at_most_one(*(f"stress {k + 1}" for k in range(_SEGMENTS)), "deflection"),
    ),
    "moved": Loaded("g07, moved", 10, _moved, _moved_g07, (0.0, 1.5)),
}  # fmt: skip
"""The problems by name."""
