r"""Diagnosis of a large model: structure, one design, or the few rows that are in conflict.

All that is dense is left out. If there is no design, an elastic program over all rows,

.. math:: \min_{x, s, t \ge 0} \sum_j s_j + t_j \quad\text{s.t.}\quad
          a_j \le g_j(x) / \sigma_j + s_j - t_j \le b_j ,

says which rows give or pull; they are diagnosed as a model of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.diagnose.diagnosis import Conflict, Diagnosis, Finding
from archeng.diagnose.equations import Equations, compiled_form
from archeng.diagnose.structure import structure_of
from archeng.diagnose.submodel import submodel
from archeng.distribution import initial_distribution
from archeng.errors import InfeasibleModelError
from archeng.model import FeasibleSet, Model
from archeng.model.tolerance import typical
from archeng.model.undefined import free_rows
from archeng.model.variable import Floats, stacked
from archeng.repair import Repairer
from archeng.sampling import feasible_points
from archeng.settings import Settings

MOST_ROWS = 1500
"""Rows and free variables together beyond which a model is large."""
LEFT_OUT = (
    "redundant rows",
    "rows that are always at their limit",
    "rows that are undefined or badly scaled",
    "variables that nothing limits",
    "the share of the box",
    "disconnected regions",
)
_SUSPECTS = 150  # rows, those that pull most, that are diagnosed as a model of their own
_RELEVANT = 1e-6  # least multiplier of such a row, of at most 1
_NEAR = 1e-9  # weight of the distance to the start
_IPOPT: dict[str, Any] = {
    "print_level": 0, "sb": "yes", "max_iter": 200, "tol": 1e-8, "mu_strategy": "adaptive"
}  # fmt: skip


def is_large(model: Model) -> bool:
    """Whether a model has too many rows and variables for all parts of a diagnosis."""
    lower, upper = stacked(model.variables, "lower", "upper")
    rows = sum(len(c.rows) for c in model.constraints)
    return rows + int(np.sum(lower != upper)) > MOST_ROWS


def examine_large(
    model: Model, equations: Equations, seed: int, examine: Callable[[Model], Diagnosis]
) -> Diagnosis:
    """Examine a large model of real variables; ``examine`` does so for a smaller one."""
    rng = np.random.default_rng(seed)
    compiled = compiled_form(model)
    equalities = sum(bool(equal) for c in model.constraints for equal in c.equalities())
    common: dict[str, Any] = {
        "name": model.name,
        "equalities": equalities,
        "notes": () if compiled is None else compiled.notes,
        "structure": structure_of(equations, model.independents, compiled),
        "left_out": LEFT_OUT,
        "attempts": 1,
    }
    design = None if compiled is None else _design(compiled, rng)
    if design is None or compiled is None:
        return _infeasible(model, examine, len(equations.free), common)
    solved, unsolved = _solved(compiled)
    free = compiled.free if compiled.whole is None else compiled.whole.free
    names = model.element_names()
    return Diagnosis(
        feasible=True,
        design={names[i]: float(design[i]) for i in equations.free.tolist()},
        proof="",
        conflicts=(),
        free_variables=len(free),
        independent_equalities=solved,
        degrees_of_freedom=len(free) - solved,
        dependent=unsolved,
        **common,
    )


def _design(compiled: FeasibleSet, rng: np.random.Generator) -> Floats | None:
    """Return a feasible design (n_full,), as a run would find its first one; or None."""
    low, high = compiled.box()
    center, width = typical(low, high, compiled.start, compiled.scale)
    fs = replace(
        compiled,
        start=np.where(np.isnan(compiled.start), center, compiled.start),
        scale=np.where(np.isnan(compiled.scale), width, compiled.scale),
    )
    if fs.dependents is None and np.any(fs.equality):
        return None  # the equations have no solution, as far as is known
    repairer = Repairer(fs, Settings())
    repair = repairer.repair(fs.start, initial_distribution(np.zeros(fs.n), fs.scale))
    if repair.feasible:
        return np.asarray(fs.expand(repair.x))
    try:
        return np.asarray(fs.expand(feasible_points(repairer, 1, rng)[0]))
    except InfeasibleModelError:
        return None


def _solved(compiled: FeasibleSet) -> tuple[int, tuple[Finding, ...]]:
    """Return how many equations are solved, and those that are not because they depend."""
    if compiled.dependents is None or compiled.whole is None:
        return int(np.sum(compiled.equality)), ()
    solved = set(compiled.dependents.split.equations.tolist())
    left = [
        Finding(row.name, "follows from other equations", row.source)
        for j, row in enumerate(compiled.whole.rows)
        if row.equality and j not in solved
    ]
    return len(solved), tuple(left)


def _infeasible(
    model: Model, examine: Callable[[Model], Diagnosis], n: int, common: dict[str, Any]
) -> Diagnosis:
    rows = _suspects(model)
    found = examine(submodel(model, rows)) if rows else None
    conflicts: tuple[Conflict, ...] = ()
    if found is not None and not found.feasible:
        conflicts = tuple(_of_a_part(conflict) for conflict in found.conflicts)
        common["attempts"] += found.attempts
    if not conflicts:
        common["left_out"] = (*LEFT_OUT, "which constraints are in conflict")
    return Diagnosis(
        feasible=False,
        design=None,
        proof=found.proof if found is not None and conflicts else "",
        conflicts=conflicts,
        free_variables=n,
        independent_equalities=common["equalities"],
        degrees_of_freedom=None,
        **common,
    )


def _of_a_part(conflict: Conflict) -> Conflict:
    """Return a conflict of some rows: its changes say nothing of the whole model."""
    members = (
        replace(
            m,
            change=None if m.change is None else replace(m.change, whole=False),
            alone=None if m.alone is None else replace(m.alone, whole=False),
        )
        for m in conflict.members
    )
    return replace(conflict, members=tuple(members))


@one_thread
def _suspects(model: Model) -> list[int]:
    """Return the rows that give or pull in the elastic program, in order; none if all hold."""
    lower, upper, start, scale = stacked(model.variables, "lower", "upper", "start", "scale")
    free = np.flatnonzero(lower != upper)
    x, rows, kept = free_rows(model, free, np.where(lower == upper, lower, 0.0))
    low, high = lower[free], upper[free]
    center, width = typical(low, high, start[free], scale[free])
    first = np.clip(np.where(np.isnan(start[free]), center, start[free]), low, high)
    g = ca.vertcat(*rows)
    sizes = _sizes(g, x, first, width)
    ends = [c.limits() for c in model.constraints]
    a, b = (np.concatenate([pair[side] for pair in ends]) / sizes for side in (0, 1))
    m = len(rows)
    z, s, t = type(x).sym("z", len(free)), type(x).sym("s", m), type(x).sym("t", m)
    values = ca.Function("g", [x], [g])(ca.DM(first) + ca.DM(width) * z) / ca.DM(sizes)
    nlp = {
        "x": ca.vertcat(z, s, t),
        "f": ca.sum1(s) + ca.sum1(t) + _NEAR * ca.sumsqr(z),
        "g": values + s - t,
    }
    options: Any = {
        "ipopt": _IPOPT, "print_time": False, "error_on_fail": False, "show_eval_warnings": False
    }  # fmt: skip
    solver = ca.nlpsol("elastic", "ipopt", nlp, options)
    one_thread.look_again()
    none = np.zeros(2 * m)
    answer = solver(
        x0=np.concatenate((np.zeros(len(free)), none)),
        lbx=np.concatenate(((low - first) / width, none)),
        ubx=np.concatenate(((high - first) / width, none + np.inf)),
        lbg=a,
        ubg=b,
    )
    del kept
    gives = np.asarray(answer["x"], dtype=float).reshape(-1)[len(free) :].reshape(2, m).max(axis=0)
    pull = np.abs(np.asarray(answer["lam_g"], dtype=float).reshape(-1))
    pull = np.where(np.isfinite(pull), pull, 0.0) + np.where(gives > _RELEVANT, 1.0, 0.0)
    if not np.any(gives > _RELEVANT):
        return []
    order = np.argsort(-pull, kind="stable")[:_SUSPECTS]
    return sorted(int(j) for j in order if pull[j] > _RELEVANT)


def _sizes(g: Any, x: Any, point: Floats, width: Floats) -> Floats:
    """Return how much each row changes when the variables do by their typical changes."""
    J = ca.Function("j", [x], [ca.jacobian(g, x)])(point)
    rows, columns = (np.array(k, dtype=np.intp) for k in J.sparsity().get_triplet())
    with np.errstate(all="ignore"):
        squares = (np.array(J.nonzeros()) * width[columns]) ** 2
        total = np.sqrt(np.bincount(rows, squares, minlength=g.numel()))
    return np.where(np.isfinite(total) & (total > 0), total, 1.0)
