r"""Quadratic programs with many variables, solved for the multipliers of the few rows that matter.

.. math:: \min_d \tfrac12 d^T W d + g^T d \quad\text{s.t.}\quad l \le A d \le h

Given multipliers u, the step is :math:`d = q - W^{-1} A^T u` with :math:`q = -W^{-1} g`, so the
rows are :math:`A q - G u` with the Gram matrix :math:`G = A W^{-1} A^T` of the rows that have a
multiplier. The **active rows** S are guessed, :math:`G_{SS} u_S = (A q - b)_S` is solved, rows with
a multiplier of the wrong sign leave and rows that the step violates join, all at once, until
nothing changes [HIK02]: a semismooth Newton method, which takes a few iterations where a method
that changes one row at a time takes as many as there are active rows. It need not end. Then
the same is done in proximal steps [R76], and if they do not settle either, DAQP
solves the program of all rows that were ever active; its rows are those of a root of G, so its size
is their number, and not n.

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
G           Gram matrix of the known rows, shape (k, k)            ``gram``
T           R^-1 A^T of the known rows, W = R R^T, shape (n, k)    ``columns``
u           multipliers of all rows, shape (m,)                    ``u``
l, h        limits, shape (m,)                                     ``low``, ``high``
s           1 at the upper limit, -1 at the lower, 0 else          ``side``
==========  =====================================================  ==============

[HIK02] M. Hintermueller, K. Ito, K. Kunisch, The Primal-Dual Active Set Strategy as a Semismooth
Newton Method, SIAM Journal on Optimization 13(3), 865-888, 2002, doi:10.1137/S1052623401383558.
[R76] R. T. Rockafellar, Monotone Operators and the Proximal Point Algorithm, SIAM Journal on
Control and Optimization 14(5), 877-898, 1976, doi:10.1137/0314056.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from archeng.blas import scipy_linalg
from archeng.distribution import Floats, Integers

_OUTSIDE = 1e-12  # violation of a row at which it joins, relative to the step
_ITERATIONS = 30  # before DAQP is asked
_FEWER = 20  # before a program that may have no solution is given up
_PRICE = 1e3  # multipliers beyond which rows hardly have a common point, relative to the step
_DELTA, _LEAST_DELTA = 0.03, 1e-6  # regularisation of G, whose diagonal is near 1
_SHRINK = 0.5  # of the regularisation, from one proximal step to the next
_CENTRES = 30  # proximal steps before DAQP is asked
_REFINED = 2  # steps of iterative refinement
_RIDGE = 1e-13  # added to the diagonal of G where rows depend on each other, relative to it
_RANK = 1e-12  # relative eigenvalues of G that count as zero


class Program(NamedTuple):
    """A quadratic program by its operations.

    ``columns`` gives T of some rows, ``step`` the step of some columns times multipliers, ``rows``
    the rows (m,) at a step, and ``least`` solves a dense least-distance problem.
    """

    low: Floats
    high: Floats
    columns: Callable[[Integers], Any]
    step: Callable[[Floats], Floats]
    rows: Callable[[Floats], Floats]
    least: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


class DualAnswer(NamedTuple):
    """The step (n,), multipliers (m,) and rows (m,) at the step."""

    d: Floats
    u: Floats
    Ad: Floats


def solve(program: Program, free: Floats, begin: Floats, brief: bool = False) -> DualAnswer:
    """Return the solution; if there is none, rows are not satisfied at what is returned: check.

    ``free`` (n,) is the step q without rows, ``begin`` (m,) has the signs of the multipliers that
    are expected; zeros if nothing is. ``brief``: there may well be no solution, so DAQP is not
    asked.
    """
    low, high = program.low, program.high
    known = _Known(program)
    free_rows = program.rows(free)
    side = np.sign(begin)
    side[free_rows > high] = 1.0
    side[free_rows < low] = -1.0
    for _ in range(_FEWER if brief else _ITERATIONS):
        active = np.flatnonzero(side)
        u, d, Ad = known.solved(active, side, free, free_rows)
        if u is None:
            break
        longest = float(np.abs(d).max())
        if brief and float(np.abs(u).max()) > _PRICE * (1.0 + longest):
            break
        outside = _OUTSIDE * (1.0 + longest)
        after = np.where(u * side < 0, 0.0, side)
        after[(side == 0) & (Ad > high + outside)] = 1.0
        after[(side == 0) & (Ad < low - outside)] = -1.0
        if np.array_equal(after, side):
            return DualAnswer(d, u, Ad)
        side = after
    if brief:
        return DualAnswer(free, np.zeros(len(low)), free_rows)
    answer = _proximal(known, program, free, free_rows)
    return _by_daqp(known, program, free, free_rows) if answer is None else answer


def _proximal(
    known: _Known, program: Program, free: Floats, free_rows: Floats
) -> DualAnswer | None:
    r"""Solve with G + delta I in the place of G, again and again around another centre c [R76].

    Active rows are then at :math:`b + \delta (u - c)`: multipliers do not grow without limit where
    rows nearly depend on each other, so the active rows settle. None if they do not.
    """
    low, high, centre = program.low, program.high, np.zeros(len(program.low))
    side = np.zeros(len(low))
    side[free_rows > high], side[free_rows < low] = 1.0, -1.0
    delta = _DELTA
    for _ in range(_CENTRES):
        for _ in range(_ITERATIONS):
            u, d, Ad = known.regularised(side, centre, delta, free, free_rows)
            outside = _OUTSIDE * (1.0 + float(np.abs(d).max()))
            moved = Ad + delta * centre
            after = np.where(u * side < 0, 0.0, side)
            after[(side == 0) & (moved > high + outside)] = 1.0
            after[(side == 0) & (moved < low - outside)] = -1.0
            if np.array_equal(after, side):
                break
            side = after
        else:
            return None
        apart = np.where(side > 0, Ad - high, low - Ad)[side != 0]
        violated = np.maximum(Ad - high, low - Ad)[side == 0]
        if max(np.abs(apart).max(initial=0.0), violated.max(initial=0.0)) <= outside:
            return DualAnswer(d, u, Ad)
        centre, delta = u, max(_SHRINK * delta, _LEAST_DELTA)
    return None


class _Known:
    """The rows that have been active so far, with their Gram matrix."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.place = np.full(len(program.low), -1)
        self.rows = np.zeros(0, dtype=np.intp)
        self.gram = np.zeros((0, 0))
        self._columns: Any = None

    def learn(self, rows: Integers) -> None:
        """Add rows that are not known."""
        new = rows[self.place[rows] < 0]
        if not len(new):
            return
        k, more = len(self.rows), len(new)
        columns = self._program.columns(new)
        gram = np.empty((k + more, k + more))
        gram[:k, :k] = self.gram
        gram[k:, k:] = _dense(columns.T @ columns)
        if k:
            gram[:k, k:] = _dense(self._columns.T @ columns)
            gram[k:, :k] = gram[:k, k:].T
        self._columns = columns if k == 0 else _side_by_side(self._columns, columns)
        self.gram, self.rows = gram, np.concatenate((self.rows, new))
        self.place[new] = np.arange(k, k + more)

    def step(self, u: Floats, free: Floats) -> Floats:
        """Return q - W^-1 A^T u for multipliers u (k,) of the known rows."""
        if not len(u):
            return free
        return free - self._program.step(np.asarray(self._columns @ u).reshape(-1))

    def solved(
        self, active: Integers, side: Floats, free: Floats, free_rows: Floats
    ) -> tuple[Floats | None, Floats, Floats]:
        """Return multipliers (m,), step and rows with the active rows at their limits.

        No multipliers if they cannot be told.
        """
        program, m = self._program, len(side)
        if not len(active):
            return np.zeros(m), free, free_rows
        self.learn(active)
        at = self.place[active]
        aim = np.where(side[active] > 0, program.high[active], program.low[active])
        factor = _cholesky(self.gram[np.ix_(at, at)])
        if factor is None:
            return None, free, free_rows
        own, gap = np.zeros(len(self.rows)), free_rows[active] - aim
        d, Ad = free, free_rows
        for _ in range(1 + _REFINED):
            own[at] += _cho_solve(factor, gap)
            d = self.step(own, free)
            Ad = program.rows(d)
            gap = Ad[active] - aim
        u = np.zeros(m)
        u[active] = own[at]
        return u, d, Ad

    def regularised(
        self, side: Floats, centre: Floats, delta: float, free: Floats, free_rows: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return multipliers (m,), step and rows of the regularised program of the active rows."""
        program, active = self._program, np.flatnonzero(side)
        u = np.zeros(len(side))
        if not len(active):
            return u, free, free_rows
        self.learn(active)
        at = self.place[active]
        aim = np.where(side[active] > 0, program.high[active], program.low[active])
        gram = self.gram[np.ix_(at, at)]
        gram.flat[:: len(gram) + 1] += delta
        factor = _cholesky(gram)
        own, c = np.zeros(len(self.rows)), centre[active]
        gap = free_rows[active] - aim + delta * c
        d, Ad = free, free_rows
        for _ in range(1 + _REFINED):
            own[at] += _cho_solve(factor, gap)
            d = self.step(own, free)
            Ad = program.rows(d)
            gap = Ad[active] - aim - delta * (own[at] - c)
        u[active] = own[at]
        return u, d, Ad


def _by_daqp(known: _Known, program: Program, free: Floats, free_rows: Floats) -> DualAnswer:
    """Solve the program of the known rows; those that the step violates become known."""
    while True:
        rows = known.rows
        root = _root(known.gram)
        low, high = program.low[rows] - free_rows[rows], program.high[rows] - free_rows[rows]
        _, own = program.least(root, low, high)
        d = known.step(own, free)
        Ad = program.rows(d)
        u = np.zeros(len(program.low))
        u[rows] = own
        outside = _OUTSIDE * (1.0 + float(np.abs(d).max()))
        violated = (Ad > program.high + outside) | (Ad < program.low - outside)
        joining = np.flatnonzero(violated & (known.place < 0))
        if not len(joining) or not np.all(np.isfinite(d)):
            return DualAnswer(d, u, Ad)
        known.learn(joining)


def shortest(A: Floats, b: Floats) -> Floats:
    """Return the shortest d (n,) with A d = b, or nearly, for A (k, n) with few rows."""
    root_values, V = np.linalg.eigh(A @ A.T)
    kept = root_values > _RANK * root_values[-1]
    return np.asarray(A.T @ (V[:, kept] @ ((V[:, kept].T @ b) / root_values[kept])))


def _root(gram: Floats) -> Floats:
    """Return M (k, k) with M M^T = G, also where rows depend on each other."""
    try:
        return np.asarray(np.linalg.cholesky(gram), dtype=float)
    except np.linalg.LinAlgError:
        values, V = np.linalg.eigh(gram)
        return np.asarray(V * np.sqrt(np.maximum(values, 0.0)))


def _cholesky(gram: Floats) -> Any | None:
    """Return the factor of G, which is overwritten; None if the rows depend on each other."""
    gram.flat[:: len(gram) + 1] *= 1.0 + _RIDGE  # a copy of the rows that are active
    try:
        return scipy_linalg().cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None


def _cho_solve(factor: Any, b: Floats) -> Floats:
    return np.asarray(scipy_linalg().cho_solve(factor, b, check_finite=False))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _side_by_side(a: Any, b: Any) -> Any:
    """Return two matrices as one, both dense or both sparse."""
    if isinstance(a, np.ndarray):
        return np.hstack((a, b))
    from scipy.sparse import hstack

    return hstack((a, b), format="csc")
