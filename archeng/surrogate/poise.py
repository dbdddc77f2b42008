r"""Whether the designs around a centre determine slopes there, and which design would help most.

Models know nothing of directions in which no design lies. The designs within reach of the centre
are *poised* on a scale :math:`\rho` if the matrix of their coordinates over :math:`\rho`, on the
directions that equalities leave free, has no small singular value: a linear function is then
determined, and its errors are not amplified. Otherwise the direction of the least singular value
is where the next design belongs (a geometry step, as in Powell's methods [P94]).

[P94] M. J. D. Powell, A direct search optimization method that models the objective and constraint
functions by linear interpolation, 1994, doi:10.1007/978-94-015-8330-5_4.

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
u_k         designs near the centre, in the frame, shape (p, n)         ``near``
T           orthonormal free directions, shape (k, n)                   ``free``
rho         scale                                                       ``scale``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.surrogate.data import Frame
from archeng.surrogate.first_order import Rows, lowest_step, room_at

_REACH = 2.5  # designs within this many scales of the centre count ...
_NEAREST = 0.08  # ... and not those nearer than this many
_LONGEST = 1.9  # step of a geometry design, in scales
_POISED = 0.15  # least singular value
_REACHED = 0.3  # a design helps if it goes this far along its direction, in scales
_DEPENDENT = 1e-9  # singular values of the equalities below this, relative to the largest, are zero

Repaired = Callable[[Floats], Floats | None]
"""Makes a feasible design (n,) of any point (n,), or none."""


def free_directions(feasible_set: FeasibleSet, frame: Frame) -> Floats:
    """Return orthonormal directions (k, n) of the frame that the equalities leave free."""
    n = len(frame.centre)
    _, jacobian = feasible_set.values_and_jacobian(frame.centre)
    with np.errstate(invalid="ignore", over="ignore"):
        slopes = (jacobian @ frame.factor)[feasible_set.equality]
    if not len(slopes) or not np.all(np.isfinite(slopes)):
        return np.eye(n)
    _, s, V = np.linalg.svd(slopes, full_matrices=True)
    return np.asarray(V[int(np.sum(s > _DEPENDENT * s[0])) :], dtype=float)


def designs_near(coordinates: Floats, scale: float) -> Floats:
    """Return which coordinates (p, n) are near the centre on a scale, as rows (q, n)."""
    lengths = np.sqrt(np.sum(coordinates**2, axis=1))
    near = (lengths <= _REACH * scale) & (lengths >= _NEAREST * scale)
    return np.asarray(coordinates[near], dtype=float)


def missing_design(
    near: Floats, free: Floats, rows: Rows, scale: float, frame: Frame, repaired: Repaired
) -> Floats | None:
    """Return a feasible design (n,) that makes the designs better poised; None if they are.

    Parameters
    ----------
    near : ndarray, shape (p, n)
        Coordinates of the designs near the centre.
    free : ndarray, shape (k, n)
    rows : Rows
        Explicit rows at the centre.
    scale : float
    frame : Frame
    repaired : callable
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
            yield u * min(1.0, _LONGEST * scale / float(np.linalg.norm(u)))


def _helps(u: Floats, direction: Floats, scale: float) -> bool:
    """Whether a design at u (n,) goes far enough along a direction, and not too far."""
    near = float(np.linalg.norm(u)) <= _REACH * scale
    return near and bool(abs(u @ direction) >= _REACHED * scale)


def _missing(near: Floats, free: Floats, scale: float) -> Iterator[Floats]:
    """Yield orthonormal directions (n,) of ``free`` that no design determines, worst first."""
    while len(free):
        direction = _least_known(near @ free.T / scale) @ free
        if not direction.any():
            return
        yield direction
        _, _, V = np.linalg.svd((free @ direction)[None], full_matrices=True)
        free = V[1:] @ free


def _least_known(S: Floats) -> Floats:
    """Return the direction (k,) of the least singular value of S (p, k); zero if none is small."""
    p, k = S.shape
    if p == 0:
        return np.asarray(np.eye(k)[0], dtype=float)
    _, s, V = np.linalg.svd(S, full_matrices=True)
    if p >= k and s[-1] >= _POISED:
        return np.zeros(k)
    return np.asarray(V[-1], dtype=float)
