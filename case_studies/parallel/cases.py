"""The problems: a model, a simulator that takes no time, a target, and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.cec2006 import suite as cec2006
from case_studies.claims.cases import case as claimed


@dataclass(frozen=True, eq=False)
class Case:
    """One problem."""

    model: archeng.Model
    simulator: Callable[[archeng.Design], Any]
    target: float
    options: dict[str, Any] = field(default_factory=dict)


def _cec2006(name: str, above: float) -> Case:
    p = cec2006.problem(name)
    assert p.f_strict is not None
    return Case(p.model, p.objective, p.f_strict + above * abs(p.f_strict))


def _welded_beam() -> Case:
    from case_studies.welded_beam import KNOWN_COST, FabricationCost, build_model

    return Case(build_model(), FabricationCost(), KNOWN_COST * (1 + 1e-4))


def _simulated(name: str) -> Case:
    """Return a textbook problem whose constraints are simulated."""
    this = claimed("textbook", name)
    options = {**this.options, "simulated": this.simulated or None}
    return Case(this.model, this.simulator, this.known + 1e-3 * abs(this.known), options)


def _waves() -> Case:
    """Return a function of four variables with some dozens of local minima over a cut ball."""
    model = archeng.Model("waves")
    x = model.variable("x", shape=4, lower=-3, upper=4)
    model.subject_to(ca.sumsqr(x) <= 20, name="ball")
    model.subject_to(ca.sum1(x) >= -4, name="cut")

    def simulator(design: archeng.Design) -> float:
        v = design["x"] - 0.7
        wavy = 2.0 * np.sum(1 - np.cos(2 * v)) + 1.5 * (1 - np.cos(1.5 * v.sum()))
        return float(np.sum(v**2) + wavy)

    return Case(model, simulator, 1e-3)


def _wind_farm() -> Case:
    """Return the layout of 16 turbines; the target is what takes some 200 calls alone."""
    from case_studies.wind_farm import MinusAnnualEnergy, build_model

    return Case(build_model(16), MinusAnnualEnergy(16), -389e3)


CASES: dict[str, Callable[[], Case]] = {
    "g07": lambda: _cec2006("g07", 1e-4),
    "g19": lambda: _cec2006("g19", 1e-3),
    "welded beam": _welded_beam,
    "waves": _waves,
    "spring": lambda: _simulated("spring"),
    "wind farm": _wind_farm,
    "g09": lambda: _cec2006("g09", 1e-4),
    "speed reducer": lambda: _simulated("speed_reducer"),
}
"""All problems by name."""

ASIDE = ("wind farm", "g09", "speed reducer")
"""Problems that were not looked at while batches were made."""
