"""Pairs of simulators of the same thing, a cheap and a dear one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import archeng

Floats = NDArray[np.float64]
Simulator = Callable[[archeng.Design], float]


@dataclass(frozen=True)
class Pair:
    """A model with two simulators; ``tuned``: numbers of the method were chosen with it in view."""

    name: str
    model: Callable[[], archeng.Model]
    coarse: Simulator
    fine: Simulator
    target: float  # best known objective, and 1e-4 of it
    ratio: float = 0.05  # cost of a coarse call over that of a fine one
    tuned: bool = False


def _box() -> archeng.Model:
    model = archeng.Model("valley")
    x = model.variable("x", shape=4, lower=-2.0, upper=2.0)
    model.subject_to(x[0] + x[1] <= 1.5, name="cut")
    return model


def _valley(x: Floats) -> float:
    return float(np.sum(8 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2 + np.cosh(x[1:])))


def _fine_valley(design: archeng.Design) -> float:
    return _valley(np.asarray(design.x))


def _shifted_valley(design: archeng.Design) -> float:
    return 5.0 + 1.3 * _valley(np.asarray(design.x) * 1.02 + 0.02)


def _unrelated(design: archeng.Design) -> float:
    x = np.asarray(design.x)
    return float(np.sin(40 * x[0] + 7) + np.cos(31 * x[1] + 3) + np.sin(23 * x[2]))


def _absorber() -> archeng.Model:
    model = archeng.Model("absorber")
    k = model.variable("stiffness", lower=0.2, upper=3.0)
    c = model.variable("damping", lower=0.02, upper=1.0)
    m = model.variable("mass", lower=0.05, upper=0.5)
    model.subject_to(k <= 8 * m, name="frequency")
    model.subject_to(m + 0.2 * c <= 0.35, name="budget")
    return model


def _vibration(design: archeng.Design, steps: int) -> float:
    """Return the mean square motion of a mass with an absorber after a push, by Heun's method."""
    k, c, m = (float(design[name]) for name in ("stiffness", "damping", "mass"))
    A = np.array(
        [
            [0, 1, 0, 0],
            [-(4 + k), -(0.05 + c), k, c],
            [0, 0, 0, 1],
            [k / m, c / m, -k / m, -c / m],
        ]
    )
    h, state, total = 20.0 / steps, np.array([0.0, 1.0, 0.0, 0.0]), 0.0
    step = np.eye(4) + h * A + h**2 / 2 * (A @ A)
    for _ in range(steps):
        state = step @ state
        total += h * state[0] ** 2
    return float(total + 0.05 * m + 0.02 * c)


def _section() -> archeng.Model:
    """Return a family of sections: NACA 4412 with its surfaces stretched, front and rear."""
    model = archeng.Model("section")
    upper = model.variable("upper", shape=2, lower=0.6, upper=1.5)
    lower = model.variable("lower", shape=2, lower=0.3, upper=1.5)
    model.variable("angle", lower=0.0, upper=8.0, unit="degrees")
    thick = 0.5 * (upper[0] + upper[1]) * 0.098 + 0.5 * (lower[0] + lower[1]) * 0.029
    model.subject_to(thick >= 0.11, name="spar")
    model.subject_to(upper[1] - upper[0] <= 0.4, name="fair")
    return model


def _glide(design: archeng.Design, network: str) -> float:
    """Return 1000 drag over lift, by NeuralFoil's network of a size."""
    from case_studies.airfoil.cases import reference
    from case_studies.airfoil.simulator import ask_network

    section = reference()["starts"]["NACA 4412"]
    stretched = {
        side: np.repeat(np.asarray(design[side]), 4) * np.array(section[side])
        for side in ("upper", "lower")
    }
    kulfan = {
        "upper_weights": stretched["upper"],
        "lower_weights": stretched["lower"],
        "leading_edge_weight": section["leading edge"],
        "TE_thickness": 0.0,
    }
    found = ask_network(kulfan, np.array([design["angle"]]), np.array([5e5]), network, 0.0, 1.0)
    return float(1000 * found["CD"][0] / found["CL"][0])


PAIRS = (
    Pair(
        "NeuralFoil sizes",
        _section,
        partial(_glide, network="xsmall"),
        partial(_glide, network="xlarge"),
        6.956745515 * 1.0001,
    ),
    Pair("shifted valley", _box, _shifted_valley, _fine_valley, 3.7903607 * 1.0001, tuned=True),
    Pair(
        "two step sizes",
        _absorber,
        partial(_vibration, steps=250),
        partial(_vibration, steps=5000),
        0.2265773577 * 1.0001,
    ),
    Pair("unrelated", _box, _unrelated, _fine_valley, 3.7903607 * 1.0001),
)
