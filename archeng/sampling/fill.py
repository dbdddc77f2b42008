"""Many feasible points that cover the feasible set evenly, not only its edge.

1. A *pool* of points that are uniform on the set, five times as many as asked for. Where enough
   scrambled Sobol points of the box are feasible, these are the pool. Elsewhere (thin sets,
   equalities) points walk on the set (:mod:`archeng.sampling.walk`), from feasible Sobol points
   if there are enough, else from repaired ones and combinations of them.
2. Of the pool, points are chosen that are spread like the pool and far apart
   (:func:`archeng.sampling.spread.representative`).

Uniform means: with respect to volume or, under equalities, to the surface measure, in
coordinates divided by the deviations of the variables. Every step ends in a point at which every
row holds exactly.
"""

from __future__ import annotations

import logging
import time

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.repair import Repairer
from archeng.sampling.fill_levels import level_filling_points
from archeng.sampling.manifold import EqualityManifold, RowEvaluator, equality_manifold
from archeng.sampling.search import FirstPoints, deviations, feasible_points
from archeng.sampling.spread import representative
from archeng.sampling.walk import FeasibleWalk, unlimited_variables, walk_lengths

logger = logging.getLogger(__name__)

_FEW = 5  # up to so many, the most different points are enough
_POOL = 5  # points in the pool for each one that is asked for
_LEAST_POOL, _MOST_POOL = 500, 20_000  # size of the pool, however many are asked for
_BATCH, _MOST_SAMPLES = 2**12, 2**17  # Sobol points of the first batch, and of all
_MOST_TERMS = 2**29  # operations that evaluating the Sobol points may take
_ENOUGH = 100  # points to begin walks at
_WALKERS, _MOST_WORK = 500, 200_000  # points that walk at once, and work of one step of them
_MESSAGE_SECONDS = 5.0  # between two messages about the progress
_SAME = 1e-6  # points no farther apart than this, in deviations, count as one
_SAME_SOLUTION = 1e-4  # the same where equalities leave single points


@one_thread
def space_filling_points(repairer: Repairer, k: int, rng: np.random.Generator) -> Floats:
    """Return k feasible points (k, n) that cover the feasible set evenly.

    Fewer rows come back only if the feasible set has fewer distinct points.

    Raises
    ------
    InfeasibleModelError
        If none is found; it names the rows in conflict at the least violating point.
    """
    if repairer.feasible_set.lattice is not None:
        return level_filling_points(repairer, repairer.feasible_set.lattice, k, rng)
    if k <= _FEW:
        return feasible_points(repairer, k, rng)
    fs = repairer.feasible_set
    scale, rows = deviations(fs), RowEvaluator(fs)
    size = max(min(_POOL * k, _MOST_POOL), _LEAST_POOL, k)
    pool, same = _accepted(rows, size, rng), _SAME
    if len(pool) < size:
        uniform = len(pool) >= _ENOUGH
        starts = pool if uniform else _repaired(repairer, pool, rng)
        manifold = equality_manifold(rows, scale, starts)
        if manifold.dimension == 0:
            pool, same = starts, _SAME_SOLUTION
        else:
            if not uniform:
                starts = np.concatenate((starts, _inner(manifold, starts, rng)))
            walked = _walked(manifold, starts, uniform, size - len(pool), rng)
            pool = np.concatenate((pool, walked))

    def choose(points: Floats) -> Floats:
        z = (points - points.mean(axis=0)) / scale
        return points[representative(z, k, same, rng)]

    points = choose(pool)
    if _ENOUGH // 4 <= len(points) < k and same == _SAME:
        logger.warning(
            "Points do not move on the feasible set of %r, perhaps because inequalities leave it "
            "no room: an equality should be written as ==. Repairing samples instead: slow.",
            fs.name,
        )
        points = choose(np.concatenate((points, feasible_points(repairer, k, rng))))
    if len(points) < k:
        logger.warning("The feasible set of %r has only %d different points.", fs.name, len(points))
    return points


def _accepted(rows: RowEvaluator, size: int, rng: np.random.Generator) -> Floats:
    """Return feasible ones among Sobol points of the box; none if that cannot work."""
    fs = rows.feasible_set
    low, high = fs.box()
    accepted = np.zeros((0, fs.n))
    if np.any(fs.equality) or not fs.boxed.all():
        return accepted
    from scipy.stats import qmc

    sobol = qmc.Sobol(fs.n, seed=rng)
    samples, batch = 0, _BATCH
    most = min(_MOST_SAMPLES, _MOST_TERMS // rows.terms)
    while samples < max(most, _BATCH) and len(accepted) < size:
        x = np.clip(low + sobol.random(batch) * (high - low), low, high)
        accepted = np.concatenate((accepted, x[rows.hold(x)]))
        samples, batch = samples + batch, samples + batch
        if len(accepted) == 0:
            break
    logger.info("%d of %d samples of the box are feasible", len(accepted), samples)
    return accepted[:size]


def _repaired(repairer: Repairer, feasible: Floats, rng: np.random.Generator) -> Floats:
    """Return feasible points and repaired samples, to begin walks at."""
    search = FirstPoints(repairer, rng)
    repairs = search.repairs(_ENOUGH // 10)
    if len(repairs) >= _ENOUGH // 10:
        more, _ = search.repaired_samples((_ENOUGH - len(repairs)) // 2, before=len(repairs))
        repairs += more
    logger.info("%d repaired samples to begin at", len(repairs))
    return np.concatenate((feasible, [r.x for r in repairs]))


def _walked(
    manifold: EqualityManifold, starts: Floats, uniform: bool, size: int, rng: np.random.Generator
) -> Floats:
    """Return points that have walked from the starts, which may be uniform on the set already."""
    middle = manifold.nearby(starts)
    starts = np.where(manifold.rows.hold(middle)[:, None], middle, starts)
    work = max(manifold.scale.size * manifold.indices.size, manifold.rows.terms // 10, 1)
    count = min(-(-size // 2), _WALKERS, max(_MOST_WORK // work, _ENOUGH))
    begin = starts[rng.permutation(len(starts))[np.arange(count) % len(starts)]]
    walk = FeasibleWalk(manifold, begin, unlimited_variables(manifold, starts), rng)
    first, between = walk_lengths(manifold)
    first = first // 4 if uniform else first
    between = max(2, min(between, between * 2 * count // _WALKERS))
    steps = first + between * (-(-size // count) - 1)
    logger.info("%d points walk %d steps", count, steps)
    pool, last = [], time.monotonic()
    for step in range(1, steps + 1):
        walk.step(learn=step <= first)
        if step >= first and (step - first) % between == 0:
            pool.append(walk.points.copy())
        if time.monotonic() - last > _MESSAGE_SECONDS:
            last = time.monotonic()
            logger.info("%d of %d steps done", step, steps)
    points = np.concatenate((*pool, starts))
    return points[manifold.rows.hold(points)][:size]


def _inner(manifold: EqualityManifold, starts: Floats, rng: np.random.Generator) -> Floats:
    """Return feasible ones among random combinations of the points: they lie farther inside."""
    weights = rng.dirichlet(np.full(len(starts), 0.05), size=4 * _ENOUGH)
    weights[::2] = rng.dirichlet(np.full(len(starts), 1.0), size=2 * _ENOUGH)
    x = manifold.nearby(weights @ starts)
    return x[manifold.rows.hold(x)]
