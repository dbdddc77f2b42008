r"""Models of the simulator's outputs, from which models of objective and constraints are composed.

Each output z_k has a model of its own, fitted to the same designs: of z_k itself, of its logarithm
or of its reciprocal (a stress is a force over an area), with the prior that errs least. With
leave-one-out predictions :math:`\hat z_{ik}` at the designs i, that is

.. math:: \min \; \sum_i W_{ik} \ln( |\hat z_{ik} - z_{ik}| + \varepsilon ),

the weights W saying which designs matter: the better half for the objective, those near the limits
for a constraint. A formula :math:`f(x, z)` turns an error of :math:`z_k` into one that is
:math:`\partial f / \partial z_k` times as large at each design. In the mean of logarithms these
factors are a constant: to first order, the least error of the output is that of the composite.

==========  ==========================================================  ===================
symbol      meaning                                                     name here
==========  ==========================================================  ===================
v           coordinates of the models, shape (n,)                       ``v``
z           outputs, shape (q,)                                         ``Z`` (p, q)
t = T(z)    transformed outputs                                         ``transformed``
s(v)        model of (t - offset) / size                                ``Several``
W           weights of the designs, shape (p, q)                        ``weights``
==========  ==========================================================  ===================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.surrogate import constants as c
from archeng.surrogate.fit import (
    Fit,
    Kernels,
    fit,
    left_out_errors,
    linear,
    make_system,
    solve_all,
)
from archeng.surrogate.hermite import Hermite, HermiteFit, HermiteSystem, most_with_slopes
from archeng.surrogate.interpolant import Interpolant, Several
from archeng.surrogate.priors import PRIORS, QUADRATIC, Prior
from archeng.surrogate.transforms import SAME, OutputTransform, back_all, candidates


class OutputModels:
    """Models of all outputs, as functions of v."""

    def __init__(
        self,
        models: Sequence[Interpolant | Hermite],
        transforms: Sequence[OutputTransform],
        offsets: Floats,
        sizes: Floats,
    ) -> None:
        self._plain = all(transform is SAME for transform in transforms)
        self._transforms, self._offsets, self._sizes = transforms, offsets, sizes
        self._with_slopes = [(k, m) for k, m in enumerate(models) if isinstance(m, Hermite)]
        others = {k: m for k, m in enumerate(models) if isinstance(m, Interpolant)}
        self._others = np.array(list(others), dtype=np.intp)
        self._several = Several(list(others.values())) if others else None

    def values(self, v: Floats) -> Floats:
        """Values (q,) at v."""
        return self._back(self._modelled(v), 0)

    def values_of_many(self, V: Floats) -> Floats:
        """Values (k, q) at points (k, n)."""
        S = np.empty((len(V), len(self._sizes)))
        if self._several is not None:
            S[:, self._others] = self._several.values_of_many(V)
        for k, model in self._with_slopes:
            S[:, k] = [model.value(v) for v in V]
        return self._back(S, 0)

    def slopes(self, v: Floats) -> Floats:
        """Their gradients (q, n)."""
        first = self._back(self._modelled(v), 1) * self._sizes
        return np.asarray(first[:, None] * self._modelled_slopes(v))

    def bends(self, v: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) of their sum with weights (q,)."""
        s = self._modelled(v)
        first = weights * self._back(s, 1) * self._sizes
        bends = np.zeros((len(v), len(v)))
        if self._several is not None:
            bends = bends + self._several.bends(v, first[self._others])
        for k, model in self._with_slopes:
            bends = bends + first[k] * model.bends(v)
        if self._plain:
            return bends
        slopes = self._modelled_slopes(v)
        second = weights * self._back(s, 2) * self._sizes**2
        return np.asarray(bends + (slopes.T * second) @ slopes)

    def _modelled(self, v: Floats) -> Floats:
        """Return what the models say at v (q,)."""
        s = np.empty(len(self._sizes))
        if self._several is not None:
            s[self._others] = self._several.values(v)
        for k, model in self._with_slopes:
            s[k] = model.value(v)
        return s

    def _modelled_slopes(self, v: Floats) -> Floats:
        """Gradients (q, n) of what the models say."""
        slopes = np.empty((len(self._sizes), len(v)))
        if self._several is not None:
            slopes[self._others] = self._several.slopes(v)
        for k, model in self._with_slopes:
            slopes[k] = model.slope(v)
        return slopes

    def _back(self, s: Floats, order: int) -> Floats:
        """Return outputs (q,) of what the models say, or derivatives of T^{-1} there."""
        t = self._offsets + self._sizes * s
        if self._plain:
            return t if order == 0 else np.full(len(t), float(order == 1))
        return back_all(self._transforms, t, order)


class RestrictedModels:
    """Models of outputs with some coordinates held at zero: parameters as they are now."""

    def __init__(self, models: OutputModels, more: int) -> None:
        self._models, self._zeros = models, np.zeros(more)
        self._last: tuple[Floats, Floats] | None = None

    def values(self, v: Floats) -> Floats:
        """Values (q,) at v."""
        return self._models.values(self._full(v))

    def values_of_many(self, V: Floats) -> Floats:
        """Values (k, q) at points (k, n)."""
        return self._models.values_of_many(np.pad(V, ((0, 0), (0, len(self._zeros)))))

    def slopes(self, v: Floats) -> Floats:
        """Their gradients (q, n)."""
        return self._models.slopes(self._full(v))[:, : len(v)]

    def bends(self, v: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) of their sum with weights (q,)."""
        return self._models.bends(self._full(v), weights)[: len(v), : len(v)]

    def _full(self, v: Floats) -> Floats:
        if self._last is None or self._last[0] is not v:
            self._last = v, np.concatenate((v, self._zeros))
        return self._last[1]


@dataclass(frozen=True, eq=False)
class OutputFits:
    """Fitted models of all outputs.

    Attributes
    ----------
    models : OutputModels
    predicted : ndarray, shape (p, q)
        What the models would say of each design without it; NaN with linear models.
    given : ndarray, shape (q, n)
        Slopes at the centre, the first design, that the simulator gave; NaN where it did not.
    """

    kernels: Kernels
    fits: tuple[Fit | HermiteFit | None, ...]  # None: linear
    transforms: tuple[OutputTransform, ...]
    transformed: Floats  # normalised (p, q)
    offsets: Floats
    sizes: Floats
    given: Floats

    @cached_property
    def models(self) -> OutputModels:
        """The models."""
        models = [
            linear(self.kernels.A, column) if one is None else one.model
            for one, column in zip(self.fits, self.transformed.T, strict=True)
        ]
        return self._of(models)

    @cached_property
    def predicted(self) -> Floats:
        """What the models would say of each design without it (p, q); NaN: linear models."""
        unknown = np.full(len(self.kernels.A), np.nan)
        errors = [unknown if one is None else one.errors for one in self.fits]
        s = self.transformed - np.stack(errors, axis=1)
        return back_all(self.transforms, self.offsets + self.sizes * s)

    def random(self, rng: np.random.Generator) -> OutputModels:
        """Return random models that fit as well (posterior samples)."""
        models: list[Interpolant | Hermite] = []
        for one, plain, column in zip(self.fits, self._plain_fits, self.transformed.T, strict=True):
            if isinstance(one, HermiteFit):
                models.append(one.model)
            elif plain is None:
                models.append(linear(self.kernels.A, column, rng))
            else:
                models.append(plain.random(rng))
        return self._of(models)

    def slopes(self) -> Floats:
        """Slopes (q, n) of the outputs at the centre: given, or by the models."""
        return self._known(self.models.slopes(np.zeros(self.kernels.A.shape[1])))

    def random_slopes(self, draw: Callable[[Fit | None], Floats]) -> Floats:
        """Slopes (q, n) of the outputs at the centre: given, or by random models.

        These pass through all designs: noise that models allow for would hide what the
        designs next to the centre say, and random models do not differ by it.
        """
        here = np.zeros(self.kernels.A.shape[1])  # with slopes there are no parameters in it
        drawn = np.array(
            [
                one.model.slope(here) if isinstance(one, HermiteFit) else draw(exact)
                for one, exact in zip(self.fits, self._exact_fits, strict=True)
            ]
        )
        steep = [float(t.back(o, 1)) for t, o in zip(self.transforms, self.offsets, strict=True)]
        return self._known((np.array(steep) * self.sizes)[:, None] * drawn)

    def _known(self, modelled: Floats) -> Floats:
        """Take slopes (q, n) as the simulator gave them; models are near these only."""
        given = self.given[:, : modelled.shape[1]]
        return np.where(np.isfinite(given), given, modelled)

    @cached_property
    def _plain_fits(self) -> list[Fit | None]:
        """Quadratic models with the noise of the models, from which random ones are drawn."""
        return [
            fit(self.kernels, column, replace(QUADRATIC, noise=one.noise))
            if isinstance(one, Fit)
            else None
            for one, column in zip(self.fits, self.transformed.T, strict=True)
        ]

    @cached_property
    def _exact_fits(self) -> list[Fit | None]:
        """Quadratic models without noise."""
        return [
            fit(self.kernels, column, QUADRATIC) if isinstance(one, Fit) else None
            for one, column in zip(self.fits, self.transformed.T, strict=True)
        ]

    def _of(self, models: Sequence[Interpolant | Hermite]) -> OutputModels:
        return OutputModels(models, self.transforms, self.offsets, self.sizes)


def fit_outputs(
    kernels: Kernels, Z: Floats, weights: Floats, slopes: Floats | None = None
) -> OutputFits:
    """Fit models to outputs Z (p, q) at the designs of the kernels (p, n).

    ``weights`` (p, q) say which designs matter for which output. ``slopes`` (p, q, n) are those
    that the simulator gives, per unit of v; NaN where it does not.
    """
    without = _fit_values(kernels, Z, weights)
    if slopes is None:
        return without
    return replace(_fit_slopes(without, Z, weights, slopes), given=slopes[0])


def _fit_slopes(without: OutputFits, Z: Floats, weights: Floats, slopes: Floats) -> OutputFits:
    """Fit models to values and slopes where these are known."""
    kernels = without.kernels
    fits, transforms = list(without.fits), list(without.transforms)
    T, offsets, sizes = without.transformed.copy(), without.offsets.copy(), without.sizes.copy()
    which, tried = candidates(Z)
    columns, all_offsets, all_sizes = _normalised(Z[:, which], tried)
    systems: dict[bytes, HermiteSystem] = {}
    for k in range(Z.shape[1]):
        used = _with_slopes(slopes[:, k])
        if used is None:
            continue
        key = used.tobytes()
        if key not in systems:
            systems[key] = HermiteSystem(kernels.A[used])
        best = np.inf
        for i in np.flatnonzero(which == k):
            steep = 1 / (tried[i].back(all_offsets[i] + all_sizes[i] * columns[:, i], 1))
            along = slopes[:, k] * (steep / all_sizes[i])[:, None]
            for fitted in systems[key].fits(columns[used, i], along[used]):
                complete = _everywhere(fitted, used, kernels.A, columns[:, i])
                s = columns[:, i] - complete.errors
                errors = np.abs(tried[i].back(all_offsets[i] + all_sizes[i] * s, 0) - Z[:, k])
                score = float(weights[:, k] @ np.log(errors / sizes[k] + c.SCORE_EXACT))
                if score < best:
                    best, fits[k], transforms[k] = score, complete, tried[i]
                    T[:, k], offsets[k], sizes[k] = columns[:, i], all_offsets[i], all_sizes[i]
    return OutputFits(kernels, tuple(fits), tuple(transforms), T, offsets, sizes, without.given)


def _with_slopes(slopes: Floats) -> Integers | None:
    """Positions of the designs (p,) whose slopes (p, n) are known; None if they are too few."""
    known = np.flatnonzero(np.isfinite(slopes).all(axis=1))
    if len(known) == 0 or known[0] != 0 or 2 * len(known) < len(slopes):
        return None
    return np.asarray(known[: most_with_slopes(slopes.shape[1])], dtype=np.intp)


def _everywhere(fitted: HermiteFit, used: Integers, A: Floats, s: Floats) -> HermiteFit:
    """Return a fit to some designs with its errors at all of them (p, n), values s (p,)."""
    errors = np.array([value - fitted.model.value(a) for a, value in zip(A, s, strict=True)])
    errors[used] = fitted.errors
    return replace(fitted, errors=errors)


def _fit_values(kernels: Kernels, Z: Floats, weights: Floats) -> OutputFits:
    """Fit models to the values alone."""
    (p, n), q = kernels.A.shape, Z.shape[1]
    nothing = np.full((q, n), np.nan)
    if p < n + 2:
        every = (SAME,) * q
        return OutputFits(kernels, (None,) * q, every, *_normalised(Z, every), nothing)
    which, transforms = candidates(Z)
    columns, offsets, sizes = _normalised(Z[:, which], transforms)
    scale = np.maximum(np.std(Z, axis=0), np.finfo(float).tiny)[which]
    best = np.full(len(which), np.inf)
    fits: list[Fit | None] = [None] * len(which)
    for prior in _kinds():
        system = make_system(kernels, prior, columns[:, 0])
        if system is None:
            continue
        solutions, diagonal = solve_all(system, columns)
        S = columns - left_out_errors(solutions[:p], diagonal)
        with np.errstate(all="ignore"):
            predicted = back_all(transforms, offsets + sizes * S)
            errors = np.log(np.abs(predicted - Z[:, which]) / scale + c.SCORE_EXACT)
        errors[~np.isfinite(errors)] = np.inf
        scores = np.sum(weights[:, which] * errors, axis=0)
        for k in np.flatnonzero(scores < best - c.SCORE_TIE):
            best[k], fits[k] = scores[k], Fit(solutions[:, k], system, columns[:, k], diagonal)
    chosen = [min(np.flatnonzero(which == k), key=lambda i: best[i]) for k in range(q)]
    return OutputFits(
        kernels,
        tuple(fits[i] for i in chosen),
        tuple(transforms[i] for i in chosen),
        columns[:, chosen],
        offsets[chosen],
        sizes[chosen],
        nothing,
    )


def _kinds() -> list[Prior]:
    plain = [prior for prior in PRIORS if not prior.rounds]
    return [*plain, *(replace(plain[0], noise=noise) for noise in c.CONSTRAINT_NOISES)]


def _normalised(Z: Floats, transforms: Sequence[OutputTransform]) -> tuple[Floats, Floats, Floats]:
    """Return transformed outputs (p, q), offsets (q,) and sizes (q,): t = offset + size s."""
    T = np.stack([t.forward(column) for t, column in zip(transforms, Z.T, strict=True)], axis=1)
    offsets, sizes = T[0].copy(), np.std(T, axis=0)
    sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
    return (T - offsets) / sizes, offsets, sizes
