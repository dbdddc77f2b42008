"""From a model with many equations to its dependent variables: when, and which.

A model is *reduced*, searched in its independent variables only, if it has at least
`LEAST_EQUATIONS` equalities without outputs and at least half as many as free variables, or if the
engineer names independents. All others are searched in all their variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.errors import InfeasibleModelError
from archeng.model.structure.anchor import find_anchor
from archeng.model.structure.dependents import Dependents, Split
from archeng.model.structure.incidence import Indices
from archeng.model.structure.independents import (
    check_named,
    exchanged,
    matched_split,
    ranked_split,
    split_of,
)
from archeng.model.structure.scipy_modules import sparse
from archeng.model.structure.whole import Choice, Whole
from archeng.model.variable import Floats

LEAST_EQUATIONS = 30
"""Equalities from which on a model is searched in its independent variables."""
SINGULAR = 10.0
"""Scaled slope at the best design from which on a run chooses other independents."""
_MUCH_BETTER = 3.0  # factor by which others must be better
_NAMED = 5  # equations in a message
_TRIES = 3  # of choosing anew, at the point that the last choice has led to


def is_reduced(n_equations: int, n_free: int, named: bool) -> bool:
    """Whether a model with so many equalities and free variables is reduced."""
    if not 0 < n_equations < n_free:
        return False
    return named or (n_equations >= LEAST_EQUATIONS and 2 * n_equations >= n_free)


@one_thread
def chosen_dependents(whole: Whole, model: str) -> Dependents | None:
    """Choose the independents and solve the equations; None if no solution is found.

    Raises
    ------
    ModelError
        If the independents that the engineer names cannot all be.
    """
    limits, system = whole.limits, whole.system
    equations = np.flatnonzero(limits.equality)
    bounded = np.isfinite(limits.low) & np.isfinite(limits.high)
    names = [whole.rows[j].name for j in equations]
    rows = sparse.csr_array(system.jacobian.pattern)[equations]
    check_named(rows, np.flatnonzero(whole.independent), whole.names, names, model)
    at_first, curved = _gradients(whole, equations)
    split = matched_split(
        at_first, curved, limits.scale, equations, whole.independent, bounded, whole.torn
    )
    anchor = find_anchor(system, split, limits)
    if anchor is None:
        return None
    for _ in range(_TRIES):
        better = _better(whole, split, anchor, equations, bounded)
        if better is None or np.array_equal(better.independent, split.independent):
            break
        split = better
    found = _dependents(whole, split, anchor)
    return None if found.start is None else found


def unsolved(whole: Whole, model: str) -> InfeasibleModelError:
    """Return the error of equations that have no solution that is found."""
    limits = whole.limits
    with np.errstate(all="ignore"):
        off = np.abs(whole.system.values(limits.first) - limits.middle) / limits.half
    equations = np.flatnonzero(limits.equality)
    worst = equations[np.argsort(-np.nan_to_num(off[equations], nan=np.inf))[:_NAMED]]
    names = [str(whole.rows[j]) for j in worst]
    return InfeasibleModelError(
        f"No solution of the {len(equations)} equations of model {model!r} was found, neither by "
        "Newton's method nor by IPOPT, beginning at the given values of the variables. There they "
        f"are worst for {'; '.join(names)}. Give the variables a start= (in Pyomo: initialize=) "
        "near a solution; `archeng check` says whether there are too many equations.",
        names,
    )


def dependents_of(whole: Whole, choice: Choice) -> Dependents:
    """Return the dependents of a choice that was made earlier."""
    position = np.full(len(whole.template), -1)
    position[whole.free] = np.arange(len(whole.free))
    independent = position[choice.independent]
    dependent = np.setdiff1d(np.arange(len(whole.free)), independent)
    split = split_of(len(whole.free), dependent, choice.equations)
    return _dependents(whole, split, choice.anchor[whole.free])


def rechosen(whole: Whole, old: Dependents) -> Choice | None:
    """Choose other independents where the old ones serve badly, at the anchor; None: they do not.

    They do if a dependent variable moves more than `SINGULAR` times as far as an independent one,
    each in its own typical changes: the equations are nearly singular for them.
    """
    start = old.start
    if start is None or steepest(old) <= SINGULAR:
        return None
    limits, bounded = whole.limits, np.isfinite(whole.limits.low) & np.isfinite(whole.limits.high)
    split, tangent = old.split, start.tangent
    if np.all(np.isfinite(tangent)):
        new = exchanged(split, tangent, old.columns, limits.scale, whole.may_move, bounded)
    else:
        rows = sparse.csr_array(whole.system.jacobian.matrix(start.x))[split.equations]
        ranked = ranked_split(rows, limits.scale, split.equations, whole.independent)
        if ranked is None or len(ranked.equations) < len(split.equations):
            return None
        new = ranked
    if np.array_equal(new.independent, split.independent):
        return None
    found = _dependents(whole, new, start.x)
    if found.start is None or steepest(found) > steepest(old) / _MUCH_BETTER:
        return None
    return Choice(whole.free[new.independent], new.equations, whole.expand(start.x))


def steepest(dependents: Dependents) -> float:
    """Return the largest scaled slope at the anchor; infinite if the equations are singular."""
    start = dependents.start
    if start is None:
        return np.inf
    own, others = dependents.split.independent, dependents.columns
    S = start.tangent * dependents.scale[own] / dependents.scale[others][:, None]
    return float(np.abs(S).max(initial=0.0)) if np.all(np.isfinite(S)) else np.inf


def _gradients(whole: Whole, equations: Indices) -> tuple[Any, Any]:
    """Return the gradients of the equations at the start, and which entries are not constant."""
    system, limits = whole.system, whole.limits
    with np.errstate(all="ignore"):
        first = system.jacobian.matrix(limits.first).tocsr()[equations]
        changed = np.zeros(first.nnz, dtype=bool)
        for share in np.random.default_rng(0).uniform(-0.5, 0.5, (2, system.n)):
            there = system.jacobian.matrix(limits.first + share * limits.scale).tocsr()
            changed |= there[equations].data != first.data
    return first, changed


def _better(
    whole: Whole, split: Split, anchor: Floats, equations: Indices, bounded: Any
) -> Split | None:
    """Choose again by the slopes at a solution; None if the equations are singular there."""
    limits = whole.limits
    found = _dependents(whole, split, anchor)
    start = found.start
    with np.errstate(all="ignore"):
        if start is None or not np.all(np.isfinite(start.tangent)):
            at = sparse.csr_array(whole.system.jacobian.matrix(anchor))[equations]
            return ranked_split(at, limits.scale, equations, whole.independent)
        return exchanged(split, start.tangent, found.columns, limits.scale, whole.may_move, bounded)


def _dependents(whole: Whole, split: Split, anchor: Floats) -> Dependents:
    limits = whole.limits
    return limits.dependents(whole.system, split, anchor)
