"""`ParameterSlopes`: how objective and rows change with the parameters, by the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from archeng.model.functions import FastFunction
from archeng.model.variable import Floats

if TYPE_CHECKING:
    from archeng.model.declarations import Declarations


@dataclass(frozen=True, eq=False)
class ParameterSlopes:
    """Derivatives of the declared rows by the parameters.

    Attributes
    ----------
    names : tuple of str, length r
        Entries of the parameters.
    rows : tuple of str, length m
        All rows as declared, explicit ones and those with outputs.
    lower, upper : ndarray, shape (m,)
    variables : tuple of str, length m
        The variable of a row that holds only one, and no output; else empty. Such a row may have
        become a bound of it.
    at : FastFunction
        (full x, z) to objective and rows (1 + m,) and their derivatives (1 + m, r).
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    lower: Floats
    upper: Floats
    variables: tuple[str, ...]
    at: FastFunction


def compile_parameter_slopes(model: Declarations) -> ParameterSlopes | None:
    """Differentiate the formulas of a model by its parameters; None if it has none."""
    if not model.parameters:
        return None
    symbols, p, z = model.symbols, model.parameter_symbols, model.output_symbols
    rows = [row for c in model.declared for row in c.rows]
    first = model.declared_objective if model.has_objective else type(symbols)(0.0)
    values = ca.vertcat(first, *(row.expression for row in rows))
    derivatives = ca.Function("slopes", [symbols, p, z], [values, ca.jacobian(values, p)])
    numbers = np.concatenate([parameter.values for parameter in model.parameters])
    kind: Any = type(symbols)
    x, outputs = kind.sym("x", symbols.numel()), kind.sym("z", z.numel())
    at = FastFunction.of("at", [x, outputs], derivatives.call([x, ca.DM(numbers), outputs]), (1,))
    names = model.element_names()
    holds, held = ca.jacobian_sparsity(values, symbols), ca.jacobian_sparsity(values, z)
    touched, outside = ca.DM(holds, 1).full() > 0, ca.DM(held, 1).full() > 0
    alone = [
        names[int(np.argmax(touched[k]))] if touched[k].sum() == 1 and not outside[k].any() else ""
        for k in range(1, len(rows) + 1)
    ]
    return ParameterSlopes(
        names=tuple(name for parameter in model.parameters for name in parameter.element_names()),
        rows=tuple(name for c in model.declared for name in c.row_names()),
        lower=np.array([row.lower for row in rows]),
        upper=np.array([row.upper for row in rows]),
        variables=tuple(alone),
        at=at,
    )
