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

from dataclasses import dataclass, replace

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
        if self.spline or self.radial:
            gaps = v - self.centres
            total += self.weights @ self._kernels(gaps)
        return float(total)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n) of s at v."""
        gradient, hessian = self.gradient + self.hessian @ v, self.hessian
        if self.spline or self.radial:
            gaps = v - self.centres
        if self.spline:
            size, w = np.abs(gaps), self.spline * self.weights
            gradient = gradient + 3 * (w @ (size * gaps))
            hessian = hessian + np.diag(6 * (w @ size))
        if self.radial:
            r, w = np.sqrt(np.sum(gaps**2, axis=1)), self.radial * self.weights
            inverse = np.divide(1.0, r, out=np.zeros_like(r), where=r > 0)
            gradient = gradient + 3 * ((w * r) @ gaps)
            hessian = hessian + 3 * ((w @ r) * np.eye(len(v)) + (gaps.T * (w * inverse)) @ gaps)
        return gradient, hessian

    def divided_by(self, size: float) -> Interpolant:
        """Return s / size."""
        return replace(
            self,
            constant=self.constant / size,
            gradient=self.gradient / size,
            hessian=self.hessian / size,
            weights=self.weights / size,
        )

    def _kernels(self, gaps: Floats) -> Floats:
        """Value (p,) of the spline and radial parts of each centre."""
        total = np.zeros(len(gaps))
        if self.spline:
            total += self.spline * np.sum(np.abs(gaps) ** 3, axis=1)
        if self.radial:
            total += self.radial * np.sum(gaps**2, axis=1) ** 1.5
        return total
