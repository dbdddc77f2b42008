"""What searches with several simulators share: who is searched, who teaches, who agrees.

Levels are the numbers of the simulators, 0 for the cheapest; the *finest* is the last one, and the
run is about it. A generation is simulated at one level (`Population.level`). What a run remembers
is a frozen `Levels`, part of its `RunState`.

[K38] M. G. Kendall, A new measure of rank correlation, Biometrika 30, 1938,
doi:10.1093/biomet/30.1-2.81.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats
from archeng.handlers import Population, as_it_is
from archeng.outcomes import Limits, PastCalls, Teacher
from archeng.ranking import violation_order
from archeng.repair import RepairKind

LEAST_PAIRS = 3  # designs that two simulators must both know before their orders are compared


class Stage(StrEnum):
    """What the next generation is for."""

    FIRST = "first"  # the first one at this level, in which the next level is not yet tested
    CHECK = "check"  # some of the same designs at the next level
    ENTER = "enter"  # the first one at this level, at the best design of the level below
    SEARCH = "search"  # the search goes on at this level


@dataclass(frozen=True, eq=False)
class Levels:
    """Where a run with several simulators stands."""

    level: int  # of the simulator that is searched
    stage: Stage
    start: Floats  # where the run began (n,)
    rng: np.random.Generator | None = None  # as it was there
    trusted: tuple[int, ...] = ()  # cheaper simulators that teach
    begun: int = 0  # calls at this level before its search, or before its last generation
    checked: int = 0  # calls at this level before the last check
    looks: int = 0  # generations of a cheaper simulator since the last one at this level


def past_at(known: PastCalls, level: int, limits: Limits) -> PastCalls:
    """Return the calls of a simulator; ``known`` has those of the finest.

    Constraints that a cheaper one leaves out are taken to hold: nothing is known against it.
    """
    if level == len(known.cheaper):
        return known
    past = known.cheaper[level]
    return replace(past, simulated=assumed(past.simulated, past.objectives, limits))


def assumed(simulated: Floats, objectives: Floats, limits: Limits) -> Floats:
    """Return constraints (k, m) with values inside the limits where good calls have none."""
    inside = np.where(np.isfinite(limits.upper), limits.upper, limits.lower)
    missing = np.isnan(simulated) & np.isfinite(objectives)[:, None]
    return np.where(missing, inside, simulated)


def teacher_at(known: PastCalls, level: int) -> Teacher:
    """Return what a cheaper simulator teaches."""
    past = known.cheaper[level]
    name = f"simulator {level + 1} of {len(known.cheaper) + 1}"
    return Teacher(name, past.points, past.objectives, past.simulated, past.outputs)


def designs_at(points: Floats, level: int) -> Population:
    """Return known feasible designs (k, n) as a generation of a level; CMA-ES does not learn."""
    repairs = tuple(replace(as_it_is(x), kind=RepairKind.PROPOSED) for x in points)
    return Population(points, repairs, proposed=True, level=level)


def spread_over_ranks(past: PastCalls, limits: Limits, begin: int, count: int) -> Floats:
    """Return designs (k, n) of the calls since one, from the best to the worst, evenly."""
    usable = np.flatnonzero(np.isfinite(past.objectives[begin:])) + begin
    violations = limits.violations(past.simulated[usable])
    order = usable[violation_order(past.objectives[usable], violations)]
    points, first = past.points[order], np.unique(past.points[order], axis=0, return_index=True)[1]
    points = points[np.sort(first)]
    ranks = np.linspace(0, len(points) - 1, min(count, len(points)))
    return np.asarray(points[np.unique(np.round(ranks).astype(int))], dtype=float)


def known_in(points: Floats, past: PastCalls) -> NDArray[np.bool_]:
    """Whether each of the designs (k, n) was simulated."""
    there = {x.tobytes() for x in past.points}
    return np.array([x.tobytes() in there for x in points], dtype=bool)


def pairs(lower: PastCalls, upper: PastCalls, begin: int = 0) -> tuple[Floats, Floats]:
    """Return what two simulators say of the designs that both know (k, 1 + m), since a call above.

    Columns are objective and simulated constraints.
    """
    rows = {x.tobytes(): i for i, x in enumerate(lower.points)}
    found = [(rows[x.tobytes()], j) for j, x in enumerate(upper.points) if x.tobytes() in rows]
    i, j = np.array([(a, b) for a, b in found if b >= begin], dtype=int).reshape(-1, 2).T
    below = np.column_stack((lower.objectives[i], lower.simulated[i]))
    above = np.column_stack((upper.objectives[j], upper.simulated[j]))
    good = np.isfinite(below[:, 0]) & np.isfinite(above[:, 0])
    return below[good], above[good]


def agreement(lower: Floats, upper: Floats) -> float:
    """Return the mean of Kendall's tau [K38] over the columns (k, q) of two simulators.

    NaN if they have too few designs, or nothing that differs.
    """
    if len(lower) < LEAST_PAIRS:
        return np.nan
    taus = [kendall(a, b) for a, b in zip(lower.T, upper.T, strict=True)]
    known = [tau for tau in taus if not np.isnan(tau)]
    return float(np.mean(known)) if known else np.nan


def kendall(a: Floats, b: Floats) -> float:
    """Return Kendall's tau of two columns (k,); ties count as half, NaN if one is constant."""
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    i, j = np.triu_indices(len(a), 1)
    return float(np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])))


def correlated(lower: Floats, upper: Floats, least: float) -> bool:
    """Whether a line through what a cheaper simulator says explains a share of the objective.

    ``lower`` and ``upper`` (k, q) as in :func:`pairs`. With few designs nothing speaks against it.
    """
    if len(lower) <= LEAST_PAIRS or np.ptp(upper[:, 0]) == 0:
        return True
    if np.ptp(lower[:, 0]) == 0:
        return False
    return bool(np.corrcoef(lower[:, 0], upper[:, 0])[0, 1] ** 2 >= least)
