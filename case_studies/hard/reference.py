"""Computing the reference optima: IPOPT from many starts, on formulas that archeng never sees.

``python -m case_studies.hard.reference`` writes ``known_optima.json`` (three minutes).

The force of the gripper is taken at ``STATIONS`` positions of its stroke, and the spread is
minimised as the difference of two bounds on it, which makes the problem smooth.

>>> from case_studies.hard.reference import optimum
>>> f, _, _ = optimum("hs099", starts=2, seed=1)
>>> round(f / 1e9, 6)
-0.83108
"""

from __future__ import annotations

import json
import sys
from typing import Any

import casadi as ca
import numpy as np

from case_studies.engineering.definition import Floats
from case_studies.engineering.optimum import IPOPT
from case_studies.hard import mechanics
from case_studies.hard.suite import OPTIMA, definition, names

STARTS = {
    "gripper": 100,
    "inverter_3": 400,
    "inverter_5": 200,
    "inverter_7": 400,
    "refrigeration": 200,
}
FEW_STARTS = 40
"""For the problems without an entry in ``STARTS``."""
SEED = 2026

_KUMAR = (
    "A. Kumar, G. Wu, M. Z. Ali, R. Mallipeddi, P. N. Suganthan, S. Das, A test-suite of "
    "non-convex constrained optimization problems from the real-world and some baseline results, "
    "Swarm and Evolutionary Computation 56 (2020) 100693, doi:10.1016/j.swevo.2020.100693"
)
_BEST_OF_COMPETITION = "best value of the CEC 2020 competition on real-world constrained problems"
_HOCK = (
    "W. Hock, K. Schittkowski, Test Examples for Nonlinear Programming Codes, Lecture Notes in "
    "Economics and Mathematical Systems 187 (1981), doi:10.1007/978-3-642-48320-2"
)
_ANGLES = (
    "A. K. Rathore, J. Holtz, T. Boller, Synchronous optimal pulsewidth modulation for "
    "low-switching-frequency control of medium-voltage multilevel inverters, IEEE Transactions "
    "on Industrial Electronics 57 (2010) 2374-2381, doi:10.1109/TIE.2010.2047824; data of "
)
_KNOWN: dict[str, tuple[str, float | None, str]] = {
    "hs099": (f"{_HOCK}, problem 99", -0.831079892e9, "the same"),
    "hs108": (f"{_HOCK}, problem 108", -0.8660254038, "the same"),
    "gripper": (
        f"{_KUMAR}, RC24, after A. Osyczka; the spread is taken over the whole stroke",
        2.5287918415,
        f"{_BEST_OF_COMPETITION}. It belongs to another objective: there, the extremes of the "
        "force are looked for by a local search along the stroke (fminbnd), which misses the drop "
        "of the force at its end; our formula gives about 71 at such designs",
    ),
    "prolog": (
        "MINLPLib, prolog (a GAMS library model of R. D. Norton and P. L. Scandizzo, "
        "Market equilibrium computations in activity analysis models, Operations "
        "Research 29 (1981) 243-262); the "
        "upper bounds of prices and factor prices, 10, are ours, the others follow from the rows",
        0.0,
        "MINLPLib",
    ),
    "refrigeration": (
        f"{_KUMAR}, RC16, after H. Paul and L. W. Tay (1987), in the collection of N. Andrei, "
        "Nonlinear Optimization Applications Using the GAMS Technology (2013)",
        0.032213000814,
        f"{_BEST_OF_COMPETITION}; DIRECTGOLib prints a design, where our formulas give "
        "0.0322130008839563, as printed there",
    ),
    "inverter_3": (f"{_ANGLES}{_KUMAR}, RC45", 0.03073936, "later results on RC45"),
    "inverter_5": (f"{_ANGLES}{_KUMAR}, RC46", 0.020240335, "later results on RC46"),
    "inverter_7": (f"{_ANGLES}{_KUMAR}, RC47", 0.012783068, "later results on RC47"),
    "inverter_9": (f"{_ANGLES}{_KUMAR}, RC48", 0.016787535766, _BEST_OF_COMPETITION),
}
_DESIGNS = {
    "gripper": (
        [150.0, 150.0, 200.0, 0.0, 110.0, 100.0, 2.1255],
        "equal bars, the joint at the end of the stroke, where IPOPT cannot go",
    ),
    "refrigeration": (
        [*[0.001] * 6, 1.524, 1.524, 5, 2, 0.001, 0.001, 0.00729340078098931, 0.0875558317045535],
        "published design (DIRECTGOLib)",
    ),
}
"""Designs that are better than what IPOPT finds, and where they come from."""
_OURS = "made for this table (seeded, case_studies/hard/quadratics.py)"

STATIONS = 81
AGREE = 1e-6
"""Ends within this of the best one (relative) are counted as agreeing with it."""
_IPOPT = {**IPOPT, "ipopt": {**IPOPT["ipopt"], "constr_viol_tol": 1e-11, "max_iter": 2000}}


def optimum(name: str, *, starts: int, seed: int) -> tuple[float, Floats, int]:
    """Minimise from starts that are uniform in the box: best value, its point, how many agree.

    Raises
    ------
    RuntimeError
        IPOPT converged from no start.
    """
    source = definition(name)
    model = source.build()
    lower = np.concatenate([v.lower for v in model.variables])
    upper = np.concatenate([v.upper for v in model.variables])
    u = ca.SX.sym("u", len(lower))
    x = lower + (upper - lower) * u
    rows = [row for constraint in model.constraints for row in constraint.rows]
    g = ca.substitute(ca.vertcat(*(r.expression for r in rows)), model.symbols, x)
    limits = np.array([(r.lower, r.upper) for r in rows])
    f, more, bounds = _objective(name, source.objective, x)
    unknowns = ca.vertcat(u, more)
    limits = np.vstack([limits, np.tile([0.0, np.inf], (bounds.numel(), 1))])
    solver = ca.nlpsol(
        "solver", "ipopt", {"x": unknowns, "f": f, "g": ca.vertcat(g, bounds)}, _IPOPT
    )
    extra = more.numel()
    ends = []
    for start in np.random.default_rng(seed).uniform(size=(starts, len(lower))):
        end = solver(
            x0=np.concatenate([start, np.zeros(extra)]),
            lbx=[0.0] * len(lower) + [-np.inf] * extra,
            ubx=[1.0] * len(lower) + [np.inf] * extra,
            lbg=limits[:, 0],
            ubg=limits[:, 1],
        )
        if solver.stats()["success"]:
            point = lower + (upper - lower) * end["x"].full().ravel()[: len(lower)]
            ends.append((float(source.objective(point)), point))
    if not ends:
        raise RuntimeError(f"No start converged on {name!r}.")
    best, point = min(ends, key=lambda end: end[0])
    agreeing = sum(value - best <= AGREE * max(abs(best), AGREE) for value, _ in ends)
    return best, np.clip(point, lower, upper), agreeing


def _objective(name: str, function: Any, x: Any) -> tuple[Any, Any, Any]:
    """Objective, further unknowns, and further rows that must not be negative."""
    symbols = np.empty(x.numel(), dtype=object)
    symbols[:] = ca.vertsplit(x)
    if name != "gripper":
        value = ca.SX(function(symbols))
        # The root of the sum of squares would have no derivative at 0.
        return (value**2 if name.startswith("inverter") else value), ca.SX(0, 1), ca.SX(0, 1)
    a, b, c, e, _, l, _ = symbols  # noqa: E741
    most, least = ca.SX.sym("most"), ca.SX.sym("least")
    rows = []
    share = np.linspace(0.0, 1.0, STATIONS)
    for z in mechanics.STROKE * (1 - (1 - share) ** 2):  # the force drops at the end
        g = ca.sqrt((l - z) ** 2 + e**2)
        at_a = ca.acos((a**2 + g**2 - b**2) / (2 * a * g))
        at_b = ca.acos((b**2 + g**2 - a**2) / (2 * b * g))
        alpha = at_a + ca.atan2(e, l - z)
        force = mechanics.FORCE * b * ca.sin(at_a + at_b) / (2 * c * ca.cos(alpha))
        rows += [most - force, force - least]
    return most - least, ca.vertcat(most, least), ca.vertcat(*rows)


def main() -> None:
    """Compute all of them and write them down."""
    found = {}
    for name in names():
        starts = STARTS.get(name, FEW_STARTS)
        f, x, agreeing = optimum(name, starts=starts, seed=SEED)
        source, published, where = _KNOWN.get(name, (_OURS, None, ""))
        method = (
            f"IPOPT from {starts} random starts (seed {SEED}), {agreeing} ended within "
            f"{AGREE:g} of the best ({f:.12g})"
        )
        if name in _DESIGNS:
            design, origin = _DESIGNS[name]
            x = np.array(design)
            f, method = float(definition(name).objective(x)), f"{origin}; {method}"
        found[name] = {
            "f_opt": 0.0 if name == "prolog" else f,  # its least value is known to be 0
            "x_opt": x.tolist(),
            "source": source,
            "published": published,
            "published_source": where,
            "method": method,
        }
        print(f"{name}: {method}", file=sys.stderr)
    record = {"suite": "problems on which archeng was beaten or slow", "problems": found}
    OPTIMA.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
