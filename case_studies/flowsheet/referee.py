"""The referee: IPOPT on the formulas, with the cost among them, and Pyomo's own judgement.

Nothing of archeng takes part: Pyomo writes an .nl file, CasADi reads it. Every optimum is judged by
Pyomo's evaluation of all constraints and bounds.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pyomo.repn.plugins.nl_writer import NLWriter

from case_studies.flowsheet.definition import Problem, with_objective

Floats = NDArray[np.float64]

_IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-9, "max_iter": 1000, "bound_relax_factor": 0.0}
_SPREAD = 0.3
"""Part of the box, or of the size of a value, by which further starts differ from the first."""


@dataclass(frozen=True, eq=False)
class Formulas:
    """A problem as Pyomo writes it: variables x (n,), objective f, rows g with their limits.

    ``names`` are those of the variables, ``rows`` of the constraints, in the order of x and g.
    """

    x: Any
    f: Any
    g: Any
    start: Floats
    box: tuple[Floats, Floats]
    limits: tuple[Floats, Floats]
    names: list[str]
    rows: list[str]

    @cached_property
    def equality(self) -> NDArray[np.bool_]:
        """Which rows are equalities."""
        low, high = self.limits
        return low == high


def formulas(problem: Problem) -> Formulas:
    """Return the formulas of a problem, the cost included."""
    model = with_objective(problem)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nl"
        with path.open("w", encoding="utf-8") as file:
            info = NLWriter().write(model, file, linear_presolve=False, scale_model=False)
        read = ca.NlpBuilder()
        read.import_nl(str(path))
    x = ca.SX.sym("x", len(read.x))
    both = ca.Function("all", [ca.vertcat(*read.x)], [read.f, ca.vertcat(*read.g)]).expand()
    f, g = both(x)
    start, low, high = (np.array(part, dtype=float) for part in (read.x_init, read.x_lb, read.x_ub))
    lower, upper = (np.array(part, dtype=float) for part in (read.g_lb, read.g_ub))
    names, rows = [v.name for v in info.variables], [c.name for c in info.constraints]
    return Formulas(x, f, g, start, (low, high), (lower, upper), names, rows)


def local_optimum(given: Formulas, start: Floats) -> tuple[float, Floats]:
    """Return the objective of a local optimum and where it is; NaN if IPOPT fails."""
    nlp = {"x": given.x, "f": given.f, "g": given.g}
    options = {"print_time": False, "error_on_fail": False, "show_eval_warnings": False}
    solver = ca.nlpsol("referee", "ipopt", nlp, {**options, "ipopt": _IPOPT})
    (low, high), (lower, upper) = given.box, given.limits
    end = solver(x0=start, lbx=low, ubx=high, lbg=lower, ubg=upper)
    good = solver.stats()["success"]
    x = np.clip(end["x"].full().reshape(-1), low, high)  # a bound can be missed by its last digit
    return float(end["f"]) if good else float("nan"), x


@dataclass(frozen=True)
class Optimum:
    """Best local optimum of several starts: objective, x (n,), and how many starts agree."""

    f: float
    x: Floats
    found: list[float]

    @property
    def agreeing(self) -> int:
        """Number of starts that end within 1e-6 of it, relative."""
        return sum(abs(f - self.f) <= 1e-6 * abs(self.f) for f in self.found)

    @property
    def ended(self) -> int:
        """Number of starts from which IPOPT finds a local optimum."""
        return sum(np.isfinite(f) for f in self.found)


def optimum(problem: Problem, starts: int = 1, seed: int = 1) -> Optimum:
    """Return the best local optimum from the model's start and from others around it."""
    given, rng = formulas(problem), np.random.default_rng(seed)
    low, high = given.box
    width = np.where(np.isfinite(high - low), high - low, np.maximum(1.0, np.abs(given.start)))
    found, best = [], (float("nan"), given.start)
    for k in range(starts):
        step = _SPREAD * rng.uniform(-1, 1, len(width)) * width if k else 0.0
        f, x = local_optimum(given, np.clip(given.start + step, low, high))
        found.append(f)
        if not f >= best[0] and np.isfinite(f):
            best = f, x
    return Optimum(*best, found)
