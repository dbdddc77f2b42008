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
from archeng.surrogate.mixed.features import gaps
from archeng.surrogate.mixed.fibres import Found
from archeng.surrogate.mixed.moves import neighbours

Repaired = Callable[[Floats], Floats | None]


class Neighbour(StrEnum):
    """What is known of a neighbour."""

    SIMULATED = "simulated"  # and not better
    INFEASIBLE = "infeasible"  # no design with these levels satisfies the explicit rows
    PREDICTED = "predicted"  # to be worse, by more than models err where that is known
    OPEN = "open"  # none of these


class Examination:
    """Looks at the neighbours of a design (n,).

    Parameters
    ----------
    descents : tuple of Descent
        Models, and then others that keep away from simulated limits: designs at these limits may
        be known, and violate them by a little.
    past : PastCalls
    x : ndarray, shape (n,)
    least : float
        The gain that counts, in units of the model.
    repaired : callable
        Returns a feasible design with the levels of a point (n,), or None.
    """

    def __init__(
        self,
        lattice: Lattice,
        descents: tuple[Descent, ...],
        past: PastCalls,
        x: Floats,
        least: float,
        repaired: Repaired,
    ) -> None:
        self._lattice, self._descents, self._past = lattice, descents, past
        self._x, self._least, self._repaired = x, least, repaired
        self._known = lattice.indices(past.points)
        self._here = descents[0].fibres.at(x).objective

    def made(self) -> tuple[Neighbourhood, Floats | None]:
        """Return what is known, and the most promising design (n,) among the open ones."""
        counts = dict.fromkeys(Neighbour, 0)
        best: tuple[Found, Floats] | None = None
        for y in neighbours(self._lattice, self._x):
            status, found, design = self._status(y)
            counts[status] += 1
            if design is not None and (best is None or found.better_than(best[0])):
                best = found, design
        around = Neighbourhood(**{kind.value: n for kind, n in counts.items()})
        return around, None if best is None else best[1]

    def _status(self, y: Floats) -> tuple[Neighbour, Found, Floats | None]:
        """Return what is known of the levels of y (n,); of open ones a design to simulate."""
        same = (self._known == self._lattice.indices(y)).all(axis=1)
        if same.any():
            for descent in self._descents:
                found = descent.at(y)
                design = self._better(descent, found, self._past.points[same])
                if design is not None:
                    return Neighbour.OPEN, found, design
            return Neighbour.SIMULATED, found, None
        descent = self._descents[0]
        found = descent.at(y)
        if found.explicit > c.SATISFIED:
            design = self._repaired(found.x)
            if design is None:
                return Neighbour.INFEASIBLE, found, None
            found = descent.fibres.at(design)
        surely = found.objective > self._here + c.ERRORS * descent.fibres.models.error
        if self._seen(y) and (surely or _violates_surely(descent, found)):
            return Neighbour.PREDICTED, found, None
        design = self._repaired(descent.polished(found).x)
        return (Neighbour.INFEASIBLE if design is None else Neighbour.OPEN), found, design

    def _seen(self, y: Floats) -> bool:
        """Whether calls say something of every level of y (n,) that differs from x.

        There are calls with that level, or, if it has an order, with several others.
        """
        there, here = self._lattice.indices(y), self._lattice.indices(self._x)
        for j in np.flatnonzero(there != here):
            levels = np.unique(self._known[:, j])
            if there[j] in levels:
                continue
            if not self._lattice.ordered[j] or len(levels) < c.LEVELS_SEEN:
                return False
        return True

    def _better(self, descent: Descent, found: Found, known: Floats) -> Floats | None:
        """Return a new design that may be better, at levels with known ones.

        May: if the model errs there as far as it is from what is known.
        """
        if not found.feasible:
            return None
        models = descent.fibres.models
        apart, usual = gaps(models.features, self._past, found.x[None])
        doubt = models.error * min(float(apart[0]) / usual, c.FAR_MOST) if apart[0] > c.KNOWN else 0
        if found.objective - doubt >= self._here - self._least:
            return None
        design = self._repaired(descent.polished(found).x)
        return design if design is not None and is_new(descent, design, known) else None


def _violates_surely(descent: Descent, found: Found) -> bool:
    """Whether a simulated constraint is violated there by more than its model errs."""
    models = descent.fibres.models.models
    if models.constraints is None:
        return False
    excess = models.excess(descent.fibres.models.coordinates(found.x))
    errors = (models.row_errors / models.units)[models.side_of]
    return bool((excess > c.ERRORS * errors + c.SATISFIED).any())


def is_new(descent: Descent, x: Floats, known: Floats) -> bool:
    """Whether x (n,) is apart from known designs (k, n) with the same levels."""
    if not len(known):
        return True
    real = descent.fibres.real
    if not len(real):
        return False
    apart = descent.fibres.models.features.of(known) - descent.fibres.models.features.of(x)
    return bool(np.abs(apart).max(axis=1).min() > c.NEW)
