r"""Models in many variables: quadratics that few designs say much about.

In n variables a quadratic has about n^2 / 2 coefficients, and the other priors need n + 2 designs
before they say anything. Here the slope has a normal prior, too, and the Hessian is a multiple of
the unit matrix plus a random rest:

.. math:: s(v) = c + \tfrac h2 |v|^2 + g^T v + \tfrac12 v^T R v, \qquad
          g \sim N(0, \tau I), \; R_{ij} \sim N(0, (1 + \delta_{ij}) V_{ij})

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
from typing import Protocol

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.fit import Kernels, left_out_errors


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The model c + g^T v + v^T H v / 2; H is a matrix (n, n) or, of parabolas, a diagonal (n,)."""

    constant: float
    gradient: Floats
    hessian: Floats

    @property
    def is_quadratic(self) -> bool:
        """The Hessian is the same everywhere."""
        return True

    def value(self, v: Floats) -> float:
        """Value at v (n,)."""
        return float(self.constant + (self.gradient + 0.5 * self._bent(v)) @ v)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian at v."""
        return self.gradient + self._bent(v), self.hessian

    def around(self, v: Floats) -> Quadratic:
        """Return the same function of the coordinates from v (n,) on."""
        return Quadratic(self.value(v), self.gradient + self._bent(v), self.hessian)

    def _bent(self, v: Floats) -> Floats:
        return self.hessian * v if self.hessian.ndim == 1 else self.hessian @ v


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
        system = WideSystem(kernels, self)
        fits = [WideFit(system, y) for y in Y.T]
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

    def kernel(self, products: Floats, diagonal: Floats) -> Floats:
        """Return the part of the kernel that is the Hessian's, of products of designs."""
        if self.mixed == 0.0:
            return 0.5 * diagonal
        K = products * products
        K *= 0.5 * self.mixed
        if self.mixed != 1.0:
            K += (0.5 * (1.0 - self.mixed)) * diagonal
        return K

    def errors(self, squares: Floats) -> Floats:
        """Return the allowed errors of designs with these squared lengths."""
        far = c.FIT_FAR * squares**2 + self.remainder * squares**3
        return np.asarray(c.FIT_ROUNDING + self.noise + far, dtype=float)


def _priors(names: Sequence[str], mixed: Sequence[float]) -> tuple[WidePrior, ...]:
    return tuple(
        WidePrior(f"wide, {name}{', local' if remainder else ''}", variance, remainder)
        for name, variance in zip(names, mixed, strict=True)
        for remainder in (0.0, c.PRIOR_REMAINDER)
    )


WIDE = _priors(("additive", "few", "quadratic"), c.WIDE_MIXED)
DIAGONAL = _priors(("diagonal",), (0.0,))
WIDE_BY_NAME = {prior.name: prior for prior in (*WIDE, *DIAGONAL)}


class Solved(Protocol):
    """A system with its prior, for designs A (p, n)."""

    @property
    def A(self) -> Floats:
        """Designs (p, n)."""

    @property
    def kernel(self) -> WideKernel:
        """The kernel."""

    def solve(self, Y: Floats) -> Floats:
        """Weights and free part, (p + 2, k), for Y (p, k); NaN if the system is singular."""


@dataclass(frozen=True)
class WideKernel:
    """A prior, and what the two parts of its kernel are divided by."""

    prior: WidePrior
    bend: float
    rise: float

    def entries(self, products: Floats, diagonal: Floats) -> Floats:
        """Return entries of K."""
        K = self.prior.kernel(products, diagonal)
        K /= self.bend
        K += products / self.rise
        return K

    def slope_and_hessian(self, A: Floats, solution: Floats) -> tuple[Floats, Floats]:
        """Slope (n,) and Hessian, (n, n) or its diagonal (n,), of a solution (p + 2,)."""
        w, mixed = solution[:-2], self.prior.mixed
        slope, weights = A.T @ (w / self.rise), w / self.bend
        if mixed == 0.0:
            return slope, (A * A).T @ weights + solution[-1]
        hessian = (A.T * weights) @ A
        diagonal = np.einsum("ii->i", hessian)
        bends = diagonal + solution[-1]
        if mixed != 1.0:
            hessian *= mixed
        diagonal[:] = bends
        return slope, hessian

    def random_part(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Slope (n,) and Hessian of a random function of the prior, of size one."""
        if self.prior.mixed == 0.0:
            hessian = rng.standard_normal(n) * np.sqrt(2 / self.bend)
        else:
            hessian = rng.standard_normal((n, n))
            hessian = (hessian + hessian.T) * np.sqrt(0.5 * self.prior.mixed / self.bend)
            np.fill_diagonal(hessian, rng.standard_normal(n) * np.sqrt(2 / self.bend))
        return rng.standard_normal(n) / np.sqrt(self.rise), hessian


class WideSystem:
    """The system for one prior."""

    def __init__(self, kernels: Kernels, prior: WidePrior) -> None:
        self.A = kernels.A
        p, products, s = len(self.A), kernels.products, kernels.squares
        K = prior.kernel(products, kernels.diagonal)
        bend = float(np.mean(np.abs(K))) or 1.0
        rise = (kernels.product_size or 1.0) / c.WIDE_SLOPE
        self.kernel = WideKernel(prior, bend, rise)
        self.matrix = np.zeros((p + 2, p + 2))
        block = self.matrix[:p, :p]
        np.divide(K, bend, out=block)
        block += np.divide(products, rise, out=K)
        diagonal = np.einsum("ii->i", self.matrix)
        diagonal[:p] += prior.errors(s)
        diagonal[p:] = -c.FIT_ROUNDING
        self.matrix[:p, p] = self.matrix[p, :p] = 1.0
        self.matrix[:p, p + 1] = self.matrix[p + 1, :p] = 0.5 * s

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the matrix, NaN if it is singular."""
        try:
            return np.asarray(np.linalg.inv(self.matrix), dtype=float)
        except np.linalg.LinAlgError:
            return np.full(self.matrix.shape, np.nan)

    def solve(self, Y: Floats) -> Floats:
        """Weights and free part, (p + 2, k), for Y (p, k); NaN if the system is singular."""
        return np.asarray(self.inverse[:, : len(Y)] @ Y, dtype=float)


@dataclass(frozen=True, eq=False)
class WideFit:
    """A fitted model, around the design at coordinates ``origin`` (n,) of the system."""

    system: Solved
    y: Floats
    origin: Floats | None = None

    @cached_property
    def solution(self) -> Floats:
        """Weights and free part (p + 2,)."""
        return self.system.solve(self.y[:, None])[:, 0]

    @cached_property
    def model(self) -> Quadratic:
        """The model."""
        return self._model(self.solution)

    @cached_property
    def errors(self) -> Floats:
        """Leave-one-out errors (p,)."""
        assert isinstance(self.system, WideSystem)
        p = len(self.y)
        return left_out_errors(self.solution[:p], np.diag(self.system.inverse)[:p])

    @property
    def noise(self) -> float:
        """Variance of the noise that the prior assumes."""
        return self.system.kernel.prior.noise

    @property
    def variances(self) -> None:
        """Nothing else is used again."""
        return

    def random(self, rng: np.random.Generator, share: float = 1.0) -> Quadratic:
        """Return a random model that fits the data as well, or the mean and a share of it."""
        A, p = self.system.A, len(self.y)
        slope, hessian = self.system.kernel.random_part(A.shape[1], rng)
        bent = A * hessian if hessian.ndim == 1 else A @ hessian
        drawn = A @ slope + 0.5 * np.einsum("ij,ij->i", bent, A)
        fitted, undone = self.system.solve(np.column_stack((self.y, drawn))).T
        energy = float(fitted[:p] @ self.y) / max(p - 2, 1)
        size = share * float(np.sqrt(energy)) if 0 < energy < np.inf else 0.0
        return self._model(fitted - size * undone, size * slope, size * hessian)

    def _model(
        self, solution: Floats, slope: Floats | float = 0.0, hessian: Floats | float = 0.0
    ) -> Quadratic:
        """Return the model of a solution and of a known part."""
        g, H = self.system.kernel.slope_and_hessian(self.system.A, solution)
        model = Quadratic(float(solution[-2]), g + slope, H + hessian)
        return model if self.origin is None else model.around(self.origin)
