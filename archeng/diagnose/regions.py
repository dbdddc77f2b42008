"""How large the feasible set is, and in how many pieces: both by sampling.

Shares that plain samples cannot see are estimated by *splitting*: of points in the box, the tenth
that violates least is kept and multiplied by random steps that do not violate more, and so on
until designs are feasible. Each stage is a factor of ten (subset simulation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archeng.diagnose.system import System
from archeng.distribution import Distribution
from archeng.model.variable import Floats
from archeng.repair import Repairer

_CHAINS = 800
_CHEAP = 20_000  # chains times rows that are affordable
_STEPS = 15
_STAGES = 12
_KEPT = 0.1
_SPREAD = 0.7  # two standard deviations of the logarithm of one stage
_GAP = 0.05  # pieces nearer to each other than this many scales count as one
_DEPTH = 5
_TRIES = 120
_STRIDES = 60


@dataclass(frozen=True)
class Share:
    """Estimated share of the box that is feasible.

    Attributes
    ----------
    value, low, high : float
        Estimate and a rough 95 % range.
    samples : int
        Points that were looked at.
    inequalities_only : bool
        Whether there are equalities, which have no volume and were left out.
    """

    value: float
    low: float
    high: float
    samples: int
    inequalities_only: bool


def feasible_share(system: System, samples: int, rng: np.random.Generator) -> Share | None:
    """Estimate the share of the box that is feasible; None without a finite box or inequalities."""
    chosen = [
        k
        for k, limit in enumerate(system.limits)
        if limit.quantity < system.m and not system.quantities[limit.quantity].equality
    ]
    equalities = any(q.equality for q in system.quantities)
    if not chosen or system.n == 0 or not np.all(np.isfinite(system.upper - system.lower)):
        return None

    def worst(points: Floats) -> Floats:
        return np.asarray(np.minimum(system.excess(points)[:, chosen].max(axis=1), 1e300))

    points = system.sample(samples, rng)
    hits = int(np.sum(worst(points) <= 0))
    if hits:
        return Share(hits / samples, *_wilson(hits, samples), samples, equalities)
    chains = int(np.clip(_CHEAP // len(chosen), _CHAINS // 4, _CHAINS))
    value, stages, used = _split(worst, points[:chains], system, rng)
    high = _wilson(0, samples)[1]
    if value == 0.0:
        return Share(0.0, 0.0, high, samples + used, equalities)
    spread = float(np.exp(_SPREAD * np.sqrt(stages)))
    return Share(
        min(value, high), value / spread, min(value * spread, high), samples + used, equalities
    )


def _wilson(hits: int, samples: int) -> tuple[float, float]:
    """95 % range of a share."""
    z = 1.96
    p, n = hits / samples, samples
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def _split(
    worst: Callable[[Floats], Floats], points: Floats, system: System, rng: np.random.Generator
) -> tuple[float, int, int]:
    """Return the estimate, the number of stages and the number of points; 0 if it gave up."""
    width = system.upper - system.lower
    excess = worst(points)
    estimate, used, reach = 1.0, 0, 0.3
    for stage in range(_STAGES):
        hits = float(np.mean(excess <= 0))
        if hits >= _KEPT:
            return estimate * hits, stage, used
        order = np.argsort(excess, kind="stable")
        keep = order[: max(int(_KEPT * len(points)), 1)]
        level = max(float(excess[keep[-1]]), 0.0)
        estimate *= float(np.mean(excess <= level))
        seeds = rng.choice(keep, len(points))
        points, excess = points[seeds], excess[seeds]
        for _ in range(_STEPS):
            moved = rng.random(points.shape) < max(2.0 / system.n, 0.2)
            step = reach * width * rng.standard_normal(points.shape) * moved
            trial = _reflected(points + step, system.lower, system.upper)
            value = worst(trial)
            used += len(points)
            good = value <= level
            points = np.where(good[:, None], trial, points)
            excess = np.where(good, value, excess)
            reach = float(np.clip(reach * np.exp(np.mean(good) - 0.3), 1e-6, 0.5))
    return 0.0, _STAGES, used


def _reflected(points: Floats, lower: Floats, upper: Floats) -> Floats:
    """Fold points back into the box."""
    width = upper - lower
    t = np.mod(points - lower, 2 * width)
    return np.asarray(lower + np.where(t > width, 2 * width - t, t), dtype=float)


def pieces(repairer: Repairer, wide: Distribution, points: Floats) -> tuple[list[list[int]], bool]:
    """Group feasible points (k, n) by the pieces of the feasible set that they lie in.

    Two points are in one piece if a path of feasible designs between them is found: a straight
    line, one that bends with the repaired midpoints, or short repaired steps from one to the
    other. The second answer says whether all pairs of groups were tried.
    """
    label = list(range(len(points)))
    z = wide.whiten(points)
    gaps = np.linalg.norm(z[:, None] - z[None, :], axis=2)
    pairs = sorted(
        (float(gaps[i, j]), i, j) for i in range(len(points)) for j in range(i + 1, len(points))
    )
    failed: dict[tuple[int, int], int] = {}
    tries = 0
    for _, i, j in pairs:
        a, b = sorted((label[i], label[j]))
        if a == b or failed.get((a, b), 0) >= 4:
            continue
        if tries >= _TRIES:
            break
        tries += 1
        p, q = points[i], points[j]
        if (
            _connected(repairer, wide, p, q, _DEPTH)
            or _walks(repairer, wide, p, q)
            or _walks(repairer, wide, q, p)
        ):
            label = [a if c == b else c for c in label]
        else:
            failed[a, b] = failed.get((a, b), 0) + 1
    groups = [[i for i, c in enumerate(label) if c == piece] for piece in dict.fromkeys(label)]
    return sorted(groups, key=len, reverse=True), tries < _TRIES


def _connected(repairer: Repairer, wide: Distribution, a: Floats, b: Floats, depth: int) -> bool:
    """Whether a path of feasible designs from a to b is found."""
    fs = repairer.feasible_set
    distance = wide.distance_squared(a, b)
    if distance < _GAP**2:
        return True
    if not fs.equality.any() and all(
        fs.is_feasible(a + t * (b - a)) for t in np.linspace(0, 1, 2**depth // 4 + 3)[1:-1]
    ):
        return True
    if depth == 0:
        return False
    middle = repairer.towards((a + b) / 2, wide, a)
    if not middle.feasible:
        return False
    nearer = 0.95**2 * distance
    m = middle.x
    if max(wide.distance_squared(a, m), wide.distance_squared(m, b)) > nearer:
        return False
    return _connected(repairer, wide, a, m, depth - 1) and _connected(
        repairer, wide, m, b, depth - 1
    )


def _walks(repairer: Repairer, wide: Distribution, a: Floats, b: Floats) -> bool:
    """Whether short steps towards b, each repaired, lead from a to b."""
    x, step = a, max(2 * _GAP, np.sqrt(wide.distance_squared(a, b)) / 16)
    for _ in range(_STRIDES):
        left = np.sqrt(wide.distance_squared(x, b))
        if left < _GAP:
            return True
        move = repairer.towards(x + min(step / left, 1.0) * (b - x), wide, x)
        gone = np.sqrt(wide.distance_squared(x, move.x))
        nearer = left - np.sqrt(wide.distance_squared(move.x, b))
        if not move.feasible or gone > 3 * step or nearer < 0.02 * step:
            step /= 2
            if step < _GAP / 4:
                return False
            continue
        x = move.x
    return False
