"""Feasible designs for a diagnosis; how large the feasible set is, and in how many pieces.

Designs are certified by the same repair as in a run. Size and pieces are found by sampling.
Shares that plain samples cannot see are estimated by *splitting*: of points in the box, the tenth
that violates least is kept and multiplied by random steps that do not violate more, and so on
until designs are feasible. Each stage is a factor of ten (subset simulation [AB01]).

[AB01] S.-K. Au, J. L. Beck, Estimation of small failure probabilities in high dimensions by subset
simulation, Probabilistic Engineering Mechanics 16, 2001, doi:10.1016/S0266-8920(01)00019-4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np

from archeng.diagnose.diagnosis import Region, Share
from archeng.diagnose.limits import LimitKind, LimitSystem
from archeng.diagnose.oracle import Oracle
from archeng.distribution import initial_distribution
from archeng.errors import InfeasibleModelError
from archeng.model import FeasibleSet
from archeng.model.variable import Floats
from archeng.repair import Repairer
from archeng.sampling import feasible_points
from archeng.sampling.spread import farthest
from archeng.settings import Settings

_STARTS = 8  # searches for a first design
_TRIES = 4  # designs that are looked for if each point is a solution of many equations
_ITERATIONS = 60  # of IPOPT in a repair of the last resort
LAST_SEARCHES = 90
"""Searches that :meth:`DesignSearch.last_resort` makes before it gives up."""
_CHAINS, _CHEAP = 800, 20_000  # points that are split, and points times rows that are affordable
_STEPS, _STAGES = 15, 12  # random steps of each point in a stage, and stages
_KEPT = 0.1  # share of the points that a stage keeps
_SPREAD = 0.7  # two standard deviations of the logarithm of one stage
_GAP = 0.05  # pieces nearer to each other than this many scales count as one
_PATHS, _FAILED = 120, 4  # paths that are tried in all, and between two pieces
_STRIDES = 60  # repaired steps of a path


class DesignSearch:
    """Feasible designs of a compiled model, in the coordinates of its system.

    ``places`` are the positions of its free variables in the system, which may have more: compiling
    fixes a variable if constraints leave it one value. ``implied`` names the rows that compiling
    has found to be equalities. A model with many equations is searched in its independent
    variables; the others are ``followed``.
    """

    def __init__(self, system: LimitSystem, compiled: FeasibleSet) -> None:
        self._system = system
        whole = compiled.free if compiled.whole is None else compiled.whole.free
        place = {i: k for k, i in enumerate(system.free)}
        self.places = [place[int(i)] for i in whole]
        self._own = [place[int(i)] for i in compiled.free]
        self._reduced = compiled.whole is not None
        self.followed = set(self.places) - set(self._own)
        self.implied = {row.name for row in compiled.rows if row.implied}
        low, high = compiled.box()
        scale = np.where(np.isnan(compiled.scale), system.scale[self._own], compiled.scale)
        center = np.clip(system.center[self._own], low, high)
        start = np.where(np.isnan(compiled.start), center, compiled.start)
        fs = replace(compiled, start=start, scale=scale)
        self._repairer = Repairer(fs, Settings())
        self._wide = initial_distribution(np.zeros(fs.n), scale)

    def designs(self, oracle: Oracle, k: int, rng: np.random.Generator) -> Floats:
        """Up to k feasible designs (k, n) of the system, as different as possible, or none."""
        repairer, wide = self._repairer, self._wide
        first = self._first(oracle)
        if first is None:
            return np.zeros((0, self._system.n))
        designs, tries = [first], min(k, _TRIES) if self._reduced else k
        for x in self._system.sample_inside(2 * tries, rng)[:, self._own]:
            moved = repairer.towards(x, wide, designs[0])
            if moved.feasible:
                designs.append(moved.x)
        for _ in range(tries):
            i, j = rng.integers(len(designs), size=2)
            between = designs[i] + rng.uniform(-0.1, 1.1) * (designs[j] - designs[i])
            moved = repairer.towards(between, wide, designs[i])
            if moved.feasible:
                designs.append(moved.x)
        points = np.array(designs)
        return self._full(points[farthest(wide.whiten(points), k, 0)[0]])

    def _first(self, oracle: Oracle) -> Floats | None:
        """Return a feasible point; where equations were solved, the search begins there."""
        repairer, wide = self._repairer, self._wide
        if self._reduced:
            repair = repairer.repair(repairer.feasible_set.start, wide)
            if repair.feasible:
                return repair.x
        point = oracle.ask(self._system.everything, _STARTS).point
        if point is None:
            return None
        repair = repairer.repair(point[self._own], wide)
        return repair.x if repair.feasible else None

    def last_resort(self, k: int, rng: np.random.Generator) -> Floats:
        """Search as a run would: feasible designs (k, n), or none."""
        settings = Settings(ipopt_max_iterations=_ITERATIONS)
        repairer = Repairer(self._repairer.feasible_set, settings)
        try:
            return self._full(feasible_points(repairer, k, rng))
        except InfeasibleModelError:
            return np.zeros((0, self._system.n))

    def _full(self, points: Floats) -> Floats:
        """Points of the system (k, n) from points of the compiled model."""
        return np.asarray(self._repairer.feasible_set.expand(points)[:, list(self._system.free)])

    def regions(self, designs: Floats) -> tuple[tuple[Region, ...], bool]:
        """Pieces of the feasible set in which the designs (k, n) lie, largest first.

        The second answer says whether all pairs of pieces were tried.
        """
        groups, all_tried = self._pieces(designs[:, self._own])
        system, regions = self._system, []
        for members in (designs[group] for group in groups):
            ends = zip(members.min(axis=0).tolist(), members.max(axis=0).tolist(), strict=True)
            ranges = dict(zip(system.names, ends, strict=True))
            regions.append(Region(len(members), system.by_name(members[0]), ranges))
        return tuple(regions), all_tried

    def _pieces(self, points: Floats) -> tuple[list[list[int]], bool]:
        """Group feasible points (k, n) by the pieces of the feasible set that they lie in.

        Two points are in one piece if short repaired steps lead from one to the other.
        """
        label = list(range(len(points)))
        z = self._wide.whiten(points)
        gaps = np.linalg.norm(z[:, None] - z[None, :], axis=2)
        pairs = sorted((float(gaps[i, j]), i, j) for i, j in combinations(label, 2))
        failed: dict[tuple[int, int], int] = {}
        paths = 0
        for _, i, j in pairs:
            a, b = sorted((label[i], label[j]))
            if a == b or failed.get((a, b), 0) >= _FAILED:
                continue
            if paths >= _PATHS:
                break
            paths += 1
            p, q = points[i], points[j]
            if self._walks(p, q) or self._walks(q, p):
                label = [a if c == b else c for c in label]
            else:
                failed[a, b] = failed.get((a, b), 0) + 1
        groups = [[i for i, c in enumerate(label) if c == piece] for piece in dict.fromkeys(label)]
        return sorted(groups, key=len, reverse=True), paths < _PATHS

    def _walks(self, a: Floats, b: Floats) -> bool:
        """Whether short steps towards b, each repaired, lead from a to b."""
        wide = self._wide
        x, step = a, max(2 * _GAP, np.sqrt(wide.distance_squared(a, b)) / 16)
        for _ in range(_STRIDES):
            left = np.sqrt(wide.distance_squared(x, b))
            if left < _GAP:
                return True
            move = self._repairer.towards(x + min(step / left, 1.0) * (b - x), wide, x)
            gone = np.sqrt(wide.distance_squared(x, move.x))
            nearer = left - np.sqrt(wide.distance_squared(move.x, b))
            if not move.feasible or gone > 3 * step or nearer < 0.02 * step:
                step /= 2
                if step < _GAP / 4:
                    return False
                continue
            x = move.x
        return False


def feasible_share(system: LimitSystem, samples: int, rng: np.random.Generator) -> Share | None:
    """Estimate the share of the box that is feasible; None without a finite box or inequalities."""
    chosen = np.flatnonzero(system.of_kind(LimitKind.ROW) & ~system.equality)
    equalities = any(q.equality for q in system.quantities)
    if not len(chosen) or system.n == 0 or not np.all(np.isfinite(system.upper - system.lower)):
        return None

    def worst(points: Floats) -> Floats:
        return np.asarray(np.minimum(system.excess(points)[:, chosen].max(axis=1), 1e300))

    points = system.sample(samples, rng)
    hits = int(np.sum(worst(points) <= 0))
    low, high = _wilson(hits, samples)
    if hits:
        return Share(hits / samples, low, high, samples, equalities)
    chains = int(np.clip(_CHEAP // len(chosen), _CHAINS // 4, _CHAINS))
    value, stages, used = _split(worst, points[:chains], system, rng)
    if value == 0.0:
        return Share(0.0, 0.0, high, samples + used, equalities)
    spread = float(np.exp(_SPREAD * np.sqrt(stages)))
    ends = (value / spread, min(value * spread, high))
    return Share(min(value, high), *ends, samples + used, equalities)


def _wilson(hits: int, samples: int) -> tuple[float, float]:
    """95 % range of a share (Wilson's score interval)."""
    z = 1.96
    p, n = hits / samples, samples
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def _split(
    worst: Callable[[Floats], Floats],
    points: Floats,
    system: LimitSystem,
    rng: np.random.Generator,
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
            t = np.mod(points + step - system.lower, 2 * width)
            trial = system.lower + np.where(t > width, 2 * width - t, t)  # folded into the box
            value = worst(trial)
            used += len(points)
            good = value <= level
            points = np.where(good[:, None], trial, points)
            excess = np.where(good, value, excess)
            reach = float(np.clip(reach * np.exp(np.mean(good) - 0.3), 1e-6, 0.5))
    return 0.0, _STAGES, used
