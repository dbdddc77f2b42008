"""`OpenGeneration`: the candidates of a generation, and which of them have to be simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from archeng.checks import shown
from archeng.distribution import Floats, Integers
from archeng.errors import SettingsError
from archeng.handlers import Population
from archeng.ledger import Ledger
from archeng.model import FeasibleSet
from archeng.outcomes import Outcomes
from archeng.records import CallRecord
from archeng.repair import Repair, RepairKind
from archeng.simulator import Call, Design, told


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate of a generation; the sampled and the repaired point are kept apart.

    Attributes
    ----------
    sampled : ndarray
        Full vector that CMA-ES drew. It may violate constraints: never simulate it.
    design : Design or None
        The repaired, feasible design to simulate; None if the repair failed. Handlers that
        need a simulator defined everywhere do not repair: there it may violate constraints.
    repair : Repair
        Its certificate.
    known : float or None
        The objective, if this very design was simulated in an earlier generation.
    level : int
        Which of several simulators is to be called, 0 for the cheapest; 0 if there is only one.
    """

    sampled: Floats
    design: Design | None
    repair: Repair
    known: float | None = None
    level: int = 0

    def copy(self, known: float | None) -> Candidate:
        """Return one that users may write into, with what is known of it."""
        design = None if self.design is None else self.design.copy()
        return replace(self, sampled=self.sampled.copy(), design=design, known=known)


@dataclass(frozen=True, eq=False)
class OpenGeneration:
    """A generation that has been sampled and not yet learned from."""

    number: int
    restart: int
    first_index: int  # of the first of its calls, in the run
    population: Population  # as the handler made it
    candidates: tuple[Candidate, ...]  # fewer than the population if the budget cuts it short
    positions: tuple[int, ...]  # of the candidates that have to be simulated
    repair_seconds: float  # that sampling and repairing took
    row_numbers: Integers  # by which records name rows, of each row of the feasible set
    call_seconds: float | None = None  # of all calls since the last one; None: of its own calls
    level: int = 0  # of the simulator that is called

    @property
    def size(self) -> int:
        """Candidates of the population."""
        return len(self.population.repairs)

    @property
    def cut_short(self) -> bool:
        """Whether the budget does not allow the whole generation."""
        return len(self.candidates) < self.size

    def outcomes(self, calls: Mapping[int, CallRecord], ledger: Ledger, sign: float) -> Outcomes:
        """Return what is known of the whole population, to be minimised; NaN: nothing.

        ``calls`` are those of this generation by position.
        """
        objectives, limits = np.full(self.size, np.nan), ledger.limits
        simulated = np.full((self.size, len(limits)), np.nan)
        for position, candidate in enumerate(self.candidates):
            call = calls.get(position) or ledger.find(candidate.design)
            if call is not None:
                objectives[position] = sign * call.objective  # NaN if it did not end well
            if call is not None and limits.names and call.good:
                simulated[position] = [call.constraints[name] for name in limits.names]
        return Outcomes(objectives, simulated)


def open_generation(
    number: int,
    restart: int,
    population: Population,
    repair_seconds: float,
    feasible_set: FeasibleSet,
    ledger: Ledger,
    outside: bool,
    seed: int | None = None,
) -> OpenGeneration:
    """Turn a population into candidates and say which are to be simulated.

    ``outside``: candidates that violate constraints and were not repaired are simulated too.
    ``seed`` is that of the run; each call has one of its own, by its number.
    """
    level = ledger.finest if population.level is None else population.level
    candidates = candidates_of(population, feasible_set, outside, level)
    designs = [candidate.design for candidate in candidates]
    plan = ledger.plan(designs, level, population.repeated)
    for index, position in enumerate(plan.positions, start=ledger.n_recorded):
        design = candidates[position].design
        assert design is not None
        design.call = None if seed is None else (seed, index)
    candidates = [
        candidate if call is None else replace(candidate, known=call.objective)
        for candidate, call in zip(candidates, plan.known, strict=True)
    ]
    return OpenGeneration(
        number=number,
        restart=restart,
        first_index=ledger.n_recorded,
        population=population,
        candidates=tuple(candidates[: plan.end]),
        positions=plan.positions,
        repair_seconds=repair_seconds,
        row_numbers=feasible_set.row_numbers,
        level=level,
    )


def candidates_of(
    population: Population, feasible_set: FeasibleSet, outside: bool, level: int = 0
) -> list[Candidate]:
    """Return the candidates of a population, with designs where there is one to simulate."""
    fs, repairs = feasible_set, population.repairs
    sampled = fs.expand(population.sampled)
    repaired = fs.expand(np.array([repair.x for repair in repairs]))
    designs = [
        Design(fs.variables, x, fs.parameters, level=level)
        if (repair.feasible and (fs.whole is None or fs.still_holds(x)))
        or (outside and repair.kind is RepairKind.UNREPAIRED)
        else None
        for x, repair in zip(repaired, repairs, strict=True)
    ]
    return list(map(Candidate, sampled, designs, repairs, repeat(None), repeat(level)))


def told_answers(
    generation: OpenGeneration | None, objectives: Any
) -> tuple[OpenGeneration, list[Call]]:
    """Return what the user tells of an open generation, checked: one answer for each candidate."""
    vector = isinstance(objectives, np.ndarray) and objectives.ndim == 1
    if not vector and not isinstance(objectives, Sequence):
        raise SettingsError(f"tell() takes one objective each, got {shown(objectives)}.")
    if generation is None:
        raise SettingsError("tell() without ask(): there are no open candidates.")
    size = len(generation.candidates)
    if len(objectives) != size:
        raise SettingsError(f"tell() got {len(objectives)} objectives for {size} candidates.")
    return generation, [told(value) for value in objectives]
