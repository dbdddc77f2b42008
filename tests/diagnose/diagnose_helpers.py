"""Checks of a conflict that do not use the code under test: only the model's own formulas."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from archeng.diagnose import Conflict, Member
from archeng.model import Model

TOLERANCE = 1e-7  # of the size of a row: of its terms there, or of its change over the box


def point_of(model: Model, witness: Mapping[str, float]) -> np.ndarray:
    """Flat vector of a point by names; fixed variables at their value."""
    fixed = np.concatenate([v.lower for v in model.variables])
    names = model.element_names()
    return np.array([witness.get(n, f) for n, f in zip(names, fixed, strict=True)])


def value_and_size(model: Model, member: Member, x: np.ndarray) -> tuple[float, float]:
    """Value of the row or variable of a member, and its size."""
    lower, upper = (
        np.concatenate([getattr(v, side) for v in model.variables]) for side in ("lower", "upper")
    )
    boxed = np.isfinite(upper - lower)
    width = np.where(boxed, upper - lower, 1.0)
    if member.kind == "bound":
        i = model.element_names().index(member.name)
        return float(x[i]), max(abs(float(x[i])), float(width[i]))
    rows = {
        name: row.expression
        for c in model.constraints
        for name, row in zip(c.row_names(), c.rows, strict=True)
    }
    expression = rows[member.name]
    both = ca.Function("f", [model.symbols], [expression, ca.jacobian(expression, model.symbols)])
    value, terms = _value_and_terms(both, x, np.abs(x))
    _, over_the_box = _value_and_terms(both, np.where(boxed, (lower + upper) / 2, x), width)
    return value, max(terms + abs(value), over_the_box)


def _value_and_terms(both: ca.Function, x: np.ndarray, reach: np.ndarray) -> tuple[float, float]:
    """Value of a row, and the sum of its slopes times a reach in each variable."""
    value, gradient = (np.asarray(v, dtype=float).ravel() for v in both(x))
    steep = np.where(np.isfinite(gradient), np.abs(gradient), 0.0)
    return float(value[0]), float(steep @ reach)


def holds(model: Model, member: Member, x: np.ndarray) -> bool:
    """Whether a member holds at a point, to rounding."""
    value, size = value_and_size(model, member, x)
    if not np.isfinite(value):
        return False
    sign, number, *rest = member.demand.split()
    limit = float(number)
    slack = TOLERANCE * max(size, abs(limit))
    if sign == "==":
        return abs(value - limit) <= float(rest[1]) + slack
    return value <= limit + slack if sign == "<=" else value >= limit - slack


def assert_minimal(model: Model, conflict: Conflict) -> None:
    """Every witness satisfies all members but its own."""
    assert conflict.minimal
    for member in conflict.members:
        assert member.witness is not None
        x = point_of(model, member.witness)
        others = [m for m in conflict.members if m is not member]
        assert all(holds(model, m, x) for m in others), member.label
        assert not holds(model, member, x), member.label
