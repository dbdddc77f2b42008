"""The optimum by gradients: ``python -m case_studies.airfoil.reference`` writes it into the data.

NeuralFoil is a network and takes CasADi symbols, so IPOPT can have its exact derivatives. No black
box would allow that; it tells how far a search without derivatives is from the optimum.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from case_studies.airfoil import model as rules
from case_studies.airfoil.cases import CASES, NETWORK, WEIGHTS, Case, reference, simulated_limits
from case_studies.airfoil.simulator import SectionDrag

STARTS = 5
"""Random designs from which IPOPT starts, besides the start of the model."""
MARGIN = 1e-7  # inside the limits, so that the result is legal beyond doubt


def gradient_optimum(case: Case, start: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the design of least drag that IPOPT finds from a start; None if it fails."""
    opti = ca.Opti()
    upper, lower = opti.variable(WEIGHTS), opti.variable(WEIGHTS)
    nose, angle = opti.variable(), opti.variable(len(case.lifts))
    symbols = {"upper": upper, "lower": lower, "leading edge": nose, "angle": angle}
    for name, symbol in symbols.items():
        opti.set_initial(symbol, np.asarray(start[name], dtype=float))
    _explicit(opti, upper, lower, nose, angle)
    aero = _network(case, upper, lower, nose, angle)
    limits = np.array([low for low, _ in simulated_limits(case).values()])
    values = ca.vertcat(*(aero[k] for k in ("CL", "CM", "analysis_confidence")))
    opti.subject_to(values >= limits + MARGIN)
    weights = ca.DM(np.array(case.weights) / sum(case.weights))
    opti.minimize(1e4 * ca.dot(weights, aero["CD"]))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    try:
        solution = opti.solve()
    except RuntimeError:
        return None
    values = {name: np.atleast_1d(solution.value(s)) for name, s in symbols.items()}
    found = {name: np.round(v, 9).tolist() for name, v in values.items()}
    return {**found, "leading edge": found["leading edge"][0]}


def _explicit(opti: Any, upper: Any, lower: Any, nose: Any, angle: Any) -> None:
    first = np.arange(WEIGHTS) == 0
    opti.subject_to(upper >= np.where(first, rules.BLUNT, -0.25))
    opti.subject_to(lower <= np.where(first, -rules.BLUNT, 0.25))
    opti.subject_to(upper <= 0.5)
    opti.subject_to(lower >= -0.5)
    opti.subject_to(opti.bounded(-1, nose, 1))
    opti.subject_to(opti.bounded(-5, angle, 18))
    for x, least in rules.THICKNESS.items():
        opti.subject_to(rules.thickness(upper, lower, x) >= least + MARGIN)
    opti.subject_to(rules.trailing_angle(upper, lower) >= rules.TRAILING_ANGLE + MARGIN)
    wiggles = rules.wiggliness(upper) + rules.wiggliness(lower)
    opti.subject_to(wiggles <= rules.WIGGLINESS - MARGIN)
    if angle.numel() > 1:
        opti.subject_to(angle[1:] >= angle[:-1])


def _network(case: Case, upper: Any, lower: Any, nose: Any, angle: Any) -> dict[str, Any]:
    from neuralfoil import get_aero_from_kulfan_parameters

    parameters = {
        "upper_weights": upper,
        "lower_weights": lower,
        "leading_edge_weight": nose,
        "TE_thickness": 0.0,
    }
    with warnings.catch_warnings():  # aerosandbox calls NumPy functions on CasADi symbols
        warnings.simplefilter("ignore")
        found: dict[str, Any] = get_aero_from_kulfan_parameters(
            parameters, alpha=angle, Re=case.reynolds, model_size=NETWORK
        )
    return found


def best_of_starts(case: Case, seed: int = 1) -> dict[str, Any]:
    """Return the best design from several starts, with its drag and how many agree with it."""
    rng = np.random.default_rng(seed)
    first = {v.name: v.start for v in rules.build_model(case).variables}
    starts = [first]
    for _ in range(STARTS):
        starts.append({name: v + 0.1 * rng.standard_normal(v.shape) for name, v in first.items()})
    drags, designs = [], []
    for start in starts:
        design = gradient_optimum(case, start)
        if design is not None:
            drags.append(SectionDrag(case)(design).objective)
            designs.append(design)
            print(f"{case.name}: {drags[-1]:.4f} counts", file=sys.stderr, flush=True)
    best = int(np.argmin(drags))
    agree = sum(drag < drags[best] * (1 + 1e-4) for drag in drags)
    return {
        "drag": drags[best],
        "design": designs[best],
        "method": f"IPOPT with derivatives of the network from {len(starts)} starts (seed {seed}): "
        f"{len(drags)} converged, {agree} of them to the best value within 1e-4",
    }


def main() -> None:
    """Compute the optima of all cases and write them into ``reference.json``."""
    path = Path(__file__).with_name("reference.json")
    optima = {name: best_of_starts(case) for name, case in CASES.items()}
    data = {**reference(), "optima": optima}
    text = json.dumps(data, indent=1)
    text = re.sub(r"(?<=[\d,])\s+(?=-?\d)", " ", text)  # numbers side by side
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
