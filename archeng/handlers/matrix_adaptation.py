r"""MA-ES with active constraint handling: the Constraint Active-MA-ES [SB19].

[SB19] P. Spettel, H.-G. Beyer, A multi-recombinative active matrix adaptation evolution strategy
for constrained optimization, Soft Computing 23, 2019, doi:10.1007/s00500-018-03736-z.
[BS17] H.-G. Beyer, B. Sendhoff, Simplify Your Covariance Matrix Adaptation Evolution Strategy, IEEE
Transactions on Evolutionary Computation 21(5), 2017, doi:10.1109/TEVC.2017.2680320.
[H16] N. Hansen, The CMA Evolution Strategy: A Tutorial, arXiv:1604.00772 (negative weights).

The MA-ES [BS17] adapts a matrix M with x = m + sigma M z directly. Candidates that violate a
constraint are not simulated. Their z are averaged for each constraint that they violate, and M
loses some of its length in those directions; objectives have no part in that.

==============  ====================================================  ==========================
symbol          meaning                                               name here
==============  ====================================================  ==========================
m, sigma, M     search distribution, M is its factor                  ``distribution``
z, M z          standard normal sample (n,), its step                 ``z``
s               path of the weighted means of z (n,)                  ``p_sigma``
v_j             fading mean of the z that violate constraint j        ``vectors`` (m, n)
w_k             weights (lambda,): the better half positive           ``weights``
c_v, beta       rate of v_j, and of shrinking M along it              see ``constraint_vectors``
==============  ====================================================  ==========================

What is certain, from the abstract and from the program that the authors publish beside it: c_v =
1/(n + 2), beta = 0.1/(n + 2); m, s, M and sigma change only if at least mu candidates are
feasible; then by all feasible candidates if the new mean is feasible, or else by the best candidate
alone if it is better than the mean, which becomes the mean. What is ours: the text of the article
could not be had. M begins as the factor of the run's start distribution, not as the identity. The
mean is simulated together with the candidates of the generation, at most one call more in each (the
authors' program simulates each new mean, too, partly twice). sigma is damped where lambda is so
large that mu_eff > n + 2: the program, which always has lambda = 4 + floor(3 ln n), lets it grow by
exp(c_sigma/2 (s^T s/n - 1)), which explodes with the larger populations of restarts and parallel
runs. M keeps a condition number below 1e12, relative to the initial one. A feasible candidate whose
call failed counts as infeasible without violating anything. The stopping tests are those of all
handlers. No sample satisfies an equality, so they are refused; [SB19] has inequalities only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from archeng.distribution import Floats
from archeng.handlers.base import Population, last_if_undefined
from archeng.handlers.constraint_vectors import (
    VectorHandler,
    VectorSearch,
    faded,
    narrowing_strength,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import Parameters, default_parameters, sample, with_narrowed_factor


class MatrixAdaptation(VectorHandler[VectorSearch]):
    """The Constraint Active-MA-ES as a handler. The last candidate is the mean, always feasible."""

    state_type = VectorSearch

    def ask(
        self, search: VectorSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[VectorSearch, Population]:
        """Sample; the mean comes along."""
        x = sample(search.state, search.parameters, rng)
        return search, self._unrepaired(np.vstack((x, search.distribution.mean)))

    def tell(
        self,
        search: VectorSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> VectorSearch:
        """Learn from the feasible candidates, then shrink M where constraints were violated."""
        d, p = search.distribution, search.parameters
        x = population.sampled[:-1]
        z = d.whiten(x - d.mean)
        f = last_if_undefined(outcomes.objectives)
        violated = self._sides.violations(x) > 0
        best = np.argsort(f[:-1], kind="stable")[: int(np.isfinite(f[:-1]).sum())]
        vectors = search.vectors
        for limits, step in zip(violated, z, strict=True):
            vectors = faded(vectors, limits, step)
        mean, sigma, factor, path = d.mean, d.sigma, d.factor, search.state.p_sigma
        if len(best) >= len(p.weights):
            weights = signed_weights(p.n, p.population_size)
            centre = p.weights @ x[best[: len(p.weights)]]
            if not self._set.is_feasible(centre):  # one candidate instead of all
                best, weights, centre = best[:1], np.ones(1), x[best[0]]
            if len(best) > 1 or f[best[0]] < f[-1]:
                step = np.maximum(weights[: len(best)], 0.0) @ z[best]
                path = path_of_steps(path, step, p)
                sigma *= step_size_change(path, p)
                mean, factor = centre, adapted(factor, path, z[best], weights[: len(best)], p)
        factor = shrunk(factor, vectors[violated.any(axis=0)])
        state = replace(
            search.state,
            distribution=replace(d, mean=mean, sigma=sigma),
            p_sigma=path,
            generation=search.state.generation + 1,
        )
        state = with_narrowed_factor(state, factor)
        return replace(search, state=state, anchor=mean, vectors=vectors)


@lru_cache(maxsize=64)
def signed_weights(n: int, population_size: int) -> Floats:
    """Return w (lambda,): positive ones of sum 1, negative ones as in [H16 eqs. 49-53].

    The rates c_1 and c_mu of [BS17] are those of our CMA-ES.
    """
    p = default_parameters(n, population_size)
    raw = np.log((population_size + 1) / 2) - np.log(np.arange(1, population_size + 1))
    rest = raw[len(p.weights) :]
    if p.c_mu == 0:  # one parent: there is no such update
        return np.concatenate((p.weights, np.zeros(len(rest))))
    mu_eff_negative = rest.sum() ** 2 / (rest @ rest)
    total = min(
        1 + p.c_1 / p.c_mu,
        1 + 2 * mu_eff_negative / (p.mu_eff + 2),
        (1 - p.c_1 - p.c_mu) / (n * p.c_mu),
    )
    negative = np.minimum(rest, 0.0)
    return np.concatenate((p.weights, total * negative / -negative.sum()))


def path_of_steps(path: Floats, step: Floats, p: Parameters) -> Floats:
    """Return s (n,) after the weighted mean (n,) of the best z [BS17]."""
    gain = np.sqrt(p.mu_eff * p.c_sigma * (2 - p.c_sigma))
    return np.asarray((1 - p.c_sigma) * path + gain * step, dtype=float)


def step_size_change(path: Floats, p: Parameters) -> float:
    """Return the factor on sigma for the path s (n,).

    DEVIATION: damped as in [BS17]; the program of [SB19] is not (see docs, deviations). The divisor
    is 2 up to mu_eff = n + 2, where both are the same.
    """
    damping = p.d_sigma - p.c_sigma
    return float(np.exp(p.c_sigma / (2 * damping) * (path @ path / p.n - 1)))


def adapted(factor: Floats, path: Floats, z: Floats, weights: Floats, p: Parameters) -> Floats:
    """Return M (n, n) after samples z (k, n) with weights (k,) [BS17 with SB19's weights]."""
    keep = (1 - p.c_1 / 2 - p.c_mu / 2) * np.eye(p.n)
    return factor @ (keep + p.c_1 / 2 * np.outer(path, path) + p.c_mu / 2 * (z.T * weights) @ z)


def shrunk(factor: Floats, vectors: Floats) -> Floats:
    """Return M (n, n) shorter along v (k, n), one after the other [SB19]."""
    for v in vectors:
        factor = factor - narrowing_strength(len(v)) * np.outer(factor @ v, v)
    return factor
