r"""Models in many variables: quadratics that few designs say much about.

In n variables a quadratic has about n^2 / 2 coefficients, and the other priors need n + 2 designs
before they say anything. Here the slope has a normal prior, too, and the Hessian is a multiple of
the unit matrix plus a random rest:

.. math:: s(v) = c + \tfrac h2 |v|^2 + g^T v + \tfrac12 v^T R v, \qquad
          g \sim N(0, \tau I), \; R_{ij} \sim N(0, V_{ij})

Only c and h are free. So few designs are a beginning, n + 2 nearly enough for a ball, and
2 n + 1 for any sum of parabolas along the variables (V small off the diagonal). Weights w, c and h
solve the saddle-point system of kernel interpolation (:mod:`archeng.surrogate.fit`), which is
hardly larger than the number of designs:

.. math::

    \begin{pmatrix} K + D & Q \\ Q^T & 0 \end{pmatrix}
    \begin{pmatrix} w \\ (c, h) \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

A random model that fits as well is a random function of the prior, plus the fit of what is left
[W20, (9)]. A step along the mean would leave the designs in a subspace that steps have already
been in, and the slope across it would never be learned (Powell's geometry). So a proposal is the
minimum of the mean plus a share of the random deviation: where the designs determine the model,
that changes nothing; elsewhere the step says something new.

==========  ==========================================================  ================
symbol      meaning                                                     name here
==========  ==========================================================  ================
a_k         designs in the coordinates of the model, shape (p, n)       ``A``
y           objectives, normalised and transformed, shape (p,)          ``y``
K           :math:`\tau a^T b + \tfrac12\sum_{ij} V_{ij} a_i a_j b_i b_j`  ``matrix``
V           1 on the diagonal, ``mixed`` elsewhere, over ``bend``       in parts
tau         prior variance of a slope, 1 / ``rise``                     in parts
D           allowed errors (remainder, noise, rounding), diagonal       in parts
Q           (1, |a|^2 / 2), shape (p, 2)                                in parts
==========  ==========================================================  ================

[W20] J. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky, M. Deisenroth, Efficiently sampling
functions from Gaussian process posteriors, ICML 2020, arXiv:2002.09309.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.fit import Kernels, left_out_errors
from archeng.surrogate.interpolant import Interpolant


@dataclass(frozen=True)
class WidePrior:
    """One prior of this kind: how large interactions are, and which errors are allowed."""

    name: str
    mixed: float  # prior variance of an interaction, relative to that of the diagonal
    remainder: float = 0.0  # error at distance one, as for the other priors
    noise: float = 0.0

    @property
    def costly(self) -> bool:
        """Whether it is tried with one transform only."""
        return False

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[WideFit | None]:
        """Fit a model to each column of Y (p, k), and prepare their leave-one-out errors."""
        system, p = WideSystem(kernels, self), len(Y)
        inverse = system.solve(np.eye(p))
        fits = [WideFit(system, y, inverse @ y, np.diag(inverse).copy()) for y in Y.T]
        return [one if np.isfinite(one.solution).all() else None for one in fits]

    def refit(
        self, kernels: Kernels, y: Floats, noise: float, variances: Floats | None
    ) -> WideFit | None:
        """Prepare a fit to y (p,) with the noise of an earlier one; solved when it is needed."""
        return WideFit(WideSystem(kernels, replace(self, noise=noise)), y)

    def noisier(self) -> Sequence[WidePrior]:
        """Return the same prior with more noise."""
        return [replace(self, noise=noise) for noise in c.PRIOR_NOISES]

    def exploring(self) -> WidePrior:
        """Return the prior of random models that fit as well: this one."""
        return self


WIDE = tuple(
    WidePrior(f"wide, {name}{', local' if remainder else ''}", mixed, remainder)
    for name, mixed in zip(("additive", "few", "quadratic"), c.WIDE_MIXED, strict=True)
    for remainder in (0.0, c.PRIOR_REMAINDER)
)
WIDE_NAMES = frozenset(prior.name for prior in WIDE)


class WideSystem:
    """The system for one prior."""

    def __init__(self, kernels: Kernels, prior: WidePrior) -> None:
        self.A, self.prior = kernels.A, prior
        p, products, s = len(self.A), kernels.products, kernels.squares
        K = 0.5 * prior.mixed * products**2
        if prior.mixed != 1.0:
            K += 0.5 * (1.0 - prior.mixed) * kernels.diagonal
        self.bend = float(np.mean(np.abs(K))) or 1.0
        self.rise = (float(np.mean(np.abs(products))) or 1.0) / c.WIDE_SLOPE
        self.matrix = np.zeros((p + 2, p + 2))
        self.matrix[:p, :p] = K / self.bend + products / self.rise
        errors = c.FIT_ROUNDING + prior.noise + c.FIT_FAR * s**2 + prior.remainder * s**3
        diagonal = np.einsum("ii->i", self.matrix)
        diagonal[:p] += errors
        diagonal[p:] = -c.FIT_ROUNDING
        self.matrix[:p, p] = self.matrix[p, :p] = 1.0
        self.matrix[:p, p + 1] = self.matrix[p + 1, :p] = 0.5 * s

    def solve(self, Y: Floats) -> Floats:
        """Weights and free part, (p + 2, k), for Y (p, k); NaN if the system is singular."""
        rhs = np.zeros((len(self.matrix), Y.shape[1]))
        rhs[: len(Y)] = Y
        try:
            return np.asarray(np.linalg.solve(self.matrix, rhs), dtype=float)
        except np.linalg.LinAlgError:
            return np.full(rhs.shape, np.nan)

    def slope_and_hessian(self, solution: Floats) -> tuple[Floats, Floats]:
        """Slope (n,) and Hessian (n, n) of a solution (p + 2,)."""
        w = solution[:-2]
        hessian = (self.A.T * (w / self.bend)) @ self.A
        diagonal = np.einsum("ii->i", hessian)
        bends = diagonal + solution[-1]
        if self.prior.mixed != 1.0:
            hessian *= self.prior.mixed
        diagonal[:] = bends
        return self.A.T @ (w / self.rise), hessian

    def random_part(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Slope (n,) and Hessian (n, n) of a random function of the prior, of size one."""
        n = self.A.shape[1]
        hessian = rng.standard_normal((n, n))
        hessian = (hessian + hessian.T) * np.sqrt(0.5 * self.prior.mixed / self.bend)
        np.fill_diagonal(hessian, rng.standard_normal(n) / np.sqrt(self.bend))
        return rng.standard_normal(n) / np.sqrt(self.rise), hessian


@dataclass(frozen=True, eq=False)
class WideFit:
    """A fitted model."""

    system: WideSystem
    y: Floats
    known_solution: Floats | None = None  # (p + 2,)
    known_diagonal: Floats | None = None  # (p,) of the inverse of the matrix

    @cached_property
    def solution(self) -> Floats:
        """Weights and free part (p + 2,)."""
        if self.known_solution is not None:
            return self.known_solution
        return self.system.solve(self.y[:, None])[:, 0]

    @cached_property
    def model(self) -> Interpolant:
        """The model."""
        slope, hessian = self.system.slope_and_hessian(self.solution)
        return self._with(float(self.solution[-2]), slope, hessian)

    @cached_property
    def errors(self) -> Floats:
        """Leave-one-out errors (p,)."""
        p, diagonal = len(self.y), self.known_diagonal
        if diagonal is None:
            diagonal = np.diag(self.system.solve(np.eye(p)))
        return left_out_errors(self.solution[:p], diagonal)

    @property
    def noise(self) -> float:
        """Variance of the noise that the prior assumes."""
        return self.system.prior.noise

    @property
    def variances(self) -> None:
        """Nothing else is used again."""
        return

    def random(self, rng: np.random.Generator, share: float = 1.0) -> Interpolant:
        """Return a random model that fits the data as well, or the mean and a share of it."""
        A, p = self.system.A, len(self.y)
        slope, hessian = self.system.random_part(rng)
        drawn = A @ slope + 0.5 * np.sum((A @ hessian) * A, axis=1)
        fitted, undone = self.system.solve(np.column_stack((self.y, drawn))).T
        energy = float(fitted[:p] @ self.y) / max(p - 2, 1)
        size = share * float(np.sqrt(energy)) if 0 < energy < np.inf else 0.0
        solution = fitted - size * undone
        g, H = self.system.slope_and_hessian(solution)
        return self._with(float(solution[-2]), g + size * slope, H + size * hessian)

    def _with(self, constant: float, slope: Floats, hessian: Floats) -> Interpolant:
        weights = np.zeros(len(self.y))
        return Interpolant(constant, slope, hessian, self.system.A, weights, 0.0, 0.0)
