"""`Judge`: which designs satisfy a Pyomo model, by Pyomo's own evaluation of every row.

An equality may be off by archeng's own tolerance for that row, which is a 1e-7th of what the row
changes over one deviation; bounds hold exactly, other rows up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

import archeng
from case_studies.flowsheet.definition import Problem, constraints, variables

ROUNDING = 1e-9
"""Slack of inequalities, relative to the limit (at least 1): sums are added in another order."""

EDGE = 1.01
"""Tolerances are multiplied by this, for the same reason: they may be used up to their end."""


@dataclass(frozen=True)
class Verdict:
    """What is violated at a design.

    Attributes
    ----------
    broken : tuple of str
        Bounds and rows that are violated by more than is allowed.
    residual : float
        Largest difference between the sides of an equality, in the units of its row.
    excess : float
        Largest violation of a bound or an inequality, in its units.
    """

    broken: tuple[str, ...]
    residual: float
    excess: float


def tolerances(problem: Problem) -> dict[str, float]:
    """Return archeng's default half-widths of the equalities, by the names of Pyomo's rows."""
    model = archeng.from_pyomo(problem.build())
    return {
        name: float(high - low) / 2
        for c in model.constraints
        for name, equal, low, high in zip(c.row_names(), c.equalities(), *c.limits(), strict=True)
        if equal
    }


class Judge:
    """Judges designs of a problem.

    Parameters
    ----------
    problem : Problem
    allowed : mapping
        Half-widths of equalities by name, see `tolerances`.
    """

    def __init__(self, problem: Problem, allowed: Mapping[str, float]) -> None:
        self._model = problem.build()  # a constraint holds its model only weakly
        self._variables = variables(self._model)
        self._rows = [(row, *_limits(row)) for row in constraints(self._model)]
        self._allowed = allowed

    def __call__(self, design: Mapping[str, float]) -> Verdict:
        """Judge values by the names of the variables; a fixed variable must have its value."""
        broken = []
        residual = excess = 0.0
        for name, var in self._variables.items():
            number = float(design.get(name, var.value if var.fixed else math.nan))
            low, high = (var.value, var.value) if var.fixed else _limits(var)
            over = _largest(low - number, number - high)
            if over > 0.0:
                broken.append(f"bounds of {name}")
            excess = max(excess, over)
            if not var.fixed:
                var.set_value(number, skip_validation=True)
        for row, low, high in self._rows:
            body = _value(row.body)
            off = _largest(low - body, body - high)
            if low == high:
                residual = max(residual, off)
                allowed = EDGE * self._allowed[row.name]
            else:
                excess = max(excess, off)
                allowed = ROUNDING * max(1.0, abs(low if low - body > body - high else high))
            if off > allowed:
                broken.append(row.name)
        return Verdict(tuple(broken), residual, excess)


def _limits(part: Any) -> tuple[float, float]:
    """Lower and upper limit of a variable or a constraint, infinite where there is none."""
    low, high = part.lower, part.upper
    return (
        -math.inf if low is None else float(pyo.value(low)),
        math.inf if high is None else float(pyo.value(high)),
    )


def _value(body: Any) -> float:
    try:
        return float(pyo.value(body))
    except (ArithmeticError, ValueError):
        return math.nan


def _largest(*differences: float) -> float:
    """Return the largest of the differences, infinite if one is not a number."""
    return math.inf if any(map(math.isnan, differences)) else max(differences)
