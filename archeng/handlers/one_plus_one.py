r"""(1+1)-CMA-ES with active constraint handling [AH12].

One parent, one offspring, and a factor of the covariance matrix that is updated directly [AH10].
An offspring that violates a limit is not simulated: it turns the vectors of the limits that it
violates (:mod:`archeng.handlers.constraint_vectors`), variance is taken out along them, and the
next one is drawn. Only whether limits are violated is used, not how much.

[AH12] D. V. Arnold, N. Hansen, A (1+1)-CMA-ES for Constrained Optimisation, GECCO 2012,
doi:10.1145/2330163.2330207.
[AH10] The same, Active Covariance Matrix Adaptation for the (1+1)-CMA-ES, GECCO 2010,
doi:10.1145/1830483.1830556.

==============  =======================================================  ====================
symbol          meaning                                                  name here
==============  =======================================================  ====================
x, f(x)         parent and its objective                                 ``anchor``
A               factor of C = A A^T                                      ``factor``
s               search path of successful steps (n,)                     ``state.p_c``
v_j             vectors of the limits (k, n)                             ``vectors``
P_succ          fading share of offspring that are as good or better     ``success``
z               whitened step A^{-1} (y - x) / sigma of an offspring y   ``z``
d, c_p          damping 1 + n/2 of sigma, rate of P_succ                 ``step_size_change``,
                                                                         ``SUCCESS_RATE``
c               rate 2 / (n + 2) of the path                             ``updated_path``
c_cov+, c_cov-  weights in C: 2 / (n^2 + 6) of good steps, at most       ``rank_one``,
                0.4 / (n^1.6 + 1) of bad ones                            ``bad_step_weight``
==============  =======================================================  ====================

Known of the publication: the rules and constants above, and those of the vectors (they were
compared with two public implementations: DEAP, ``StrategyActiveOnePlusLambda``, and
github.com/LsTam91/elitist_constrained_es). Its text and tables could not be had, so its figures are
not compared. Public programs, DEAP among them, keep the threshold of the (1+1)-CMA-ES of Igel,
Suttorp and Hansen (GECCO 2006), by which a good step enters path and C only while P_succ < 0.44; it
is left out here. Ours: every finite side of a row, bounds included, is a limit with a vector of its
own. The fifth-order ancestor counts the parent as the first. A failed simulation is an offspring
that is worse than all others. An offspring is drawn at most ``_MOST_SAMPLES`` times; if none is
feasible, the generation makes no call. C relative to the initial one keeps a condition number below
1e24. An equality is refused: no sample satisfies it by chance. There is one offspring, whatever
``population_size`` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import Population, as_sampled
from archeng.handlers.constraint_vectors import VectorHandler, VectorSearch, narrowed
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample, with_narrowed_factor

TARGET_SUCCESS = 2 / 11  # P_target [AH12]
SUCCESS_RATE = 1 / 12  # c_p [AH12]
_BAD_STEP, _BAD_POWER = 0.4, 1.6  # c_cov- is at most 0.4 / (n^1.6 + 1) [AH10]
_ANCESTORS = 5  # an offspring that is worse than this ancestor is a bad step [AH10]
_MOST_SAMPLES = 500  # draws of one offspring


@dataclass(frozen=True, eq=False)
class OnePlusOneSearch(VectorSearch):
    """The search with the vectors of the limits; the parent is the anchor."""

    ancestors: Floats  # objectives of the last parents, the present one last
    success: float = TARGET_SUCCESS
    simulated: bool = False  # whether the parent was simulated


class OnePlusOne(VectorHandler[OnePlusOneSearch]):
    """The (1+1)-CMA-ES with active constraint handling; generations have one candidate."""

    state_type = OnePlusOneSearch

    def init(
        self, distribution: Distribution, anchor: Floats, size: int | None
    ) -> OnePlusOneSearch:
        """Start at a feasible point, which is the first candidate."""
        return super().init(replace(distribution, mean=anchor), anchor, 1)

    def _memory(self, distribution: Distribution) -> dict[str, Any]:
        return {**super()._memory(distribution), "ancestors": np.zeros(0)}

    def ask(
        self, search: OnePlusOneSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[OnePlusOneSearch, Population]:
        """Draw offspring until one is feasible, learning from the others; first the parent."""
        if not search.simulated:
            x, search = search.anchor, replace(search, simulated=True)
            return search, self._unrepaired(x[None])
        distribution, vectors = search.distribution, search.vectors
        for _ in range(_MOST_SAMPLES):
            state = replace(search.state, distribution=distribution)
            x = sample(state, search.parameters, rng)[0]
            record = as_sampled(self._set, x)
            if record.feasible:
                break
            vectors, violated = self._learned(vectors, distribution, x)
            factor, inverse = narrowed(
                distribution.factor, distribution.inverse_factor, vectors[violated]
            )
            distribution = replace(distribution, factor=factor, inverse_factor=inverse)
        if distribution is not search.distribution:
            state = with_narrowed_factor(search.state, distribution.factor)
            search = replace(search, state=state, vectors=vectors)
        return search, Population(x[None], (record,))

    def tell(
        self,
        search: OnePlusOneSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> OnePlusOneSearch:
        """Accept an offspring that is as good; adapt step size and factor."""
        state, x = search.state, population.repairs[0].x
        state = replace(state, generation=state.generation + 1)
        search = replace(search, state=state)
        if not population.repairs[0].feasible:
            return search
        objective = float(outcomes.objectives[0])
        objective = objective if math.isfinite(objective) else math.inf
        if state.generation == 1:  # the parent itself
            known = np.array([objective] if math.isfinite(objective) else [])
            return replace(search, ancestors=known)
        parent = search.ancestors[-1] if len(search.ancestors) else math.inf
        better = math.isfinite(objective) and objective <= parent
        return self._adapted(search, x, objective, better)

    def _adapted(
        self, search: OnePlusOneSearch, x: Floats, objective: float, better: bool
    ) -> OnePlusOneSearch:
        """Adapt the share of successes, sigma, path and factor [AH12]."""
        state, d, ancestors = search.state, search.distribution, search.ancestors
        n, z = d.n, d.whiten(x - d.mean)
        success = (1 - SUCCESS_RATE) * search.success + SUCCESS_RATE * better
        sigma = d.sigma * step_size_change(success, n)
        if better:
            path = updated_path(state.p_c, d.factor @ z)
            change = rank_one(d.inverse_factor @ path, 2 / (n**2 + 6))
            ancestors = np.append(ancestors, objective)[-_ANCESTORS:]
            state = replace(state, p_c=path, distribution=replace(d, mean=x, sigma=sigma))
            search = replace(search, anchor=x)
        else:
            bad = len(ancestors) == _ANCESTORS and objective > ancestors[0]
            change = rank_one(z, -bad_step_weight(z)) if bad else np.eye(n)
            state = replace(state, distribution=replace(d, sigma=sigma))
        state = with_narrowed_factor(state, d.factor @ change)
        return replace(search, state=state, success=success, ancestors=ancestors)


def step_size_change(success: float, n: int) -> float:
    """Return the factor on sigma, with damping d = 1 + n / 2 [AH12]."""
    return math.exp((success - TARGET_SUCCESS) / (1 - TARGET_SUCCESS) / (1 + n / 2))


def updated_path(path: Floats, step: Floats) -> Floats:
    """Return s after a successful step A z (n,), with c = 2 / (n + 2) [AH12]."""
    c = 2 / (len(step) + 2)
    return (1 - c) * path + math.sqrt(c * (2 - c)) * step


def rank_one(w: Floats, weight: float) -> Floats:
    """Return M (n, n), so that A M is a factor of (1 - c) C + c (A w) (A w)^T [AH10].

    ``weight`` is c: c_cov+ for a good step, -c_cov- for a bad one.
    """
    square = float(w @ w)
    root = math.sqrt(1 - weight)
    if square == 0:
        return root * np.eye(len(w))
    stretch = math.sqrt(max(1 + weight * square / (1 - weight), 0.0)) - 1
    return root * (np.eye(len(w)) + stretch / square * np.outer(w, w))


def bad_step_weight(z: Floats) -> float:
    """Return c_cov-, small enough for C to stay positive definite [AH10]."""
    most = _BAD_STEP / (len(z) ** _BAD_POWER + 1)
    square = float(z @ z)
    return float(min(most, 1 / (2 * square - 1))) if 2 * square > 1 else float(most)
