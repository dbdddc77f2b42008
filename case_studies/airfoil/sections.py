"""Known sections under the same conditions, by the same simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from case_studies.airfoil.cases import LEAST_CONFIDENCE, NETWORK, Case
from case_studies.airfoil.limits import exceeded
from case_studies.airfoil.simulator import aerodynamics

ANGLES = np.linspace(-5.0, 18.0, 1151)
"""Angles of attack that are tried, degrees."""
BUFFET = (0.1 / 320) ** (1 / 3) + 0.04
"""How far beyond the critical Mach number the simulator lets the lift break down."""


@dataclass(frozen=True)
class Trimmed:
    """A section at its best angles among those at which it has the lifts of a case.

    Attributes
    ----------
    objective : float
        Weighted drag in counts, or lift over drag.
    lift, drag : float
        Weighted means; the drag in counts.
    moment : float
        The least one.
    confidence : float
        The least one.
    critical_mach : float
        The least one; NaN in incompressible flow.
    """

    objective: float
    lift: float
    drag: float
    moment: float
    confidence: float
    critical_mach: float


def trimmed(parameters: Mapping[str, Any], case: Case, network: str = NETWORK) -> Trimmed | None:
    """Return the section at its best angles; None if it does not reach a lift.

    Best is most lift over drag, if that is what the case asks for, else least drag. Angles at which
    the network is not confident, or the flow past its buffet, are left out; the moment is not
    limited.
    """
    points = []
    for lift, reynolds in zip(case.lifts, case.reynolds, strict=True):
        found = aerodynamics(parameters, ANGLES, reynolds, network, case.mach, case.transition)
        useful = (found.lift >= lift) & (found.confidence >= LEAST_CONFIDENCE)
        if case.mach:
            useful &= case.mach < found.critical_mach + BUFFET
        if not useful.any():
            return None
        cost = -found.lift / found.drag if case.best_ratio else found.drag
        best = int(np.argmin(np.where(useful, cost, np.inf)))
        rows = (found.lift, found.drag, found.moment, found.confidence, found.critical_mach)
        points.append([values[best] for values in rows])
    lifts, drags, moments, confidences, critical = np.array(points).T
    return Trimmed(
        objective=case.objective(lifts, drags),
        lift=float(np.average(lifts, weights=case.weights)),
        drag=1e4 * float(np.average(drags, weights=case.weights)),
        moment=float(moments.min()),
        confidence=float(confidences.min()),
        critical_mach=float(critical.min()),
    )


def known_section(file: str) -> dict[str, Any]:
    """Return the Kulfan parameters of a section of aerosandbox's collection, fitted by it."""
    try:
        import aerosandbox
    except ImportError as error:
        raise ImportError(
            "This case study needs aerosandbox: pip install 'archeng[airfoil]'."
        ) from error
    parameters: dict[str, Any] = aerosandbox.Airfoil(file).to_kulfan_airfoil().kulfan_parameters
    return parameters


def broken_rules(parameters: Mapping[str, Any], shape: str) -> list[str]:
    """Return the explicit limits that a known section exceeds as fitted."""
    design = {
        "upper": parameters["upper_weights"],
        "lower": parameters["lower_weights"],
        "leading edge": parameters["leading_edge_weight"],
        "angle": 0.0,
    }
    return exceeded(design, shape)
