"""`Stream`: the loop of an asynchronous run. A finished call is used at once, and no worker waits.

A generation is dispatched as usual. Whenever a worker would be idle because nothing of it waits,
the handler makes more candidates, knowing which designs are on their way. A generation is learned
from as soon as enough candidates are back (see `archeng.runner.flow`): one of ARCH, when as many as
it has are back, whenever they were sampled; one of proposals, when its first one is back, or a
better design, or as many as there are calls at a time.

Given the order in which calls end, all of it is a pure function of the seed. That order is in the
journal (the position of a call in its generation), and so is every candidate before its call
begins. A run that goes on is put back to its last generation, makes the same candidates, takes the
calls that had ended in their order, and begins those again that were under way.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from archeng.errors import JournalError
from archeng.handlers import Population
from archeng.ledger import Ledger
from archeng.model import FeasibleSet
from archeng.records import CallRecord
from archeng.repair import RepairKind
from archeng.runner.dispatcher import Dispatcher
from archeng.runner.failures import check_first_calls
from archeng.runner.flow import Back, Flow, Sent, population_of
from archeng.runner.generation import Candidate, OpenGeneration, candidates_of
from archeng.runner.options import Options
from archeng.runner.restarting import RestartingSearch
from archeng.runner.state import OpenedState, RunState, reopened, stored_opened
from archeng.simulator import Call
from archeng.strategy import StopReason

_AHEAD = 8  # calls under way for which one more design waits at the executor, for who is idle
_IN_VAIN = 3  # times that only known designs are made, after which a worker is left idle for once


class Host(Protocol):
    """What the loop sees of the run, and changes."""

    state: RunState
    search: RestartingSearch
    ledger: Ledger
    feasible_set: FeasibleSet
    options: Options
    seed: int


class Hooks(NamedTuple):
    """What the loop asks the run to do."""

    take: Callable[[CallRecord], StopReason | None]  # a call; it says why the run should stop
    close: Callable[[OpenGeneration, Mapping[int, CallRecord], StopReason | None], None]
    early_reason: Callable[[], StopReason | None]  # why no further call should begin


class Stream:
    """Runs generations that overlap. What matters afterwards is in the `Flow` of the state.

    ``made`` are candidates that the journal of a resumed run has, as plain data.
    """

    def __init__(
        self, run: Host, dispatcher: Dispatcher, hooks: Hooks, made: Iterable[Any] = ()
    ) -> None:
        self._run, self._dispatcher, self._hooks = run, dispatcher, hooks
        self._width = width = run.options.parallel
        self._most = width + (width + _AHEAD - 1) // _AHEAD if width > 1 else 1
        self._stored = deque(made)  # candidates to come, of a resumed run ...
        unfinished = sorted(run.ledger.unfinished.items())
        self._ended = deque(call for _, call in unfinished)  # ... and calls to come
        self._ended_numbers = {call.sent for call in self._ended}
        self._position = unfinished[-1][0] + 1 if unfinished else 0  # of the next call
        self._made: list[Any] = []  # candidates since the last generation, as plain data
        self._begun: dict[int, tuple[Candidate, float]] = {}  # by number, with the violation
        self._known: deque[tuple[int, Call]] = deque()  # calls that earlier runs have made
        self._seconds = self._call_seconds = 0.0  # since the last generation

    def step(self) -> None:
        """Go on until a generation is learned from, or there is a reason to stop."""
        self._begin_again()
        while True:
            reason = self._hooks.early_reason() if not self._ended else None
            if reason is None:
                self._fill()
                told = self._enough()
                if told is not None:
                    return self._learn(told, None)
            if not self._flow.away:
                return self._learn(self._rest(), reason or StopReason.MAX_EVALUATIONS)
            reason = self._take_next()
            if reason is not None:
                return self._learn(self._rest(), reason)

    @property
    def _flow(self) -> Flow:
        return self._run.state.flow or Flow()

    @_flow.setter
    def _flow(self, flow: Flow) -> None:
        self._run.state = replace(self._run.state, flow=flow)
        self._run.ledger.pending = [s.repair.x for s in flow.away if s.follows is None]

    # -- candidates ---------------------------------------------------------------------------

    def _fill(self) -> None:
        """Begin calls until so many are under way as there may be."""
        in_vain = 0
        while self._idle() > 0 and in_vain < _IN_VAIN and self._enough() is None:
            if not self._flow.waiting:
                self._make(self._idle())
                in_vain += 1
            calls = self._flow.under_way
            self._begin(self._flow.waiting[0])
            in_vain = 0 if self._flow.under_way > calls else in_vain

    def _idle(self) -> int:
        """Return how many calls may begin. The first one of a run is made alone."""
        ledger, under_way = self._run.ledger, self._flow.under_way
        most = self._most if ledger.n_calls else 1
        left = ledger.calls_left
        return (most if left is None else min(most, left)) - under_way

    def _make(self, idle: int) -> None:
        """Let the handler make candidates: of the next generation, or more for idle workers."""
        run, flow, begin = self._run, self._flow, time.perf_counter()
        before = run.state.search
        if self._stored:
            opened = reopened(self._stored.popleft(), run.state.search)
            run.state = replace(run.state, search=opened.search, rng=opened.rng)
            population = opened.population
        elif flow.asked:
            population = run.search.more(run.state, run.ledger.known(), idle)
        else:
            if flow.found:
                run.state = run.search.found(run.state)
            run.state, population = run.search.ask(run.state, run.ledger.known())
        state = run.state
        self._flow = flow.with_made(
            population, state.generation, state.restarts.number, state.search.state.generation
        )
        self._seconds += time.perf_counter() - begin
        opened = OpenedState(state.generation, state.search, state.rng, population)
        if run.ledger.journal is not None:
            self._made.append(stored_opened(opened, before))
            run.ledger.open_generation(lambda: {"generation": state.generation, "made": self._made})

    def _begin_again(self) -> None:
        """Begin the calls again that were under way when an earlier process wrote the state."""
        flow = self._flow
        for sent in flow.away if not self._begun else ():
            if sent.follows is None:
                self._submit(sent, self._candidate(sent))
        self._flow = flow

    def _candidate(self, sent: Sent) -> Candidate:
        one = Population(sent.sampled[None], (sent.repair,), sent.proposed)
        outside = self._run.search.handler.outside
        (candidate,) = candidates_of(one, self._run.feasible_set, outside)
        if candidate.design is not None:
            candidate.design.call = (self._run.seed, sent.number)
        return candidate

    def _begin(self, sent: Sent) -> None:
        """Begin a call of the candidate that waits, unless its outcome is known or on its way."""
        run, flow = self._run, self._flow
        candidate = self._candidate(sent)
        design = candidate.design
        again = sent.repair.kind is RepairKind.REPEATED
        known = None if again else run.ledger.find(design)
        if design is None or known is not None:
            self._came_back([sent], None if known is None else known.index, better=False)
            return
        shared = run.search.settings.reuse_designs and not again
        leader = flow.leader(sent.repair.x) if shared else None
        self._flow = flow.begun(sent, leader)
        if leader is None:
            self._submit(sent, candidate)

    def _submit(self, sent: Sent, candidate: Candidate) -> None:
        """Have a candidate simulated, unless the journal or an earlier run has its call."""
        violation, earlier = self._dispatcher.checked(candidate)
        self._begun[sent.number] = candidate, violation
        if sent.number in self._ended_numbers:
            return
        if earlier is not None:
            self._known.append((sent.number, earlier))
        else:
            self._dispatcher.begin(sent.number, candidate)

    # -- calls that end -----------------------------------------------------------------------

    def _take_next(self) -> StopReason | None:
        """Take the next call that ends; return why the run should stop, if so."""
        ledger = self._run.ledger
        if self._ended:
            call = self._next_stored()
        else:
            number, outcome = self._known.popleft() if self._known else self._dispatcher.ended()
            if number not in self._begun:
                return None  # begun in other independent variables
            call = self._written(number, outcome)
        reason = self._hooks.take(call)
        best = ledger.best_acceptable or ledger.best
        self._came_back(self._flow.together(call.sent), call.index, better=best is call)
        self._position += 1
        self._call_seconds += call.seconds
        del self._begun[call.sent]
        return reason

    def _next_stored(self) -> CallRecord:
        """Return the next call that the journal has."""
        call = self._ended.popleft()
        begun = self._begun.get(call.sent)
        design = None if begun is None else begun[0].design
        if design is None or not np.array_equal(design.x, call.x):
            raise JournalError(
                f"A finished call of generation {call.generation} in the journal has another "
                "design than the candidate here. Nothing was simulated. Begin a new run with "
                "reuse= and this journal."
            )
        return replace(call, index=len(self._run.ledger.calls))

    def _written(self, number: int, outcome: Call) -> CallRecord:
        """Return the record of a call that has just ended, durable before it is used."""
        candidate, violation = self._begun[number]
        sent = next(s for s in self._flow.away if s.number == number)
        generation = replace(
            self._generation(Population(sent.sampled[None], (sent.repair,), sent.proposed)),
            restart=sent.restart,
            first_index=len(self._run.ledger.calls),
            candidates=(candidate,),
            positions=(0,),
        )
        return self._dispatcher.written(generation, outcome, violation, self._position, number)

    def _came_back(self, sents: list[Sent], call: int | None, better: bool) -> None:
        state = self._run.state
        self._flow = self._flow.came_back(
            sents, call, state.generation, state.restarts.number, better
        )

    # -- learning -----------------------------------------------------------------------------

    def _enough(self) -> list[Back] | None:
        """Return the candidates to learn from, if enough of them are back."""
        flow, state, ledger = self._flow, self._run.state, self._run.ledger
        if not flow.asked:
            return None
        if not flow.proposing:
            size = state.search.population_size
            own = [b for b in flow.back if b.sent.restart == state.restarts.number]
            return own[:size] if len(own) >= size else None
        judged = list(flow.judged)
        main = [b for b in judged if b.sent.main and b.sent.generation == state.generation]
        best = ledger.best_acceptable or ledger.best
        first = main or [b for b in judged if b.call is not None and ledger.calls[b.call] is best]
        many = len(judged) >= self._width and not self._run.search.handler.waits(state.search)
        if not first and not many:
            return None
        return [*first, *(b for b in judged if b not in first)]

    def _rest(self) -> list[Back]:
        """Return what is back of a generation that is left open."""
        flow = self._flow
        return list(flow.judged if flow.proposing else flow.back)

    def _learn(self, told: list[Back], reason: StopReason | None) -> None:
        """Learn from candidates that are back, or stop."""
        run, ledger = self._run, self._run.ledger
        n = len(run.state.search.anchor)
        empty = Population(np.zeros((0, n)), ())
        population = population_of(told, run.state.search) if told else empty
        generation = self._generation(population)
        if reason is None and len(ledger.generations) < 2:
            check_first_calls(ledger.calls, generation.size, run.state, run.options)
        if reason is None:
            self._flow = self._flow.closed(told)
        calls = {k: ledger.calls[b.call] for k, b in enumerate(told) if b.call is not None}
        self._hooks.close(generation, calls, reason)
        self._made, self._position, self._seconds, self._call_seconds = [], 0, 0.0, 0.0

    def _generation(self, population: Population) -> OpenGeneration:
        """Return candidates as a generation; they need no designs any more."""
        state, fs = self._run.state, self._run.feasible_set
        repairs = population.repairs
        return OpenGeneration(
            number=state.generation,
            restart=state.restarts.number,
            first_index=0,
            population=population,
            candidates=tuple(
                Candidate(x, None, r) for x, r in zip(population.sampled, repairs, strict=True)
            ),
            positions=(),
            repair_seconds=self._seconds,
            row_numbers=fs.row_numbers,
            call_seconds=self._call_seconds,
        )
