"""Models of simulated constraints.

Each constraint has a model of its own, fitted to the same designs: the prior that errs least near
its limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.known import Limits
from archeng.surrogate.choice import Choice
from archeng.surrogate.data import Data
from archeng.surrogate.fit import fit_all, linear, make_system
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import PRIORS
from archeng.surrogate.transforms import IDENTITY

_NOISES = (1e-4, 1e-2)


@dataclass(frozen=True, eq=False)
class Sides:
    """The finite limits: which model, in which direction, at which level.

    Attributes
    ----------
    model : ndarray of int, shape (k,)
    sign : ndarray, shape (k,)
        1 for upper, -1 for lower limits.
    levels : ndarray, shape (k,)
        In units of the models.
    """

    model: Integers
    sign: Floats
    levels: Floats

    def excess(self, values: Floats) -> Floats:
        """G (k,) for values (m,) of the models."""
        return np.asarray(self.sign * (values[self.model] - self.levels), dtype=float)


def sides_of(limits: Limits, units: Floats) -> Sides:
    """Return the finite limits, in given units (m,) of the constraints."""
    low, high = np.flatnonzero(np.isfinite(limits.lower)), np.flatnonzero(np.isfinite(limits.upper))
    return Sides(
        np.concatenate((low, high)),
        np.concatenate((-np.ones(len(low)), np.ones(len(high)))),
        np.concatenate((limits.lower[low] / units[low], limits.upper[high] / units[high])),
    )


def sizes(data: Data) -> Floats:
    """Return standard deviations (m,) of the constraints, 1 where one is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.std(data.simulated, axis=0)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


def constraint_models(data: Data, limits: Limits) -> tuple[Interpolant, ...]:
    """Fit each constraint, divided by its size: the prior that errs least near its limits."""
    p, n = data.A.shape
    size = sizes(data)
    values, sides = data.simulated / size, sides_of(limits, size)
    m = values.shape[1]
    if p < n + 2:
        return tuple(linear(data.A, column) for column in values.T)
    gaps = np.full((p, m), np.inf)
    for model, level in zip(sides.model, sides.levels, strict=True):
        gaps[:, model] = np.minimum(gaps[:, model], np.abs(values[:, model] - level))
    plain = [prior for prior in PRIORS if not prior.rounds]
    noisy = [replace(plain[0], noise=noise) for noise in _NOISES]
    best: list[Choice | None] = [None] * m
    for prior in (*plain, *noisy):
        system = make_system(data.kernels, prior, values[:, 0])
        fits = [None] * m if system is None else fit_all(system, values)
        for i, fit in enumerate(fits):
            if fit is not None:
                choice, before = Choice(fit, prior, IDENTITY, gaps[:, i]), best[i]
                if before is None or choice.score < before.score - 1e-6:
                    best[i] = choice
    return tuple(
        linear(data.A, column) if choice is None else choice.fit.model
        for choice, column in zip(best, values.T, strict=True)
    )
