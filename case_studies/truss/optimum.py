"""The reference optimum of the layout, from formulas: ``python -m case_studies.truss.optimum``.

The 18-bar truss has as many bars as equations of equilibrium, so its forces are formulas of the
coordinates and IPOPT can have exact derivatives. archeng gets none of this. The explicit rules of
the model are left out; the tests check that the optimum satisfies them.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from case_studies.truss.cases import CASES, DENSITY, EULER, LAYOUT_STRESS, YOUNG, Floats

STARTS, SEED = 200, 2026

_IPOPT = {
    "print_time": False,
    "error_on_fail": False,
    "ipopt": {
        "print_level": 0,
        "sb": "yes",
        "tol": 1e-11,
        "constr_viol_tol": 1e-11,
        "bound_relax_factor": 0.0,
        "max_iter": 1000,
    },
}


def ends(starts: int = STARTS, seed: int = SEED) -> list[tuple[float, Floats]]:
    """Return (mass, design) of every random start that converges, best first."""
    case = CASES["layout"]
    bounds = [case.area_bounds] * len(case.areas)
    bounds += [pair for pairs in case.moved.values() for pair in pairs]
    lower, upper = np.array(bounds).T
    solver, row_lower, row_upper = _solver(len(bounds))
    found = []
    for start in np.random.default_rng(seed).uniform(lower, upper, (starts, len(lower))):
        end = solver(x0=start, lbx=lower, ubx=upper, lbg=row_lower, ubg=row_upper)
        if solver.stats()["success"]:
            found.append((float(end["f"]), np.asarray(end["x"], dtype=float).ravel()))
    return sorted(found, key=lambda pair: pair[0])


def _solver(n: int) -> tuple[Any, Floats, Floats]:
    """Return IPOPT for the layout, and the limits of its rows: stresses, then buckling."""
    case = CASES["layout"]
    x = ca.SX.sym("x", n)
    nodes = ca.SX(case.nodes)
    for k, i in enumerate(case.moved):
        for axis in (0, 1):
            nodes[i, axis] = x[len(case.areas) + 2 * k + axis]
    areas = ca.vertcat(*(x[int(g)] for g in case.groups))
    spans = ca.vertcat(*(nodes[int(j), :] - nodes[int(i), :] for i, j in case.bars))
    lengths = ca.sqrt(ca.sum2(spans**2))
    balance = ca.SX.zeros(2 * len(case.nodes), len(case.bars))
    for b, (i, j) in enumerate(case.bars.tolist()):
        for axis in (0, 1):
            cosine = spans[b, axis] / lengths[b]
            balance[2 * i + axis, b], balance[2 * j + axis, b] = cosine, -cosine
    free = [2 * i + a for i in range(len(case.nodes)) if i not in case.supports for a in (0, 1)]
    forces = ca.solve(balance[free, :], -ca.DM(case.loads.ravel()[free]))  # tension pulls
    stresses = forces / areas
    buckling = -stresses * lengths**2 / (EULER * YOUNG * areas)
    nlp = {"x": x, "f": DENSITY * ca.dot(areas, lengths), "g": ca.vertcat(stresses, buckling)}
    m = len(case.bars)
    return (
        ca.nlpsol("solver", "ipopt", nlp, _IPOPT),
        np.repeat([-LAYOUT_STRESS, -np.inf], m),
        np.repeat([LAYOUT_STRESS, 1.0], m),
    )


def main() -> None:
    """Print what reference.json holds."""
    found = ends()
    mass, x = found[0]
    agreeing = sum(f - mass <= 1e-7 * mass for f, _ in found)
    print(f"{STARTS} starts (seed {SEED}), {len(found)} converged, {agreeing} to {mass!r}")
    print(x.tolist())


if __name__ == "__main__":
    main()
