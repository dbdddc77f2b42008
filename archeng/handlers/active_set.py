r"""Active-set (1+1)-ES for explicit constraints [A16, A17].

[A16] D. V. Arnold, An Active-Set Evolution Strategy for Optimization with Known Constraints, PPSN
2016, doi:10.1007/978-3-319-45823-6_18.
[A17] D. V. Arnold, Reconsidering Constraint Release for Active-Set Evolution Strategies, GECCO
2017, doi:10.1145/3071178.3071294.

One parent, one offspring, no covariance matrix. Limits in the *working set* are kept: the
offspring x + sigma z is projected onto the nearest feasible point at which they are all reached.
Limits that an accepted offspring reaches join the set. A limit leaves it when an offspring
made without it (it was *suspended*) is better.

==========  ========================================================  =========================
symbol      meaning                                                   name here
==========  ========================================================  =========================
x, f(x)     parent and its objective                                  ``anchor``, ``objective``
W           working set: rows (k,) and sides (k,), 1 upper -1 lower   ``rows``, ``sides``
n - |W|     dimension that is left                                    ``free``
==========  ========================================================  =========================

What the publications leave open or could not be checked, and what is done here: every second
offspring suspends one limit of the working set, drawn at random, and every one does if no
dimension is left (several limits at a degenerate vertex, until a dimension is left); the step
size follows the 1/5 success rule with damping sqrt(1 + n - |W|), suspended offspring counting
1 / |W| as much. The metric of the projection is that of the initial search distribution. An
equality is a row with two limits like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Distribution, Floats, Integers
from archeng.handlers.base import Handler, Population, Search, plain_search
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repairer, RepairKind
from archeng.strategy import sample

_REACHED = 1e-6  # distance from a limit that counts as reaching it, in standard deviations
_NO_STEP = 1e-10  # offspring nearer to the parent than this are the parent
_NOISE = 32.0  # times the rounding noise of a row


@dataclass(frozen=True, eq=False)
class ActiveSetSearch(Search):
    """The search with its working set; the parent is the anchor."""

    rows: tuple[int, ...]
    sides: Floats
    simulated: bool = False  # whether the parent was simulated
    objective: float | None = None  # of the parent, if its simulation did not fail
    suspended: bool = False  # whether the offspring does without a limit of the working set


class ActiveSet(Handler[ActiveSetSearch]):
    """The active-set (1+1)-ES as a handler; generations have one candidate."""

    state_type = ActiveSetSearch

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> ActiveSetSearch:
        """Start at a feasible point, which is the first candidate."""
        search = plain_search(replace(distribution, mean=anchor), anchor, 1)
        return self._held(ActiveSetSearch(**vars(search), rows=(), sides=np.zeros(0)), anchor)

    def _held(self, search: ActiveSetSearch, x: Floats) -> ActiveSetSearch:
        """Return the search with all limits that are reached at x in the working set."""
        rows, sides = reached_limits(self._repairer, x, search.distribution)
        return replace(search, n_active=len(rows), rows=tuple(rows.tolist()), sides=sides)

    def ask(
        self, search: ActiveSetSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[ActiveSetSearch, Population]:
        """Make the offspring: the parent itself until it was simulated."""
        parent = search.anchor
        if not search.simulated:
            return search, self._unrepaired(parent[None])
        x = sample(search.state, search.parameters, rng)
        rows = np.array(search.rows, dtype=np.intp)
        keep = np.ones(len(rows), dtype=bool)
        surplus = len(rows) - search.parameters.n + 1
        suspended = bool(len(rows) and (surplus > 0 or search.state.generation % 2))
        if suspended:
            keep[rng.permutation(len(rows))[: max(surplus, 1)]] = False
        offspring = self._repairer.project(
            x[0], search.distribution, rows[keep], search.sides[keep], parent
        )
        if search.distribution.distance_squared(offspring.x, parent) < _NO_STEP**2:
            offspring = replace(offspring, kind=RepairKind.UNREPAIRED)
        return replace(search, suspended=suspended), Population(x, (offspring,))

    def tell(
        self,
        search: ActiveSetSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> ActiveSetSearch:
        """Accept a better offspring; adapt working set and step size."""
        objective = float(outcomes.objectives[0])
        better = bool(
            np.isfinite(objective) and (search.objective is None or objective < search.objective)
        )
        sigma = search.distribution.sigma
        if search.simulated:
            free = search.parameters.n - len(search.rows)
            weight = 1 / len(search.rows) if search.suspended else 1.0
            sigma *= step_size_change(better, max(free, 0)) ** weight
        x = population.repairs[0].x if better else search.anchor
        distribution = replace(search.distribution, mean=x, sigma=sigma)
        state = replace(
            search.state, distribution=distribution, generation=search.state.generation + 1
        )
        search = replace(search, state=state, anchor=x, simulated=True)
        return self._held(replace(search, objective=objective), x) if better else search


def step_size_change(success: bool, free: int) -> float:
    """Return the factor on sigma: constant for one success in five offspring."""
    return math.exp((0.8 if success else -0.2) / math.sqrt(1 + free))


def reached_limits(
    repairer: Repairer, x: Floats, distribution: Distribution
) -> tuple[Integers, Floats]:
    """Return rows (k,) and sides (k,) of the limits reached at a feasible x."""
    fs = repairer.feasible_set
    values, jacobian = fs.values_and_jacobian(x)
    with np.errstate(invalid="ignore", over="ignore"):
        norms = np.linalg.norm(jacobian @ distribution.scaled_factor, axis=1)
    norms = np.where(np.isfinite(norms), norms, 0.0)  # infinitely steep at its very limit
    near = _REACHED * norms + _NOISE * fs.rounding_noise(x)
    above, below = values >= fs.upper - near, values <= fs.lower + near
    rows = np.flatnonzero(above | below)
    nearer_above = fs.upper - values <= values - fs.lower
    return rows, np.where(nearer_above[rows], 1.0, -1.0)
