r"""`RowSystem`: the rows of a model over all its free variables, with sparse derivatives.

Rows of flowsheets hold a few variables each, and there are thousands of both. So nothing here is
dense: derivatives are vectors of nonzeros in a pattern that never changes.

========  =====================================================  ===============
symbol    meaning                                                name here
========  =====================================================  ===============
x         free variables, shape (N,)                             ``x``
g         rows without bounds, shape (M,)                        ``values``
J         their gradients, shape (M, N), sparse                  ``jacobian``
H         sum_j w_j d2g_j, shape (N, N), sparse                  ``hessian``
========  =====================================================  ===============
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.functions import FastFunction, connected
from archeng.model.structure.scipy_modules import sparse
from archeng.model.variable import Floats


class SparseFunction:
    """A CasADi function of vectors with one sparse result, called on NumPy arrays.

    ``pattern`` has the shape of the result and the numbers of its nonzeros, from 1, as entries.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        sparsity = function.sparsity_out(0)
        self.nnz = int(sparsity.nnz())
        indices = np.array(sparsity.row(), dtype=np.int32)
        starts = np.array(sparsity.colind(), dtype=np.int32)
        numbers = np.arange(1.0, self.nnz + 1)
        self.pattern = sparse.csc_array((numbers, indices, starts), shape=sparsity.shape)
        self._in = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self._out = np.zeros(self.nnz)
        self._evaluate = connected(function, self._in, [self._out])

    def __call__(self, *arguments: Floats) -> Floats:
        """Return the nonzeros, column by column."""
        for target, value in zip(self._in, arguments, strict=True):
            target[:] = value
        self._evaluate()
        return self._out.copy()

    def matrix(self, *arguments: Floats) -> Any:
        """Return the result as a sparse matrix."""
        like = self.pattern
        return sparse.csc_array((self(*arguments), like.indices, like.indptr), shape=like.shape)

    def __reduce__(self) -> Any:
        return SparseFunction, (self.function,)


class RowSystem:
    """Rows g (M,) of the free variables x (N,); derivatives are compiled on first use."""

    def __init__(self, x: Any, expressions: list[Any], parts: tuple[Any, ...] = ()) -> None:
        """``parts`` are symbols that x consists of, if it is not one itself."""
        g = ca.vertcat(type(x)(0, 1), *expressions)
        if parts:
            together = ca.Function("together", list(parts), [g])
            x = type(x).sym("x", x.numel())
            ends = np.cumsum([0, *(part.numel() for part in parts)]).tolist()
            g = together(*ca.vertsplit(x, ends))
        self.size, self.n = len(expressions), int(x.numel())
        self._function = FastFunction.of("rows", [x], [g])
        self._symbolic = x, g

    def values(self, x: Floats) -> Floats:
        """Values (M,) of the rows; NaN where one is undefined."""
        return self._function.single(x)

    @cached_property
    def jacobian(self) -> SparseFunction:
        """X to J."""
        x, g = self._symbolic
        return SparseFunction(ca.Function("jacobian", [x], [ca.jacobian(g, x)]))

    @cached_property
    def hessian(self) -> SparseFunction:
        """(x, w) to H."""
        x, g = self._symbolic
        w = type(x).sym("w", self.size)
        return SparseFunction(ca.Function("hessian", [x, w], [ca.hessian(ca.dot(w, g), x)[0]]))

    @property
    def symbolic(self) -> tuple[Any, Any]:
        """Symbols x and expressions g, to build other functions from."""
        return self._symbolic

    def __reduce__(self) -> Any:
        return _rebuilt, (self._function.function,)


def _rebuilt(function: Any) -> RowSystem:
    """Return the system of a function of all rows, in another process."""
    kind = ca.SX if function.class_name() == "SXFunction" else ca.MX
    x = kind.sym("x", function.numel_in(0))
    return RowSystem(x, ca.vertsplit(function(x)))
