"""`Ledger`: the only owner of the calls of a run.

Which designs are known, which call is best, how many calls are left, the arrays that models learn
from, and what goes into the journal: all of it is asked here, by a run and by whoever reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from archeng.codec import decode, encode
from archeng.distribution import Floats
from archeng.errors import JournalError
from archeng.journal import Journal, StoredCall
from archeng.model import Formulas
from archeng.outcomes import Lessons, Limits, PastCalls, Teacher
from archeng.ranking import violation_order
from archeng.records import CallRecord, Generation
from archeng.simulator import Call, CallStatus, Design, output_vector

_FIRST_ROOM = 64  # calls for which the arrays have room at first; they double when they are full


class Space(Protocol):
    """Which variables are free, as a feasible set says it."""

    @property
    def n(self) -> int:
        """How many."""

    def reduce(self, full: Floats) -> Floats:
        """Return their part of a full vector."""

    def reduce_gradient(self, full: Floats, gradient: Floats) -> Floats:
        """Return derivatives by them, given those by all variables at a full vector."""

    @property
    def hidden(self) -> Any:
        """Positions in a full vector of variables that follow from others; None: there are none."""


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
    best_acceptable : CallRecord or None
        The best call that satisfies all constraints.
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
    ) -> None:
        self.calls: list[CallRecord] = []
        self.generations: list[Generation] = []
        self.unfinished: dict[int, CallRecord] = {}
        self.pending: list[Floats] = []
        self.journal: Journal | None = None
        self.best_acceptable: CallRecord | None = None
        self.n_calls = self.n_failures = 0
        self.limits = limits
        self._space, self._formulas, self._budget = space, formulas, budget
        self._lessons, self.teachers = lessons, teachers
        self._sign = -1.0 if maximize else 1.0
        self._reuse, self._given = reuse_designs, earlier or {}
        self._hidden = space.hidden
        self._earlier = self._by_key()
        self._index: dict[bytes, int] = {}
        self._points = np.empty((_FIRST_ROOM, space.n))
        self._objectives = np.empty(_FIRST_ROOM)
        self._simulated = np.empty((_FIRST_ROOM, len(limits)))
        self._outputs = np.empty((_FIRST_ROOM, 0 if formulas is None else formulas.q))
        self._slopes: Floats | None = None  # until a simulator returns gradients

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

    def arrays(self) -> PastCalls:
        """Return designs, objectives and simulated constraints of all calls so far."""
        every = PastCalls(
            self._points,
            self._objectives,
            self._simulated,
            self._outputs,
            self._slopes,
            self._lessons,
            self.teachers,
        )
        return every.taken(slice(len(self.calls)))

    def known(self) -> PastCalls:
        """Return what :meth:`arrays` has, and the designs whose calls are under way."""
        past = self.arrays()
        return past.and_pending(np.array(self.pending)) if self.pending else past

    def find(self, design: Design | None) -> CallRecord | None:
        """Return the call of the same design in this run, if there is one to be used again."""
        index = None if design is None else self._index.get(self._key(design.x))
        return None if index is None else self.calls[index]

    def plan(self, designs: Sequence[Design | None], repeated: bool = False) -> Plan:
        """Say which designs of a generation have to be simulated, within the budget.

        None is a candidate without a design. Designs known from earlier runs cost no call;
        ``repeated`` ones are simulated even so.
        """
        known = tuple(None if repeated else self.find(design) for design in designs)
        new: set[bytes] = set()
        positions: list[int] = []
        left, calls = self.calls_left, 0
        for position, design in enumerate(designs):
            if design is None or known[position] is not None:
                continue
            vector = self._key(design.x)
            single = self._reuse and not repeated
            key = vector if single else position.to_bytes(8, "big")
            if key in new:
                continue
            if repeated or vector not in self._earlier:
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
            earlier = None if repeated else self._earlier.get(self._key(design.x))
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
        good = call.good
        usable = good and call.max_violation == 0
        self._extend_arrays(call, usable)
        if self._reuse:
            self._index[self._key(call.x)] = len(self.calls)
        self.calls.append(call)
        self.n_calls += call.status != CallStatus.REUSED
        self.n_failures += not good
        if usable and not call.violated and self._sign * call.objective < self.lowest:
            self.best_acceptable = call

    def change_space(self, space: Space) -> None:
        """Take other variables as the free ones from now on; teachers speak of the others."""
        self.teachers = ()
        self._space, self._slopes, self._index = space, None, {}
        self._hidden = space.hidden
        self._earlier = self._by_key()
        calls, self.calls[:] = list(self.calls), []
        self._points = np.empty((len(self._points), space.n))
        for call in calls:
            self._extend_arrays(call, call.good and call.max_violation == 0)
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

    def load(
        self,
        path: Path,
        generations: Iterable[Mapping[str, Any]],
        calls: Iterable[StoredCall],
        finished: int,
    ) -> list[dict[str, Any]]:
        """Take the ``finished`` generations of a journal and their calls; others are `unfinished`.

        Returns
        -------
        list of dict
            What was stored with each generation beside its record.

        Raises
        ------
        JournalError
            If rows are missing.
        """
        names = {f.name for f in fields(Generation)}
        more = []
        for row in generations:
            own = {key: value for key, value in row.items() if key in names}
            more.append({key: value for key, value in row.items() if key not in names})
            self.generations.append(decode(Generation, own))
        for stored in calls:
            if stored.call.generation < finished:
                self.add(stored.call)
            else:
                self.unfinished[stored.position] = stored.call
        made = self.generations[-1].evaluations if self.generations else 0
        if len(self.generations) != finished or made != self.n_calls:
            raise JournalError(f"{path}: the file is damaged (rows are missing).")
        return more

    def _extend_arrays(self, call: CallRecord, usable: bool) -> None:
        k = len(self.calls)
        if k == len(self._points):
            self._points, self._objectives = _doubled(self._points), _doubled(self._objectives)
            self._simulated, self._outputs = _doubled(self._simulated), _doubled(self._outputs)
            self._slopes = None if self._slopes is None else _doubled(self._slopes)
        self._points[k] = self._space.reduce(call.x)
        self._objectives[k] = self._sign * call.objective if usable else np.nan
        values = [call.constraints[name] for name in self.limits.names] if usable else np.nan
        self._simulated[k] = values
        if self._formulas is not None:
            outputs = output_vector(self._formulas, call.outputs) if usable else np.nan
            self._outputs[k] = outputs
            self._extend_slopes(self._formulas, call, usable)

    def _extend_slopes(self, formulas: Formulas, call: CallRecord, usable: bool) -> None:
        """Take the derivatives of outputs, if the simulator gave some."""
        if call.gradients and usable and self._slopes is None:
            self._slopes = np.full((*self._outputs.shape, self._space.n), np.nan)
        if self._slopes is None:
            return
        first, slopes = 0, self._slopes[len(self.calls)]
        slopes[:] = np.nan
        for output in formulas.outputs:
            rows = call.gradients.get(output.name, ()) if usable else ()
            for i, row in enumerate(rows):
                slopes[first + i] = self._space.reduce_gradient(call.x, np.array(row))
            first += output.size


def _doubled(a: Floats) -> Floats:
    return np.concatenate((a, np.empty_like(a)))
