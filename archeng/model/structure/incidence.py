r"""Structure of a system of equations: what its pattern says, whatever the numbers in it.

A *pattern* is a sparse matrix (p, n); an entry that is not zero says that an equation (row) holds
a variable (column). A *matching* gives each equation a variable of its own. Where a largest
matching leaves equations without one, more equations than variables are there (*over-determined*
part); where it leaves variables, fewer (*under-determined*); the rest is *square* [DM58]. The parts
are found by alternating paths from the equations and variables that are left [PF90].

A square part with a matching is ordered into *blocks*, the strongly connected components of the
graph "equation i needs the variable that equation k gives" [T72], such that

.. math:: P A Q = \begin{pmatrix} A_{11} & & \\ A_{21} & A_{22} & \\ \vdots & & \ddots
          \end{pmatrix} :

each block can be solved once those before it are. A block of more than one equation is a loop.

[DM58] A. L. Dulmage, N. S. Mendelsohn, Coverings of bipartite graphs, Canadian Journal of
Mathematics 10, 517-534, 1958, doi:10.4153/CJM-1958-052-0.
[PF90] A. Pothen, C.-J. Fan, Computing the block triangular form of a sparse matrix, ACM
Transactions on Mathematical Software 16, 303-324, 1990, doi:10.1145/98267.98287.
[T72] R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1,
146-160, 1972, doi:10.1137/0201010.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.errors import ModelError
from archeng.model.structure.scipy_modules import csgraph, sparse

Indices = NDArray[np.intp]
"""Numbers of equations or variables."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some equations (``rows``) and variables (``columns``) of a pattern, each in its order."""

    rows: Indices
    columns: Indices


@dataclass(frozen=True, eq=False)
class Parts:
    """The decomposition of Dulmage and Mendelsohn; each equation and variable is in one part.

    Attributes
    ----------
    matched : ndarray of int (p,)
        The variable matched to each equation, or -1.
    over : Part
        More equations than variables; these equations hold no others.
    square : Part
        As many equations as variables.
    under : Part
        Fewer equations than variables; no other equation holds these variables.
    """

    matched: Indices
    over: Part
    square: Part
    under: Part


@dataclass(frozen=True, eq=False)
class Blocks:
    """The order in which a square system can be solved.

    Attributes
    ----------
    rows, columns : ndarray of int (p,)
        Equations and variables in this order; block lower triangular, and the variable at each
        place stands in the equation at that place.
    starts : ndarray of int (k + 1,)
        Where the blocks begin, and p.
    """

    rows: Indices
    columns: Indices
    starts: Indices

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Part]:
        """Return equations and variables, block after block."""
        for a, b in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield Part(self.rows[a:b], self.columns[a:b])

    @property
    def sizes(self) -> Indices:
        """Number of equations of each block, (k,)."""
        return np.diff(self.starts)

    @property
    def largest(self) -> int:
        """Number of equations of the largest block; 0 without any."""
        return int(self.sizes.max(initial=0))


def matching(pattern: Any) -> Indices:
    """Return the variable matched to each equation, (p,), or -1; as many as possible are."""
    A = _clean(pattern)
    return _matching(A)


def dulmage_mendelsohn(pattern: Any) -> Parts:
    """Return the over-determined, the square and the under-determined part of a pattern."""
    A = _clean(pattern)
    p, n = A.shape
    matched = _matching(A)
    own = _inverse(matched, n)
    over_rows = reached(_compressed(A, own, p), matched < 0)
    under_columns = reached(_compressed(A.T.tocsr(), matched, n), own < 0)
    over_columns, under_rows = np.zeros(n, dtype=bool), np.zeros(p, dtype=bool)
    over_columns[matched[over_rows & (matched >= 0)]] = True
    under_rows[own[under_columns & (own >= 0)]] = True
    return Parts(
        matched,
        _part(over_rows, over_columns),
        _part(~(over_rows | under_rows), ~(over_columns | under_columns)),
        _part(under_rows, under_columns),
    )


def too_many(pattern: Any, matched: Indices, row: int) -> Part:
    """Return equations, one of them without a variable, that hold one variable less than they are.

    None can be left out: without any one of them the others have a variable each.

    Parameters
    ----------
    pattern : sparse matrix (p, n)
    matched : ndarray of int (p,)
        A largest matching.
    row : int
        An equation that it leaves without a variable.
    """
    A = _clean(pattern)
    p, n = A.shape
    start = np.zeros(p, dtype=bool)
    start[row] = True
    rows = np.flatnonzero(reached(_compressed(A, _inverse(matched, n), p), start))
    columns = matched[rows]
    return Part(rows, np.sort(columns[columns >= 0]))


def block_triangular(pattern: Any) -> Blocks:
    """Return the blocks of a square pattern, in an order in which they can be solved.

    Raises
    ------
    ModelError
        If the pattern is not square, or not every equation has a variable of its own.
    """
    A = _clean(pattern)
    p, n = A.shape
    matched = _matching(A)
    if p != n or np.any(matched < 0):
        raise ModelError(
            f"The blocks of {p} equations with {n} variables were asked for, and a matching has "
            f"{np.count_nonzero(matched >= 0)}; blocks need as many of each. Decide which "
            "variables are independent, and leave out equations that follow from others."
        )
    needs = _compressed(A, _inverse(matched, n), p)
    count, labels = csgraph.connected_components(needs, directed=True, connection="strong")
    place = _solvable(labels.astype(np.intp), needs, count)
    rows = np.argsort(place, kind="stable")
    sizes = np.bincount(place, minlength=count)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    return Blocks(rows, matched[rows], starts)


def _clean(pattern: Any) -> Any:
    """Return the pattern as ones in rows; entries that are zero do not count."""
    A = sparse.csr_array(pattern, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    A.data = np.ones(len(A.data), dtype=np.int8)
    return A


def _matching(A: Any) -> Indices:
    if 0 in A.shape:
        return np.full(A.shape[0], -1, dtype=np.intp)
    found = csgraph.maximum_bipartite_matching(A, perm_type="column")
    return np.asarray(found, dtype=np.intp)


def _inverse(matched: Indices, n: int) -> Indices:
    """Return the equation of each variable (n,), or -1."""
    own = np.full(n, -1, dtype=np.intp)
    rows = np.flatnonzero(matched >= 0)
    own[matched[rows]] = rows
    return own


def _compressed(A: Any, mates: Indices, size: int) -> Any:
    """Return the graph (size, size) whose edges go along an entry and then along the matching."""
    entries = A.tocoo()
    to = mates[entries.col]
    kept = to >= 0
    edges = (entries.data[kept], (entries.row[kept], to[kept]))
    return sparse.csr_array(edges, shape=(size, size))


def reached(graph: Any, start: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which nodes can be reached from some, these included."""
    size = len(start)
    first = np.flatnonzero(start)
    source = sparse.csr_array(
        (np.ones(len(first), dtype=np.int8), (np.zeros(len(first), dtype=np.intp), first)),
        shape=(1, size),
    )
    whole = sparse.block_array([[graph, None], [source, sparse.csr_array((1, 1), dtype=np.int8)]])
    found = csgraph.breadth_first_order(whole.tocsr(), size, return_predecessors=False)
    reached = np.zeros(size + 1, dtype=bool)
    reached[found] = True
    return reached[:-1]


def _part(rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Part:
    return Part(np.flatnonzero(rows), np.flatnonzero(columns))


def _solvable(labels: Indices, needs: Any, count: int) -> Indices:
    """Return the place of each equation's component, such that what it needs comes before it.

    The components of SciPy come in such an order, which it does not promise.
    """
    edges = needs.tocoo()
    after, before = labels[edges.row], labels[edges.col]
    if np.all(before <= after):
        return labels
    pairs = np.unique(np.stack((after, before))[:, after != before], axis=1)
    sorter = TopologicalSorter[int](dict.fromkeys(range(count), ()))
    for node, needed in pairs.T.tolist():
        sorter.add(node, needed)
    place = np.empty(count, dtype=np.intp)
    place[list(sorter.static_order())] = np.arange(count)
    return np.asarray(place[labels], dtype=np.intp)
