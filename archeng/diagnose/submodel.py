"""Some rows of a large model as a model of their own."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from archeng.model import Constraint, Model
from archeng.model.constraint import Row
from archeng.model.model import imported
from archeng.model.teaching import symbol
from archeng.model.undefined import free_rows
from archeng.model.variable import make_variable, stacked


def submodel(model: Model, chosen: Sequence[int]) -> Model:
    """Return the chosen explicit rows, by number, with the free variables that they hold.

    Variables are scalars under the names of their entries; fixed ones are numbers. Conditions are
    parts of the rows. Those of the named independent variables that are left are named.
    """
    lower, upper, start, scale = stacked(model.variables, "lower", "upper", "start", "scale")
    free = np.flatnonzero(lower != upper)
    x, rows, _ = free_rows(model, free, np.where(lower == upper, lower, 0.0))
    column = ca.vertcat(*(rows[j] for j in chosen))
    _, held = ca.jacobian_sparsity(column, x).get_triplet()
    names, units = model.element_names(), [v.unit for v in model.variables for _ in range(v.size)]
    own = {i: symbol(type(x), names[free[i]]) for i in sorted(set(held))}
    entries = [own.get(i, type(x)(0.0)) for i in range(len(free))]
    (expressions,) = ca.Function("rows", [x], [column]).call([ca.vertcat(*entries)], True, False)
    records = [
        (
            own[i],
            make_variable(
                names[k],
                lower=lower[k],
                upper=upper[k],
                start=None if np.isnan(start[k]) else start[k],
                scale=None if np.isnan(scale[k]) else scale[k],
                unit=units[k],
            ),
        )
        for i, k in ((i, int(free[i])) for i in own)
    ]
    declared = [
        (name, c.source, equal, float(a), float(b))
        for c in model.constraints
        for name, equal, a, b in zip(c.row_names(), c.equalities(), *c.limits(), strict=True)
    ]
    constraints = []
    for k, j in enumerate(chosen):
        name, source, equal, a, b = declared[j]
        middle, half = (a + b) / 2, (b - a) / 2
        limits = (middle, middle) if equal else (a, b)
        row = Row(expressions[k], *limits)
        constraints.append(Constraint(name, (row,), half if equal else None, source))
    named = [names[k] for k in model.independents]
    known = {record.name for _, record in records}
    return imported(model.name, records, constraints, None, [k for k in named if k in known])
