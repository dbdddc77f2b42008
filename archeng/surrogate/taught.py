r"""Models with the help of teachers: functions that may resemble ours.

A `Teacher` is what is known of another function: earlier data of the same simulator, another load
case, a cheaper simulator. For each quantity there are three ways to use one:

=============  =========================================================================
way            model
=============  =========================================================================
own            fitted to our own designs, as without teachers
pooled         fitted to our designs and the teacher's rows alike: the same function
corrected      :math:`\rho\, t(v) + \delta(v)`, t a model of the teacher's rows [KO00]
=============  =========================================================================

:math:`\delta` is the ordinary model of what is left at our designs, linear as long as these are
few; :math:`\rho` is one, or a regression on what the teacher says of our designs. The way with the
least leave-one-out errors *at our own designs* is taken, and a teacher only if it does better by a
margin. So one that knows nothing is left alone. The first design alone tells nothing: then a
teacher is believed, which costs one call if it is wrong.

[KO00] M. C. Kennedy, A. O'Hagan, Predicting the output from a complex computer code when fast
approximations are available, Biometrika 87, 2000, doi:10.1093/biomet/87.1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import PastCalls, Teacher
from archeng.strategy import default_population_size
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice, ModelKind, Selection, choose, chosen
from archeng.surrogate.data import Data
from archeng.surrogate.fit import Fit, Kernels, linear
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.priors import IDENTITY, PRIORS, Prior, Transform, transforms_for
from archeng.surrogate.sums import Sum

_PLAIN: tuple[Prior, ...] = tuple(prior for prior in PRIORS if not prior.rounds)
KINDS = (*_PLAIN, *(replace(_PLAIN[0], noise=noise) for noise in c.CONSTRAINT_NOISES))


# -- the objective ---------------------------------------------------------------------------------


def taught_choice(
    data: Data, transforms: Sequence[Transform] | None = None
) -> tuple[Choice | None, Data]:
    """Return the best model of the objective, and the designs that it is fitted to.

    None if there are too few designs for more than a linear model, and no teacher does better.
    """
    p, n = data.A.shape
    own = choose(data, transforms) if p >= n + 2 else None
    if not data.teachers:
        return own, data
    best, used = own, data
    few = own is None
    least = (_few_score(data.A, data.y) if own is None else own.score) - _margin(p)
    tried = (IDENTITY,) if few else transforms or transforms_for(data.y)
    for teacher in data.teachers:
        for choice, designs in _ways(data, teacher, tried):
            score = _rms(choice.fit.errors[:p]) if few else choice.score
            if score < least - c.SCORE_TIE:
                best, used, least = choice, designs, score
    return best, used


def taught_or_chosen(
    data: Data, selection: Selection | None, calls: int
) -> tuple[Selection | None, Choice | None, Data]:
    """Choose a model of the objective as :func:`choice.chosen` does; with teachers each time."""
    if not data.teachers:
        return chosen(data, selection, calls)
    alone = replace(data, teachers=())
    _, own, used = chosen(alone, None, calls)
    choice, designs = taught_choice(data)
    if choice is None or (own is not None and own.score < choice.score):
        choice, designs = own, used
    if choice is None:
        return None, None, data
    fit, trimmed = choice.fit, designs is used and used is not alone
    name = choice.transform.name
    return (
        Selection(choice.kind.name, name, fit.noise, fit.variances, trimmed, calls),
        choice,
        designs,
    )


def needs_arch(past: PastCalls) -> bool:
    """Whether ARCH has to make the first designs after all: teachers were asked, and know nothing.

    To be asked only where that is so.
    """
    n = past.points.shape[1]
    return bool(past.teachers) and len(past) < min(n + 2, default_population_size(n))


def _ways(
    data: Data, teacher: Teacher, transforms: Sequence[Transform]
) -> list[tuple[Choice, Data]]:
    """Return models of the objective with a teacher: pooled, and corrected."""
    known = np.abs(teacher.objectives) < c.DATA_HUGE
    if not known.any():
        return []
    ways = []
    rows = teacher.taken(known)
    pooled = _pooled(data, rows)
    if len(data.y) > 1 and len(pooled.y) >= data.A.shape[1] + 2:
        choice = choose(pooled, transforms)
        if choice is not None:
            ways.append((choice, pooled))
    corrected = _corrected_objective(data, rows, transforms)
    return ways if corrected is None else [*ways, (corrected, data)]


def _pooled(data: Data, rows: Teacher) -> Data:
    """Return our designs and then the rows of a teacher, but for those next to ours."""
    apart = np.linalg.norm(rows.points[:, None] - data.A[None], axis=2).min(axis=1)
    new = apart > c.DATA_GAP * np.linalg.norm(rows.points, axis=1)
    y = (rows.objectives[new] - data.best) / data.spread
    return replace(
        data,
        A=np.concatenate((data.A, rows.points[new])),
        y=np.concatenate((data.y, y)),
        simulated=np.concatenate((data.simulated, rows.simulated[new])),
        outputs=None,
        teachers=(),
        own=len(data.y),
    )


def _corrected_objective(
    data: Data, rows: Teacher, transforms: Sequence[Transform]
) -> Choice | None:
    """Return the best corrected model of the objective, in any of the transforms."""
    n = data.A.shape[1]
    if len(rows) < n + 2:
        return None
    kernels = Kernels(rows.points)
    f = rows.objectives / data.spread
    plain = _models(kernels, f[:, None], f[:, None])[0]
    if plain is None:
        return None
    y = f - plain.value(data.A[int(np.argmin(data.y))])  # 0 where our best design is
    columns = np.stack([transform.apply(y) for transform in transforms], axis=1)
    models = _models(kernels, columns, np.repeat(y[:, None], len(transforms), axis=1))
    best: Choice | None = None
    for transform, model in zip(transforms, models, strict=True):
        if model is None:
            continue
        z = transform.apply(data.y)
        slopes = np.exp(-transform.log_slope(data.y))
        fitted = _corrected(data.kernels, z, model, data.y, slopes)
        choice = Choice(fitted, CorrectedKind(fitted), transform, data.y)
        if best is None or choice.score < best.score - c.SCORE_TIE:
            best = choice
    return best


# -- simulated constraints ------------------------------------------------------------------------


def taught_rows(
    data: Data,
    size: Floats,
    gaps: Floats,
    scores: Floats,
    models: Sequence[Interpolant],
) -> tuple[Floats, tuple[Interpolant | Sum, ...]]:
    """Return scores (m,) and models of the constraints over their size, with teachers or without.

    ``gaps`` (p, m) are the distances from their limits: the nearer half counts.
    """
    p, n = data.A.shape
    scores, best = scores.copy(), list[Interpolant | Sum](models)
    values = data.simulated / size
    for row in range(values.shape[1]):
        order, y = gaps[:, row], values[:, row]
        few = p < n + 2
        least = (_few_score(data.A, y) if few else scores[row]) - _margin(p)
        for teacher in data.teachers:
            known = np.isfinite(teacher.simulated[:, row])
            if known.sum() < n + 2:
                continue
            rows = teacher.taken(known)
            t = rows.simulated[:, row] / size[row]
            for errors, model in _row_ways(data, rows, y, t, order):
                score = _rms(errors) if few else _typical(errors, order)
                if score < least - c.SCORE_TIE:
                    least = scores[row] = score
                    best[row] = model
    return scores, tuple(best)


def spread_of_rows(teacher: Teacher) -> Floats:
    """Return standard deviations (m,) of a teacher's constraints, 0 where they are unknown."""
    known = np.isfinite(teacher.simulated)
    columns = zip(teacher.simulated.T, known.T, strict=True)
    return np.array([np.std(values[there]) if there.any() else 0.0 for values, there in columns])


def _row_ways(
    data: Data, rows: Teacher, y: Floats, t: Floats, order: Floats
) -> list[tuple[Floats, Interpolant | Sum]]:
    """Return errors (p,) at our designs and models of a constraint: pooled, and corrected."""
    ways: list[tuple[Floats, Interpolant | Sum]] = []
    p = len(y)
    near = np.abs(t - np.median(y))
    model = _models(Kernels(rows.points), t[:, None], near[:, None])[0]
    if model is not None:
        fitted = _corrected(data.kernels, y, model, order, np.ones(p))
        ways.append((fitted.errors, fitted.model))
    if p > 1:
        apart = np.linalg.norm(rows.points[:, None] - data.A[None], axis=2).min(axis=1)
        new = apart > c.DATA_GAP * np.linalg.norm(rows.points, axis=1)
        kernels = Kernels(np.concatenate((data.A, rows.points[new])))
        every = np.concatenate((y, t[new]))
        fits = [prior.fit(kernels, every[:, None])[0] for prior in KINDS]
        good = [fit for fit in fits if fit is not None]
        if good:
            best = min(good, key=lambda fit: _typical(fit.errors[:p], order))
            ways.append((best.errors[:p], best.model))
    return ways


# -- f = rho t + delta ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CorrectedFit:
    """A teacher's model times a factor, and a model of what is left at our designs."""

    teacher: Interpolant  # times rho
    kernels: Kernels  # of our designs
    left: Floats  # (p,) that the teacher does not explain
    delta: Fit | None  # None: linear
    errors: Floats  # leave-one-out (p,)

    variances = None

    @property
    def noise(self) -> float:
        """Variance of the noise that the model of what is left assumes."""
        return 0.0 if self.delta is None else self.delta.noise

    @cached_property
    def model(self) -> Sum:
        """The sum."""
        left = _straight(self.kernels.A, self.left) if self.delta is None else self.delta.model
        return Sum((self.teacher, left))

    def random(self, rng: np.random.Generator) -> Sum:
        """Return a random model that fits as well."""
        if self.delta is None:
            return Sum((self.teacher, _straight(self.kernels.A, self.left, rng)))
        return Sum((self.teacher, self.delta.random(rng)))


class CorrectedKind(ModelKind):
    """The kind of a corrected model; it knows its designs."""

    name = "corrected"

    def __init__(self, fitted: CorrectedFit) -> None:
        self._fitted = fitted

    def fit(self, kernels: Kernels, Y: Floats) -> Sequence[CorrectedFit]:
        """Return the model."""
        return [self._fitted]


def _corrected(
    kernels: Kernels, z: Floats, teacher: Interpolant, order: Floats, slopes: Floats
) -> CorrectedFit:
    """Correct a teacher's model by values z (p,) at our designs.

    The half of the designs that is first in the ``order`` counts, with errors times ``slopes``.
    """
    A = kernels.A
    p, n = A.shape
    said = teacher.values(A)
    factors = _factors(said, z)
    best: CorrectedFit | None = None
    least = np.inf
    for rho in factors:
        scaled = teacher if rho == 1 else teacher.divided_by(1 / rho)
        left = z - rho * said
        fits: list[tuple[Fit | None, Floats]] = []
        if p >= n + 2:
            every = [prior.fit(kernels, left[:, None])[0] for prior in KINDS]
            fits = [(one, one.errors) for one in every if one is not None]
        for delta, errors in fits or [(None, _left_out_straight(A, left))]:
            score = _typical(errors * slopes, order)
            if best is None or score < least - c.SCORE_TIE:
                best, least = CorrectedFit(scaled, kernels, left, delta, errors), score
    assert best is not None
    return best


def _factors(said: Floats, z: Floats) -> tuple[float, ...]:
    """Return what rho may be: one, and by regression of z (p,) on what the teacher said (p,).

    The regression is drawn towards one as by one more design.
    """
    p = len(z)
    if p <= 2:
        return (1.0,)
    gaps = said - said.mean()
    size = float(gaps @ gaps)
    if not size > 0 or not np.isfinite(size):
        return (1.0,)
    rho = (float(gaps @ z) + size / p) / (size + size / p)
    return (1.0, rho) if np.isfinite(rho) and rho != 0 else (1.0,)


def _models(kernels: Kernels, Z: Floats, orders: Floats) -> list[Interpolant | None]:
    """Return models of values Z (k, m) of a teacher: each of the prior that errs least.

    The half that is first in each order (k, m) counts.
    """
    least = np.full(Z.shape[1], np.inf)
    models: list[Interpolant | None] = [None] * Z.shape[1]
    for prior in KINDS:
        for i, fitted in enumerate(prior.fit(kernels, Z)):
            if fitted is not None:
                score = _typical(fitted.errors, orders[:, i])
                if score < least[i] - c.SCORE_TIE:
                    least[i], models[i] = score, fitted.model
    return models


def _typical(errors: Floats, order: Floats) -> float:
    """Log of the typical one of errors (p,) in the half that is first in an order (p,)."""
    half = np.argsort(order, kind="stable")[: max(len(order) // 2, 3)]
    return float(np.mean(np.log(np.abs(errors[half]) + c.SCORE_EXACT)))


def _margin(p: int) -> float:
    """By how much the score of a teacher has to be better, at p designs."""
    return c.SCORE_TAUGHT + c.SCORE_TAUGHT_FEW / p if p > 1 else 0.0


def _rms(errors: Floats) -> float:
    """Log of the root mean square of a few errors (p,): one that is small by chance counts less."""
    return float(np.log(np.sqrt(np.mean(errors**2)) + c.SCORE_EXACT))


def _few_score(A: Floats, y: Floats) -> float:
    """Return the score of linear models of few values y (p,), or of their mean if it is better.

    That of the spread for a single one.
    """
    p = len(y)
    if p < 2:
        return 0.0
    by_mean = (y - y.mean()) * (p / (p - 1))
    return min(_rms(_left_out_straight(A, y)), _rms(by_mean))


def _left_out_straight(A: Floats, y: Floats) -> Floats:
    """Leave-one-out errors (p,) of linear models; 0 for a single design."""
    every = np.arange(len(y))
    return np.array(
        [
            y[k] - _straight(A[every != k], y[every != k]).value(A[k]) if len(y) > 1 else 0.0
            for k in every
        ]
    )


def _straight(A: Floats, y: Floats, rng: np.random.Generator | None = None) -> Interpolant:
    """Return a linear function through the first and nearest to all designs, or a constant."""
    if len(A) > 1:
        return linear(A, y, rng)
    n = A.shape[1]
    return Interpolant(float(y[0]), np.zeros(n), np.zeros((n, n)), A, np.zeros(1), 0.0, 0.0)
