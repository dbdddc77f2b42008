"""`Dispatcher`: sends designs to the simulator and puts finished calls back into their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from archeng.errors import ExecutorError
from archeng.ledger import Ledger
from archeng.outcomes import Limits
from archeng.records import CallRecord
from archeng.runner.failures import mistaken
from archeng.runner.generation import Candidate, OpenGeneration
from archeng.simulator import Asked, Call, Design, Evaluator, Gate

_CANCELLED = (
    "The executor cancelled calls that it had taken. Finished calls are kept; with a journal, "
    "resume with another executor."
)


class Dispatcher:
    """Makes the calls of a generation."""

    def __init__(
        self,
        gate: Gate,  # checks every design once more before it is simulated
        ledger: Ledger,  # says which outcomes are known
        evaluator: Evaluator | None,  # None for ask and tell
        asked: Asked,  # of the simulator
        begin: float,  # of the run, by `time.monotonic`
        on_failure: Callable[[Call], None] | None = None,  # told of calls that did not end well
    ) -> None:
        self._gate, self._ledger, self._evaluator = gate, ledger, evaluator
        self._asked, self._begin, self._on_failure = asked, begin, on_failure

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

        The first call of a run is made alone. If it shows that the simulator is written wrongly,
        that is a SimulatorError, and the call is not written down: once that is mended, the run
        begins with the same design.
        """
        assert self._evaluator is not None
        violations, finished, todo = self._without_a_call(generation, positions)
        made = self._ledger.made[generation.level]
        first = made == 0 and all(c.status == "reused" for c in finished.values())
        answers = self._evaluator.simulate(todo, first_alone=first)
        stopping = False
        try:
            for position in positions:
                while position not in finished:
                    answer = next(answers, None)
                    if answer is None and stopping:
                        return  # the generation stays open
                    if answer is None:
                        raise ExecutorError(_CANCELLED)
                    p, outcome = answer
                    if first and outcome.mistake:
                        call = self._record(generation, p, outcome, violations[p])
                        raise mistaken(call, self._ledger.all_calls) from outcome.cause
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
        designs: dict[int, Design] = {}
        for p in positions:
            designs[p], violations[p] = self._gated(generation.candidates[p])
        finished = {
            p: self._taken(generation, p, known, violations[p])
            for p, known in self._known(generation, designs).items()
        }
        todo = [(p, design) for p, design in designs.items() if p not in finished]
        return violations, finished, todo

    def shown(self, generation: OpenGeneration) -> list[Candidate]:
        """Return copies of the candidates for those who ask, with what is known of them."""
        designs = {
            p: self._gated(candidate)[0]
            for p, candidate in enumerate(generation.candidates)
            if candidate.design is not None
        }
        known = {p: o.objective for p, o in self._known(generation, designs).items()}
        return [c.copy(known.get(p, c.known)) for p, c in enumerate(generation.candidates)]

    def settle(self, generation: OpenGeneration, position: int, told: Call) -> CallRecord:
        """Return the record of a told call, or of the same design simulated before.

        Nobody knows which parameters a told answer depends on: all of them, then.
        """
        design, violation = self._gated(generation.candidates[position])
        known = self._known(generation, {position: design}).get(position)
        told = replace(told, parameters_read=tuple(sorted(design.parameters)))
        outcome = known or self._asked.completed(told, design.x, design.level)
        return self._taken(generation, position, outcome, violation)

    def _known(
        self, generation: OpenGeneration, designs: Mapping[int, Design]
    ) -> dict[int, CallRecord | Call]:
        """Return what is known of candidates of a generation, by position."""
        return self._ledger.known_outcomes(designs, generation.population.repeated)

    # -- one call after the other, for asynchronous runs --------------------------------------

    def checked(self, candidate: Candidate) -> tuple[float, Call | None]:
        """Return a design's violation, and its outcome if an earlier run has simulated it."""
        design, violation = self._gated(candidate)
        known = self._ledger.earlier(design)
        return violation, known

    def begin(self, number: int, candidate: Candidate) -> None:
        """Begin a call of a candidate, by its number."""
        assert self._evaluator is not None
        assert candidate.design is not None
        self._evaluator.submit(number, candidate.design)

    def ended(self) -> tuple[int, Call]:
        """Return the number and the outcome of the next call that ends."""
        assert self._evaluator is not None
        answer = self._evaluator.next()
        if answer is None:
            raise ExecutorError(_CANCELLED)
        return answer

    def written(
        self,
        generation: OpenGeneration,
        outcome: Call,
        violation: float,
        position: int,
        number: int,
    ) -> CallRecord:
        """Return the record of a finished call of the only candidate of a generation, durable.

        ``position`` is that of the call in its generation, ``number`` that of the candidate.
        """
        call = replace(self._record(generation, 0, outcome, violation), sent=number)
        if outcome.mistake and self._ledger.n_calls == 0:
            raise mistaken(call, self._ledger.calls) from outcome.cause
        self._keep(position, call, outcome)
        return call

    def close(self) -> None:
        """Give up the workers."""
        if self._evaluator is not None:
            self._evaluator.close()

    def _taken(
        self,
        generation: OpenGeneration,
        position: int,
        outcome: Call | CallRecord,
        violation: float,
    ) -> CallRecord:
        """Return the record of a call that was made elsewhere, or that the journal has.

        The journal numbers calls as if none were missing: workers may have finished a later one
        before the run was cut off.
        """
        if isinstance(outcome, CallRecord):
            return replace(outcome, index=_index(generation, position))
        return self._written(generation, position, outcome, violation)

    def _written(
        self, generation: OpenGeneration, position: int, outcome: Call, violation: float
    ) -> CallRecord:
        """Return the record of a finished call, durable before it is used."""
        call = self._record(generation, position, outcome, violation)
        self._keep(position, call, outcome)
        return call

    def _keep(self, position: int, call: CallRecord, outcome: Call) -> None:
        """Write a call down, and say that it failed, if so."""
        if self._ledger.journal is not None:
            self._ledger.journal.add_call(position, call)
        if self._on_failure is not None and not outcome.good:
            self._on_failure(outcome)

    def _record(
        self, generation: OpenGeneration, position: int, outcome: Call, violation: float
    ) -> CallRecord:
        elapsed = time.monotonic() - self._begin
        return call_record(generation, position, outcome, violation, self._ledger.limits, elapsed)

    def _gated(self, candidate: Candidate) -> tuple[Design, float]:
        """Return a candidate's design and its violation: every row checked at its very vector."""
        assert candidate.design is not None
        return candidate.design, self._gate.check(candidate.design.x)


def call_record(
    generation: OpenGeneration,
    position: int,
    outcome: Call,
    violation: float,
    limits: Limits,
    elapsed: float,
) -> CallRecord:
    """Return the record of a finished call.

    ``violation`` is the largest one of an explicit constraint, ``limits`` are those of the
    simulated ones, ``elapsed`` the seconds since the run began.
    """
    candidate = generation.candidates[position]
    assert candidate.design is not None
    repair = candidate.repair
    return CallRecord(
        index=_index(generation, position),
        generation=generation.number,
        restart=generation.restart,
        x=candidate.design.x,
        objective=outcome.objective,
        status=outcome.status.value,
        max_violation=violation,
        sampled=candidate.sampled,
        repair_kind=repair.kind.value,
        repair_solver=repair.solver,
        repair_iterations=repair.iterations,
        repair_distance_squared=repair.distance_squared,
        kkt_residual=repair.kkt_residual,
        repair_open=not repair.proven,
        seconds=outcome.seconds,
        message=outcome.message.encode("utf-8", "backslashreplace").decode(),
        attempts=outcome.attempts,
        constraints=dict(outcome.constraints),
        violated=_violated(outcome, limits),
        outputs=dict(outcome.outputs),
        gradients=dict(outcome.gradients),
        parameters_read=outcome.parameters_read,
        repair_rows=tuple(generation.row_numbers[list(repair.active)].tolist()),
        repair_multipliers=repair.multipliers,
        elapsed=elapsed,
        level=generation.level,
    )


def _index(generation: OpenGeneration, position: int) -> int:
    """Return the number in the run of the call of a candidate."""
    return generation.first_index + generation.positions.index(position)


def _violated(outcome: Call, limits: Limits) -> tuple[str, ...]:
    """Names of the simulated constraints that do not hold."""
    if not limits.names or not outcome.good:
        return ()
    values = np.array([outcome.constraints[name] for name in limits.names])
    outside = limits.violations(values) > 0
    return tuple(name for name, bad in zip(limits.names, outside, strict=True) if bad)
