r"""Objective and constraints as formulas of modelled outputs.

With models :math:`\hat z(v)` of the outputs and exact formulas (:mod:`archeng.model.formulas`), the
pieces :math:`g_i(x, z)` of objective and constraints become functions of v, by the chain rule with

.. math::

    \nabla g_i = X^T \partial_x g_i + \hat z'^T \partial_z g_i, \qquad
    \nabla^2 g_i = \begin{pmatrix} X \\ \hat z' \end{pmatrix}^T \partial^2 g_i
    \begin{pmatrix} X \\ \hat z' \end{pmatrix} + \sum_k \partial_{z_k} g_i \, \nabla^2 \hat z_k.

What is modelled is a choice: a quantity as a formula of outputs, or directly, whichever has the
smaller leave-one-out error [AF19 models all outputs]. Where the formula has no outputs, nothing is
learned and the error is zero.

[AF19] R. Astudillo, P. I. Frazier, Bayesian optimization of composite functions, ICML 2019,
arXiv:1906.01537.

==========  ==========================================================  ===================
symbol      meaning                                                     name here
==========  ==========================================================  ===================
v           coordinates of the models, shape (n,)                       ``v``
x           design, centre + X v, shape (n,)                            ``x``
X           factor of the frame times the scale of v, shape (n, n)      ``step``
z^          models of the outputs, shape (q,)                           ``outputs``
g           pieces, shape (k,)                                          ``pieces``
==========  ==========================================================  ===================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.model import Formulas
from archeng.surrogate.fit import Kernels
from archeng.surrogate.outputs import OutputFits, OutputModels, RestrictedModels, fit_outputs


class _Place(NamedTuple):
    """What is known at one point: g (k,) and its gradients by v (k, n)."""

    key: bytes  # of v
    x: Floats
    z: Floats
    steps: Floats  # derivatives of (x, z) by v (n + q, n)
    values: Floats
    raw: Floats  # gradients by (x, z), (k, n + q)


class Composite:
    """Pieces of objective and constraints as functions of v; the last point is remembered."""

    def __init__(
        self,
        formulas: Formulas,
        outputs: OutputModels | RestrictedModels,
        centre: Floats,
        step: Floats,
    ) -> None:
        self.formulas, self._outputs = formulas, outputs
        self._centre, self._step = centre, step
        self._place: _Place | None = None
        self._many: tuple[bytes, Floats] | None = None

    def values(self, v: Floats) -> Floats:
        """Pieces (k,) at v."""
        return self._at(v).values

    def values_of_many(self, V: Floats) -> Floats:
        """Pieces (p, k) at points (p, n); the last ones are remembered."""
        key = V.tobytes()
        if self._many is None or self._many[0] != key:
            X = self._centre + V @ self._step.T
            with np.errstate(all="ignore"):
                Z = self._outputs.values_of_many(V)
            both = zip(X, Z, strict=True)
            call = self.formulas.pieces.values_and_jacobian
            self._many = key, np.array([call(x, z)[0] for x, z in both])
        return self._many[1]

    def slopes(self, v: Floats) -> Floats:
        """Their gradients (k, n)."""
        at = self._at(v)
        with np.errstate(all="ignore"):  # models may say anything far away
            return at.raw @ at.steps

    def bends(self, v: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) of their sum with weights (k,)."""
        at = self._at(v)
        with np.errstate(all="ignore"):
            (second,) = self.formulas.pieces.hessian(at.x, at.z, weights)
            second = np.where(np.isnan(second), 0.0, second)
            by_outputs = weights @ at.raw[:, len(at.x) :]
            bends = at.steps.T @ second @ at.steps + self._outputs.bends(v, by_outputs)
            return np.asarray(0.5 * (bends + bends.T))

    def totals(self, v: Floats) -> tuple[float, Floats]:
        """Objective and rows (m,) at v, by the formulas themselves."""
        at = self._at(v)
        return self.formulas.at(at.x, at.z)

    def _at(self, v: Floats) -> _Place:
        """Return what is known about a point: solvers ask for the same one several times."""
        key = v.tobytes()
        if self._place is None or self._place.key != key:
            x = self._centre + self._step @ v
            with np.errstate(all="ignore"):
                z = self._outputs.values(v)
                steps = np.concatenate((self._step, self._outputs.slopes(v)))
                values, raw = self.formulas.pieces.values_and_jacobian(x, z)
            if np.isnan(raw).any():  # 0 times infinity: sqrt(fmax(z, 0)) where z is negative
                raw = np.where(np.isnan(raw) & np.isfinite(values)[:, None], 0.0, raw)
            self._place = _Place(key, x, z, steps, values, raw)
        return self._place


class CompositeObjective:
    """The objective in the normalised units of the designs, as a model that can be minimised."""

    def __init__(self, composite: Composite, best: float, spread: float) -> None:
        self._composite, self._best, self._spread = composite, best, spread
        self._own = composite.formulas.pieces.owner < 0
        self.n_pieces = int(self._own.sum())

    @property
    def is_quadratic(self) -> bool:
        """Whether the Hessian is the same everywhere: nobody knows."""
        return False

    def value(self, v: Floats) -> float:
        """Value at v: the largest piece; infinite where the formula is not defined."""
        value = float(self._composite.values(v)[self._own].max())
        return (value - self._best) / self._spread if np.isfinite(value) else np.inf

    def values_of_many(self, V: Floats) -> Floats:
        """Values (p,) at points (p, n), as of one."""
        values = self._composite.values_of_many(V)[:, self._own].max(axis=1)
        return np.where(np.isfinite(values), (values - self._best) / self._spread, np.inf)

    def slope(self, v: Floats) -> Floats:
        """Gradient (n,) of the largest piece."""
        with np.errstate(all="ignore"):
            return np.asarray(self._largest(v) @ self._composite.slopes(v))

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        """Gradient (n,) and Hessian (n, n) of the largest piece."""
        return self.slope(v), self._composite.bends(v, self._largest(v))

    def _largest(self, v: Floats) -> Floats:
        """Weights (k,) of all pieces: that of the largest one of the objective."""
        values = np.where(self._own, self._composite.values(v), -np.inf)
        weights = np.zeros(len(values))
        weights[int(np.argmax(values))] = 1.0 / self._spread
        return weights

    def pieces(self, v: Floats) -> tuple[Floats, Floats]:
        """Values (k,) and gradients (k, n) of all pieces."""
        values = (self._composite.values(v)[self._own] - self._best) / self._spread
        return values, self._composite.slopes(v)[self._own] / self._spread


@dataclass(frozen=True, eq=False)
class CompositeFit:
    """What is fitted to the outputs of some designs.

    Attributes
    ----------
    errors : ndarray, shape (p, 1 + m)
        Leave-one-out errors of objective and rows, in their units; NaN with linear models, 0 where
        nothing is learned.
    """

    formulas: Formulas
    fits: OutputFits
    X: Floats  # designs (p, n)
    Z: Floats  # outputs (p, q)
    step: Floats  # design per unit of v (n, n)

    @cached_property
    def composite(self) -> Composite:
        """The models."""
        return self._of(self.fits.models)

    def random(self, rng: np.random.Generator) -> Composite:
        """Return random ones that fit as well (posterior samples)."""
        return self._of(self.fits.random(rng))

    @cached_property
    def errors(self) -> Floats:
        """Leave-one-out errors (p, 1 + m)."""
        with np.errstate(all="ignore"):
            exact = self.formulas.at_all(self.X, self.Z)
            predicted = self.formulas.at_all(self.X, self.fits.predicted[: len(self.X)])
        used = self.formulas.uses.any(axis=1)
        return np.where(used, predicted - exact, 0.0)

    def _of(self, outputs: OutputModels) -> Composite:
        more = self.fits.kernels.A.shape[1] - self.step.shape[1]
        models = RestrictedModels(outputs, more) if more else outputs
        return Composite(self.formulas, models, self.X[0], self.step)

    def slopes(self) -> Floats:
        """Slopes (q, n) of the outputs at the centre."""
        return self.fits.slopes()[:, : self.step.shape[1]]

    def slopes_given(self) -> bool:
        """Whether the simulator gave those of all outputs that the objective uses."""
        return bool(np.isfinite(self.fits.given[self.formulas.uses[0]]).all())


def fit_composite(
    formulas: Formulas,
    kernels: Kernels,
    X: Floats,
    Z: Floats,
    step: Floats,
    slopes: Floats | None = None,
    taught: tuple[Floats, Floats] | None = None,
) -> CompositeFit:
    """Fit models to outputs Z (p, q) at designs X (p, n), the first of which is the centre.

    ``slopes`` (p, q, n) are those that the simulator gives, NaN where it does not. ``taught``
    are designs and outputs of earlier runs, whose coordinates in the kernels follow the others,
    and may be more than n.
    """
    weights = _weights(formulas, formulas.at_all(X, Z))
    if slopes is not None:
        slopes = slopes @ step
    if taught is not None:
        weights = np.concatenate((weights, np.zeros((len(taught[1]), weights.shape[1]))))
    every = Z if taught is None else np.concatenate((Z, taught[1]))
    return CompositeFit(formulas, fit_outputs(kernels, every, weights, slopes), X, Z, step)


def _weights(formulas: Formulas, values: Floats) -> Floats:
    """Weights (p, q) of designs for each output, by objective and rows (p, 1 + m) there.

    Each quantity that uses an output weighs the half of the designs that matters most to it.
    """
    p = len(values)
    lower, upper = np.array([(row.lower, row.upper) for row in formulas.rows]).reshape(-1, 2).T
    gaps = np.minimum(np.abs(values[:, 1:] - lower), np.abs(values[:, 1:] - upper))
    distance = np.concatenate((values[:, :1], gaps), axis=1)
    half = max(p // 2, 3)
    ranks = np.argsort(np.argsort(distance, axis=0, kind="stable"), axis=0, kind="stable")
    counted = (ranks < half).astype(float) @ formulas.uses.astype(float)
    unused = counted.sum(axis=0) == 0
    counted[:, unused] = 1.0
    return np.asarray(counted / counted.sum(axis=0))
