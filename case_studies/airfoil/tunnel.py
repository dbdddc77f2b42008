"""RAE 2822 in the wind tunnel and in the simulator: how far the correction can be believed."""

from __future__ import annotations

import numpy as np

from case_studies.airfoil.cases import NETWORK, reference
from case_studies.airfoil.sections import ANGLES, BUFFET, known_section
from case_studies.airfoil.simulator import Aerodynamics, aerodynamics
from case_studies.benchmarks.record import markdown_table


def polar(mach: float, reynolds: float, network: str = NETWORK) -> Aerodynamics:
    """Return RAE 2822 at all angles, tripped as in the wind tunnel."""
    transition = reference()["wind tunnel"]["transition"]
    section = known_section("rae2822")
    return aerodynamics(section, ANGLES, reynolds, network, mach, transition)


def tunnel_table() -> str:
    """Return what was measured beside what is simulated at the same lift."""
    header = ["case", "Mach", "lift measured", "most lift simulated before buffet",
              "drag measured (counts)", "drag simulated at that lift",
              "drag simulated at most lift"]  # fmt: skip
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
            ]
        )
    return markdown_table(header, lines)
