r"""`Interpolant`: a model of the objective with exact derivatives.

.. math::

    s(v) = c + g^T v + \tfrac12 v^T H v
           + \sum_k w_k \Big( \beta_s \sum_i |v_i - a_{ki}|^3 + \beta_c |v - a_k|^3 \Big)

A quadratic, plus cubic splines along the coordinates, plus a cubic radial basis function. Which
parts there are is the prior's choice (:mod:`archeng.surrogate.priors`).

========  ==================================================  ================
symbol    meaning                                             name here
========  ==================================================  ================
v         coordinates of the model, shape (n,)                ``v``
c, g, H   quadratic part, (), (n,), (n, n)                    same, in full
a_k       centres: the designs fitted to, shape (p, n)        ``centres``
w_k       weights of the centres, shape (p,)                  ``weights``
beta_s    weight of the splines                               ``spline``
beta_c    weight of the radial basis function                 ``radial``
========  ==================================================  ================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The function s(v) above."""

    constant: float
    gradient: Floats
    hessian: Floats
    centres: Floats
    weights: Floats
    spline: float
    radial: float

    @property
    def is_quadratic(self) -> bool:
        """Whether there is nothing but the quadratic part."""
        return not (self.spline or self.radial)

    def value(self, v: Floats) -> float:
        """s(v)."""
        total = self.constant + self.gradient @ v + 0.5 * v @ self.hessian @ v
        if not self.is_quadratic:
            gaps = v - self.centres
            kernels = np.zeros(len(gaps))
            if self.spline:
                kernels += self.spline * np.sum(np.abs(gaps) ** 3, axis=1)
            if self.radial:
                kernels += self.radial * np.sum(gaps**2, axis=1) ** 1.5
            total += self.weights @ kernels
        return float(total)

    def values(self, V: Floats) -> Floats:
        """Values (k,) of s at many points (k, n)."""
        total = self.constant + V @ self.gradient + 0.5 * np.sum((V @ self.hessian) * V, axis=1)
        for centre, weight in zip(self.centres, self.weights, strict=True):
            if self.is_quadratic:
                break
            gaps = V - centre
            if self.spline:
                total += self.spline * weight * np.sum(np.abs(gaps) ** 3, axis=1)
            if self.radial:
                total += self.radial * weight * np.sum(gaps**2, axis=1) ** 1.5
        return np.asarray(total)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n) of s at v."""
        gradient, hessian = self.slope(v), self.hessian
        if self.spline or self.radial:
            gaps = v - self.centres
        if self.spline:
            hessian = hessian + np.diag(6 * ((self.spline * self.weights) @ np.abs(gaps)))
        if self.radial:
            r, w = np.sqrt(np.sum(gaps**2, axis=1)), self.radial * self.weights
            inverse = np.divide(1.0, r, out=np.zeros_like(r), where=r > 0)
            hessian = hessian + 3 * ((w @ r) * np.eye(len(v)) + (gaps.T * (w * inverse)) @ gaps)
        return gradient, hessian

    def slope(self, v: Floats) -> Floats:
        """Gradient (n,) of s at v."""
        gradient = self.gradient + self.hessian @ v
        if self.spline or self.radial:
            gaps = v - self.centres
        if self.spline:
            gradient = gradient + 3 * ((self.spline * self.weights) @ (np.abs(gaps) * gaps))
        if self.radial:
            r = np.sqrt(np.sum(gaps**2, axis=1))
            gradient = gradient + 3 * ((self.radial * self.weights * r) @ gaps)
        return gradient

    def divided_by(self, size: float) -> Interpolant:
        """Return s / size."""
        return replace(
            self,
            constant=self.constant / size,
            gradient=self.gradient / size,
            hessian=self.hessian / size,
            weights=self.weights / size,
        )


class _Place(NamedTuple):
    """What is known about one point: gaps to the centres (p, n), their lengths (p,), H v (m, n)."""

    v: Floats
    gaps: Floats
    lengths: Floats
    bent: Floats
    values: Floats


class Several:
    """Models of several quantities with the same centres, evaluated together.

    One pass gives all values, another all gradients; the last point is remembered.
    """

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

    def values(self, v: Floats) -> Floats:
        """Values (m,) at v."""
        return self._at(v).values

    def values_of_many(self, V: Floats) -> Floats:
        """Values (k, m) at points (k, n)."""
        linear = self._constants + V @ self._gradients.T
        values = linear + 0.5 * np.einsum("ki,mij,kj->km", V, self._hessians, V, optimize=True)
        if not (self._has_splines or self._has_radials):
            return np.asarray(values)
        cubes, squares = np.zeros((2, len(V), len(self._centres)))
        for v, column in zip(V.T, self._centres.T, strict=True):  # (k, p) at a time
            gaps = np.abs(v[:, None] - column)
            squares += gaps**2
            cubes += gaps**3
        if self._has_splines:
            values = values + cubes @ self._splines.T
        if self._has_radials:
            values = values + np.sqrt(squares) ** 3 @ self._radials.T
        return np.asarray(values)

    def slopes(self, v: Floats) -> Floats:
        """Gradients (m, n) at v."""
        at = self._at(v)
        slopes = self._gradients + at.bent
        if self._has_splines:
            slopes = slopes + 3 * (self._splines @ (np.abs(at.gaps) * at.gaps))
        if self._has_radials:
            slopes = slopes + 3 * ((self._radials * at.lengths) @ at.gaps)
        return slopes

    def bends(self, v: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) of their sum with weights (m,)."""
        hessian = np.tensordot(weights, self._hessians, axes=1)
        if not (self._has_splines or self._has_radials):
            return np.asarray(hessian, dtype=float)
        gaps = self._at(v).gaps
        if self._has_splines:
            hessian = hessian + np.diag(6 * ((weights @ self._splines) @ np.abs(gaps)))
        if self._has_radials:
            r, w = np.sqrt(np.sum(gaps**2, axis=1)), weights @ self._radials
            inverse = np.divide(1.0, r, out=np.zeros_like(r), where=r > 0)
            hessian = hessian + 3 * ((w @ r) * np.eye(len(v)) + (gaps.T * (w * inverse)) @ gaps)
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
