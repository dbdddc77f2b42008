"""`Course`: the search through its generations and restarts, and its state as plain data."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.distribution import Distribution, Floats
from archeng.handlers import Handler, Population, Search
from archeng.known import Found, Known, Limits
from archeng.repair import Repairer
from archeng.runner import typed
from archeng.runner.candidates import first_of_each
from archeng.runner.opened import opened, reopened
from archeng.runner.starts import Starts
from archeng.settings import Settings
from archeng.strategy import (
    Bipop,
    History,
    Regime,
    State,
    StopReason,
    default_parameters,
    default_population_size,
    stop_reasons,
)

logger = logging.getLogger("archeng")


class Course:
    """CMA-ES with restarts. It samples, learns an order, and decides when to restart.

    Parameters
    ----------
    repairer : Repairer
        Prepares the points at which restarts begin.
    wide : Distribution
        The initial search distribution, around any mean.
    settings : Settings
    rng : numpy.random.Generator
        The only source of randomness of the run.
    population_size : int or None
    max_restarts : int
    handler : Handler
        Makes the candidates and says what is learned from them.
    limits : Limits
        Of the simulated constraints.
    max_time : float, optional
        Seconds that the search for a first feasible design may take.
    """

    def __init__(
        self,
        repairer: Repairer,
        wide: Distribution,
        settings: Settings,
        rng: np.random.Generator,
        population_size: int | None,
        max_restarts: int,
        handler: Handler,
        limits: Limits,
        max_time: float | None = None,
    ) -> None:
        self.wide = wide
        self.n_restarts = 0
        self.ended: list[StopReason] = []
        self.ended_at: list[Floats] = []
        self.search: Search
        self._settings, self._rng = settings, rng
        self._max_restarts = max_restarts
        self._handler, self._limits = handler, limits
        self._starts = Starts(repairer, wide, settings.start_candidates, rng, max_time)
        self._bipop = Bipop(
            population_size or default_population_size(wide.n),
            adaptive=settings.restart_shares == "adaptive",
        )
        self._regime = self._bipop.first()
        self._tests = History()
        self._unchanged = False  # CMA-ES since the tests were asked last
        self._calls_before = 0

    @one_thread
    def begin(self, start: Floats | None) -> None:
        """Open the first restart at the user's start, repaired, or at a prepared point."""
        self._open(self._starts.first(start), 0)

    @one_thread
    def population(self, known: Known) -> Population:
        """Make the candidates of the next generation."""
        state = self.search.state
        self.search, population = self._handler.populate(self.search, self._rng, known)
        assert self.search.state is state  # `opened` relies on it
        return population

    @one_thread
    def learn(
        self, population: Population, found: Found, known: Known
    ) -> tuple[float, float, bool] | None:
        """Rank and update; return what the stopping tests remember of the generation.

        None for proposals: the tests are about CMA-ES. Candidates that violate a simulated
        constraint count as failed there.
        """
        search = self._handler.learn(self.search, population, found, self._rng)
        self.search = self._handler.conclude(search, known)
        self._unchanged = population.proposed
        if population.proposed:
            return None
        acceptable = np.where(self._limits.hold(found.simulated), found.objectives, np.nan)
        self._tests = self._tests.add(acceptable, first_of_each(population.repairs))
        return self._tests.last(1)[0]

    @one_thread
    def restart_if_needed(self, n_calls: int, lowest: float) -> StopReason | None:
        """End this restart if a test says so and begin the next; a reason if there is none.

        ``lowest`` is the best objective so far, to be minimised.
        """
        reasons: list[StopReason] = []
        if not self._unchanged:
            reasons = stop_reasons(
                self.search.state,
                self.search.parameters,
                self._tests,
                self.wide.sigma * self._regime.sigma_factor,
                self._settings,
            )
        if self.search.ended is not None and self._settings.stop_tests:
            reasons.insert(0, self.search.ended)
        spent = n_calls - self._calls_before
        share = self._regime.max_evaluations
        if (self._handler.outside or self._limits) and StopReason.STAGNATION in reasons:
            reasons.remove(StopReason.STAGNATION)  # f may well grow on the way to the feasible set
        if share is not None and spent >= share:
            reasons.append(StopReason.RESTART_BUDGET)
        if not reasons:
            return None
        logger.info("restart %d ends: %s", self.n_restarts, reasons[0].value)
        self.ended.append(reasons[0])
        self.ended_at.append(self.place())
        if self.n_restarts >= self._max_restarts:
            return reasons[0]
        self.n_restarts += 1
        self._bipop = self._bipop.spent(self._regime, spent, lowest)
        self._bipop, self._regime = self._bipop.next(self._rng)
        self._open(self._starts.next(), n_calls)
        return None

    def place(self) -> Floats:
        """Return where the search stands, (2, n): its feasible point, and its mean."""
        return np.stack((self.search.anchor, self.search.distribution.mean))

    def _open(self, point: Floats, n_calls: int) -> None:
        sigma = self.wide.sigma * self._regime.sigma_factor
        distribution = replace(self.wide, mean=point, sigma=sigma)
        self.search = self._handler.begin(distribution, point, self._regime.population_size)
        self._tests = History()
        self._calls_before = n_calls

    # -- as plain data ----------------------------------------------------------------------

    def opened(self, population: Population) -> dict[str, Any]:
        """Return the candidates that :meth:`population` made, and what a :meth:`reopen` needs."""
        return opened(self.search, population, self._rng)

    def reopen(self, data: Mapping[str, Any]) -> Population:
        """Stand where the candidates of a generation had just been made, and return them."""
        self.search, population = reopened(data, self.search, self._rng)
        return population

    def snapshot(self) -> dict[str, Any]:
        """Return everything that a later :meth:`restore` needs, but for the tests' memory."""
        s = self.search
        state = {f.name: getattr(s.state, f.name) for f in fields(State)}
        return {
            "n_restarts": self.n_restarts,
            "ended": [reason.name for reason in self.ended],
            "ended_at": list(self.ended_at),
            "rng": self._rng.bit_generator.state,
            "bipop": asdict(self._bipop),
            "regime": asdict(self._regime),
            "starts": list(self._starts.points),
            "calls_before": self._calls_before,
            "search": {
                "population_size": s.parameters.population_size,
                "alpha": s.alpha,
                "d_m": s.d_m,
                "anchor": s.anchor,
                "n_active": s.n_active,
                "memory": dict(s.memory),
                **{k: v for k, v in state.items() if k != "distribution"},
                "distribution": asdict(s.distribution),
            },
        }

    def restore(
        self, data: Mapping[str, Any], tests: Sequence[tuple[float, float, bool] | None]
    ) -> None:
        """Take up a snapshot; ``tests`` are the values that :meth:`learn` returned since then."""
        self.n_restarts = int(data["n_restarts"])
        self.ended = [StopReason[name] for name in data["ended"]]
        self.ended_at = list(data["ended_at"])
        self._rng.bit_generator.state = data["rng"]
        self._bipop = Bipop(**data["bipop"])
        self._regime = Regime(**data["regime"])
        self._starts.points = list(data["starts"])
        self._calls_before = int(data["calls_before"])
        stored = dict(data["search"])
        stored["distribution"] = typed.distribution(stored["distribution"], self.wide.n)
        stored["anchor"] = typed.array(stored["anchor"], self.wide.n)
        state = State(**{f.name: stored[f.name] for f in fields(State)})
        parameters = default_parameters(self.wide.n, int(stored["population_size"]))
        self.search = Search(
            parameters,
            state,
            stored["alpha"],
            stored["d_m"],
            stored["anchor"],
            stored["n_active"],
            stored["memory"],
        )
        self._tests = History.of(filter(None, tests))
