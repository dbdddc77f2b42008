"""The end of a search over mixed designs: the real variables with the levels held, and evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats, Integers, distribution_from_covariance
from archeng.model import FeasibleSet, fibre
from archeng.outcomes import Limits, Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.settings import Settings
from archeng.surrogate import constants as general
from archeng.surrogate.data import frame_at
from archeng.surrogate.evidence import Optimality, best_evidence, objective_size
from archeng.surrogate.local import LocalSearch, LocalState
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.descent import Descent
from archeng.surrogate.mixed.features import Features
from archeng.surrogate.mixed.fitted import MixedModels, fit_mixed
from archeng.surrogate.mixed.neighbourhood import Examination


class _Fibre(NamedTuple):
    """The set of the real variables with some levels held, who repairs on it, and the search."""

    feasible_set: FeasibleSet
    repairer: Repairer
    local: LocalSearch


class Closing:
    """The local search of continuous problems, with the discrete variables held."""

    def __init__(
        self, feasible_set: FeasibleSet, settings: Settings, limits: Limits, wide: Distribution
    ) -> None:
        assert feasible_set.lattice is not None
        self._set, self._lattice = feasible_set, feasible_set.lattice
        self._settings, self._limits = settings, limits
        own = self._lattice.continuous
        self._wide = _marginal(wide, own) if len(own) else wide
        self._fibres: dict[tuple[int, ...], _Fibre] = {}

    def advanced(self, local: LocalState | None, past: PastCalls, best: int) -> LocalState:
        """Return the local search at the levels of a known design with its next one, or its end."""
        x = past.points[best]
        search, calls = self._at(x).local, self._calls(past, x)
        position = int(np.flatnonzero(self._same(past, x) == best)[0])
        if local is None:
            local = search.begin(calls, position, *general.LOCAL_FIRST)
        elif past.objectives[best] < local.objective:
            local = search.moved(local, calls, position)
        return search.advanced(local, calls) if local.ended is None else local

    def spread(self, past: PastCalls, x: Floats) -> Floats | None:
        """Return a design (n,) near x with its levels; None if there are enough for models.

        Models of n real variables need n + 3 designs to say anything of their errors.
        """
        known, n = self._calls(past, x).points, len(self._lattice.continuous)
        if len(known) >= n + 3:
            return None
        frame = frame_at(self._wide, x[self._lattice.continuous])
        rng = np.random.default_rng(general.CLAIM_SEED)
        more = rng.standard_normal((c.SPREAD_TRIES, n))
        directions = np.concatenate((-np.eye(n), np.eye(n), more))
        near = frame.coordinates(known)
        for u in directions / np.linalg.norm(directions, axis=1)[:, None]:
            y = self.repaired(self.design(x, frame.design(c.SPREAD * u)))
            if y is None:
                continue
            gaps = np.linalg.norm(near - frame.coordinates(y[self._lattice.continuous]), axis=1)
            if gaps.min() > c.SPREAD_APART * c.SPREAD:
                return y
        return None

    def judged(self, local: LocalState, x: Floats, outcomes: Outcomes) -> LocalState:
        """Return the local search after its design x (n,) was simulated."""
        search = self._at(x).local
        return search.judged(local, float(outcomes.objectives[0]), outcomes.simulated[0])

    def design(self, x: Floats, y: Floats) -> Floats:
        """Return the design (n,) with real variables y and the levels of x."""
        full = np.array(x, dtype=float)
        full[self._lattice.continuous] = y
        return full

    def repaired(self, x: Floats) -> Floats | None:
        """Return a feasible design with the levels of x (n,), the nearest one; None: none found."""
        x = self._lattice.decode(x)
        if self._set.is_feasible(x):
            return x
        if not len(self._lattice.continuous) or not self._fixed_rows_hold(x):
            return None
        y = x[self._lattice.continuous]
        repair = self._at(x).repairer.repair(y, replace(self._wide, mean=y))
        design = self.design(x, repair.x)
        return design if repair.feasible and self._set.is_feasible(design) else None

    def evidence(self, past: PastCalls, x: Floats) -> Optimality | None:
        """Return what speaks for x being a local optimum with its levels held."""
        if not len(self._lattice.continuous):
            return Optimality(0.0, 0.0, 0.0, 0.0, len(past), 0, claim=True)
        frame = frame_at(self._wide, x[self._lattice.continuous])
        return best_evidence(frame, self._calls(past, x), self._limits, self._at(x).feasible_set)

    def _fixed_rows_hold(self, x: Floats) -> bool:
        """Whether the rows that the real variables cannot change hold."""
        values, jacobian = self._set.values_and_jacobian(x)
        fixed = (jacobian[:, self._lattice.continuous] == 0).all(axis=1)
        return not (self._set.violations_of(values)[fixed] > 0).any()

    def _same(self, past: PastCalls, x: Floats) -> Integers:
        """Positions of the calls with the levels of x."""
        same = (self._lattice.indices(past.points) == self._lattice.indices(x)).all(axis=1)
        return np.flatnonzero(same)

    def _calls(self, past: PastCalls, x: Floats) -> PastCalls:
        """Return the calls with the levels of x, and their real variables only."""
        own = self._lattice.continuous
        calls = past.taken(self._same(past, x))
        slopes = None if calls.slopes is None else calls.slopes[..., own]
        return replace(calls, points=calls.points[:, own], slopes=slopes, lessons=None, teachers=())

    def _at(self, x: Floats) -> _Fibre:
        key = self._lattice.key(x)
        if key not in self._fibres:
            fs = fibre(self._set, self._lattice.decode(x))
            repairer = Repairer(fs, self._settings, self._wide)
            if len(self._fibres) >= c.FIBRES:
                self._fibres.pop(next(iter(self._fibres)))
            self._fibres[key] = _Fibre(
                fs, repairer, LocalSearch(repairer, self._limits, self._wide)
            )
        return self._fibres[key]


def _marginal(wide: Distribution, own: Integers) -> Distribution:
    """Return the distribution of some coordinates, as if the others were held."""
    block = np.ix_(own, own)
    return distribution_from_covariance(wide.mean[own], wide.sigma**2 * wide.covariance[block])


def mixed_evidence(
    feasible_set: FeasibleSet,
    settings: Settings,
    limits: Limits,
    wide: Distribution,
    past: PastCalls,
    x: Floats,
) -> Optimality | None:
    """Return what speaks for a simulated design (n,) being an optimum.

    With its levels held, and beside its neighbours on the lattice.
    """
    lattice = feasible_set.lattice
    assert lattice is not None
    closing = Closing(feasible_set, settings, limits, wide)
    shown = closing.evidence(past, x)
    models = fit_mixed(feasible_set, Features(feasible_set, wide), past, limits, x)
    if shown is None or models is None:
        return shown if shown is None else replace(shown, claim=False)
    least = models.gain_of(c.GAIN * objective_size(past, limits))
    descents = descents_of(feasible_set, wide, models)
    around, _ = Examination(lattice, descents, past, x, least, closing.repaired).made()
    return replace(shown, neighbours=around, claim=shown.claim and around.open == 0)


def descents_of(fs: FeasibleSet, wide: Distribution, models: MixedModels) -> tuple[Descent, ...]:
    """Return searches by models, and by such that keep away from simulated limits, if any."""
    if not len(models.margins):
        return (Descent(fs, wide, models),)
    return Descent(fs, wide, models), Descent(fs, wide, models.careful(c.MARGIN))
