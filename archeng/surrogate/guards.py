r"""Models of simulated constraints, and minima of the objective's model that respect them.

Each constraint has a model of its own, fitted to the same designs. With models :math:`c_i` and a
limit for each side s, :math:`g_s = \pm(c_i - l_s) \le 0`, the minimum is found by the augmented
Lagrangian

.. math:: s(v) + \frac{1}{2\rho} \sum_s \left( \max(0, \lambda_s + \rho g_s(v))^2
          - \lambda_s^2 \right)

which is minimised like a model without constraints (:mod:`archeng.surrogate.minimise`), so that
explicit constraints hold exactly. The models err: limits are moved inside by *margins*, which
follow the errors of the last predictions.

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
c_i         models of the constraints, with gradients of about one      ``models``
l_s         limits in these units, shape (k,)                           ``levels``
lambda_s    multipliers, shape (k,)                                     ``multipliers``
rho         penalty                                                     ``penalty``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.known import Limits
from archeng.surrogate.choice import Choice
from archeng.surrogate.data import Data, Frame
from archeng.surrogate.fit import fit_all, linear, make_system
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.minimise import Minimum
from archeng.surrogate.priors import PRIORS
from archeng.surrogate.several import Several
from archeng.surrogate.transforms import IDENTITY

_NOISES = (1e-4, 1e-2)
_FIRST_PENALTY = 10.0
_LARGEST_PENALTY = 250.0  # beyond, steps along the limits would become short
_ROUNDS = 8  # of the augmented Lagrangian
_SETTLED = 1e-3  # change of the minimum, relative to its distance from the centre
_SATISFIED = 1e-7  # violation, as a distance
_MOST = 0.3  # largest margin, in radii of the trust region
_FLATTEST = 1e-3  # least gradient by which a model is scaled
_NEAR = 0.1  # distance from the limit at which the last multiplier is taken

Lowest = Callable[["Lagrangian", list[Floats]], Minimum | None]


@dataclass(frozen=True, eq=False)
class Guards:
    """What is asked of the simulated constraints.

    Attributes
    ----------
    limits : Limits
    margins : ndarray, shape (m,)
        How far inside its limits a constraint is to be, in its own units.
    weights : ndarray, shape (m,)
        What a unit of violation weighs, in units of the objective.
    prices : ndarray, shape (m,)
        What a unit of each constraint was worth at the last minimum; zero if unknown.
    """

    limits: Limits
    margins: Floats
    weights: Floats
    prices: Floats


@dataclass(frozen=True, eq=False)
class Guarded:
    """A minimum, what is gained in the merit, the constraints expected there, and their prices."""

    minimum: Minimum
    gain: float
    expected: Floats
    prices: Floats


@dataclass(frozen=True, eq=False)
class Sides:
    """The finite limits: which model, in which direction, at which level.

    Attributes
    ----------
    model : ndarray of int, shape (k,)
    sign : ndarray, shape (k,)
        1 for upper, -1 for lower limits.
    levels : ndarray, shape (k,)
        In units of the models.
    """

    model: Integers
    sign: Floats
    levels: Floats

    def excess(self, values: Floats) -> Floats:
        """G (k,) for values (m,) of the models."""
        return np.asarray(self.sign * (values[self.model] - self.levels), dtype=float)


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The augmented Lagrangian, with the derivatives that the minimisation asks for.

    ``sides`` have their margins; ``limits`` do not.
    """

    objective: Interpolant
    models: Several
    sides: Sides
    limits: Sides
    multipliers: Floats
    penalty: float = _FIRST_PENALTY
    is_quadratic: bool = False

    def constraints(self, v: Floats) -> Floats:
        """Values (m,) of the models of the constraints."""
        return self.models.values(v)

    def value(self, v: Floats) -> float:
        """Value at v."""
        pushed = np.maximum(self._pressure(v), 0.0)
        extra = np.sum(pushed**2 - self.multipliers**2) / (2 * self.penalty)
        return self.objective.value(v) + float(extra)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n)."""
        gradient, hessian = self.objective.derivatives(v)
        pressure = self._pressure(v)
        pushed = np.flatnonzero(pressure > 0)
        if len(pushed) == 0:
            return gradient, hessian
        which = self.sides.model[pushed]
        slopes = self.models.slopes(v)[which]
        weights = np.zeros(len(self.models))
        np.add.at(weights, which, pressure[pushed] * self.sides.sign[pushed])
        gradient = gradient + (pressure[pushed] * self.sides.sign[pushed]) @ slopes
        hessian = hessian + self.models.hessian(v, weights) + self.penalty * (slopes.T @ slopes)
        return gradient, hessian

    def _pressure(self, v: Floats) -> Floats:
        """Lambda + rho g, shape (k,)."""
        return self.multipliers + self.penalty * self.sides.excess(self.constraints(v))

    def merit(self, v: Floats, weights: Floats) -> float:
        """Model of the objective plus weights (m,) times violations of the limits."""
        violations = np.maximum(self.limits.excess(self.constraints(v)), 0.0)
        return self.objective.value(v) + float(weights[self.limits.model] @ violations)

    def updated(self, v: Floats) -> Lagrangian:
        """Return the Lagrangian with the multipliers that follow from its minimum v."""
        return replace(self, multipliers=np.maximum(self._pressure(v), 0.0))


def make_lagrangian(
    objective: Interpolant, data: Data, guards: Guards, radius: float, slope: float
) -> tuple[Lagrangian, Floats]:
    """Fit models to the constraints; return the Lagrangian, and the units (m,) of its models.

    In these units the models have gradients of about one at the centre. ``radius`` is that of
    the trust region in coordinates of the model, ``slope`` units of the objective's model per
    unit of the objective.
    """
    size = sizes(data)
    raw = constraint_models(data, guards.limits)
    here = np.zeros(data.A.shape[1])
    slopes = np.array([float(np.linalg.norm(model.derivatives(here)[0])) for model in raw])
    slopes = np.maximum(slopes, _FLATTEST)
    models = Several([model.divided_by(s) for model, s in zip(raw, slopes, strict=True)])
    units = size * slopes
    sides = _sides(guards.limits, units)
    margins = np.minimum(guards.margins / units, _MOST * radius)
    moved = replace(sides, levels=sides.levels - sides.sign * margins[sides.model])
    known = guards.prices * units * slope
    near = sides.excess(data.simulated[0] / units) > -_NEAR
    multipliers = np.where(near, known[sides.model], 0.0)
    return Lagrangian(objective, models, moved, sides, multipliers), units


def guarded_minimum(
    objective: Interpolant,
    data: Data,
    guards: Guards,
    frame: Frame,
    scales: tuple[float, float],
    starts: list[Floats],
    lowest: Lowest,
) -> Guarded | None:
    """Minimise a model of the objective under the models of the simulated constraints.

    Parameters
    ----------
    objective : Interpolant
    data : Data
    guards : Guards
    frame : Frame
    scales : tuple of float
        Radius of the trust region in the frame; units of the model per unit of the objective.
    starts : list of ndarray, shape (n,)
        Feasible designs to begin at.
    lowest : callable
        Minimises a Lagrangian from some designs.

    Returns
    -------
    Guarded or None
        None if no step lowers the Lagrangian.
    """
    radius, slope = scales
    first, units = make_lagrangian(objective, data, guards, radius / data.scale, slope)
    weights = guards.weights * units * slope
    plain = replace(first, multipliers=np.zeros_like(first.multipliers), penalty=_LARGEST_PENALTY)
    best: Guarded | None = None
    for lagrangian in (first, plain):
        found = lowest(lagrangian, starts)
        if found is None:
            continue
        last, minimum = _refined(lagrangian, found, frame, data.scale, lowest, weights)
        v = frame.coordinates(minimum.x) / data.scale
        gain = last.merit(np.zeros_like(v), weights) - last.merit(v, weights)
        if best is None or gain > best.gain:
            prices = np.zeros(len(units))
            np.maximum.at(prices, last.sides.model, last.multipliers)
            expected = last.constraints(v) * units
            best = Guarded(minimum, gain, expected, prices / (units * slope))
        if best.gain > 0:
            break
    return best


def _refined(
    lagrangian: Lagrangian,
    first: Minimum,
    frame: Frame,
    scale: float,
    lowest: Lowest,
    weights: Floats,
) -> tuple[Lagrangian, Minimum]:
    """Go on from a first minimum until the models of the constraints hold.

    Returns the last Lagrangian, and the minimum with the lowest merit by ``weights`` (m,).
    """
    best = last = first
    v, worst = frame.coordinates(first.x) / scale, np.inf
    least = lagrangian.merit(v, weights)
    for _ in range(_ROUNDS):
        excess = float(lagrangian.sides.excess(lagrangian.constraints(v)).max())
        lagrangian = lagrangian.updated(v)
        if excess > max(worst / 4, _SATISFIED) and lagrangian.penalty < _LARGEST_PENALTY:
            lagrangian = replace(lagrangian, penalty=5 * lagrangian.penalty)
        worst = max(excess, 0.0)
        found = lowest(lagrangian, [last.x])
        if found is None:
            break
        before, v, last = v, frame.coordinates(found.x) / scale, found
        merit = lagrangian.merit(v, weights)
        if merit <= least:
            best, least = found, merit
        settled = float(np.linalg.norm(v - before)) <= _SETTLED * float(np.linalg.norm(v))
        if settled and excess <= _SATISFIED:
            break
    return lagrangian.updated(v), best


def _sides(limits: Limits, units: Floats) -> Sides:
    low, high = np.flatnonzero(np.isfinite(limits.lower)), np.flatnonzero(np.isfinite(limits.upper))
    return Sides(
        np.concatenate((low, high)),
        np.concatenate((-np.ones(len(low)), np.ones(len(high)))),
        np.concatenate((limits.lower[low] / units[low], limits.upper[high] / units[high])),
    )


def sizes(data: Data) -> Floats:
    """Return standard deviations (m,) of the constraints, 1 where one is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.std(data.simulated, axis=0)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


def constraint_models(data: Data, limits: Limits) -> tuple[Interpolant, ...]:
    """Fit each constraint, divided by its size: the prior that errs least near its limits."""
    p, n = data.A.shape
    size = sizes(data)
    values, sides = data.simulated / size, _sides(limits, size)
    m = values.shape[1]
    if p < n + 2:
        return tuple(linear(data.A, column) for column in values.T)
    gaps = np.full((p, m), np.inf)
    for model, level in zip(sides.model, sides.levels, strict=True):
        gaps[:, model] = np.minimum(gaps[:, model], np.abs(values[:, model] - level))
    plain = [prior for prior in PRIORS if not prior.rounds]
    noisy = [replace(plain[0], noise=noise) for noise in _NOISES]
    best: list[Choice | None] = [None] * m
    for prior in (*plain, *noisy):
        system = make_system(data.kernels, prior, values[:, 0])
        fits = [None] * m if system is None else fit_all(system, values)
        for i, fit in enumerate(fits):
            if fit is not None:
                choice, before = Choice(fit, prior, IDENTITY, gaps[:, i]), best[i]
                if before is None or choice.score < before.score - 1e-6:
                    best[i] = choice
    return tuple(
        linear(data.A, column) if choice is None else choice.fit.model
        for choice, column in zip(best, values.T, strict=True)
    )
