"""Twenty feasible sets with 5 to 30 integers, for the study of repairs.

A set is stated as matrices, from which the model for archeng and the questions for the referees
are made. All have a design that meets every row: rows are drawn around one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import casadi as ca
import numpy as np

from archeng import Model
from case_studies.discrete.definition import Floats

LARGEST = 10
"""Integers are from 0 to this one, unless they are binaries."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Quadratic:
    """A row x' Q x + q' x <= limit with a positive semidefinite Q."""

    matrix: Floats
    linear: Floats
    limit: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Set:
    """A feasible set in matrices.

    Attributes
    ----------
    name : str
    lower, upper : ndarray of shape (n,)
    integer : ndarray of bool, shape (n,)
    matrix : ndarray of shape (m, n)
    row_lower, row_upper : ndarray of shape (m,)
        Linear rows.
    quadratics : tuple of Quadratic
    inside : ndarray of shape (n,)
        A design that meets all rows.
    """

    name: str
    lower: Floats
    upper: Floats
    integer: Floats
    matrix: Floats
    row_lower: Floats
    row_upper: Floats
    inside: Floats
    quadratics: tuple[Quadratic, ...] = field(default=())

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.lower)

    def model(self) -> Model:
        """Return it as a model with one variable for each number."""
        model = Model(self.name)
        x = ca.vertcat(*(self._declared(model, i) for i in range(self.n)))
        rows = ca.DM(self.matrix) @ x
        for k in range(len(self.matrix)):
            low, high = float(self.row_lower[k]), float(self.row_upper[k])
            if low == high:
                model.subject_to(rows[k] == low, name=f"row {k}")
                continue
            sides = {"lower": low, "upper": high}
            model.subject_to(
                rows[k], name=f"row {k}", **{s: v for s, v in sides.items() if np.isfinite(v)}
            )
        for k, row in enumerate(self.quadratics):
            value = ca.bilin(ca.DM(row.matrix), x, x) + ca.dot(ca.DM(row.linear), x)
            model.subject_to(value <= row.limit, name=f"quadratic {k}")
        return model

    def _declared(self, model: Model, i: int) -> object:
        name, low, high = f"x{i}", float(self.lower[i]), float(self.upper[i])
        if not self.integer[i]:
            return model.variable(name, lower=low, upper=high)
        if (low, high) == (0.0, 1.0):
            return model.binary(name)
        return model.integer(name, lower=int(low), upper=int(high))

    def meets(self, x: Floats, slack: float = 1e-7) -> bool:
        """Whether a design (n,) is whole where it has to be and meets all rows."""
        values = self.matrix @ x
        rows = [(values >= self.row_lower - slack).all(), (values <= self.row_upper + slack).all()]
        box = ((x >= self.lower - slack) & (x <= self.upper + slack)).all()
        whole = bool((x[self.integer] == np.round(x[self.integer])).all())
        squares = all(x @ q.matrix @ x + q.linear @ x <= q.limit + slack for q in self.quadratics)
        return bool(all(rows) and box and whole and squares)


def _linear(integers: int, reals: int, rows: int, seed: int) -> Set:
    """Random rows, each of which cuts off a part of the box beyond a random design."""
    rng = np.random.default_rng(seed)
    n = integers + reals
    inside = np.concatenate(
        [rng.integers(2, LARGEST - 1, integers), rng.uniform(2, LARGEST - 2, reals)]
    )
    matrix = rng.standard_normal((rows, n)).round(2)
    slack = rng.uniform(0.2, 1.0, rows)
    return Set(
        name=f"linear, {integers} integers, {reals} reals",
        lower=np.zeros(n),
        upper=np.full(n, float(LARGEST)),
        integer=np.arange(n) < integers,
        matrix=matrix,
        row_lower=np.full(rows, -np.inf),
        row_upper=matrix @ inside + slack,
        inside=inside,
    )


def _quadratic(integers: int, reals: int, rows: int, seed: int) -> Set:
    """Ellipsoids around points near a design, which is just inside of each."""
    rng = np.random.default_rng(seed)
    base = _linear(integers, reals, 2, seed)
    n, found = base.n, []
    for _ in range(rows):
        factor = rng.standard_normal((n, n)) / np.sqrt(n)
        matrix = factor @ factor.T + 0.1 * np.eye(n)
        centre = base.inside + rng.standard_normal(n)
        away = base.inside - centre
        level = away @ matrix @ away + 0.3
        found.append(
            Quadratic(
                matrix=matrix,
                linear=-2 * matrix @ centre,
                limit=float(level - centre @ matrix @ centre),
            )
        )
    return Set(
        **{**base.__dict__, "quadratics": tuple(found)}
        | {"name": f"quadratic, {integers} integers, {reals} reals"}
    )


def _knapsack(items: int, seed: int) -> Set:
    """Binaries: two weights with limits, and a least value."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(5, 40, (2, items)).astype(float)
    values = rng.integers(5, 40, items).astype(float)
    inside = (rng.random(items) < 0.5).astype(float)
    return Set(
        name=f"knapsack, {items} binaries",
        lower=np.zeros(items),
        upper=np.ones(items),
        integer=np.ones(items, dtype=bool),
        matrix=np.vstack([weights, values]),
        row_lower=np.array([-np.inf, -np.inf, values @ inside]),
        row_upper=np.array([*(weights @ inside + 3.0), np.inf]),
        inside=inside,
    )


def _one_hot(groups: int, options: int, reals: int, seed: int) -> Set:
    """Choose one member of each group, within a limit on cost that the reals share."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, options, groups)
    binaries = groups * options
    inside = np.zeros(binaries + reals)
    inside[np.arange(groups) * options + chosen] = 1.0
    inside[binaries:] = rng.uniform(2, LARGEST - 2, reals)
    cost = np.concatenate([rng.uniform(1, 10, binaries), rng.uniform(-1, 1, reals)])
    picks = np.zeros((groups, binaries + reals))
    for g in range(groups):
        picks[g, g * options : (g + 1) * options] = 1.0
    return Set(
        name=f"one-hot, {groups} groups of {options}, {reals} reals",
        lower=np.zeros(binaries + reals),
        upper=np.concatenate([np.ones(binaries), np.full(reals, float(LARGEST))]),
        integer=np.arange(binaries + reals) < binaries,
        matrix=np.vstack([picks, cost]),
        row_lower=np.array([*np.ones(groups), -np.inf]),
        row_upper=np.array([*np.ones(groups), cost @ inside + 0.5]),
        inside=inside,
    )


SETS: dict[str, Callable[[], Set]] = {
    "linear-5": partial(_linear, 5, 0, 4, 1),
    "linear-10": partial(_linear, 10, 0, 6, 2),
    "linear-15": partial(_linear, 15, 0, 8, 3),
    "linear-20": partial(_linear, 20, 0, 8, 4),
    "linear-30": partial(_linear, 30, 0, 10, 5),
    "mixed-linear-5": partial(_linear, 5, 5, 5, 6),
    "mixed-linear-10": partial(_linear, 10, 5, 6, 7),
    "mixed-linear-20": partial(_linear, 20, 10, 8, 8),
    "quadratic-5": partial(_quadratic, 5, 0, 2, 9),
    "quadratic-10": partial(_quadratic, 10, 0, 2, 10),
    "quadratic-15": partial(_quadratic, 15, 0, 3, 11),
    "quadratic-20": partial(_quadratic, 20, 0, 3, 12),
    "mixed-quadratic-5": partial(_quadratic, 5, 5, 2, 13),
    "mixed-quadratic-10": partial(_quadratic, 10, 10, 3, 14),
    "knapsack-10": partial(_knapsack, 10, 15),
    "knapsack-20": partial(_knapsack, 20, 16),
    "knapsack-30": partial(_knapsack, 30, 17),
    "one-hot-12": partial(_one_hot, 3, 4, 0, 18),
    "one-hot-25": partial(_one_hot, 5, 5, 0, 19),
    "mixed-one-hot-20": partial(_one_hot, 5, 4, 5, 20),
}
"""The sets by name; the number is that of the integers."""
