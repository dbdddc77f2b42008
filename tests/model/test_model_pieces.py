"""Smooth pieces of a formula: the largest, or the least, of them is the formula."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.model.pieces import has_kinks, smooth_pieces

N = 3
X = ca.SX.sym("x", N)

_UNARY: list[Callable[[Any], Any]] = [
    ca.fabs,
    lambda e: -e,
    lambda e: 2 * e,
    lambda e: e / -3.0,
    lambda e: 0.7 * e,
    lambda e: ca.exp(0.1 * e),
    ca.atan,
    ca.tanh,
    lambda e: ca.sqrt(1 + e**2),
    lambda e: ca.log(ca.fmax(e, 0.1)),
    lambda e: ca.sqrt(ca.fmax(e, 0.0)),
]
_BINARY: list[Callable[[Any, Any], Any]] = [
    ca.fmax,
    ca.fmin,
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
]
leaves = st.one_of(
    st.integers(0, N - 1).map(lambda i: X[i]),
    st.floats(-2, 2).map(lambda v: ca.SX(round(v, 2))),
)
formulas = st.recursive(
    leaves,
    lambda e: st.one_of(
        st.tuples(st.sampled_from(_UNARY), e).map(lambda t: t[0](t[1])),
        st.tuples(st.sampled_from(_BINARY), e, e).map(lambda t: t[0](t[1], t[2])),
    ),
    max_leaves=8,
)
often = settings(deadline=None, max_examples=150, derandomize=True)


def values(expressions: list[Any], x: np.ndarray) -> np.ndarray:
    return ca.Function("f", [X], [ca.vertcat(*expressions)])(x).full().ravel()


@often
@given(formula=formulas, seed=st.integers(0, 2**32 - 1), largest=st.booleans())
def test_the_largest_or_least_piece_is_the_formula(formula: Any, seed: int, largest: bool) -> None:
    """Everywhere: where the formula is a number, no piece is undefined."""
    pieces = smooth_pieces(formula, largest)
    for x in 3 * np.random.default_rng(seed).standard_normal((6, N)):
        (exact,), parts = values([formula], x), values(pieces, x)
        if np.isfinite(exact):
            extreme = parts.max() if largest else parts.min()
            assert extreme == pytest.approx(exact, rel=1e-12, abs=1e-12)


@often
@given(formula=formulas)
def test_smooth_formulas_are_one_piece(formula: Any) -> None:
    if not has_kinks(formula, X):
        (only,) = smooth_pieces(formula, True)
        assert ca.is_equal(only, formula, 0)


@pytest.mark.parametrize(
    ("formula", "largest", "count"),
    [
        (ca.fmax(X[0], X[1]), True, 2),
        (ca.fmax(X[0], X[1]), False, 1),
        (-ca.fmax(X[0], X[1]), False, 2),
        (ca.fmin(X[0], X[1]) / -2, True, 2),
        (3 - 2 * ca.fmin(X[0], ca.fmin(X[1], X[2])), True, 3),
        (ca.fabs(X[0] - X[1]), True, 2),
        (ca.fabs(X[0] - X[1]), False, 1),
        (ca.fabs(ca.fmax(X[0], X[1])), True, 3),
        (ca.fmax(X[0], X[1]) + ca.fabs(X[2]), True, 4),
        (ca.exp(ca.fmax(X[0], X[1])) + X[2] ** 2, True, 2),
        (ca.fmax(X[0], X[1]) * 0.0 + X[2], True, 1),
        (X[2] * ca.fmax(X[0], X[1]), True, 1),
        (ca.mmax(X), True, 3),
        (ca.norm_inf(X), True, 7),  # and 0, as CasADi writes it
        (ca.norm_1(X), True, 8),
    ],
)
def test_how_many_pieces_there_are(formula: Any, largest: bool, count: int) -> None:
    assert len(smooth_pieces(formula, largest)) == count


def test_all_pieces_of_a_largest_residual_are_smooth() -> None:
    pieces = smooth_pieces(ca.exp(ca.norm_inf(X)) - 2 * ca.fmin(X[0], 1), True)
    assert len(pieces) == 14  # (6 and 0) times 2
    assert not any(has_kinks(piece, X) for piece in pieces)


def test_guarded_roots_and_logarithms_are_not_split() -> None:
    """The piece sqrt(x) of sqrt(fmax(x, 0)) is not a number for x < 0, the formula is 0."""
    for guarded in (ca.sqrt(ca.fmax(X[0], 0)), ca.log(ca.fmax(X[0], 1e-3))):
        (only,) = smooth_pieces(guarded + 1, True)
        assert np.isfinite(values([only], np.full(N, -1.0))).all()


@pytest.mark.parametrize("count", [64, 65, 200])
def test_too_many_pieces_are_one(count: int) -> None:
    """A formula as it is, rather than hundreds of pieces."""
    z = ca.SX.sym("z", count)
    largest = smooth_pieces(ca.mmax(z), True)
    assert len(largest) == (count if count <= 64 else 1)
    (only,) = smooth_pieces(ca.norm_1(z), True)  # 2 ** count of them
    assert has_kinks(only, z)


def test_sums_are_longer_than_the_stack_is_deep() -> None:
    """Least squares with thousands of residuals, with a kink and without."""
    z = ca.SX.sym("z", 3 * sys.getrecursionlimit())
    assert len(smooth_pieces(ca.sumsqr(z), True)) == 1
    assert len(smooth_pieces(ca.sumsqr(z) + ca.fmax(z[0], z[1]), True)) == 2
    assert len(smooth_pieces(ca.norm_1(z), True)) == 1


def test_shared_parts_are_looked_at_once() -> None:
    """Sixty steps of a recurrence, smooth and with a kink at its beginning: 2 ** 60 paths."""
    for first in (X[0], ca.fmax(X[0], X[1])):
        y = first
        for _ in range(60):
            y = y + 0.1 * (y - X[2])
        assert len(smooth_pieces(y, True)) in (1, 2)
