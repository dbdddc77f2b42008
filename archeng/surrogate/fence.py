r"""`Fence`: a plane along a jump of the objective, and models of the better side only.

A smooth model cannot follow a jump. What it makes of designs on both sides is a steep slope, its
minimum lies beyond, and the trust region shrinks with every design that ends there. So where
designs show a jump, models are fitted to those below it, and minima of models stay on their side
of the plane with the largest margin,

.. math:: \max_{w, b, t} \; t \quad\text{s.t.}\quad w^T a_i - b \le -t, \quad
          w^T a_j - b \ge t, \quad |w| \le 1.

What shows a jump is that losses do not become smaller where designs come nearer: see `jump_in`.
Where few of the nearest designs are on the better side, their model is a linear one.

==========  =======================================================  ==========================
symbol      meaning                                                  name here
==========  =======================================================  ==========================
a_i, a_j    designs below and above the jump, shapes (p, n), (q, n)  ``good``, ``bad``
w, b        normal and position of the plane                         ``normal``, and ``level`` of
                                                                     the fence beside it
t           margin
y           normalised objectives of the designs                     ``data.y``
==========  =======================================================  ==========================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.data import Data, Frame, most_designs, select
from archeng.surrogate.geometry import optimizers
from archeng.surrogate.interpolant import Interpolant


class Fence(NamedTuple):
    """The side of a plane with normal @ v <= level, in coordinates v of the models."""

    normal: Floats  # (n,), of length one
    level: float

    def holds(self, v: Floats) -> bool:
        """Whether v (n,) is on that side."""
        return bool(self.normal @ v <= self.level)

    def row(self) -> Interpolant:
        """Return normal @ v - level as a model: it is to stay below zero."""
        n = len(self.normal)
        none = np.zeros((1, n)), np.zeros(1)
        return Interpolant(-self.level, self.normal, np.zeros((n, n)), *none, 0.0, 0.0)


class Fenced(NamedTuple):
    """What there is on the better side of a jump."""

    data: Data  # the designs there
    fence: Fence
    jump: float  # objective in the middle of the jump


def fenced(frame: Frame, past: PastCalls, data: Data) -> Fenced | None:
    """Return the better side of a jump near the centre of a frame; None if no jump is seen.

    ``data`` are the designs of the next model. A jump is looked for among more of them.
    """
    if data.wide or data.teachers or data.outputs is not None:
        return None
    n = len(frame.centre)
    more = select(frame, past, None, min(c.FENCE_DESIGNS * most_designs(n), c.FENCE_MOST))
    height = None if more is None else jump_in(more)
    if more is None or height is None or more.y[0] >= height:
        return None
    A, low = more.A * (more.scale / data.scale), more.y < height
    fence = fence_between(A[low], A[~low])
    if fence is None:
        return None
    jump = more.best + more.spread * height
    return Fenced(data.taken(data.best + data.spread * data.y < jump), fence, jump)


def jump_in(data: Data) -> float | None:
    """Return the normalised objective in the middle of a jump; None if no jump is seen.

    The steepest large rise from one of the better designs to another design is a jump if two
    designs above it are much nearer than usual to designs below, yet lose as much as the others,
    and if it is much steeper than what there is between designs below it.
    """
    y, n = data.y, data.A.shape[1]
    distances = np.sqrt(np.sum([(a[:, None] - a) ** 2 for a in data.A.T], axis=0))
    rises = y[None, :] - y[:, None]  # from the row to the column
    large = (rises >= c.FENCE_RISE) & (y[:, None] <= 1.0) & (distances > 0)
    if not large.any():
        return None
    slopes = np.divide(rises, distances, out=np.zeros_like(rises), where=distances > 0)
    i, j = np.unravel_index(int(np.argmax(np.where(large, slopes, 0.0))), slopes.shape)
    height = float(y[i] + y[j]) / 2
    low, high = np.flatnonzero(y < height), np.flatnonzero(y >= height)
    if len(low) < n + 2 or len(high) < c.FENCE_FEWEST:
        return None
    between = distances[np.ix_(high, low)]
    nearest, gaps = low[np.argmin(between, axis=1)], between.min(axis=1)
    losses, near = y[high] - y[nearest], np.argsort(gaps, kind="stable")[:2]
    nearer = float(np.log(np.median(gaps) / np.median(gaps[near])))
    smaller = float(np.log(np.median(losses) / losses[near].min()))
    if nearer < c.FENCE_NEARER or smaller > c.FENCE_SMALLER * nearer:
        return None
    below = np.ix_(low, low)
    apart = distances[below] > gaps[near].max()
    usual = float(np.max(np.abs(slopes[below]), where=apart, initial=0.0))
    return height if slopes[i, j] > c.FENCE_STEEP * usual > 0 else None


def fence_between(good: Floats, bad: Floats) -> Fence | None:
    """Return a fence between designs (p, n) and (q, n); None if no plane separates them.

    If none separates all of them, one for the bad designs nearest to the origin, and the good ones
    that are no farther away. It stands nearer to the good designs than to the bad ones.
    """
    bad = bad[np.argsort(np.sum(bad**2, axis=1), kind="stable")]
    count, near = len(bad), good
    while count:
        normal = _normal(near, bad[:count])
        inner, outer = float((near @ normal).max()), float((bad[:count] @ normal).min())
        if outer > inner:
            return Fence(normal, inner + c.FENCE_SHARE * (outer - inner))
        count //= 2
        near = good[np.sum(good**2, axis=1) <= np.sum(bad[max(count - 1, 0)] ** 2)]
    return None


def _normal(good: Floats, bad: Floats) -> Floats:
    """Return the normal (n,) of the plane with the largest margin, by SLSQP."""
    n = good.shape[1]
    sides = np.concatenate((np.ones(len(good)), -np.ones(len(bad))))
    rows = -sides[:, None] * np.concatenate((good, bad))
    above = np.column_stack((rows, sides, -np.ones(len(rows))))  # of (w, b, t), at least 0
    cost = np.append(np.zeros(n + 1), -1.0)
    w = bad.mean(axis=0) - good.mean(axis=0)
    w = w / max(float(np.linalg.norm(w)), float(np.finfo(float).tiny))
    begin = np.append(w, (float((good @ w).max()) + float((bad @ w).min())) / 2)
    begin = np.append(begin, np.min(above[:, :-1] @ begin))
    with np.errstate(all="ignore"):
        solved = optimizers().minimize(
            lambda z: -z[-1],
            begin,
            jac=lambda z: cost,
            method="SLSQP",
            constraints=[
                {"type": "ineq", "fun": lambda z: above @ z, "jac": lambda z: above},
                {
                    "type": "ineq",
                    "fun": lambda z: 1 - z[:n] @ z[:n],
                    "jac": lambda z: np.append(-2 * z[:n], (0.0, 0.0)),
                },
            ],
            options={"maxiter": c.FENCE_ITERATIONS, "ftol": c.FENCE_ACCURACY},
        )
    found = np.asarray(solved.x[:n], dtype=float)
    length = float(np.linalg.norm(found))
    return found / length if 0 < length < np.inf else w
