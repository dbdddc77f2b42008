"""Structure of patterns: matchings, the parts of Dulmage and Mendelsohn, blocks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyomo.contrib.incidence_analysis.dulmage_mendelsohn import (
    dulmage_mendelsohn as referee,
)
from scipy import sparse
from scipy.sparse import csgraph

from archeng.errors import ModelError
from archeng.model.structure import incidence
from archeng.model.structure.incidence import (
    Part,
    block_triangular,
    dulmage_mendelsohn,
    matching,
    too_many,
)


@st.composite
def patterns(draw: Any, square: bool = False) -> Any:
    """Random patterns of all densities; square ones have a matching of all equations."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(1, 25))
    n = p if square else draw(st.integers(0, 25))
    A = rng.random((p, n)) < draw(st.sampled_from([0.02, 0.06, 0.1, 0.2, 0.5]))
    if square:
        A[np.arange(p), rng.permutation(p)] = True
    return sparse.csr_array(A)


def values(pattern: Any) -> Any:
    """Random numbers at the entries: their rank is the structural rank, with probability one."""
    A = pattern.toarray().astype(float)
    A[A != 0] = np.random.default_rng(0).standard_normal(int(np.count_nonzero(A)))
    return A


def members(part: Part) -> tuple[list[int], list[int]]:
    return part.rows.tolist(), part.columns.tolist()


# -- matching -------------------------------------------------------------------------------------


@given(patterns())
def test_a_matching_is_one_and_as_large_as_the_rank(pattern: Any) -> None:
    matched = matching(pattern)
    rows = np.flatnonzero(matched >= 0)
    assert matched.shape == (pattern.shape[0],)
    assert np.all(pattern.toarray()[rows, matched[rows]])
    assert len(set(matched[rows].tolist())) == len(rows)
    assert len(rows) == (np.linalg.matrix_rank(values(pattern)) if pattern.shape[1] else 0)


def test_entries_that_are_zero_do_not_count() -> None:
    stored_zero = sparse.csr_array(([0.0, 1.0], ([0, 1], [0, 0])), shape=(2, 1))
    assert matching(stored_zero).tolist() == [-1, 0]
    assert len(stored_zero.data) == 2  # the caller's matrix is left as it is


# -- parts ----------------------------------------------------------------------------------------


@given(patterns())
def test_parts_are_those_of_another_implementation(pattern: Any) -> None:
    parts = dulmage_mendelsohn(pattern)
    rows, columns = referee(sparse.coo_matrix(pattern))
    over = sorted(rows.unmatched + rows.overconstrained), sorted(columns.overconstrained)
    under = sorted(rows.underconstrained), sorted(columns.unmatched + columns.underconstrained)
    assert members(parts.over) == over
    assert members(parts.under) == under
    assert members(parts.square) == (sorted(rows.square), sorted(columns.square))


@given(patterns())
def test_parts_are_what_they_are_called(pattern: Any) -> None:
    A, parts = pattern.toarray(), dulmage_mendelsohn(pattern)
    over, square, under = parts.over, parts.square, parts.under
    assert len(over.rows) > len(over.columns) or len(over.rows) == 0
    assert len(under.rows) < len(under.columns) or len(under.columns) == 0
    assert len(square.rows) == len(square.columns)
    others = np.setdiff1d(np.arange(A.shape[1]), over.columns)
    assert not A[np.ix_(over.rows, others)].any()
    rest = np.setdiff1d(np.arange(A.shape[0]), under.rows)
    assert not A[np.ix_(rest, under.columns)].any()


@given(patterns())
def test_of_too_many_equations_none_can_be_left_out(pattern: Any) -> None:
    """One more than variables, and without any one of them as many."""
    matched = matching(pattern)
    A = values(pattern)
    for row in np.flatnonzero(matched < 0)[:3].tolist():
        part = too_many(pattern, matched, row)
        assert row in part.rows
        assert len(part.rows) == len(part.columns) + 1
        assert np.flatnonzero(A[part.rows].any(axis=0)).tolist() == part.columns.tolist()
        for left_out in part.rows.tolist():
            others = A[np.setdiff1d(part.rows, [left_out])]
            assert others.size == 0 or np.linalg.matrix_rank(others) == len(part.columns)


def test_an_equation_without_variables_and_a_variable_without_equations() -> None:
    parts = dulmage_mendelsohn(sparse.csr_array([[0, 0], [1, 0]]))
    assert members(parts.over) == ([0], [])
    assert members(parts.square) == ([1], [0])
    assert members(parts.under) == ([], [1])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_there(shape: tuple[int, int]) -> None:
    parts = dulmage_mendelsohn(sparse.csr_array(shape))
    assert members(parts.over) == (list(range(shape[0])), [])
    assert members(parts.under) == ([], list(range(shape[1])))


# -- blocks ---------------------------------------------------------------------------------------


@given(patterns(square=True))
def test_blocks_can_be_solved_first_to_last(pattern: Any) -> None:
    blocks = block_triangular(pattern)
    A = pattern.toarray()[np.ix_(blocks.rows, blocks.columns)]
    assert sorted(blocks.rows.tolist()) == sorted(blocks.columns.tolist()) == list(range(len(A)))
    assert np.all(np.diag(A))
    for start, end in zip(blocks.starts[:-1], blocks.starts[1:], strict=True):
        assert not A[start:end, end:].any()
        count, _ = csgraph.connected_components(A[start:end, start:end], connection="strong")
        assert count == 1  # cannot be split further
    assert blocks.sizes.sum() == len(A)
    assert blocks.largest == max(len(block.rows) for block in blocks)
    assert len(list(blocks)) == len(blocks)


@given(patterns(square=True), st.randoms(use_true_random=False))
def test_the_order_does_not_rest_on_the_numbers_that_scipy_gives(pattern: Any, random: Any) -> None:
    A = sparse.csr_array(pattern)
    count, labels = csgraph.connected_components(A, connection="strong")
    numbers = list(range(count))
    random.shuffle(numbers)
    place = incidence._solvable(np.array(numbers)[labels], A, count)
    edges = A.tocoo()
    assert np.all(place[edges.col] <= place[edges.row])
    for k in range(count):
        assert len(set(labels[place == k].tolist())) == 1


def test_blocks_need_a_matching() -> None:
    with pytest.raises(ModelError, match=r"2 equations with 2 variables .* a matching has 1"):
        block_triangular(sparse.csr_array([[1, 0], [1, 0]]))
    with pytest.raises(ModelError, match="1 equations with 2 variables"):
        block_triangular(sparse.csr_array([[1, 1]]))


def test_no_equations_have_no_blocks() -> None:
    blocks = block_triangular(sparse.csr_array((0, 0)))
    assert (len(blocks), blocks.largest, list(blocks)) == (0, 0, [])


def test_many_equations_take_no_time() -> None:
    """A long chain with loops of ten: paths of every length, and no recursion."""
    p = 20_000
    i = np.arange(p)
    back = np.arange(0, p - 10, 20)
    rows = np.concatenate((i, i[1:], back))
    columns = np.concatenate((i, i[:-1], back + 9))
    order = np.random.default_rng(1).permutation(p)
    A = sparse.csr_array((np.ones(len(rows)), (order[rows], columns)), shape=(p, p))
    began = time.perf_counter()
    blocks = block_triangular(A)
    parts = dulmage_mendelsohn(A)
    assert time.perf_counter() - began < 5  # it is 0.1
    assert blocks.largest == 10
    assert len(parts.square.rows) == p
