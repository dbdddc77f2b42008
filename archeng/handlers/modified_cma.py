r"""(mu, lambda)-CMA-ES with active constraint handling, after the modified CMA-ES of [CBBD15].

All candidates are simulated, also those that violate limits. After the update of CMA-ES, the search
narrows along the vectors of the limits (:mod:`archeng.handlers.constraint_vectors`) that candidates
of the generation violated. Only whether limits are violated is used, not how much.

[CBBD15] R. Chocat, L. Brevault, M. Balesdent, S. Defoort, Modified Covariance Matrix Adaptation -
Evolution Strategy algorithm for constrained optimization under uncertainty, application to rocket
design, Int. J. Simul. Multisci. Des. Optim. 6, 2015, A1, doi:10.1051/smdo/2015001.
[AH12] see :mod:`archeng.handlers.constraint_vectors`.

==========  =======================================================  ========================
symbol      meaning                                                  name here
==========  =======================================================  ========================
A           factor of C = A A^T                                      ``factor``
v_j         vectors of the limits (k, n)                             ``vectors``
beta        strength of [AH12]                                       ``narrowing_strength``
==========  =======================================================  ========================

Known of [CBBD15], of which only abstract and beginning could be had: CMA-ES(lambda, mu) whose
update is modified, so that the semi-principal axes of the ellipsoid of the search shrink in the
directions that violate constraints; and that it takes relaxable constraints, uses only whether they
are violated, and is invariant to affine maps [SA22 tab:class] (see :mod:`archeng.ranking`). Its
rules and constants are not known, so this is a reading of it and not the published algorithm. Ours:
vectors, rates and the narrowing, once for each infeasible candidate in the order of sampling, are
those of [AH12]; feasible candidates rank first, by the objective, then the infeasible ones, by the
objective. Noise is left to the runner. An equality is refused: no sample satisfies it by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    Population,
    Search,
    as_sampled,
    last_if_undefined,
    plain_search,
    refuse_equalities,
    updated,
)
from archeng.handlers.constraint_vectors import faded, narrowing, narrowing_strength
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample, with_narrowed_factor


@dataclass(frozen=True, eq=False)
class ModifiedSearch(Search):
    """The search with the vectors of the limits."""

    vectors: Floats


class ModifiedCma(Handler[ModifiedSearch]):
    """The (mu, lambda)-CMA-ES with active constraint handling."""

    outside = True
    state_type = ModifiedSearch

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        refuse_equalities(self._set, self._settings.handler)

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> ModifiedSearch:
        """Start a restart: the vectors know nothing."""
        search = plain_search(distribution, anchor, size)
        return ModifiedSearch(**vars(search), vectors=np.zeros((len(self._sides), distribution.n)))

    def ask(
        self, search: ModifiedSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[ModifiedSearch, Population]:
        """Sample; nothing is repaired."""
        x = sample(search.state, search.parameters, rng)
        return search, Population(x, tuple(as_sampled(self._set, point) for point in x))

    def tell(
        self,
        search: ModifiedSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> ModifiedSearch:
        """Update CMA-ES, feasible candidates first; narrow it along limits that were violated."""
        x, d = population.sampled, search.distribution
        violated = self._sides.violations(x) > 0
        infeasible = violated.any(axis=1)
        order = np.lexsort((last_if_undefined(outcomes.objectives), infeasible))
        after = updated(search, x[order], self._settings)
        vectors, factor = search.vectors, after.distribution.factor
        inverse = after.distribution.inverse_factor
        steps = (x[infeasible] - d.mean) / d.sigma
        for limits, step in zip(violated[infeasible], steps, strict=True):
            vectors = faded(vectors, limits, step)
            change = narrowing(vectors[limits] @ inverse.T, narrowing_strength(d.n))
            factor = factor @ change
            inverse = np.asarray(np.linalg.solve(change, inverse), dtype=float)
        return replace(after, state=with_narrowed_factor(after.state, factor), vectors=vectors)
