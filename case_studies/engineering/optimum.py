"""Computing the reference optima: IPOPT from many starts, then Newton on the active rows.

The objective is written out symbolically here, which archeng never does. It shows that
``known_optima.json`` can be had again:

>>> from case_studies.engineering.optimum import optimum
>>> round(optimum("three_bar_truss", starts=5, seed=1).f, 6)
263.895843
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from archeng.model import Model
from case_studies.engineering.definition import Floats
from case_studies.engineering.suite import definition

IPOPT: dict[str, Any] = {
    "print_time": False,
    "error_on_fail": False,
    "show_eval_warnings": False,  # a start may lie where a formula is undefined
    "ipopt": {
        "print_level": 0,
        "sb": "yes",
        "tol": 1e-10,
        "constr_viol_tol": 1e-10,
        "bound_relax_factor": 0.0,
        "max_iter": 1000,
    },
}


@dataclass(frozen=True, eq=False)
class Optimum:
    """Best end point of the starts.

    Attributes
    ----------
    f : float
        Objective.
    x : ndarray, shape (n,)
        Design.
    converged : int
        How many starts converged.
    agreeing : int
        How many of these ended within 1e-7 (relative) of the best.
    """

    f: float
    x: Floats
    converged: int
    agreeing: int


def optimum(name: str, *, starts: int, seed: int) -> Optimum:
    """Minimise the symbolic objective from random starts in the box, equalities exact.

    Parameters
    ----------
    name : str
        One of :func:`case_studies.engineering.names`.
    starts : int
        Number of starts, uniform in the box.
    seed : int
        Of the starts.

    Raises
    ------
    RuntimeError
        No start converged.
    """
    problem = _Nlp(name)
    ends = []
    for start in np.random.default_rng(seed).uniform(
        problem.lower, problem.upper, (starts, len(problem.lower))
    ):
        x = problem.solve(start)
        if x is not None:
            ends.append((problem.value(x), x))
    if not ends:
        raise RuntimeError(f"No start converged on {name!r}.")
    f, x = min(ends, key=lambda end: end[0])
    agreeing = sum(end[0] - f <= 1e-7 * abs(f) for end in ends)
    x = problem.polish(x)
    return Optimum(problem.value(x), x, len(ends), agreeing)


class _Nlp:
    """The problem in scaled variables: the box is the unit cube, each row is of order one."""

    def __init__(self, name: str) -> None:
        source = definition(name)
        model = source.build()
        self.lower = np.concatenate([v.lower for v in model.variables])
        self.upper = np.concatenate([v.upper for v in model.variables])
        u = ca.SX.sym("u", len(self.lower))
        x = self.lower + (self.upper - self.lower) * u
        symbols = np.empty(len(self.lower), dtype=object)
        symbols[:] = ca.vertsplit(x)
        f = ca.SX(source.objective(symbols))
        rows, self.row_lower, self.row_upper = _rows(model)
        g = ca.substitute(rows, model.symbols, x)
        self.u, self.f, self.g = u, f, g
        self._value, self._rows = ca.Function("f", [u], [f]), ca.Function("g", [u], [g])
        self._solver = ca.nlpsol("solver", "ipopt", {"x": u, "f": f, "g": g}, IPOPT)
        self._multipliers: Any = None
        self._best: Any = None

    def value(self, x: Floats) -> float:
        return float(self._value((x - self.lower) / (self.upper - self.lower)))

    def solve(self, start: Floats) -> Floats | None:
        """Return the end point in the box, or None if IPOPT did not converge."""
        u = (start - self.lower) / (self.upper - self.lower)
        end = self._solver(x0=u, lbx=0, ubx=1, lbg=self.row_lower, ubg=self.row_upper)
        if not self._solver.stats()["success"]:
            return None
        f = float(end["f"])
        if self._best is None or f < self._best:
            self._best = f
            self._multipliers = (end["lam_x"].full().ravel(), end["lam_g"].full().ravel())
        return self.lower + (self.upper - self.lower) * end["x"].full().ravel()

    def polish(self, x: Floats) -> Floats:
        """Solve the first-order conditions of the best end point by Newton's method.

        A row or bound whose multiplier exceeds its slack is taken as an equation.

        Raises
        ------
        RuntimeError
            Newton's method went elsewhere: the active rows were not told correctly.
        """
        u = (x - self.lower) / (self.upper - self.lower)
        size = abs(self.value(x))  # the objective is scaled to one, like all the rest
        lam_x, lam_g = (multipliers / size for multipliers in self._multipliers)
        bounds = _active(u, np.zeros(len(u)), np.ones(len(u)), lam_x)
        rows = self._rows(u).full().ravel()
        active = _active(rows, self.row_lower, self.row_upper, lam_g)
        conditions = ca.vertcat(
            *(self.u[i] - limit for i, (limit, _) in bounds.items()),
            *(self.g[j] - limit for j, (limit, _) in active.items()),
        )
        lam = ca.SX.sym("lam", conditions.numel())
        unknowns = ca.vertcat(self.u, lam)
        system = ca.vertcat(
            ca.gradient(self.f / size + ca.dot(lam, conditions), self.u),
            conditions,
        )
        newton = ca.Function("newton", [unknowns], [system, ca.jacobian(system, unknowns)])
        start = [multiplier for _, multiplier in (*bounds.values(), *active.values())]
        point = np.concatenate((u, start))
        for _ in range(6):
            value, slope = (part.full() for part in newton(point))
            point = point - np.linalg.lstsq(slope, value.ravel(), rcond=1e-15)[0]
        moved = np.abs(point[: len(u)] - u).max()
        if not moved < 1e-5:
            raise RuntimeError(f"Newton's method moved the end point by {moved:.1e} of the box.")
        end = self.lower + (self.upper - self.lower) * point[: len(u)]
        for i, (limit, _) in bounds.items():  # without the rounding of the scaling
            end[i] = self.upper[i] if limit else self.lower[i]
        return np.clip(end, self.lower, self.upper)


def _active(
    values: Floats, lower: Floats, upper: Floats, multipliers: Floats
) -> dict[int, tuple[float, float]]:
    """Return limit and multiplier of each active row, by its number."""
    limits = np.where(multipliers > 0, upper, lower)
    slack = np.abs(values - limits)
    return {
        int(j): (float(limits[j]), float(multipliers[j]))
        for j in np.flatnonzero(np.isfinite(limits) & (np.abs(multipliers) > slack))
    }


def _rows(model: Model) -> tuple[Any, Floats, Floats]:
    """Return the rows as one vector with their exact limits, divided by the larger limit."""
    rows = [row for constraint in model.constraints for row in constraint.rows]
    limits = np.array([(row.lower, row.upper) for row in rows])
    size = np.abs(np.where(np.isfinite(limits), limits, 0.0)).max(axis=1)
    size[size == 0.0] = 1.0
    limits = limits / size[:, None]
    return (
        ca.vertcat(*(row.expression / s for row, s in zip(rows, size, strict=True))),
        limits[:, 0],
        limits[:, 1],
    )
