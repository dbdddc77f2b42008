r"""AP-BCH: adaptive penalty for box constraints [HNGK09 sec. IV-B].

[HNGK09] N. Hansen, A. Niederberger, L. Guzzella, P. Koumoutsakos, A Method for Handling
Uncertainty in Evolutionary Optimization with an Application to Feedback Control of Combustion,
IEEE Transactions on Evolutionary Computation 13(1), 2009, doi:10.1109/TEVC.2008.924423.

The simulator is called at the nearest point of the box; CMA-ES minimises

.. math:: f(x^{feas}) + \frac1n \sum_i \gamma_i (x_i - x_i^{feas})^2 / \xi_i .

============  ====================================================  ==================
symbol        meaning                                               name here
============  ====================================================  ==================
x^feas        x clipped to the box                                  ``repair.x``
gamma_i       weights (n,), 0 until the mean first leaves the box   ``gamma``
xi_i          scaling of the coordinates (n,)                       ``scaling``
delta_fit     median interquartile range of f                       ``typical_range``
============  ====================================================  ==================

[SA22 (3)] prints the penalty without the scaling of the coordinates; here it is as in [HNGK09]
([SA22] see :mod:`archeng.ranking`).
Weights grow by 1.1^min(1, mu_eff / (10 n)) as in Hansen's own code, which calls the printed max a
bug: with max they grow so fast that a sphere with n = 50 was not solved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    Population,
    Search,
    last_if_undefined,
    updated,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repair, RepairKind
from archeng.strategy import sample


@dataclass(frozen=True, eq=False)
class PenaltySearch(Search):
    """The search with its weights (n,), and interquartile ranges of f of the last generations."""

    gamma: Floats
    ranges: Floats


class BoxPenalty(Handler[PenaltySearch]):
    """AP-BCH as a handler, for models with bounds only."""

    state_type = PenaltySearch

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        fs = self._set
        if fs.m > len(fs.bounded):
            row = fs.rows[len(fs.bounded)]
            raise SettingsError(
                f"handler={self._settings.handler!r} handles bounds of variables only, but the "
                f'model has the {row.kind.value} constraint {row}; use "arch".'
            )
        self._low, self._high = fs.box()

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        return {"gamma": np.zeros(distribution.n), "ranges": np.zeros(0)}

    def ask(
        self, search: PenaltySearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[PenaltySearch, Population]:
        """Sample, and clip to the box what is simulated."""
        x = sample(search.state, search.parameters, rng)
        repairs = tuple(self._clipped(point, search.distribution) for point in x)
        return search, Population(x, repairs)

    def _clipped(self, x: Floats, distribution: Distribution) -> Repair:
        inside = np.clip(x, self._low, self._high)
        active = tuple(np.flatnonzero(inside != x).tolist())
        kind = RepairKind.NEAREST if active else RepairKind.FEASIBLE
        distance = distribution.distance_squared(x, inside)
        return Repair(kind, inside, distance, 0.0, 0.0, active, "clip" if active else "none", 0)

    def tell(
        self,
        search: PenaltySearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> PenaltySearch:
        """Adapt the weights, rank by the penalised objective, update CMA-ES."""
        search = self._weighted(search, outcomes.objectives)
        outside = population.sampled - np.array([r.x for r in population.repairs])
        total = outcomes.objectives + penalties(
            outside, search.gamma, scaling(np.diag(search.distribution.covariance))
        )
        order = np.argsort(last_if_undefined(total), kind="stable")
        return updated(search, population.sampled[order], self._settings)

    def _weighted(self, search: PenaltySearch, objectives: Floats) -> PenaltySearch:
        """Set the weights when the mean first leaves the box (again in the second generation)."""
        d, p = search.distribution, search.parameters
        gamma, ranges = search.gamma, search.ranges
        finite = objectives[np.isfinite(objectives)]
        if len(finite):
            upper, lower = np.percentile(finite, (75, 25))
            window = 20 + math.ceil(3 * p.n / p.population_size)
            ranges = np.append(ranges, upper - lower)[-window:]
        variances = d.sigma**2 * np.diag(d.covariance)
        beyond = np.abs(d.mean - np.clip(d.mean, self._low, self._high))
        unset = not np.any(gamma > 0) or search.state.generation == 1
        if unset and np.any(beyond > 0) and len(ranges):
            gamma = initial_weights(ranges, variances)
        else:
            far = beyond > allowed_distance(variances, p.n, p.mu_eff)
            gamma = np.where(far, gamma * 1.1 ** min(1.0, p.mu_eff / (10 * p.n)), gamma)
        return replace(search, gamma=gamma, ranges=ranges)


def initial_weights(ranges: Floats, variances: Floats) -> Floats:
    """Return gamma (n,) = 2 delta_fit / mean variance of the coordinates."""
    typical_range = float(np.median(ranges))
    return np.full(len(variances), 2 * typical_range / float(np.mean(variances)))


def allowed_distance(variances: Floats, n: int, mu_eff: float) -> Floats:
    """Return how far (n,) the mean may be outside before its weight grows."""
    return 3 * np.sqrt(variances) * max(1.0, math.sqrt(n) / mu_eff)


def scaling(diagonal: Floats) -> Floats:
    """Return xi (n,) = exp(0.9 (ln C_ii - mean of ln C_jj)) for the diagonal of C."""
    logs = np.log(diagonal)
    return np.asarray(np.exp(0.9 * (logs - logs.mean())), dtype=float)


def penalties(outside: Floats, gamma: Floats, xi: Floats) -> Floats:
    """Return the penalties (k,) of displacements (k, n) from the box."""
    return np.asarray(np.mean(gamma * outside**2 / xi, axis=1), dtype=float)
