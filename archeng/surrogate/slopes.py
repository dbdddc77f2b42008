"""Slopes at the centre: of the objective and of the functions that limits are about.

By the models, and by random ones that fit the designs as well (posterior samples). Where a formula
of outputs is used, the outputs at the centre are known, so that only their slopes are drawn.
Directions in which no design lies have random slopes in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import Limits
from archeng.surrogate.choice import Choice, CompositeKind, choose, slope_at
from archeng.surrogate.composite import CompositeFit
from archeng.surrogate.data import Data
from archeng.surrogate.fit import Fit, fit
from archeng.surrogate.models import RowFits, fit_rows
from archeng.surrogate.priors import IDENTITY, QUADRATIC


class Slopes(NamedTuple):
    """Slopes in units of the quantities per unit of the frame."""

    objective: Floats  # (k, n), of the pieces of which the objective is the largest
    rows: Floats  # (m, n), of the functions that limits are about


class Centre:
    """What is known at the centre, and what has to be modelled.

    Attributes
    ----------
    offsets : ndarray, shape (k,)
        Pieces of the objective, seen from the largest one, which is 0.
    values, lower, upper : ndarray, shape (m,)
        Functions that limits are about, and the limits.
    """

    def __init__(self, data: Data, limits: Limits, choice: Choice) -> None:
        self._data, self._choice = data, choice
        self._rows: RowFits = fit_rows(data, limits)
        self.lower, self.upper = self._rows.limits(limits)
        self.offsets = np.zeros(1)
        self.values = data.simulated[0][self._rows.rows]
        self._fitted: CompositeFit | None = None
        outputs = data.outputs
        if outputs is None or data.composite is None:
            return
        self._fitted = data.composite
        pieces = outputs.formulas.pieces
        g, raw = pieces.values_and_jacobian(outputs.X[0], outputs.Z[0])
        n = outputs.X.shape[1]
        self._by_design, self._by_outputs = raw[:, :n] @ outputs.step, raw[:, n:]
        self.values = np.concatenate((g[self._rows.pieces], self.values))
        self._own = pieces.owner < 0
        if self._composed:
            self.offsets = g[self._own] - g[self._own].max()

    @property
    def _composed(self) -> bool:
        """Whether the objective's slopes follow from those of outputs, modelled or given."""
        if isinstance(self._choice.kind, CompositeKind):
            return True
        fitted = self._fitted
        return fitted is not None and bool(fitted.formulas.objective) and fitted.slopes_given()

    def by_models(self) -> Slopes:
        """Return the slopes by the models."""
        data, here = self._data, np.zeros(self._data.A.shape[1])
        objective = (data.spread / data.scale) * slope_at(self._choice.fit.model, here)
        units = self._rows.size[self._rows.rows] / data.scale
        models = zip(units, self._rows.direct, strict=True)
        rows = np.array([unit * model.slope(here) for unit, model in models])
        slopes = Slopes(objective[None], rows.reshape(len(units), len(here)))
        if self._fitted is None:
            return slopes
        return self._with_outputs(slopes, self._fitted.slopes())

    def row_slopes(self, slopes: Slopes) -> Floats:
        """Slopes (m, n) of the constraints: each that of its function nearest to a limit."""
        owner, room = (
            self._rows.owner,
            np.minimum(self.upper - self.values, self.values - self.lower),
        )
        rows = np.zeros((len(self._rows.size), slopes.objective.shape[1]))
        for k in np.argsort(-room, kind="stable"):
            rows[owner[k]] = slopes.rows[k]
        return rows

    def by_random(self, draws: int, unknown: Floats, rng: np.random.Generator) -> Iterator[Slopes]:
        """Yield slopes by random models; in ``unknown`` directions (k, n) they are anything."""
        data, fits = self._data, self._rows
        size, rows = fits.size[fits.rows], fits.rows
        plain = None if self._composed else fit(data.kernels, data.y, QUADRATIC)
        columns = (data.simulated[:, rows] / size).T
        direct = [fit(data.kernels, column, QUADRATIC) for column in columns]
        n = data.A.shape[1]
        for _ in range(draws):
            objective = np.zeros(n)
            if not self._composed:
                objective = (data.spread / data.scale) * random_slope(plain, unknown, rng)
            drawn = [
                unit * random_slope(one, unknown, rng)
                for unit, one in zip(size / data.scale, direct, strict=True)
            ]
            slopes = Slopes(objective[None], np.array(drawn).reshape(len(rows), n))
            if self._fitted is not None:
                outputs = self._fitted.fits.random_slopes(
                    lambda one: random_slope(one, unknown, rng)
                )
                slopes = self._with_outputs(slopes, outputs)
            yield slopes

    def _with_outputs(self, direct: Slopes, outputs: Floats) -> Slopes:
        """Add what follows from slopes of the outputs (q, n), per unit of v."""
        pieces = (self._by_design + self._by_outputs @ outputs) / self._data.scale
        return Slopes(
            pieces[self._own] if self._composed else direct.objective,
            np.concatenate((pieces[self._rows.pieces], direct.rows)),
        )


def centre_of(data: Data, limits: Limits) -> Centre | None:
    """Fit models to designs, the first of which is the centre; None if none fits.

    Steep transforms of the objective would hide its slope there.
    """
    choice = choose(data, (IDENTITY,))
    return None if choice is None else Centre(data, limits, choice)


def random_slope(fitted: Fit | None, unknown: Floats, rng: np.random.Generator) -> Floats:
    """Slope (n,) at the centre of a random model that fits as well.

    In ``unknown`` directions (k, n) it is as large as in the others.
    """
    n = unknown.shape[1]
    if fitted is None:
        return np.full(n, np.nan)
    slope = fitted.random(rng).slope(np.zeros(fitted.system.A.shape[1]))[:n]
    size = float(np.linalg.norm(slope))
    return np.asarray(slope + size * rng.standard_normal(len(unknown)) @ unknown)
