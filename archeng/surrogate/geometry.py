r"""The rows and the designs around a centre, to first order: how far a step goes, what is known.

A step that lowers a linear function most solves a linear program over the rows at the centre:

.. math:: \min_u \; g^T u \quad\text{s.t.}\quad l \le A u \le h, \; |u_i| \le \rho

Models know nothing of directions in which no design lies. The designs within reach of the centre
are *poised* on a scale :math:`\rho` if the matrix of their coordinates over :math:`\rho`, on the
directions that equalities leave free, has no small singular value: a linear function is then
determined, and its errors are not amplified. Otherwise the direction of the least singular value
is where the next design belongs (a geometry step, as in Powell's methods [P94]).

[P94] M. J. D. Powell, A direct search optimization method that models the objective and constraint
functions by linear interpolation, 1994, doi:10.1007/978-94-015-8330-5_4.

==========  ==========================================================  ===================
symbol      meaning                                                     name here
==========  ==========================================================  ===================
u           step in the frame, in initial deviations, shape (n,)        ``step``
rho         size of the region                                          ``radius, scale``
g           slope, shape (n,)                                           ``slope``
A           slopes of the rows, shape (m, n)                            ``slopes``
l, h        room that the limits leave, shape (m,)                      ``lower, upper``
u_k         designs near the centre, in the frame, shape (p, n)         ``near``
T           orthonormal free directions, shape (k, n)                   ``free``
==========  ==========================================================  ===================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair import Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.data import Frame

Repaired = Callable[[Floats], Floats | None]
"""Makes a feasible design (n,) of any point (n,), or none."""


@cache
def optimizers() -> Any:
    """Return `scipy.optimize`, imported when it is first needed: that takes half a second."""
    import scipy.optimize

    one_thread.look_again()  # it brings a BLAS of its own
    return scipy.optimize


def feasible_near(repairer: Repairer, frame: Frame, x: Floats) -> Floats | None:
    """Return a feasible design near a point (n,), with the margins that repairs have."""
    metric = frame.metric()
    near = repairer.near(x, metric, frame.centre)
    if near is None:
        return None
    inset = repairer.inset(near.x, metric)
    return inset.x if inset.max_violation == 0 else near.x


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows at a design: slopes (m, n) in the frame, and the room (m,) below and above."""

    slopes: Floats
    lower: Floats
    upper: Floats

    def and_others(self, slopes: Floats, values: Floats, lower: Floats, upper: Floats) -> Rows:
        """Return them with others appended: slopes (k, n), values (k,) and limits (k,)."""
        return Rows(
            np.concatenate((self.slopes, slopes)),
            np.concatenate((self.lower, np.minimum(lower - values, 0.0))),
            np.concatenate((self.upper, np.maximum(upper - values, 0.0))),
        )


def explicit_rows(feasible_set: FeasibleSet, frame: Frame) -> Rows:
    """Return the explicit rows at the centre of a frame, which satisfies them."""
    fs = feasible_set
    values, jacobian = fs.values_and_jacobian(frame.centre)
    with np.errstate(invalid="ignore", over="ignore"):
        slopes = jacobian @ frame.factor
    return Rows(slopes, np.minimum(fs.lower - values, 0.0), np.maximum(fs.upper - values, 0.0))


def room_at(radius: float) -> float:
    """Return the room, in deviations, below which a row counts as at its limit."""
    return min(c.LIMIT_ROOM * radius, c.LIMIT_ROOM_MOST)


def lowest_step(
    slope: Floats,
    rows: Rows,
    radius: float,
    room: float = c.LIMIT_ROOM_MOST,
    offsets: Floats | None = None,
) -> Floats | None:
    """Return the solution u (n,) of the linear program above; None if it cannot be solved.

    Rows with less ``room`` than this, in deviations, are at their limits. With several slopes
    (k, n) and ``offsets`` (k,), what is lowered is the largest of offset + slope u.
    """
    steepness = float(np.linalg.norm(slope))
    size = np.linalg.norm(rows.slopes, axis=1)
    used = np.isfinite(size) & (size > 0)
    if not np.isfinite(steepness):
        return None
    if steepness == 0:
        return np.zeros(slope.shape[-1])
    A, size = rows.slopes[used] / size[used, None], radius * size[used]
    room = room / radius
    with np.errstate(over="ignore"):  # limits may be as far away as floats allow
        lower, upper = rows.lower[used] / size, rows.upper[used] / size
    lower, upper = np.where(lower > -room, 0.0, lower), np.where(upper < room, 0.0, upper)
    reach = np.sum(np.abs(A), axis=1)
    above, below = upper < reach, lower > -reach  # other limits are out of reach
    A = np.concatenate((A[above], -A[below]))
    b = np.concatenate((upper[above], -lower[below]))
    cost, bounds = slope / steepness, [(-1.0, 1.0)] * A.shape[1]
    if offsets is not None:  # one unknown more: the largest piece
        cost = np.append(np.zeros(A.shape[1]), 1.0)
        pieces = np.column_stack((slope / steepness, -np.ones(len(slope))))
        A = np.concatenate((np.column_stack((A, np.zeros(len(A)))), pieces))
        b = np.append(b, -offsets / (steepness * radius))
        bounds.append((-np.inf, np.inf))
    solution = _linear_program(cost, A, b, bounds)
    return None if solution is None else radius * solution[: slope.shape[-1]]


def _linear_program(cost: Floats, A: Floats, b: Floats, bounds: Any) -> Floats | None:
    """Minimise the cost subject to A x <= b; of many rows only those that turn out to matter."""
    many = len(b) > c.MANY_ROWS
    working = np.argsort(b, kind="stable")[: c.FIRST_ROWS] if many else np.arange(len(b))
    while True:
        rows = {"A_ub": A[working], "b_ub": b[working]}
        solved = optimizers().linprog(cost, **rows, bounds=bounds, method="highs")
        if solved.status != 0:
            return None
        x = np.asarray(solved.x, dtype=float)
        if not many:
            return x
        missing = A @ x - b
        missing[working] = 0.0
        joining = np.argsort(-missing, kind="stable")[: A.shape[1]]
        joining = joining[missing[joining] > c.ROW_MISSING]
        if not len(joining):
            return x
        working = np.concatenate((working, joining))


def gain(slopes: Floats, offsets: Floats, rows: Rows, radius: float, room: float) -> float:
    """Return how much a step lowers the objective; infinite if that is not known.

    The objective is the largest of pieces with slopes (k, n) and ``offsets`` (k,), the largest of
    which is zero.
    """
    if len(slopes) == 1:
        step = lowest_step(slopes[0], rows, radius, room)
        return float("inf") if step is None else max(float(-slopes[0] @ step), 0.0)
    step = lowest_step(slopes, rows, radius, room, offsets)
    return float("inf") if step is None else max(float(-(offsets + slopes @ step).max()), 0.0) + 0.0


def right_vectors(A: Floats) -> tuple[Floats, Floats]:
    """Return the singular values of A (p, n) and all n right singular vectors, as rows (n, n).

    The left ones, p of them in a run of 100,000 designs, would not fit into memory.
    """
    _, values, vectors = np.linalg.svd(A, full_matrices=len(A) < A.shape[1])
    return values, vectors


def free_directions(feasible_set: FeasibleSet, rows: Rows) -> Floats:
    """Return orthonormal directions (k, n) of the frame that the equalities leave free."""
    slopes = rows.slopes[feasible_set.equality]
    if not len(slopes) or not np.all(np.isfinite(slopes)):
        return np.eye(rows.slopes.shape[1])
    s, V = right_vectors(slopes)
    return np.asarray(V[int(np.sum(s > c.EQUALITY_DEPENDENT * s[0])) :], dtype=float)


def designs_near(coordinates: Floats, scale: float) -> Floats:
    """Return which coordinates (p, n) are near the centre on a scale, as rows (q, n)."""
    lengths = np.sqrt(np.sum(coordinates**2, axis=1))
    near = (lengths <= c.POISE_REACH * scale) & (lengths >= c.POISE_NEAREST * scale)
    return np.asarray(coordinates[near], dtype=float)


def missing_design(
    near: Floats, free: Floats, rows: Rows, scale: float, frame: Frame, repaired: Repaired
) -> Floats | None:
    """Return a feasible design (n,) that makes the designs better poised; None if they are.

    ``near`` (p, n) and ``free`` (k, n) as above; the rows are the explicit ones at the centre.
    """
    for direction in _missing(near, free, scale):
        straight = [scale * direction, -scale * direction]
        for u in (*straight, *_farthest(direction, rows, scale)):
            x = repaired(frame.design(u))
            if x is not None and _helps(frame.coordinates(x), direction, scale):
                return x
    return None


def missing_directions(near: Floats, free: Floats, rows: Rows, scale: float) -> int:
    """Return the number of directions in which designs are missing and possible (linearly)."""
    return sum(
        any(_helps(u, direction, scale) for u in _farthest(direction, rows, scale))
        for direction in _missing(near, free, scale)
    )


def _farthest(direction: Floats, rows: Rows, scale: float) -> Iterator[Floats]:
    """Yield steps (n,) that go as far along a direction as the rows allow, either way."""
    for sign in (1.0, -1.0):
        u = lowest_step(sign * direction, rows, scale, room_at(scale))
        if u is not None and u.any():
            yield u * min(1.0, c.POISE_LONGEST * scale / float(np.linalg.norm(u)))


def _helps(u: Floats, direction: Floats, scale: float) -> bool:
    """Whether a design at u (n,) goes far enough along a direction, and not too far."""
    near = float(np.linalg.norm(u)) <= c.POISE_REACH * scale
    return near and bool(abs(u @ direction) >= c.POISE_REACHED * scale)


def _missing(near: Floats, free: Floats, scale: float) -> Iterator[Floats]:
    """Yield orthonormal directions (n,) of ``free`` that no design determines, worst first."""
    while len(free):
        direction = _least_known(near @ free.T / scale) @ free
        if not direction.any():
            return
        yield direction
        _, V = right_vectors((free @ direction)[None])
        free = V[1:] @ free


def _least_known(S: Floats) -> Floats:
    """Return the direction (k,) of the least singular value of S (p, k); zero if none is small."""
    p, k = S.shape
    if p == 0:
        return np.asarray(np.eye(k)[0], dtype=float)
    s, V = right_vectors(S)
    if p >= k and s[-1] >= c.POISED:
        return np.zeros(k)
    return np.asarray(V[-1], dtype=float)
