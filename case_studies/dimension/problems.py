"""Problems of any number of variables, with sparse rows and objectives that methods do not see.

The box is [-2, 2]^n and the start is 0, which is feasible. The optimum without rows lies partly
outside, so that about a quarter of the rows is active at the optimum. All are convex: IPOPT gives
the optimum from the formulas.

``linear``
    n rows of three variables each: a random variable beside x_i and x_{i+1}.
``discs``
    n rows x_i^2 + x_j^2 + x_i x_j / 2 <= 1, j random: sparse and nonlinear.

``separable``
    sum_i w_i (x_i - t_i)^2, with w_i from 1 to 100 in random order.
``chained``
    sum_i w_i (x_i + x_{i+1} / 2 - t_i)^2: neighbours go together.
``smooth``
    sum_i (1 + w_i (x_i + x_{i+1} / 2 - t_i)^2)^(1/2): no polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from archeng import Model
from archeng.model import FeasibleSet, compile_model
from case_studies.peers.recorder import Floats

OBJECTIVES = ("separable", "chained", "smooth")
ROWS = ("linear", "discs")
WEIGHTS = 2.0
"""Decades between the smallest and the largest weight."""
FARTHEST = 1.5
"""Half width of the interval of the optima without rows."""
ROOM = 0.6
"""How far a linear row is from the start, in units of its gradient."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem.

    Attributes
    ----------
    model : archeng.Model
    feasible_set : FeasibleSet
    objective : callable
        Of x (n,).
    f_start, f_opt : float
        At the start and at the optimum.
    """

    model: Model
    feasible_set: FeasibleSet
    objective: Callable[[Floats], float]
    f_start: float
    f_opt: float


@cache
def problem(objective: str, rows: str, n: int) -> Problem:
    """Return a problem; everything random in it follows from the names and n."""
    rng = np.random.default_rng([OBJECTIVES.index(objective), ROWS.index(rows), n])
    model = sparse_model(rows, n, rng)
    w = 10.0 ** rng.permutation(np.linspace(0, WEIGHTS, n))
    t = rng.uniform(-FARTHEST, FARTHEST, n)
    fs = compile_model(model)

    def function(x: Floats) -> float:
        return float(formula(objective, x, w, t, np.append(x[1:], x[0])))

    symbols = ca.SX.sym("x", n)
    turned = ca.vertcat(symbols[1:], symbols[0])
    best = optimum(fs, symbols, formula(objective, symbols, w, t, turned))
    return Problem(model, fs, function, function(np.zeros(n)), function(best))


def sparse_model(rows: str, n: int, rng: np.random.Generator) -> Model:
    """Return n variables and n sparse rows."""
    model = Model(f"{rows}{n}")
    x = model.variable("x", shape=n, lower=-2, upper=2, start=0)
    for i in range(n):
        next_one, other = (i + 1) % n, int((i + 2 + rng.integers(n - 2)) % n)
        if rows == "linear":
            a = rng.normal(size=3)
            row = a[0] * x[i] + a[1] * x[next_one] + a[2] * x[other]
            model.subject_to(row <= ROOM * float(np.linalg.norm(a)), name=f"row{i}")
        else:
            row = x[i] ** 2 + x[other] ** 2 + x[i] * x[other] / 2
            model.subject_to(row <= 1, name=f"row{i}")
    return model


def formula(objective: str, x: Any, w: Floats, t: Floats, turned: Any) -> Any:
    """Return the objective at x, of numbers or symbols; ``turned`` is x moved by one place."""
    total = ca.sum1 if isinstance(x, ca.SX) else np.sum
    if objective == "separable":
        return total(w * (x - t) ** 2)
    if objective == "chained":
        return total(w * (x + turned / 2 - t) ** 2)
    return total((1 + w * (x + turned / 2 - t) ** 2) ** 0.5)


def optimum(fs: FeasibleSet, x: Any, f: Any) -> Floats:
    """Return the minimum (n,) by IPOPT, given the formula of the objective."""
    first = len(fs.bounded)
    rows = fs.all_rows.function(x)[first:]
    options = {"ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}, "print_time": False}
    solver = ca.nlpsol("optimum", "ipopt", {"x": x, "f": f, "g": rows}, options)
    low, high = fs.box()
    answer = solver(
        x0=np.zeros(fs.n), lbx=low, ubx=high, lbg=fs.lower[first:], ubg=fs.upper[first:]
    )
    if not solver.stats()["success"]:
        raise RuntimeError(f"IPOPT found no optimum of {fs.name}")
    return np.asarray(answer["x"], dtype=float).reshape(-1)
