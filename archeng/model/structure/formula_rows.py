"""Formulas of outputs over the independent variables: the dependent ones are put in."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from archeng.model.formulas import FormulaFunctions
from archeng.model.functions import FastFunction
from archeng.model.structure.bridge import PlainFunction
from archeng.model.structure.dependents import Dependents
from archeng.model.structure.system import RowSystem
from archeng.model.variable import Floats


class ReducedFormulas:
    """Objective, simulated rows and their pieces at independents u (n,) and outputs z (q,).

    ``formulas`` has all of them as a function of x and z, ``pieces`` their smooth pieces as rows
    of x and z together.
    """

    def __init__(self, dependents: Dependents, formulas: FastFunction, pieces: RowSystem) -> None:
        self._about = dependents, formulas, pieces
        self._dependents, self._formulas, self._pieces = self._about

    def values(self, u: Floats, z: Floats) -> list[Floats]:
        """Objective and rows; NaN if the equations have no solution at u."""
        return self._formulas(self._dependents.full(u), z)

    def pieces(self, u: Floats, z: Floats) -> list[Floats]:
        """Values (k,) of the pieces, and their derivatives by u and z (k, n + q)."""
        found = self._dependents.solve(u)
        k, n, q = self._pieces.size, len(u), len(z)
        if found is None:
            return [np.full(k, np.nan), np.full((k, n + q), np.nan)]
        both = np.append(found.x, z)
        jacobian = self._pieces.jacobian.matrix(both)
        return [self._pieces.values(both), np.asarray(jacobian @ _widened(found.slopes, q))]

    def hessian(self, u: Floats, z: Floats, weights: Floats) -> list[Floats]:
        """Hessian (n + q, n + q) of the weighted sum of the pieces."""
        found = self._dependents.solve(u)
        n, q = len(u), len(z)
        if found is None:
            return [np.full((n + q, n + q), np.nan)]
        both = np.append(found.x, z)
        T = _widened(found.slopes, q)
        gradient = np.asarray(self._pieces.jacobian.matrix(both).T @ weights)[: len(found.x)]
        H = np.asarray(T.T @ (self._pieces.hessian.matrix(both, weights) @ T))
        H[:n, :n] += found.curvature(gradient, np.zeros(self._dependents.system.size))
        return [H]

    def __reduce__(self) -> Any:
        return ReducedFormulas, self._about


def reduced_functions(
    dependents: Dependents, formulas: Any, pieces: Any, x: Any, z: Any
) -> FormulaFunctions:
    """Compile expressions of x (N,) and z (q,) into functions of the independents and z."""
    n, q, k = len(dependents.split.independent), int(z.numel()), int(pieces.numel())
    whole = FastFunction.of("formulas", [x, z], [formulas])
    both = RowSystem(ca.vertcat(x, z), ca.vertsplit(pieces), (x, z))
    reduced = ReducedFormulas(dependents, whole, both)
    ins = [(n, 1), (q, 1)]
    return FormulaFunctions(
        PlainFunction("formulas", reduced.values, ins, [(int(formulas.numel()), 1)]),
        PlainFunction("pieces", reduced.pieces, ins, [(k, 1), (k, n + q)], (1,)),
        PlainFunction("bends", reduced.hessian, [*ins, (k, 1)], [(n + q, n + q)], (0,)),
        whole,
    )


def _widened(slopes: Floats, q: int) -> Floats:
    """Slopes (N + q, n + q) of x and z by u and z."""
    N, n = slopes.shape
    wide = np.zeros((N + q, n + q))
    wide[:N, :n] = slopes
    wide[N:, n:] = np.eye(q)
    return wide
