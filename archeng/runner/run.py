"""`Run`: the one mutable thing. It brings course, archive, simulator and journal together."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.journal import Journal, finished_designs
from archeng.model import Model, as_model, compile_model
from archeng.records import Evaluation, Generation
from archeng.repair import Repairer
from archeng.result import Result
from archeng.runner.archive import Archive
from archeng.runner.candidates import Candidate, make_candidates, make_plan
from archeng.runner.course import Course
from archeng.runner.failures import check_first_generation, failure
from archeng.runner.options import (
    Options,
    Runtime,
    check_seed,
    check_settings,
    split_options,
    start_distribution,
    start_point,
    takes_model,
)
from archeng.runner.outcome import make_result
from archeng.runner.signals import Interruption
from archeng.runner.stored import (
    header,
    stored_form,
    stored_model,
    stored_settings,
    version_changes,
)
from archeng.runner.team import RepairTeam
from archeng.settings import Settings
from archeng.simulator import (
    Call,
    CallStatus,
    Design,
    Evaluator,
    OnPyomoModel,
    check_gate,
    check_simulator,
    make_pool,
    process_count,
)
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
        chosen, runtime, rest = split_options(options)
        settings = check_settings(settings)
        check_seed(seed)
        given = as_model(model, objective=simulator is None, **rest)
        own = simulator is None and given.has_objective
        if own and chosen.get("sense") is None:
            chosen["sense"] = given.objective_sense
        checked = Options(**{k: v for k, v in chosen.items() if v is not None or k != "sense"})
        data = None
        if runtime.journal is not None:
            given, data = stored_form(given)
        self._prepare(given, simulator, model, checked, settings, runtime)
        self.seed = int(np.random.SeedSequence(seed).entropy)  # type: ignore[arg-type]
        self._make_course(start_distribution(given, self.feasible_set, sigma))
        self._course.begin(start_point(given, self.feasible_set, start))
        if runtime.journal is not None:
            about = header(
                given, data, self.options, self.settings, self.seed, self._course.wide, own
            )
            self._open_journal(Journal.create(runtime.journal, about, self._snapshot()))
        self._open_pool()

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
        **runtime_options: Any,
    ) -> Run:
        """Go on with the run of a journal; options are those of :func:`archeng.resume`."""
        chosen, runtime, rest = split_options(runtime_options)
        unknown = sorted([*chosen.keys() - {"callback"}, *rest])
        if unknown:
            raise SettingsError(
                f"resume() does not take {unknown}: they are the journal's. It takes "
                "max_evaluations, max_time, target, callback and the options of the runtime."
            )
        store = Journal.resume(journal)
        try:
            about = store.header()
            given = None if model is None else as_model(model, objective=about["own_objective"])
            stored = {**about["options"], "callback": chosen.get("callback")}
            new = {"max_evaluations": max_evaluations, "max_time": max_time, "target": target}
            stored.update({k: v for k, v in new.items() if v is not None})
            run = cls.__new__(cls)
            run._prepare(
                stored_model(about, given),
                simulator,
                model,
                Options(**stored),
                stored_settings(about, settings),
                runtime,
            )
            changes = version_changes(about)
            if changes:
                logger.warning("the run may not go on exactly, versions changed: %s", changes)
            run.seed = int(about["seed"])
            run._make_course(Distribution(**about["wide"]))
            run._restore(store, retry_failed)
            run._open_journal(store)
            run._open_pool()
        except BaseException:
            store.close()
            raise
        return run

    def _prepare(
        self,
        model: Model,
        simulator: Any,
        source: Any,
        options: Options,
        settings: Settings,
        runtime: Runtime,
    ) -> None:
        """Set up everything that does not depend on where the run stands."""
        self.model, self.options, self.settings, self._runtime = model, options, settings, runtime
        own = simulator is None and model.has_objective
        self.simulator = model.objective_function() if own else simulator
        if self.simulator is not None:
            check_simulator(self.simulator)
            check = getattr(self.simulator, "check_variables", None)
            if check is not None:
                check(model.variables)
        if takes_model(runtime.simulator_takes, source, simulator):
            self.simulator = OnPyomoModel(simulator, source)
        self.feasible_set = compile_model(model)
        for note in self.feasible_set.notes:
            logger.debug("%s", note)
        self._repairer = Repairer(self.feasible_set, settings)
        self._team = RepairTeam(self._repairer, process_count(runtime.workers))
        self._archive = Archive(
            self.feasible_set, options.sign, settings.reuse_designs, _earlier(model, runtime)
        )
        self.history: list[Generation] = []
        self.stop_reason: StopReason | None = None
        self._journal: Journal | None = None
        self._evaluator: Evaluator | None = None
        self._interruption = Interruption()
        self._begin = time.monotonic()
        self._candidates: list[Candidate] = []
        self._outcomes: dict[int, Call] = {}
        self._pending: dict[int, Evaluation] = {}
        self._repair_seconds = 0.0

    def _make_course(self, wide: Distribution) -> None:
        self._course = Course(
            self._repairer,
            wide,
            self.settings,
            np.random.default_rng(self.seed),
            self.options.population_size,
            self.options.restarts,
            self._team,
        )

    def _open_journal(self, journal: Journal) -> None:
        self._journal = journal

    def _open_pool(self) -> None:
        if self.simulator is not None:
            policy = self._runtime.policy
            pool = make_pool(self._runtime.workers, self.simulator, policy.timeout)
            self._evaluator = Evaluator(pool, policy)

    # -- looking --------------------------------------------------------------------------

    @property
    def evaluations(self) -> list[Evaluation]:
        """Every finished call, in the order of the run."""
        return self._archive.evaluations

    @property
    def best(self) -> Evaluation | None:
        """The best call so far."""
        return self._archive.best

    @property
    def n_evaluations(self) -> int:
        """Simulator calls so far."""
        return self._archive.n_calls

    @property
    def n_failures(self) -> int:
        """Calls that did not end well."""
        return self._archive.n_failures

    @property
    def n_restarts(self) -> int:
        """Restarts begun so far."""
        return self._course.n_restarts

    @property
    def ended(self) -> list[StopReason]:
        """Why each finished restart ended."""
        return self._course.ended

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
        return self._course.search.distribution

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
        plan = make_plan(self._candidates, self._archive, self._calls_left())
        self._candidates = self._candidates[: plan.end]
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
        plan = make_plan(self._candidates, self._archive, None)
        for position in plan.positions:
            self._record(position, self._keep(position, calls[position]))
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
        plan = make_plan(self._candidates, self._archive, self._calls_left())
        self._simulate(plan.positions)
        if plan.cut:
            self.stop_reason = self.stop_reason or StopReason.MAX_EVALUATIONS
        if not self.history:
            check_first_generation(self.evaluations)
        self._close_generation()

    def run(self) -> Result:
        """Run until a stopping condition holds."""
        try:
            with self._interruption.listening():
                while not self.stopped:
                    self.step()
        except KeyboardInterrupt:
            self.stop_reason = StopReason.INTERRUPTED
        finally:
            self.close()
        if self.stop_reason is StopReason.INTERRUPTED:
            logger.warning("interrupted after %d calls", self.n_evaluations)
        return self.result()

    def close(self) -> None:
        """Give up workers and journal; :meth:`run` does it by itself."""
        self._team.close()
        if self._evaluator is not None:
            self._evaluator.close()
        if self._journal is not None:
            self._journal.close()

    # -- one generation -------------------------------------------------------------------

    def _sample_if_needed(self) -> None:
        if self._candidates or self.stopped:
            return
        begin_time = time.perf_counter()
        self._population = self._course.population(self._archive.recent())
        self._repair_seconds = time.perf_counter() - begin_time
        self._candidates = make_candidates(self.feasible_set, self._population, self._archive)
        self._outcomes = {}

    def _simulate(self, positions: Sequence[int]) -> None:
        """Simulate the new designs; they count in the order of the candidates, not of finishing."""
        assert self._evaluator is not None
        finished = {p: e for p in positions if (e := self._known_before(p)) is not None}
        todo = [(p, self._gated(p)) for p in positions if p not in finished]
        calls = self._evaluator.simulate(todo)
        try:
            for position in positions:
                while position not in finished:
                    answer = next(calls, None)
                    if answer is None:
                        return  # cancelled: the generation stays open
                    finished[answer[0]] = self._keep(*answer)
                    self._stop_early()
                self._record(position, finished.pop(position))
                if self.stop_reason in (StopReason.TARGET, StopReason.MAX_FAILURES):
                    return
        finally:
            calls.close()  # type: ignore[attr-defined]

    def _stop_early(self) -> None:
        """Begin no further call once the time is up or the user wants to stop."""
        if self._interruption.asked:
            self.stop_reason = StopReason.INTERRUPTED
        elif self._out_of_time():
            self.stop_reason = StopReason.MAX_TIME
        else:
            return
        assert self._evaluator is not None
        self._evaluator.cancel_waiting()

    def _gated(self, position: int) -> Design:
        """Return a design that is about to be simulated, every row checked once more."""
        design = self._candidates[position].design
        assert design is not None
        check_gate(self.feasible_set, design.x)
        return design

    def _known_before(self, position: int) -> Evaluation | None:
        """Return the call if the journal has it, or an earlier run simulated the same design."""
        design = self._gated(position)
        stored = self._pending.get(position)
        if stored is not None and np.array_equal(stored.x, design.x):
            return stored
        earlier = self._archive.find_earlier(design)
        return None if earlier is None else self._keep(position, earlier)

    def _keep(self, position: int, outcome: Call) -> Evaluation:
        """Make the record of a finished call, durable before it is used."""
        candidate = self._candidates[position]
        assert candidate.design is not None
        evaluation = Evaluation(
            index=0,
            generation=len(self.history),
            restart=self.n_restarts,
            x=candidate.design.x,
            objective=outcome.objective,
            status=outcome.status.value,
            max_violation=check_gate(self.feasible_set, candidate.design.x),
            sampled=candidate.sampled,
            repair_kind=candidate.repair.kind.value,
            repair_solver=candidate.repair.solver,
            repair_iterations=candidate.repair.iterations,
            repair_distance_squared=candidate.repair.distance_squared,
            kkt_residual=candidate.repair.kkt_residual,
            seconds=outcome.seconds,
            message=outcome.message,
            attempts=outcome.attempts,
        )
        if self._journal is not None:
            self._journal.add_call(position, evaluation)
        return evaluation

    def _record(self, position: int, evaluation: Evaluation) -> None:
        """Take one finished call into the archive; stop if it reaches the target."""
        evaluation = replace(evaluation, index=len(self.evaluations))
        self._outcomes[position] = Call(
            CallStatus(evaluation.status),
            evaluation.objective,
            evaluation.message,
            evaluation.seconds,
        )
        self._archive.add(evaluation)
        if not self._outcomes[position].good:
            logger.info("call %d: %s", evaluation.index, evaluation.message.strip())
            most = self._runtime.policy.max_failures
            if self._runtime.policy.on_failure == "raise":
                raise failure("A call", evaluation, self.evaluations)
            if most is not None and self.n_failures > most:
                self.stop_reason = StopReason.MAX_FAILURES
        elif self.options.reached(evaluation.objective):
            self.stop_reason = StopReason.TARGET

    def _close_generation(self) -> None:
        """Rank and update; then stopping tests, restarts, journal, callback."""
        begin_time = time.perf_counter()
        objectives = self._objectives()
        before = self._course.search
        tests = None
        if not self.stopped:
            tests = self._course.learn(self._population, objectives)
        self._keep_history(before, objectives, begin_time)
        self._candidates, self._pending = [], {}
        if tests is not None:
            self.stop_reason = self._course.restart_if_needed(self.n_evaluations)
            if self._journal is not None:
                record = {**asdict(self.history[-1]), "tests": tests}
                self._journal.add_generation(len(self.history) - 1, record, self._snapshot())
            self.stop_reason = self.stop_reason or self._budget_reason()
        self._call_back()

    def _objectives(self) -> Floats:
        """Objectives (lambda,) to be minimised; NaN where there is none."""
        objectives = np.full(len(self._population.repairs), np.nan)
        for position, candidate in enumerate(self._candidates):
            outcome = self._outcomes.get(position) or self._archive.find(candidate.design)
            if outcome is not None:
                objectives[position] = self.options.sign * outcome.objective
        return objectives

    def _keep_history(self, search: Any, objectives: Floats, begin_time: float) -> None:
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
            repairs=dict(Counter(r.kind.value for r in self._population.repairs)),
            repair_seconds=self._repair_seconds,
            simulator_seconds=sum(o.seconds for o in self._outcomes.values()),
            strategy_seconds=now - begin_time,
        )
        self.history.append(record)
        logger.debug("%s", record)

    def _call_back(self) -> None:
        try:
            for callback in (self._runtime.progress, self.options.callback):
                if callback is not None:
                    callback(self)
        except StopIteration:
            self.stop_reason = self.stop_reason or StopReason.CALLBACK

    # -- budget and journal ---------------------------------------------------------------

    def _calls_left(self) -> int | None:
        most = self.options.max_evaluations
        return None if most is None else max(most - self.n_evaluations, 0)

    def _out_of_time(self) -> bool:
        most = self.options.max_time
        return most is not None and time.monotonic() - self._begin >= most

    def _budget_reason(self) -> StopReason | None:
        if self._interruption.asked:
            return StopReason.INTERRUPTED
        if self._calls_left() == 0:
            return StopReason.MAX_EVALUATIONS
        return StopReason.MAX_TIME if self._out_of_time() else None

    def _snapshot(self) -> dict[str, Any]:
        return {
            "generation": len(self.history),
            "elapsed": time.monotonic() - self._begin,
            "stop_reason": None if self.stop_reason is None else self.stop_reason.name,
            **self._course.snapshot(),
        }

    def _restore(self, journal: Journal, retry_failed: bool) -> None:
        """Stand where the journal's last finished generation stood."""
        state, records = journal.state(), journal.generations()
        tests = [r.pop("tests") for r in records]
        same = [
            t for t, r in zip(tests, records, strict=True) if r["restart"] == state["n_restarts"]
        ]
        self._course.restore(state, same)
        self.history = [Generation(**r) for r in records]
        for stored in journal.calls(end=state["generation"]):
            self._archive.add(stored.evaluation)
        self._pending = {
            c.position: c.evaluation
            for c in journal.calls(state["generation"])
            if c.evaluation.good or not retry_failed
        }
        self._begin = time.monotonic() - state["elapsed"]
        reason = state["stop_reason"]
        self.stop_reason = (None if reason is None else StopReason[reason]) or self._budget_reason()


def _earlier(model: Model, runtime: Runtime) -> dict[bytes, float]:
    """Objectives of the designs that earlier runs finished."""
    found: dict[bytes, float] = {}
    for path in runtime.reuse:
        found.update(finished_designs(path, model.element_names()))
    return found


def _told(value: float | None) -> Call:
    """Return the outcome that a told objective stands for."""
    number = float("nan") if value is None else float(value)
    if np.isfinite(number):
        return Call(CallStatus.OK, number, "", 0.0)
    return Call(CallStatus.INVALID, float("nan"), "told as failed", 0.0)
