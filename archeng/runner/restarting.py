"""`RestartingSearch`: a handler around CMA-ES, with restarts, as four verbs on a `RunState`.

``init`` opens the first restart, ``ask`` makes the candidates of a generation, ``tell`` lets the
handler learn from them, ``stop`` ends a restart if a test says so and opens the next, or says why
there is none. Pure but for the random generator, which is part of the state. `Starts` hands out the
feasible points where restarts begin.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats, diagonal_distribution
from archeng.errors import ModelError
from archeng.handlers import Handler, Population, Search
from archeng.model.feasible_set import MANY_VARIABLES
from archeng.outcomes import Limits, Outcomes, PastCalls
from archeng.repair import Repair, Repairer
from archeng.runner.state import Restarts, RunState
from archeng.sampling import feasible_points
from archeng.settings import Settings
from archeng.strategy import (
    Bipop,
    History,
    Regime,
    StopReason,
    stop_reasons,
    suitable_population_size,
)

logger = logging.getLogger("archeng")

Points = tuple[Floats, ...]
_LEAST_WIDTH = 32  # times the rounding noise of a row, that its tolerance must be wide


@dataclass(frozen=True, eq=False)
class Starts:
    """Hands out feasible points, so that no restart begins without one."""

    repairer: Repairer
    wide: Distribution  # the initial one of the search, around any mean
    count: int  # of points that are prepared at a time
    max_time: float | None = None  # seconds that the search for the first one may take

    def first(self, start: Floats | None, rng: np.random.Generator) -> tuple[Floats, Points]:
        """Return where to begin, and prepared points: the start, repaired, or the nearest of them.

        Raises
        ------
        ModelError
            If a tolerance is below the rounding noise of its constraint at that point.
        """
        point, others = self._first(start, rng)
        fs = self.repairer.feasible_set
        noise = fs.rounding_noise(point)
        with np.errstate(over="ignore"):  # bounds of 1e308
            width = fs.upper - fs.lower
        for j in np.flatnonzero(fs.equality & (width < _LEAST_WIDTH * noise)):
            raise ModelError(
                f"Constraint {fs.rows[j]}: its tolerance is below the rounding noise of its "
                f"terms, about {noise[j]:.1g} at the start. Use "
                f"tolerance={100 * noise[j]:.0e} or more, or scale the expression."
            )
        return point, others

    def next(self, points: Points, rng: np.random.Generator) -> tuple[Floats, Points]:
        """Return the next prepared point and those left; new ones are made when they run out."""
        points = points or self._prepared(rng, None)
        return points[0], points[1:]

    def _first(self, start: Floats | None, rng: np.random.Generator) -> tuple[Floats, Points]:
        if start is None:
            points = self._prepared(rng, self.max_time)
            return points[0], points[1:]
        repair = self.repairer.repair(start, replace(self.wide, mean=start))
        if repair.feasible:
            return repair.x, ()
        logger.warning("the start could not be repaired; beginning at the nearest point found")
        points = self._prepared(rng, self.max_time)
        distances = np.sum(self.wide.whiten(np.array(points) - start) ** 2, axis=1)
        nearest = int(np.argmin(distances))
        return points[nearest], points[:nearest] + points[nearest + 1 :]

    def _prepared(self, rng: np.random.Generator, max_time: float | None) -> Points:
        return tuple(feasible_points(self.repairer, self.count, rng, max_time))


@dataclass(frozen=True, eq=False)
class RestartingSearch:
    """CMA-ES with restarts."""

    handler: Handler[Any]  # makes the candidates and says what is learned from them
    starts: Starts  # where restarts begin
    settings: Settings
    limits: Limits  # of the simulated constraints
    population_size: int | None = None
    max_restarts: int = 0
    width: int = 1  # calls that are made at a time

    @property
    def wide(self) -> Distribution:
        """The initial search distribution, around any mean."""
        return self.starts.wide

    @one_thread
    def init(self, start: Floats | None, rng: np.random.Generator) -> RunState:
        """Open the first restart at the user's start, repaired, or at a prepared point."""
        point, points = self.starts.first(start, rng)
        size = self.population_size or suitable_population_size(self.wide.n, self.width)
        bipop = Bipop(size, adaptive=self.settings.restart_shares == "adaptive")
        regime = bipop.first()
        restarts = Restarts(0, (), bipop, regime, points, 0)
        return RunState(0, restarts, self._search(point, regime), History(), rng)

    @one_thread
    def ask(self, state: RunState, known: PastCalls) -> tuple[RunState, Population]:
        """Make the candidates of the next generation."""
        search, population = self.handler.ask(state.search, state.rng, known)
        return replace(state, search=search), population

    @one_thread
    def more(self, state: RunState, known: PastCalls, count: int) -> Population:
        """Make candidates for so many idle workers, while others of the generation are away."""
        return self.handler.more(state.search, state.rng, known, count)

    def found(self, state: RunState) -> RunState:
        """Note that the best design is a proposal of which CMA-ES has not heard."""
        return replace(state, search=self.handler.found(state.search))

    @one_thread
    def tell(
        self, state: RunState, population: Population, outcomes: Outcomes, known: PastCalls
    ) -> RunState:
        """Rank and update; the stopping tests remember the generation.

        Not one of proposals: the tests are about CMA-ES. Candidates that violate a simulated
        constraint count as failed there.
        """
        search = self.handler.tell(state.search, population, outcomes, known, state.rng)
        tests = state.tests
        if not population.proposed:
            acceptable = self.limits.hold(outcomes.simulated)
            objectives = np.where(acceptable, outcomes.objectives, np.nan)
            tests = tests.add(objectives, _first_of_each(population.repairs))
        return replace(state, generation=state.generation + 1, search=search, tests=tests)

    @one_thread
    def stop(self, state: RunState, proposed: bool, n_calls: int, lowest: float) -> RunState:
        """End this restart if a test says so and open the next, or say why the search ends.

        ``proposed``: the last generation was one of proposals, from which CMA-ES has not learned.
        ``lowest`` is the best objective so far, to be minimised.
        """
        old = state.restarts
        spent = n_calls - old.calls_before
        reasons = self._reasons(state, proposed, spent)
        if not reasons:
            return state
        logger.info("restart %d ends: %s", old.number, reasons[0].value)
        ended = (*old.ended, reasons[0])
        if old.number >= self.max_restarts:
            return replace(state, restarts=replace(old, ended=ended), stop_reason=reasons[0])
        bipop, regime = old.bipop.spent(old.regime, spent, lowest).next(state.rng)
        if self.handler.multistart:
            regime = bipop.first()
        point, points = self.starts.next(old.points, state.rng)
        restarts = Restarts(old.number + 1, ended, bipop, regime, points, n_calls)
        search = self._search(point, regime)
        return replace(state, restarts=restarts, search=search, tests=History())

    def follow(self, state: RunState, best: Floats | None) -> RunState:
        """Let the solution of equations begin at the best design so far, a full vector."""
        fs = self.starts.repairer.feasible_set
        if best is None or not fs.is_far(best):
            return state
        fs.begin_at(best)
        return replace(state, anchor=best)

    def _reasons(self, state: RunState, proposed: bool, spent: int) -> list[StopReason]:
        """Return why this restart should end, the most telling reason first."""
        search, regime = state.search, state.restarts.regime
        reasons: list[StopReason] = []
        if not proposed:
            sigma = self.wide.sigma * regime.sigma_factor
            reasons = stop_reasons(
                search.state, search.parameters, state.tests, sigma, self.settings
            )
        own = self.handler.stop(search)
        if own is not None and self.settings.stop_tests:
            reasons.insert(0, own)
        if (self.handler.outside or self.limits) and StopReason.STAGNATION in reasons:
            reasons.remove(StopReason.STAGNATION)  # f may well grow on the way to the feasible set
        if regime.max_evaluations is not None and spent >= regime.max_evaluations:
            reasons.append(StopReason.RESTART_BUDGET)
        return reasons

    def _search(self, point: Floats, regime: Regime) -> Search:
        """Open a restart at a feasible point."""
        sigma = self.wide.sigma * regime.sigma_factor
        distribution = replace(self.wide, mean=point, sigma=sigma)
        return self.opened(distribution, point, regime.population_size)

    def opened(self, distribution: Distribution, point: Floats, size: int | None) -> Search:
        """Open a restart at a feasible point, in the metric of the settings."""
        metric, wide = self.settings.metric, self.wide
        if metric == "auto" and wide.n > MANY_VARIABLES and self.handler.handles_diagonal:
            metric = "diagonal" if _may_be_diagonal(wide, self.starts) else "full"
        if metric == "diagonal":
            distribution = diagonal_distribution(distribution)
        search: Search = self.handler.init(distribution, point, size)
        return search


def _may_be_diagonal(wide: Distribution, starts: Starts) -> bool:
    """Whether nobody asked for correlations, and all variables are real."""
    alone = wide.is_diagonal or np.count_nonzero(wide.factor) == wide.n
    return alone and starts.repairer.feasible_set.lattice is None


def _first_of_each(repairs: tuple[Repair, ...]) -> list[int]:
    """Positions of the candidates whose repaired point no earlier candidate has."""
    first: dict[bytes, int] = {}
    for position, repair in enumerate(repairs):
        first.setdefault(repair.x.tobytes(), position)
    return list(first.values())
