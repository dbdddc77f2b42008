"""`Ledger`: the only owner of the calls of a run.

Which designs are known, which call is best, how many calls are left, the arrays that models learn
from, and what goes into the journal: all of it is asked here, by a run and by whoever reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archeng.codec import encode
from archeng.distribution import Floats
from archeng.errors import JournalError
from archeng.journal import Journal
from archeng.model import Formulas
from archeng.outcomes import Lessons, Limits, PastCalls, Space, Teacher
from archeng.ranking import violation_order
from archeng.records import CallRecord, Generation
from archeng.simulator import Call, CallStatus, Design, gradient_rows, output_vector

_ROUNDING = 1e-9  # relative, of sums of costs
_FIRST_ROOM = 64  # calls for which the arrays have room at first; they double when they are full


@dataclass(frozen=True)
class Plan:
    """What is to be simulated of a generation.

    Attributes
    ----------
    known : tuple
        For each candidate the call of the same design earlier in this run, or None.
    positions : tuple of int
        Of the candidates to simulate.
    end : int
        How many candidates take part: fewer than all if the budget does not allow them.
    """

    known: tuple[CallRecord | None, ...]
    positions: tuple[int, ...]
    end: int


class Ledger:
    """Calls and generations in the order of the run.

    Parameters
    ----------
    space : FeasibleSet
        Says which variables are free.
    limits : Limits
        Of the simulated constraints.
    maximize : bool
    formulas : Formulas, optional
        Say which outputs are to be kept in the arrays.
    lessons : Lessons, optional
        What earlier runs have learned about the outputs.
    teachers : tuple of Teacher
        What is known of functions that may resemble the simulator.
    budget : int, optional
        Calls that may be made; None: any number.
    reuse_designs : bool
        Whether a design that comes up again takes the outcome of its first simulation.
    earlier : mapping
        Calls of designs that earlier runs simulated, by the bytes of the full vector.
    costs, max_cost
        What a call of each simulator costs, the cheapest first, and what all together may cost.

    Attributes
    ----------
    calls : list of CallRecord
        Every finished call.
    generations : list of Generation
        Every finished generation, and the last one if it was cut short.
    unfinished : dict of int to CallRecord
        Finished calls of the open generation that the journal of a resumed run holds, by the
        position of their candidate.
    n_calls, n_failures : int
        Simulator calls (reused ones do not count), and those that did not end well.
    made, n_recorded : list of int, int
        Calls of each simulator, the cheapest first; all of them, reused ones as well.
    best_acceptable : CallRecord or None
        The best call that satisfies all constraints.
    cheaper : tuple of Ledger
        One for each cheaper simulator, with its calls; everything else here is about the finest.
    pending : list of ndarray, shape (n,)
        Designs whose calls are under way, in an asynchronous run.
    journal : Journal or None
        Where everything is written before it is used.
    """

    def __init__(
        self,
        space: Space,
        limits: Limits,
        *,
        maximize: bool = False,
        budget: int | None = None,
        reuse_designs: bool = False,
        earlier: Mapping[bytes, Call] | None = None,
        formulas: Formulas | None = None,
        lessons: Lessons | None = None,
        teachers: tuple[Teacher, ...] = (),
        costs: tuple[float, ...] = (1.0,),
        max_cost: float | None = None,
    ) -> None:
        self.calls: list[CallRecord] = []
        self.generations: list[Generation] = []
        self.unfinished: dict[int, CallRecord] = {}
        self.pending: list[Floats] = []
        self.journal: Journal | None = None
        self.best_acceptable: CallRecord | None = None
        self.n_calls = self.n_failures = self.n_recorded = 0
        self.made = [0] * len(costs)
        self.limits = limits
        self._formulas, self._budget = formulas, budget
        self._lessons, self.teachers = lessons, teachers
        self.costs, self._max_cost = costs, max_cost
        self.finest = len(costs) - 1
        self.cheaper = tuple(
            Ledger(space, limits, maximize=maximize, reuse_designs=True, formulas=formulas)
            for _ in costs[1:]
        )
        self._sign = -1.0 if maximize else 1.0
        self._reuse, self._given = reuse_designs, earlier or {}
        self._hidden = space.hidden
        self._earlier = self._by_key()
        self._index: dict[bytes, int] = {}
        self._arrays = CallArrays(space, limits.names, self._sign, formulas)

    # -- questions --------------------------------------------------------------------------

    @property
    def best(self) -> CallRecord | None:
        """The best call with all constraints satisfied; if there is none, the least violating."""
        if self.best_acceptable is not None or len(self.limits) == 0:
            return self.best_acceptable
        data = self.arrays()
        usable = np.flatnonzero(np.isfinite(data.objectives))
        if len(usable) == 0:
            return None
        violations = self.limits.violations(data.simulated[usable])
        first = violation_order(data.objectives[usable], violations)[0]
        return self.calls[int(usable[first])]

    @property
    def lowest(self) -> float:
        """Objective of the best acceptable call, to be minimised; infinite if there is none."""
        best = self.best_acceptable
        return np.inf if best is None else self._sign * best.objective

    @property
    def calls_left(self) -> int | None:
        """How many calls the budget still allows; None without a budget."""
        return None if self._budget is None else max(self._budget - self.n_calls, 0)

    @property
    def cost(self) -> float:
        """What all calls cost so far."""
        return float(sum(n * cost for n, cost in zip(self.made, self.costs, strict=True)))

    @property
    def out_of_cost(self) -> bool:
        """Whether no call of the finest simulator can be paid any more."""
        return self._max_cost is not None and self.left_at(self.finest) == 0

    def left_at(self, level: int) -> int | None:
        """How many calls of a simulator the budgets still allow; None: any number."""
        left = self.calls_left if level == self.finest else None
        if self._max_cost is None:
            return left
        payable = (self._max_cost - self.cost) / self.costs[level] * (1 + _ROUNDING)
        return max(int(payable), 0) if left is None else min(max(int(payable), 0), left)

    @property
    def all_calls(self) -> list[CallRecord]:
        """Calls of all simulators, in the order of the run."""
        if not self.cheaper:
            return self.calls
        calls = [*self.calls, *(call for ledger in self.cheaper for call in ledger.calls)]
        return sorted(calls, key=lambda call: call.index)

    def at(self, level: int) -> Ledger:
        """Return the ledger with the calls of a simulator."""
        return self if level == self.finest else self.cheaper[level]

    def arrays(self) -> PastCalls:
        """Return designs, objectives and simulated constraints of all calls so far."""
        cheaper = tuple(ledger.arrays() for ledger in self.cheaper)
        return self._arrays.past(self._lessons, self.teachers, cheaper)

    def known(self) -> PastCalls:
        """Return what :meth:`arrays` has, and the designs whose calls are under way."""
        past = self.arrays()
        return past.and_pending(np.array(self.pending)) if self.pending else past

    def find(self, design: Design | None) -> CallRecord | None:
        """Return the call of the same design in this run, if there is one to be used again."""
        if design is None:
            return None
        own = self.at(design.level)
        index = own._index.get(own._key(design.x))
        return None if index is None else own.calls[index]

    def plan(
        self, designs: Sequence[Design | None], level: int = 0, repeated: bool = False
    ) -> Plan:
        """Say which designs of a generation have to be simulated, within the budget.

        None is a candidate without a design. Designs known from earlier runs cost no call;
        ``repeated`` ones are simulated even so. ``level`` is that of all designs.
        """
        known = tuple(None if repeated else self.find(design) for design in designs)
        new: set[bytes] = set()
        positions: list[int] = []
        left, calls = self.left_at(level), 0
        reuse, earlier = self.at(level)._reuse, self.at(level)._earlier
        for position, design in enumerate(designs):
            if design is None or known[position] is not None:
                continue
            vector = self._key(design.x)
            single = reuse and not repeated
            key = vector if single else position.to_bytes(8, "big")
            if key in new:
                continue
            if repeated or vector not in earlier:
                calls += 1
                if left is not None and calls > left:
                    return Plan(known, tuple(positions), position)
            new.add(key)
            positions.append(position)
        return Plan(known, tuple(positions), len(designs))

    def known_outcomes(
        self, designs: Mapping[int, Design], repeated: bool = False
    ) -> dict[int, CallRecord | Call]:
        """Return calls of designs that the journal has, or that an earlier run simulated.

        ``designs`` are candidates of the open generation, by position; ``repeated`` ones are not
        taken from earlier runs.

        Raises
        ------
        JournalError
            If the journal has a call of another design in the place of one.
        """
        known: dict[int, CallRecord | Call] = {}
        for position, design in designs.items():
            stored = self.unfinished.get(position)
            if stored is not None and not np.array_equal(stored.x, design.x):
                raise JournalError(
                    f"A finished call of generation {stored.generation} in the journal has another "
                    "design than the candidate here. Nothing was simulated. Begin a new run with "
                    "reuse= and this journal."
                )
            own = self.at(design.level)
            earlier = None if repeated else own._earlier.get(own._key(design.x))
            outcome = stored or earlier
            if outcome is not None:
                known[position] = outcome
        return known

    def earlier(self, design: Design) -> Call | None:
        """Return the call of a design that an earlier run simulated, if there is one."""
        return self._earlier.get(self._key(design.x))

    # -- entries ----------------------------------------------------------------------------

    def add(self, call: CallRecord) -> None:
        """Take the next finished call, in the order of the run."""
        self.n_recorded += 1
        if call.level < self.finest:
            self.made[call.level] += call.status != CallStatus.REUSED
            self.cheaper[call.level].add(call)
            return
        good = call.good
        usable = good and call.max_violation == 0
        self._arrays.add(call, usable)
        if self._reuse:
            self._index[self._key(call.x)] = len(self.calls)
        self.calls.append(call)
        self.n_calls += call.status != CallStatus.REUSED
        self.made[-1] = self.n_calls
        self.n_failures += not good
        if usable and not call.violated and self._sign * call.objective < self.lowest:
            self.best_acceptable = call

    def change_space(self, space: Space) -> None:
        """Take other variables as the free ones from now on; teachers speak of the others."""
        self.teachers = ()
        for ledger in self.cheaper:
            ledger.change_space(space)
        self._index = {}
        self._hidden = space.hidden
        self._earlier = self._by_key()
        calls, self.calls[:] = list(self.calls), []
        self._arrays = CallArrays(space, self.limits.names, self._sign, self._formulas)
        for call in calls:
            self._arrays.add(call, call.good and call.max_violation == 0)
            if self._reuse:
                self._index[self._key(call.x)] = len(self.calls)
            self.calls.append(call)

    def _by_key(self) -> dict[bytes, Call]:
        """Return the calls of earlier runs by what tells designs apart."""
        return {self._key(np.frombuffer(x)): call for x, call in self._given.items()}

    def _key(self, full: Floats) -> bytes:
        """Return what tells designs apart: a full vector without variables that follow from others.

        Those may differ in their last digits from one solution of their equations to the next.
        """
        return (full if self._hidden is None else np.delete(full, self._hidden)).tobytes()

    def forget_failed(self, journal: Journal) -> None:
        """Let the failed calls of the open generation be made again.

        Those of an asynchronous run leave the journal, too: they will end in another order.
        """
        for position, call in self.unfinished.items():
            if not call.good and call.sent:
                journal.drop_calls(call.generation, [position])
        self.unfinished = {p: call for p, call in self.unfinished.items() if call.good}

    def add_unfinished(self) -> None:
        """Take the calls of the open generation of a journal that nothing will go on with."""
        for call in self.unfinished.values():
            self.add(call)

    def open_generation(self, opened: Callable[[], Any]) -> None:
        """Store the candidates of a generation, before their first call.

        ``opened`` returns them as plain data; without a journal it is not called.
        """
        if self.journal is not None:
            self.journal.add_candidates(opened())

    def close_generation(
        self, generation: Generation, more: Mapping[str, Any], state: Callable[[], Any]
    ) -> None:
        """Store a finished generation, ``more`` about it, and the state of the run after it."""
        if self.journal is not None:
            record = {**encode(generation), **more}
            self.journal.add_generation(generation.generation, record, state())


class CallArrays:
    """The calls of one simulator as arrays that grow; ``names`` are of simulated constraints."""

    def __init__(
        self, space: Space, names: Sequence[str], sign: float, formulas: Formulas | None
    ) -> None:
        self._space, self._names, self._sign, self._formulas = space, names, sign, formulas
        self._count = 0
        self._points = np.empty((_FIRST_ROOM, space.n))
        self._objectives = np.empty(_FIRST_ROOM)
        self._simulated = np.empty((_FIRST_ROOM, len(names)))
        self._outputs = np.empty((_FIRST_ROOM, 0 if formulas is None else formulas.q))
        self._slopes: Floats | None = None  # until a simulator returns gradients

    def past(self, *others: Any) -> PastCalls:
        """Return what is known so far, and of others."""
        numbers = self._points, self._objectives, self._simulated, self._outputs, self._slopes
        return PastCalls(*numbers, *others).taken(slice(self._count))

    def add(self, call: CallRecord, usable: bool) -> None:
        """Take the next call; NaN for one that is not ``usable``."""
        k = self._count
        if k == len(self._points):
            self._points, self._objectives = _doubled(self._points), _doubled(self._objectives)
            self._simulated, self._outputs = _doubled(self._simulated), _doubled(self._outputs)
            self._slopes = None if self._slopes is None else _doubled(self._slopes)
        self._points[k] = self._space.reduce(call.x)
        self._objectives[k] = self._sign * call.objective if usable else np.nan
        self._simulated[k] = [call.constraints[name] for name in self._names] if usable else np.nan
        if self._formulas is not None:
            outputs = output_vector(self._formulas, call.outputs) if usable else np.nan
            self._outputs[k] = outputs
            self._extend_slopes(self._formulas, call, usable)
        self._count += 1

    def _extend_slopes(self, formulas: Formulas, call: CallRecord, usable: bool) -> None:
        """Take the derivatives of outputs, if the simulator gave some."""
        if call.gradients and usable and self._slopes is None:
            self._slopes = np.full((*self._outputs.shape, self._space.n), np.nan)
        if self._slopes is None:
            return
        given = gradient_rows(formulas, call.gradients if usable else {})
        slopes = self._slopes[self._count]
        slopes[:] = np.nan
        for k, row in given.items():
            slopes[k] = self._space.reduce_gradient(call.x, row)


def _doubled(a: Floats) -> Floats:
    return np.concatenate((a, np.empty_like(a)))
