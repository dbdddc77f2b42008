"""The simulator: lift, drag and moment of a section by NeuralFoil.

At low speed the network is asked directly. At high speed AeroSandbox corrects its answer for
compressibility; what that correction knows, and what not, is in README.md.
"""

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
    """Coefficients at several angles of attack, and how sure the network is of them.

    ``critical_mach`` is the Mach number at which the flow gets sonic somewhere; NaN where the flow
    was taken for incompressible.
    """

    lift: Floats
    drag: Floats
    moment: Floats
    confidence: Floats
    critical_mach: Floats


class SectionDrag:
    """Weighted drag of a section in counts, or its lift over drag; with its simulated constraints.

    It judges every design by itself, in NumPy, and counts. It can be pickled.

    Parameters
    ----------
    case : Case
        Which of the two it is, and the flight conditions.
    network : str
        Size of NeuralFoil's network.

    Attributes
    ----------
    n_calls, n_infeasible : int
        Calls so far, and how many of them were at designs that exceed an explicit limit. In worker
        processes each worker has its own count.
    """

    def __init__(self, case: Case = CASES["transonic"], network: str = NETWORK) -> None:
        self.case, self.network = case, network
        self.n_calls = 0
        self.n_infeasible = 0

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design."""
        case = self.case
        self.n_calls += 1
        self.n_infeasible += bool(exceeded(design, case.shape.name))
        found = aerodynamics(
            kulfan(design), design["angle"], case.reynolds, self.network, case.mach, case.transition
        )
        outputs = {
            "lift": found.lift,
            "drag": found.drag,
            "moment": found.moment,
            "lift over drag": found.lift / found.drag,
        }
        if case.mach:
            outputs["critical Mach number"] = found.critical_mach
        return Evaluation(
            case.objective(found.lift, found.drag),
            constraints=dict(zip(simulated_limits(case), _values(found), strict=True)),
            outputs=outputs,
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
    parameters: Mapping[str, Any],
    angle: ArrayLike,
    reynolds: ArrayLike,
    network: str = NETWORK,
    mach: float = 0.0,
    transition: float = 1.0,
) -> Aerodynamics:
    """Return the coefficients of a section at several angles of attack (degrees).

    With a Mach number of 0 the flow is incompressible. ``transition`` is where the boundary layers
    are tripped, in chords; 1 leaves them free (n_crit 9).

    Raises
    ------
    ImportError
        Without NeuralFoil and aerosandbox.
    """
    angles, numbers = np.broadcast_arrays(np.atleast_1d(angle), np.atleast_1d(reynolds))
    aero = ask_network(
        parameters, angles.astype(float), numbers.astype(float), network, mach, transition
    )
    unknown = np.full(angles.shape, np.nan)
    names = ("CL", "CD", "CM", "analysis_confidence", "mach_crit")
    return Aerodynamics(*(np.asarray(aero.get(k, unknown), float) for k in names))


def ask_network(
    parameters: Mapping[str, Any],
    angle: Any,
    reynolds: Any,
    network: str,
    mach: float,
    transition: float,
) -> dict[str, Any]:
    """Return what NeuralFoil says, by its names; numbers or CasADi symbols."""
    try:
        from aerosandbox import KulfanAirfoil
        from neuralfoil import get_aero_from_kulfan_parameters
    except ImportError as error:
        raise ImportError(
            "This case study needs NeuralFoil and aerosandbox: pip install 'archeng[airfoil]'."
        ) from error
    options = {
        "alpha": angle,
        "Re": reynolds,
        "xtr_upper": transition,
        "xtr_lower": transition,
        "model_size": network,
    }
    found: dict[str, Any]
    if mach == 0:
        found = get_aero_from_kulfan_parameters(dict(parameters), **options)
    else:
        section = KulfanAirfoil(name="section", **parameters)
        found = section.get_aero_from_neuralfoil(
            mach=mach, include_360_deg_effects=False, **options
        )
    return found


def _values(found: Aerodynamics) -> list[float]:
    return np.concatenate((found.lift, found.moment, found.confidence)).tolist()
