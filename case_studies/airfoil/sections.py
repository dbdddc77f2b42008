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


@dataclass(frozen=True)
class Trimmed:
    """A section at the angles at which it has the lifts of a case with the least drag.

    Attributes
    ----------
    drag : float
        Weighted mean, counts.
    moment : float
        The least one.
    confidence : float
        The least one.
    """

    drag: float
    moment: float
    confidence: float


def trimmed(parameters: Mapping[str, Any], case: Case, network: str = NETWORK) -> Trimmed | None:
    """Return the section at its best angles; None if it does not reach a lift.

    Angles at which the network is not confident are left out.
    """
    drags, moments, confidences = [], [], []
    for lift, reynolds in zip(case.lifts, case.reynolds, strict=True):
        found = aerodynamics(parameters, ANGLES, reynolds, network)
        useful = (found.lift >= lift) & (found.confidence >= LEAST_CONFIDENCE)
        if not useful.any():
            return None
        best = int(np.argmin(np.where(useful, found.drag, np.inf)))
        drags.append(found.drag[best])
        moments.append(found.moment[best])
        confidences.append(found.confidence[best])
    return Trimmed(case.drag(np.array(drags)), float(min(moments)), float(min(confidences)))


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


def broken_rules(parameters: Mapping[str, Any]) -> list[str]:
    """Return the explicit limits that a known section exceeds as fitted."""
    design = {
        "upper": parameters["upper_weights"],
        "lower": parameters["lower_weights"],
        "leading edge": parameters["leading_edge_weight"],
        "angle": 0.0,
    }
    return exceeded(design)
