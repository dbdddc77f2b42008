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
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.declarations import Declarations
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.formulas import compile_formulas
from archeng.model.functions import FastFunction
from archeng.model.implied import LinearRows, always_active, opposite_pairs
from archeng.model.levels import at_levels, bounded_integers, lattice_of, level_at, value_text
from archeng.model.parameter_slopes import compile_parameter_slopes
from archeng.model.pending_rows import (
    Implied,
    PendingRow,
    by_kind,
    conditions_of,
    linear_limits,
    linear_terms,
    pending_rows,
    stacked_rows,
    without_bounds,
    without_constant,
)
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
_Known = Mapping[int, Implied] | None  # rows that are equalities after all; None: not yet known
_Reduction = tuple[bool, Choice | None]  # whether to eliminate variables, and a choice made earlier
_MOST_DENSE = 1000  # variables of a model with many equations that are searched all the same


class _Sorted(NamedTuple):
    """A model with its rows sorted; ``merged`` are those that went into each bound."""

    model: Declarations
    free: Any
    template: Floats
    low: Floats
    high: Floats
    merged: Mapping[int, list[str]]
    linear: list[PendingRow]
    nonlinear: list[PendingRow]
    x: Any


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
    model: Declarations, lower: Floats, upper: Floats, implied: _Known, reduction: _Reduction
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
    rows = pending_rows(model, formulas, implied or {}, notes)
    rows = without_constant(rows, x, notes)
    own_names, merged = [names[i] for i in free], defaultdict[int, list[str]](list)
    rows = without_bounds(rows, x, low, high, own_names, notes, merged)
    linear_rows = partial(linear_limits, rows, x)
    bounded_integers(model, free, low, high, linear_rows)
    low, high = at_levels(model, free, low, high, own_names, linear_rows)
    if np.any(low == high):  # merging left one value: the variable is fixed after all
        lower, upper = lower.copy(), upper.copy()
        lower[free], upper[free] = low, high
        return _compile(model, lower, upper, implied, reduction)
    linear, nonlinear = by_kind(rows, x)
    given = _Sorted(model, free, template, low, high, merged, linear, nonlinear, x)
    reduced = None if kept else _reduced_if_many(given, reduction, notes)
    if reduced is not None:
        return reduced
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
    feasible_set = _assemble(given, notes)
    return replace(
        feasible_set,
        functions=(*model.functions, *kept),
        formulas=compile_formulas(model, free, template),
        parameters=model.parameters,
        parameter_slopes=compile_parameter_slopes(model),
        lattice=lattice_of(model, free, low, high),
    )


def _reduced_if_many(given: _Sorted, reduction: _Reduction, notes: list[str]) -> FeasibleSet | None:
    """Return the set over the independents, if there are many equations and they can be solved."""
    (eliminate, choice), model, free = reduction, given.model, given.free
    n_equations = sum(r.info.equality for r in (*given.linear, *given.nonlinear))
    if not (eliminate and is_reduced(n_equations, len(free), bool(model.independents))):
        return None
    whole = _whole(given)
    if choice is not None:
        return _reduced(model, whole, dependents_of(whole, choice), notes)
    dependents = chosen_dependents(whole, model.name)
    if dependents is not None:
        return _reduced(model, whole, dependents, notes)
    if len(free) > _MOST_DENSE:
        raise unsolved(whole, model.name)
    notes.append(_UNSOLVED)
    logger.warning("%s: %s", model.name, _UNSOLVED)
    return None


def _whole(given: _Sorted) -> Whole:
    """Return all rows with sparse derivatives, before dependent variables are eliminated."""
    model, free, template, low, high, merged, linear, nonlinear, x = given
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


def _assemble(given: _Sorted, notes: list[str]) -> FeasibleSet:
    """Let CasADi derive the functions."""
    model, free, template, low, high, merged, linear, nonlinear, x = given
    names = model.element_names()
    bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    bound_rows = [
        RowInfo(f"bounds of {names[free[i]]}", RowKind.BOUND, False, ", ".join(merged[i]))
        for i in bounded.tolist()
    ]
    general = [*linear, *nonlinear]
    curved = stacked_rows(nonlinear, x)
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
        constant_jacobian=np.concatenate((np.eye(len(free))[bounded], linear_terms(linear, x)[0])),
        n_linear=len(linear),
        n_nonlinear=len(nonlinear),
        start=start,
        scale=np.where(np.isnan(scale), np.where(np.isfinite(width), width, np.nan), scale),
        notes=tuple(notes),
        all_rows=FastFunction.of(
            "rows", [x], [ca.vertcat(*(x[int(i)] for i in bounded), stacked_rows(general, x))]
        ),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [x], [curved, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [x, weights], [hessian], (0,)),
        jacobian_sparsity=jacobian.sparsity(),
        hessian_sparsity=hessian.sparsity(),
        conditions=conditions_of(general, len(bounded), x),
    )


def _implied(
    linear: list[PendingRow], nonlinear: list[PendingRow], x: Any, near: Neighbourhood
) -> tuple[dict[int, Implied], dict[int, float]]:
    """Rows that can only hold at a limit, by number, and free variables that have one value."""
    lower, upper = np.array([(r.lower, r.upper) for r in linear]).reshape(-1, 2).T
    equality = np.array([r.info.equality for r in linear], dtype=bool)
    active = always_active(LinearRows(*linear_terms(linear, x), lower, upper, equality), near)
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


def _implied_note(row: PendingRow) -> str:
    middle, half = (row.lower + row.upper) / 2, (row.upper - row.lower) / 2
    name = row.info.name
    return f"row {name} can only hold at its limit: an equality, {middle:.8g} +- {half:.3g}"
