"""The simulator: lift, drag and moment of a section by NeuralFoil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng import Evaluation
from case_studies.airfoil.cases import CASES, NETWORK, Case, Floats, simulated_limits
from case_studies.airfoil.limits import exceeded


@dataclass(frozen=True, eq=False)
class Aerodynamics:
    """Coefficients at several angles of attack, and how sure the network is of them."""

    lift: Floats
    drag: Floats
    moment: Floats
    confidence: Floats


class SectionDrag:
    """Weighted drag of a section in counts, to be minimised; with its simulated constraints.

    It judges every design by itself, in NumPy, and counts. It can be pickled.

    Parameters
    ----------
    case : Case
    network : str
        Size of NeuralFoil's network.

    Attributes
    ----------
    n_calls, n_infeasible : int
        Calls so far, and how many of them were at designs that exceed an explicit limit. In worker
        processes each worker has its own count.
    """

    def __init__(self, case: Case = CASES["point"], network: str = NETWORK) -> None:
        self.case, self.network = case, network
        self.n_calls = 0
        self.n_infeasible = 0

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design."""
        self.n_calls += 1
        self.n_infeasible += bool(exceeded(design))
        found = aerodynamics(kulfan(design), design["angle"], self.case.reynolds, self.network)
        return Evaluation(
            self.case.drag(found.drag),
            constraints=dict(zip(simulated_limits(self.case), _values(found), strict=True)),
            outputs={
                "lift": found.lift,
                "drag": found.drag,
                "moment": found.moment,
                "lift over drag": found.lift / found.drag,
            },
        )


def kulfan(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return a design as NeuralFoil's Kulfan parameters, with a sharp trailing edge."""
    return {
        "upper_weights": np.asarray(design["upper"], dtype=float),
        "lower_weights": np.asarray(design["lower"], dtype=float),
        "leading_edge_weight": float(design["leading edge"]),
        "TE_thickness": 0.0,
    }


def aerodynamics(
    parameters: Mapping[str, Any], angle: ArrayLike, reynolds: ArrayLike, network: str = NETWORK
) -> Aerodynamics:
    """Return the coefficients of a section, incompressible, with free transition (n_crit 9).

    Raises
    ------
    ImportError
        Without NeuralFoil.
    """
    try:
        from neuralfoil import get_aero_from_kulfan_parameters
    except ImportError as error:
        raise ImportError(
            "This case study needs NeuralFoil: pip install 'archeng[airfoil]'."
        ) from error
    angles, numbers = np.broadcast_arrays(np.atleast_1d(angle), np.atleast_1d(reynolds))
    aero = get_aero_from_kulfan_parameters(
        dict(parameters), alpha=angles.astype(float), Re=numbers.astype(float), model_size=network
    )
    values = (np.asarray(aero[k], float) for k in ("CL", "CD", "CM", "analysis_confidence"))
    return Aerodynamics(*values)


def _values(found: Aerodynamics) -> list[float]:
    return np.concatenate((found.lift, found.moment, found.confidence)).tolist()
