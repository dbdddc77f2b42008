r"""AL: the adaptive augmented Lagrangian [AP15, AAH16, AAH17] with the median success rule [MSR13].

[AP15] D. V. Arnold, J. Porter, Towards an Augmented Lagrangian Constraint Handling Approach for the
(1+1)-ES, GECCO 2015, doi:10.1145/2739480.2754813.
[AAH16] A. Atamna, A. Auger, N. Hansen, Augmented Lagrangian Constraint Handling for CMA-ES - Case
of a Single Linear Constraint, PPSN 2016, doi:10.1007/978-3-319-45823-6_17.
[AAH17] The same, Linearly Convergent Evolution Strategies via Augmented Lagrangian Constraint
Handling, FOGA 2017 (several constraints), https://hal.science/hal-01455379.
[MSR13] O. Ait ElHara, A. Auger, N. Hansen, A Median Success Rule for Non-Elitist Evolution
Strategies: Study of Feasibility, GECCO 2013, 415-422.

==============  =================================================  =====================
symbol          meaning                                            name here
==============  =================================================  =====================
g_j(x) <= 0     constraints, one for each limit of a row           ``g``
gamma_j         Lagrange factors (m,), not negative                ``gamma``
omega_j         penalty coefficients (m,), positive                ``omega``
chi, d_gamma,   constants of the adaptation                        upper-case names
d_omega, k1, k2
q               cumulated success of the median success rule       ``q``
==============  =================================================  =====================

What the publications leave open, and what is done here. The rules need f at the mean: it is
simulated in every generation, one call more. The coefficients begin at gamma = 0 and omega = 1;
starting them from the spread of f and g in the first generation was tried and was worse on g07,
g09 and g15 of CEC 2006. An equality has two limits, hence two constraints. The median success rule
compares with the previous generation under the present coefficients. [SA22 sssec:penalty, 2.2.2]
prints the case distinction of the Lagrangian with the opposite sign ([SA22] see
:mod:`archeng.ranking`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import (
    Handler,
    Population,
    Search,
    last_if_undefined,
    updated,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample

D_GAMMA, D_OMEGA, K1, K2 = 5.0, 5.0, 3.0, 5.0  # [AAH17]
MSR_RATE, MSR_QUANTILE = 0.3, 0.3  # [MSR13]


@dataclass(frozen=True, eq=False)
class LagrangianSearch(Search):
    """The search with the coefficients of the Lagrangian, and what they were adapted to."""

    gamma: Floats
    omega: Floats
    f_mean: float | None  # objective at the last mean that was simulated well
    g_mean: Floats  # constraints (m,) there
    f_before: Floats  # objectives (k,) of the last generation; k = 0 before the first one
    g_before: Floats  # its constraints (k, m)
    q: float


class AugmentedLagrangian(Handler[LagrangianSearch]):
    """AL as a handler. The last candidate of each generation is the mean."""

    outside = True
    state_type = LagrangianSearch

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        m = len(self._sides)
        return {
            "gamma": np.zeros(m),
            "omega": np.ones(m),
            "f_mean": None,
            "g_mean": np.zeros(m),
            "f_before": np.zeros(0),
            "g_before": np.zeros((0, m)),
            "q": 0.0,
        }

    def ask(
        self, search: LagrangianSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[LagrangianSearch, Population]:
        """Sample; the mean is simulated too."""
        x = sample(search.state, search.parameters, rng)
        return search, self._unrepaired(np.vstack((x, search.distribution.mean)))

    def tell(
        self,
        search: LagrangianSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> LagrangianSearch:
        """Adapt the coefficients at the mean, rank by the Lagrangian, update, adapt sigma."""
        g_all = self._sides.values(population.sampled)
        f, g = outcomes.objectives[:-1], g_all[:-1]
        search = self._adapted(search, outcomes.objectives[-1], g_all[-1])
        gamma, omega, q = search.gamma, search.omega, search.q
        values = lagrangian(f, g, gamma, omega)
        before = lagrangian(search.f_before, search.g_before, gamma, omega)
        order = np.argsort(values, kind="stable")
        sigma = search.distribution.sigma
        search = updated(search, population.sampled[:-1][order], self._settings)
        if len(before):
            q = (1 - MSR_RATE) * q + MSR_RATE * success(values, before)
            sigma *= float(np.exp(q / max(2 - 2 / self._set.n, 1.0)))
        distribution = replace(search.distribution, sigma=sigma)
        state = replace(search.state, distribution=distribution)
        return replace(search, state=state, f_before=f, g_before=g, q=q)

    def _adapted(self, search: LagrangianSearch, f_mean: float, g_mean: Floats) -> LagrangianSearch:
        """Return the search with the coefficients after a step to the present mean."""
        if not (np.isfinite(f_mean) and np.all(np.isfinite(g_mean))):
            return search
        gamma, omega = search.gamma, search.omega
        if search.f_mean is not None:
            f, g = np.array([f_mean, search.f_mean]), np.stack((g_mean, search.g_mean))
            now, before = lagrangian(f, g, gamma, omega)
            gamma = updated_gamma(gamma, omega, g_mean)
            omega = updated_omega(omega, g_mean, search.g_mean, now - before, self._set.n)
        return replace(search, gamma=gamma, omega=omega, f_mean=float(f_mean), g_mean=g_mean)


def lagrangian(f: Floats, g: Floats, gamma: Floats, omega: Floats) -> Floats:
    """Return L (k,) at candidates with f (k,) and g (k, m) [AAH17 eq. 3]; NaN becomes infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        inside = gamma * g + 0.5 * omega * g**2
        flat = -(gamma**2) / (2 * np.where(omega > 0, omega, 1.0))
        return last_if_undefined(f + np.sum(np.where(gamma + omega * g < 0, flat, inside), axis=1))


def updated_gamma(gamma: Floats, omega: Floats, g_mean: Floats) -> Floats:
    """Return the Lagrange factors (m,) after a step [AAH17 Alg. 1]."""
    return np.maximum(0.0, gamma + omega * g_mean / D_GAMMA)


def updated_omega(omega: Floats, g_mean: Floats, g_before: Floats, change: float, n: int) -> Floats:
    """Return the penalty coefficients (m,) after a step [AAH17 Alg. 1].

    They grow while the penalty matters little for the change of L at the mean, or while g at the
    mean hardly changes; otherwise they shrink.
    """
    weak = omega * g_mean**2 < K1 * abs(change) / n
    still = K2 * np.abs(g_mean - g_before) < np.abs(g_before)
    chi = 2.0 ** (1 / n)
    grow, shrink = chi ** (1 / (4 * D_OMEGA)), chi ** (-1 / D_OMEGA)
    return np.asarray(omega * np.where(weak | still, grow, shrink), dtype=float)


def success(values: Floats, before: Floats) -> float:
    """Return z of [MSR13]: how many are better than the 30th percentile of the last generation."""
    size = len(values)
    reference = np.quantile(before, MSR_QUANTILE, method="higher")
    return 2 / size * (float(np.sum(values < reference)) - (size + 1) / 2)
