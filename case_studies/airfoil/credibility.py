"""How far the simulator can be believed at high speed: a wind tunnel, other networks, trips."""

from __future__ import annotations

import numpy as np

from case_studies.airfoil.cases import CASES, CHECK_NETWORK, NETWORK, reference
from case_studies.airfoil.sections import ANGLES, BUFFET, known_section
from case_studies.airfoil.simulator import Aerodynamics, SectionDrag, aerodynamics
from case_studies.benchmarks.record import markdown_table

TRIPS = (0.03, 0.05, 0.07, 0.10)
NETWORKS = ("medium", "large", "xlarge", "xxlarge", "xxxlarge")


def polar(mach: float, reynolds: float, network: str = NETWORK) -> Aerodynamics:
    """Return RAE 2822 at all angles, tripped as in the wind tunnel."""
    transition = reference()["wind tunnel"]["transition"]
    section = known_section("rae2822")
    return aerodynamics(section, ANGLES, reynolds, network, mach, transition)


def tunnel_table() -> str:
    """Return what was measured beside what is simulated at the same lift."""
    header = ["case", "Mach", "lift measured", "most lift simulated before buffet",
              "drag measured (counts)", "drag simulated at that lift",
              "drag simulated at most lift", "drag simulated at a lift of 0.40"]  # fmt: skip
    lines = []
    for point in reference()["wind tunnel"]["points"]:
        found = polar(point["mach"], point["reynolds"])
        sound = np.flatnonzero(point["mach"] < found.critical_mach + BUFFET)
        top = sound[np.argmax(found.lift[sound])]
        reached = sound[found.lift[sound] >= point["lift"]]
        drag = f"{1e4 * found.drag[reached[0]]:.0f}" if reached.size else "buffets before"
        lines.append(
            [
                point["case"],
                f"{point['mach']:.3f}",
                f"{point['lift']:.3f}",
                f"{found.lift[top]:.3f}",
                f"{1e4 * point['drag']:.0f}",
                drag,
                f"{1e4 * found.drag[top]:.0f}",
                f"{1e4 * found.drag[np.argmax(found.lift >= 0.4)]:.0f}",
            ]
        )
    return markdown_table(header, lines)


def networks_table() -> str:
    """Return the transonic optimum by gradients, at its angle, by networks of all sizes."""
    lines = []
    for network in NETWORKS:
        found = SectionDrag(CASES["transonic"], network)(
            reference()["optima"]["transonic"]["design"]
        )
        values = found.constraints
        lines.append(
            [
                network,
                f"{found.objective:.1f}",
                f"{values['lift']:.3f}",
                f"{values['moment']:.3f}",
                f"{values['confidence']:.3f}",
                f"{found.outputs['critical Mach number'][0]:.3f}",
            ]
        )
    header = ["network", "lift over drag", "lift", "moment", "confidence", "critical Mach"]
    return markdown_table(header, lines)


def trips_table() -> str:
    """Return how sure networks are of RAE 2822 with trips at several places."""
    case, section = CASES["transonic"], known_section("rae2822")
    angle = reference()["starts"]["RAE 2822"]["angle"]
    lines = []
    for trip in TRIPS:
        found = [
            aerodynamics(section, angle, case.reynolds, network, case.mach, trip)
            for network in (NETWORK, CHECK_NETWORK)
        ]
        lines.append([f"{trip:.2f}", *(f"{f.confidence[0]:.3f}" for f in found)])
    return markdown_table(
        ["trip (chords)", *(f"confidence of {n}" for n in (NETWORK, CHECK_NETWORK))], lines
    )


def crossed() -> str:
    """Return what the simulator says of a section whose rear is inside out."""
    optimum = reference()["optima"]["transonic"]["design"]
    lower = [*optimum["lower"][:5], 0.2, 0.3, 0.4]
    found = SectionDrag(CASES["transonic"])({**optimum, "lower": lower})
    lift, confidence = (found.constraints[k] for k in ("lift", "confidence"))
    ratio = found.objective
    return (
        f"rear inside out: lift {lift:.3f}, lift over drag {ratio:.1f}, confidence {confidence:.5f}"
    )
