"""`Run`: the one mutable thing. A loop over four verbs, with a ledger of what was simulated."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import flag
from archeng.distribution import Distribution
from archeng.errors import JournalError, SettingsError, SimulatorError
from archeng.journal import Journal, readable
from archeng.options import LIMIT_NAMES
from archeng.records import CallRecord, Generation
from archeng.result import Result
from archeng.runner.assemble import assemble, make_dispatcher
from archeng.runner.failures import after_failure, all_failed, check_first_calls, how_to_go_on
from archeng.runner.generation import Candidate, OpenGeneration, open_generation, told_answers
from archeng.runner.outcome import Account, make_generation, make_result
from archeng.runner.rechoice import changed_search
from archeng.runner.setup import Setup, new_setup, stored_setup
from archeng.runner.signals import Interruption
from archeng.runner.state import OpenedState, RunState, stored, stored_opened
from archeng.runner.stored import latest_note, note_resumed, reopen, reopen_stream, restore
from archeng.runner.stream import Hooks, Stream
from archeng.settings import Settings
from archeng.strategy import StopReason

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
        seed: int | None = None,
        start: Any = None,
        sigma: Any = None,
        parameters: Any = None,
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        setup = new_setup(model, simulator, seed, start, sigma, parameters, settings, options)
        self._take(setup)
        self.state = self.search.init(setup.start, np.random.default_rng(setup.seed))
        self._start_workers(setup)
        try:
            path = setup.runtime.journal
            if path is not None:
                self.ledger.journal = Journal.create(path, setup.header, stored(self._stamped()))
        except BaseException:
            self._dispatcher.close()
            raise

    @classmethod
    def resume(
        cls,
        journal: str | Path,
        simulator: Any = None,
        *,
        model: Any = None,
        settings: Settings | None = None,
        retry_failed: bool = False,
        **options: Any,
    ) -> Run:
        """Go on with the run of a journal; options are those of :func:`archeng.resume`."""
        flag("retry_failed", retry_failed)
        limits = {name: options.pop(name, None) for name in LIMIT_NAMES}
        run, store = cls.__new__(cls), Journal.resume(journal)
        try:
            with readable(journal):
                setup = stored_setup(store, simulator, model, settings, limits, options)
                run._take(setup)
                run._stand_where_it_stood(store, retry_failed)
            run._start_workers(setup)
        except BaseException:
            store.close()
            raise
        run.ledger.journal = store
        try:
            with readable(journal):
                note_resumed(store, run.options, run.n_evaluations)
        except BaseException:
            run.close()
            raise
        return run

    def _take(self, setup: Setup) -> None:
        """Take everything that does not depend on where the run stands."""
        self._setup, self.model, self.simulator = setup, setup.model, setup.simulator
        self.options, self.settings, self.seed = setup.options, setup.settings, setup.seed
        self.feasible_set, self._texts = setup.feasible_set, setup.texts
        self.stop_reason: StopReason | None = None
        self._runtime, self._begin = setup.runtime, time.monotonic()
        self.ledger, self.search, self._team = assemble(setup)
        self.evaluations, self.history = self.ledger.calls, self.ledger.generations
        self._interruption = Interruption()
        self._open: OpenGeneration | None = None
        self._made: list[Any] = []  # candidates of an asynchronous run that its journal has
        self._calls: dict[int, CallRecord] = {}  # of the open generation, by position

    def _start_workers(self, setup: Setup) -> None:
        self._dispatcher = make_dispatcher(setup, self.ledger, self.search, self._begin)
        self.n_workers = self._dispatcher.n_workers
        self._stream: Stream | None = None
        if self.options.asynchronous:
            add, early = partial(self._add, -1), self._early_reason
            hooks = Hooks(add, self._close_generation, early)
            self._stream = Stream(self, self._dispatcher, hooks, self._made)

    def _stand_where_it_stood(self, journal: Journal, retry_failed: bool) -> None:
        """Stand where the journal's last finished generation stood, or after its candidates."""
        handler = self.search.handler
        self.state = restore(journal, self.ledger, self.feasible_set, handler.state_type)
        if retry_failed:
            self.ledger.forget_failed(journal)
        self._begin = time.monotonic() - self.state.elapsed
        best = self.ledger.best_acceptable
        self.stop_reason = self.state.stop_reason or self._budget_reason()
        if best is not None and self.options.reached_by(best, self.state.search):
            self.stop_reason = StopReason.TARGET
        if self.stopped:  # nothing will ask for the calls of the open generation any more
            self.ledger.add_unfinished()
            return
        if self.options.asynchronous:
            self._made = reopen_stream(journal, self.state, self.ledger)
            return
        opened = reopen(journal, self.state)
        if opened is not None:
            self.state = replace(self.state, search=opened.search, rng=opened.rng)
            self._open = self._opened(opened, 0.0)

    # -- looking --------------------------------------------------------------------------

    @property
    def best(self) -> CallRecord | None:
        """The best call so far; the least violating one if none satisfies all constraints."""
        return self.ledger.best

    @property
    def n_evaluations(self) -> int:
        """Simulator calls so far."""
        return self.ledger.n_calls

    @property
    def n_failures(self) -> int:
        """Calls that did not end well."""
        return self.ledger.n_failures

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
        return self.state.search.distribution

    def result(self) -> Result:
        """Return the result so far; the run may go on afterwards."""
        return make_result(Account.of(self))

    # -- ask and tell ---------------------------------------------------------------------

    def ask(self) -> list[Candidate]:
        """Return the candidates of the next generation, repaired and certified.

        Asking again before :meth:`tell` returns the same candidates. There are fewer of them
        if the budget does not allow a whole generation, and none once the run has stopped.
        """
        if self._stream is not None:
            raise SettingsError("ask() and tell() are for runs without asynchronous=True.")
        if self._open is None and self.stopped:
            return []
        return self._dispatcher.shown(self._generation())

    def tell(self, objectives: Sequence[Any]) -> None:
        """Give the objectives of the candidates that :meth:`ask` returned, in their order.

        With simulated constraints or outputs an :class:`archeng.Evaluation` each.
        ``None`` or NaN: the simulation failed, or there was no design to simulate. What is
        told of a design that was simulated before (``candidate.known``) is not used.
        """
        generation, answers = told_answers(self._open, objectives)
        reason = None
        for p in generation.positions:
            call = self._dispatcher.settle(generation, p, answers[p])
            reason = self._add(p, call) or reason
        self._close_generation(generation, self._calls, reason)

    # -- running --------------------------------------------------------------------------

    def step(self) -> None:
        """Run one generation: sample, repair, simulate, rank, update."""
        if self.simulator is None:
            raise SettingsError("This run has no simulator: use ask() and tell().")
        if self._stream is not None and not self.stopped:
            self._stream.step()
        elif not self.stopped:
            self._whole_generation()

    def _whole_generation(self) -> None:
        """Run one generation, all of whose calls are waited for."""
        generation, ledger = self._generation(), self.ledger
        finest = [g for g in ledger.generations if g.level == ledger.finest]
        early = generation.level == ledger.finest and len(finest) < 2
        if early and all_failed(ledger.calls, ledger.unfinished, generation.positions):
            ledger.unfinished = {}
        reason = self._simulate(generation)
        if early and reason is None:
            check_first_calls(ledger.calls, generation.size, self.state, self.options)
        self._close_generation(generation, self._calls, reason)

    def run(self) -> Result:
        """Run until a stopping condition holds."""
        try:
            with self._interruption.listening():
                while not self.stopped:
                    self.step()
        except KeyboardInterrupt:
            self.stop_reason = StopReason.INTERRUPTED
        except SimulatorError as error:
            if self.ledger.journal is not None:
                error.add_note(how_to_go_on(self.ledger.journal.path))
            raise
        finally:
            self.close()
        if self.stop_reason is StopReason.INTERRUPTED:
            logger.warning("interrupted after %d calls", self.n_evaluations)
        return self.result()

    def close(self) -> None:
        """Give up workers and journal; :meth:`run` does it by itself."""
        journal = self.ledger.journal
        if journal is not None:
            last = self.history if self.stopped else ()
            with contextlib.suppress(JournalError):  # it only says how the run ended
                journal.note(latest_note(self.options, self.stop_reason, last, closed=True))
        self._team.close()
        self._dispatcher.close()
        if journal is not None:
            journal.close()

    # -- one generation -------------------------------------------------------------------

    def _generation(self) -> OpenGeneration:
        """Return the open generation; sample and repair the next one if there is none."""
        if self._open is None:
            begin, before = time.perf_counter(), self.state.search
            self.state, population = self.search.ask(self.state, self.ledger.arrays())
            seconds = time.perf_counter() - begin
            now = self.state
            opened = OpenedState(now.generation, now.search, now.rng, population)
            self.ledger.open_generation(partial(stored_opened, opened, before))
            self._open = self._opened(opened, seconds)
        return self._open

    def _opened(self, opened: OpenedState, repair_seconds: float) -> OpenGeneration:
        self._calls = {}
        return open_generation(
            opened.generation,
            self.state.restarts.number,
            opened.population,
            repair_seconds,
            self.feasible_set,
            self.ledger,
            self.search.handler.outside,
            self.seed,
        )

    def _simulate(self, generation: OpenGeneration) -> StopReason | None:
        """Simulate new designs until all are done, or there is a reason to stop; return it."""
        early: StopReason | None = None

        def time_to_stop() -> bool:
            nonlocal early
            early = early or self._early_reason()
            return early is not None

        todo = [p for p in generation.positions if p not in self._calls]
        calls = self._dispatcher.calls(generation, todo, time_to_stop)
        with contextlib.closing(calls):
            for position, call in calls:
                reason = self._add(position, call)
                if reason is not None:
                    return reason
        return early

    def _add(self, position: int, call: CallRecord) -> StopReason | None:
        """Take one finished call into the ledger; return why the run should stop, if so."""
        self._calls[position] = call
        self.ledger.add(call)
        if call is self.ledger.best_acceptable and self.options.reached_by(call, self.state.search):
            return StopReason.TARGET
        if call.good or call.level < self.ledger.finest:
            return None
        return after_failure(call, self._runtime.policy, self.n_failures, self.evaluations)

    def _close_generation(
        self,
        generation: OpenGeneration,
        calls: Mapping[int, CallRecord],
        reason: StopReason | None,
    ) -> None:
        """Rank and update, unless the generation was cut short; then tests, journal, callback."""
        if generation.cut_short:
            reason = reason or self._budget_reason() or StopReason.MAX_COST
        begin = time.perf_counter()
        options, ledger, before = self.options, self.ledger, self.state.search
        outcomes = generation.outcomes(calls, ledger, options.sign)
        if reason is None:
            self.state = self.search.tell(
                self.state, generation.population, outcomes, ledger.known()
            )
        seconds = time.perf_counter() - begin
        record = make_generation(
            generation, before, ledger, options.sign, outcomes.objectives, calls, seconds
        )
        ledger.generations.append(record)
        logger.debug("%s", record)
        self._open, ledger.unfinished = None, {}
        if reason is None:
            reason = self._after_learning(generation, record) or self._budget_reason()
        self.stop_reason = reason
        self._call_back()

    def _after_learning(self, generation: OpenGeneration, record: Generation) -> StopReason | None:
        """Ask the stopping tests, restart, store; return why the search has ended, if so."""
        proposed, ledger = generation.population.proposed, self.ledger
        tests = None if proposed else next(iter(self.state.tests.last(1)), None)
        self.state = self.search.stop(self.state, proposed, ledger.n_calls, ledger.lowest)
        if self.feasible_set.dependents is not None:
            self._follow(ledger.best)
        ledger.close_generation(record, {"tests": tests}, lambda: stored(self._stamped()))
        return self.state.stop_reason or self.options.expected(self.state.search)

    def _follow(self, best: CallRecord | None) -> None:
        """Solve equations from the best design on, in other independents if they ask for it."""
        self.state = self.search.follow(self.state, None if best is None else best.x)
        changed = changed_search(self._setup, self.state)
        if changed is not None:
            self._team.close()
            self._setup, self.feasible_set, self.state, self.search, self._team = changed
            self.ledger.change_space(self.feasible_set)

    def _call_back(self) -> None:
        try:
            for callback in (self._runtime.progress, self.options.callback):
                if callback is not None:
                    callback(self)
        except StopIteration:
            self.stop_reason = self.stop_reason or StopReason.CALLBACK

    def _stamped(self) -> RunState:
        """Return the state with the time that has passed."""
        return replace(self.state, elapsed=time.monotonic() - self._begin)

    def _early_reason(self) -> StopReason | None:
        """Why a generation under way should be left open: the user, or the time."""
        if self._interruption.requested:
            return StopReason.INTERRUPTED
        limit, elapsed = self.options.max_time, time.monotonic() - self._begin
        return StopReason.MAX_TIME if limit is not None and elapsed >= limit else None

    def _budget_reason(self) -> StopReason | None:
        """Why no further generation should begin: the user, the calls, or the time."""
        reason = self._early_reason()
        if reason is not StopReason.INTERRUPTED and self.ledger.calls_left == 0:
            return StopReason.MAX_EVALUATIONS
        paid = self.options.max_cost is None or not self.ledger.out_of_cost
        return reason or (None if paid else StopReason.MAX_COST)
