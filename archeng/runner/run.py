"""`Run`: the one mutable thing. It brings course, archive, desk and journal together."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import shown
from archeng.distribution import Distribution
from archeng.errors import JournalError, SettingsError, SimulatorError
from archeng.handlers import make_handler
from archeng.journal import Journal, readable
from archeng.records import CallRecord, Generation
from archeng.repair import Repairer
from archeng.result import Result
from archeng.runner import typed
from archeng.runner.account import Account
from archeng.runner.archive import Archive
from archeng.runner.candidates import Candidate, make_candidates, make_plan, what_was_found
from archeng.runner.course import Course
from archeng.runner.desk import Desk
from archeng.runner.failures import all_failed, check_first_calls, failure, how_to_go_on
from archeng.runner.outcome import make_generation, make_result
from archeng.runner.setup import Setup, new_setup, stored_setup
from archeng.runner.signals import Interruption
from archeng.runner.stored import check_designs, latest_note, note_resumed
from archeng.runner.team import RepairTeam
from archeng.settings import Settings
from archeng.simulator import Evaluator, Gate, make_pool, process_count, told
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
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        setup = new_setup(model, simulator, seed, start, sigma, settings, options)
        self._prepare(setup)
        self.course.begin(setup.start)
        evaluator = self._evaluator()
        try:
            path = setup.runtime.journal
            journal = None if path is None else Journal.create(path, setup.header, self._snapshot())
        except BaseException:
            if evaluator is not None:
                evaluator.close()
            raise
        self._open(evaluator, journal)

    @classmethod
    def resume(
        cls,
        journal: str | Path,
        simulator: Any = None,
        *,
        model: Any = None,
        settings: Settings | None = None,
        max_evaluations: int | None = None,
        max_time: float | None = None,
        target: float | None = None,
        retry_failed: bool = False,
        **options: Any,
    ) -> Run:
        """Go on with the run of a journal; options are those of :func:`archeng.resume`."""
        limits = {"max_evaluations": max_evaluations, "max_time": max_time, "target": target}
        run = cls.__new__(cls)
        store = Journal.resume(journal)
        try:
            with readable(journal):
                about = store.header()
                setup = stored_setup(about, simulator, model, settings, limits, options)
                run._prepare(setup)
                run._restore(store, retry_failed)
            run._open(run._evaluator(), store)
        except BaseException:
            store.close()
            raise
        try:
            with readable(journal):
                note_resumed(store, run.options, run.n_evaluations)
        except BaseException:
            run.close()
            raise
        return run

    def _prepare(self, setup: Setup) -> None:
        """Set up everything that does not depend on where the run stands."""
        self.model, self.simulator = setup.model, setup.simulator
        self.options, self.settings, self.seed = setup.options, setup.settings, setup.seed
        self.feasible_set = setup.feasible_set
        self.history: list[Generation] = []
        self.stop_reason: StopReason | None = None
        self._runtime = setup.runtime
        options, limits = setup.options, setup.options.limits
        self.archive = Archive(
            setup.feasible_set, options.sign, setup.settings.reuse_designs, setup.earlier, limits
        )
        repairer = Repairer(setup.feasible_set, setup.settings, setup.wide)
        self._team = RepairTeam(repairer, process_count(setup.runtime.workers))
        self._handler = make_handler(repairer, self._team, setup.settings, setup.wide, limits)
        self.course = Course(
            repairer,
            setup.wide,
            setup.settings,
            np.random.default_rng(setup.seed),
            options.population_size,
            options.restarts,
            self._handler,
            limits,
            options.max_time,
        )
        self._interruption = Interruption()
        self._begin = time.monotonic()
        self._candidates: list[Candidate] = []
        self._outcomes: dict[int, CallRecord] = {}
        self._pending: dict[int, CallRecord] = {}
        self._repair_seconds = 0.0

    def _evaluator(self) -> Evaluator | None:
        if self.simulator is None:
            return None
        policy = self._runtime.policy
        pool = make_pool(self._runtime.workers, self.simulator, policy.timeout)
        return Evaluator(pool, policy, self.options.limits)

    def _open(self, evaluator: Evaluator | None, journal: Journal | None) -> None:
        """Take what has to be closed at the end: workers and journal."""
        self._journal = journal
        gate = Gate(self.feasible_set, self._handler.outside)
        limits, progress = self.options.limits, self._runtime.progress
        self.n_workers = None if evaluator is None else evaluator.n_workers
        on_failure = None if progress is None else progress.failed
        self._desk = Desk(gate, self.archive, evaluator, journal, limits, self._elapsed, on_failure)

    # -- looking --------------------------------------------------------------------------

    @property
    def evaluations(self) -> list[CallRecord]:
        """Every finished call, in the order of the run."""
        return self.archive.evaluations

    @property
    def best(self) -> CallRecord | None:
        """The best call so far; the least violating one if none satisfies all constraints."""
        return self.archive.best

    @property
    def n_evaluations(self) -> int:
        """Simulator calls so far."""
        return self.archive.n_calls

    @property
    def n_failures(self) -> int:
        """Calls that did not end well."""
        return self.archive.n_failures

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
        return self.course.search.distribution

    def result(self) -> Result:
        """Return the result so far; the run may go on afterwards."""
        course = self.course
        return make_result(
            Account(
                feasible_set=self.feasible_set,
                archive=self.archive,
                options=self.options,
                settings=self.settings,
                seed=self.seed,
                history=self.history,
                stop_reason=self.stop_reason or StopReason.INTERRUPTED,
                wide=course.wide,
                n_restarts=course.n_restarts,
                ended=course.ended,
                places=[*course.ended_at, course.place()],
            )
        )

    # -- ask and tell ---------------------------------------------------------------------

    def ask(self) -> list[Candidate]:
        """Return the candidates of the next generation, repaired and certified.

        Asking again before :meth:`tell` returns the same candidates. There are fewer of them
        if the budget does not allow a whole generation, and none once the run has stopped.
        """
        self._sample_if_needed()
        plan = make_plan(self._candidates, self.archive, self._calls_left())
        self._candidates = self._candidates[: plan.end]
        return self._desk.shown(self._candidates, self._pending)

    def tell(self, objectives: Sequence[Any]) -> None:
        """Give the objectives of the candidates that :meth:`ask` returned, in their order.

        With simulated constraints or outputs an :class:`archeng.Evaluation` each.
        ``None`` or NaN: the simulation failed, or there was no design to simulate. What is
        told of a design that was simulated before (``candidate.known``) is not used.
        """
        vector = isinstance(objectives, np.ndarray) and objectives.ndim == 1
        if not vector and not isinstance(objectives, Sequence):
            raise SettingsError(f"tell() takes one objective each, got {shown(objectives)}.")
        if not self._candidates:
            raise SettingsError("tell() without ask(): there are no open candidates.")
        if len(objectives) != len(self._candidates):
            raise SettingsError(
                f"tell() got {len(objectives)} objectives for {len(self._candidates)} candidates."
            )
        calls = [told(value) for value in objectives]
        where = len(self.history), self.course.n_restarts
        for p in make_plan(self._candidates, self.archive, None).positions:
            stored = self._pending.get(p)
            self._record(p, self._desk.settle(self._candidates[p], p, *where, stored, calls[p]))
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
        plan = make_plan(self._candidates, self.archive, self._calls_left())
        if len(self.history) < 2 and all_failed(self.evaluations, self._pending, plan.positions):
            self._pending = {}
        self._simulate(plan.positions)
        if len(self.history) < 2 and not self.stopped:
            check_first_calls(self.evaluations, len(self._population.repairs))
        if plan.cut:
            self.stop_reason = self.stop_reason or StopReason.MAX_EVALUATIONS
        self._close_generation()

    def run(self) -> Result:
        """Run until a stopping condition holds."""
        try:
            with self._interruption.listening():
                while not self.stopped:
                    self.step()
        except KeyboardInterrupt:
            self.stop_reason = StopReason.INTERRUPTED
        except SimulatorError as error:
            if self._journal is not None:
                error.add_note(how_to_go_on(self._journal.path))
            raise
        finally:
            self.close()
        if self.stop_reason is StopReason.INTERRUPTED:
            logger.warning("interrupted after %d calls", self.n_evaluations)
        return self.result()

    def close(self) -> None:
        """Give up workers and journal; :meth:`run` does it by itself."""
        self._team.close()
        if self._journal is not None:
            history = self.history if self.stopped else ()
            note = latest_note(self.options, self.stop_reason, history, closed=True)
            with contextlib.suppress(JournalError):  # it only says how the run ended
                self._journal.note(note)
        self._desk.close()

    # -- one generation -------------------------------------------------------------------

    def _sample_if_needed(self) -> None:
        if self._candidates or self.stopped:
            return
        begin_time = time.perf_counter()
        self._population = self.course.population(self.archive.known())
        self._repair_seconds = time.perf_counter() - begin_time
        if self._journal is not None:
            opened = self.course.opened(self._population)
            self._journal.add_candidates({"generation": len(self.history), **opened})
        self._begin_generation()

    def _begin_generation(self) -> None:
        self._candidates = make_candidates(
            self.feasible_set, self._population, self.archive, self._handler.outside
        )
        self._outcomes = {}

    def _simulate(self, positions: Sequence[int]) -> None:
        """Simulate new designs until all are done, or there is a reason to stop."""
        where = len(self.history), self.course.n_restarts
        calls = self._desk.calls(
            self._candidates, positions, *where, self._pending, self._stop_early
        )
        with contextlib.closing(calls):
            for position, evaluation in calls:
                self._record(position, evaluation)
                if self.stop_reason in (StopReason.TARGET, StopReason.MAX_FAILURES):
                    return

    def _stop_early(self) -> bool:
        """Whether the time is up or the user wants to stop."""
        if self._interruption.asked:
            self.stop_reason = StopReason.INTERRUPTED
        elif self._out_of_time():
            self.stop_reason = StopReason.MAX_TIME
        return self.stopped

    def _record(self, position: int, evaluation: CallRecord) -> None:
        """Take one finished call into the archive; stop if it reaches the target."""
        evaluation = replace(evaluation, index=len(self.evaluations))
        self._outcomes[position] = evaluation
        self.archive.add(evaluation)
        policy = self._runtime.policy
        if evaluation.good:
            if evaluation.acceptable and self.options.reached(evaluation.objective):
                self.stop_reason = StopReason.TARGET
            return
        logger.info("call %d: %s", evaluation.index, evaluation.message.strip())
        if policy.on_failure == "raise":
            raise failure("A call", evaluation, self.evaluations)
        if policy.max_failures is not None and self.n_failures > policy.max_failures:
            self.stop_reason = StopReason.MAX_FAILURES

    def _close_generation(self) -> None:
        """Rank and update; then stopping tests, restarts, journal, callback."""
        begin_time = time.perf_counter()
        size, options = len(self._population.repairs), self.options
        found = what_was_found(
            self._candidates, self._outcomes, self.archive, size, options.sign, options.limits
        )
        before = self.course.search
        learning, tests = not self.stopped, None
        if learning:
            tests = self.course.learn(self._population, found, self.archive.known())
        record = make_generation(
            self,
            before,
            self._population,
            found.objectives,
            self._outcomes.values(),
            (self._repair_seconds, time.perf_counter() - begin_time),
        )
        self.history.append(record)
        logger.debug("%s", record)
        self._candidates, self._pending = [], {}
        if learning:
            self.stop_reason = self.course.restart_if_needed(
                self.n_evaluations, self.archive.lowest
            )
            if self._journal is not None:
                stored = {**asdict(record), "tests": tests}
                self._journal.add_generation(record.generation, stored, self._snapshot())
            self.stop_reason = self.stop_reason or self._budget_reason()
        self._call_back()

    def _call_back(self) -> None:
        try:
            for callback in (self._runtime.progress, self.options.callback):
                if callback is not None:
                    callback(self)
        except StopIteration:
            self.stop_reason = self.stop_reason or StopReason.CALLBACK

    # -- budget and journal ---------------------------------------------------------------

    def _calls_left(self) -> int | None:
        return self.options.calls_left(self.n_evaluations)

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    def _out_of_time(self) -> bool:
        return self.options.out_of_time(self._elapsed())

    def _budget_reason(self) -> StopReason | None:
        if self._interruption.asked:
            return StopReason.INTERRUPTED
        if self._calls_left() == 0:
            return StopReason.MAX_EVALUATIONS
        return StopReason.MAX_TIME if self._out_of_time() else None

    def _snapshot(self) -> dict[str, Any]:
        return {
            "generation": len(self.history),
            "elapsed": self._elapsed(),
            "stop_reason": None if self.stop_reason is None else self.stop_reason.name,
            **self.course.snapshot(),
        }

    def _restore(self, journal: Journal, retry_failed: bool) -> None:
        """Stand where the journal's last finished generation stood."""
        state, records = journal.state(), journal.generations()
        tests = [r.pop("tests") for r in records]
        same = [
            t for t, r in zip(tests, records, strict=True) if r["restart"] == state["n_restarts"]
        ]
        self.course.restore(state, same)
        self.history = [typed.generation(r) for r in records]
        calls = list(journal.calls())
        check_designs(journal.path, self.feasible_set, (c.evaluation for c in calls))
        for stored in calls:
            if stored.evaluation.generation < state["generation"]:
                self.archive.add(stored.evaluation)
        made = self.history[-1].evaluations if self.history else 0
        if len(records) != state["generation"] or made != self.n_evaluations:
            raise JournalError(f"{journal.path}: the file is damaged (rows are missing).")
        self._pending = {
            c.position: c.evaluation
            for c in calls
            if c.evaluation.generation >= state["generation"]
            and (c.evaluation.good or not retry_failed)
        }
        self._begin = time.monotonic() - state["elapsed"]
        reason = state["stop_reason"]
        best = self.archive.best_acceptable
        if best is not None and self.options.reached(best.objective):
            reason = StopReason.TARGET.name
        self.stop_reason = (None if reason is None else StopReason[reason]) or self._budget_reason()
        opened = journal.candidates()
        if opened is not None and opened["generation"] == state["generation"] and not self.stopped:
            self._population = self.course.reopen(opened)
            self._begin_generation()
