"""What is known of the neighbours of a design on the lattice, and whether one may be better."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from archeng.distribution import Floats
from archeng.model import Lattice
from archeng.outcomes import PastCalls
from archeng.surrogate.evidence import Neighbourhood
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.descent import Descent
from archeng.surrogate.mixed.fibres import Found
from archeng.surrogate.mixed.moves import neighbours


class Neighbour(StrEnum):
    """What is known of a neighbour."""

    SIMULATED = "simulated"  # and not better
    INFEASIBLE = "infeasible"  # no design with these levels satisfies the explicit rows
    PREDICTED = "predicted"  # to be worse, by more than models err where that is known
    OPEN = "open"  # none of these


def examined(
    lattice: Lattice,
    descent: Descent,
    past: PastCalls,
    x: Floats,
    least: float,
    may_be_feasible: Callable[[Floats], bool],
) -> tuple[Neighbourhood, Found | None]:
    """Look at the neighbours of a design (n,); return what is known, and the best open one.

    ``least`` is the gain that counts, in units of the model; ``may_be_feasible`` looks for a
    feasible design with the levels of a point.
    """
    counts, best = dict.fromkeys(Neighbour, 0), None
    here = descent.fibres.at(x).objective
    known = lattice.indices(past.points)
    for y in neighbours(lattice, x):
        found = descent.at(y)
        same = (known == lattice.indices(y)).all(axis=1)
        status = _status(descent, found, here, least, same, past, may_be_feasible)
        counts[status] += 1
        if status is Neighbour.OPEN and (best is None or found.better_than(best)):
            best = found
    return Neighbourhood(**{kind.value: n for kind, n in counts.items()}), best


def _status(
    descent: Descent,
    found: Found,
    here: float,
    least: float,
    same: np.ndarray[tuple[int], np.dtype[np.bool_]],
    past: PastCalls,
    may_be_feasible: Callable[[Floats], bool],
) -> Neighbour:
    if same.any():
        better = found.feasible and found.objective < here - least
        new = is_new(descent, found.x, past.points[same])
        return Neighbour.OPEN if better and new else Neighbour.SIMULATED
    if found.explicit > c.SATISFIED and not may_be_feasible(found.x):
        return Neighbour.INFEASIBLE
    models = descent.fibres.models
    if found.objective > here + c.ERRORS * models.error:
        return Neighbour.PREDICTED
    return Neighbour.PREDICTED if _violates_surely(descent, found) else Neighbour.OPEN


def _violates_surely(descent: Descent, found: Found) -> bool:
    """Whether a simulated constraint is violated there by more than its model errs."""
    models = descent.fibres.models.models
    if models.constraints is None:
        return False
    excess = models.excess(descent.fibres.models.coordinates(found.x))
    errors = (models.row_errors / models.units)[models.side_of]
    return bool((excess > c.ERRORS * errors).any())


def is_new(descent: Descent, x: Floats, known: Floats) -> bool:
    """Whether x (n,) is apart from known designs (k, n) with the same levels."""
    if not len(known):
        return True
    real = descent.fibres.real
    if not len(real):
        return False
    apart = descent.fibres.models.features.of(known) - descent.fibres.models.features.of(x)
    return bool(np.abs(apart).max(axis=1).min() > c.NEW)
