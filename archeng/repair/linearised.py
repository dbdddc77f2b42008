r"""The rows of a large model with sparse derivatives, and the same linearised at a point.

A feasible set hands out dense derivatives: right for small models, wasteful for 2000 rows of
four variables each. Here the Jacobian is a vector of its nonzeros, row by row, and what a repair
needs of it is formed by products that cost as much as there are nonzeros, or for the few rows
that are asked for.

==========  =====================================================  ====================
symbol      meaning                                                name here
==========  =====================================================  ====================
J           (scaled) gradients of all rows, shape (m, n)
            its nonzeros, and the row and variable of each         ``nonzeros``,
                                                                   ``row``, ``variable``
J_S         gradients of the rows S, dense, shape (k, n)           ``chosen``
L           factor of the metric, shape (n, n)                     ``L``
H           sum_j w_j d2r_j, shape (n, n)                          ``hessian``
z           whitened displacement, y = x + L z                     ``z``
c_j         scaled rows r_j / norm_j, shape (m,)                   ``c``
A_S         scaled whitened gradients of rows S, J_S L             ``gradients``
l, h        room of the scaled rows to their limits, shape (m,)    ``low``, ``high``
==========  =====================================================  ====================

The arithmetic is NumPy's own: matrices of SciPy spend more time on checks than on products of
this size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from archeng.distribution import Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.functions import connected

LARGE_MODEL = 20_000
"""Entries of the dense Jacobian, m n, beyond which a model is large."""


def is_large(feasible_set: FeasibleSet) -> bool:
    """Whether a set has so many rows and variables that its derivatives are kept sparse."""
    return feasible_set.m * feasible_set.n > LARGE_MODEL


class SparseRows:
    """Sparse derivatives of the rows of a feasible set.

    ``row`` and ``variable`` are those of each nonzero of the Jacobian, by rows.
    """

    def __init__(self, fs: FeasibleSet) -> None:
        self.m, self.n, self._first = fs.m, fs.n, fs.m - fs.n_nonlinear
        row, variable = np.nonzero(fs.constant_jacobian)
        self._fixed = fs.constant_jacobian[row, variable]
        self._jacobian: _Nonzeros | None = None
        self._order = np.arange(0)
        if fs.n_nonlinear:
            function = fs.nonlinear_rows_and_jacobian.function
            self._jacobian = _Nonzeros(function, 1, fs.jacobian_sparsity)
            pattern = fs.hessian_sparsity if fs.has_many else None
            self._hessian = _Nonzeros(fs.nonlinear_hessian.function, 0, pattern)
            # CasADi counts by columns.
            self._order = np.lexsort((self._jacobian.column, self._jacobian.row))
            row = np.concatenate((row, self._first + self._jacobian.row[self._order]))
            variable = np.concatenate((variable, self._jacobian.column[self._order]))
        self.row, self.variable = row, variable
        self._ends = np.searchsorted(row, np.arange(fs.m + 1))

    def nonzeros(self, y: Floats) -> Floats:
        """Return the nonzeros of the Jacobian at y (n,)."""
        if self._jacobian is None:
            return self._fixed
        return np.concatenate((self._fixed, self._jacobian(y)[self._order]))

    def times(self, nonzeros: Floats, v: Floats) -> Floats:
        """Return J v (m,)."""
        return self.by_rows(nonzeros * v[self.variable])

    def by_rows(self, terms: Floats) -> Floats:
        """Return the sums (m,) of terms of the nonzeros, row by row."""
        return np.asarray(np.bincount(self.row, terms, minlength=self.m), dtype=float)

    def chosen(self, nonzeros: Floats, rows: Integers) -> Floats:
        """Return J_S (k, n) for rows S (k,)."""
        begins, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        k = np.repeat(np.arange(len(rows)), lengths)
        before = np.cumsum(lengths) - lengths
        entries = np.arange(len(k)) + (begins - before)[k]
        J = np.zeros((len(rows), self.n))
        J[k, self.variable[entries]] = nonzeros[entries]
        return J

    def sparse(self, nonzeros: Floats, rows: Integers) -> Any:
        """Return J_S (k, n) for rows S (k,) as a sparse matrix of SciPy."""
        begins, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        ends = np.cumsum(lengths)
        entries = np.arange(ends[-1] if len(ends) else 0)
        entries = entries + np.repeat(begins - (ends - lengths), lengths)
        pointers = np.concatenate(([0], ends))
        parts = nonzeros[entries], self.variable[entries], pointers
        return _csr()(parts, shape=(len(rows), self.n))

    def lengths(self, nonzeros: Floats, chosen: Integers, factor: Floats) -> Floats:
        """Return the lengths (k,) of the gradients of rows S times L, a matrix or a diagonal."""
        if not len(chosen):
            return np.zeros(0)
        J = self.sparse(nonzeros, chosen)
        if factor.ndim == 1:
            J.data *= factor[J.indices]
            return np.asarray(np.sqrt(J.multiply(J).sum(axis=1)), dtype=float).reshape(-1)
        A = np.asarray(J @ factor)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", A, A)))

    def back(self, nonzeros: Floats, u: Floats) -> Floats:
        """Return J^T u (n,)."""
        weighted = nonzeros * u[self.row]
        return np.asarray(np.bincount(self.variable, weighted, minlength=self.n), dtype=float)

    def bend(self, y: Floats, weights: Floats, L: Floats) -> Floats:
        """Return L^T H L (n, n) for the nonlinear rows at y, ``weights`` (m,) of all rows.

        Only the variables of rows with a weight take part.
        """
        present, H = self.hessian(y, weights)
        part = L[present]
        return part.T @ (H @ part)

    def hessian(self, y: Floats, weights: Floats) -> tuple[Integers, Floats]:
        """Return variables P (p,) with a curvature, and H (p, p) between them; see `bend`."""
        values = self._hessian(y, weights[self._first :])
        entries = np.flatnonzero(values)
        row, column = self._hessian.row[entries], self._hessian.column[entries]
        present, position = np.unique(np.concatenate((row, column)), return_inverse=True)
        H = np.zeros((len(present), len(present)))
        H[position[: len(row)], position[len(row) :]] = values[entries]
        return present, H


class _Nonzeros:
    """The nonzeros of one output of a CasADi function, column by column.

    Formulas are expanded, so that zeros can be told; calls of Python functions cannot be, and
    then the pattern is ``sparsity``, or full.
    """

    def __init__(self, function: Any, output: int, sparsity: Any | None) -> None:
        sizes = [function.size_in(i) for i in range(function.n_in())]
        try:
            inputs = [ca.SX.sym("x", *size) for size in sizes]
            matrix = function.call(inputs)[output]
        except RuntimeError:
            inputs = [ca.MX.sym("x", *size) for size in sizes]
            matrix = function.call(inputs)[output]
        if sparsity is not None:
            matrix = ca.project(matrix, sparsity)
        elif isinstance(matrix, ca.SX):
            matrix = ca.sparsify(matrix)
        sparse: Any = ca.Function("nonzeros", inputs, [matrix])
        pattern = sparse.sparsity_out(0)
        self.row = np.array(pattern.row(), dtype=np.intp)
        self.column = np.array(pattern.get_col(), dtype=np.intp)
        self._in = [np.zeros(sparse.nnz_in(i)) for i in range(sparse.n_in())]
        self._out = np.zeros(pattern.nnz())
        self._evaluate = connected(sparse, self._in, [self._out])

    def __call__(self, *arguments: Floats) -> Floats:
        """Evaluate; the result is overwritten by the next call."""
        for target, value in zip(self._in, arguments, strict=True):
            target[:] = value
        self._evaluate()
        return self._out


@cache
def _csr() -> Any:
    """SciPy's sparse matrices by rows, imported when they are needed first."""
    from scipy.sparse import csr_array

    return csr_array


@dataclass(frozen=True, eq=False)
class LinearisedPoint:
    """The rows at z: values, gradients and room to the limits."""

    rows: SparseRows
    L: Floats  # or its diagonal (n,), if it is diagonal
    z: Floats
    y: Floats
    c: Floats
    nonzeros: Floats
    usable: Any  # rows (m,) that are defined and not infinitely steep; others are left out
    low: Floats  # limits of the change of the scaled rows; infinite where not usable
    high: Floats
    excess: Floats  # scaled violations, shape (m,)
    violation: float  # their sum; infinite if a row is undefined
    farthest: float  # how far the worst row is beyond its slack; at most 0 if all are satisfied

    def changes(self, d: Floats) -> Floats:
        """Return the changes (m,) of the linearised rows along a step d (n,)."""
        return self.rows.times(self.nonzeros, self.L * d if self.L.ndim == 1 else self.L @ d)

    def gradients(self, chosen: Integers) -> Floats:
        """Scaled whitened gradients (k, n) of some rows."""
        J = self.rows.chosen(self.nonzeros, chosen)
        return J * self.L if self.L.ndim == 1 else J @ self.L
