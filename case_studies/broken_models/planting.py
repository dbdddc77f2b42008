"""Conflicts planted at random into healthy models, with the one right answer known.

``pair``: the same expression at most a and at least b > a. ``cycle``: three differences of three
expressions, u - v, v - w and w - u, each at least a limit, the limits adding up to more than
zero. The limits are chosen such that any proper subset holds at a known feasible design: the
planted rows are the only minimal conflict. ``slip``: a copy of a row with a limit that is a
thousand times tighter; without it the model is healthy, so it belongs to every conflict.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import archeng
from archeng.model import Model
from case_studies import cec2006, engineering

_DESIGNS = 30
_TRIES = 50


def models() -> dict[str, Model]:
    """Healthy models: CEC 2006 without g20, and the engineering suite."""
    names = [n for n in cec2006.names() if n != "g20"]
    return {n: cec2006.problem(n).model for n in names} | {
        n: engineering.problem(n).model for n in engineering.names()
    }


def plant(model: Model, kind: str, seed: int) -> frozenset[str]:
    """Add rows that cannot hold together and return their names; none if nothing fits."""
    rng = np.random.default_rng(seed)
    if kind == "slip":
        return _slip(model, rng)
    designs = np.array([d.x for d in archeng.sample_feasible(model, _DESIGNS, seed=1)])
    writer = _Writer(model, designs, rng)
    return _pair(writer) if kind == "pair" else _cycle(writer)


def _slip(model: Model, rng: np.random.Generator) -> frozenset[str]:
    """Copy a row that has a limit other than zero, and tighten the limit a thousand times."""
    found = []
    for constraint in model.constraints:
        row = constraint.rows[0]
        if np.isfinite(row.upper) and row.upper != 0:
            factor = 1e-3 if row.upper > 0 else 1e3
            found.append((row.expression, {"upper": factor * row.upper}))
        if np.isfinite(row.lower) and row.lower != 0:
            factor = 1e3 if row.lower > 0 else 1e-3
            found.append((row.expression, {"lower": factor * row.lower}))
    if not found:
        return frozenset()
    expression, limit = found[int(rng.integers(len(found)))]
    model.subject_to(expression, **limit, name="slipped")
    return frozenset({"slipped"})


class _Writer:
    """Random expressions of two or three variables, and their values at the designs."""

    def __init__(self, model: Model, designs: Any, rng: np.random.Generator) -> None:
        self.model, self._designs, self._rng = model, designs, rng
        self._x = model.symbols
        self._spread = designs.std(axis=0) + 1e-9

    def expression(self) -> Any:
        n = len(self._spread)
        chosen = [int(i) for i in self._rng.choice(n, min(3, n), replace=False)]
        parts = [self._x[i] / self._spread[i] for i in chosen]
        if len(parts) == 1:
            return parts[0]
        return parts[0] + parts[1] * (parts[-1] if self._rng.random() < 0.7 else 1)

    def values(self, expression: Any) -> Any:
        function = ca.Function("f", [self._x], [expression])
        return np.asarray(function(self._designs.T), dtype=float).ravel()


def _pair(writer: _Writer) -> frozenset[str]:
    expression = writer.expression()
    low, high = np.quantile(writer.values(expression), (0.2, 0.8))
    if high - low < 1e-6 * abs(high):
        return frozenset()
    writer.model.subject_to(expression <= low, name="planted 1")
    writer.model.subject_to(expression >= high, name="planted 2")
    return frozenset({"planted 1", "planted 2"})


def _cycle(writer: _Writer) -> frozenset[str]:
    for _ in range(_TRIES):
        u, v, w = (writer.expression() for _ in range(3))
        a, b, c = (writer.values(e) for e in (u, v, w))
        first, second, gap = np.median(a - b), np.median(b - c), 0.3 * np.std(c - a)
        third = gap - first - second
        holds = (a - b >= first, b - c >= second, c - a >= third)
        if gap > 1e-6 and all((holds[i] & holds[j]).any() for i, j in ((0, 1), (1, 2), (0, 2))):
            for k, (e, limit) in enumerate(((u - v, first), (v - w, second), (w - u, third))):
                writer.model.subject_to(e >= limit, name=f"planted {k + 1}")
            return frozenset({"planted 1", "planted 2", "planted 3"})
    return frozenset()
