r"""The rows of one large repair problem at a point: values, sparse gradients, room to the limits.

All steps of an SQP ask for the same things at the same few points (a trial point is looked at
before its step is computed), so the last ones are kept.

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
z           whitened displacement, y = x + L z                     ``z``
c_j         scaled rows r_j / norm_j, shape (m,)                   ``c``
J           scaled gradients of all rows, sparse, shape (m, n)     ``nonzeros``
A_S         scaled whitened gradients of rows S, J_S L             ``gradients``
l, h        room of the scaled rows to their limits, shape (m,)    ``low``, ``high``
==========  =====================================================  ==============
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.repair.look import INFINITE, LARGE
from archeng.repair.problem import Problem
from archeng.repair.sparse import SparseRows

_KEPT = 3


class Place(NamedTuple):
    """What is known at z.

    Attributes
    ----------
    usable : ndarray of bool, shape (m,)
        Rows that are defined at z and not infinitely steep; the others leave the linearisation.
    low, high : ndarray, shape (m,)
        Limits of the change of the scaled rows; infinite for those that are not usable.
    excess : ndarray, shape (m,)
        Scaled violations.
    violation : float
        Their sum; infinite if a row is undefined.
    farthest : float
        How far the worst row is beyond its slack; at most 0 if all are satisfied.
    """

    z: Floats
    y: Floats
    c: Floats
    nonzeros: Floats
    usable: Any
    low: Floats
    high: Floats
    excess: Floats
    violation: float
    farthest: float


class LinearisedRows:
    """The rows of a feasible set, linearised at one point after the other.

    Attributes
    ----------
    rows : SparseRows
    problem : Problem
        The one loaded last.
    pinned : ndarray of bool, shape (m,)
        Rows whose limits are less than a deviation apart.
    """

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows
        self._loaded: tuple[object, ...] = ()

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        loaded = (problem, lower, upper)
        if len(self._loaded) == 3 and all(map(_same, loaded, self._loaded)):
            return
        self._loaded = loaded
        self.problem = problem
        self._low = np.maximum(lower / problem.norms, -INFINITE)
        self._high = np.minimum(upper / problem.norms, INFINITE)
        self.pinned = self._high - self._low < 1
        self._inverse_norms = 1.0 / problem.norms[self.rows.row]
        self._spread = np.sqrt(np.sum(problem.metric.L**2, axis=1))[self.rows.variable]
        self._places: list[Place] = []

    def at(self, z: Floats) -> Place:
        """Return what is known at z (n,), which must not be changed afterwards."""
        for place in self._places:
            if place.z is z:
                return place
        place = self._evaluated(z)
        self._places = [place, *self._places[: _KEPT - 1]]
        return place

    def _evaluated(self, z: Floats) -> Place:
        problem, rows = self.problem, self.rows
        y = problem.x + problem.metric.L @ z
        c = problem.feasible_set.values(y) / problem.norms
        nonzeros = rows.nonzeros(y) * self._inverse_norms
        defined = np.abs(c) < LARGE
        usable = defined & (rows.by_rows(np.abs(nonzeros) * self._spread) < LARGE)
        c_safe = c if defined.all() else np.where(defined, c, 0.0)
        room_low, room_high = self._low - c_safe, self._high - c_safe
        outside = np.maximum(room_low, -room_high)
        excess = np.maximum(outside, 0.0)
        low, high = np.maximum(room_low, -INFINITE), np.minimum(room_high, INFINITE)
        beyond = outside - problem.slack
        violation = float(excess.sum())
        if not usable.all():
            nonzeros = np.where(usable[rows.row], nonzeros, 0.0)
            low, high = np.where(usable, low, -INFINITE), np.where(usable, high, INFINITE)
            beyond = np.where(defined, beyond, 1.0)
            violation = violation if defined.all() else np.inf
        return Place(z, y, c, nonzeros, usable, low, high, excess, violation, float(beyond.max()))

    def changes(self, place: Place, d: Floats) -> Floats:
        """Return the changes (m,) of the linearised rows along a step d (n,)."""
        return self.rows.times(place.nonzeros, self.problem.metric.L @ d)

    def gradients(self, place: Place, chosen: Integers) -> Floats:
        """Scaled whitened gradients (k, n) of some rows."""
        return self.rows.chosen(place.nonzeros, chosen) @ self.problem.metric.L


def _same(a: object, b: object) -> bool:
    return a is b
