r"""`Several`: models of several quantities, fitted to the same designs and evaluated together.

Of m models :math:`c_i` as in :mod:`archeng.surrogate.interpolant`, with the same centres, one pass
gives all values, another all gradients. The distances to the centres are computed once for a point.

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
v           coordinates of the models, shape (n,)                       ``v``
c, g, H     quadratic parts, shapes (m,), (m, n), (m, n, n)             same, in full
w_k beta_s  weights of the splines of each centre, shape (m, p)         ``splines``
w_k beta_c  weights of the radial functions, shape (m, p)               ``radials``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate.interpolant import Interpolant


class _Place(NamedTuple):
    """What is known about one point: gaps to the centres (p, n), their lengths (p,), H v (m, n)."""

    v: Floats
    gaps: Floats
    lengths: Floats
    bent: Floats
    values: Floats


class Several:
    """Models with the same centres. The last point is remembered."""

    def __init__(self, models: Sequence[Interpolant]) -> None:
        self._centres = models[0].centres
        self._constants = np.array([model.constant for model in models])
        self._gradients = np.array([model.gradient for model in models])
        self._hessians = np.array([model.hessian for model in models])
        self._splines = np.array([model.spline * model.weights for model in models])
        self._radials = np.array([model.radial * model.weights for model in models])
        self._has_splines = any(model.spline for model in models)
        self._has_radials = any(model.radial for model in models)
        self._place: _Place | None = None

    def __len__(self) -> int:
        return len(self._constants)

    def values(self, v: Floats) -> Floats:
        """Values (m,) at v."""
        return self._at(v).values

    def slopes(self, v: Floats) -> Floats:
        """Gradients (m, n) at v."""
        at = self._at(v)
        slopes = self._gradients + at.bent
        if self._has_splines:
            slopes = slopes + 3 * (self._splines @ (np.abs(at.gaps) * at.gaps))
        if self._has_radials:
            slopes = slopes + 3 * ((self._radials * at.lengths) @ at.gaps)
        return slopes

    def hessian(self, v: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) at v of the sum of the models with weights (m,)."""
        at = self._at(v)
        hessian = np.tensordot(weights, self._hessians, axes=1)
        if self._has_splines:
            hessian = hessian + np.diag(6 * ((weights @ self._splines) @ np.abs(at.gaps)))
        if self._has_radials:
            w, r = weights @ self._radials, at.lengths
            inverse = np.divide(1.0, r, out=np.zeros_like(r), where=r > 0)
            outer = (at.gaps.T * (w * inverse)) @ at.gaps
            hessian = hessian + 3 * ((w @ r) * np.eye(len(v)) + outer)
        return np.asarray(hessian, dtype=float)

    def _at(self, v: Floats) -> _Place:
        """Return what is known about a point; v itself must not be changed afterwards."""
        if self._place is None or self._place.v is not v:
            bent = self._hessians @ v
            values = self._constants + (self._gradients + 0.5 * bent) @ v
            gaps, lengths = np.zeros((0, 0)), np.zeros(0)
            if self._has_splines or self._has_radials:
                gaps = v - self._centres
            if self._has_splines:
                values = values + self._splines @ np.sum(np.abs(gaps) ** 3, axis=1)
            if self._has_radials:
                lengths = np.sqrt(np.sum(gaps**2, axis=1))
                values = values + self._radials @ lengths**3
            self._place = _Place(v, gaps, lengths, bent, values)
        return self._place
