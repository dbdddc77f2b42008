"""Referees of a repair: the least distance from a sample to the cell of a feasible design.

The question, for a sample x, a factor L and a set: minimise |L^-1 (s - x)|^2 over designs (z, y)
that meet the rows and points s in the cell of the design, that is s = y where a variable is real
and |s - z| <= 1/2 where it is whole, without a limit beyond the first and the last whole number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from case_studies.discrete.definition import Floats
from case_studies.discrete.sets import Set
from case_studies.shared.quiet import quiet

SECONDS = 10.0
"""Most processor time of a referee for one sample."""

BEYOND = 50.0
"""How far outside of the box a point of an outermost cell may be; samples are nearer."""


@dataclass(frozen=True)
class Answer:
    """What a referee says.

    Attributes
    ----------
    distance_squared : float
        NaN without an answer.
    proven : bool
        Whether it says that nothing is nearer.
    """

    distance_squared: float
    proven: bool


NOTHING = Answer(float("nan"), False)


def by_scip(set_: Set, x: Floats, inverse: Floats, seconds: float = SECONDS) -> Answer:
    """Ask SCIP, with two binaries for each integer that say whether it is first or last."""
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("timing/clocktype", 1)  # processor time
    model.setParam("limits/time", seconds)
    model.setParam("limits/gap", 1e-7)
    design: list[Any] = []
    points: list[Any] = []
    for low, high, integer in zip(set_.lower, set_.upper, set_.integer, strict=True):
        kind = {"vtype": "I"} if integer else {}
        z = model.addVar(lb=float(low), ub=float(high), **kind)
        design.append(z)
        points.append(_scip_cell(model, z, float(low), float(high)) if integer else z)
    for row, low, high in zip(set_.matrix, set_.row_lower, set_.row_upper, strict=True):
        value = pyscipopt.quicksum(float(a) * v for a, v in zip(row, design, strict=True))
        if np.isfinite(low):
            model.addCons(value >= float(low))
        if np.isfinite(high):
            model.addCons(value <= float(high))
    for q in set_.quadratics:
        model.addCons(_scip_quadratic(pyscipopt, q, design) <= q.limit)
    away = []
    for row in inverse:
        d = model.addVar(lb=None, ub=None)
        offset = float(row @ x)
        model.addCons(
            d == pyscipopt.quicksum(float(a) * s for a, s in zip(row, points, strict=True)) - offset
        )
        away.append(d)
    goal = model.addVar(lb=0.0, ub=None)
    model.addCons(goal >= pyscipopt.quicksum(d * d for d in away))
    model.setObjective(goal)
    model.optimize()
    if not model.getNSols():
        return NOTHING
    return Answer(float(model.getObjVal()), model.getStatus() in ("optimal", "gaplimit"))


def _scip_cell(model: Any, z: Any, low: float, high: float) -> Any:
    """Point in the cell of an integer of the range."""
    s = model.addVar(lb=low - BEYOND, ub=high + BEYOND)
    first, last = (model.addVar(vtype="B") for _ in range(2))
    model.addCons(z <= high - (high - low) * first)
    model.addCons(z >= low + (high - low) * last)
    model.addCons(s - z >= -0.5 - BEYOND * first)
    model.addCons(s - z <= 0.5 + BEYOND * last)
    return s


def _scip_quadratic(pyscipopt: Any, q: Any, x: list[Any]) -> Any:
    n = len(x)
    squares = pyscipopt.quicksum(
        float(q.matrix[i, j]) * x[i] * x[j] for i in range(n) for j in range(n)
    )
    return squares + pyscipopt.quicksum(float(a) * v for a, v in zip(q.linear, x, strict=True))


class Bonmin:
    """The same question for Bonmin's branch and bound (B-BB), compiled once for a set."""

    def __init__(self, set_: Set, seconds: float = SECONDS) -> None:
        n, whole = set_.n, np.flatnonzero(set_.integer)
        k = len(whole)
        z, u = ca.SX.sym("z", n), ca.SX.sym("u", k)
        first, last = ca.SX.sym("first", k), ca.SX.sym("last", k)
        x, inverse = ca.SX.sym("x", n), ca.SX.sym("inverse", n, n)
        point = ca.SX(z)
        for j, i in enumerate(whole):
            point[int(i)] += u[j]
        chosen, width = z[whole.tolist()], ca.DM((set_.upper - set_.lower)[whole])
        rows = [ca.DM(set_.matrix) @ z]
        rows += [
            ca.bilin(ca.DM(q.matrix), z, z) + ca.dot(ca.DM(q.linear), z) for q in set_.quadratics
        ]
        rows += [
            chosen + width * first,
            chosen - width * last,
            u + BEYOND * first,
            u - BEYOND * last,
        ]
        low, high = ca.DM(set_.lower[whole]), ca.DM(set_.upper[whole])
        free = [np.full(k, np.inf)]
        self._lower = np.concatenate(
            [set_.row_lower, *([[-np.inf]] * len(set_.quadratics)), -free[0],
             low.full().ravel(), np.full(k, -0.5), -free[0]]
        )  # fmt: skip
        self._upper = np.concatenate(
            [set_.row_upper, *([[q.limit] for q in set_.quadratics]), high.full().ravel(),
             free[0], free[0], np.full(k, 0.5)]
        )  # fmt: skip
        self._box = (
            np.concatenate([set_.lower, np.full(k, -0.5 - BEYOND), np.zeros(2 * k)]),
            np.concatenate([set_.upper, np.full(k, 0.5 + BEYOND), np.ones(2 * k)]),
        )
        self._start = np.concatenate([set_.inside, np.zeros(3 * k)])
        problem = {
            "x": ca.vertcat(z, u, first, last),
            "p": ca.vertcat(x, ca.vec(inverse)),
            "f": ca.sumsqr(inverse @ (point - x)),
            "g": ca.vertcat(*rows),
        }
        discrete = [*set_.integer.tolist(), *([False] * k), *([True] * (2 * k))]
        options = {
            "discrete": discrete,
            "print_time": False,
            "bonmin": {
                "algorithm": "B-BB",
                "bb_log_level": 0,
                "nlp_log_level": 0,
                "print_level": 0,
                "sb": "yes",
                "time_limit": seconds,
            },
        }
        self._solver = ca.nlpsol("b", "bonmin", problem, options)

    def ask(self, x: Floats, inverse: Floats) -> Answer:
        """Return the answer for a sample and the inverse of the factor."""
        try:
            with quiet():
                end = self._solver(
                    x0=self._start,
                    p=np.concatenate([x, inverse.T.ravel()]),
                    lbx=self._box[0],
                    ubx=self._box[1],
                    lbg=self._lower,
                    ubg=self._upper,
                )
        except RuntimeError:  # Bonmin gives up on some samples with an error of its own
            return NOTHING
        if not self._solver.stats()["success"]:
            return NOTHING
        return Answer(float(end["f"]), True)
