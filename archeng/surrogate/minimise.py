r"""Minimising a model over the feasible set, within a distance of the centre.

One step minimises the model's quadratic approximation over the *exact* feasible set,

.. math:: \min_y \; g^T (y - v) + \tfrac12 (y - v)^T B (y - v)
          \quad\text{s.t. all rows hold at } y ,

which is the projection of the Newton point :math:`v - B^{-1} g` in the metric B, so the repair
does it, with its certificates. B has the eigenvectors of the model's Hessian and the absolute
eigenvalues, raised by :math:`\lambda` until the step stays within the trust region and lowers
the model.

==========  =====================================================  ===============
symbol      meaning                                                name here
==========  =====================================================  ===============
v           coordinates of the model, shape (n,)                   ``v``
g, H        gradient and Hessian of the model at v                 same
U, a        eigenvectors and raised absolute eigenvalues of H      same
lambda      what they are raised by, relative to ``top``           ``damping``
==========  =====================================================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.repair import Repair, Repairer
from archeng.surrogate.data import Frame

_STEPS = 6
_FEW = 2  # steps after which the search from a worse start ends
_TRIALS = 6
_FLATTEST = 1e-4  # least eigenvalue relative to the largest
_LONGEST = 50.0  # a step is never longer than about this, in coordinates of the model
_ENOUGH = 1e-4  # gain of a step relative to all gain so far at which the search ends
_EDGE = 0.7  # fraction of the radius at which the trust region limits the step
_ENOUGH_AT_EDGE = 0.2  # the same there: the minimum is elsewhere anyway
_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Minimum:
    """A feasible design, its certificate, and the model's value there."""

    repair: Repair
    value: float


class Smooth(Protocol):
    """What can be minimised: a model, or one with constraints."""

    def value(self, v: Floats) -> float:
        """Value at coordinates v (n,)."""

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n)."""


def minimise(
    model: Smooth,
    frame: Frame,
    scale: float,
    repairer: Repairer,
    start: Floats,
    radius: float,
    below: float = np.inf,
) -> Minimum | None:
    """Minimise a model from a feasible design.

    Parameters
    ----------
    model : Smooth
        In coordinates v = u / scale of the frame.
    frame : Frame
    scale : float
    repairer : Repairer
    start : ndarray, shape (n,)
    radius : float
        Largest distance from the centre of the frame; may be infinite.
    below : float
        Give up after a few steps unless the model's value is below this.

    Returns
    -------
    Minimum or None
        None if no step from the start lowers the model.
    """
    x, best = start, None
    v = frame.coordinates(x) / scale
    value = model.value(v)
    begin, first, damping = v, value, 0.0
    for k in range(_STEPS):
        if k == _FEW and value > below:
            break
        g, H = model.derivatives(v)
        if not (np.all(np.isfinite(H)) and np.all(np.isfinite(g))):
            break
        bends, U = np.linalg.eigh(H)
        along = U.T @ g
        top = max(float(np.abs(bends).max()), float(np.linalg.norm(g)) / _LONGEST)
        if top == 0:
            break
        bends = np.maximum(np.abs(bends), _FLATTEST * top)
        found = None
        for trial in range(_TRIALS):
            last = best is None and trial == _TRIALS - 1
            a = bends + damping * top
            repair = _projected(repairer, frame, scale, x, U, a, along, last)
            if repair.feasible:
                y = frame.coordinates(repair.x) / scale
                far = float(np.linalg.norm(y)) * scale
                lower = model.value(y)
                if far <= radius and lower < value - 1e-14 * abs(value):
                    found = repair, y, lower
                    break
                if float(np.linalg.norm(y - v)) <= _ENOUGH * float(np.linalg.norm(v - begin)):
                    break
                if far > 2 * radius or (far > radius and trial > 1):
                    aim = (2 if trial < 2 else 1) * radius / scale
                    damping = max(damping, _damping(bends, along, top, aim) / 5)
            damping = max(5 * damping, 3e-3)
        if found is None:
            break
        repair, y, lower = found
        gain, v, value, x = value - lower, y, lower, repair.x
        best = Minimum(repair, value)
        damping = damping / 8 if damping > 1e-4 else 0.0
        edge = damping > 0 and float(np.linalg.norm(v)) * scale > _EDGE * radius
        if gain <= (_ENOUGH_AT_EDGE if edge else _ENOUGH) * (first - value):
            break
    return best


def _projected(
    repairer: Repairer,
    frame: Frame,
    scale: float,
    x: Floats,
    U: Floats,
    a: Floats,
    along: Floats,
    thorough: bool,
) -> Repair:
    """Project the Newton point of x in the metric U diag(a) U^T of the model's coordinates."""
    roots = np.sqrt(a)
    factor = scale * (frame.factor @ U) / roots
    inverse = (roots[:, None] * (U.T @ frame.inverse)) / scale
    newton = x - factor @ (along / roots)
    metric = Distribution(x, 1.0, factor, inverse)
    if thorough:
        return repairer.project(newton, metric, _NONE, np.zeros(0), x)
    return repairer.towards(newton, metric, x)


def _damping(bends: Floats, along: Floats, top: float, length: float) -> float:
    """Return a damping at which the Newton step is about as long as the trust region."""
    low, high = 1e-6, 1e6
    for _ in range(20):
        middle = float(np.sqrt(low * high))
        if float(np.linalg.norm(along / (bends + middle * top))) > length:
            low = middle
        else:
            high = middle
    return high
