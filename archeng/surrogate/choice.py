r"""Choosing prior and transform by the density of the objectives left out.

With leave-one-out errors e_k of the transformed objectives T(y_k), the score

.. math:: \text{mean}_k \ln\left( |e_k| / T'(y_k) + \varepsilon \right)

over the better half of the designs is the log of the typical error in units of y near the
best design, so that models of different transforms can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate.fit import Fit, fit_all, fit_with, make_system
from archeng.surrogate.kernels import Kernels
from archeng.surrogate.priors import NOISES, PRIORS, Prior
from archeng.surrogate.transforms import Transform, transforms_for

_TIE = 1e-6  # scores that differ by less are equal but for rounding
_EXACT = 1e-9  # errors below this fraction of the spread are not told apart


@dataclass(frozen=True, eq=False)
class Choice:
    """A model fitted to normalised objectives y (p,), with its prior and its transform."""

    fit: Fit
    prior: Prior
    transform: Transform
    y: Floats

    @cached_property
    def score(self) -> float:
        """Log of the typical error; lower is better."""
        half = np.argsort(self.y, kind="stable")[: max(len(self.y) // 2, 3)]
        slopes = np.exp(-self.transform.log_slope(self.y[half]))
        return float(np.mean(np.log(np.abs(self.fit.errors[half]) * slopes + _EXACT)))


def choose(
    kernels: Kernels, y: Floats, transforms: Sequence[Transform] | None = None
) -> Choice | None:
    """Return the best model for normalised objectives y (p,); None if none fits.

    ``transforms`` are those that are tried, by default all that are worth it.
    Priors that are not reweighted are cheap: they are tried with all transforms, the others
    with the best of these, and noise with the best of all.
    """
    best: Choice | None = None
    for prior in PRIORS:
        if not prior.rounds:
            for choice in _choices(kernels, y, prior, transforms or transforms_for(y)):
                best = _better(best, choice)
    if best is None:
        return None
    transform = best.transform
    for prior in PRIORS:
        if prior.rounds:
            for choice in _choices(kernels, y, prior, (transform,)):
                best = _better(best, choice)
    prior = best.prior
    for noise in NOISES:
        for choice in _choices(kernels, y, replace(prior, noise=noise), (transform,)):
            best = _better(best, choice)
    return best


def fitted(
    kernels: Kernels,
    y: Floats,
    prior: Prior,
    transform: Transform,
    variances: Floats | None = None,
) -> Choice | None:
    """Fit one prior and transform; ``variances`` (n, n) are those of a reweighted one, if known."""
    z = transform.apply(y)
    system = make_system(kernels, prior, z, variances)
    found = None if system is None else fit_with(system, z)
    return None if found is None else Choice(found, prior, transform, y)


def _choices(
    kernels: Kernels, y: Floats, prior: Prior, transforms: Sequence[Transform]
) -> list[Choice]:
    """Fit a prior with some transforms, only one if it is reweighted."""
    Z = np.stack([transform.apply(y) for transform in transforms], axis=1)
    system = make_system(kernels, prior, Z[:, 0])
    fits = [] if system is None else fit_all(system, Z)
    return [
        Choice(fit, prior, transform, y)
        for fit, transform in zip(fits, transforms, strict=False)
        if fit is not None
    ]


def _better(a: Choice | None, b: Choice) -> Choice:
    return b if a is None or b.score < a.score - _TIE else a
