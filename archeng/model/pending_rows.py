"""Rows on their way from a model to a feasible set: constant, bounds, linear and curved ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import InfeasibleModelError
from archeng.model.conditional import Relaxed, relaxed
from archeng.model.declarations import Declarations
from archeng.model.feasible_set import RowInfo, RowKind
from archeng.model.functions import FastFunction
from archeng.model.variable import Floats

Implied = tuple[float, float]
"""The value of an equality that inequalities imply, and its half-width."""
_SMOOTH = frozenset(
    (
        ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_PARAMETER, ca.OP_ASSIGN, ca.OP_ADD,
        ca.OP_SUB, ca.OP_NEG, ca.OP_MUL, ca.OP_DIV, ca.OP_TWICE, ca.OP_SQ, ca.OP_INV, ca.OP_SQRT,
        ca.OP_POW, ca.OP_CONSTPOW, ca.OP_EXP, ca.OP_LOG, ca.OP_EXPM1, ca.OP_LOG1P, ca.OP_SIN,
        ca.OP_COS, ca.OP_TAN, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN, ca.OP_SINH, ca.OP_COSH,
        ca.OP_TANH, ca.OP_ASINH, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_ATAN2, ca.OP_HYPOT, ca.OP_ERF,
        ca.OP_ERFINV, ca.OP_VERTCAT, ca.OP_HORZCAT, ca.OP_VERTSPLIT, ca.OP_HORZSPLIT,
        ca.OP_RESHAPE, ca.OP_TRANSPOSE, ca.OP_GETNONZEROS, ca.OP_SETNONZEROS,
        ca.OP_ADDNONZEROS, ca.OP_DOT, ca.OP_MTIMES, ca.OP_PROJECT, ca.OP_BILIN, ca.OP_RANK1,
        ca.OP_SPARSITY_CAST, ca.OP_NORM2, ca.OP_NORMF,
    )
)  # fmt: skip


@dataclass(frozen=True)
class PendingRow:
    """One row on its way from the model to the feasible set; ``index``: among the declared ones.

    ``when`` is its condition, which is a part of the expression, too.
    """

    info: RowInfo
    expression: Any
    lower: float
    upper: float
    index: int
    when: Any = None


def pending_rows(
    model: Declarations,
    formulas: tuple[list[Any], list[Any], Any, tuple[Floats, Floats]],
    implied: Mapping[int, Implied],
    notes: list[str],
) -> list[PendingRow]:
    """Return the rows with their names and limits, conditions put in.

    ``formulas`` are expressions and conditions of the rows, x, and the box of x. A row that is
    split in two has its own number, and one beyond those of all rows.
    """
    scalars, conditions, x, box = formulas
    rows: list[PendingRow] = []
    declared = (
        (c, *row)
        for c in model.constraints
        for row in zip(c.row_names(), c.equalities(), *c.limits(), strict=True)
    )
    for k, (c, label, equal, *limits) in enumerate(declared):
        low, high = map(float, limits)
        when = conditions[k]
        if when is None or (when.is_constant() and float(when) == 1.0):
            parts, when = [Relaxed(scalars[k], low, high)], None
        elif when.is_constant():
            notes.append(f"row {label} is dropped: its condition is never met")
            continue
        else:
            parts, equal = relaxed(scalars[k], when, (low, high), x, box), False
        for offset, part in enumerate(parts):
            number = k + offset * len(scalars)
            low, high, forced = part.lower, part.upper, number in implied
            if forced:
                value, half = implied[number]
                low, high = value - half, value + half
            own = equal and c.tolerance is not None
            name = f"{label} ({part.side})" if part.side else label
            info = RowInfo(name, RowKind.NONLINEAR, equal or forced, c.source, forced, own)
            rows.append(PendingRow(info, part.expression, low, high, number, when))
    return rows


def without_constant(rows: list[PendingRow], x: Any, notes: list[str]) -> list[PendingRow]:
    """Check rows without variables and drop them, together with rows without limits."""
    kept = []
    depends = _depends(rows, x, order=1)
    for row, variable in zip(rows, depends, strict=True):
        if row.lower == -np.inf and row.upper == np.inf:
            notes.append(f"row {row.info.name} has no limit and was dropped")
        elif variable:
            kept.append(row)
        else:
            value = float(ca.Function("c", [x], [row.expression])(0))
            if not row.lower <= value <= row.upper:
                raise InfeasibleModelError(
                    f"Constraint {row.info} does not depend on any free variable and its "
                    f"value {value:g} is outside [{row.lower:g}, {row.upper:g}]. Remove it, "
                    "change its limit, or free a fixed variable.",
                    [str(row.info)],
                )
            notes.append(f"row {row.info.name} is constant, holds, and was dropped")
    return kept


def without_bounds(
    rows: list[PendingRow],
    x: Any,
    low: Floats,
    high: Floats,
    names: list[str],
    notes: list[str],
    merged: dict[int, list[str]],
) -> list[PendingRow]:
    """Move rows that are exactly ``x_i`` or ``-x_i`` (no equalities) into the bounds.

    ``merged`` collects, for each variable, the constraints that went into its bounds.
    """
    touched, _ = ca.jacobian_sparsity(stacked_rows(rows, x), x).get_triplet()
    counts = np.bincount(np.array(touched, dtype=np.intp), minlength=len(rows))
    alone = [r for r, k in zip(rows, counts, strict=True) if k == 1 and not r.info.equality]
    linear = [r for r, curved in zip(alone, _curved(alone, x), strict=True) if not curved]
    absorbed = set()
    for row, gradient, offset in zip(linear, *linear_terms(linear, x), strict=True):
        i = int(np.argmax(np.abs(gradient)))
        if abs(gradient[i]) != 1.0 or offset != 0.0:
            continue
        absorbed.add(row.index)
        a, b = (row.lower, row.upper) if gradient[i] > 0 else (-row.upper, -row.lower)
        low[i], high[i] = max(low[i], a), min(high[i], b)
        merged[i].append(str(row.info))
        notes.append(f"row {row.info.name} is a bound on {names[i]} and was merged with it")
        if low[i] > high[i]:
            raise InfeasibleModelError(
                f"Constraint {row.info} contradicts the other bounds of {names[i]!r}: together "
                f"they ask for at least {low[i]:g} and at most {high[i]:g}.",
                [str(row.info), f"bounds of {names[i]}"],
            )
    return [row for row in rows if row.index not in absorbed]


def by_kind(rows: list[PendingRow], x: Any) -> tuple[list[PendingRow], list[PendingRow]]:
    """Sort rows into linear and nonlinear by their symbolic second derivative."""
    linear, nonlinear = [], []
    for row, curved in zip(rows, _curved(rows, x), strict=True):
        if curved:
            nonlinear.append(row)
        else:
            linear.append(replace(row, info=replace(row.info, kind=RowKind.LINEAR)))
    return linear, nonlinear


def _depends(rows: list[PendingRow], x: Any, order: int) -> list[bool]:
    return list(ca.which_depends(stacked_rows(rows, x), x, order, True)) if rows else []


def _curved(rows: list[PendingRow], x: Any) -> list[bool]:
    """Which rows are not linear: a second derivative, or an operation that jumps.

    A step (floor, sign, a comparison, ...) has derivative zero, so derivatives alone would
    call ``x + 5 * (x > 2)`` linear.
    """
    curved = _depends(rows, x, order=2)
    flat = np.flatnonzero(np.logical_not(curved)).tolist()
    if _jumps(ca.vertcat(type(x)(0, 1), *(rows[j].expression for j in flat)), x):
        for j in flat:
            curved[j] = _jumps(rows[j].expression, x)
    return curved


def _jumps(expression: Any, x: Any) -> bool:
    """Whether an operation is not smooth."""
    f = ca.Function("rows", [x], [expression])
    return any(f.instruction_id(k) not in _SMOOTH for k in range(f.n_instructions()))


def linear_terms(rows: list[PendingRow], x: Any) -> tuple[Floats, Floats]:
    """Gradients (m, n) and constant terms (m,) of linear rows: what they are at x = 0."""
    expression = stacked_rows(rows, x)
    at_zero = ca.Function("f", [x], [ca.jacobian(expression, x), expression])(0)
    jacobian, offsets = (np.asarray(part.full(), dtype=float) for part in at_zero)
    return jacobian, offsets.reshape(-1)


def linear_limits(rows: list[PendingRow], x: Any) -> tuple[Floats, Floats, Floats]:
    """Gradients (m, n) of the linear rows, and the limits (m,) of what they multiply."""
    linear = [r for r, curved in zip(rows, _curved(rows, x), strict=True) if not curved]
    gradients, offsets = linear_terms(linear, x)
    lower, upper = np.array([(r.lower, r.upper) for r in linear]).reshape(-1, 2).T
    return gradients, lower - offsets, upper - offsets


def conditions_of(rows: list[PendingRow], n_bounds: int, x: Any) -> FastFunction | None:
    """Return x to the conditions (m,) of all rows, 1 for those that have none; None: all."""
    if all(row.when is None for row in rows):
        return None
    each = [type(x)(1.0) if row.when is None else row.when for row in rows]
    ones = type(x)(ca.DM.ones(n_bounds, 1))
    return FastFunction.of("conditions", [x], [ca.vertcat(ones, *each)])


def stacked_rows(rows: list[PendingRow], like: Any) -> Any:
    """Return the expressions of rows as a column, of the same kind as x."""
    return ca.vertcat(type(like)(0, 1), *(r.expression for r in rows))
