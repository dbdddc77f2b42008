"""Compiling a `Model` into a `FeasibleSet`.

In order: eliminate fixed variables, drop constant rows (or report them if they can never
hold), turn rows that are a bare variable into bounds and merge them, sort the rest into
linear and nonlinear, look for inequalities that can only hold at their limit (they become
equalities, and it begins again), and let CasADi derive Jacobian and Hessian.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import InfeasibleModelError, ModelError
from archeng.model.conditional import Relaxed, relaxed
from archeng.model.declarations import Declarations
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.formulas import compile_formulas
from archeng.model.functions import FastFunction
from archeng.model.implied import LinearRows, always_active, opposite_pairs
from archeng.model.levels import at_levels, bounded_integers, lattice_of, level_at, value_text
from archeng.model.parameter_slopes import compile_parameter_slopes
from archeng.model.structure.anchor import Limits
from archeng.model.structure.dependents import Dependents
from archeng.model.structure.formula_rows import reduced_functions
from archeng.model.structure.reduced import check_settled, reduced_set
from archeng.model.structure.reduction import (
    chosen_dependents,
    dependents_of,
    is_reduced,
    unsolved,
)
from archeng.model.structure.system import RowSystem
from archeng.model.structure.tears import torn_variables
from archeng.model.structure.whole import Choice, Whole
from archeng.model.tolerance import Neighbourhood, default_half_widths, neighbourhood
from archeng.model.undefined import free_formulas
from archeng.model.variable import Floats, stacked

logger = logging.getLogger("archeng")

_UNSOLVED = "no solution of its equations was found; all variables are searched"
_MOST_DENSE = 1000  # variables of a model with many equations that are searched all the same
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
    """One row on its way from the model to the feasible set; ``index``: among the declared ones.

    ``when`` is its condition, which is a part of the expression, too.
    """

    info: RowInfo
    expression: Any
    lower: float
    upper: float
    index: int
    when: Any = None


def compile_model(
    model: Declarations, *, eliminate: bool = True, choice: Choice | None = None
) -> FeasibleSet:
    """Compile a model.

    Parameters
    ----------
    model : Declarations
    eliminate : bool
        Whether a model with many equations becomes a set over its independent variables.
    choice : Choice, optional
        Which ones they are, of a run that goes on.

    Raises
    ------
    ModelError
        No variable at all, or none that is free.
    InfeasibleModelError
        A constant row that does not hold, or bounds that contradict each other.
    """
    if not model.variables:
        raise ModelError(f"Model {model.name!r} has no variables; add some with model.variable().")
    lower, upper = stacked(model.variables, "lower", "upper")
    return _compile(model, lower, upper, None, (eliminate, choice))


def _compile(
    model: Declarations,
    lower: Floats,
    upper: Floats,
    implied: Mapping[int, _Implied] | None,
    reduction: tuple[bool, Choice | None],
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
    declared = np.equal(*stacked(model.variables, "lower", "upper"))
    notes = [
        f"variable {names[i]} is fixed at {value_text(model, int(i), lower[i])}"
        + ("" if declared[i] else ", the only value that its limits leave")
        for i in np.flatnonzero(fixed)
    ]

    x, scalars, conditions, kept = free_formulas(model, free, template)
    low, high = lower[free].copy(), upper[free].copy()
    formulas = scalars, conditions, x, (low, high)
    rows = _pending_rows(model, formulas, implied or {}, notes)
    rows = _drop_constant(rows, x, notes)
    own_names, merged = [names[i] for i in free], defaultdict[int, list[str]](list)
    rows = _absorb_bounds(rows, x, low, high, own_names, notes, merged)
    linear_rows = partial(_linear_limits, rows, x)
    bounded_integers(model, free, low, high, linear_rows)
    low, high = at_levels(model, free, low, high, own_names, linear_rows)
    if np.any(low == high):  # merging left one value: the variable is fixed after all
        lower, upper = lower.copy(), upper.copy()
        lower[free], upper[free] = low, high
        return _compile(model, lower, upper, implied, reduction)
    linear, nonlinear = _split(rows, x)
    n_equations = sum(r.info.equality for r in rows)
    eliminate, choice = reduction
    several = is_reduced(n_equations, len(free), bool(model.independents))
    if eliminate and not kept and several:
        whole = _whole(model, free, template, low, high, merged, linear, nonlinear, x)
        dependents = (
            chosen_dependents(whole, model.name) if choice is None else dependents_of(whole, choice)
        )
        if dependents is not None:
            return _reduced(model, whole, dependents, notes)
        if len(free) > _MOST_DENSE:
            raise unsolved(whole, model.name)
        notes.append(_UNSOLVED)
        logger.warning("%s: %s", model.name, _UNSOLVED)
    if implied is None:
        start, scale = (values[free] for values in stacked(model.variables, "start", "scale"))
        near = neighbourhood(low, high, start, scale, far=np.inf)
        implied, pinned = _implied(linear, nonlinear, x, near)
        if implied or pinned:
            lower, upper = lower.copy(), upper.copy()
            for i, value in pinned.items():
                lower[free[i]] = upper[free[i]] = level_at(model, int(free[i]), value)
            return _compile(model, lower, upper, implied, reduction)
    notes += [_implied_note(r) for r in rows if r.info.implied]
    feasible_set = _assemble(model, free, template, low, high, merged, linear, nonlinear, x, notes)
    return replace(
        feasible_set,
        functions=(*model.functions, *kept),
        formulas=compile_formulas(model, free, template),
        parameters=model.parameters,
        parameter_slopes=compile_parameter_slopes(model),
        lattice=lattice_of(model, free, low, high),
    )


def _whole(
    model: Declarations,
    free: Any,
    template: Floats,
    low: Floats,
    high: Floats,
    merged: Mapping[int, list[str]],
    linear: list[_PendingRow],
    nonlinear: list[_PendingRow],
    x: Any,
) -> Whole:
    """Return all rows with sparse derivatives, before dependent variables are eliminated."""
    names, rows = model.element_names(), [*linear, *nonlinear]
    start, scale = (values[free] for values in stacked(model.variables, "start", "scale"))
    near = neighbourhood(low, high, start, scale)
    alone = np.isnan(start) & (np.isfinite(low) != np.isfinite(high))
    inward = np.where(alone, np.where(np.isfinite(low), 1.0, -1.0), 0.0) * near.scale / 10
    independent = np.isin(free, model.independents)
    discrete = [v.domain.is_discrete for v in model.variables for _ in range(v.size)]
    return Whole(
        free=free,
        template=template,
        names=tuple(names[i] for i in free),
        bounds=tuple(
            RowInfo(f"bounds of {names[free[i]]}", RowKind.BOUND, False, ", ".join(merged[i]))
            for i in range(len(free))
        ),
        rows=tuple(r.info for r in rows),
        linear=np.arange(len(rows)) < len(linear),
        system=RowSystem(x, [r.expression for r in rows]),
        limits=Limits(
            low=low,
            high=high,
            row_low=np.array([r.lower for r in rows]),
            row_high=np.array([r.upper for r in rows]),
            equality=np.array([r.info.equality for r in rows]),
            first=near.center + inward,
            scale=near.scale,
        ),
        independent=independent | np.array(discrete)[free],
        torn=torn_variables(model, free, sum(r.info.equality for r in rows)),
    )


def _reduced(
    model: Declarations, whole: Whole, dependents: Dependents, notes: list[str]
) -> FeasibleSet:
    """Return the set over the independent variables."""
    check_settled(whole, dependents, model.name)
    free, template = whole.free, whole.template
    formulas = compile_formulas(model, free, template, partial(reduced_functions, dependents))
    feasible_set = reduced_set(model.name, model.variables, whole, dependents, formulas, notes)
    lattice = lattice_of(model, feasible_set.free, *feasible_set.bounds)
    return replace(
        feasible_set,
        parameters=model.parameters,
        parameter_slopes=compile_parameter_slopes(model),
        lattice=lattice,
    )


def _assemble(
    model: Declarations,
    free: Any,
    template: Floats,
    low: Floats,
    high: Floats,
    merged: Mapping[int, list[str]],
    linear: list[_PendingRow],
    nonlinear: list[_PendingRow],
    x: Any,
    notes: list[str],
) -> FeasibleSet:
    """Let CasADi derive the functions; ``merged`` are the rows that went into each bound."""
    names = model.element_names()
    bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    bound_rows = [
        RowInfo(f"bounds of {names[free[i]]}", RowKind.BOUND, False, ", ".join(merged[i]))
        for i in bounded.tolist()
    ]
    general = [*linear, *nonlinear]
    curved = _stack(nonlinear, x)
    jacobian = ca.jacobian(curved, x)
    weights = type(x).sym("w", len(nonlinear))
    hessian, _ = ca.hessian(ca.dot(weights, curved), x)
    with np.errstate(over="ignore"):  # bounds of 1e308
        width = (high - low) / 5.0
    start, scale = (values[free] for values in stacked(model.variables, "start", "scale"))
    return FeasibleSet(
        name=model.name,
        variables=model.variables,
        free=free,
        template=template,
        free_names=tuple(names[i] for i in free),
        rows=(*bound_rows, *(r.info for r in general)),
        lower=np.concatenate((low[bounded], [r.lower for r in general])),
        upper=np.concatenate((high[bounded], [r.upper for r in general])),
        equality=np.array([False] * len(bounded) + [r.info.equality for r in general], dtype=bool),
        bounded=bounded,
        constant_jacobian=np.concatenate((np.eye(len(free))[bounded], _linear_terms(linear, x)[0])),
        n_linear=len(linear),
        n_nonlinear=len(nonlinear),
        start=start,
        scale=np.where(np.isnan(scale), np.where(np.isfinite(width), width, np.nan), scale),
        notes=tuple(notes),
        all_rows=FastFunction.of(
            "rows", [x], [ca.vertcat(*(x[int(i)] for i in bounded), _stack(general, x))]
        ),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [x], [curved, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [x, weights], [hessian], (0,)),
        jacobian_sparsity=jacobian.sparsity(),
        hessian_sparsity=hessian.sparsity(),
        conditions=_conditions(general, len(bounded), x),
    )


def _pending_rows(
    model: Declarations,
    formulas: tuple[list[Any], list[Any], Any, tuple[Floats, Floats]],
    implied: Mapping[int, _Implied],
    notes: list[str],
) -> list[_PendingRow]:
    """Return the rows with their names and limits, conditions put in.

    ``formulas`` are expressions and conditions of the rows, x, and the box of x. A row that is
    split in two has its own number, and one beyond those of all rows.
    """
    scalars, conditions, x, box = formulas
    rows: list[_PendingRow] = []
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
            rows.append(_PendingRow(info, part.expression, low, high, number, when))
    return rows


def _implied(
    linear: list[_PendingRow], nonlinear: list[_PendingRow], x: Any, near: Neighbourhood
) -> tuple[dict[int, _Implied], dict[int, float]]:
    """Rows that can only hold at a limit, by number, and free variables that have one value."""
    lower, upper = np.array([(r.lower, r.upper) for r in linear]).reshape(-1, 2).T
    equality = np.array([r.info.equality for r in linear], dtype=bool)
    active = always_active(LinearRows(*_linear_terms(linear, x), lower, upper, equality), near)
    forced = [(linear[j], value) for j, value in active.items() if j < len(linear)]
    curved = [r for r in nonlinear if not r.info.equality]
    pairs = opposite_pairs(curved, x, near)
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
    touched, _ = ca.jacobian_sparsity(_stack(rows, x), x).get_triplet()
    counts = np.bincount(np.array(touched, dtype=np.intp), minlength=len(rows))
    alone = [r for r, k in zip(rows, counts, strict=True) if k == 1 and not r.info.equality]
    linear = [r for r, curved in zip(alone, _curved(alone, x), strict=True) if not curved]
    absorbed = set()
    for row, gradient, offset in zip(linear, *_linear_terms(linear, x), strict=True):
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


def _split(rows: list[_PendingRow], x: Any) -> tuple[list[_PendingRow], list[_PendingRow]]:
    """Sort rows into linear and nonlinear by their symbolic second derivative."""
    linear, nonlinear = [], []
    for row, curved in zip(rows, _curved(rows, x), strict=True):
        if curved:
            nonlinear.append(row)
        else:
            linear.append(replace(row, info=replace(row.info, kind=RowKind.LINEAR)))
    return linear, nonlinear


def _depends(rows: list[_PendingRow], x: Any, order: int) -> list[bool]:
    return list(ca.which_depends(_stack(rows, x), x, order, True)) if rows else []


def _curved(rows: list[_PendingRow], x: Any) -> list[bool]:
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


def _linear_terms(rows: list[_PendingRow], x: Any) -> tuple[Floats, Floats]:
    """Gradients (m, n) and constant terms (m,) of linear rows: what they are at x = 0."""
    expression = _stack(rows, x)
    at_zero = ca.Function("f", [x], [ca.jacobian(expression, x), expression])(0)
    jacobian, offsets = (np.asarray(part.full(), dtype=float) for part in at_zero)
    return jacobian, offsets.reshape(-1)


def _linear_limits(rows: list[_PendingRow], x: Any) -> tuple[Floats, Floats, Floats]:
    """Gradients (m, n) of the linear rows, and the limits (m,) of what they multiply."""
    linear = [r for r, curved in zip(rows, _curved(rows, x), strict=True) if not curved]
    gradients, offsets = _linear_terms(linear, x)
    lower, upper = np.array([(r.lower, r.upper) for r in linear]).reshape(-1, 2).T
    return gradients, lower - offsets, upper - offsets


def _conditions(rows: list[_PendingRow], n_bounds: int, x: Any) -> FastFunction | None:
    """Return x to the conditions (m,) of all rows, 1 for those that have none; None: all."""
    if all(row.when is None for row in rows):
        return None
    each = [type(x)(1.0) if row.when is None else row.when for row in rows]
    ones = type(x)(ca.DM.ones(n_bounds, 1))
    return FastFunction.of("conditions", [x], [ca.vertcat(ones, *each)])


def _stack(rows: list[_PendingRow], like: Any) -> Any:
    return ca.vertcat(type(like)(0, 1), *(r.expression for r in rows))
