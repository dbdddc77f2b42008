"""Finding the first feasible points, also on equality manifolds.

Three sources, in this order: repaired uniform samples (multi-start), the paper's CMA-ES on
the sum of constraint ranks [SA22 ssec:vs-aal-mcr] if those fail, and repaired combinations of
the points found so far, which fill the interior. Of the pool, the most different points are
kept (greedy maximin in units of the initial deviations).
"""

from __future__ import annotations

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats, initial_distribution
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet
from archeng.ranking import mid_ranks
from archeng.repair import Repair, Repairer
from archeng.sampling.patience import Patience
from archeng.sampling.spread import farthest
from archeng.strategy import default_parameters, initial_state, sample, update

_MOST_ATTEMPTS = 40
_CMA_GENERATIONS = 100


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
    repairer: Repairer, k: int, rng: np.random.Generator, patience: Patience | None = None
) -> Floats:
    """Return k feasible points (k, n), as different as possible.

    Fewer rows come back only if the feasible set has fewer distinct points, or the user's time is
    up.

    Raises
    ------
    InfeasibleModelError
        If none is found; it names the rows in conflict at the least violating point.
    """
    fs = repairer.feasible_set
    wide = initial_distribution(np.zeros(fs.n), deviations(fs))
    patience = patience or Patience(fs.name)
    pool = [r.x for r in first_points(repairer, wide, k, rng, patience)]
    pool += _combinations(repairer, wide, pool, 3 * k, rng, patience)
    points = np.array(pool)
    chosen, _ = farthest(wide.whiten(points), k, int(rng.integers(len(points))))
    return points[chosen]


def first_points(
    repairer: Repairer,
    wide: Distribution,
    k: int,
    rng: np.random.Generator,
    patience: Patience | None = None,
) -> list[Repair]:
    """Return up to 2k repaired samples, or the answer of the search if none can be repaired.

    Raises
    ------
    InfeasibleModelError
        If nothing is found.
    """
    patience = patience or Patience(repairer.feasible_set.name)
    found, failed = repaired_samples(repairer, wide, k, rng, patience)
    if not found and not patience.ended:
        found = _rank_sum_search(repairer, wide, rng, patience)
    if not found:
        raise _no_feasible_point(repairer.feasible_set, failed, wide, patience)
    return found


def _uniform(fs: FeasibleSet, wide: Distribution, rng: np.random.Generator) -> Floats:
    """Uniform in the box; normal around the start where there is no box."""
    low, high = fs.box()
    u, z = rng.random(fs.n), rng.standard_normal(fs.n)
    with np.errstate(invalid="ignore", over="ignore"):
        inside = low + u * (high - low)
    return np.where(fs.boxed, inside, fs.start + np.diag(wide.scaled_factor) * z)


def repaired_samples(
    repairer: Repairer,
    wide: Distribution,
    k: int,
    rng: np.random.Generator,
    patience: Patience | None = None,
) -> tuple[list[Repair], list[Repair]]:
    """Repair uniform samples until there are 2k feasible ones or the attempts are used up."""
    fs = repairer.feasible_set
    found: list[Repair] = []
    failed: list[Repair] = []
    attempts = max(4 * k, 20)
    for i in range(max(attempts, _MOST_ATTEMPTS)):
        x = fs.start if i == 0 and np.all(np.isfinite(fs.start)) else _uniform(fs, wide, rng)
        anchor = found[-1].x if found else None
        repair = repairer.repair(x, wide, anchor)
        (found if repair.feasible else failed).append(repair)
        if len(found) >= 2 * k or (found and i >= attempts):
            break
        if patience is not None and patience.over(len(found), i + 1):
            break
    return found, failed


def _rank_sum_search(
    repairer: Repairer, wide: Distribution, rng: np.random.Generator, patience: Patience
) -> list[Repair]:
    """CMA-ES on the sum of the mid-ranks of all violations [SA22 ssec:vs-aal-mcr].

    The best candidate of each generation is also repaired: under equalities that is what
    turns a nearly feasible point into a feasible one.
    """
    fs = repairer.feasible_set
    parameters = default_parameters(fs.n)
    for _ in range(5):
        mean = _uniform(fs, wide, rng)
        state = initial_state(Distribution(mean, wide.sigma, wide.factor, wide.inverse_factor))
        for generation in range(_CMA_GENERATIONS):
            candidates = sample(state, parameters, rng)
            violations = np.array([fs.violations(x) for x in candidates])
            loss = np.sum([mid_ranks(column) for column in violations.T], axis=0)
            order = np.argsort(loss, kind="stable")
            if generation % 10 == 9:
                repair = repairer.repair(candidates[order[0]], state.distribution)
                if repair.feasible:
                    return [repair]
            if patience.over(0, _MOST_ATTEMPTS):
                return []
            state = update(state, parameters, candidates[order], "covariant")
    return []


def _combinations(
    repairer: Repairer,
    wide: Distribution,
    pool: list[Floats],
    k: int,
    rng: np.random.Generator,
    patience: Patience,
) -> list[Floats]:
    """Repaired random combinations of pairs of feasible points."""
    points = []
    for _ in range(k):
        if patience.over(len(pool), 0):
            break
        i, j = rng.integers(len(pool), size=2)
        t = rng.uniform(-0.1, 1.1)
        repair = repairer.repair(pool[i] + t * (pool[j] - pool[i]), wide, pool[i])
        if repair.feasible:
            points.append(repair.x)
    return points


def _no_feasible_point(
    fs: FeasibleSet, failed: list[Repair], wide: Distribution, patience: Patience
) -> InfeasibleModelError:
    """Name the rows violated or active at the point that violates least."""

    def scaled(x: Floats) -> Floats:
        values, jacobian = fs.values_and_jacobian(x)
        with np.errstate(invalid="ignore", over="ignore"):
            norms = np.linalg.norm(jacobian @ wide.scaled_factor, axis=1)
            size = np.where(np.isfinite(norms) & (norms > 0), norms, 1.0)
            return np.asarray(fs.violations_of(values) / size, dtype=float)

    best = min(failed, key=lambda r: float(np.sum(np.minimum(scaled(r.x), 1e6))))
    violations = fs.violations(best.x)
    violated = [j for j in range(fs.m) if violations[j] > 0]
    others = [j for j in best.active if j not in violated]
    lines = [f"  {fs.rows[j]}: violated by {violations[j]:.3g}" for j in violated]
    lines += [f"  {fs.rows[j]}: at its limit" for j in others]
    found_in = f"{len(failed)} attempts"
    if patience.ended:
        found_in = (
            f"{patience.seconds:.0f} s ({found_in}), and then the search was ended; there may be "
            "one (a larger max_time= allows a longer search)"
        )
    return InfeasibleModelError(
        f"No feasible design of model {fs.name!r} was found in {found_in}. At the "
        f"least violating point these constraints are in conflict:\n" + "\n".join(lines) + "\n"
        "Relax one of them, or give the variables a start= near a feasible design.",
        [str(fs.rows[j]) for j in (*violated, *others)],
    )
