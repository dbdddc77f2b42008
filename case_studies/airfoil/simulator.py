"""The simulators: lift, drag and moment of a section by NeuralFoil.

At low speed the network is asked directly. At high speed AeroSandbox corrects its answer for
compressibility; what that correction knows, and what not, is in README.md. In the grey form the
model has the correction, and the simulator returns what the network says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng import Evaluation
from case_studies.airfoil.cases import CASES, NETWORK, Case, Floats, simulated_limits
from case_studies.airfoil.compressible import SURFACE_POINTS
from case_studies.airfoil.limits import exceeded
from case_studies.airfoil.model import COEFFICIENTS, LOW_SPEED, MACH, REYNOLDS, VELOCITIES
from case_studies.shared.forms import Form


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


class Section:
    """A section in the flow of a case. It judges every design by itself, in NumPy, and counts.

    It can be pickled.

    Parameters
    ----------
    case : Case
        The flight conditions, and whether drag or lift over drag is the objective.
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

    def _judge(self, design: Mapping[str, Any]) -> None:
        self.n_calls += 1
        self.n_infeasible += bool(exceeded(design, self.case.shape.name))

    def _given(self, design: Mapping[str, Any], name: str, usual: Any) -> Any:
        """Return a parameter of the model, or what is usual where the design has none."""
        return getattr(design, "parameters", {}).get(name, usual)

    def _flow(self, design: Mapping[str, Any]) -> Aerodynamics:
        case = self.case
        mach = self._given(design, MACH, case.mach)
        reynolds = self._given(design, REYNOLDS, case.reynolds)
        return aerodynamics(
            kulfan(design), design["angle"], reynolds, self.network, mach, case.transition
        )


class SectionDrag(Section):
    """The black box: weighted drag in counts or lift over drag, and the values of the limits."""

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design."""
        self._judge(design)
        found = self._flow(design)
        values = np.concatenate((found.lift, found.moment, found.confidence)).tolist()
        return Evaluation(
            self.case.objective(found.lift, found.drag),
            constraints=dict(zip(simulated_limits(self.case), values, strict=True)),
            outputs={
                "lift": found.lift,
                "drag": found.drag,
                "moment": found.moment,
                **_only_recorded(self.case, found),
            },
        )


class SectionCoefficients(Section):
    """The direct form: lift, drag, moment and confidence as outputs."""

    def __call__(self, design: Mapping[str, Any]) -> Evaluation:
        """Simulate a design."""
        self._judge(design)
        found = self._flow(design)
        outputs = {name: getattr(found, name) for name in COEFFICIENTS}
        return Evaluation(outputs={**outputs, **_only_recorded(self.case, found)})


class SectionAtLowSpeed(Section):
    """The grey form at high speed: the network's own answer, which knows no Mach number."""

    def __call__(self, design: Mapping[str, Any]) -> dict[str, Any]:
        """Simulate a design."""
        self._judge(design)
        reynolds = self._given(design, REYNOLDS, self.case.reynolds)
        found = ask_network(
            kulfan(design), design["angle"], reynolds, self.network, 0.0, self.case.transition
        )
        keys = ("CL", "CD", "CM", "analysis_confidence")
        return {
            **{name: found[key] for name, key in zip(LOW_SPEED, keys, strict=True)},
            **{
                name: np.concatenate(
                    [found[f"{name.split()[0]}_bl_ue/vinf_{i}"] for i in range(SURFACE_POINTS)]
                )
                for name in VELOCITIES
            },
        }


Simulator = SectionDrag | SectionCoefficients | SectionAtLowSpeed


def build_simulator(case: Case = CASES["transonic"], form: Form = "grey") -> Simulator:
    """Return the simulator of a case that goes with the model of the same form."""
    if form == "black":
        return SectionDrag(case)
    return SectionAtLowSpeed(case) if form == "grey" and case.mach else SectionCoefficients(case)


def _only_recorded(case: Case, found: Aerodynamics) -> dict[str, Floats]:
    """Return what nobody asks for, but what is good to know."""
    outputs = {"lift over drag": found.lift / found.drag}
    return outputs | ({"critical Mach number": found.critical_mach} if case.mach else {})


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
