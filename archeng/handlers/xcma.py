r"""xCMA-ES with active constraint handling: multiplicative updates of the covariance matrix [KG15].

Where CMA-ES adds to C, xCMA-ES multiplies: the update is an exponent, as in xNES [GSWS10]. So C
stays positive definite whatever is taken out of it, also by constraint vectors
(:mod:`archeng.handlers.constraint_vectors`):

.. math:: A' = A \exp\Bigl(-\beta \sum_s P_s\Bigr) \exp\Bigl(\tfrac12 c_1 (q q^T - \gamma_c I)
          + \tfrac12 c_\mu \sum_i w_i (z_i z_i^T - I)\Bigr)

Samples that violate a limit are not simulated, and others are drawn in their place. Only whether
limits are violated is used, not how much.

[KG15] O. Krause, T. Glasmachers, A CMA-ES with Multiplicative Covariance Matrix Updates, GECCO
2015, doi:10.1145/2739480.2754781.
[GSWS10] T. Glasmachers, T. Schaul, Y. Sun, D. Wierstra, J. Schmidhuber, Exponential Natural
Evolution Strategies, GECCO 2010, doi:10.1145/1830483.1830557.
[AH12] see :mod:`archeng.handlers.constraint_vectors`.

==============  =======================================================  ===================
symbol          meaning                                                  name here
==============  =======================================================  ===================
A               factor of C = A A^T                                      ``factor``
z_i             whitened steps of the mu best candidates                 ``whitened``
q               whitened path A^{-1} p_c                                 ``path``
w_i, c_1, c_mu  weights and learning rates, those of our CMA-ES          ``parameters``
gamma_c         correction factor of the path, that of our CMA-ES        ``state.gamma_c``
P_s             mean of v v^T / v^T v over the whitened vectors of the   ``normal_projections``
                limits that sample s violates
sum_s P_s       of all samples of a generation that violate limits       ``exponent``
beta            strength of [AH12]                                       ``narrowing_strength``
==============  =======================================================  ===================

Known of [KG15], whose text could not be had: its abstract (CMA-ES with the multiplicative update
of xNES, compatible with all mechanisms of CMA-ES; its advantages show where variance is actively
decreased, as in active constraint handling), and that it takes unrelaxable constraints and uses
only whether they are violated [SA22 tab:class] (see :mod:`archeng.ranking`). Ours: paths, step
size, weights and rates are those of our CMA-ES, so that nothing but the update of C differs; the
vectors and their rates are those of [AH12]; all infeasible samples of a generation are drawn from
the same distribution and enter one exponent, before that of the update, and whitened steps and path
stay as they are; at most ``_MOST_SAMPLES`` times lambda samples are drawn, and if fewer than mu of
them have an objective, nothing but the narrowing happens. An equality is refused: no sample
satisfies it by chance.

beta is not divided by lambda (DEAP does that where there are several offspring), so what a
generation takes grows with lambda and has no bound but that of rounding: k infeasible samples of
one limit shrink the deviation along its normal by the factor exp(-0.1 k / (n + 2)). For n = 5 and
k = lambda that is 0.89 with lambda = 8, 0.40 with 64, and 7e-4 with 512, where the update of CMA-ES
gives less back. Large populations may therefore converge too early along active limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.blas import scipy_linalg
from archeng.distribution import Distribution, Floats
from archeng.handlers.base import Population, last_if_undefined, until_feasible
from archeng.handlers.constraint_vectors import (
    VectorHandler,
    VectorSearch,
    narrowing_strength,
    normal_projections,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import Parameters, sample, update, with_narrowed_factor

_MOST_SAMPLES = 50  # draws of a generation, for each of its candidates


@dataclass(frozen=True, eq=False)
class XcmaSearch(VectorSearch):
    """The search with the vectors of the limits, and what they take out of C next."""

    exponent: Floats  # (n, n), of the generation that is open


class Xcma(VectorHandler[XcmaSearch]):
    """The xCMA-ES with active constraint handling."""

    state_type = XcmaSearch

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        exponent = np.zeros((distribution.n, distribution.n))
        return {**super()._memory(distribution), "exponent": exponent}

    def ask(
        self, search: XcmaSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[XcmaSearch, Population]:
        """Sample until lambda candidates are feasible; the vectors learn from the others."""
        d, size = search.distribution, search.parameters.population_size
        vectors, exponent = search.vectors, np.zeros((d.n, d.n))

        def draw(missing: int) -> Floats:
            return sample(search.state, search.parameters, rng)[:missing]

        chosen, infeasible = until_feasible(self._set, draw, size, _MOST_SAMPLES * size)
        for record in infeasible:
            vectors, violated = self._learned(vectors, d, record.x)
            exponent += normal_projections(vectors[violated] @ d.inverse_factor.T)
        population = Population(np.array([r.x for r in chosen]), chosen)
        return replace(search, vectors=vectors, exponent=exponent), population

    def tell(
        self,
        search: XcmaSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> XcmaSearch:
        """Rank by the objective; update mean, paths and step size, and C by two exponents."""
        f, d, p = last_if_undefined(outcomes.objectives), search.distribution, search.parameters
        narrowed = d.factor @ scipy_linalg().expm(-narrowing_strength(d.n) * search.exponent)
        if np.sum(np.isfinite(f)) < len(p.weights):
            state = replace(search.state, generation=search.state.generation + 1)
            path, exponent = d.inverse_factor @ state.p_c, np.zeros((d.n, d.n))
        else:
            best = population.sampled[np.argsort(f, kind="stable")[: len(p.weights)]]
            state = update(search.state, p, best, self._settings.square_root)
            path = d.inverse_factor @ state.p_c
            exponent = update_exponent(d.whiten(best - d.mean), path, state.gamma_c, p)
        state = with_narrowed_factor(state, narrowed @ scipy_linalg().expm(exponent))
        return replace(search, state=replace(state, p_c=narrowed @ path))


def update_exponent(whitened: Floats, path: Floats, gamma_c: float, p: Parameters) -> Floats:
    """Return the exponent (n, n) of the update of A by steps (mu, n) and path (n,)."""
    one = np.eye(len(path))
    rank_mu = (whitened.T * p.weights) @ whitened - one
    return (p.c_1 * (np.outer(path, path) - gamma_c * one) + p.c_mu * rank_mu) / 2
