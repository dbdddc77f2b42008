r"""Choosing the kind of model, and the transform of the objective, by the errors left out.

With leave-one-out errors e_k of the transformed objectives T(y_k), the score

.. math:: \text{mean}_k \ln\left( |e_k| / T'(y_k) + \varepsilon \right)

over the better half of the designs is the log of the typical error in units of y near the
best design, so that models of different transforms can be compared.

**A new kind of model** is a class with a ``name`` and a ``fit`` in a module of its own, best a
subclass of `ModelKind`, and an entry in `KINDS`. What ``fit`` returns has a model with ``value``
and ``derivatives``, leave-one-out ``errors``, and makes ``random`` models that fit as
well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from archeng.codec import OMITTED
from archeng.distribution import Floats
from archeng.surrogate import constants as c
from archeng.surrogate.composite import Composite, CompositeFit, CompositeObjective
from archeng.surrogate.data import Data
from archeng.surrogate.fit import Kernels
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import (
    IDENTITY,
    PRIORS,
    TRANSFORMS,
    Transform,
    transforms_for,
)
from archeng.surrogate.sums import Sum
from archeng.surrogate.wide import DIAGONAL, WIDE


class SmoothModel(Protocol):
    """A function of the coordinates that can be minimised."""

    @property
    def is_quadratic(self) -> bool:
        """Whether the Hessian is the same everywhere."""

    def value(self, v: Floats) -> float:
        """Value at coordinates v (n,)."""

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n), or the diagonal (n,) of one that is a diagonal."""


def slope_at(model: SmoothModel, v: Floats) -> Floats:
    """Gradient (n,) of a model, without its Hessian where that is cheaper."""
    if isinstance(model, Interpolant | CompositeObjective | Sum):
        return model.slope(v)
    return model.derivatives(v)[0]


class FittedModel(Protocol):
    """A model with what is known about its errors."""

    @property
    def model(self) -> SmoothModel:
        """The model."""

    @property
    def errors(self) -> Floats:
        """Leave-one-out errors (p,)."""

    @property
    def noise(self) -> float:
        """Variance of the noise that was assumed, relative to the spread of the objectives."""

    @property
    def variances(self) -> Floats | None:
        """What else a later fit of the same kind may use again, shape (n, n)."""

    def random(self, rng: np.random.Generator) -> SmoothModel:
        """Return a random model that fits as well."""


class ModelKind(Protocol):
    """Fits models to designs ``kernels.A`` (p, n). Subclasses need no more than name and fit."""

    @property
    def name(self) -> str:
        """Name by which a choice is stored."""

    @property
    def costly(self) -> bool:
        """Whether it is tried with the best transform of the others only."""
        return False

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[FittedModel | None]:
        """Fit a model to each column of Y (p, k); None where that fails."""

    def refit(
        self, kernels: Kernels, y: Floats, noise: float, variances: Floats | None
    ) -> FittedModel | None:
        """Fit a model to y (p,) as one with this noise and variances was fitted before."""
        return next(iter(self.fit(kernels, y[:, None])), None)

    def noisier(self) -> Sequence[ModelKind]:
        """Return variants that allow for more noise."""
        return ()

    def exploring(self) -> ModelKind:
        """Return the kind whose random models are explored."""
        return self


KINDS: tuple[ModelKind, ...] = PRIORS
"""The kinds of models of the objective, in the order in which they are tried."""


def _kinds_for(data: Data) -> tuple[ModelKind, ...]:
    """Return the kinds of models that are tried."""
    if not data.wide:
        return KINDS
    return WIDE if data.A.shape[1] <= c.WIDE_INTERACTING else DIAGONAL


@dataclass(frozen=True, eq=False)
class Choice:
    """A model fitted to normalised objectives y (p,), with its kind and its transform."""

    fit: FittedModel
    kind: ModelKind
    transform: Transform
    y: Floats
    own: int | None = None  # how many of the designs, the first ones, count; None: all

    @cached_property
    def score(self) -> float:
        """Log of the typical error; lower is better."""
        y = self.y[: self.own]
        half = np.argsort(y, kind="stable")[: max(len(y) // 2, 3)]
        slopes = np.exp(-self.transform.log_slope(y[half]))
        return float(np.mean(np.log(np.abs(self.fit.errors[half]) * slopes + c.SCORE_EXACT)))


@dataclass(frozen=True, eq=False)
class Selection:
    """Which model was chosen, and after how many calls."""

    kind: str
    transform: str
    noise: float
    variances: Floats | None  # of the entries of the Hessian (n, n), reweighted
    trimmed: bool  # whether it was fitted to the better designs only
    calls: int
    # Of models in many variables: how many calls there were when its designs were taken, and which
    # was the best one then
    taken: int = field(default=0, metadata=OMITTED)
    centre: int | None = field(default=None, metadata=OMITTED)


class CompositeKind(ModelKind):
    """The objective as a formula of modelled outputs; it knows its designs."""

    name = "composite"

    def __init__(self, data: Data, fitted: CompositeFit) -> None:
        self._data, self._fitted = data, fitted

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[FittedModel]:
        """Return the model of the objective itself."""
        return [self.fitted()]

    def fitted(self) -> FittedModel:
        """Return the model of the objective itself."""
        return CompositeChoice(self._data, self._fitted)


class CompositeChoice:
    """The objective's model by formula, with its errors."""

    noise, variances = 0.0, None

    def __init__(self, data: Data, fitted: CompositeFit) -> None:
        self._data, self._fitted = data, fitted
        self.model = self._of(fitted.composite)

    @cached_property
    def errors(self) -> Floats:
        """Leave-one-out errors (p,); where the formula is not defined, as large as the spread."""
        errors = self._fitted.errors[:, 0] / self._data.spread
        return np.where(np.isfinite(errors), errors, 1.0)

    def random(self, rng: np.random.Generator) -> SmoothModel:
        """Return a random model that fits as well."""
        return self._of(self._fitted.random(rng))

    def _of(self, composite: Composite) -> SmoothModel:
        return CompositeObjective(composite, self._data.best, self._data.spread)


def by_formula(data: Data) -> CompositeKind | None:
    """Return the objective's kind of model by formula; None if it has no formula."""
    fitted = data.composite
    has_one = fitted is not None and bool(fitted.formulas.objective)
    return CompositeKind(data, fitted) if has_one and fitted is not None else None


def choose(data: Data, transforms: Sequence[Transform] | None = None) -> Choice | None:
    """Return the best model of the objective; None if none fits.

    ``transforms`` are those that are tried, by default all that are worth it. Most kinds are tried
    with all transforms, costly ones with the best of these, and noise with the best of all. A
    formula of modelled outputs is preferred unless another model errs much less; one without
    outputs is exact.
    """
    kind = by_formula(data)
    if kind is None:
        return _directly(data, transforms)
    composite = Choice(kind.fitted(), kind, IDENTITY, data.y)
    if not composite.fit.errors.any():
        return composite
    direct = _directly(data, transforms)
    better = direct is not None and direct.score < composite.score - c.SCORE_FORMULA
    return direct if better else composite


def _directly(data: Data, transforms: Sequence[Transform] | None) -> Choice | None:
    """Return the best model of the normalised objectives as such."""
    kinds = _kinds_for(data)
    cheap = [kind for kind in kinds if not kind.costly]
    best = _best(None, data, cheap, transforms or transforms_for(data.y))
    if best is None:
        return None
    only = (best.transform,)
    best = _best(best, data, [kind for kind in kinds if kind.costly], only)
    return best and _best(best, data, best.kind.noisier(), only)


def chosen(
    data: Data, selection: Selection | None, calls: int
) -> tuple[Selection | None, Choice | None, Data]:
    """Fit the model that was selected before, or choose again after some calls.

    Returns the designs that were used, too. There is no choice if there are too few designs for
    more than a linear model.
    """
    p, n = data.A.shape
    if p < n + 2:
        return selection, None, data
    if selection is not None and calls - selection.calls < 1 + p // c.CHOICE_KEPT:
        used = data.trimmed() if selection.trimmed else data
        choice = _chosen_again(used, selection)
        if choice is not None and selection.trimmed:
            warning = _contradicting(data, choice)
            if warning.any():
                used = data.trimmed(warning)
                choice = _chosen_again(used, selection)
        if choice is not None and len(used.y) >= n + 2:
            return selection, choice, used
    used, choice = data, choose(data)
    if choice is None:
        return None, None, data
    if choice.score > c.SCORE_POOR:
        better = data.trimmed()
        if len(better.y) > n + 2:
            other = choose(better)
            if other is not None:
                warning = _contradicting(data, other)
                if warning.any():
                    better = data.trimmed(warning)
                    other = choose(better)
            if other is not None and other.score < choice.score - c.SCORE_MUCH_BETTER:
                used, choice = better, other
    selection = Selection(
        kind=choice.kind.name,
        transform=choice.transform.name,
        noise=choice.fit.noise,
        variances=choice.fit.variances,
        trimmed=used is not data,
        calls=calls,
    )
    return selection, choice, used


def _contradicting(data: Data, choice: Choice) -> NDArray[np.bool_]:
    """Whether designs (p,) would be better than the best one by a model of the better ones.

    They are not: without them nothing says that the objective rises towards them.
    """
    predicted = np.array([choice.fit.model.value(v) for v in data.A])
    return np.asarray((predicted < 0) & (data.y > np.quantile(data.y, c.DATA_TRIMMED)))


def _chosen_again(data: Data, selection: Selection) -> Choice | None:
    """Fit the model that was selected before; None if there is no such kind, or it does not fit."""
    own = by_formula(data)
    kinds = _kinds_for(data)
    kinds = kinds if own is None else (own, *kinds)
    kind = next((kind for kind in kinds if kind.name == selection.kind), None)
    transform = next((t for t in TRANSFORMS if t.name == selection.transform), None)
    if kind is None or transform is None:
        return None
    z = transform.apply(data.y)
    fit = kind.refit(data.kernels, z, selection.noise, selection.variances)
    return None if fit is None else Choice(fit, kind, transform, data.y)


def _best(
    best: Choice | None,
    data: Data,
    kinds: Iterable[ModelKind],
    transforms: Sequence[Transform],
) -> Choice | None:
    """Return the best model of some kinds and transforms, or the one before if none is better."""
    Z = np.stack([transform.apply(data.y) for transform in transforms], axis=1)
    for kind in kinds:
        for fit, transform in zip(kind.fit(data.kernels, Z), transforms, strict=False):
            if fit is not None:
                choice = Choice(fit, kind, transform, data.y, data.own)
                if best is None or choice.score < best.score - c.SCORE_TIE:
                    best = choice
    return best
