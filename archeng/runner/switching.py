"""`SwitchingSearch`: CMA-ES, and every handler without models, on cheap and dear simulators.

Generations are ranked by the cheapest simulator as long as it ranks candidates as the next one
does. From time to time some candidates of a generation are simulated by the next one, too; if
Kendall's tau of the two is below a threshold, the search goes on with that one. The search
distribution stays as it is.

Certain of [A19] is: which of several objectives of different cost and accuracy is used is decided
anew during the search, by Kendall's rank correlation of their values at candidates that are
sampled from the present distribution, so that nothing but ranks matters, as in CMA-ES itself. That
a high correlation suffices for progress on the true objective is shown in [A22].

DEVIATION: the numbers below, when a check is due (as soon as the cheap calls since the last one
have cost as much as a check), which candidates take part (spread over the ranks), and that a run
never goes back to a cheaper simulator within a restart are ours. With simulated constraints, the
mean of the correlations of objective and constraints counts.

[A19] Y. Akimoto, T. Shimizu, T. Yamaguchi, Adaptive objective selection for multi-fidelity
optimization, GECCO 2019, doi:10.1145/3321707.3321709.
[A22] Y. Akimoto, Monotone improvement of information-geometric optimization algorithms with a
surrogate function, GECCO 2022, arXiv:2204.02638.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.handlers import Population
from archeng.outcomes import Outcomes, PastCalls
from archeng.runner.levels import (
    Levels,
    Stage,
    agreement,
    assumed,
    designs_at,
    pairs,
    past_at,
    spread_over_ranks,
)
from archeng.runner.restarting import RestartingSearch
from archeng.runner.state import RunState
from archeng.strategy import History

logger = logging.getLogger("archeng")

CHECKED = 5  # candidates of a generation that are simulated at the next level
AGREES = 0.5  # Kendall's tau from which on the cheaper simulator is good enough


@dataclass(frozen=True, eq=False)
class SwitchingSearch(RestartingSearch):
    """Restarts around a handler without models; the simulator is chosen by rank correlation."""

    costs: tuple[float, ...] = (1.0,)

    @one_thread
    def init(self, start: Floats | None, rng: np.random.Generator) -> RunState:
        """Open the first restart, at the cheapest simulator."""
        state = super().init(start, rng)
        return replace(state, levels=Levels(0, Stage.FIRST, state.search.anchor))

    def ask(self, state: RunState, known: PastCalls) -> tuple[RunState, Population]:
        """Make the candidates of a generation, or take some of the last one to the next level."""
        levels = _levels(state)
        past = past_at(known, levels.level, self.limits)
        if levels.stage is Stage.CHECK:
            designs = spread_over_ranks(past, self.limits, levels.begun, CHECKED)
            return state, designs_at(designs, levels.level + 1)
        state, population = super().ask(state, past)
        return state, replace(population, level=levels.level)

    def tell(
        self, state: RunState, population: Population, outcomes: Outcomes, known: PastCalls
    ) -> RunState:
        """Rank and update, or compare the two simulators."""
        levels = _levels(state)
        past = past_at(known, levels.level, self.limits)
        if levels.stage is Stage.CHECK:
            return self._compared(replace(state, generation=state.generation + 1), known)
        values = assumed(outcomes.simulated, outcomes.objectives, self.limits)
        outcomes = replace(outcomes, simulated=values)
        state = super().tell(state, population, outcomes, past)
        if levels.level == len(self.costs) - 1:
            return state
        if not np.isfinite(outcomes.objectives).any():
            return self._above(state, "all its calls failed")
        since = len(past) - levels.checked
        check = CHECKED * self.costs[levels.level + 1]
        due = levels.stage is Stage.FIRST or since * self.costs[levels.level] >= check
        begun = len(past) - population.sampled.shape[0]
        stage = Stage.CHECK if due else Stage.SEARCH
        return replace(state, levels=replace(levels, stage=stage, begun=max(begun, 0)))

    def _compared(self, state: RunState, known: PastCalls) -> RunState:
        """CHECK -> SEARCH, at the next level if the ranks of the last candidates differ."""
        levels = _levels(state)
        lower = past_at(known, levels.level, self.limits)
        upper = past_at(known, levels.level + 1, self.limits)
        both = pairs(lower.taken(slice(levels.begun, None)), upper)
        tau = agreement(*both)
        if np.isnan(tau) or tau < AGREES:
            return self._above(state, f"Kendall's tau is {tau:.2f} at {len(both[0])} candidates")
        return replace(state, levels=replace(levels, stage=Stage.SEARCH, checked=len(lower)))

    def _above(self, state: RunState, why: str) -> RunState:
        """Go on with the next simulator."""
        levels = _levels(state)
        logger.info("simulator %d of %d: %s", levels.level + 1, len(self.costs), why)
        after = replace(levels, level=levels.level + 1, stage=Stage.FIRST, begun=0, checked=0)
        return replace(state, levels=after, tests=History())

    def stop(self, state: RunState, proposed: bool, n_calls: int, lowest: float) -> RunState:
        """End this restart if a test says so, or the search with a cheaper simulator."""
        levels = _levels(state)
        if levels.level < len(self.costs) - 1:
            if levels.stage is Stage.CHECK:
                return state
            reasons = self._reasons(state, proposed, 0)
            return self._above(state, reasons[0].value) if reasons else state
        after = super().stop(state, proposed, n_calls, lowest)
        if after.restarts.number == state.restarts.number:
            return after
        return replace(after, levels=Levels(0, Stage.FIRST, after.search.anchor))


def _levels(state: RunState) -> Levels:
    assert state.levels is not None
    return state.levels
