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
objective, and failed calls last. Noise is left to the runner. An equality is refused: no sample
satisfies it by chance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.handlers.base import Population
from archeng.handlers.constraint_vectors import VectorHandler, VectorSearch, narrowed
from archeng.handlers.rank_based import Ranked
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import with_narrowed_factor


class ModifiedCma(VectorHandler[VectorSearch], Ranked[VectorSearch]):
    """The (mu, lambda)-CMA-ES with active constraint handling."""

    state_type = VectorSearch

    def tell(
        self,
        search: VectorSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> VectorSearch:
        """Update CMA-ES, feasible candidates first; narrow it along limits that were violated."""
        after = super().tell(search, population, outcomes, past, rng)
        vectors, factor = search.vectors, after.distribution.factor
        inverse = after.distribution.inverse_factor
        for record in population.repairs:
            if not record.feasible:
                vectors, limits = self._learned(vectors, search.distribution, record.x)
                factor, inverse = narrowed(factor, inverse, vectors[limits])
        return replace(after, state=with_narrowed_factor(after.state, factor), vectors=vectors)

    def _order(
        self, search: VectorSearch, f: Floats, violations: Floats, rng: np.random.Generator
    ) -> Integers:
        return np.lexsort((f, np.any(violations > 0, axis=1), ~np.isfinite(f)))
