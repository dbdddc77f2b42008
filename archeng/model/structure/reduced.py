r"""A feasible set over the independent variables: the dependent ones follow from the equations.

Its rows, in the order of every `FeasibleSet`: bounds of the independents, linear rows of
independents only, and as nonlinear rows the bounds of the dependents and everything else. The
equations that are solved are no rows any more: they hold at every design, and the gate evaluates
them, with all other rows, at every vector that the simulator gets (`Whole`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import InfeasibleModelError
from archeng.model.feasible_set import FeasibleSet, RowKind
from archeng.model.formulas import Formulas
from archeng.model.functions import FastFunction
from archeng.model.structure.bridge import PlainFunction
from archeng.model.structure.dependents import Dependents, Solution, called
from archeng.model.structure.incidence import Indices, reached
from archeng.model.structure.scipy_modules import sparse
from archeng.model.structure.whole import Whole
from archeng.model.variable import Floats, Variable


@dataclass(frozen=True, eq=False)
class Layout:
    """Which row of a reduced set is what.

    Attributes
    ----------
    bounded : ndarray of int, shape (m_b,)
        Independents, by their number, with a bound.
    linear : ndarray of int, shape (m_l,)
        Linear rows of independents only.
    limited : ndarray of int, shape (k,)
        Dependent variables, by their position among the free ones, with a bound.
    curved : ndarray of int
        All other rows, without the equations that are solved.
    settled : ndarray of bool, shape (N,)
        Variables that equations determine alone, whatever the independents are. Their bounds, and
        rows of nothing else, are no rows of the set.
    """

    bounded: Indices
    linear: Indices
    limited: Indices
    curved: Indices
    settled: Any


def layout_of(whole: Whole, dependents: Dependents) -> Layout:
    """Sort the rows of a model."""
    limits, split = whole.limits, dependents.split
    has_bound = np.isfinite(limits.low) | np.isfinite(limits.high)
    others = np.setdiff1d(np.arange(whole.system.size), split.equations)
    pattern = whole.system.jacobian.pattern
    holds = np.bincount(pattern[:, split.dependent].tocoo().row, minlength=whole.system.size) > 0
    settled = ~_moving(dependents)
    moves = np.bincount(pattern[:, ~settled].tocoo().row, minlength=whole.system.size) > 0
    others = others[moves[others]]
    flat = whole.linear[others] & ~holds[others]
    follow = np.sort(split.dependent)
    return Layout(
        bounded=np.flatnonzero(has_bound[split.independent]),
        linear=others[flat],
        limited=follow[has_bound[follow] & ~settled[follow]],
        curved=others[~flat],
        settled=settled,
    )


def _moving(dependents: Dependents) -> Any:
    """Return which variables (N,) change with an independent one, by structure."""
    system, n = dependents.system, dependents.system.n
    own = np.zeros(n, dtype=bool)
    own[dependents.split.independent] = True
    entries = system.jacobian.pattern.tocsr()[dependents.rows].tocoo()
    edges = (np.ones(entries.nnz, dtype=np.int8), (entries.col, dependents.columns[entries.row]))
    return reached(sparse.csr_array(edges, shape=(n, n)), own)


def check_settled(whole: Whole, dependents: Dependents, model: str) -> None:
    """Raise if variables that equations determine alone violate their bounds or other rows.

    Raises
    ------
    InfeasibleModelError
    """
    if dependents.start is None:
        return
    found, limits, layout = dependents.start, whole.limits, layout_of(whole, dependents)
    solved, start = dependents.split.equations, found.x
    outside = (start < limits.low) | (start > limits.high)
    for i in np.flatnonzero(layout.settled & outside):
        raise InfeasibleModelError(
            f"Model {model!r}: the equations alone make {whole.names[i]} = {start[i]:g}, and its "
            f"bounds are {limits.low[i]:g} and {limits.high[i]:g}. Change one of them.",
            [str(whole.bounds[i])],
        )
    rows = np.delete(np.arange(whole.system.size), np.r_[solved, layout.linear, layout.curved])
    for j in rows[~((found.rows >= limits.row_low) & (found.rows <= limits.row_high))[rows]]:
        raise InfeasibleModelError(
            f"Model {model!r}: the equations alone make {whole.rows[j]} = {found.rows[j]:g}, and "
            f"its limits are {limits.row_low[j]:g} and {limits.row_high[j]:g}. Change one of them.",
            [str(whole.rows[j])],
        )


class ReducedRows:
    """Rows of a reduced set with their derivatives, at independents u (n,)."""

    def __init__(self, dependents: Dependents, layout: Layout) -> None:
        self._about = dependents, layout
        self._dependents, self._layout = dependents, layout
        self.n = len(dependents.split.independent)
        self.m_n = len(layout.limited) + len(layout.curved)
        self.m = len(layout.bounded) + len(layout.linear) + self.m_n

    def all_rows(self, u: Floats) -> list[Floats]:
        """Values (m,) of all rows; the nonlinear ones are NaN if there is no solution."""
        layout, found = self._layout, self._dependents.solve(u)
        rows = self._unsolved(u) if found is None else found.rows
        return [np.concatenate((u[layout.bounded], rows[layout.linear], self._values(found)))]

    def curved(self, u: Floats) -> list[Floats]:
        """Values (m_n,) of the nonlinear rows, and their gradients (m_n, n)."""
        found = self._dependents.solve(u)
        if found is None:
            return [self._values(None), np.full((self.m_n, self.n), np.nan)]
        with np.errstate(all="ignore"):
            bounds = found.tangent[self._places]
            (others,) = self._slopes(found.x, found.tangent)
            return [self._values(found), np.concatenate((bounds, others))]

    def hessian(self, u: Floats, weights: Floats) -> list[Floats]:
        """Hessian (n, n) of the weighted sum of the nonlinear rows."""
        found = self._dependents.solve(u)
        if found is None:
            return [np.full((self.n, self.n), np.nan)]
        k = len(self._layout.limited)
        by_bounds = np.zeros(len(self._dependents.columns))
        by_bounds[self._places] = weights[:k]
        return called(self._bends, found.x, found.tangent, by_bounds, weights[k:])

    @cached_property
    def _places(self) -> Indices:
        """Places of the limited variables among the dependent ones."""
        place = np.full(self._dependents.system.n, -1, dtype=np.intp)
        place[self._dependents.columns] = np.arange(len(self._dependents.columns))
        return place[self._layout.limited]

    def _rows(self) -> tuple[Any, Any, Any, Any]:
        """Return x, its parts u and v, and the nonlinear rows but for bounds, as expressions."""
        x, g = self._dependents.system.symbolic
        own, others = self._dependents.split.independent, self._dependents.columns
        return x, x[own.tolist()], x[others.tolist()], g[self._layout.curved.tolist()]

    @cached_property
    def _slopes(self) -> FastFunction:
        """(x, V) to the gradients r_u + r_v V of the rows but for bounds."""
        x, u, v, r = self._rows()
        parts: Any = ca.Function("parts", [x], [ca.jacobian(r, u), ca.jacobian(r, v)])
        X, V = ca.MX.sym("x", x.numel()), ca.MX.sym("V", len(self._dependents.columns), self.n)
        by_u, by_v = parts(X)
        return FastFunction.of("slopes", [X, V], [by_u + by_v @ V], (0,))

    @cached_property
    def _bends(self) -> FastFunction:
        """(x, V, weights of v, weights of rows) to the Hessian T^T H T."""
        (x, u, v, r), equations = self._rows(), self._dependents.rows
        g = self._dependents.system.symbolic[1]
        p, kind = len(equations), type(x)
        w, mu = kind.sym("w", r.numel()), kind.sym("mu", p)
        total = ca.dot(w, r) + ca.dot(mu, g[equations.tolist()])
        by_u, by_v = ca.gradient(total, u), ca.gradient(total, v)
        parts: Any = ca.Function(
            "parts",
            [x, w, mu],
            [ca.jacobian(by_u, u), ca.jacobian(by_v, u), ca.jacobian(by_v, v), ca.jacobian(r, v)],
        )
        X, V = ca.MX.sym("x", x.numel()), ca.MX.sym("V", p, self.n)
        on_v, on_rows = ca.MX.sym("a", p), ca.MX.sym("w", r.numel())
        *_, slopes = parts(X, on_rows, 0)
        adjoint = self._dependents.solved_transposed(X, -(on_v + slopes.T @ on_rows))
        uu, vu, vv, _ = parts(X, on_rows, adjoint)
        cross = V.T @ vu
        H = uu + cross + cross.T + V.T @ (vv @ V)
        return FastFunction.of("bends", [X, V, on_v, on_rows], [H], (0,))

    def constant_jacobian(self) -> Floats:
        """Gradients (m_b + m_l, n) of bounds and linear rows."""
        own, layout = self._dependents.split.independent, self._layout
        J = self._dependents.system.jacobian.matrix(self._dependents.anchor).tocsr()
        linear = J[layout.linear].toarray()[:, own]
        return np.concatenate((np.eye(self.n)[layout.bounded], linear))

    def _values(self, found: Solution | None) -> Floats:
        if found is None:
            return np.full(self.m_n, np.nan)
        return np.concatenate((found.x[self._layout.limited], found.rows[self._layout.curved]))

    def _unsolved(self, u: Floats) -> Floats:
        """Rows (M,) at u with any values of the dependents, of which linear rows hold none."""
        x = self._dependents.anchor.copy()
        x[self._dependents.split.independent] = u
        return self._dependents.system.values(x)

    def __reduce__(self) -> Any:
        return ReducedRows, self._about


def reduced_set(
    name: str,
    variables: tuple[Variable, ...],
    whole: Whole,
    dependents: Dependents,
    formulas: Formulas | None,
    notes: Sequence[str],
) -> FeasibleSet:
    """Return the feasible set over the independents; the rest of it is the compiler's."""
    layout, limits = layout_of(whole, dependents), whole.limits
    own = dependents.split.independent
    rows = ReducedRows(dependents, layout)
    n, m, m_n = rows.n, rows.m, rows.m_n
    infos = [
        *(whole.bounds[own[i]] for i in layout.bounded.tolist()),
        *(whole.rows[j] for j in layout.linear.tolist()),
        *(whole.bounds[i] for i in layout.limited.tolist()),
        *(replace(whole.rows[j], kind=RowKind.NONLINEAR) for j in layout.curved.tolist()),
    ]
    order = np.concatenate((layout.linear, layout.curved))
    first = np.append(own[layout.bounded], layout.limited)
    k, c = len(layout.bounded), len(layout.linear)

    def stacked(of_variables: Any, of_rows: Any) -> Any:
        bounds, others = of_variables[first], of_rows[order]
        return np.concatenate((bounds[:k], others[:c], bounds[k:], others[c:]))

    never = np.zeros(len(limits.low), dtype=bool)
    start = limits.first if dependents.start is None else dependents.start.x
    return FeasibleSet(
        name=name,
        variables=variables,
        free=whole.free[own],
        template=whole.expand(start),
        free_names=tuple(whole.names[i] for i in own),
        rows=tuple(infos),
        lower=stacked(limits.low, limits.row_low),
        upper=stacked(limits.high, limits.row_high),
        equality=stacked(never, limits.equality),
        bounded=layout.bounded,
        constant_jacobian=rows.constant_jacobian(),
        n_linear=c,
        n_nonlinear=m_n,
        start=start[own],
        scale=limits.scale[own],
        notes=tuple(notes),
        all_rows=PlainFunction("rows", rows.all_rows, [(n, 1)], [(m, 1)]),
        nonlinear_rows_and_jacobian=PlainFunction(
            "jacobian", rows.curved, [(n, 1)], [(m_n, 1), (m_n, n)], (1,)
        ),
        nonlinear_hessian=PlainFunction(
            "hessian", rows.hessian, [(n, 1), (m_n, 1)], [(n, n)], (0,)
        ),
        jacobian_sparsity=ca.Sparsity.dense(m_n, n),
        hessian_sparsity=ca.Sparsity.dense(n, n),
        formulas=formulas,
        dependents=dependents,
        whole=whole,
    )
