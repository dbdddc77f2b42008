"""Finding the first feasible points, also on equality manifolds.

Three sources, in this order: repaired uniform samples (multi-start), the paper's CMA-ES on
the sum of constraint ranks [SA22 ssec:vs-aal-mcr, 7.3] if those fail, and repaired combinations of
the points found so far, which fill the interior. Of the pool, the most different points are
kept (greedy maximin in units of the initial deviations).

[SA22] Sakamoto and Akimoto 2022, doi:10.1162/evco_a_00310, arXiv:1811.00764.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import (
    Floats,
    diagonal_distribution,
    initial_distribution,
)
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet
from archeng.ranking import mid_ranks
from archeng.repair import Repair, Repairer
from archeng.sampling.levels import Differences, combined, latin_points
from archeng.sampling.spread import farthest
from archeng.strategy import default_parameters, initial_state, sample, update

logger = logging.getLogger("archeng")

SEARCH_SECONDS = 120.0
"""A search that has found nothing by then is ended, unless ``max_time`` says otherwise."""
_QUIET = 10.0  # seconds before the first message; each further one after three times as long
_LEAST_ATTEMPTS = 40  # uniform samples that are repaired before the search by CMA-ES
_CMA_RUNS = 5  # runs of that search, each from another uniform point
_CMA_GENERATIONS = 100  # generations of each run


def deviations(feasible_set: FeasibleSet) -> Floats:
    """Return the initial standard deviation (n,) of each free variable.

    Raises
    ------
    ModelError
        If a variable has neither both bounds nor a scale.
    """
    fs = feasible_set
    bad = [
        name
        for name, b, s, x in zip(fs.free_names, fs.boxed, fs.scale, fs.start, strict=True)
        if not b and (np.isnan(s) or np.isnan(x))
    ]
    if bad:
        raise ModelError(
            f"Variable {', '.join(bad)} has no lower and upper bound (or they are farther apart "
            "than 1e30), so archeng cannot tell where to search. Give it both bounds, or start= "
            "and scale= (a typical change)."
        )
    return fs.scale


@one_thread
def feasible_points(
    repairer: Repairer, k: int, rng: np.random.Generator, max_time: float | None = None
) -> Floats:
    """Return k feasible points (k, n), as different as possible.

    Fewer rows come back only if the feasible set has fewer distinct points, or ``max_time``
    (seconds) is up.

    Raises
    ------
    InfeasibleModelError
        If none is found; it names the rows in conflict at the least violating point.
    """
    search = FirstPoints(repairer, rng, max_time)
    pool = [r.x for r in search.repairs(k)]
    points = np.array(pool + search.combinations(pool, 3 * k))
    first = int(rng.integers(len(points)))
    lattice = repairer.feasible_set.lattice
    if lattice is None:
        return points[farthest(search.wide.whiten(points), k, first)[0]]
    return points[Differences.of_points(repairer.feasible_set, lattice, points).farthest(k, first)]


class SearchDeadline:
    """How long the search for a first feasible design may take, and what is said meanwhile.

    ``max_time`` is the user's limit, in seconds from now; it also ends the search for further
    designs. ``name`` is that of the model, for messages.
    """

    def __init__(self, name: str, max_time: float | None = None) -> None:
        self._name, self._max_time = name, max_time
        self._limit = SEARCH_SECONDS if max_time is None else max_time
        self._begin, self._next_message = time.monotonic(), _QUIET

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._begin

    @property
    def ended(self) -> bool:
        """Whether the time is up."""
        return self.seconds >= self._limit

    def over(self, points: int, attempts: int) -> bool:
        """Whether to end the search now, with so many feasible points in so many attempts.

        Without a limit by the user, a search that has found a point goes on as ever, so that a run
        does not depend on the speed of the machine.
        """
        if not points and self.seconds >= self._next_message:
            self._next_message *= 3
            logger.warning(
                "no feasible design of %s found yet (%.0f s, %d attempts); the search ends after "
                "%.0f s", self._name, self.seconds, attempts, self._limit,
            )  # fmt: skip
        return self.ended and (not points or self._max_time is not None)


class FirstPoints:
    """One search for feasible points.

    ``wide`` has the initial deviations, around zero: the metric of the repairs.
    """

    def __init__(
        self, repairer: Repairer, rng: np.random.Generator, max_time: float | None = None
    ) -> None:
        self._repairer, self._rng, self._fs = repairer, rng, repairer.feasible_set
        self.wide = initial_distribution(np.zeros(self._fs.n), deviations(self._fs))
        self._deadline = SearchDeadline(self._fs.name, max_time)

    def repairs(self, k: int) -> list[Repair]:
        """Return up to 2k repaired samples, or the answer of CMA-ES if none can be repaired.

        Raises
        ------
        InfeasibleModelError
            If nothing is found.
        """
        feasible, failed = self.repaired_samples(k)
        if not feasible and not self._deadline.ended:
            feasible = self._rank_sum_search()
        if not feasible:
            raise self._no_feasible_point(failed)
        return feasible

    def repaired_samples(self, k: int, before: int = 0) -> tuple[list[Repair], list[Repair]]:
        """Repair uniform samples until there are 2k feasible ones or the attempts are used up.

        Returns the feasible and the failed ones. ``before`` feasible points were found earlier.
        """
        start = self._fs.start
        feasible: list[Repair] = []
        failed: list[Repair] = []
        attempts = max(4 * k, 20)
        for i in range(max(attempts, _LEAST_ATTEMPTS)):
            x = start if i == 0 and np.all(np.isfinite(start)) else self._uniform()
            repair = self._repairer.repair(x, self.wide, feasible[-1].x if feasible else None)
            (feasible if repair.feasible else failed).append(repair)
            if len(feasible) >= 2 * k or (feasible and i >= attempts):
                break
            if self._deadline.over(before + len(feasible), i + 1):
                break
        return feasible, failed

    def combinations(self, pool: list[Floats], k: int) -> list[Floats]:
        """Repaired random combinations of k pairs of feasible points."""
        points = []
        for _ in range(k):
            if self._deadline.over(len(pool), 0):
                break
            i, j = self._rng.integers(len(pool), size=2)
            t = self._rng.uniform(-0.1, 1.1)
            repair = self._repairer.repair(self._between(pool[i], pool[j], t), self.wide, pool[i])
            if repair.feasible:
                points.append(repair.x)
        return points

    def _between(self, a: Floats, b: Floats, t: float) -> Floats:
        lattice = self._fs.lattice
        between: Floats = a + t * (b - a)
        return between if lattice is None else combined(lattice, a, b, t, self._rng)

    def _uniform(self) -> Floats:
        """Uniform in the box and over the levels; normal around the start where there is no box."""
        fs, rng = self._fs, self._rng
        if fs.lattice is not None:
            return np.asarray(latin_points(fs, fs.lattice, 1, rng)[0])
        low, high = fs.box()
        u, z = rng.random(fs.n), rng.standard_normal(fs.n)
        with np.errstate(invalid="ignore", over="ignore"):
            inside = low + u * (high - low)
        return np.where(fs.boxed, inside, fs.start + np.diag(self.wide.scaled_factor) * z)

    def _rank_sum_search(self) -> list[Repair]:
        """CMA-ES on the sum of the mid-ranks of all violations [SA22 ssec:vs-aal-mcr, 7.3].

        The best candidate of each generation is also repaired: under equalities that is what
        turns a nearly feasible point into a feasible one.
        """
        wide, parameters = self.wide, default_parameters(self._fs.n)
        for _ in range(_CMA_RUNS):
            mean = self._uniform()
            begun = replace(wide, mean=mean)
            state = initial_state(diagonal_distribution(begun) if self._fs.has_many else begun)
            for generation in range(_CMA_GENERATIONS):
                candidates = sample(state, parameters, self._rng)
                violations = np.array([self._fs.violations(self._design(x)) for x in candidates])
                loss = np.sum([mid_ranks(column) for column in violations.T], axis=0)
                order = np.argsort(loss, kind="stable")
                if generation % 10 == 9:
                    repair = self._repairer.repair(candidates[order[0]], state.distribution)
                    if repair.feasible:
                        return [repair]
                if self._deadline.over(0, _LEAST_ATTEMPTS):
                    return []
                state = update(state, parameters, candidates[order], "covariant")
        return []

    def _design(self, x: Floats) -> Floats:
        """Return a point with its discrete coordinates at levels."""
        return x if self._fs.lattice is None else self._fs.lattice.decode(x)

    def _no_feasible_point(self, failed: list[Repair]) -> InfeasibleModelError:
        """Name the rows violated or active at the point that violates least."""
        fs = self._fs

        def total(x: Floats) -> float:
            values, jacobian = fs.values_and_jacobian(x)
            with np.errstate(invalid="ignore", over="ignore"):
                norms = np.linalg.norm(jacobian @ self.wide.scaled_factor, axis=1)
                size = np.where(np.isfinite(norms) & (norms > 0), norms, 1.0)
                return float(np.sum(np.minimum(fs.violations_of(values) / size, 1e6)))

        best = min(failed, key=lambda r: total(r.x))
        violations = fs.violations(best.x)
        violated = [j for j in range(fs.m) if violations[j] > 0]
        others = [j for j in best.active if j not in violated]
        lines = [f"  {fs.rows[j]}: violated by {violations[j]:.3g}" for j in violated]
        lines += [f"  {fs.rows[j]}: at its limit" for j in others]
        effort = f"{len(failed)} attempts"
        if self._deadline.ended:
            effort = (
                f"{self._deadline.seconds:.0f} s ({effort}), and then the search was ended; there "
                "may be one (a larger max_time= allows a longer search)"
            )
        advice = "Relax one of them, or give the variables a start= near a feasible design."
        if fs.lattice is not None:
            advice += (
                " `archeng check`, or archeng.diagnose(model), says whether the values of discrete "
                "variables are the reason, and which ones."
            )
        return InfeasibleModelError(
            f"No feasible design of model {fs.name!r} was found in {effort}. At the "
            f"least violating point these constraints are in conflict:\n"
            + "\n".join(lines)
            + "\n"
            + advice,
            [str(fs.rows[j]) for j in (*violated, *others)],
        )
