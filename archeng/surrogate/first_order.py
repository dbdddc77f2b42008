r"""Steps to first order: a linear program over the rows at a design.

.. math:: \min_u \; g^T u \quad\text{s.t.}\quad l \le A u \le h, \; |u_i| \le \rho

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
u           step in the frame, in initial deviations, shape (n,)        ``step``
rho         size of the region                                          ``radius``
g           slope, shape (n,)                                           ``slope``
A           slopes of the rows, shape (m, n)                            ``slopes``
l, h        room that the limits leave, shape (m,)                      ``lower, upper``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.known import Limits
from archeng.model import FeasibleSet
from archeng.surrogate.data import Frame

_AT_LIMIT = 1e-3  # room below this, in radii, ...
_MARGIN = 1e-6  # ... and below this, in deviations, is none: margins of repairs, rounding


@cache
def optimizers() -> Any:
    """Return `scipy.optimize`, imported when it is first needed: that takes half a second."""
    import scipy.optimize

    one_thread.look_again()  # it brings a BLAS of its own
    return scipy.optimize


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows at a design: slopes (m, n) in the frame, and the room (m,) below and above."""

    slopes: Floats
    lower: Floats
    upper: Floats

    def and_simulated(self, slopes: Floats, values: Floats, limits: Limits) -> Rows:
        """Return them with simulated constraints, slopes (k, n) and values (k,), appended."""
        return Rows(
            np.concatenate((self.slopes, slopes)),
            np.concatenate((self.lower, np.minimum(limits.lower - values, 0.0))),
            np.concatenate((self.upper, np.maximum(limits.upper - values, 0.0))),
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
    return min(_AT_LIMIT * radius, _MARGIN)


def lowest_step(slope: Floats, rows: Rows, radius: float, room: float = _MARGIN) -> Floats | None:
    """Return the solution u (n,) of the linear program above; None if it cannot be solved.

    Rows with less ``room`` than this, in deviations, are at their limits.
    """
    steepness = float(np.linalg.norm(slope))
    size = np.linalg.norm(rows.slopes, axis=1)
    used = np.isfinite(size) & (size > 0)
    if not np.isfinite(steepness):
        return None
    if steepness == 0:
        return np.zeros(len(slope))
    A, size = rows.slopes[used] / size[used, None], radius * size[used]
    room = room / radius
    with np.errstate(over="ignore"):  # limits may be as far away as floats allow
        lower, upper = rows.lower[used] / size, rows.upper[used] / size
    lower, upper = np.where(lower > -room, 0.0, lower), np.where(upper < room, 0.0, upper)
    reach = np.sum(np.abs(A), axis=1)
    above, below = upper < reach, lower > -reach  # other limits are out of reach
    solved = optimizers().linprog(
        slope / steepness,
        A_ub=np.concatenate((A[above], -A[below])),
        b_ub=np.concatenate((upper[above], -lower[below])),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    return np.asarray(radius * solved.x, dtype=float) if solved.status == 0 else None


def gain(slope: Floats, rows: Rows, radius: float, room: float) -> float:
    """Return how much a step lowers the objective of slope (n,); infinite if that is not known."""
    step = lowest_step(slope, rows, radius, room)
    return float("inf") if step is None else max(float(-slope @ step), 0.0)
