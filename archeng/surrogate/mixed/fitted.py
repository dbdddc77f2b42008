"""`MixedModels`: objective and simulated constraints as functions of mixed designs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate.choice import Choice, choose, slope_at
from archeng.surrogate.composite import CompositeObjective
from archeng.surrogate.data import Data, Frame, select
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.features import Features
from archeng.surrogate.models import Models, fit_models, without_limits
from archeng.surrogate.priors import IDENTITY, Transform, transforms_for


@dataclass(frozen=True, eq=False)
class MixedModels:
    """Models of objective and simulated constraints around the best design.

    The objective is normalised, and may be transformed: only differences and orders count.
    """

    features: Features
    models: Models
    choice: Choice | None  # what was chosen for the objective; None: a linear model
    margins: Floats  # (m,) of the simulated constraints, in their units

    def coordinates(self, X: Floats) -> Floats:
        """Coordinates v (k, q) of designs (k, n), or (q,) of one (n,)."""
        return (self.features.of(X) - self.models.frame.centre) / self.models.data.scale

    def objectives(self, X: Floats) -> Floats:
        """Values (k,) of the objective's model at designs (k, n)."""
        V, objective = self.coordinates(X), self.models.objective
        if isinstance(objective, Interpolant):
            return objective.values(V)
        if isinstance(objective, CompositeObjective):
            return objective.values_of_many(V)
        return np.array([objective.value(v) for v in V])

    def excesses(self, X: Floats) -> Floats:
        """Sides (p, k) of the simulated constraints at designs (p, n), with margins."""
        if self.models.constraints is None:
            return np.zeros((len(X), 0))
        return self.models.excess_of_many(self.coordinates(X)) + self._side_margins

    def excess(self, x: Floats) -> Floats:
        """Sides (k,) of the simulated constraints at a design, with margins: positive is bad."""
        if self.models.constraints is None:
            return np.zeros(0)
        return self.models.excess(self.coordinates(x)) + self._side_margins

    @cached_property
    def _side_margins(self) -> Floats:
        return np.asarray((self.margins / self.models.units)[self.models.side_of])

    def local(self, x: Floats, along: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Objective () and its slope (k,), sides (s,) and theirs (s, k), by steps (q, k)."""
        v, scale = self.coordinates(x), self.models.data.scale
        value = np.asarray(self.models.objective.value(v))
        first = slope_at(self.models.objective, v) @ along / scale
        if self.models.constraints is None:
            return value, first, np.zeros(0), np.zeros((0, along.shape[1]))
        sides = self.models.excess(v) + self._side_margins
        return value, first, sides, np.asarray(self.models.excess_slopes(v) @ along / scale)

    def gain_of(self, gain: float) -> float:
        """Return a gain of the objective near the best design, in units of its model."""
        normalised = gain / self.models.data.spread
        if self.choice is None:
            return normalised
        return float(normalised * np.exp(self.choice.transform.log_slope(np.zeros(1))[0]))

    @cached_property
    def error(self) -> float:
        """Largest leave-one-out error of the objective's model; infinite if it is linear."""
        if self.choice is None:
            return np.inf
        return float(np.max(np.abs(self.choice.fit.errors)))

    def careful(self, errors: float) -> MixedModels:
        """Return the same with so many leave-one-out errors kept from simulated limits."""
        typical = self.models.row_errors
        typical = np.where(np.isfinite(typical), typical, 0.0) + c.ASIDE * self.models.units
        return replace(self, margins=errors * typical)

    def random(self, rng: np.random.Generator) -> MixedModels | None:
        """Return the same with a random model of the objective; None: there is but one."""
        if self.choice is None:
            return None
        drawn = self.choice.kind.exploring()
        fitted = self.choice.fit
        if drawn is not self.choice.kind:
            z = self.choice.transform.apply(self.choice.y)
            again = drawn.refit(self.models.data.kernels, z, fitted.noise, None)
            fitted = fitted if again is None else again
        models = replace(self.models, objective=fitted.random(rng))
        return replace(self, models=models)


def fit_mixed(
    feasible_set: FeasibleSet,
    features: Features,
    past: PastCalls,
    limits: Limits,
    best: Floats,
    careful: float = 0.0,
) -> MixedModels | None:
    """Fit models to past calls around the best design (n,); None if nothing differs.

    ``careful`` leave-one-out errors are kept from the limits of the simulated constraints.
    """
    frame = features.frame(best)
    data = select(frame, features.calls(past), feasible_set.formulas)
    if data is None:
        return None
    models, choice = _models(frame, data, limits)
    none = np.zeros(len(limits))
    return MixedModels(features, models, choice, none).careful(careful)


def _models(frame: Frame, data: Data, limits: Limits) -> tuple[Models, Choice | None]:
    """Return the models, and what was chosen for the objective."""
    p, q = data.A.shape
    transforms = (IDENTITY,) if len(limits) else (*transforms_for(data.y), *_logarithm(data))
    choice = choose(data, transforms) if p >= q + 2 else None
    if len(limits) or choice is None:
        models = fit_models(frame, data, limits)
        if choice is not None:
            models = replace(models, objective=choice.fit.model)
        return models, choice
    return without_limits(frame, data, choice.fit.model), choice


def _logarithm(data: Data) -> tuple[Transform, ...]:
    """Return the logarithm of a positive objective, if it extends over orders of magnitude.

    log(f) is log(1 + k y) with k = spread / best, but for a constant.
    """
    if data.best <= 0 or float(data.y.max()) * data.spread < c.ORDERS * data.best:
        return ()
    return (Transform(data.spread / data.best),)
