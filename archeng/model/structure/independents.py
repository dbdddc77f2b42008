r"""Choosing the independent variables: by structure, and by how far the others follow them.

Each equation gets a variable of its own, its dependent one, by a matching of least weight: an entry
is the better, the more of the equation's change it makes, :math:`|J_{ij}| s_j` relative to the
largest in the row, and if the equation is linear in the variable, as in ``v == f(others)``. What
is left is independent. Variables with two bounds are left if possible: they say where to search.
Discrete variables, and those that the engineer names, always are.

At a solution of the equations the choice is judged by the scaled slopes
:math:`S = s_v^{-1} V s_u`. An entry larger than one in amount says that exchanging the two makes
the equations better conditioned, by just that factor: the determinant of the block grows by it.
Pairs are exchanged while there is one beyond a limit (a pivot as in linear programming; [G01]
calls the end a dominant submatrix).

==========  ====================================================  ===========
symbol      meaning                                               name here
==========  ====================================================  ===========
J           gradients of the equations, shape (p, N), sparse      ``jacobian``
s           typical changes of the variables, shape (N,)          ``scale``
S           scaled slopes, shape (p, n)                           ``S``
==========  ====================================================  ===========

[G01] S. Goreinov, E. Tyrtyshnikov, The maximal-volume concept in approximation by low-rank
matrices, Contemporary Mathematics 280, 47-51, 2001, doi:10.1090/conm/280/4620.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.errors import ModelError
from archeng.model.structure.dependents import Split
from archeng.model.structure.incidence import Indices, dulmage_mendelsohn, matching
from archeng.model.structure.scipy_modules import csgraph, linalg, sparse
from archeng.model.variable import Floats

Booleans = NDArray[np.bool_]

EXCHANGED = 2.0
"""Scaled slope beyond which a dependent and an independent variable are exchanged."""
_UNDEFINED = 5.0  # weight of an entry that is not a number at the start
_ZERO = 30.0  # weight of an entry that is zero there, and of the smallest ones
_WITH_BOUNDS = 3.0  # weight of making a variable with two bounds dependent
_TORN = 6.0  # weight of making a variable of an equation with outputs dependent
_CURVED = 2.0  # weight of an entry that changes from point to point: no `v == f(others)`
_GRID = 1024.0  # steps of the weights: with any numbers SciPy's matching may go in circles
_RANK = 1e-9  # relative size of what is left of an equation that follows from others
_MOST_ENTRIES = 4_000_000  # of a dense matrix of all equations, up to which ranks are computed


def matched_split(
    jacobian: Any,
    curved: Booleans,
    scale: Floats,
    equations: Indices,
    fixed: Booleans,
    bounded: Booleans,
    torn: Booleans,
) -> Split:
    """Choose by structure and by the gradients J (p, N) of the equations at one point.

    Parameters
    ----------
    curved : ndarray of bool, shape (nnz,)
        Entries of J, row by row, that are not the same everywhere.
    equations : ndarray of int, shape (p,)
        Numbers of the equations; those that no variable is left for are not solved.
    fixed : ndarray of bool, shape (N,)
        Variables that must be independent.
    bounded : ndarray of bool, shape (N,)
        Variables that have two bounds.
    torn : ndarray of bool, shape (N,)
        Variables in equations with outputs, which are independent if possible.
    """
    J = sparse.csr_array(jacobian)
    allowed = np.flatnonzero(~fixed)
    pattern = sparse.csr_array((np.ones(J.nnz), J.indices, J.indptr), shape=J.shape)[:, allowed]
    kept = np.flatnonzero(matching(pattern) >= 0)
    weights = _weights(J, curved, scale, _WITH_BOUNDS * bounded + _TORN * torn)[kept][:, allowed]
    if len(kept) == 0:
        return split_of(J.shape[1], np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    rows, columns = csgraph.min_weight_full_bipartite_matching(weights)
    return split_of(J.shape[1], allowed[columns], equations[kept[rows]])


def split_of(size: int, dependent: Indices, equations: Indices) -> Split:
    """Return the split of so many variables with these dependent ones.

    All are in the order of the model: solutions then have the same bits whoever made the choice,
    also if it comes from a journal.
    """
    independent = np.setdiff1d(np.arange(size), dependent)
    return Split(
        independent,
        np.sort(np.asarray(dependent, np.intp)),
        np.sort(np.asarray(equations, np.intp)),
    )


def _weights(J: Any, curved: Booleans, scale: Floats, added: Floats) -> Any:
    """Return the weight of each entry, at least 1."""
    rows = np.repeat(np.arange(J.shape[0]), np.diff(J.indptr))
    with np.errstate(all="ignore"):
        sizes = np.abs(J.data) * scale[J.indices]
        finite = np.isfinite(sizes)
        largest = np.zeros(J.shape[0])
        np.maximum.at(largest, rows[finite], sizes[finite])
        logs = np.log(largest[rows] / sizes)
    logs = np.where(
        finite & (sizes > 0), np.minimum(logs, _ZERO), np.where(finite, _ZERO, _UNDEFINED)
    )
    weights = 1.0 + logs + _CURVED * curved + added[J.indices]
    weights = np.round(weights * _GRID) / _GRID
    return sparse.csr_array((weights, J.indices, J.indptr), shape=J.shape)


def ranked_split(jacobian: Any, scale: Floats, equations: Indices, fixed: Booleans) -> Split | None:
    """Choose by the gradients alone, without equations that follow from others.

    For points at which a choice by structure is singular; None if there are too many equations.
    """
    if jacobian.shape[0] * jacobian.shape[1] > _MOST_ENTRIES:
        return None
    allowed = np.flatnonzero(~fixed)
    A = jacobian.toarray()[:, allowed] * scale[allowed]
    if not np.all(np.isfinite(A)):
        return None
    lengths = np.linalg.norm(A, axis=1)
    A = A / np.where(lengths > 0, lengths, 1.0)[:, None]
    _, R, order = linalg.qr(A.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    kept = np.sort(order[: int(np.sum(sizes > _RANK * sizes[0]))])
    _, _, columns = linalg.qr(A[kept], mode="economic", pivoting=True)
    return split_of(jacobian.shape[1], allowed[columns[: len(kept)]], equations[kept])


def exchanged(
    split: Split,
    tangent: Floats,
    order: Indices,
    scale: Floats,
    may_move: Booleans,
    bounded: Booleans,
) -> Split:
    """Exchange dependent and independent variables while scaled slopes are large.

    ``tangent`` (p, n) are the slopes of the dependent variables ``order`` (p,). Variables that may
    not move stay what they are; one without two bounds does not become independent for one with.
    """
    dependent, independent = order.copy(), split.independent.copy()
    S = tangent * scale[independent] / scale[dependent][:, None]
    if not np.all(np.isfinite(S)):
        return split
    for _ in range(2 * len(independent)):
        open_pairs = may_move[dependent][:, None] & may_move[independent]
        open_pairs &= bounded[dependent][:, None] | ~bounded[independent]
        sizes = np.where(open_pairs, np.abs(S), 0.0)
        i, j = np.unravel_index(int(np.argmax(sizes)), S.shape)
        if sizes[i, j] <= EXCHANGED:
            break
        S = _pivoted(S, int(i), int(j))
        dependent[i], independent[j] = independent[j], dependent[i]
    return split_of(len(scale), dependent, split.equations)


def _pivoted(S: Floats, i: int, j: int) -> Floats:
    """Return the slopes after exchanging dependent i and independent j."""
    pivot = S[i, j]
    row, column = S[i] / pivot, S[:, j] / pivot
    new = S - np.outer(S[:, j], row)
    new[i], new[:, j] = -row, column
    new[i, j] = 1.0 / pivot
    return new


def check_named(
    pattern: Any, fixed: Indices, names: Sequence[str], equations: Sequence[str], model: str
) -> None:
    """Raise if the named independents cannot all be.

    Parameters
    ----------
    pattern : sparse matrix (p, N)
        Which equation holds which variable.
    fixed : ndarray of int
        Variables that the engineer named.
    names, equations : sequence of str
        All variables and equations.

    Raises
    ------
    ModelError
        It names equations that are left with too few variables.
    """
    others = np.setdiff1d(np.arange(pattern.shape[1]), fixed)
    over = dulmage_mendelsohn(sparse.csr_array(pattern)[:, others]).over
    if len(over.rows) == 0:
        return
    if len(dulmage_mendelsohn(pattern).over.rows) >= len(over.rows):
        return  # there are too many equations whatever is independent
    listed = ", ".join(names[i] for i in fixed)
    rows = ", ".join(equations[i] for i in over.rows[:8])
    raise ModelError(
        f"Model {model!r}: {listed} cannot all be independent: the equations {rows} would be left "
        f"with {len(over.columns)} variables for {len(over.rows)} equations. Name fewer, or others."
    )
