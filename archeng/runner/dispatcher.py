"""`Dispatcher`: sends designs to the simulator and puts finished calls back into their order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from archeng.errors import ExecutorError
from archeng.ledger import Ledger
from archeng.outcomes import Limits
from archeng.records import CallRecord
from archeng.runner.failures import mistaken
from archeng.runner.generation import Candidate, OpenGeneration
from archeng.simulator import Call, Design, Evaluator, Gate, checked


class Dispatcher:
    """Makes the calls of a generation.

    Parameters
    ----------
    gate : Gate
        Every design is checked once more before it is simulated.
    ledger : Ledger
        Asked for outcomes that are known; every finished call is written there before it is used.
    evaluator : Evaluator or None
        None for ask and tell.
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
        ledger: Ledger,
        evaluator: Evaluator | None,
        limits: Limits,
        clock: Callable[[], float],
        on_failure: Callable[[Call], None] | None = None,
    ) -> None:
        self._gate, self._ledger, self._evaluator = gate, ledger, evaluator
        self._limits, self._clock, self._on_failure = limits, clock, on_failure

    @property
    def n_workers(self) -> int | None:
        """How many calls are made at a time; None for ask and tell."""
        return None if self._evaluator is None else self._evaluator.n_workers

    def calls(
        self,
        generation: OpenGeneration,
        positions: Sequence[int],
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
        violations, finished, todo = self._without_a_call(generation, positions)
        first = self._ledger.n_calls == 0 and all(c.status == "reused" for c in finished.values())
        answers = self._evaluator.simulate(todo, first_alone=first)
        stopping = False
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
                        call = self._record(generation, p, outcome, violations[p])
                        raise mistaken(call, self._ledger.calls) from outcome.cause
                    first = False
                    finished[p] = self._written(generation, p, outcome, violations[p])
                    if time_to_stop():
                        stopping = True
                        self._evaluator.cancel_waiting()
                yield position, finished.pop(position)
        finally:
            answers.close()

    def _without_a_call(
        self, generation: OpenGeneration, positions: Sequence[int]
    ) -> tuple[dict[int, float], dict[int, CallRecord], list[tuple[int, Design]]]:
        """Check all designs; return their violations, known outcomes, and what to simulate."""
        violations: dict[int, float] = {}
        finished: dict[int, CallRecord] = {}
        todo: list[tuple[int, Design]] = []
        for p in positions:
            design, violations[p] = self._gated(generation.candidates[p])
            known = self._ledger.known_outcome(design, p)
            if isinstance(known, CallRecord):
                finished[p] = known
            elif known is not None:
                finished[p] = self._written(generation, p, known, violations[p])
            else:
                todo.append((p, design))
        return violations, finished, todo

    def shown(self, generation: OpenGeneration) -> list[Candidate]:
        """Return copies of the candidates for those who ask, with what is known of them."""
        copies = []
        for p, candidate in enumerate(generation.candidates):
            known = candidate.known
            if candidate.design is not None:
                design, _ = self._gated(candidate)
                outcome = self._ledger.known_outcome(design, p)
                known = known if outcome is None else outcome.objective
            copies.append(candidate.copy(known))
        return copies

    def settle(self, generation: OpenGeneration, position: int, told: Call) -> CallRecord:
        """Return the record of a told call, or of the same design simulated before."""
        design, violation = self._gated(generation.candidates[position])
        outcome = self._ledger.known_outcome(design, position) or checked(told, self._limits)
        if isinstance(outcome, CallRecord):
            return outcome
        return self._written(generation, position, outcome, violation)

    def close(self) -> None:
        """Give up the workers."""
        if self._evaluator is not None:
            self._evaluator.close()

    def _written(
        self, generation: OpenGeneration, position: int, outcome: Call, violation: float
    ) -> CallRecord:
        """Return the record of a finished call, durable before it is used."""
        call = self._record(generation, position, outcome, violation)
        self._ledger.write(position, call)
        if self._on_failure is not None and not outcome.good:
            self._on_failure(outcome)
        return call

    def _record(
        self, generation: OpenGeneration, position: int, outcome: Call, violation: float
    ) -> CallRecord:
        return generation.record(position, outcome, violation, self._limits, self._clock())

    def _gated(self, candidate: Candidate) -> tuple[Design, float]:
        """Return a candidate's design and its violation: every row checked at its very vector."""
        assert candidate.design is not None
        return candidate.design, self._gate.check(candidate.design.x)
