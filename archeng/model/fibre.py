"""`fibre`: the feasible set of the real variables alone, with the discrete ones held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.feasible_set import FeasibleSet
from archeng.model.formulas import Formulas
from archeng.model.functions import FastFunction
from archeng.model.structure.held import Held
from archeng.model.structure.reduced import reduced_set
from archeng.model.structure.whole import Whole
from archeng.model.variable import Floats


def fibre(fs: FeasibleSet, x: Floats) -> FeasibleSet:
    """Return the set of the real variables y with the discrete ones as in x (n,), at levels.

    Rows in which no real variable is left are gone; whether they hold is not looked at.
    """
    assert fs.lattice is not None
    own = fs.lattice.continuous
    if fs.dependents is not None and fs.whole is not None:
        return _reduced_fibre(fs, fs.whole, Held(fs.dependents, own, x), x)
    y, full = _embedded(fs.all_rows.function, own, x)
    rows = fs.all_rows.function(full)
    flat = fs.m - fs.n_nonlinear
    sparsity = ca.jacobian_sparsity(rows, y)
    touched = np.zeros(fs.m, dtype=bool)
    touched[list(sparsity.row())] = True
    touched[:flat] = (fs.constant_jacobian[:, own] != 0).any(axis=1)
    kept = np.flatnonzero(touched)
    bounds = [int(j) for j in kept if j < len(fs.bounded)]
    curved_rows = [int(j) for j in kept if j >= flat]
    curved = _column(y, [rows[j] for j in curved_rows])
    jacobian, weights = ca.jacobian(curved, y), type(y).sym("w", len(curved_rows))
    hessian, _ = ca.hessian(ca.dot(weights, curved), y)
    position = {int(i): k for k, i in enumerate(own)}
    return replace(
        fs,
        free=fs.free[own],
        template=fs.expand(x),
        free_names=tuple(fs.free_names[i] for i in own),
        rows=tuple(fs.rows[j] for j in kept),
        lower=fs.lower[kept],
        upper=fs.upper[kept],
        equality=fs.equality[kept],
        bounded=np.array([position[int(fs.bounded[j])] for j in bounds], dtype=np.intp),
        constant_jacobian=fs.constant_jacobian[kept[kept < flat]][:, own],
        n_linear=len(kept) - len(bounds) - len(curved_rows),
        n_nonlinear=len(curved_rows),
        start=fs.start[own],
        scale=fs.scale[own],
        notes=(),
        all_rows=FastFunction.of(
            "rows", [y], [ca.vertcat(type(y)(0, 1), *(rows[int(j)] for j in kept))]
        ),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [y], [curved, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [y, weights], [hessian], (0,)),
        jacobian_sparsity=jacobian.sparsity(),
        hessian_sparsity=hessian.sparsity(),
        formulas=None if fs.formulas is None else _formulas(fs.formulas, own, x),
        parameter_slopes=None,
        lattice=None,
    )


def _reduced_fibre(fs: FeasibleSet, whole: Whole, held: Held, x: Floats) -> FeasibleSet:
    """Return the set of a reduced model: the equations go on to be solved."""
    assert fs.lattice is not None
    own = fs.lattice.continuous
    formulas = None if fs.formulas is None else _formulas(fs.formulas, own, x)
    inner = reduced_set(fs.name, fs.variables, whole, held, formulas, ())
    return replace(
        inner,
        template=fs.expand(x),
        start=fs.start[own],
        functions=fs.functions,
        parameters=fs.parameters,
    )


def _column(like: Any, entries: list[Any]) -> Any:
    return ca.vertcat(type(like)(0, 1), *entries)


def _embedded(function: Any, own: Any, x: Floats) -> tuple[Any, Any]:
    """Return a symbol y of the real variables, and all variables (n,) with the others as in x."""
    kind: Any = ca.SX if function.is_a("SXFunction") else ca.MX
    y = kind.sym("y", len(own))
    entries: list[Any] = [float(value) for value in x]
    for k, i in enumerate(own):
        entries[int(i)] = y[k]
    return y, ca.vertcat(*(kind(entry) for entry in entries))


def _formulas(formulas: Formulas, own: Any, x: Floats) -> Formulas:
    """Return the formulas as functions of the real variables."""
    n, q = len(x), formulas.q
    columns = [*map(int, own), *range(n, n + q)]
    pieces = formulas.pieces

    def at(function: FastFunction) -> tuple[Any, Any, Any]:
        y, full = _embedded(function.function, own, x)
        z = type(y).sym("z", q)
        return y, z, full

    y, z, full = at(formulas.values)
    values = FastFunction.of("formulas", [y, z], [formulas.values.function(full, z)])
    y, z, full = at(pieces.values_and_jacobian)
    g, slopes = pieces.values_and_jacobian.function(full, z)
    both = FastFunction.of("pieces", [y, z], [g, slopes[:, columns]], (1,))
    y, z, full = at(pieces.hessian)
    w = type(y).sym("w", len(pieces.owner))
    bends = pieces.hessian.function(full, z, w)[columns, columns]
    hessian = FastFunction.of("bends", [y, z, w], [bends], (0,))
    return replace(
        formulas, values=values, pieces=replace(pieces, values_and_jacobian=both, hessian=hessian)
    )
