r"""Whether the designs around a centre determine slopes there, and which design would help most.

Models know nothing of directions in which no design lies. The designs within reach of the centre are
*poised* on a scale :math:`\rho` if the matrix of their coordinates over :math:`\rho`, on the directions
that equalities leave free, has no small singular value: a linear function is then determined, and its
errors are not amplified. Otherwise the direction of the least singular value is where the next design
belongs (a geometry step, as in Powell's methods [P94]).

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

_REACH = 2.0  # designs within this many scales of the centre count ...
_NEAREST = 0.1  # ... and not those nearer than this many
_POISED = 0.15  # least singular value
_REACHED = 0.3  # a design helps if it goes this far along its direction, in scales
_DEPENDENT = 1e-9  # singular values of the equalities below this, relative to the largest, are zero

Repaired = Callable[[Floats], Floats | None]
"""Makes a feasible design (n,) of any point (n,), or none."""
Reach = Callable[[Floats], float]


def free_directions(feasible_set: FeasibleSet, frame: Frame) -> Floats:
    """Return orthonormal directions (k, n) of the frame that the equalities leave free."""
    n = len(frame.centre)
    _, jacobian = feasible_set.values_and_jacobian(frame.centre)
    slopes = (jacobian @ frame.factor)[feasible_set.equality]
    if not len(slopes) or not np.all(np.isfinite(slopes)):
        return np.eye(n)
    _, s, V = np.linalg.svd(slopes, full_matrices=True)
    return np.asarray(V[int(np.sum(s > _DEPENDENT * s[0])) :], dtype=float)


def designs_near(coordinates: Floats, scale: float) -> Floats:
    """Return which coordinates (p, n) are near the centre on a scale, as rows (q, n)."""
    lengths = np.sqrt(np.sum(coordinates**2, axis=1))
    return coordinates[(lengths <= _REACH * scale) & (lengths >= _NEAREST * scale)]


def missing_design(
    near: Floats, free: Floats, scale: float, frame: Frame, repaired: Repaired
) -> Floats | None:
    """Return a feasible design (n,) that makes the designs better poised; None if they are.

    Directions along which no feasible design is found (a thin set) are given up.

    Parameters
    ----------
    near : ndarray, shape (p, n)
        Coordinates of the designs near the centre.
    free : ndarray, shape (k, n)
    scale : float
    frame : Frame
    repaired : callable
    """
    for direction in _missing(near, free, scale):
        for sign in (1.0, -1.0):
            x = repaired(frame.design(sign * scale * direction))
            if x is None:
                continue
            u = frame.coordinates(x)
            if abs(u @ direction) >= _REACHED * scale and np.linalg.norm(u) <= _REACH * scale:
                return x
    return None


def missing_directions(near: Floats, free: Floats, scale: float, reach: Reach) -> int:
    """Return the number of directions in which designs are missing and possible.

    ``reach`` says how far one may go from the centre along a direction (n,), either way.
    """
    missing = _missing(near, free, scale)
    return sum(reach(direction) >= _REACHED * scale for direction in missing)


def _missing(near: Floats, free: Floats, scale: float) -> Iterator[Floats]:
    """Orthonormal directions (n,) of ``free`` that the designs do not determine, least known first."""
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
        return np.eye(k)[0]
    _, s, V = np.linalg.svd(S, full_matrices=True)
    if p >= k and s[-1] >= _POISED:
        return np.zeros(k)
    return np.asarray(V[-1], dtype=float)
