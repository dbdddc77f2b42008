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

All that it remembers is a frozen `LocalState`, and what is simulated next is part of it.

[P94] see :mod:`archeng.surrogate.geometry`. [R22] T. M. Ragonneau, Model-based derivative-free
optimization methods and software, PhD thesis, 2022, arXiv:2210.12018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from archeng.codec import OMITTED
from archeng.distribution import Distribution, Floats
from archeng.outcomes import Limits, PastCalls
from archeng.repair import Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.constrained import Step, best_step
from archeng.surrogate.data import Frame, frame_at, most_designs, select, slopes_known
from archeng.surrogate.evidence import evidence, objective_size
from archeng.surrogate.geometry import (
    designs_near,
    explicit_rows,
    feasible_near,
    free_directions,
    missing_design,
)
from archeng.surrogate.models import Models, fit_models
from archeng.surrogate.priors import IDENTITY
from archeng.surrogate.taught import needs_arch, taught_choice

FINE = 2 * c.CLAIM_RADII[0]  # resolutions below this can show something


class LocalEnd(StrEnum):
    """How the search has ended."""

    SHOWN = "shown"  # the centre is a local optimum by the evidence
    STALLED = "stalled"  # the models have nothing better, and cannot show that there is nothing


class TrialKind(StrEnum):
    """Why a design is simulated."""

    STEP = "step"  # the models promise a gain
    GEOMETRY = "geometry"  # they do not know its direction
    LEAP = "leap"  # they promise a gain far away, where they may be wrong


@dataclass(frozen=True, eq=False)
class Trial:
    """A design (n,) to be simulated next."""

    kind: TrialKind
    design: Floats
    predicted: float = 0.0  # gain in the merit that a step is expected to have
    expected: Floats | None = None  # simulated constraints (m,) that are expected of a step
    radius: float = field(default=0.0, metadata=OMITTED)  # of a step beside the next one


@dataclass(frozen=True, eq=False)
class LocalState:
    """State of a local search.

    Radius and resolution are in deviations of the initial search distribution. The merit is the
    objective plus ``price`` times the largest violation over its unit.
    """

    centre: Floats  # the best design so far (n,)
    objective: float  # there
    values: Floats  # simulated constraints there (m,)
    radius: float
    resolution: float
    margins: Floats  # (m,) how far inside its limits each simulated constraint is to be
    units: Floats  # of the simulated constraints (m,)
    price: float = 0.0
    trial: Trial | None = None  # what is simulated next
    ended: LocalEnd | None = None
    poor: bool = False  # whether the last step was: designs may be missing on the radius' scale
    misses: int = 0  # steps in a row that did not improve the merit
    escapes: int = 0  # steps away from what seemed to be an optimum
    leaps: int = 0  # designs far away that were not better
    hits: int = field(default=0, metadata=OMITTED)  # designs that were better than the centre
    others: tuple[Trial, ...] = field(default=(), metadata=OMITTED)  # simulated beside the next one


class LocalView(NamedTuple):
    """What one round looks at."""

    frame: Frame
    past: PastCalls
    models: Models | None


class LocalSearch:
    """Makes the next state of a local search. It remembers nothing.

    ``limits`` are those of the simulated constraints; lengths are in deviations of ``wide``, the
    initial search distribution, around any mean.
    """

    def __init__(self, repairer: Repairer, limits: Limits, wide: Distribution) -> None:
        self._repairer, self._limits, self._wide = repairer, limits, wide

    def begin(self, past: PastCalls, position: int, radius: float, resolution: float) -> LocalState:
        """Begin at a known design."""
        m = len(self._limits)
        return LocalState(
            centre=past.points[position],
            objective=float(past.objectives[position]),
            values=past.simulated[position],
            radius=radius,
            resolution=resolution,
            margins=np.zeros(m),
            units=np.ones(m),
        )

    def moved(self, local: LocalState, past: PastCalls, position: int) -> LocalState:
        """Go on from another known design."""
        objective, values = float(past.objectives[position]), past.simulated[position]
        centre = past.points[position]
        return replace(local, centre=centre, objective=objective, values=values, trial=None)

    def gain(self, local: LocalState, objective: float, values: Floats) -> float:
        """Return how much better than the centre a design is; minus infinity if it failed."""
        gain = self._merit(local, local.objective, local.values)
        gain -= self._merit(local, objective, values)
        return -np.inf if np.isnan(gain) else gain

    def judged(self, local: LocalState, objective: float, values: Floats) -> LocalState:
        """Return the state after the trial was simulated; NaN if the simulation failed."""
        trial = local.trial
        assert trial is not None
        gain = self.gain(local, objective, values)
        after = replace(local, trial=None)
        if gain > 0:
            after = replace(
                after,
                centre=trial.design,
                objective=objective,
                values=values,
                hits=local.hits + 1,
            )
        if trial.kind is TrialKind.LEAP:
            if gain > 0:
                radius, resolution = c.LOCAL_FIRST
                return replace(after, radius=radius, resolution=resolution, misses=0)
            return replace(after, leaps=local.leaps + 1)
        if trial.kind is not TrialKind.STEP:
            return after
        after = replace(
            after,
            margins=self._margins(local, trial, values),
            misses=0 if gain > 0 else local.misses + 1,
        )
        lengths = frame_at(self._wide, local.centre).inverse
        step = float(np.linalg.norm(lengths @ (trial.design - local.centre)))
        if gain > c.LOCAL_GOOD * trial.predicted:
            longer = min(c.LOCAL_LONGER * step, c.LOCAL_LARGEST)
            return replace(after, radius=max(local.radius, longer))
        if gain >= c.LOCAL_POOR * trial.predicted:
            return after
        radius = max(c.LOCAL_SHORTER * min(local.radius, step), local.resolution)
        return replace(after, radius=radius, poor=True)

    def view(self, local: LocalState, past: PastCalls) -> LocalView:
        """Return what there is to look at: the frame around the centre, and models there."""
        frame = frame_at(self._wide, local.centre)
        formulas, most = self._repairer.feasible_set.formulas, most_designs(len(frame.centre))
        data = select(frame, past, formulas, most, taught=True, wide=not self._limits)
        models = None
        if data is not None:
            # One merit until the limits are met: with another one at each step it could go round.
            units = local.units if local.price > 0 and self.violates(local) else None
            models = fit_models(frame, data, self._limits, units)
        return LocalView(frame, past, models)

    def step_within(self, local: LocalState, view: LocalView, radius: float) -> Trial | None:
        """Return the best step within another radius, if it promises a gain at a new design."""
        radius = float(np.clip(radius, local.resolution, c.LOCAL_LARGEST))
        if radius == local.radius:
            return None
        step = self._step(replace(local, radius=radius), view, local.resolution)
        if step is None:
            return None
        return Trial(TrialKind.STEP, step.x, step.gain, step.expected, radius)

    def advanced(self, local: LocalState, past: PastCalls) -> LocalState:
        """Return the state with what is simulated next, or with its end.

        With neither, it is ARCH that has to make designs for the models.
        """
        view = self.view(local, past)
        data = None if view.models is None else view.models.data
        if data is not None and needs_arch(past) and taught_choice(data, (IDENTITY,))[0] is None:
            return local
        if local.poor:
            design = self.missing(view, local.radius)
            local = replace(local, poor=False)
            if design is not None:
                return self._with_geometry(local, design, view)
            if local.radius <= local.resolution and local.resolution > c.LOCAL_FINEST:
                local = _finer(local)
        while True:
            step = self._step(local, view, local.resolution)
            if step is not None:
                return self._with_step(local, step, view)
            if local.resolution < FINE:
                design = self.missing(view, local.resolution)
                if design is not None:
                    return self._with_geometry(local, design, view)
                if self._shown(local, view):
                    step = self._escape(local, view)
                    if step is None:
                        return self._leapt_or(local, view, LocalEnd.SHOWN)
                    local = replace(local, escapes=local.escapes + 1)
                    return self._with_step(local, step, view)
            if local.resolution > c.LOCAL_FINEST:
                local = _finer(local)
                continue
            step = self._step(local, view, local.resolution**2)  # a last one, however little it is
            if step is not None and local.misses == 0:
                return self._with_step(local, step, view)
            return self._leapt_or(local, view, LocalEnd.STALLED)

    def _leapt_or(self, local: LocalState, view: LocalView, ended: LocalEnd) -> LocalState:
        """Return the state with a design far away next, if models of outputs promise one.

        These know formulas, and may be right there. Else the search has ended.
        """
        n, fs = len(local.centre), self._repairer.feasible_set
        data = select(view.frame, view.past, fs.formulas, c.LEAP_DESIGNS, taught=True)
        if fs.formulas is None or data is None or local.leaps >= c.LEAPS + n // 2:
            return replace(local, ended=ended)
        models = fit_models(view.frame, data, self._limits)
        wide = replace(local, radius=c.LEAP_REACH * np.sqrt(n), price=0.0)
        least = c.CLAIM_RESIDUAL * objective_size(view.past, self._limits)
        rng = np.random.default_rng((c.CLAIM_SEED, local.leaps))
        best: Step | None = None
        for _ in range(c.LEAP_STARTS):
            x = view.frame.design(c.FAR_SPREAD * rng.standard_normal(n))
            start = self.repaired(view.frame, x)
            if start is None:
                continue
            step = self._try(wide, models, local.margins, view.frame.coordinates(start))
            if step is not None and self.is_new(view, step.x) and step.gain > least:
                best = step if best is None or step.gain > best.gain else best
        if best is None:
            return replace(local, ended=ended)
        leaping = self._with_step(local, best, view._replace(models=models))
        assert leaping.trial is not None
        return replace(leaping, trial=replace(leaping.trial, kind=TrialKind.LEAP))

    def _with_geometry(self, local: LocalState, design: Floats, view: LocalView) -> LocalState:
        """Return the state with a design for the geometry next."""
        if view.models is not None:
            price = c.LOCAL_WEIGHT * view.models.steepness * view.models.data.spread
            price = max(price, local.price) if self.violates(local) else price
            local = replace(local, price=price, units=view.models.units)
        return replace(local, trial=Trial(TrialKind.GEOMETRY, design))

    def _with_step(self, local: LocalState, step: Step, view: LocalView) -> LocalState:
        """Return the state with a step next, and the merit by which it is judged."""
        assert view.models is not None
        price = step.weight * view.models.steepness * view.models.data.spread
        trial = Trial(TrialKind.STEP, step.x, step.gain, step.expected)
        return replace(local, trial=trial, price=price, units=view.models.units)

    def _step(self, local: LocalState, view: LocalView, share: float) -> Step | None:
        """Return the best step by the models, if it promises enough and leads to a new design.

        Enough is a share of what may be left at an optimum.
        """
        models = view.models
        if models is None:
            return None
        least = 0.0
        if not self.violates(local):
            least = c.CLAIM_RESIDUAL * objective_size(view.past, self._limits) * share
        margins = [local.margins, np.zeros_like(local.margins)]
        for margin in margins if local.margins.any() else margins[:1]:
            step = self._try(local, models, margin)
            if step is not None and step.gain > least and self.is_new(view, step.x):
                return step
        return None

    def _escape(self, local: LocalState, view: LocalView) -> Step | None:
        """Return a step that models promise if they begin off the centre: it may be a saddle."""
        models = view.models
        if models is None or local.escapes >= c.ESCAPES:
            return None
        rng = np.random.default_rng(c.CLAIM_SEED)
        least = c.CLAIM_RESIDUAL * objective_size(view.past, self._limits)
        wide = replace(local, radius=c.ESCAPE_RADIUS)
        for _ in range(c.ESCAPE_STARTS):
            u = rng.standard_normal(len(local.centre))
            start = c.ESCAPE_START * c.ESCAPE_RADIUS * u / np.linalg.norm(u)
            step = self._try(wide, models, local.margins, start)
            if step is not None and step.gain > least and self.is_new(view, step.x):
                return step
        return None

    def _try(
        self, local: LocalState, models: Models, margins: Floats, start: Floats | None = None
    ) -> Step | None:
        fs = self._repairer.feasible_set
        unit = models.steepness * models.data.spread
        weight = local.price / unit if self.violates(local) else 0.0
        v, weight = best_step(models, fs, local.radius, margins, max(weight, c.LOCAL_WEIGHT), start)
        x = self.repaired(models.frame, models.frame.design(models.data.scale * v))
        if x is None:
            return None
        v = models.frame.coordinates(x) / models.data.scale
        gain = models.merit(np.zeros_like(v), weight) - models.merit(v, weight)
        return Step(x, gain * unit, weight, models.expected(v))

    def missing(
        self, view: LocalView, scale: float, pending: Sequence[Floats] = ()
    ) -> Floats | None:
        """Return a design in a direction that is not known on a scale, nor by pending designs."""
        frame, past, fs = view.frame, view.past, self._repairer.feasible_set
        if fs.n > c.EVIDENCE_MOST_VARIABLES or slopes_known(frame.centre, past, fs.formulas):
            return None
        there = past.points[np.isfinite(past.objectives)]
        near = designs_near(frame.coordinates(np.array([*there, *pending])), scale)

        def repaired(x: Floats) -> Floats | None:
            y = self.repaired(frame, x)
            return y if y is not None and self.is_new(view, y) else None

        rows = explicit_rows(fs, frame)
        return missing_design(near, free_directions(fs, rows), rows, scale, frame, repaired)

    def _shown(self, local: LocalState, view: LocalView) -> bool:
        """Whether the centre is a local optimum by the evidence."""
        fs = self._repairer.feasible_set
        if self.violates(local) or fs.n > c.EVIDENCE_MOST_VARIABLES:
            return False
        shown = evidence(view.frame, view.past, self._limits, fs, local.resolution)
        return shown is not None and shown.claim

    def violates(self, local: LocalState) -> bool:
        """Whether the centre violates simulated constraints."""
        return bool(np.any(self._limits.violations(local.values) > 0))

    def repaired(self, frame: Frame, x: Floats) -> Floats | None:
        """Return a feasible design near a point, with the margins that repairs have."""
        return feasible_near(self._repairer, frame, x)

    def is_new(self, view: LocalView, x: Floats) -> bool:
        """Whether a design is not known yet, nor nearly."""
        step = view.frame.distance(x)
        return view.frame.nearest(x, view.past.points) > c.LOCAL_NEW * step > 0

    def _merit(self, local: LocalState, objective: float, values: Floats) -> float:
        """Objective plus the price of the largest violation."""
        if not len(values):
            return objective
        violation = float(np.max(self._limits.violations(values) / local.units))
        return objective + local.price * violation

    def _margins(self, local: LocalState, trial: Trial, values: Floats) -> Floats:
        """Return margins (m,) that follow from the errors of the last prediction.

        A constraint that was violated is next approached with a margin of its error; one that
        held, with half of that at most; never more than a quarter of the room between two limits.
        """
        expected = trial.expected
        if expected is None or not np.all(np.isfinite(values) & np.isfinite(expected)):
            return local.margins
        errors = np.abs(values - expected)
        violated = self._limits.violations(values) > 0
        margins = np.where(
            violated, c.MARGIN_SAFE * errors, c.MARGIN_RELAX * np.minimum(local.margins, errors)
        )
        return np.minimum(margins, c.MARGIN_MOST * (self._limits.upper - self._limits.lower))


def _finer(local: LocalState) -> LocalState:
    """Return the state with a finer resolution."""
    resolution = c.LOCAL_FINER * local.resolution
    return replace(
        local, resolution=resolution, radius=max(c.LOCAL_SMALLER * local.radius, resolution)
    )
