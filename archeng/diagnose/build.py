"""From a `Model` to its `System`: expressions, guards, linear parts, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.diagnose.graph import Graph, Guard, graph_of, guarded
from archeng.diagnose.system import (
    SCALING_POINTS,
    Kind,
    Limit,
    Quantity,
    System,
    median,
    scatter,
    sizes,
)
from archeng.model import Model
from archeng.model.functions import dense
from archeng.model.tolerance import typical
from archeng.model.undefined import free_rows
from archeng.model.variable import Floats


def system_of(model: Model, rng: np.random.Generator) -> System:
    """Build the system of a model with at least one variable."""
    lower = np.concatenate([v.lower for v in model.variables])
    upper = np.concatenate([v.upper for v in model.variables])
    start = np.concatenate([v.start for v in model.variables])
    scale = np.concatenate([v.scale for v in model.variables])
    fixed, free = np.flatnonzero(lower == upper), np.flatnonzero(lower != upper)
    names = model.element_names()
    x, rows, kept = free_rows(model, free, np.where(lower == upper, lower, 0.0))
    low, high = lower[free], upper[free]
    center, width = typical(low, high, start[free], scale[free])
    graphs = [graph_of(row, x) for row in rows]
    points = scatter(SCALING_POINTS, low, high, center, width, rng)
    safe, guards = _continue(rows, graphs, x, points)
    linear, offset, curved = _linear_parts(rows, graphs, x)
    constants = {int(i): f"{names[i]} = {lower[i]:g} (fixed)" for i in fixed}
    quantities = _quantities(model, rows, x, curved, constants)
    columns = [Quantity(names[i], "", False, True, lower[i], upper[i], (k,), ())
               for k, i in enumerate(free)]  # fmt: skip
    everything = ca.vertcat(*safe, x, *(guard.argument for _, guard in guards))
    system = System(
        name=model.name,
        names=tuple(names[i] for i in free),
        free=tuple(int(i) for i in free),
        quantities=(*quantities, *columns),
        limits=_limits([*quantities, *columns], len(rows)),
        graphs=tuple(graphs),
        guards=tuple(guards),
        lower=low,
        upper=high,
        inner=(low, high),
        center=center,
        scale=width,
        size=np.ones(len(rows) + len(free)),
        guard_size=np.ones(len(guards)),
        linear=np.concatenate((linear, np.eye(len(free)))),
        offset=np.concatenate((offset, np.zeros(len(free)))),
        true=ca.Function("rows", [x], [dense(ca.vertcat(*rows, x))]),
        safe=ca.Function("safe", [x], [dense(everything)]),
        jacobian=ca.Function("jacobian", [x], [ca.jacobian(everything, x)]),
        sides=ca.Function("sides", [x], [ca.vertcat(*(_sides(row) for row in rows))]),
        kept=kept,
    )
    size, guard_size = sizes(system, rng)
    return replace(system, size=size, guard_size=guard_size)


def _sides(row: Any) -> Any:
    """Both sides of a difference, as ``a <= b`` is stored; NaN for anything else."""
    if row.is_op(ca.OP_SUB):
        return ca.horzcat(row.dep(0), row.dep(1))
    return ca.DM([[np.nan, np.nan]])


def _continue(
    rows: list[Any], graphs: list[Graph | None], x: Any, points: Floats
) -> tuple[list[Any], list[tuple[int, Guard]]]:
    """Return the rows that can be evaluated everywhere, and their guards."""

    def size_of(expression: Any) -> float:
        values = ca.Function("s", [x], [expression])(points.T).full()
        return median(np.abs(values))

    safe: list[Any] = []
    guards: list[tuple[int, Guard]] = []
    for j, (row, graph) in enumerate(zip(rows, graphs, strict=True)):
        if graph is None:
            safe.append(row)
            continue
        expression, found = guarded(graph, x, size_of)
        safe.append(expression if found else row)
        guards += [(j, guard) for guard in found]
    return safe, guards


def _linear_parts(
    rows: list[Any], graphs: list[Graph | None], x: Any
) -> tuple[Floats, Floats, list[bool]]:
    """Gradients (m, n), constants (m,), and which rows are not linear."""
    n = x.numel()
    if not rows or n == 0:
        constants: Any = ca.Function("c", [x], [ca.vertcat(*rows)])(np.zeros(n)) if rows else []
        values = np.array(constants, dtype=float).ravel()
        return np.zeros((len(rows), n)), values, [False] * len(rows)
    stacked = ca.vertcat(*rows)
    bent = ca.which_depends(stacked, x, 2, True)
    curved = [
        bool(b) or graph is None or not graph.only_linear_operations
        for b, graph in zip(bent, graphs, strict=True)
    ]
    function = ca.Function("l", [x], [stacked, ca.densify(ca.jacobian(stacked, x))])
    value, jacobian = function(np.zeros(n))
    straight = ~np.array(curved)
    return (
        np.where(straight[:, None], jacobian.full(), 0.0),
        np.where(straight, value.full().ravel(), 0.0),
        curved,
    )


def _quantities(
    model: Model, rows: list[Any], x: Any, curved: list[bool], constants: dict[int, str]
) -> list[Quantity]:
    """Rows as declared; ``constants`` says the value of the fixed variables by position."""
    expressions = [r.expression for c in model.constraints for r in c.rows]
    inside, everything = _depends(rows, x), _depends(expressions, model.symbols)
    found: list[Quantity] = []
    for c in model.constraints:
        for label, equal, a, b in zip(c.row_names(), c.equalities(), *c.limits(), strict=True):
            k = len(found)
            names = tuple(constants[i] for i in everything[k] if i in constants)
            found.append(
                Quantity(
                    label, c.source, equal, not curved[k], float(a), float(b), inside[k], names
                )
            )
    return found


def _depends(expressions: list[Any], x: Any) -> list[tuple[int, ...]]:
    """Return the indices of the variables on which each scalar expression depends."""
    found: list[set[int]] = [set() for _ in expressions]
    if expressions and x.numel():
        sparsity = ca.jacobian_sparsity(ca.vertcat(*expressions), x)
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            found[row].add(column)
    return [tuple(sorted(f)) for f in found]


def _limits(quantities: list[Quantity], m: int) -> tuple[Limit, ...]:
    limits = []
    for k, quantity in enumerate(quantities):
        for side, value in ((-1, quantity.lower), (1, quantity.upper)):
            if not np.isfinite(value):
                continue
            tiny = abs(value) < np.finfo(float).tiny
            if k < m:
                limits.append(Limit(k, side, value, Kind.ROW))
            elif tiny:
                limits.append(Limit(k, side, value, Kind.SIGN))
            else:
                limits.append(Limit(k, side, value, Kind.BOUND))
                if side * value < 0:
                    limits.append(Limit(k, side, 0.0, Kind.SIGN))
    return tuple(limits)
