"""Random models: rows of many kinds around a planted feasible design."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.random_models.trees import Tree, evaluate, times, total

KINDS = (
    "linear", "quadratic", "transcendental", "if_else", "thin", "disconnected", "equalities",
    "scales", "undefined", "unbounded",
)  # fmt: skip
_LARGEST_SCALE = 12.0  # powers of ten of the units in "scales"
_TOLERANCE = 1e-6  # of equalities, in changes of the row over the box
_THIN = 1e-5  # width of thin rows in changes
_POINTS = 64  # from which the change of a row is taken


@dataclass(frozen=True)
class Row:
    """``lower <= tree <= upper``, or an equality ``tree == lower`` with a tolerance."""

    tree: Tree
    lower: float
    upper: float
    tolerance: float | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """Lower and upper limit, the tolerance included."""
        if self.tolerance is None:
            return self.lower, self.upper
        return self.lower - self.tolerance, self.upper + self.tolerance


@dataclass(frozen=True, eq=False)
class Case:
    """A model and where it is known to be feasible.

    ``x = center + half * u`` with u in [-1, 1] for each variable.
    """

    kind: str
    center: Any
    half: Any
    start: Any
    bounded: bool
    rows: tuple[Row, ...]
    planted: Any

    def model(self) -> archeng.Model:
        """Return the model for archeng."""
        model = archeng.Model(self.kind)
        x = []
        for i, (c, h) in enumerate(zip(self.center, self.half, strict=True)):
            about: dict[str, float] = {}
            if self.bounded:
                about |= {"lower": c - h, "upper": c + h}
            if self.start is not None:
                about |= {"start": float(self.start[i]), "scale": h / 2}
            x.append(model.variable(f"x{i}", **about))
        for k, row in enumerate(self.rows):
            expression = evaluate(row.tree, x, CASADI)
            if row.tolerance is None:
                model.subject_to(expression, lower=row.lower, upper=row.upper, name=f"r{k}")
            else:
                model.subject_to(expression == row.lower, tolerance=row.tolerance, name=f"r{k}")
        return model

    def objective(self, x: Any) -> float:
        """Return a bowl in normalised variables, with its centre in a corner of the box."""
        return float(np.sum(((np.asarray(x) - self.center) / self.half - 0.9) ** 2))


CASADI = {
    "number": float,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "exp": ca.exp,
    "log": ca.log,
    "sqrt": ca.sqrt,
    "sin": ca.sin,
    "if": lambda x, c, a, b: ca.if_else(x < c, a, b),
}


def _real(function: Any) -> Any:
    def evaluated(a: float) -> float:
        try:
            return float(function(a))
        except (ValueError, OverflowError):
            return math.nan

    return evaluated


FLOATS = {
    **CASADI,
    "/": lambda a, b: a / b if b else math.nan,
    "exp": _real(math.exp),
    "log": _real(math.log),
    "sqrt": _real(math.sqrt),
    "sin": _real(math.sin),
    "if": lambda x, c, a, b: a if x < c else b,
}


def make_case(seed: int) -> Case:
    """Return the case of a seed; its kind goes round."""
    rng = np.random.default_rng([seed, 16])
    kind = KINDS[seed % len(KINDS)]
    n = int(rng.integers(2, 9))
    center, half = rng.normal(size=n) * 3, 10.0 ** rng.uniform(-1, 1, n)
    if kind == "scales":
        units = 10.0 ** rng.uniform(-_LARGEST_SCALE, _LARGEST_SCALE, n)
        center, half = center * units, half * units
    planted = center + half * rng.uniform(-0.8, 0.8, n)
    writer = _Writer(rng, kind, center, half, planted)
    bounded = kind != "unbounded"
    start = None if bounded and rng.random() < 0.5 else center + half * rng.uniform(-0.9, 0.9, n)
    return Case(kind, center, half, start, bounded, writer.rows(), planted)


class _Writer:
    """Writes the rows of a case."""

    def __init__(
        self, rng: np.random.Generator, kind: str, center: Any, half: Any, planted: Any
    ) -> None:
        self._rng, self._kind = rng, kind
        self._center, self._half, self._planted = center, half, planted
        self._n = len(center)
        self._sample = center + half * rng.uniform(-1, 1, (_POINTS, self._n))

    def rows(self) -> tuple[Row, ...]:
        rng, n, kind = self._rng, self._n, self._kind
        if kind == "equalities":
            equalities = int(rng.integers(1, n + 1))
            mixed = [self._row(self._any(), "equality") for _ in range(equalities)]
            return (*mixed, self._row(self._quadratic(), "one-sided"))
        count = int(rng.integers(1, 2 * n))
        return tuple(self._one() for _ in range(count))

    def _one(self) -> Row:
        kind, rng = self._kind, self._rng
        if kind == "thin":
            return self._row(self._any(), "thin" if rng.random() < 0.4 else "one-sided")
        if kind == "disconnected" and rng.random() < 0.5:
            return self._row(self._wave(), "band")
        trees = {
            "linear": self._linear,
            "quadratic": self._quadratic,
            "transcendental": self._transcendental,
            "if_else": self._branch,
            "undefined": self._gap,
        }
        tree = trees.get(kind, self._any)()
        return self._row(tree, "one-sided" if rng.random() < 0.8 else "band")

    def _row(self, tree: Tree, form: str) -> Row:
        """Place limits so that the planted design is feasible."""
        if self._kind == "scales":
            tree = times(10.0 ** self._rng.uniform(-_LARGEST_SCALE, _LARGEST_SCALE), tree)
        at = float(evaluate(tree, list(map(float, self._planted)), FLOATS))
        values = np.array([evaluate(tree, list(map(float, x)), FLOATS) for x in self._sample])
        change = np.abs(values - at)
        change = float(np.median(change[np.isfinite(change)])) if np.isfinite(change).any() else 1.0
        change = change or abs(at) or 1.0
        room = change * float(10.0 ** self._rng.uniform(-3, 0))
        if form == "equality":
            return Row(tree, at, at, _TOLERANCE * change)
        if form == "thin":
            return Row(tree, at - _THIN * change, at + _THIN * change)
        if form == "band":
            return Row(tree, at - room, at + room)
        if self._rng.random() < 0.5:
            return Row(tree, -math.inf, at + room)
        return Row(tree, at - room, math.inf)

    # -- formulas, in variables between -1 and 1 ---------------------------------------------

    def _u(self, i: int) -> Tree:
        return ("/", ("-", ("x", i), float(self._center[i])), float(self._half[i]))

    def _some(self) -> list[int]:
        size = int(self._rng.integers(1, min(self._n, 4) + 1))
        return [int(i) for i in self._rng.permutation(self._n)[:size]]

    def _linear(self) -> Tree:
        return total([times(self._rng.normal(), self._u(i)) for i in self._some()])

    def _square(self, tree: Tree) -> Tree:
        return ("*", tree, tree)

    def _quadratic(self) -> Tree:
        shifted = [("-", self._u(i), float(self._rng.normal() / 2)) for i in self._some()]
        parts = [times(self._rng.normal(), self._square(s)) for s in shifted]
        return total([*parts, ("*", self._linear(), self._linear())])

    def _transcendental(self) -> Tree:
        inner = self._linear()
        choices = (
            ("exp", times(1.5, inner)),
            ("log", ("+", 1.5, self._square(inner))),
            ("sin", times(3.0, inner)),
            ("/", inner, ("+", 1.2, self._square(self._linear()))),
            ("sqrt", ("+", 0.1, self._square(inner))),
            ("*", ("exp", inner), ("sin", times(2.0, self._linear()))),
        )
        return ("+", choices[int(self._rng.integers(len(choices)))], self._linear())

    def _branch(self) -> Tree:
        i = int(self._rng.integers(self._n))
        at = float(self._center[i] + self._half[i] * self._rng.uniform(-0.5, 0.5))
        return ("if", i, at, self._quadratic(), self._linear())

    def _wave(self) -> Tree:
        return ("sin", times(float(self._rng.uniform(4, 9)), self._linear()))

    def _gap(self) -> Tree:
        """Return a logarithm or a root whose argument is positive at the planted design."""
        inner = self._linear()
        at = float(evaluate(inner, list(map(float, self._planted)), FLOATS))
        argument = ("-", inner, at - float(10.0 ** self._rng.uniform(-2, 0)))
        return ("+", (str(self._rng.choice(["log", "sqrt"])), argument), self._linear())

    def _any(self) -> Tree:
        choices = (self._linear, self._quadratic, self._transcendental)
        return choices[int(self._rng.integers(len(choices)))]()
