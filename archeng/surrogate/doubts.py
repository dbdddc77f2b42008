"""`Doubts`: whether the simulator says the same twice, and what follows if it does not.

As long as calls look like those of a function, nothing is done. If they do not, the best design
is simulated once more. The same value: the simulator is repeatable, and nobody asks again.
Another one: it is noisy, and the search under noise takes over (:mod:`archeng.surrogate.noisy`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.handlers import HandlerParts, Population, as_it_is
from archeng.noise import OBJECTIVE
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repair, RepairKind
from archeng.strategy import StopReason
from archeng.surrogate import constants as c
from archeng.surrogate.data import best_position
from archeng.surrogate.noisy import NoisyKind, NoisySearch
from archeng.surrogate.roughness import looks_noisy
from archeng.surrogate.rounds import AssistedSearch, Phase


class Doubts:
    """Raises doubts, has designs repeated, and leads the search under noise."""

    def __init__(self, parts: HandlerParts) -> None:
        self._limits, self._wide = parts.limits, parts.wide
        self._given, self._width = parts.noise, parts.proposals
        self._noisy = NoisySearch(
            parts.repairer, parts.limits, parts.wide, parts.confidence, parts.noise
        )

    def raised(self, search: AssistedSearch, past: PastCalls) -> AssistedSearch:
        """Return the search with a repeat next if calls look noisy; under noise if that is known.

        Also where the search would end: it may have been misled.
        """
        best = best_position(past, self._limits, search.calls_before or 0)
        if search.repeatable or best is None:
            return search
        given = None if self._given is None else self._given.get(OBJECTIVE)
        if given is not None and given.size == 0:
            return search
        recent = past.last_and(best, c.CALLS_REMEMBERED)
        here = 0 if best < len(past) - len(recent) else best - (len(past) - len(recent))
        u = self._wide.whiten(recent.points)
        if given is not None:
            if self._matters(u, recent.objectives, here, given.at(past.objectives[best])):
                return self._begun(search, past, best)
            return search
        columns = [recent.objectives, *recent.simulated.T]
        stalled = search.ended is StopReason.MODEL_EXHAUSTED
        many = len(past) >= c.ROUGH_MANY[0] + c.ROUGH_MANY[1] * u.shape[1]
        chosen = search.selection
        modelled = many and chosen is not None and chosen.noise >= c.MODEL_NOISY
        doubtful = stalled or modelled
        doubtful = doubtful or any(looks_noisy(u, values, here) for values in columns)
        return replace(search, repeat=True) if doubtful else search

    def ask(
        self, search: AssistedSearch, past: PastCalls, rng: np.random.Generator
    ) -> tuple[AssistedSearch, Population]:
        """Return the best design again, or designs of the search under noise."""
        if search.repeat:
            best = best_position(past, self._limits, search.calls_before or 0)
            assert best is not None
            return search, repeated(past.points[best], 1)
        noisy = search.noisy
        assert noisy is not None
        noisy = self._noisy.advanced(noisy, past, rng, self._width)
        assert noisy.trial is not None
        search = replace(search, noisy=noisy)
        if noisy.trial.kind is NoisyKind.CONFIRM:
            return search, repeated(noisy.centre, len(noisy.trial.designs))
        return search, proposed([as_it_is(x) for x in noisy.trial.designs])

    def tell(
        self, search: AssistedSearch, told: Population, outcomes: Outcomes, past: PastCalls
    ) -> AssistedSearch:
        """Learn from repeats whether the simulator is repeatable, or lead the search on."""
        if search.repeat:
            return self._after_repeat(replace(search, repeat=False), outcomes, past)
        assert search.noisy is not None
        noisy = self._noisy.judged(search.noisy, told.sampled, outcomes.objectives)
        ended = StopReason.NOISE if noisy.ended else None
        return replace(search, noisy=noisy, ended=ended)

    def _after_repeat(
        self, search: AssistedSearch, outcomes: Outcomes, past: PastCalls
    ) -> AssistedSearch:
        last = len(past) - 1
        same = np.flatnonzero(np.all(past.points[:last] == past.points[last], axis=1))
        value, values = outcomes.objectives[0], outcomes.simulated[0]
        if not np.isfinite(value) or not len(same):
            return search  # it failed: the next doubt asks again
        first = int(same[0])
        gaps = np.abs(np.append(values - past.simulated[first], value - past.objectives[first]))
        columns = np.column_stack((past.simulated, past.objectives))[:last]
        spread = np.nanmedian(np.abs(columns - np.nanmedian(columns, axis=0)), axis=0)
        if np.all(gaps <= c.NOISE_NONE * spread):
            return replace(search, repeatable=True)
        best = best_position(past, self._limits, search.calls_before or 0)
        assert best is not None
        return self._begun(search, past, best)

    def _begun(self, search: AssistedSearch, past: PastCalls, best: int) -> AssistedSearch:
        """Begin the search under noise."""
        noisy = self._noisy.begin(past, best, c.NOISY_FIRST)
        return replace(search, repeatable=False, phase=Phase.NOISY, noisy=noisy, ended=None)

    def _matters(self, u: np.ndarray, values: np.ndarray, best: int, noise: float) -> bool:
        """Whether designs (k, n) next to the best one differ by a few deviations of the noise."""
        n = u.shape[1]
        there = np.isfinite(values)
        if int(there.sum()) < n + c.ROUGH_LEAST:
            return False
        lengths = np.linalg.norm(u[there] - u[best], axis=1)
        nearest = np.argsort(lengths, kind="stable")[: 2 * n + 4]
        gaps = values[there][nearest] - values[best]
        return bool(np.median(gaps) <= c.NOISE_MATTERS * noise)


def repeated(x: np.ndarray, count: int) -> Population:
    """Return a design as candidates that are simulated even if it was before."""
    again = replace(as_it_is(x), kind=RepairKind.REPEATED)
    return Population(np.tile(x, (count, 1)), (again,) * count, proposed=True, repeated=True)


def proposed(repairs: list[Repair]) -> Population:
    """Return feasible designs as candidates from which CMA-ES does not learn."""
    marked = [replace(r, kind=RepairKind.PROPOSED, distance_squared=0.0) for r in repairs]
    return Population(np.array([r.x for r in marked]), tuple(marked), proposed=True)
