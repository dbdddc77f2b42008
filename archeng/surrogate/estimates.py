"""What noisy calls say about the designs around one of them: `Estimates`.

Objective and simulated constraints are regressed on the nearest designs, with noise that is given
or found out: of the same size everywhere, or relative to the value, whichever is more likely. Of
how many designs is decided by how well the slope at the best one is known then: many ones average
the noise, near ones are told apart by fewer terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats
from archeng.noise import OBJECTIVE, Noise, weights_of
from archeng.outcomes import Limits, PastCalls, Sides
from archeng.surrogate import constants as c
from archeng.surrogate.data import Data, Frame, frame_at
from archeng.surrogate.fit import Kernels
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.models import Models, RowModels
from archeng.surrogate.regression import Regression, regress
from archeng.surrogate.sensitivity import Gradients
from archeng.surrogate.sums import Sum


@dataclass(frozen=True)
class Manner:
    """How a quantity is regressed: share of the radial function, and kind of its noise.

    It is found out from time to time, and used again in between.
    """

    share: float
    relative: bool


@dataclass(frozen=True, eq=False)
class Estimates:
    """Regressions of objective and simulated constraints around the centre of a frame.

    They are of (value - offset) / unit, in coordinates u / scale.
    """

    frame: Frame
    scale: float
    positions: NDArray[np.intp]  # of the designs among the calls (p,)
    offsets: Floats  # (1 + m,)
    units: Floats  # (1 + m,)
    regressions: tuple[Regression, ...]  # of the objective and of m constraints
    manners: tuple[Manner, ...]
    limits: Limits
    confidence: float

    @property
    def objective(self) -> Regression:
        """That of the objective."""
        return self.regressions[0]

    @property
    def extent(self) -> float:
        """Distance of the farthest design from the centre, in the frame."""
        return self.scale * float(np.linalg.norm(self.objective.A, axis=1).max())

    def coordinates(self, x: Floats) -> Floats:
        """Coordinates of a design (n,), or of designs (k, n)."""
        return self.frame.coordinates(x) / self.scale

    def noise(self, which: int = 0) -> Noise:
        """Return the noise of the objective, or of the constraint before this one."""
        r, relative = self.regressions[which], self.manners[which].relative
        values = self.offsets[which] + self.units[which] * r.y
        size = self.units[which] * np.sqrt(r.variances / weights_of(relative, values))
        return Noise(float(np.median(size)), relative)

    def noise_variance(self, v: Floats) -> float:
        """Variance of the objective's noise at v, in units of its regression."""
        value = self.offsets[0] + self.units[0] * self.objective.value(v)[0]
        return float((self.noise().at(value) / self.units[0]) ** 2)

    @cached_property
    def quantile(self) -> float:
        """Deviations by which constraints are to hold, for all of them to hold with confidence."""
        return NormalDist().inv_cdf(1 - (1 - self.confidence) / max(len(self.limits), 1))

    def values(self, X: Floats) -> tuple[Floats, Floats]:
        """Return expected objectives (k,) of designs (k, n), and their standard deviations."""
        values, deviations = self.objective.values(self.coordinates(X))
        return self.offsets[0] + self.units[0] * values, self.units[0] * deviations

    def rows(self, X: Floats) -> tuple[Floats, Floats]:
        """Return expected constraints (k, m) of designs (k, n), and their standard deviations."""
        V, m = self.coordinates(X), len(self.limits)
        values, deviations = np.zeros((2, len(X), m))
        for j, regression in enumerate(self.regressions[1:]):
            values[:, j], deviations[:, j] = regression.values(V)
        return self.offsets[1:] + self.units[1:] * values, self.units[1:] * deviations

    def best(self, past: PastCalls) -> int:
        """Position of the best call by its estimate: the least violating one if all violate.

        Of two with the same estimate it is the one that is known better, and the last of its
        repeats.
        """
        X = past.points[self.positions]
        values, deviations = self.values(X)
        order = values + c.NOISY_CAUTION * deviations
        if len(self.limits):
            excess = self.excess(X).max(axis=1)
            order = np.where(excess <= float(excess.min()), order, np.inf)
        first = X[int(np.argmin(order))]
        return int(self.positions[np.all(first == X, axis=1)].max())

    def gradients(self) -> Gradients:
        """Return slopes at the centre of the frame, and those of random functions."""
        draws, rng = c.SENSITIVITY_DRAWS, np.random.default_rng(c.SENSITIVITY_SEED)
        here = np.zeros(len(self.frame.centre))
        units = self.units / self.scale
        slopes = [
            unit * r.model.slope(here) for unit, r in zip(units, self.regressions, strict=True)
        ]
        drawn = [
            [unit * one.slope(here) for one in r.random(here, draws, rng)]
            for unit, r in zip(units, self.regressions, strict=True)
        ]
        n, m = len(here), len(self.limits)
        return Gradients(
            objective=slopes[0],
            others=np.array(drawn[0]),
            simulated=np.array(slopes[1:]).reshape(m, n),
            other_simulated=np.array(drawn[1:]).reshape(m, draws, n).transpose(1, 0, 2),
            ties=np.zeros((0, n)),
        )

    def excess(self, X: Floats) -> Floats:
        """How far constraints may be violated at designs (k, n), with confidence, in units (k, m).

        Zero where they hold with the stated probability.
        """
        values, deviations = self.rows(X)
        allowance = self.quantile * deviations
        outside = np.maximum(self.limits.lower + allowance, -np.inf) - values
        outside = np.maximum(outside, values - (self.limits.upper - allowance))
        return np.maximum(outside, 0.0) / self.units[1:]

    def models(self, objective: Regression | None = None) -> Models:
        """Return the expected functions for the step under simulated constraints."""
        here = np.zeros(len(self.frame.centre))
        model = (objective or self.objective).model
        steepness = max(float(np.linalg.norm(model.slope(here))), float(np.finfo(float).tiny))
        rows = [r.model for r in self.regressions[1:]]
        slopes = np.array([float(np.linalg.norm(row.slope(here))) for row in rows])
        factors = np.maximum(slopes, c.CONSTRAINT_FLATTEST)
        units = self.units[1:] * factors
        # Models of the constraints themselves, offsets included, over their units
        shifted: list[Interpolant | Sum] = [
            replace(row, constant=row.constant + offset / unit).divided_by(factor)
            for row, offset, unit, factor in zip(
                rows, self.offsets[1:], self.units[1:], factors, strict=True
            )
        ]
        limits = self.limits
        r = self.objective
        data = Data(
            r.A, r.y, self.scale, self.offsets[0], self.units[0], np.zeros((len(r.y), len(limits)))
        )
        index = np.arange(len(limits))
        return Models(
            frame=self.frame,
            data=data,
            objective=model,
            steepness=steepness,
            constraints=RowModels(units, index, shifted) if rows else None,
            units=units,
            sides=Sides.of(limits.lower, limits.upper, units),
            row_errors=np.zeros(len(limits)),
        )


def estimates(
    frame: Frame,
    past: PastCalls,
    limits: Limits,
    confidence: float,
    given: Mapping[str, Noise] | None = None,
    manners: tuple[Manner, ...] | None = None,
    level: float | None = None,
) -> Estimates | None:
    """Regress on the nearest designs to the centre of a frame; None if there are too few.

    ``given`` noise is by name; ``manners`` are those of an earlier regression, else they are found
    out. Designs with objectives above a ``level`` are left out, if there are enough others.
    """
    n = len(frame.centre)
    there = np.flatnonzero(np.abs(past.objectives) < c.DATA_HUGE)
    if len(there) < n + c.REGRESSION_SURPLUS:
        return None
    if level is not None:
        least = c.REGRESSION_LEAST * n + c.REGRESSION_SURPLUS
        values = past.objectives[there]
        low = int(np.sum(values <= level))
        there = np.sort(there[np.argsort(values, kind="stable")[: max(low, least)]])
    u = frame.coordinates(past.points[there])
    lengths = np.sqrt(np.sum(u**2, axis=1))
    nearest = np.argsort(lengths, kind="stable")[: most_regressed(n)]
    scale = float(np.median(lengths[nearest])) or float(lengths[nearest].max())
    if not scale > 0:
        return None
    kernels, taken = Kernels(u[nearest] / scale), past.taken(there[nearest])
    columns = [taken.objectives, *taken.simulated.T]
    offsets, units, fitted, found = [], [], [], []
    for j, (name, values) in enumerate(zip((OBJECTIVE, *limits.names), columns, strict=True)):
        offset = float(np.median(values))
        unit = float(np.median(np.abs(values - offset))) or float(np.ptp(values)) or 1.0
        known = None if given is None else given.get(name)
        before = None if manners is None else manners[j]
        regression, manner = _regressed(kernels, values, offset, unit, known, before)
        if regression is None:
            return None
        offsets.append(offset)
        units.append(unit)
        fitted.append(regression)
        found.append(manner)
    return Estimates(
        frame=frame,
        scale=scale,
        positions=there[nearest],
        offsets=np.array(offsets),
        units=np.array(units),
        regressions=tuple(fitted),
        manners=tuple(found),
        limits=limits,
        confidence=confidence,
    )


def best_estimated(
    wide: Distribution,
    centre: Floats,
    past: PastCalls,
    limits: Limits,
    confidence: float,
    given: Mapping[str, Noise] | None,
) -> tuple[int, Estimates] | None:
    """Return the position of the best call by its estimate, and the estimates around it.

    Looked for from a design (n,) on; None if there are too few calls.
    """
    level, found, now = None, None, None
    for _ in range(c.NOISY_LOOKS):
        with np.errstate(all="ignore"):
            now = estimates(frame_at(wide, centre), past, limits, confidence, given, None, level)
        if now is None:
            return None
        found = now.best(past)
        value = float(now.values(past.points[found][None])[0][0])
        level = value + c.NOISY_LEVEL * now.noise().at(value)
        if np.array_equal(past.points[found], centre):
            break
        centre = past.points[found]
    assert found is not None
    assert now is not None
    return found, now


def most_regressed(n: int) -> int:
    """Return how many designs a regression takes at most: some times as many as coefficients."""
    coefficients = (n + 1) * (n + 2) // 2
    wanted = int(c.REGRESSION_PER_COEFFICIENT * coefficients) + 2 * n
    return int(np.clip(wanted, *c.REGRESSION_MOST))


def _regressed(
    kernels: Kernels,
    values: Floats,
    offset: float,
    unit: float,
    known: Noise | None,
    before: Manner | None,
) -> tuple[Regression | None, Manner]:
    """Regress (value - offset) / unit; the kind of noise is the likelier one, unless known."""
    y = (values - offset) / unit
    kinds: tuple[bool, ...] = (False, True)
    if known is not None:
        kinds = (known.relative,)
    elif before is not None:
        kinds = (before.relative,)
    elif not np.all(values > 0) and not np.all(values < 0):
        kinds = (False,)
    shares = c.REGRESSION_SHARES if before is None else (before.share,)
    best, manner = None, Manner(shares[0], kinds[0])
    for relative in kinds:
        weights, noise = weights_of(relative, values), None
        if known is not None:
            noise = max(known.size / unit, c.REGRESSION_QUIET) ** 2
        one = regress(kernels, y, weights, noise, shares)
        if one is not None and relative:  # by expected values: lucky ones would weigh more
            weights = weights_of(True, offset + unit * one.values(kernels.A)[0])
            one = regress(kernels, y, weights, noise, (one.share,))
        if one is not None and (best is None or one.log_likelihood > best.log_likelihood):
            best, manner = one, Manner(one.share, relative)
    return best, manner
