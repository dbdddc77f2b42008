"""Compiling a `Model` into a `FeasibleSet`.

In order: eliminate fixed variables, drop constant rows (or report them if they can never
hold), turn rows that are a bare variable into bounds and merge them, sort the rest into
linear and nonlinear, look for inequalities that can only hold at their limit (they become
equalities, and it begins again), and let CasADi derive Jacobian and Hessian.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import InfeasibleModelError, ModelError
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.functions import FastFunction
from archeng.model.implied import LinearRows, always_active, opposite_pairs
from archeng.model.model import Model
from archeng.model.tolerance import Neighbourhood, default_half_widths, typical
from archeng.model.undefined import free_rows
from archeng.model.variable import Floats, stacked

_Implied = tuple[float, float]  # the value of an equality and its half-width
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
class _PendingRow:
    """One row on its way from the model to the feasible set; ``index``: among the declared ones."""

    info: RowInfo
    expression: Any
    lower: float
    upper: float
    index: int


def compile_model(model: Model) -> FeasibleSet:
    """Compile a model.

    Raises
    ------
    ModelError
        No variable at all, or none that is free.
    InfeasibleModelError
        A constant row that does not hold, or bounds that contradict each other.
    """
    return _compile(model, *_declared_bounds(model), None)


def _compile(
    model: Model, lower: Floats, upper: Floats, implied: Mapping[int, _Implied] | None
) -> FeasibleSet:
    """Compile with these bounds (n_full,), and these rows as equalities; None: not yet known."""
    fixed = lower == upper
    free = np.flatnonzero(~fixed)
    if len(free) == 0:
        raise ModelError(
            f"Model {model.name!r} has no free variable: nothing to optimise. Declare variables "
            "with lower < upper."
        )
    template = np.where(fixed, lower, 0.0)
    names = model.element_names()
    declared = np.equal(*_declared_bounds(model))
    notes = [
        f"variable {names[i]} is fixed at {lower[i]:g}"
        + ("" if declared[i] else ", the only value that its limits leave")
        for i in np.flatnonzero(fixed)
    ]

    x, scalars, kept = free_rows(model, free, template)
    rows = _pending_rows(model, scalars, implied or {})
    low, high = lower[free].copy(), upper[free].copy()
    rows = _drop_constant(rows, x, notes)
    own_names, merged = [names[i] for i in free], dict[int, list[str]]()
    rows = _absorb_bounds(rows, x, low, high, own_names, notes, merged)
    if np.any(low == high):  # merging left one value: the variable is fixed after all
        lower, upper = lower.copy(), upper.copy()
        lower[free], upper[free] = low, high
        return _compile(model, lower, upper, implied)
    linear, nonlinear = _split(rows, x)
    linear_jacobian = _linear_jacobian(_stack([r.expression for r in linear], x), x)
    if implied is None:
        near = _near(model, free, low, high)
        implied, pinned = _implied(linear, linear_jacobian, nonlinear, x, near)
        if implied or pinned:
            lower, upper = lower.copy(), upper.copy()
            for i, value in pinned.items():
                lower[free[i]] = upper[free[i]] = value
            return _compile(model, lower, upper, implied)
    notes += [_implied_note(r) for r in rows if r.info.implied]
    sources = [", ".join(merged.get(i, [])) for i in range(len(free))]
    feasible_set = _assemble(
        model, free, template, (low, high), sources, linear, linear_jacobian, nonlinear, x, notes
    )
    return replace(feasible_set, functions=(*model.functions, *kept))


def _assemble(
    model: Model,
    free: Any,
    template: Floats,
    box: tuple[Floats, Floats],
    sources: list[str],
    linear: list[_PendingRow],
    linear_jacobian: Floats,
    nonlinear: list[_PendingRow],
    x: Any,
    notes: list[str],
) -> FeasibleSet:
    """Let CasADi derive the functions; ``sources`` are the rows that went into each bound."""
    low, high = box
    names = model.element_names()
    bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    bound_rows = [
        RowInfo(f"bounds of {names[free[i]]}", RowKind.BOUND, False, sources[i]) for i in bounded
    ]
    general = [*linear, *nonlinear]
    expression = _stack([r.expression for r in general], x)
    curved = _stack([r.expression for r in nonlinear], x)
    jacobian = ca.jacobian(curved, x)
    weights = type(x).sym("w", len(nonlinear))
    lagrangian = ca.dot(weights, curved)
    hessian, _ = ca.hessian(lagrangian, x)
    variables = model.variables
    with np.errstate(over="ignore"):  # bounds of 1e308
        width = (high - low) / 5.0
    start, scale = (values[free] for values in stacked(variables, "start", "scale"))
    return FeasibleSet(
        name=model.name,
        variables=variables,
        free=free,
        template=template,
        free_names=tuple(names[i] for i in free),
        rows=(*bound_rows, *(r.info for r in general)),
        lower=np.concatenate((low[bounded], [r.lower for r in general])),
        upper=np.concatenate((high[bounded], [r.upper for r in general])),
        equality=np.array([False] * len(bounded) + [r.info.equality for r in general], dtype=bool),
        bounded=bounded,
        constant_jacobian=np.concatenate((np.eye(len(free))[bounded], linear_jacobian)),
        n_linear=len(linear),
        n_nonlinear=len(nonlinear),
        start=start,
        scale=np.where(np.isnan(scale), np.where(np.isfinite(width), width, np.nan), scale),
        notes=tuple(notes),
        all_rows=FastFunction.of(
            "rows", [x], [_stack([*(x[int(i)] for i in bounded), expression], x)]
        ),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [x], [curved, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [x, weights], [hessian], (0,)),
        jacobian_sparsity=jacobian.sparsity(),
        hessian_sparsity=hessian.sparsity(),
    )


def _declared_bounds(model: Model) -> tuple[Floats, Floats]:
    if not model.variables:
        raise ModelError(f"Model {model.name!r} has no variables; add some with model.variable().")
    lower, upper = stacked(model.variables, "lower", "upper")
    return lower, upper


def _pending_rows(
    model: Model, scalars: list[Any], implied: Mapping[int, _Implied]
) -> list[_PendingRow]:
    """Return the rows with their names and limits; ``scalars`` are their expressions."""
    rows = []
    k = 0
    for c in model.constraints:
        lower, upper = c.limits()
        for j, (label, equal) in enumerate(zip(c.row_names(), c.equalities(), strict=True)):
            low, high = float(lower[j]), float(upper[j])
            if k in implied:
                value, half = implied[k]
                low, high = value - half, value + half
            own = equal and c.tolerance is not None
            forced = k in implied
            info = RowInfo(label, RowKind.NONLINEAR, equal or forced, c.source, forced, own)
            rows.append(_PendingRow(info, scalars[k], low, high, k))
            k += 1
    return rows


def _near(model: Model, free: Any, low: Floats, high: Floats) -> Neighbourhood:
    """Return where a run begins, in the free variables."""
    start, scale = (values[free] for values in stacked(model.variables, "start", "scale"))
    center, deviations = typical(low, high, start, scale)
    return Neighbourhood(low, high, np.clip(center, low, high), deviations)


def _implied(
    linear: list[_PendingRow],
    jacobian: Floats,
    nonlinear: list[_PendingRow],
    x: Any,
    near: Neighbourhood,
) -> tuple[dict[int, _Implied], dict[int, float]]:
    """Rows that can only hold at a limit, by number, and free variables that have one value."""
    if any(not r.info.equality for r in linear):
        rows = LinearRows(
            A=jacobian,
            offset=_offsets(_stack([r.expression for r in linear], x), x),
            lower=np.array([r.lower for r in linear]),
            upper=np.array([r.upper for r in linear]),
            equality=np.array([r.info.equality for r in linear], dtype=bool),
        )
        active = always_active(rows, near)
    else:
        active = {}
    forced = [(linear[j], value) for j, value in active.items() if j < len(linear)]
    curved = [r for r in nonlinear if not r.info.equality]
    pairs = opposite_pairs([(r.expression, r.lower, r.upper) for r in curved], x, near)
    forced += [(curved[j], value) for j, value in pairs.items()]
    pinned = {j - len(linear): value for j, value in active.items() if j >= len(linear)}
    if len(pinned) == x.numel():  # one design: there is no need for room
        return {}, {}
    if not forced:
        return {}, pinned
    values = [value for _, value in forced]
    widths = default_half_widths([r.expression for r, _ in forced], values, x, near)
    together = zip(forced, widths.tolist(), strict=True)
    return {r.index: (value, half) for (r, value), half in together}, pinned


def _implied_note(row: _PendingRow) -> str:
    middle, half = (row.lower + row.upper) / 2, (row.upper - row.lower) / 2
    name = row.info.name
    return f"row {name} can only hold at its limit: an equality, {middle:.8g} +- {half:.3g}"


def _drop_constant(rows: list[_PendingRow], x: Any, notes: list[str]) -> list[_PendingRow]:
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


def _absorb_bounds(
    rows: list[_PendingRow],
    x: Any,
    low: Floats,
    high: Floats,
    names: list[str],
    notes: list[str],
    merged: dict[int, list[str]],
) -> list[_PendingRow]:
    """Move rows that are exactly ``x_i`` or ``-x_i`` (no equalities) into the bounds.

    ``merged`` collects, for each variable, the constraints that went into its bounds.
    """
    kept = []
    alone = [r for r, single in zip(rows, _single(rows, x), strict=True) if single]
    linear = [r for r, curved in zip(alone, _curved(alone, x), strict=True) if not curved]
    stacked = _stack([r.expression for r in linear], x)
    terms = zip(_linear_jacobian(stacked, x), _offsets(stacked, x), strict=True)
    terms_of = dict(zip(map(id, linear), terms, strict=True))
    for row in rows:
        gradient, offset = terms_of.get(id(row), (np.zeros(0), 0.0))
        touched = np.flatnonzero(gradient)
        bare = len(touched) == 1 and abs(gradient[touched[0]]) == 1.0 and offset == 0.0
        if not bare or row.info.equality:
            kept.append(row)
            continue
        i = int(touched[0])
        a, b = (row.lower, row.upper) if gradient[i] > 0 else (-row.upper, -row.lower)
        low[i], high[i] = max(low[i], a), min(high[i], b)
        merged.setdefault(i, []).append(str(row.info))
        notes.append(f"row {row.info.name} is a bound on {names[i]} and was merged with it")
        if low[i] > high[i]:
            raise InfeasibleModelError(
                f"Constraint {row.info} contradicts the other bounds of {names[i]!r}: together "
                f"they ask for at least {low[i]:g} and at most {high[i]:g}.",
                [str(row.info), f"bounds of {names[i]}"],
            )
    return kept


def _split(rows: list[_PendingRow], x: Any) -> tuple[list[_PendingRow], list[_PendingRow]]:
    """Sort rows into linear and nonlinear by their symbolic second derivative."""
    curved = _curved(rows, x)
    linear = [
        replace(r, info=replace(r.info, kind=RowKind.LINEAR))
        for r, c in zip(rows, curved, strict=True)
        if not c
    ]
    return linear, [r for r, c in zip(rows, curved, strict=True) if c]


def _depends(rows: list[_PendingRow], x: Any, order: int) -> list[bool]:
    if not rows:
        return []
    stacked = _stack([r.expression for r in rows], x)
    return list(ca.which_depends(stacked, x, order, True))


def _single(rows: list[_PendingRow], x: Any) -> list[bool]:
    """Which rows depend on one variable only."""
    stacked = _stack([r.expression for r in rows], x)
    touched, _ = ca.jacobian_sparsity(stacked, x).get_triplet()
    return list(np.bincount(np.array(touched, dtype=np.intp), minlength=len(rows)) == 1)


def _curved(rows: list[_PendingRow], x: Any) -> list[bool]:
    """Which rows are not linear: a second derivative, or an operation that jumps.

    A step (floor, sign, a comparison, ...) has derivative zero, so derivatives alone would
    call ``x + 5 * (x > 2)`` linear.
    """
    return [
        bend or _jumps(row.expression, x)
        for row, bend in zip(rows, _depends(rows, x, order=2), strict=True)
    ]


def _jumps(expression: Any, x: Any) -> bool:
    function = ca.Function("row", [x], [expression])
    return any(function.instruction_id(k) not in _SMOOTH for k in range(function.n_instructions()))


def _offsets(expression: Any, x: Any) -> Floats:
    """Constant terms of linear rows: their values at x = 0."""
    if expression.numel() == 0:
        return np.zeros(0)
    at_zero = ca.Function("f", [x], [expression])(0)
    return np.asarray(at_zero, dtype=float).reshape(-1)


def _linear_jacobian(expression: Any, x: Any) -> Floats:
    """Constant gradients of linear rows."""
    if expression.numel() == 0:
        return np.zeros((0, x.numel()))
    jacobian = ca.Function("j", [x], [ca.jacobian(expression, x)])(0).full()
    return np.asarray(jacobian, dtype=float)


def _stack(expressions: list[Any], like: Any) -> Any:
    return ca.vertcat(*expressions) if expressions else type(like)(0, 1)
