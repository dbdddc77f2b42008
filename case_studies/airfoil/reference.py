"""The optimum by gradients: ``python -m case_studies.airfoil.reference`` writes it into the data.

NeuralFoil is a network and takes CasADi symbols, also through the correction for compressibility,
so IPOPT can have exact derivatives. No black box would allow that; it tells how far a search
without derivatives is from the optimum. What can be believed of it is printed, too: RAE 2822 in a
wind tunnel, the transonic optimum by networks of other sizes, trips, surfaces that cross.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from case_studies.airfoil import geometry
from case_studies.airfoil.cases import CASES, NETWORK, WEIGHTS, Case, reference, simulated_limits
from case_studies.airfoil.credibility import crossed, networks_table, trips_table, tunnel_table
from case_studies.airfoil.model import build_model
from case_studies.airfoil.simulator import SectionDrag, ask_network

STARTS = 5
"""Random designs from which IPOPT starts, besides the start of the model."""
MARGIN = 1e-7  # inside the limits, so that the result is legal beyond doubt


def gradient_optimum(case: Case, start: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the best design that IPOPT finds from a start; None if it fails."""
    opti = ca.Opti()
    upper, lower = opti.variable(WEIGHTS), opti.variable(WEIGHTS)
    nose, angle = opti.variable(), opti.variable(len(case.lifts))
    symbols = {"upper": upper, "lower": lower, "leading edge": nose, "angle": angle}
    for name, symbol in symbols.items():
        opti.set_initial(symbol, np.asarray(start[name], dtype=float))
    _explicit(opti, case, upper, lower, nose, angle)
    aero = _network(case, upper, lower, nose, angle)
    limits = np.array([low for low, _ in simulated_limits(case).values()])
    values = ca.vertcat(*(aero[k] for k in ("CL", "CM", "analysis_confidence")))
    opti.subject_to(values >= limits + MARGIN)
    weights = ca.DM(np.array(case.weights) / sum(case.weights))
    if case.best_ratio:
        opti.minimize(-ca.dot(weights, aero["CL"] / aero["CD"]))
    else:
        opti.minimize(1e4 * ca.dot(weights, aero["CD"]))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    try:
        solution = opti.solve()
    except RuntimeError:
        return None
    values = {name: np.atleast_1d(solution.value(s)) for name, s in symbols.items()}
    found = {name: np.round(v, 9).tolist() for name, v in values.items()}
    return {**found, "leading edge": found["leading edge"][0]}


def _explicit(opti: Any, case: Case, upper: Any, lower: Any, nose: Any, angle: Any) -> None:
    first, shape = np.arange(WEIGHTS) == 0, case.shape
    opti.subject_to(upper >= np.where(first, shape.blunt + MARGIN, -0.25))
    opti.subject_to(lower <= np.where(first, -shape.blunt - MARGIN, 0.25))
    opti.subject_to(upper <= 0.5)
    opti.subject_to(lower >= -0.5)
    opti.subject_to(opti.bounded(-1, nose, 1))
    opti.subject_to(opti.bounded(shape.angles[0], angle, shape.angles[1]))
    for x, least in shape.thickness.items():
        opti.subject_to(geometry.thickness(upper, lower, x) >= least + MARGIN)
    opti.subject_to(geometry.trailing_angle(upper, lower) >= shape.trailing_angle + MARGIN)
    wiggles = geometry.wiggliness(upper) + geometry.wiggliness(lower)
    opti.subject_to(wiggles <= shape.wiggliness - MARGIN)
    if angle.numel() > 1:
        opti.subject_to(angle[1:] >= angle[:-1])


def _network(case: Case, upper: Any, lower: Any, nose: Any, angle: Any) -> dict[str, Any]:
    parameters = {
        "upper_weights": upper,
        "lower_weights": lower,
        "leading_edge_weight": nose,
        "TE_thickness": 0.0,
    }
    with warnings.catch_warnings():  # aerosandbox calls NumPy functions on CasADi symbols
        warnings.simplefilter("ignore")
        return ask_network(parameters, angle, case.reynolds, NETWORK, case.mach, case.transition)


def best_of_starts(case: Case, seed: int = 1) -> dict[str, Any]:
    """Return the best design from several starts, with its objective and how many agree with it."""
    rng = np.random.default_rng(seed)
    first = {v.name: v.start for v in build_model(case).variables}
    starts = [first]
    for _ in range(STARTS):
        starts.append({name: v + 0.1 * rng.standard_normal(v.shape) for name, v in first.items()})
    costs, designs = [], []
    sign = -1.0 if case.best_ratio else 1.0
    for start in starts:
        design = gradient_optimum(case, start)
        if design is not None:
            costs.append(sign * SectionDrag(case)(design).objective)
            designs.append(design)
            print(f"{case.name}: {sign * costs[-1]:.4f}", file=sys.stderr, flush=True)
    best = int(np.argmin(costs))
    agree = sum(cost < costs[best] + 1e-4 * abs(costs[best]) for cost in costs)
    return {
        "objective": sign * costs[best],
        "design": designs[best],
        "method": f"IPOPT with derivatives of the network from {len(starts)} starts (seed {seed}): "
        f"{len(costs)} converged, {agree} of them to the best value within 1e-4",
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the optima of the cases and write them into ``reference.json``."""
    parser = argparse.ArgumentParser(prog="python -m case_studies.airfoil.reference")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="which optima (all)")
    names = parser.parse_args(argv).cases or list(CASES)
    if unknown := set(names) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    path = Path(__file__).with_name("reference.json")
    optima = {**reference()["optima"], **{name: best_of_starts(CASES[name]) for name in names}}
    data = {**reference(), "optima": optima}
    text = json.dumps(data, indent=1)
    text = re.sub(r"(?<=[\d,])\s+(?=-?\d)", " ", text)  # numbers side by side
    path.write_text(text + "\n", encoding="utf-8")
    for name in names:
        print(f"{name}: {optima[name]['objective']:.2f} ({optima[name]['method']})")
    for text in (tunnel_table(), networks_table(), trips_table(), crossed()):
        print(f"\n{text}")


if __name__ == "__main__":
    main()
