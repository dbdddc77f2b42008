"""Priors: what the objective is expected to look like, before it is known well enough.

They are the kinds of models that there are; :mod:`archeng.surrogate.choice` says how to add one.

With fewer designs than coefficients many models fit; the prior says which of them is taken. All
priors let a linear function pass freely.

=============  =====================================================================
name           preferred functions
=============  =====================================================================
quadratic      small Hessian (least Frobenius norm)
sparse         few large entries in the Hessian (reweighted least norm)
additive       sums of functions of one variable, little interaction
both           sums of functions of one variable, few interactions
radial         smooth (cubic radial basis function)
=============  =====================================================================

``sparse``, ``additive`` and ``both`` look at single variables. They use the frame of the initial
search distribution, which moves with the design space under affine maps.

An increasing `Transform` of the objective may come first. Objectives are normalised: 0 is the best
of the designs at hand, 1 their median. A logarithm compresses high values, which a model near the
best design need not reproduce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.fit import Fit, Kernels, fit, fit_all, make_system


@dataclass(frozen=True)
class Prior:
    """Weights of the parts of a model.

    The error that is allowed, ``remainder`` at distance one, grows with the sixth power of the
    distance: the square of the third-order term that a quadratic leaves out.
    """

    name: str
    diagonal: float = 0.0  # prior variance of the diagonal entries of the Hessian ...
    mixed: float = 0.0  # ... and of the others
    spline: float = 0.0  # weight of the splines along the variables ...
    radial: float = 0.0  # ... and of the radial basis function
    rounds: int = 0  # how often the entries of the Hessian are reweighted by their size
    remainder: float = 0.0
    noise: float = 0.0  # variance of the simulator's, relative to the spread of the objectives

    @property
    def quadratic(self) -> bool:
        """Whether the model has a Hessian of its own."""
        return self.diagonal > 0 or self.mixed > 0

    @property
    def costly(self) -> bool:
        """Whether it is tried with one transform only: reweighting depends on the objectives."""
        return self.rounds > 0

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[Fit | None]:
        """Fit a model to each column of Y (p, k); only one column if it is reweighted."""
        system = make_system(kernels, self, Y[:, 0])
        return [] if system is None else fit_all(system, Y)

    def refit(
        self, kernels: Kernels, y: Floats, noise: float, variances: Floats | None
    ) -> Fit | None:
        """Fit a model to y (p,), with the noise and the variances (n, n) of an earlier fit."""
        return fit(kernels, y, replace(self, noise=noise), variances)

    def noisier(self) -> Sequence[Prior]:
        """Return the same prior with more noise."""
        return [replace(self, noise=noise) for noise in c.PRIOR_NOISES]

    def exploring(self) -> Prior:
        """Return the prior of random models that fit as well: quadratic, whatever this one is."""
        return QUADRATIC


QUADRATIC = Prior("quadratic", diagonal=1.0, mixed=1.0)
PRIORS = (
    QUADRATIC,
    replace(QUADRATIC, name="quadratic, local", remainder=c.PRIOR_REMAINDER),
    replace(QUADRATIC, name="sparse", rounds=c.PRIOR_ROUNDS),
    replace(QUADRATIC, name="sparse, local", rounds=c.PRIOR_ROUNDS, remainder=c.PRIOR_REMAINDER),
    Prior("additive", diagonal=1.0, mixed=c.PRIOR_MIXED, spline=1.0),
    replace(QUADRATIC, name="both", spline=1.0, rounds=c.PRIOR_ROUNDS),
    Prior("radial", radial=1.0),
)


@dataclass(frozen=True)
class Transform:
    """y -> log(1 + steepness y), or y itself if steepness is 0."""

    steepness: float

    @property
    def name(self) -> str:
        """Name by which a choice is stored."""
        return f"log(1 + {self.steepness:g} y)" if self.steepness else "identity"

    def apply(self, y: Floats) -> Floats:
        """Transform normalised objectives; below 0 it goes on as a straight line."""
        k = self.steepness
        return np.where(y > 0, np.log1p(k * np.maximum(y, 0)), k * y) if k else y

    def log_slope(self, y: Floats) -> Floats:
        """Logarithm of the derivative at normalised objectives."""
        k = self.steepness
        return np.log(k) - np.log1p(k * np.maximum(y, 0)) if k else np.zeros_like(y)


IDENTITY = Transform(0.0)
TRANSFORMS = (IDENTITY, *map(Transform, c.PRIOR_STEEPNESS))


def transforms_for(y: Floats) -> tuple[Transform, ...]:
    """Return the transforms worth trying on normalised objectives (p,)."""
    return TRANSFORMS if float(y.max()) > c.TRANSFORM_WIDE else (IDENTITY,)
