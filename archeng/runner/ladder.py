"""`LadderSearch`: models learn from cheap simulators, one level after the other.

1. The first generation is simulated by the cheapest simulator, and a few of its designs, from the
   best to the worst, by the next one. If the two do not rank them alike, the cheap one is left
   alone: the run goes back to its beginning, and is the run of the others alone; the designs of
   the test belong to its first generation.
2. Otherwise the cheap one is searched alone, as far as that pays, and the search at the next level
   begins at the best design found. If what comes out there is not as good as it should be, the
   cheap one is left alone, too.
3. From then on it is a `Teacher` of the models above. Before a proposal is simulated, the teacher
   *looks* at it, and the proposal is made again with what it has seen, a few times; so the models
   are exact where it matters. Every design of the upper level gets its call of the teacher.

So it is a trust-region method on a corrected cheap function [A01] with models in the place of both.

[A01] N. M. Alexandrov, R. M. Lewis, C. R. Gumbert, L. L. Green, P. A. Newman, Approximation and
model management in aerodynamic optimization with variable-fidelity models, Journal of Aircraft
38(6), 2001, doi:10.2514/2.2877.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.handlers import Population
from archeng.outcomes import Outcomes, PastCalls
from archeng.ranking import violation_order
from archeng.runner.levels import (
    LEAST_PAIRS,
    Levels,
    Stage,
    agreement,
    assumed,
    correlated,
    designs_at,
    known_in,
    pairs,
    past_at,
    spread_over_ranks,
    teacher_at,
)
from archeng.runner.restarting import RestartingSearch
from archeng.runner.state import RunState
from archeng.strategy import History

logger = logging.getLogger("archeng")

CHECKED = 4  # designs of the first generation that are simulated at the next level
AGREES = 0.6  # mean of Kendall's tau from which two simulators agree
# What the search of a level may cost, in calls of the next one: so many, and for each variable
SCOUT_CALLS, SCOUT_CALLS_EACH = 4.0, 0.5
NARROW = 0.1  # step size at the best design of a cheaper simulator, over the usual one
LOOKS, LOOK_COST = 4, 0.3  # looks before a call: at most so many, at most so much of its cost
COMPANION_COST = 0.5  # a teacher that costs more of a call is not asked about each design
EXPLAINED = 0.5  # share of the variance that a teacher must explain to be asked at all


@dataclass(frozen=True, eq=False)
class LadderSearch(RestartingSearch):
    """Restarts around a handler with models, and cheaper simulators that teach them."""

    costs: tuple[float, ...] = (1.0,)

    @one_thread
    def init(self, start: Floats | None, rng: np.random.Generator) -> RunState:
        """Open the first restart, at the cheapest simulator."""
        state = super().init(start, rng)
        levels = Levels(0, Stage.FIRST, state.search.anchor, copy.deepcopy(rng))
        return replace(state, levels=levels)

    def ask(self, state: RunState, known: PastCalls) -> tuple[RunState, Population]:
        """Make the candidates of the next generation, and say who simulates them."""
        levels, past = _levels(state), self._past(state, known)
        if levels.stage is Stage.CHECK:
            designs = spread_over_ranks(past, self.limits, levels.begun, CHECKED)
            return state, designs_at(designs, levels.level + 1)
        if levels.stage is Stage.FIRST:  # designs of a test become part of this generation
            past = past.taken(slice(0))
        teacher = self._teacher(levels, past, known)
        if teacher is not None and levels.stage is Stage.SEARCH:
            new = past.points[~known_in(past.points, known.cheaper[teacher])]
            if len(new):
                return state, designs_at(new, teacher)
        after, population = super().ask(state, past)
        if teacher is not None and population.proposed and levels.looks < self._looks(levels):
            designs = np.array([repair.x for repair in population.repairs])
            new = designs[~known_in(designs, known.cheaper[teacher])]
            if len(new):
                return state, designs_at(new, teacher)
        return after, replace(population, level=levels.level)

    def tell(
        self, state: RunState, population: Population, outcomes: Outcomes, known: PastCalls
    ) -> RunState:
        """Learn from the calls of whichever level, and say what is next."""
        levels, past = _levels(state), self._past(state, known)
        if population.level != levels.level:
            state = replace(state, generation=state.generation + 1)
            if levels.stage is Stage.CHECK:
                return self._judged(state, known, levels.level + 1)
            search = self.handler.reconsidered(state.search, past)
            return replace(_with(state, looks=levels.looks + 1), search=search)
        values = assumed(outcomes.simulated, outcomes.objectives, self.limits)
        outcomes = replace(outcomes, simulated=values)
        state = _with(super().tell(state, population, outcomes, past), looks=0)
        if levels.stage is Stage.ENTER:
            return self._judged(state, known, levels.level)
        if levels.stage is Stage.FIRST and levels.level < self._finest:
            return self._after_first(state, past)
        state = _with(state, stage=Stage.SEARCH)
        if levels.level < self._finest and self._scouted(state, past, population.proposed):
            return self._entering(state, past, known)
        return state

    def stop(self, state: RunState, proposed: bool, n_calls: int, lowest: float) -> RunState:
        """End this restart if a test says so; searches of cheaper simulators end in `tell`."""
        if _levels(state).level < self._finest:
            return state
        return super().stop(state, proposed, n_calls, lowest)

    # -- the levels -----------------------------------------------------------------------------

    @property
    def _finest(self) -> int:
        return len(self.costs) - 1

    def _past(self, state: RunState, known: PastCalls) -> PastCalls:
        """Return the calls of the present level, and its teachers."""
        levels = _levels(state)
        past = past_at(known, levels.level, self.limits).taken(slice(levels.begun, None))
        taught = tuple(teacher_at(known, level) for level in levels.trusted)
        return replace(past, teachers=(*known.teachers, *taught))

    def _after_first(self, state: RunState, past: PastCalls) -> RunState:
        """FIRST -> CHECK, or SEARCH if there is too little to check; one that fails is left."""
        good = int(np.isfinite(past.objectives).sum())
        if good == 0:
            return self._left(state, _levels(state).level, "all its calls failed")
        return _with(state, stage=Stage.CHECK if good >= LEAST_PAIRS else Stage.SEARCH)

    def _judged(self, state: RunState, known: PastCalls, upper: int) -> RunState:
        """CHECK, ENTER -> SEARCH, if a level and the one below agree; else that is left alone."""
        lower = upper - 1
        both = pairs(past_at(known, lower, self.limits), past_at(known, upper, self.limits))
        tau = agreement(*both)
        if tau < AGREES:  # NaN: nothing speaks against it
            return self._left(state, lower, f"Kendall's tau is {tau:.2f} at {len(both[0])} designs")
        return _with(state, stage=Stage.SEARCH)

    def _left(self, state: RunState, level: int, why: str) -> RunState:
        """Leave a simulator alone: the run begins anew with the next one."""
        levels = _levels(state)
        assert levels.rng is not None
        logger.info("simulator %d of %d is left alone: %s", level + 1, len(self.costs), why)
        below = tuple(k for k in levels.trusted if k < level)
        after = Levels(level + 1, Stage.FIRST, levels.start, levels.rng, below)
        return self._begun(replace(state, rng=copy.deepcopy(levels.rng)), after, levels.start)

    def _entering(self, state: RunState, past: PastCalls, known: PastCalls) -> RunState:
        """SEARCH -> ENTER: go on at the next level, where this one was best.

        Its models learn from calls there alone: designs of the test are far away, where the two
        simulators may differ by much more.
        """
        levels = _levels(state)
        before = len(past_at(known, levels.level + 1, self.limits))
        best = self._best(past)
        trusted = (*levels.trusted, levels.level)
        after = Levels(
            levels.level + 1, Stage.ENTER, levels.start, levels.rng, trusted, begun=before
        )
        return self._begun(state, after, past.points[best], NARROW)

    def _begun(self, state: RunState, levels: Levels, x: Floats, factor: float = 1.0) -> RunState:
        """Return the state with the search of a level at its beginning."""
        regime = state.restarts.regime
        search = self._search(x, replace(regime, sigma_factor=factor * regime.sigma_factor))
        return replace(state, search=search, tests=History(), levels=levels)

    def _scouted(self, state: RunState, past: PastCalls, proposed: bool) -> bool:
        """Whether the search of a cheaper simulator is over: by itself, or by what it costs."""
        level, n = _levels(state).level, past.points.shape[1]
        most = (SCOUT_CALLS + SCOUT_CALLS_EACH * n) * self.costs[level + 1]
        return len(past) * self.costs[level] >= most or bool(self._reasons(state, proposed, 0))

    # -- the teacher ----------------------------------------------------------------------------

    def _teacher(self, levels: Levels, past: PastCalls, known: PastCalls) -> int | None:
        """Return the level of the simulator that is asked about designs; None: nobody is."""
        if not levels.trusted:
            return None
        teacher = levels.trusted[-1]
        if self.costs[teacher] > COMPANION_COST * self.costs[levels.level]:
            return None
        recent = max(len(past) - 2 * past.points.shape[1] - LEAST_PAIRS, 0)
        both = pairs(past_at(known, teacher, self.limits), past, recent)
        return teacher if correlated(*both, EXPLAINED) else None

    def _best(self, past: PastCalls) -> int:
        """Position of the best design: the least violating one if all violate."""
        usable = np.flatnonzero(np.isfinite(past.objectives))
        violations = self.limits.violations(past.simulated[usable])
        return int(usable[violation_order(past.objectives[usable], violations)[0]])

    def _looks(self, levels: Levels) -> int:
        """Return how often a teacher looks before a call."""
        ratio = self.costs[levels.trusted[-1]] / self.costs[levels.level]
        return min(LOOKS, int(LOOK_COST / ratio))


def _levels(state: RunState) -> Levels:
    assert state.levels is not None
    return state.levels


def _with(state: RunState, **changes: Any) -> RunState:
    """Return the state with other fields of its `Levels`."""
    return replace(state, levels=replace(_levels(state), **changes))
