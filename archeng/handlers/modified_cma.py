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

from dataclasses import replace

import numpy as np

from archeng.handlers.base import Population, last_if_undefined, updated
from archeng.handlers.constraint_vectors import (
    VectorHandler,
    VectorSearch,
    faded,
    narrowing,
    narrowing_strength,
)
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import sample, with_narrowed_factor


class ModifiedCma(VectorHandler[VectorSearch]):
    """The (mu, lambda)-CMA-ES with active constraint handling."""

    outside = True
    state_type = VectorSearch

    def ask(
        self, search: VectorSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[VectorSearch, Population]:
        """Sample; nothing is repaired."""
        return search, self._unrepaired(sample(search.state, search.parameters, rng))

    def tell(
        self,
        search: VectorSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> VectorSearch:
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
