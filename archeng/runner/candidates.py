"""Candidates of a generation, and the memory of designs simulated before."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair import Repair
from archeng.runner.search import Population
from archeng.simulator import Call, Design

_REMEMBERED = 500  # designs among which repeated ones are looked for


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate of a generation; the sampled and the repaired point are kept apart.

    Attributes
    ----------
    sampled : ndarray
        Full vector that CMA-ES drew. It may violate constraints: never simulate it.
    design : Design or None
        The repaired, feasible design to simulate; None if the repair failed.
    repair : Repair
        Its certificate.
    known : float or None
        The objective, if this very design was simulated in an earlier generation.
    """

    sampled: Floats
    design: Design | None
    repair: Repair
    known: float | None = None


class DesignMemory:
    """Outcomes of designs simulated before, so that none is simulated twice.

    If not ``enabled`` it remembers nothing.
    """

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._outcomes: dict[bytes, Call] = {}
        self._recent: deque[Floats] = deque(maxlen=_REMEMBERED)

    def add(self, candidate: Candidate, outcome: Call) -> None:
        """Remember the outcome of a simulated candidate."""
        if self._enabled and candidate.design is not None:
            self._outcomes[candidate.design.x.tobytes()] = outcome
            self._recent.append(candidate.repair.x)

    def find(self, design: Design | None) -> Call | None:
        """Return the outcome of the same design, if it is known."""
        return None if design is None else self._outcomes.get(design.x.tobytes())

    def recent(self) -> Floats | None:
        """Return the free vectors (k, n) of the last designs, None if there are none."""
        return np.array(self._recent) if self._recent else None

    def key(self, candidate: Candidate, position: int) -> bytes:
        """Return what tells new designs apart: their vector, or their position if disabled."""
        if self._enabled and candidate.design is not None:
            return candidate.design.x.tobytes()
        return position.to_bytes(8, "big")


def make_candidates(
    feasible_set: FeasibleSet, population: Population, memory: DesignMemory
) -> list[Candidate]:
    """Turn a repaired population into candidates with full vectors."""
    fs = feasible_set
    candidates = []
    for x, repair in zip(population.sampled, population.repairs, strict=True):
        design = Design(fs.variables, fs.expand(repair.x)) if repair.feasible else None
        before = memory.find(design)
        known = None if before is None else before.objective
        candidates.append(Candidate(fs.expand(x), design, repair, known))
    return candidates


def cut_to_budget(candidates: list[Candidate], memory: DesignMemory, left: int) -> list[Candidate]:
    """Drop the candidates from the first new design that the budget no longer allows."""
    new: set[bytes] = set()
    for position, candidate in enumerate(candidates):
        if candidate.design is None or candidate.known is not None:
            continue
        new.add(memory.key(candidate, position))
        if len(new) > left:
            return candidates[:position]
    return candidates


def first_of_each(repairs: Sequence[Repair]) -> list[int]:
    """Positions of the candidates whose repaired point no earlier candidate has."""
    seen: dict[bytes, int] = {}
    for position, repair in enumerate(repairs):
        seen.setdefault(repair.x.tobytes(), position)
    return list(seen.values())
