"""`Models`: objective and simulated constraints around a design, as smooth functions.

Each constraint has a model of its own, fitted to the same designs: the prior that errs least near
its limits. One that is a formula of outputs is composed of their models instead
(:mod:`archeng.surrogate.composite`), unless the model of its values errs much less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers
from archeng.outcomes import Limits, Sides
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice, SmoothModel, by_formula, slope_at
from archeng.surrogate.composite import Composite, CompositeFit, CompositeObjective
from archeng.surrogate.data import Data, Frame
from archeng.surrogate.fit import Fit, linear
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import IDENTITY, PRIORS
from archeng.surrogate.sums import Sum, several
from archeng.surrogate.taught import spread_of_rows, taught_choice, taught_rows


class RowModels:
    """Functions (k,) of v that the limits of the constraints are about, over units (m,).

    First pieces of formulas, at ``pieces`` of the composite; then the models of single constraints,
    in the order of ``rows``.
    """

    def __init__(
        self,
        units: Floats,
        rows: Integers,
        models: list[Interpolant | Sum],
        composite: Composite | None = None,
        pieces: Integers | None = None,
    ) -> None:
        self._rows, self._units, self._composite = rows, units, composite
        self._pieces = np.zeros(0, dtype=np.intp) if pieces is None else pieces
        every = composite.formulas.pieces.owner if composite is not None else self._pieces
        owners = every[self._pieces]
        self.owner = np.concatenate((owners, rows)).astype(np.intp)
        self._divided = units[owners][:, None]
        self._several = several(models) if models else None

    def values(self, v: Floats) -> Floats:
        """Values (k,) at v."""
        parts = [] if self._several is None else [self._several.values(v)]
        if self._composite is not None:
            parts.insert(0, self._composite.values(v)[self._pieces] / self._divided[:, 0])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def values_of_many(self, V: Floats) -> Floats:
        """Values (p, k) at points (p, n)."""
        parts = [] if self._several is None else [self._several.values_of_many(V)]
        if self._composite is not None:
            pieces = self._composite.values_of_many(V)[:, self._pieces]
            parts.insert(0, pieces / self._divided[:, 0])
        return np.concatenate(parts, axis=1)

    def slopes(self, v: Floats) -> Floats:
        """Gradients (k, n) at v."""
        parts = [] if self._several is None else [self._several.slopes(v)]
        if self._composite is not None:
            parts.insert(0, self._composite.slopes(v)[self._pieces] / self._divided)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def expected(self, v: Floats) -> Floats:
        """Constraints (m,) at v, in their own units."""
        values = np.zeros(len(self._units))
        if self._several is not None:
            values[self._rows] = self._several.values(v) * self._units[self._rows]
        if self._composite is not None:
            own = np.unique(self.owner[: len(self._pieces)])
            values[own] = self._composite.totals(v)[1][own]
        return values


@dataclass(frozen=True, eq=False)
class Models:
    """Models of objective and simulated constraints around the centre of a frame."""

    frame: Frame
    data: Data
    objective: SmoothModel
    steepness: float  # slope of the objective's model at the centre
    constraints: RowModels | None
    units: Floats  # (m,) of the constraints per unit of their models
    sides: Sides  # limits of the functions of the constraints, in units of the models
    row_errors: Floats  # (m,) typical leave-one-out errors of the constraints, in their units

    @cached_property
    def side_of(self) -> Integers:
        """Which constraint each side belongs to (k,)."""
        if self.constraints is None:
            return self.sides.index
        return np.asarray(self.constraints.owner[self.sides.index], dtype=np.intp)

    @property
    def has_pieces(self) -> bool:
        """Whether the objective is the largest of several smooth pieces."""
        return isinstance(self.objective, CompositeObjective) and self.objective.n_pieces > 1

    def objective_pieces(self, v: Floats) -> tuple[Floats, Floats]:
        """Values (k,) and gradients (k, n) of the objective's pieces, over its steepness."""
        assert isinstance(self.objective, CompositeObjective)
        values, slopes = self.objective.pieces(v)
        return values / self.steepness, slopes / self.steepness

    def excess(self, v: Floats) -> Floats:
        """Sides (k,) at v: positive where violated, as distances."""
        if self.constraints is None:
            return np.zeros(0)
        return self.sides.excess(self.constraints.values(v))

    def excess_of_many(self, V: Floats) -> Floats:
        """Sides (p, k) at points (p, n)."""
        if self.constraints is None:
            return np.zeros((len(V), 0))
        return self.sides.excess(self.constraints.values_of_many(V))

    def excess_slopes(self, v: Floats) -> Floats:
        """Gradients (k, n) of the sides."""
        if self.constraints is None:
            return np.zeros((0, len(v)))
        return np.asarray(self.sides.sign[:, None] * self.constraints.slopes(v)[self.sides.index])

    def expected(self, v: Floats) -> Floats:
        """Return the simulated constraints (m,) at v."""
        return np.zeros(0) if self.constraints is None else self.constraints.expected(v)

    def merit(self, v: Floats, weight: float) -> float:
        """Objective by its model plus the weighted violation, in slopes of the objective."""
        violation = float(self.excess(v).max(initial=0.0))
        return self.objective.value(v) / self.steepness + weight * violation


@dataclass(frozen=True, eq=False)
class RowFits:
    """What is fitted to the simulated constraints: each by its formula, or directly.

    Attributes
    ----------
    size : ndarray, shape (m,)
        Standard deviations of the constraints.
    direct : tuple of Interpolant or Sum
        Models of the constraints, divided by these, that have no formula or do better without.
    rows : ndarray of int
        Which constraints these are.
    composite : CompositeFit or None
        Of the others.
    pieces : ndarray of int
        Pieces of the others' formulas.
    errors : ndarray, shape (m,)
        Typical leave-one-out errors of the constraints; infinite for linear models.
    """

    size: Floats
    direct: tuple[Interpolant | Sum, ...]
    rows: Integers
    composite: CompositeFit | None
    pieces: Integers
    errors: Floats

    @property
    def owner(self) -> Integers:
        """Which constraint each function belongs to (k,)."""
        if self.composite is None:
            return self.rows
        return np.concatenate((self.composite.formulas.pieces.owner[self.pieces], self.rows))

    def limits(self, limits: Limits) -> tuple[Floats, Floats]:
        """Limits (k,) of the functions."""
        if self.composite is None:
            return limits.lower, limits.upper
        pieces = self.composite.formulas.pieces
        return (
            np.concatenate((pieces.lower[self.pieces], limits.lower[self.rows])),
            np.concatenate((pieces.upper[self.pieces], limits.upper[self.rows])),
        )

    def steepness(self, here: Floats) -> Floats:
        """Slopes (m,) of the constraints at v, in their sizes: that of the steepest piece."""
        slopes = np.zeros(len(self.size))
        for row, model in zip(self.rows, self.direct, strict=True):
            slopes[row] = float(np.linalg.norm(model.slope(here)))
        if self.composite is not None:
            lengths = np.linalg.norm(self.composite.composite.slopes(here)[self.pieces], axis=1)
            owner = self.composite.formulas.pieces.owner[self.pieces]
            np.maximum.at(slopes, owner, lengths / self.size[owner])
        return slopes

    def models(self, units: Floats) -> RowModels:
        """Return them over units (m,) of the constraints."""
        factors = (units / self.size)[self.rows]
        both = zip(self.direct, factors, strict=True)
        models: list[Interpolant | Sum] = [m.divided_by(factor) for m, factor in both]
        composite = None if self.composite is None else self.composite.composite
        return RowModels(units, self.rows, models, composite, self.pieces)


def fit_models(frame: Frame, data: Data, limits: Limits, units: Floats | None = None) -> Models:
    """Fit models to designs around the centre of a frame.

    ``units`` (m,) of the constraints are by default those in which their models have slopes of
    one at the centre.
    """
    here = np.zeros(data.A.shape[1])
    objective = objective_model(data)
    fits = fit_rows(data, limits)
    if units is None:
        units = fits.size * np.maximum(fits.steepness(here), c.CONSTRAINT_FLATTEST)
    lower, upper = fits.limits(limits)
    return Models(
        frame=frame,
        data=data,
        objective=objective,
        steepness=_steepness(objective, here),
        constraints=fits.models(units) if len(limits) else None,
        units=units,
        sides=Sides.of(lower, upper, units[fits.owner]),
        row_errors=fits.errors,
    )


def without_limits(frame: Frame, data: Data, objective: SmoothModel) -> Models:
    """Return a model of the objective as the only one."""
    none, steepness = np.zeros(0), _steepness(objective, np.zeros(data.A.shape[1]))
    return Models(frame, data, objective, steepness, None, none, Sides.of(none, none), none)


def with_row(frame: Frame, data: Data, objective: SmoothModel, row: Interpolant) -> Models:
    """Return a model of the objective, and a function of v that is to stay below zero."""
    one, zero = np.ones(1), np.zeros(1)
    rows = RowModels(one, np.zeros(1, dtype=np.intp), [row])
    return replace(
        without_limits(frame, data, objective),
        constraints=rows,
        units=one,
        sides=Sides.of(np.full(1, -np.inf), zero),
        row_errors=zero,
    )


def _steepness(objective: SmoothModel, here: Floats) -> float:
    steepness = float(np.linalg.norm(slope_at(objective, here)))
    return max(steepness, float(np.finfo(float).tiny)) if 0 < steepness < np.inf else 1.0


def objective_model(data: Data) -> SmoothModel:
    """Return the model of the objective: by its formula, the best one, or a linear one."""
    choice, _ = taught_choice(data, (IDENTITY,))
    if choice is not None:
        return choice.fit.model
    formula = by_formula(data)
    return linear(data.A, data.y) if formula is None else formula.fitted().model


def fit_rows(data: Data, limits: Limits) -> RowFits:
    """Fit every constraint: by its formula, unless a direct model errs much less."""
    m, size = len(limits), sizes(data)
    scores, direct = _direct_models(data, limits) if m else (np.zeros(0), ())
    fitted, typical = data.composite, scores.copy()
    by_formula = np.zeros(m, dtype=bool)
    if fitted is not None:
        k = len(fitted.formulas.rows)
        scale = size[:k] * np.exp(c.SCORE_FORMULA)
        errors = np.abs(fitted.errors[:, 1:]) / scale + c.SCORE_EXACT
        errors = np.log(np.where(np.isfinite(errors), errors, 1.0))
        half = _near_limits(data, limits)[:, :k]
        own = np.sum(np.where(half, errors, 0.0), axis=0) / half.sum(axis=0)
        by_formula[:k] = (own <= scores[:k]) | ~np.isfinite(scores[:k])
        missing = np.isnan(fitted.errors[:, 1:]).any(axis=0)
        own = np.where(missing, np.inf, own + c.SCORE_FORMULA)
        typical[:k] = np.where(by_formula[:k], own, typical[:k])
    typical_errors = size * np.exp(typical)
    if fitted is None or not by_formula.any():
        return RowFits(size, direct, np.arange(m), None, np.zeros(0, dtype=np.intp), typical_errors)
    rows = np.flatnonzero(~by_formula)
    owner = fitted.formulas.pieces.owner
    pieces = np.flatnonzero((owner >= 0) & by_formula[np.maximum(owner, 0)])
    return RowFits(size, tuple(direct[row] for row in rows), rows, fitted, pieces, typical_errors)


def sizes(data: Data) -> Floats:
    """Return standard deviations (m,) of the constraints, 1 where one is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.std(data.simulated, axis=0)
        if data.teachers and len(data.y) < data.A.shape[1] + 2:  # ours may hardly differ yet
            size = np.maximum(size, [spread_of_rows(t) for t in data.teachers]).max(axis=0)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


def _gaps(data: Data, limits: Limits) -> Floats:
    """Distances (p, m) of the constraints from their limits, over their sizes."""
    size = sizes(data)
    values, sides = data.simulated / size, Sides.of(limits.lower, limits.upper, size)
    gaps = np.full(values.shape, np.inf)
    for row, level in zip(sides.index, sides.level, strict=True):
        gaps[:, row] = np.minimum(gaps[:, row], np.abs(values[:, row] - level))
    return gaps


def _near_limits(data: Data, limits: Limits) -> NDArray[np.bool_]:
    """Whether a design (p,) is in the half that is nearest to the limits of a constraint (m,)."""
    ranks = np.argsort(np.argsort(_gaps(data, limits), axis=0, kind="stable"), axis=0)
    return np.asarray(ranks < max(len(data.y) // 2, 3))


def _direct_models(data: Data, limits: Limits) -> tuple[Floats, tuple[Interpolant | Sum, ...]]:
    """Fit each constraint, divided by its size: the prior that errs least near its limits.

    Returns their scores, too; infinite for linear models.
    """
    scores, models = _own_models(data, limits)
    if not data.teachers:
        return scores, models
    return taught_rows(data, sizes(data), _gaps(data, limits), scores, models)


def _own_models(data: Data, limits: Limits) -> tuple[Floats, tuple[Interpolant, ...]]:
    """Fit each constraint, divided by its size, to our own designs."""
    p, n = data.A.shape
    values, m = data.simulated / sizes(data), len(limits)
    scores = np.full(m, np.inf)
    if p < n + 2:
        return scores, tuple(linear(data.A, column) for column in values.T)
    gaps = _gaps(data, limits)
    plain = [prior for prior in PRIORS if not prior.rounds]
    noisy = [replace(plain[0], noise=noise) for noise in c.CONSTRAINT_NOISES]
    best: list[Fit | None] = [None] * m
    for prior in (*plain, *noisy):
        for i, fit in enumerate(prior.fit(data.kernels, values)):
            if fit is not None:
                score = Choice(fit, prior, IDENTITY, gaps[:, i]).score
                if best[i] is None or score < scores[i] - c.SCORE_TIE:
                    scores[i], best[i] = score, fit
    return scores, tuple(
        linear(data.A, column) if fitted is None else fitted.model
        for fitted, column in zip(best, values.T, strict=True)
    )
