"""Candidates of a generation, and which of them have to be simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.handlers import Population
from archeng.known import Found, Limits
from archeng.model import FeasibleSet
from archeng.records import CallRecord
from archeng.repair import Repair, RepairKind
from archeng.runner.archive import Archive
from archeng.simulator import Design


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
    """

    sampled: Floats
    design: Design | None
    repair: Repair
    known: float | None = None


@dataclass(frozen=True)
class Plan:
    """Positions to simulate in this generation, and whether the budget cut it short.

    ``end`` is the number of candidates that take part.
    """

    positions: tuple[int, ...]
    end: int
    cut: bool


def make_candidates(
    feasible_set: FeasibleSet, population: Population, archive: Archive, outside: bool
) -> list[Candidate]:
    """Turn a population into candidates with full vectors.

    ``outside``: candidates that violate constraints and were not repaired are simulated too.
    """
    fs = feasible_set
    candidates = []
    for x, repair in zip(population.sampled, population.repairs, strict=True):
        simulated = repair.feasible or (outside and repair.kind is RepairKind.UNREPAIRED)
        design = Design(fs.variables, fs.expand(repair.x)) if simulated else None
        before = archive.find(design)
        known = None if before is None else before.objective
        candidates.append(Candidate(fs.expand(x), design, repair, known))
    return candidates


def make_plan(candidates: Sequence[Candidate], archive: Archive, left: int | None) -> Plan:
    """Say which candidates are new designs; those known from earlier runs cost no call."""
    seen: set[bytes] = set()
    positions: list[int] = []
    calls = 0
    for position, candidate in enumerate(candidates):
        design = candidate.design
        if design is None or candidate.known is not None or archive.find(design) is not None:
            continue
        key = archive.key(design, position)
        if key in seen:
            continue
        if archive.find_earlier(design) is None:
            calls += 1
            if left is not None and calls > left:
                return Plan(tuple(positions), position, cut=True)
        seen.add(key)
        positions.append(position)
    return Plan(tuple(positions), len(candidates), cut=False)


def what_was_found(
    candidates: Sequence[Candidate],
    outcomes: Mapping[int, CallRecord],
    archive: Archive,
    size: int,
    sign: float,
    limits: Limits,
) -> Found:
    """Collect what is known of the candidates, ``sign`` times the objectives; NaN: nothing."""
    objectives, simulated = np.full(size, np.nan), np.full((size, len(limits)), np.nan)
    for position, candidate in enumerate(candidates):
        outcome = outcomes.get(position) or archive.find(candidate.design)
        if outcome is not None and outcome.good:
            objectives[position] = sign * outcome.objective
            simulated[position] = [outcome.constraints[name] for name in limits.names]
    return Found(objectives, simulated)


def first_of_each(repairs: Sequence[Repair]) -> list[int]:
    """Positions of the candidates whose repaired point no earlier candidate has."""
    seen: dict[bytes, int] = {}
    for position, repair in enumerate(repairs):
        seen.setdefault(repair.x.tobytes(), position)
    return list(seen.values())
