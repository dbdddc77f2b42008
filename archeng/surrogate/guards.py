"""Models of simulated constraints.

Each constraint has a model of its own, fitted to the same designs: the prior that errs least near
its limits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats
from archeng.known import Limits, Sides
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice
from archeng.surrogate.data import Data
from archeng.surrogate.fit import Fit, linear
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import IDENTITY, PRIORS


def sizes(data: Data) -> Floats:
    """Return standard deviations (m,) of the constraints, 1 where one is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.std(data.simulated, axis=0)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


def constraint_models(data: Data, limits: Limits) -> tuple[Interpolant, ...]:
    """Fit each constraint, divided by its size: the prior that errs least near its limits."""
    p, n = data.A.shape
    size = sizes(data)
    values, sides = data.simulated / size, Sides.of(limits.lower, limits.upper, size)
    m = values.shape[1]
    if p < n + 2:
        return tuple(linear(data.A, column) for column in values.T)
    gaps = np.full((p, m), np.inf)
    for model, level in zip(sides.index, sides.level, strict=True):
        gaps[:, model] = np.minimum(gaps[:, model], np.abs(values[:, model] - level))
    plain = [prior for prior in PRIORS if not prior.rounds]
    noisy = [replace(plain[0], noise=noise) for noise in c.CONSTRAINT_NOISES]
    best: list[tuple[float, Fit] | None] = [None] * m
    for prior in (*plain, *noisy):
        for i, fit in enumerate(prior.fit(data.kernels, values)):
            if fit is not None:
                score, before = Choice(fit, prior, IDENTITY, gaps[:, i]).score, best[i]
                if before is None or score < before[0] - c.SCORE_TIE:
                    best[i] = score, fit
    return tuple(
        linear(data.A, column) if fitted is None else fitted[1].model
        for fitted, column in zip(best, values.T, strict=True)
    )
