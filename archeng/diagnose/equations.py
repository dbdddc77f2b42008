"""`Equations`: which equation of a model holds which variable, and what follows from that alone.

Equations are the equalities without outputs and conditions; variables are the free ones. Nothing is
evaluated: see `archeng.model.structure.incidence` for the words.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet, Model, compile_model
from archeng.model.structure.incidence import (
    Blocks,
    Indices,
    Part,
    Parts,
    block_triangular,
    dulmage_mendelsohn,
    too_many,
)
from archeng.model.structure.scipy_modules import csgraph, sparse
from archeng.model.structure.tears import mismatches
from archeng.model.undefined import free_formulas
from archeng.model.variable import stacked


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a model as a pattern.

    Attributes
    ----------
    names, sources : tuple of str
        Of the equations, length p.
    variables : tuple of str
        Names of the free variables, length n.
    free : ndarray of int, shape (n,)
        Their positions among all variables of the model.
    pattern : sparse array, shape (p, n)
    known : ndarray of bool, shape (n,)
        Variables that are taken as given: independent ones.
    loops : tuple of (str, list of int)
        Equalities with outputs: names, and positions in a design of the variables in them.
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    variables: tuple[str, ...]
    free: Indices
    pattern: Any
    known: Any
    loops: tuple[tuple[str, list[int]], ...] = ()

    def given(self, positions: Iterable[int]) -> Equations:
        """Return the same with further variables taken as given, by their positions in a design."""
        return replace(self, known=self.known | np.isin(self.free, list(positions)))

    def closed(self) -> Equations:
        """Return the same with equalities with outputs, each of which can determine a variable.

        One without variables of its own can determine any: outputs depend on all of them.
        """
        if not self.loops:
            return self
        rows = [np.isin(self.free, held) if held else ~self.known for _, held in self.loops]
        more = sparse.csr_array(np.array(rows, dtype=np.int8))
        return replace(
            self,
            names=(*self.names, *(name for name, _ in self.loops)),
            sources=(*self.sources, *("" for _ in self.loops)),
            pattern=sparse.vstack((self.pattern, more)).tocsr(),
            loops=(),
        )

    @cached_property
    def unknowns(self) -> Indices:
        """Variables that are not given, by their number among the free ones."""
        return np.flatnonzero(~self.known)

    @cached_property
    def parts(self) -> Parts:
        """Over-determined, square and under-determined part; columns are free variables."""
        parts = dulmage_mendelsohn(self.pattern[:, self.unknowns])
        matched = np.where(parts.matched >= 0, self._among_free(parts.matched), -1)
        over, square, under = (
            Part(part.rows, self._among_free(part.columns))
            for part in (parts.over, parts.square, parts.under)
        )
        return Parts(matched, over, square, under)

    def surplus(self) -> list[Part]:
        """Return sets of equations with one equation more than unknowns; none can be left out."""
        pattern = self.pattern[:, self.unknowns]
        parts = dulmage_mendelsohn(pattern)
        found: dict[bytes, Part] = {}
        for row in np.flatnonzero(parts.matched < 0).tolist():
            part = too_many(pattern, parts.matched, row)
            found.setdefault(part.rows.tobytes(), Part(part.rows, self._among_free(part.columns)))
        return list(found.values())

    def lacking(self) -> list[Part]:
        """Return the pieces of the under-determined part that share neither equation nor unknown.

        Unknowns in fewest equations come first; those in none are one piece.
        """
        under = self.parts.under
        if len(under.columns) == 0:
            return []
        A = self.pattern[under.rows][:, under.columns]
        p = len(under.rows)
        graph = sparse.block_array([[None, A], [A.T, None]]) if p else None
        holds = np.bincount(A.tocoo().col, minlength=len(under.columns))
        order = np.argsort(holds, kind="stable")
        idle = [int(k) for k in order if holds[k] == 0]
        pieces = [Part(np.zeros(0, np.intp), under.columns[idle])] if idle else []
        if graph is None:
            return pieces
        _, labels = csgraph.connected_components(graph, directed=False)
        for label in dict.fromkeys(labels[p + k] for k in order if holds[k]):
            columns = [k for k in order if holds[k] and labels[p + k] == label]
            pieces.append(
                Part(under.rows[labels[:p] == label], under.columns[np.array(columns, np.intp)])
            )
        return pieces

    @cached_property
    def blocks(self) -> Blocks:
        """Blocks of the square part, in the order in which they can be solved."""
        square = self.parts.square
        found = block_triangular(self.pattern[square.rows][:, square.columns])
        return Blocks(square.rows[found.rows], square.columns[found.columns], found.starts)

    def _among_free(self, columns: Indices) -> Indices:
        if len(self.unknowns) == 0:
            return np.full(len(columns), -1, dtype=np.intp)
        return np.asarray(self.unknowns[columns], dtype=np.intp)


def equations_of(model: Model) -> Equations:
    """Read the equations of a model; discrete variables are given."""
    lower, upper = stacked(model.variables, "lower", "upper")
    free = np.flatnonzero(lower != upper)
    x, rows, _, _ = free_formulas(model, free, np.where(lower == upper, lower, 0.0))
    declared = [
        (name, c.source, equal and row.when is None)
        for c in model.constraints
        for name, row, equal in zip(c.row_names(), c.rows, c.equalities(), strict=True)
    ]
    labels = [(name, source) for name, source, equation in declared if equation]
    chosen = [row for row, (*_, equation) in zip(rows, declared, strict=True) if equation]
    discrete = [v.domain.is_discrete for v in model.variables for _ in range(v.size)]
    every = model.element_names()
    pattern = _pattern(chosen, x)
    some = np.flatnonzero(np.diff(pattern.indptr))  # constant ones hold, or the diagnosis says so
    return Equations(
        names=tuple(labels[k][0] for k in some),
        sources=tuple(labels[k][1] for k in some),
        variables=tuple(every[i] for i in free),
        free=free,
        pattern=pattern[some],
        known=np.array(discrete, dtype=bool)[free],
        loops=tuple(mismatches(model)),
    )


def compiled_model(model: Model) -> tuple[FeasibleSet, ModelError | None]:
    """Compile a model, in all its variables if independent ones cannot be; and why not."""
    try:
        return compile_model(model), None
    except InfeasibleModelError:
        raise
    except ModelError as error:
        return compile_model(model, eliminate=False), error


def compiled_form(model: Model) -> FeasibleSet | None:
    """Compile a model; None if that finds a contradiction, or nothing is free."""
    with contextlib.suppress(ModelError):
        return compiled_model(model)[0]
    return None


def chosen_independents(compiled: FeasibleSet | None) -> tuple[int, ...]:
    """Return the positions of the independent variables of a compiled model; empty: all are."""
    if compiled is None or compiled.choice is None:
        return ()
    return tuple(int(i) for i in compiled.choice.independent)


def _pattern(rows: list[Any], x: Any) -> Any:
    """Return which row holds which variable, (p, n)."""
    shape = len(rows), x.numel()
    if 0 in shape:
        return sparse.csr_array(shape, dtype=np.int8)
    i, j = ca.jacobian_sparsity(ca.vertcat(*rows), x).get_triplet()
    return sparse.csr_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=shape)
