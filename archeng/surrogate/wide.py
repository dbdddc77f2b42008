"""Models in many variables (prototype)."""

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
    name: str
    mixed: float
    remainder: float = 0.0
    noise: float = 0.0
    slope: float = 100.0
    costly: bool = False

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[WideFit | None]:
        system = WideSystem(kernels, self)
        p = len(Y)
        try:
            inverse = np.linalg.inv(system.matrix)
        except np.linalg.LinAlgError:
            return [None] * Y.shape[1]
        solutions = inverse[:, :p] @ Y
        diagonal = np.diag(inverse)[:p].copy()
        return [WideFit(s, system, y, diagonal) for s, y in zip(solutions.T, Y.T, strict=True)]

    def refit(self, kernels: Kernels, y: Floats, noise: float, variances: Floats | None) -> WideFit | None:
        system = WideSystem(kernels, replace(self, noise=noise))
        s = system.solve(y)
        return WideFit(s, system, y) if np.isfinite(s).all() else None

    def noisier(self) -> Sequence[WidePrior]:
        return [replace(self, noise=noise) for noise in c.PRIOR_NOISES]

    def exploring(self) -> WidePrior:
        return self


class WideSystem:
    def __init__(self, kernels: Kernels, prior: WidePrior) -> None:
        A = self.A = kernels.A
        self.prior = prior
        p, n = A.shape
        products, s = kernels.products, kernels.squares
        squared = getattr(kernels, "_sq", None)
        if squared is None:
            squared = kernels._sq = (A**2) @ (A**2).T
        K = 0.5 * prior.mixed * products**2 + 0.5 * (1 - prior.mixed) * squared
        self.size = float(np.mean(np.abs(K))) or 1.0
        self.linear_size = (float(np.mean(np.abs(products))) or 1.0) / prior.slope
        M = np.zeros((p + 2, p + 2))
        M[:p, :p] = K / self.size + products / self.linear_size
        d = np.einsum("ii->i", M)
        d[:p] += c.FIT_ROUNDING + prior.noise + c.FIT_FAR * s**2 + prior.remainder * s**3
        d[p:] = -c.FIT_ROUNDING
        M[:p, p] = M[p, :p] = 1.0
        M[:p, p + 1] = M[p + 1, :p] = 0.5 * s
        self.matrix = M

    def solve(self, y: Floats) -> Floats:
        rhs = np.zeros((len(self.matrix), *y.shape[1:]))
        rhs[: len(y)] = y
        try:
            return np.linalg.solve(self.matrix, rhs)
        except np.linalg.LinAlgError:
            return np.full(rhs.shape, np.nan)

    def model(self, solution: Floats) -> Interpolant:
        p, n = self.A.shape
        w = solution[:p]
        H = (self.A.T * (w / self.size)) @ self.A
        d = np.einsum("ii->i", H)
        diag = d.copy()
        H *= self.prior.mixed
        d = np.einsum("ii->i", H)
        d[:] = diag + solution[p + 1]
        return Interpolant(float(solution[p]), self.A.T @ (w / self.linear_size), H, self.A, w, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class WideFit:
    solution: Floats
    system: WideSystem
    y: Floats
    known_diagonal: Floats | None = None
    variances = None

    @cached_property
    def model(self) -> Interpolant:
        return self.system.model(self.solution)

    @cached_property
    def errors(self) -> Floats:
        p = len(self.y)
        d = self.known_diagonal
        if d is None:
            d = np.diag(np.linalg.inv(self.system.matrix))[:p]
        return left_out_errors(self.solution[:p], d)

    @property
    def noise(self) -> float:
        return self.system.prior.noise

    def random(self, rng: np.random.Generator, share: float = 1.0) -> Interpolant:
        A, prior = self.system.A, self.system.prior
        p, n = A.shape
        energy = float(self.solution[:p] @ self.y) / max(p - 2, 1)
        size = share * np.sqrt(max(energy, 0.0))
        R = rng.standard_normal((n, n))
        R = (R + R.T) / np.sqrt(2)
        d = np.diag(R).copy()
        R *= np.sqrt(prior.mixed)
        np.fill_diagonal(R, d)
        R *= size / np.sqrt(self.system.size)
        g = size / np.sqrt(self.system.linear_size) * rng.standard_normal(n)
        rest = self.y - 0.5 * np.sum((A @ R) * A, axis=1) - A @ g
        m = self.system.model(self.system.solve(rest))
        return replace(m, hessian=m.hessian + R, gradient=m.gradient + g)


WIDE = tuple(
    WidePrior(f"wide {mixed:g} {r:g}", mixed, r)
    for mixed in (1e-5, 1e-2, 1.0)
    for r in (0.0, c.PRIOR_REMAINDER)
)
