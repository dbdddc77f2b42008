"""`LocalSearch`: a search with models around one design, to an end that can be shown.

A trust-region method in the manner of Powell's [P94, R22]. It has two lengths: the *radius*, how
far the models are believed, and the *resolution*, on which the designs around the centre are kept
poised. One round after the other:

1. the best step by the models within the radius, if it promises a gain that matters;
2. else, if the resolution is fine enough to show something, a design in a direction that the
   models do not know, on that scale;
3. else the evidence: if it shows that the centre is a local optimum, the search ends with that
   claim;
4. else a finer resolution, until there is none: the search has stalled.

All that it remembers is a frozen `Local`, and what is simulated next is part of it.

[P94] see :mod:`archeng.surrogate.poise`. [R22] T. M. Ragonneau, Model-based derivative-free
optimization methods and software, PhD thesis, 2022, arXiv:2210.12018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.known import Known, Limits
from archeng.repair import Repairer
from archeng.surrogate.constrained import Models, Step, best_step, fit_models
from archeng.surrogate.data import Frame, select
from archeng.surrogate.evidence import CLAIM, RADII, evidence, objective_size
from archeng.surrogate.first_order import explicit_rows
from archeng.surrogate.poise import designs_near, free_directions, missing_design

FIRST_RADIUS, FIRST_RESOLUTION = 1.0, 0.1
"""Of a search that begins far from an optimum, in initial standard deviations."""
CLOSING = 1e-3
"""Radius and resolution of a search that begins where another one has ended."""
_LARGEST = 5.0
_FINE = 2 * RADII[0]  # resolutions below this can show something
_FINEST = 2e-5  # resolution: there is no other one below it
_FINER = 0.1  # factor of the resolution
_SMALLER = 0.2  # factor of the radius with it
_GOOD, _POOR = 0.7, 0.1  # actual over predicted gain
_LONGER, _SHORTER = 2.0, 0.5  # radius after a good and a poor step, in lengths of it
_NEW = 1e-4  # least distance from known designs, in lengths of the step
_WEIGHT = 5.0  # least weight of violations, in slopes of the objective
_ESCAPE = 0.3  # radius in which models are asked whether the centre is a saddle ...
_STARTS = 4  # ... from so many places, ...
_ESCAPES = 3  # ... so many times
_SEED = 0  # of these places: the same for the same run
_SAFE = 1.5  # margin over the last error of a prediction


class Ended(IntEnum):
    """Whether the search has ended, and how."""

    NO = 0
    SHOWN = 1  # the centre is a local optimum by the evidence
    STALLED = 2  # the models have nothing better, and cannot show that there is nothing


class Kind(IntEnum):
    """What is simulated next."""

    NOTHING = 0
    STEP = 1
    GEOMETRY = 2


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Local:
    """State of a local search.

    Attributes
    ----------
    centre : ndarray, shape (n,)
        The best design so far; empty before the search begins.
    objective, values : float, ndarray of shape (m,)
        Objective and simulated constraints there.
    radius, resolution : float
        In initial standard deviations.
    margins : ndarray, shape (m,)
        How far inside its limits each simulated constraint is to be, in its units.
    poor : bool
        Whether the last step was a poor one: designs may be missing on the scale of the radius.
    ended : Ended
    kind : Kind
        What is simulated next, ...
    design : ndarray, shape (n,)
        ... where, ...
    predicted : float
        ... and what it is expected to gain in the merit;
    expected : ndarray, shape (m,)
        the simulated constraints expected there;
    price, units : float, ndarray of shape (m,)
        the merit: objective plus price times the largest violation over its unit.
    misses : int
        Steps in a row that did not improve the merit.
    escapes : int
        Steps away from what seemed to be an optimum.
    """

    centre: Floats = field(default_factory=_none)
    objective: float = np.nan
    values: Floats = field(default_factory=_none)
    radius: float = FIRST_RADIUS
    resolution: float = FIRST_RESOLUTION
    margins: Floats = field(default_factory=_none)
    poor: bool = False
    ended: Ended = Ended.NO
    kind: Kind = Kind.NOTHING
    design: Floats = field(default_factory=_none)
    predicted: float = 0.0
    expected: Floats = field(default_factory=_none)
    price: float = 0.0
    units: Floats = field(default_factory=_none)
    misses: int = 0
    escapes: int = 0

    @property
    def open(self) -> bool:
        """Whether it has begun."""
        return len(self.centre) > 0


class _View(NamedTuple):
    """What one round looks at."""

    frame: Frame
    known: Known
    models: Models | None


class LocalSearch:
    """Makes the next state of a local search. It remembers nothing.

    Parameters
    ----------
    repairer : Repairer
        Holds the feasible set.
    limits : Limits
        Of the simulated constraints.
    """

    def __init__(self, repairer: Repairer, limits: Limits) -> None:
        self._repairer, self._limits = repairer, limits

    def begin(self, known: Known, position: int, radius: float, resolution: float) -> Local:
        """Begin at a known design."""
        m = len(self._limits)
        return Local(
            centre=known.points[position],
            objective=float(known.objectives[position]),
            values=known.simulated[position],
            radius=radius,
            resolution=resolution,
            margins=np.zeros(m),
            expected=np.full(m, np.nan),
            units=np.ones(m),
        )

    def judged(self, local: Local, lengths: Floats, objective: float, values: Floats) -> Local:
        """Return the state after the design was simulated; NaN if the simulation failed.

        ``lengths`` (n, n) is the inverse of the frame's factor.
        """
        gain = self._merit(local, local.objective, local.values)
        gain -= self._merit(local, objective, values)
        gain = -np.inf if np.isnan(gain) else gain
        after = replace(local, kind=Kind.NOTHING)
        if gain > 0:
            after = replace(after, centre=local.design, objective=objective, values=values)
        if local.kind is not Kind.STEP:
            return after
        after = replace(
            after,
            margins=self._margins(local, values),
            misses=0 if gain > 0 else local.misses + 1,
        )
        step = float(np.linalg.norm(lengths @ (local.design - local.centre)))
        if gain > _GOOD * local.predicted:
            return replace(after, radius=max(local.radius, min(_LONGER * step, _LARGEST)))
        if gain >= _POOR * local.predicted:
            return after
        radius = max(_SHORTER * min(local.radius, step), local.resolution)
        return replace(after, radius=radius, poor=True)

    def advanced(self, local: Local, factor: Floats, lengths: Floats, known: Known) -> Local:
        """Return the state with what is simulated next, or with its end."""
        frame = Frame(local.centre, factor, lengths)
        data = select(frame, known)
        models = None
        if data is not None:
            # One merit until the limits are met: with another one at each step it could go round.
            units = local.units if local.price > 0 and self._violates(local) else None
            models = fit_models(frame, data, self._limits, units)
        view = _View(frame, known, models)
        if local.poor:
            design = self._missing(view, local.radius)
            local = replace(local, poor=False)
            if design is not None:
                return self._next(local, Kind.GEOMETRY, design, view)
            if local.radius <= local.resolution and local.resolution > _FINEST:
                local = _finer(local)
        while True:
            step = self._step(local, view, local.resolution)
            if step is not None:
                return self._next(local, Kind.STEP, step.x, view, step)
            if local.resolution < _FINE:
                design = self._missing(view, local.resolution)
                if design is not None:
                    return self._next(local, Kind.GEOMETRY, design, view)
                if self._shown(local, view):
                    step = self._escape(local, view)
                    if step is None:
                        return replace(local, ended=Ended.SHOWN)
                    local = replace(local, escapes=local.escapes + 1)
                    return self._next(local, Kind.STEP, step.x, view, step)
            if local.resolution > _FINEST:
                local = _finer(local)
                continue
            step = self._step(local, view, local.resolution**2)  # a last one, however little it is
            if step is not None and local.misses == 0:
                return self._next(local, Kind.STEP, step.x, view, step)
            return replace(local, ended=Ended.STALLED)

    def _next(
        self, local: Local, kind: Kind, design: Floats, view: _View, step: Step | None = None
    ) -> Local:
        """Return the state with what is simulated next, and the merit by which it is judged."""
        local = replace(local, kind=kind, design=design)
        if view.models is not None:
            models = view.models
            weight = _WEIGHT if step is None else step.weight
            price = weight * models.steepness * models.data.spread
            if step is None and self._violates(local):
                price = max(price, local.price)
            local = replace(local, price=price, units=models.units)
        if step is None:
            return local
        return replace(local, predicted=step.gain, expected=step.expected)

    def _step(self, local: Local, view: _View, share: float) -> Step | None:
        """Return the best step by the models, if it promises enough and leads to a new design.

        Enough is a share of what may be left at an optimum.
        """
        models = view.models
        if models is None:
            return None
        violates = self._violates(local)
        least = 0.0
        if not violates:
            least = CLAIM * objective_size(view.known, self._limits) * share
        margins = [local.margins, np.zeros_like(local.margins)]
        for margin in margins if local.margins.any() else margins[:1]:
            step = self._try(local, models, margin)
            if step is not None and step.gain > least and self._new(view, step.x):
                return step
        return None

    def _escape(self, local: Local, view: _View) -> Step | None:
        """Return a step that models promise if they begin off the centre: it may be a saddle."""
        models = view.models
        if models is None or local.escapes >= _ESCAPES:
            return None
        rng = np.random.default_rng(_SEED)
        least = CLAIM * objective_size(view.known, self._limits)
        wide = replace(local, radius=_ESCAPE)
        for _ in range(_STARTS):
            u = rng.standard_normal(len(local.centre))
            start = 0.5 * _ESCAPE * u / np.linalg.norm(u)
            step = self._try(wide, models, local.margins, start)
            if step is not None and step.gain > least and self._new(view, step.x):
                return step
        return None

    def _try(
        self, local: Local, models: Models, margins: Floats, start: Floats | None = None
    ) -> Step | None:
        fs = self._repairer.feasible_set
        unit = models.steepness * models.data.spread
        weight = local.price / unit if self._violates(local) else 0.0
        v, weight = best_step(models, fs, local.radius, margins, max(weight, _WEIGHT), start)
        x = self._repaired(models.frame, models.frame.design(models.data.scale * v))
        if x is None:
            return None
        v = models.frame.coordinates(x) / models.data.scale
        gain = models.merit(np.zeros_like(v), weight) - models.merit(v, weight)
        return Step(x, gain * unit, weight, models.expected(v))

    def companions(
        self, local: Local, factor: Floats, lengths: Floats, known: Known, count: int
    ) -> list[Floats]:
        """Return at most so many designs to simulate beside the next one, for idle workers.

        They lie in the directions that are known least.
        """
        view = _View(Frame(local.centre, factor, lengths), known, None)
        found: list[Floats] = []
        for _ in range(count):
            design = self._missing(view, local.radius, (local.design, *found))
            if design is None:
                break
            found.append(design)
        return found

    def _missing(self, view: _View, scale: float, pending: Sequence[Floats] = ()) -> Floats | None:
        """Return a design in a direction that is not known on a scale, nor by pending designs."""
        frame, known = view.frame, view.known
        there = known.points[np.isfinite(known.objectives)]
        near = designs_near(frame.coordinates(np.array([*there, *pending])), scale)
        free = free_directions(self._repairer.feasible_set, frame)

        def repaired(x: Floats) -> Floats | None:
            y = self._repaired(frame, x)
            return y if y is not None and self._new(view, y) else None

        rows = explicit_rows(self._repairer.feasible_set, frame)
        return missing_design(near, free, rows, scale, frame, repaired)

    def _shown(self, local: Local, view: _View) -> bool:
        """Whether the centre is a local optimum by the evidence."""
        if self._violates(local):
            return False
        fs = self._repairer.feasible_set
        found = evidence(view.frame, view.known, self._limits, fs, local.resolution)
        return found is not None and found.claim

    def _violates(self, local: Local) -> bool:
        return bool(np.any(self._limits.violations(local.values) > 0))

    def _repaired(self, frame: Frame, x: Floats) -> Floats | None:
        """Return a feasible design near a point, with the margins that repairs have."""
        metric = Distribution(frame.centre, 1.0, frame.factor, frame.inverse)
        near = self._repairer.near(x, metric, frame.centre)
        if near is None:
            return None
        inset = self._repairer.inset(near.x, metric)
        return inset.x if inset.max_violation == 0 else near.x

    def _new(self, view: _View, x: Floats) -> bool:
        """Whether a design is not known yet, nor nearly."""
        step = view.frame.distance(x)
        gaps = (view.known.points - x) @ view.frame.inverse.T
        return bool(np.sqrt(np.min(np.sum(gaps**2, axis=1))) > _NEW * step > 0)

    def _merit(self, local: Local, objective: float, values: Floats) -> float:
        """Objective plus the price of the largest violation."""
        if not len(values):
            return objective
        violation = float(np.max(self._limits.violations(values) / local.units))
        return objective + local.price * violation

    def _margins(self, local: Local, values: Floats) -> Floats:
        """Return margins (m,) that follow from the errors of the last prediction.

        A constraint that was violated is next approached with a margin of its error; one that
        held, with half of that at most; never more than a quarter of the room between two limits.
        """
        if not np.all(np.isfinite(values)) or not np.all(np.isfinite(local.expected)):
            return local.margins
        errors = np.abs(values - local.expected)
        violated = self._limits.violations(values) > 0
        margins = np.where(violated, _SAFE * errors, np.minimum(local.margins, errors) / 2)
        return np.minimum(margins, (self._limits.upper - self._limits.lower) / 4)


def _finer(local: Local) -> Local:
    """Return the state with a finer resolution."""
    resolution = _FINER * local.resolution
    return replace(local, resolution=resolution, radius=max(_SMALLER * local.radius, resolution))
