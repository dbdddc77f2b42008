"""`Desk`: where calls are ordered, finished calls are written down and put into their order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from archeng.errors import ExecutorError, JournalError
from archeng.journal import Journal
from archeng.known import Limits
from archeng.records import CallRecord
from archeng.runner.archive import Archive
from archeng.runner.candidates import Candidate
from archeng.runner.failures import mistaken
from archeng.simulator import Call, Design, Evaluator, Gate, checked


class Desk:
    """Makes the calls of a generation.

    Parameters
    ----------
    gate : Gate
        Every design is checked once more before it is simulated.
    archive : Archive
        Asked for designs that earlier runs have finished.
    evaluator : Evaluator or None
        None for ask and tell.
    journal : Journal or None
        Every finished call is on disk before it is used.
    limits : Limits
        Of the simulated constraints.
    clock : callable
        Returns the seconds since the run began.
    on_failure : callable or None
        Told of every call that did not end well, as it happens.
    """

    def __init__(
        self,
        gate: Gate,
        archive: Archive,
        evaluator: Evaluator | None,
        journal: Journal | None,
        limits: Limits,
        clock: Callable[[], float],
        on_failure: Callable[[Call], None] | None = None,
    ) -> None:
        self._gate, self._archive = gate, archive
        self._evaluator, self._journal = evaluator, journal
        self._limits, self._clock, self._on_failure = limits, clock, on_failure

    def calls(
        self,
        candidates: Sequence[Candidate],
        positions: Sequence[int],
        generation: int,
        restart: int,
        finished_before: Mapping[int, CallRecord],
        time_to_stop: Callable[[], bool],
    ) -> Generator[tuple[int, CallRecord], None, None]:
        """Simulate the candidates at ``positions`` and yield them in that order.

        The order of finishing does not matter. Once ``time_to_stop`` says so, no further call
        begins; those under way are waited for. Closing the iterator kills or forgets them.

        The first call of a run is made alone. If it shows that the simulator is written wrongly, it
        is not written down: once that is mended, the run begins with the same design.

        Raises
        ------
        SimulatorError
            If that is so.
        """
        assert self._evaluator is not None
        finished: dict[int, CallRecord] = {}
        todo: list[tuple[int, Design]] = []
        for p in positions:
            design = self._gated(candidates[p])
            known = self._known(design, finished_before.get(p))
            if isinstance(known, CallRecord):
                finished[p] = known
            elif known is not None:
                finished[p] = self.keep(candidates[p], p, generation, restart, known)
            else:
                todo.append((p, design))
        stopping = False
        first = self._archive.n_calls == 0 and all(e.status == "reused" for e in finished.values())
        answers = self._evaluator.simulate(todo, first_alone=first)
        try:
            for position in positions:
                while position not in finished:
                    answer = next(answers, None)
                    if answer is None and stopping:
                        return  # the generation stays open
                    if answer is None:
                        raise ExecutorError(
                            "The executor cancelled calls that it had taken. Finished calls are "
                            "kept; with a journal, resume with another executor."
                        )
                    p, outcome = answer
                    if first and outcome.mistake:
                        record = self._record(candidates[p], generation, restart, outcome)
                        raise mistaken(record, self._archive.evaluations) from outcome.cause
                    first = False
                    finished[p] = self.keep(candidates[p], p, generation, restart, outcome)
                    if time_to_stop():
                        stopping = True
                        self._evaluator.cancel_waiting()
                yield position, finished.pop(position)
        finally:
            answers.close()

    def shown(
        self, candidates: Sequence[Candidate], finished_before: Mapping[int, CallRecord]
    ) -> list[Candidate]:
        """Return candidates for those who ask: checked, and with what is known of them."""
        shown = list(candidates)
        for p, candidate in enumerate(shown):
            if candidate.design is None:
                continue
            before = self._known(self._gated(candidate), finished_before.get(p))
            shown[p] = replace(
                candidate,
                sampled=candidate.sampled.copy(),
                design=candidate.design.copy(),  # what is recorded stays here
                known=candidate.known if before is None else before.objective,
            )
        return shown

    def settle(
        self,
        candidate: Candidate,
        position: int,
        generation: int,
        restart: int,
        stored: CallRecord | None,
        told: Call,
    ) -> CallRecord:
        """Return the record of a told call, or of the same design simulated before."""
        known = self._known(self._gated(candidate), stored)
        outcome = known or checked(told, self._limits)
        if isinstance(outcome, CallRecord):
            return outcome
        return self.keep(candidate, position, generation, restart, outcome)

    def _known(self, design: Design, stored: CallRecord | None) -> CallRecord | Call | None:
        """Return the call of a design if the journal has it, or an earlier run simulated it.

        Raises
        ------
        JournalError
            If the journal has a call of another design in its place.
        """
        if stored is None:
            return self._archive.find_earlier(design)
        if np.array_equal(stored.x, design.x):
            return stored
        raise JournalError(
            f"A finished call of generation {stored.generation} in the journal has another design "
            "than the candidate here: this machine rounds differently from the one that made it, "
            "and an earlier archeng did not store the candidates. Nothing was simulated. Resume "
            "where the run began, or begin a new one with reuse= and this journal."
        )

    def keep(
        self, candidate: Candidate, position: int, generation: int, restart: int, outcome: Call
    ) -> CallRecord:
        """Make the record of a finished call, durable before it is used."""
        evaluation = self._record(candidate, generation, restart, outcome)
        if self._journal is not None:
            self._journal.add_call(position, evaluation)
        if not outcome.good and self._on_failure is not None:
            self._on_failure(outcome)
        return evaluation

    def _record(
        self, candidate: Candidate, generation: int, restart: int, outcome: Call
    ) -> CallRecord:
        assert candidate.design is not None
        return CallRecord(
            index=-1,  # its place in the run is known when its turn comes
            generation=generation,
            restart=restart,
            x=candidate.design.x,
            objective=outcome.objective,
            status=outcome.status.value,
            max_violation=self._gate.check(candidate.design.x),
            sampled=candidate.sampled,
            repair_kind=candidate.repair.kind.value,
            repair_solver=candidate.repair.solver,
            repair_iterations=candidate.repair.iterations,
            repair_distance_squared=candidate.repair.distance_squared,
            kkt_residual=candidate.repair.kkt_residual,
            seconds=outcome.seconds,
            message=outcome.message.encode("utf-8", "backslashreplace").decode(),
            attempts=outcome.attempts,
            constraints=dict(outcome.constraints),
            violated=self._violated(outcome),
            outputs=dict(outcome.outputs),
            repair_rows=candidate.repair.active,
            repair_multipliers=candidate.repair.multipliers,
            elapsed=self._clock(),
        )

    def _violated(self, outcome: Call) -> tuple[str, ...]:
        """Names of the simulated constraints that do not hold."""
        if not outcome.good:
            return ()
        values = np.array([outcome.constraints[name] for name in self._limits.names])
        outside = self._limits.violations(values) > 0
        return tuple(n for n, bad in zip(self._limits.names, outside, strict=True) if bad)

    def close(self) -> None:
        """Give up workers and journal."""
        if self._evaluator is not None:
            self._evaluator.close()
        if self._journal is not None:
            self._journal.close()

    def _gated(self, candidate: Candidate) -> Design:
        """Return a candidate's design, every row checked once more at its very vector."""
        assert candidate.design is not None
        self._gate.check(candidate.design.x)
        return candidate.design
