"""`Run`: the one mutable thing. It owns the budget, the records and the restarts."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.model import Sense, as_model, compile_model
from archeng.records import Evaluation, Generation
from archeng.repair import Repairer
from archeng.result import Result
from archeng.runner.candidates import (
    Candidate,
    DesignMemory,
    cut_to_budget,
    first_of_each,
    make_candidates,
)
from archeng.runner.options import (
    Options,
    SimulatorTakes,
    check_seed,
    check_settings,
    start_distribution,
    start_point,
    takes_model,
)
from archeng.runner.outcome import make_result
from archeng.runner.search import (
    Population,
    Search,
    adapt_alpha,
    advance,
    begin,
    sample_population,
)
from archeng.runner.starts import Starts
from archeng.settings import Settings
from archeng.simulator import (
    Call,
    CallStatus,
    OnPyomoModel,
    call,
    check_gate,
    check_simulator,
)
from archeng.strategy import Bipop, History, StopReason, default_population_size
from archeng.strategy import stop_reasons as strategy_stop_reasons

logger = logging.getLogger("archeng")


class Run:
    """A run, step by step. Options are those of :func:`archeng.solve`.

    Examples
    --------
    Ask and tell, the simulator being called elsewhere::

        run = archeng.Run(model, max_evaluations=500, seed=1)
        while not run.stopped:
            candidates = run.ask()
            values = [simulate(c.design) if c.design else None for c in candidates]
            run.tell(values)
        result = run.result()
    """

    def __init__(
        self,
        model: Any,
        simulator: Any = None,
        *,
        max_evaluations: int | None = None,
        max_time: float | None = None,
        target: float | None = None,
        seed: int | None = None,
        start: Mapping[str, ArrayLike] | ArrayLike | None = None,
        sigma: Mapping[str, ArrayLike] | ArrayLike | None = None,
        sense: Sense | None = None,
        restarts: int = 0,
        population_size: int | None = None,
        callback: Any = None,
        settings: Settings | None = None,
        simulator_takes: SimulatorTakes = "design",
        **import_arguments: Any,
    ) -> None:
        self.model = as_model(model, objective=simulator is None, **import_arguments)
        own = simulator is None and self.model.has_objective
        self.options = Options(
            max_evaluations=max_evaluations,
            max_time=max_time,
            target=target,
            sense=(self.model.objective_sense if own else "minimize") if sense is None else sense,
            restarts=restarts,
            population_size=population_size,
            callback=callback,
        )
        self.settings = check_settings(settings)
        check_seed(seed)
        self.simulator = self.model.objective_function() if own else simulator
        if self.simulator is not None:
            check_simulator(self.simulator)
        if takes_model(simulator_takes, model, simulator):
            self.simulator = OnPyomoModel(simulator, model)
        self.feasible_set = compile_model(self.model)
        for note in self.feasible_set.notes:
            logger.debug("%s", note)
        self.seed = int(np.random.SeedSequence(seed).entropy)  # type: ignore[arg-type]
        self._rng = np.random.default_rng(self.seed)
        self._repairer = Repairer(self.feasible_set, self.settings)
        self._wide = start_distribution(self.model, self.feasible_set, sigma)
        self._starts = Starts(self._repairer, self._wide, self.settings.start_candidates, self._rng)
        first = self._starts.first(start_point(self.model, self.feasible_set, start))

        self.evaluations: list[Evaluation] = []
        self.history: list[Generation] = []
        self.stop_reason: StopReason | None = None
        self.best: Evaluation | None = None
        self.n_restarts = 0
        self.ended: list[StopReason] = []
        self._begin = time.monotonic()
        self._search: Search
        self._candidates: list[Candidate] = []
        self._outcomes: dict[int, Call] = {}
        self._memory = DesignMemory(self.settings.reuse_designs)
        self._repair_seconds = 0.0
        size = population_size or default_population_size(self.feasible_set.n)
        self._bipop = Bipop(size)
        self._regime = self._bipop.first()
        self._open_restart(first)

    # -- looking --------------------------------------------------------------------------

    @property
    def n_evaluations(self) -> int:
        """Simulator calls so far."""
        return len(self.evaluations)

    @property
    def max_evaluations(self) -> int | None:
        """The budget of simulator calls."""
        return self.options.max_evaluations

    @property
    def stopped(self) -> bool:
        """Whether the run has ended."""
        return self.stop_reason is not None

    @property
    def distribution(self) -> Distribution:
        """The current search distribution, over the free variables."""
        return self._search.distribution

    def result(self) -> Result:
        """Return the result so far; the run may go on afterwards."""
        return make_result(self)

    # -- ask and tell ---------------------------------------------------------------------

    def ask(self) -> list[Candidate]:
        """Return the candidates of the next generation, repaired and certified.

        Asking again before :meth:`tell` returns the same candidates. There are fewer of them
        if the budget does not allow a whole generation, and none once the run has stopped.
        """
        self._sample_if_needed()
        if self.max_evaluations is not None:
            left = self.max_evaluations - self.n_evaluations
            self._candidates = cut_to_budget(self._candidates, self._memory, left)
        for candidate in self._candidates:
            if candidate.design is not None:
                check_gate(self.feasible_set, candidate.design.x)
        return list(self._candidates)

    def tell(self, objectives: Sequence[float | None]) -> None:
        """Give the objectives of the candidates that :meth:`ask` returned, in their order.

        ``None`` or NaN: the simulation failed, or there was no design to simulate. What is
        told of a design that was simulated before (``candidate.known``) is not used.
        """
        if not self._candidates:
            raise SettingsError("tell() without ask(): there are no open candidates.")
        if len(objectives) != len(self._candidates):
            raise SettingsError(
                f"tell() got {len(objectives)} objectives for {len(self._candidates)} candidates."
            )
        calls = [_told(value) for value in objectives]
        for candidate, outcome in zip(self._candidates, calls, strict=True):
            if candidate.design is None or self._reuse(candidate):
                continue
            self._record(candidate, outcome, check_gate(self.feasible_set, candidate.design.x))
        if len(self._candidates) < len(self._population.repairs):
            self.stop_reason = self.stop_reason or StopReason.MAX_EVALUATIONS
        self._close_generation()

    # -- running --------------------------------------------------------------------------

    def step(self) -> None:
        """Run one generation: sample, repair, simulate, rank, update."""
        if self.simulator is None:
            raise SettingsError("This run has no simulator: use ask() and tell().")
        if self.stopped:
            return
        self._sample_if_needed()
        for candidate in self._candidates:
            if candidate.design is None or self._reuse(candidate):
                continue
            reason = self._budget_reason()
            if reason is not None:
                self.stop_reason = reason
                break
            violation = check_gate(self.feasible_set, candidate.design.x)
            outcome = call(self.simulator, candidate.design, first=not self.evaluations)
            self._record(candidate, outcome, violation)
            if self.stopped:
                break
        self._close_generation()

    def run(self) -> Result:
        """Run until a stopping condition holds."""
        try:
            while not self.stopped:
                self.step()
        except KeyboardInterrupt:
            self.stop_reason = StopReason.INTERRUPTED
            logger.warning("interrupted after %d calls", self.n_evaluations)
        return self.result()

    # -- one generation -------------------------------------------------------------------

    def _sample_if_needed(self) -> None:
        if self._candidates or self.stopped:
            return
        begin_time = time.perf_counter()
        self._search = adapt_alpha(self._search, self._repairer)
        self._population = sample_population(
            self._search, self._repairer, self._rng, self._memory.recent()
        )
        self._repair_seconds = time.perf_counter() - begin_time
        self._candidates = make_candidates(self.feasible_set, self._population, self._memory)
        self._outcomes = {}

    def _reuse(self, candidate: Candidate) -> bool:
        """Take the outcome of the same design simulated before, if there is one."""
        outcome = self._memory.find(candidate.design)
        if outcome is None:
            return False
        self._outcomes[self._position(candidate)] = replace(outcome, seconds=0.0)
        return True

    def _position(self, candidate: Candidate) -> int:
        return next(i for i, c in enumerate(self._candidates) if c is candidate)

    def _record(self, candidate: Candidate, outcome: Call, violation: float) -> None:
        """Keep one finished call; stop at once if it reaches the target."""
        assert candidate.design is not None
        self._outcomes[self._position(candidate)] = outcome
        evaluation = Evaluation(
            index=len(self.evaluations),
            generation=len(self.history),
            restart=self.n_restarts,
            x=candidate.design.x,
            objective=outcome.objective,
            status=outcome.status.value,
            max_violation=violation,
            sampled=candidate.sampled,
            repair_kind=candidate.repair.kind.value,
            repair_solver=candidate.repair.solver,
            repair_iterations=candidate.repair.iterations,
            repair_distance_squared=candidate.repair.distance_squared,
            kkt_residual=candidate.repair.kkt_residual,
            seconds=outcome.seconds,
            message=outcome.message,
        )
        self.evaluations.append(evaluation)
        self._memory.add(candidate, outcome)
        self._restart_evaluations += 1
        if outcome.status is not CallStatus.OK:
            logger.info("call %d: %s", evaluation.index, outcome.message.strip())
            return
        sign = self.options.sign
        if self.best is None or sign * outcome.objective < sign * self.best.objective:
            self.best = evaluation
        if self.options.reached(outcome.objective):
            self.stop_reason = StopReason.TARGET

    def _close_generation(self) -> None:
        """Rank and update; then stopping tests, restarts, callback."""
        begin_time = time.perf_counter()
        objectives = np.full(len(self._population.repairs), np.nan)
        for position, outcome in self._outcomes.items():
            objectives[position] = self.options.sign * outcome.objective
        before = self._search
        if not self.stopped:
            self._search = advance(before, self._population, objectives, self.settings)
            self._tests.add(objectives, first_of_each(self._population.repairs))
        self._keep_history(before, self._population, objectives, begin_time)
        self._candidates = []
        if not self.stopped:
            self.stop_reason = self._budget_reason()
        if not self.stopped:
            self._restart_if_needed()
        self._call_back()

    def _keep_history(
        self, search: Search, population: Population, objectives: Floats, begin_time: float
    ) -> None:
        eigenvalues = search.state.eigenvalues
        finite = objectives[np.isfinite(objectives)]
        now = time.perf_counter()
        record = Generation(
            generation=len(self.history),
            restart=self.n_restarts,
            population_size=search.parameters.population_size,
            evaluations=self.n_evaluations,
            best=float("nan") if self.best is None else self.best.objective,
            best_in_generation=self.options.sign * float(finite.min()) if len(finite) else np.nan,
            sigma=search.distribution.sigma,
            alpha=search.alpha,
            d_m=search.d_m,
            condition=float(eigenvalues[-1] / max(eigenvalues[0], np.finfo(float).tiny)),
            n_active=search.n_active,
            repairs=dict(Counter(r.kind.value for r in population.repairs)),
            repair_seconds=self._repair_seconds,
            simulator_seconds=sum(o.seconds for o in self._outcomes.values()),
            strategy_seconds=now - begin_time,
        )
        self.history.append(record)
        logger.debug("%s", record)

    def _call_back(self) -> None:
        if self.options.callback is None:
            return
        try:
            self.options.callback(self)
        except StopIteration:
            self.stop_reason = self.stop_reason or StopReason.CALLBACK

    def _budget_reason(self) -> StopReason | None:
        limit, most = self.options.max_evaluations, self.options.max_time
        if limit is not None and self.n_evaluations >= limit:
            return StopReason.MAX_EVALUATIONS
        if most is not None and time.monotonic() - self._begin >= most:
            return StopReason.MAX_TIME
        return None

    # -- restarts -------------------------------------------------------------------------

    def _open_restart(self, point: Floats) -> None:
        sigma = self._wide.sigma * self._regime.sigma_factor
        distribution = replace(self._wide, mean=point, sigma=sigma)
        self._search = begin(distribution, point, self._regime.population_size)
        self._tests = History()
        self._candidates = []
        self._restart_evaluations = 0

    def _restart_if_needed(self) -> None:
        """End this restart if a test says so; begin the next one, or stop."""
        reasons = strategy_stop_reasons(
            self._search.state,
            self._search.parameters,
            self._tests,
            self._wide.sigma * self._regime.sigma_factor,
            self.settings,
        )
        share = self._regime.max_evaluations
        if share is not None and self._restart_evaluations >= share:
            reasons.append(StopReason.RESTART_BUDGET)
        if not reasons:
            return
        logger.info("restart %d ends: %s", self.n_restarts, reasons[0].value)
        self.ended.append(reasons[0])
        if self.n_restarts >= self.options.restarts:
            self.stop_reason = reasons[0]
            return
        self.n_restarts += 1
        self._bipop = self._bipop.spent(self._regime, self._restart_evaluations)
        self._bipop, self._regime = self._bipop.next(self._rng)
        self._open_restart(self._starts.next())


def _told(value: float | None) -> Call:
    """Return the outcome that a told objective stands for."""
    number = float("nan") if value is None else float(value)
    if np.isfinite(number):
        return Call(CallStatus.OK, number, "", 0.0)
    return Call(CallStatus.INVALID, float("nan"), "told as failed", 0.0)
