"""Small discrete sets, metrics and a referee for the tests of the branch and bound.

The referee lists all combinations of levels and projects onto each by IPOPT, from the rows alone.
"""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np

from archeng.distribution import Distribution
from archeng.model import FeasibleSet, Model, compile_model
from archeng.repair import Repair, make_repairer
from archeng.settings import Settings

NEAREST = Settings(handler="arch-nearest")


def random_set(seed: int, d: int, c: int, curved: bool = False) -> FeasibleSet:
    """Compile d integers, binaries or choices and c real variables in a random order."""
    rng = np.random.default_rng(seed)
    model = Model("random")
    symbols = []
    for j in range(d):
        kind = rng.integers(3)
        if kind == 0:
            symbols.append(model.integer(f"i{j}", lower=0, upper=4))
        elif kind == 1:
            symbols.append(model.binary(f"b{j}"))
        else:
            levels = np.sort(rng.choice(20, size=3, replace=False) / 4)
            symbols.append(model.choice(f"c{j}", levels.tolist()))
    symbols += [model.variable(f"y{j}", lower=-3, upper=5) for j in range(c)]
    x = ca.vertcat(*(symbols[k] for k in rng.permutation(d + c)))
    for _ in range(2):
        a = rng.standard_normal(d + c)
        model.subject_to(ca.dot(ca.DM(a), x) <= float(a.sum() + 0.3 * rng.standard_normal()))
    if curved:
        centre = rng.uniform(0, 3, d + c)
        model.subject_to(ca.sumsqr(x - ca.DM(centre)) <= 1.5 * (d + c))
    return compile_model(model)


def full_metric(n: int, seed: int, size: float = 1.0) -> Distribution:
    """Return a metric with correlations."""
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    F = (u * (size * np.exp(rng.uniform(-1, 1, n)))) @ v
    return Distribution(np.zeros(n), 1.0, F, np.linalg.inv(F))


def diagonal_metric(deviations) -> Distribution:
    F = np.diag(np.asarray(deviations, dtype=float))
    return Distribution(np.zeros(len(F)), 1.0, F, np.linalg.inv(F))


def nearest(fs: FeasibleSet, x, metric: Distribution, **settings) -> Repair:
    """Repair to the nearest design, without the intersection."""
    chosen = Settings(handler="arch-nearest", **settings)
    return make_repairer(fs, chosen).repair(np.asarray(x, dtype=float), metric)


def listed_distance(fs: FeasibleSet, x, metric: Distribution) -> float:
    """Squared distance to the nearest cell of a feasible design, by IPOPT in each; or infinity."""
    lattice = fs.lattice
    projected = _projection(fs, np.asarray(x, dtype=float), metric)
    every = itertools.product(*(range(len(v)) for v in lattice.levels))
    return min(projected(np.array(indices)) for indices in every)


def _projection(fs: FeasibleSet, x, metric: Distribution):
    """Return a function of levels: the squared distance to their cell, infinite if infeasible."""
    lattice, real, k = fs.lattice, fs.lattice.continuous, len(fs.bounded)
    q, z = ca.MX.sym("q", fs.n), ca.MX.sym("z", len(lattice.positions))
    design = ca.MX(q)
    design[lattice.positions.tolist()] = z
    v = ca.mtimes(ca.DM(metric.inverse_factor / metric.sigma), q - ca.DM(x))
    rows = fs.all_rows.function(design)[k:]
    nlp = {"x": q, "p": z, "f": ca.sumsqr(v), "g": rows}
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": 1e-10}
    solver = ca.nlpsol("cell", "ipopt", nlp, quiet)

    def projected(indices) -> float:
        low, high = fs.box()
        low[lattice.positions], high[lattice.positions] = lattice.cell(indices)
        start, levels = np.clip(x, low, high), lattice.at(indices, x)
        if not len(real) and not fs.is_feasible(levels):
            return np.inf
        p = levels[lattice.positions]
        limits = {"lbg": fs.lower[k:], "ubg": fs.upper[k:]} if len(real) else {}
        found = solver(x0=start, p=p, lbx=low, ubx=high, **limits)
        return float(found["f"]) if solver.stats()["success"] else np.inf

    return projected
