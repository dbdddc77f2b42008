r"""Quadratic approximations of a model, and their minima over the feasible set.

With eigenvectors U of the model's Hessian H, raised absolute eigenvalues :math:`b` and
:math:`a = b + \lambda + \mu`, the function

.. math:: g^T (y - v) + \tfrac12 (y - v)^T U \operatorname{diag}(b) U^T (y - v)
          + \tfrac\lambda2 |y|^2 + \tfrac\mu2 |y - v|^2

has its minimum at :math:`v - U \operatorname{diag}(a)^{-1} U^T (g + \lambda v)`; over the feasible
set, at the projection of that point in the metric :math:`U \operatorname{diag}(a) U^T`.

==========  =====================================================  ===============
symbol      meaning                                                name here
==========  =====================================================  ===============
v, y        coordinates of the model, shape (n,)                   same
g, H        gradient and Hessian of the model at v                 in full
b           raised absolute eigenvalues, shape (n,)                ``bends``
U^T g       gradient along the eigenvectors, shape (n,)            ``slope``
U^T v       v along the eigenvectors, shape (n,)                   ``place``
lambda      pull towards the centre                                ``pull``
mu          shortens the step from v                               ``damping``
==========  =====================================================  ===============

[MS83] J. J. More, D. C. Sorensen, Computing a trust region step, SIAM Journal on Scientific and
Statistical Computing 4(3), 1983, doi:10.1137/0904038.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.repair import NearbyPoint, Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.data import Frame

_NONE = np.zeros(0, dtype=np.intp)


class _Axes(NamedTuple):
    """Eigenvalues (n,) and eigenvectors of a Hessian, as factors of metrics of the designs."""

    hessian: Floats
    eigenvalues: Floats
    U: Floats | None  # None: the axes are those of the frame, factors are diagonals (n,)
    factor: Floats
    inverse: Floats


class Curvature:
    """Makes quadratic approximations in one frame. Remembers the last eigenvectors.

    Those of a quadratic model serve all steps from all starts.
    """

    def __init__(self, frame: Frame, scale: float, repairer: Repairer) -> None:
        self.frame, self.scale, self.repairer = frame, scale, repairer
        self._axes: _Axes | None = None

    def coordinates(self, x: Floats) -> Floats:
        """V of a design x (n,)."""
        return self.frame.coordinates(x) / self.scale

    def at(self, x: Floats, v: Floats, gradient: Floats, hessian: Floats) -> Approximation | None:
        """Return the approximation at the design x; None if it is flat or not finite."""
        if not (np.abs(gradient) < c.DATA_HUGE).all():  # nor NaN
            return None
        axes = self._axes
        if axes is None or axes.hessian is not hessian:
            if not np.isfinite(hessian).all():
                return None
            axes = self._axes = self._axes_of(hessian)
        steep = float(np.sqrt(gradient @ gradient))
        values = np.abs(axes.eigenvalues)
        top = max(float(values.max()), steep / c.STEP_LONGEST)
        if top == 0:
            return None
        bends = np.maximum(values, c.CURVATURE_FLATTEST * top)
        slope, place = gradient, v
        if axes.U is not None:
            slope, place = gradient @ axes.U, v @ axes.U
        return Approximation(self.repairer, axes, x, top, bends, slope, place)

    def _axes_of(self, hessian: Floats) -> _Axes:
        """Return the eigenvectors of a Hessian (n, n), or of its diagonal (n,)."""
        factor, inverse = self.frame.factor, self.frame.inverse
        if hessian.ndim == 1 and factor.ndim == 1:
            return _Axes(hessian, hessian, None, self.scale * factor, inverse / self.scale)
        eigenvalues, U = np.linalg.eigh(np.diag(hessian) if hessian.ndim == 1 else hessian)
        if factor.ndim == 1:
            factor, inverse = factor[:, None] * U, U.T * inverse
        else:
            factor, inverse = factor @ U, U.T @ inverse
        return _Axes(hessian, eigenvalues, U, self.scale * factor, inverse / self.scale)


@dataclass(frozen=True, eq=False)
class Approximation:
    """The approximation at one design."""

    repairer: Repairer
    axes: _Axes
    x: Floats
    top: float  # largest curvature
    bends: Floats
    slope: Floats
    place: Floats

    def minimum(self, pull: float, damping: float, thorough: bool) -> NearbyPoint | None:
        """Return the projected minimum, a feasible design; None if none was found.

        With ``thorough`` all solvers are tried.
        """
        roots = np.sqrt(self.bends + (pull + damping))
        factor, inverse = self.axes.factor / roots, self.axes.inverse
        inverse = roots * inverse if inverse.ndim == 1 else roots[:, None] * inverse
        slope = self.slope + pull * self.place if pull else self.slope
        step = slope / roots
        aim = self.x - (factor * step if factor.ndim == 1 else factor @ step)
        metric = Distribution(self.x, 1.0, factor, inverse)
        if thorough:
            repair = self.repairer.project(aim, metric, _NONE, np.zeros(0), self.x)
            return NearbyPoint(repair.x, True) if repair.feasible else None
        return self.repairer.near(aim, metric, self.x)

    def exact(self, pull: float, damping: float) -> bool:
        """Whether the minimum is that of the model itself, if that is quadratic, or nearly."""
        least, raised = float(self.axes.eigenvalues.min()), c.CURVATURE_FLATTEST * self.top
        nearly = c.PULL_LITTLE * pull
        return damping <= nearly and (least >= raised or (least >= -nearly and raised <= nearly))

    def convex(self, pull: float) -> bool:
        """Whether the pull makes a quadratic model convex: then it has no other minimum."""
        return float(self.axes.eigenvalues.min()) >= -pull

    def more(self, pull: float, damping: float) -> float:
        """Return the next damping after a step that does not lower the model."""
        return max(c.DAMPING_GROWTH * damping, c.DAMPING_FIRST * self.top, c.DAMPING_OF_PULL * pull)

    def pull(
        self,
        outside: list[tuple[float, float]],
        inside: tuple[float, float] | None,
        radius: float,
        damping: float,
    ) -> float:
        """Return the next pull, by the pulls and lengths of minima outside and inside the radius.

        One over the length is nearly linear in the pull [MS83]; the first
        time, the lengths of minima without rows tell.
        """
        aim = c.PULL_AIM * radius
        last, length = outside[-1]
        if inside is None and len(outside) == 1:
            if last == 0:
                return self.first_pull(radius, damping)
            return last * float((length / aim) ** c.PULL_GROWTH)
        other, its_length = inside or outside[-2]
        rise = (1 / its_length - 1 / length) / (other - last)
        better = last + (1 / aim - 1 / length) / rise if rise > 0 else np.inf
        if inside is None:
            low, high = c.PULL_RANGE_OUTSIDE
            return float(np.clip(better, low * last, high * last))
        low, high = c.PULL_RANGE_BETWEEN
        return float(np.clip(better, low * last, high * other))

    def length(self, damping: float) -> float:
        """Return the length of the minimum without rows and pull."""
        minimum = self.place - self.slope / (self.bends + damping)
        return float(np.sqrt(minimum @ minimum))

    def first_pull(self, radius: float, damping: float) -> float:
        """Return a pull with a minimum near the radius, by the minima without rows."""
        aim = c.PULL_AIM * radius / c.PULL_SHORTER
        pulls = self.top * c.PULLS
        a = (self.bends + damping) + pulls[:, None]
        minima = self.place - (self.slope + pulls[:, None] * self.place) / a
        enough = np.einsum("ij,ij->i", minima, minima) <= aim**2
        return float(pulls[int(np.argmax(enough))] if enough.any() else pulls[-1])
