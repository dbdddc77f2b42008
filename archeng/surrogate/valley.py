r"""A frame with the scales of the recent steps: for narrow valleys, where one length suits no one.

Lengths around a design are measured in the frame of the initial search distribution. If one
variable matters on a hundredth of its range and another one on half of it, a trust region of one
radius is as small as the first one asks for, and every step along the other one is tiny. After
many better designs, the steps between them tell the scales:

.. math:: r_k^2 = \text{mean}_j (u_j)_k^2, \qquad d_k = \max(r_k / \max_l r_l, d_0)

==========  ======================================================  ===============
symbol      meaning                                                 name here
==========  ======================================================  ===============
u_j         steps between better designs, in the frame, shape (n,)  ``steps``
r, d        their mean size, and the scales of the variables        ``sizes``, in full
d_0         least scale                                             ``VALLEY_NARROWEST``
==========  ======================================================  ===============

The axes stay what they are: priors look at single variables, and the frame moves with the design
space. Steps of a search as its metric are an old idea: they are what CMA-ES adapts its matrix to
[HO01], here without the turning, and far sooner.

[HO01] N. Hansen, A. Ostermeier, Completely Derandomized Self-Adaptation in Evolution Strategies,
Evolutionary Computation 9(2), 2001, doi:10.1162/106365601750190398.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.data import Frame


def in_valley(frame: Frame, past: PastCalls, begin: int) -> Frame:
    """Return the frame with the scales of the recent steps; as it is until there were many.

    ``begin`` is the first call of the restart. Models in many variables keep their frame.
    """
    if len(frame.centre) >= c.WIDE_FROM:
        return frame
    steps = better_steps(past.points[begin:], past.objectives[begin:])
    taken = 2 * len(frame.centre) + c.VALLEY_SURPLUS
    if len(steps) < c.VALLEY_STEPS * taken:
        return frame
    sizes = np.sqrt(np.mean((steps[-taken:] @ frame.inverse.T) ** 2, axis=0))
    if not (np.isfinite(sizes).all() and sizes.max() > 0):
        return frame
    d = np.maximum(sizes / sizes.max(), c.VALLEY_NARROWEST)
    return Frame(frame.centre, frame.factor * d, frame.inverse / d[:, None])


def better_steps(points: Floats, objectives: Floats) -> Floats:
    """Return the steps (k, n) from each best design so far to the next; failed ones are NaN."""
    known = np.isfinite(objectives)
    points, objectives = points[known], objectives[known]
    if len(objectives) == 0:
        return np.empty((0, points.shape[1]))
    least = np.minimum.accumulate(objectives)
    better = np.concatenate(([True], objectives[1:] < least[:-1]))
    return np.asarray(np.diff(points[better], axis=0))
