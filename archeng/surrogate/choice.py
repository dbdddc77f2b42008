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
from archeng.surrogate.fit import Fit, System, fit, fit_with, make_system
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
        system = None if prior.rounds else make_system(kernels, prior, y)
        if system is not None:
            for transform in transforms or transforms_for(y):
                best = _better(best, fitted(kernels, y, prior, transform, system))
    if best is None:
        return None
    transform = best.transform
    for prior in PRIORS:
        if prior.rounds:
            best = _better(best, fitted(kernels, y, prior, transform))
    prior = best.prior
    for noise in NOISES:
        best = _better(best, fitted(kernels, y, replace(prior, noise=noise), transform))
    return best


def fitted(
    kernels: Kernels,
    y: Floats,
    prior: Prior,
    transform: Transform,
    system: System | None = None,
) -> Choice | None:
    """Fit one prior and transform; ``system`` is that of the prior, if known."""
    z = transform.apply(y)
    found = fit(kernels, z, prior) if system is None else fit_with(system, z)
    if found is None:
        return None
    return Choice(found, prior, transform, y)


def _better(a: Choice | None, b: Choice | None) -> Choice:
    if a is None or b is None:
        found = a or b
        assert found is not None
        return found
    return b if b.score < a.score - _TIE else a
