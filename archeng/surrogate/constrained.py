r"""Models of simulated constraints, and the best step under them over the exact feasible set.

Each constraint has a model of its own, fitted to the same designs: the prior that errs least near
its limits.

With models s of the objective and :math:`c_j` of the sides of the simulated constraints
(satisfied if :math:`c_j \le 0`, with gradients of one at the centre), the step solves

.. math:: \min_{v, t \ge 0} \; s(v) + w t \quad\text{s.t.}\quad c_j(v) + m_j \le t, \;
          |v| \le r, \; \text{all explicit rows at } v,

an exact penalty of the largest violation: where the limits can be met, and w exceeds the sum of
the multipliers, they are. Margins :math:`m_j` allow for errors of the models. SciPy's SLSQP [K88]
solves it with exact derivatives; the answer is repaired onto the feasible set.

[K88] D. Kraft, A software package for sequential quadratic programming, report DFVLR-FB 88-28, 1988
(the report has no DOI; SciPy's documentation of SLSQP cites it).

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
v           coordinates of the models, shape (n,)                       ``v``
t           largest violation, as a distance                            ``z[-1]``
w           weight of the violation, in slopes of the objective         ``weight``
r           trust region, in coordinates of the models                  ``radius``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.outcomes import Limits, Sides
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice, SmoothModel, choose
from archeng.surrogate.data import Data, Frame
from archeng.surrogate.fit import Fit, linear
from archeng.surrogate.geometry import optimizers
from archeng.surrogate.interpolant import Interpolant, Several
from archeng.surrogate.priors import IDENTITY, PRIORS


@dataclass(frozen=True, eq=False)
class Models:
    """Models of objective and simulated constraints around the centre of a frame."""

    frame: Frame
    data: Data
    objective: SmoothModel
    steepness: float  # slope of the objective's model at the centre
    constraints: Several | None
    units: Floats  # (m,) of the constraints per unit of their models
    sides: Sides  # limits, in units of the models

    def excess(self, v: Floats) -> Floats:
        """Sides (k,) at v: positive where violated, as distances."""
        if self.constraints is None:
            return np.zeros(0)
        return self.sides.excess(self.constraints.values(v))

    def expected(self, v: Floats) -> Floats:
        """Return the simulated constraints (m,) at v."""
        if self.constraints is None:
            return np.zeros(0)
        return self.constraints.values(v) * self.units

    def merit(self, v: Floats, weight: float) -> float:
        """Objective by its model plus the weighted violation, in slopes of the objective."""
        violation = float(self.excess(v).max(initial=0.0))
        return self.objective.value(v) / self.steepness + weight * violation


class Step(NamedTuple):
    """A step by the models, to a design x (n,)."""

    x: Floats
    gain: float  # of the merit, in units of the objective
    weight: float  # of the violation in it, in slopes of the objective
    expected: Floats  # simulated constraints (m,)


def fit_models(frame: Frame, data: Data, limits: Limits, units: Floats | None = None) -> Models:
    """Fit models to designs around the centre of a frame.

    ``units`` (m,) of the constraints are by default those in which their models have slopes of
    one at the centre.
    """
    p, n = data.A.shape
    here = np.zeros(n)
    choice = choose(data.kernels, data.y, (IDENTITY,)) if p >= n + 2 else None
    objective: SmoothModel = linear(data.A, data.y) if choice is None else choice.fit.model
    steepness = float(np.linalg.norm(objective.derivatives(here)[0]))
    raw = constraint_models(data, limits) if len(limits) else ()
    slopes = np.array([float(np.linalg.norm(model.derivatives(here)[0])) for model in raw])
    if units is None:
        units = sizes(data) * np.maximum(slopes, c.CONSTRAINT_FLATTEST)
    factors = units / sizes(data)
    models = [model.divided_by(factor) for model, factor in zip(raw, factors, strict=True)]
    return Models(
        frame=frame,
        data=data,
        objective=objective,
        steepness=max(steepness, float(np.finfo(float).tiny)) if steepness else 1.0,
        constraints=Several(models) if models else None,
        units=units,
        sides=Sides.of(limits.lower, limits.upper, units),
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
    values, sides = data.simulated / size, Sides.of(limits.lower, limits.upper, size)
    m = values.shape[1]
    if p < n + 2:
        return tuple(linear(data.A, column) for column in values.T)
    gaps = np.full((p, m), np.inf)
    for model, level in zip(sides.index, sides.level, strict=True):
        gaps[:, model] = np.minimum(gaps[:, model], np.abs(values[:, model] - level))
    plain = [prior for prior in PRIORS if not prior.rounds]
    noisy = [replace(plain[0], noise=noise) for noise in c.CONSTRAINT_NOISES]
    best: list[tuple[float, Fit] | None] = [None] * m
    for prior in (*plain, *noisy):
        for i, fit in enumerate(prior.fit(data.kernels, values)):
            if fit is not None:
                score, before = Choice(fit, prior, IDENTITY, gaps[:, i]).score, best[i]
                if before is None or score < before[0] - c.SCORE_TIE:
                    best[i] = score, fit
    return tuple(
        linear(data.A, column) if fitted is None else fitted[1].model
        for fitted, column in zip(best, values.T, strict=True)
    )


def best_step(
    models: Models,
    feasible_set: FeasibleSet,
    radius: float,
    margins: Floats,
    weight: float,
    start: Floats | None = None,
) -> tuple[Floats, float]:
    """Return coordinates (n,) of the best step, explicit rows met but for rounding, and its weight.

    ``radius`` in the frame; ``margins`` (m,) in units of the constraints; ``start`` (n,), in the
    frame, is by default the centre. The weight is at least twice the sum of the multipliers, and
    raised while limits are not met.
    """
    problem = _Problem(models, feasible_set, radius / models.data.scale, margins)
    begin = np.zeros(len(models.frame.centre)) if start is None else start / models.data.scale
    for trial in range(1 + c.WEIGHT_RAISES):
        v, price = problem.solve(weight, begin)
        weight = max(weight, c.WEIGHT_ABOVE * price)
        here = models.merit(np.zeros_like(v), weight)
        if not models.merit(v, weight) < here:
            v = problem.first_order(weight)
        met = float(models.excess(v).max(initial=0.0)) <= c.VIOLATION_MET * problem.radius
        if met or trial == c.WEIGHT_RAISES or weight >= c.WEIGHT_HEAVIEST:
            break
        weight *= c.WEIGHT_FACTOR
    return v, weight


class _Problem:
    """The problem above, as functions of z = (v, t)."""

    def __init__(self, models: Models, fs: FeasibleSet, radius: float, margins: Floats) -> None:
        self._models, self._fs, self.radius = models, fs, radius
        sides = models.sides
        wanted = np.maximum((margins / models.units)[sides.index], c.MARGIN_INSIDE * radius)
        self._margins = np.minimum(wanted, c.MARGIN_LARGEST * radius)
        values, slopes = self._rows(np.zeros(len(models.frame.centre)))
        sizes_ = np.linalg.norm(slopes, axis=1)
        self._sizes = np.where((sizes_ > 0) & np.isfinite(sizes_), sizes_, 1.0)
        reach = 2 * radius
        gap = radius * (1 + np.sum(np.abs(slopes), axis=1) / self._sizes)
        near_low = (values - fs.lower) / self._sizes <= np.maximum(reach, gap)
        near_high = (fs.upper - values) / self._sizes <= np.maximum(reach, gap)
        linear = np.arange(fs.m) < fs.m - fs.n_nonlinear
        self._low = np.isfinite(fs.lower) & ~fs.equality & (near_low | ~linear)
        self._high = np.isfinite(fs.upper) & ~fs.equality & (near_high | ~linear)
        self._equal = fs.equality
        self._middle = (fs.lower + fs.upper)[fs.equality] / 2
        self._seen: tuple[bytes, tuple[Floats, Floats]] = (b"", (values, slopes))

    def solve(self, weight: float, begin: Floats) -> tuple[Floats, float]:
        """Return v (n,) where SLSQP ends, be it a solution or not, and the multipliers' sum."""
        n, m = len(self._models.frame.centre), self._models
        z = np.append(begin, 0.0)
        z[n] = (m.excess(begin) + self._margins).max(initial=0.0)
        constraints = [{"type": "ineq", "fun": self._above, "jac": self._above_slopes}]
        if self._equal.any():
            constraints.append({"type": "eq", "fun": self._zero, "jac": self._zero_slopes})
        with np.errstate(all="ignore"):
            solved = optimizers().minimize(
                lambda z: m.objective.value(z[:n]) / m.steepness + weight * z[n],
                z,
                jac=lambda z: np.append(m.objective.derivatives(z[:n])[0] / m.steepness, weight),
                constraints=constraints,
                bounds=[(-self.radius, self.radius)] * n + [(0.0, None)],
                method="SLSQP",
                options={"maxiter": c.SLSQP_ITERATIONS, "ftol": c.SLSQP_ACCURACY},
            )
        v = np.asarray(solved.x[:n], dtype=float)
        if not np.all(np.isfinite(v)):
            return np.zeros(n), 0.0
        first = int(self._equal.sum() + self._low.sum() + self._high.sum())
        pushing = np.asarray(solved.multipliers)[first : first + len(self._margins)]
        return v, float(np.sum(np.abs(pushing)))

    def first_order(self, weight: float) -> Floats:
        """Return v (n,) by linear models: where SLSQP fails, some of that way leads down."""
        n, m = len(self._models.frame.centre), self._models
        z = np.zeros(n + 1)
        values, slopes = self._above(z)[:-1], self._above_slopes(z)[:-1]
        zero, equal = self._zero(z), self._zero_slopes(z)
        gradient = m.objective.derivatives(z[:n])[0] / m.steepness
        box = self.radius / np.sqrt(n)
        solved = optimizers().linprog(
            np.append(gradient, weight),
            A_ub=-slopes,
            b_ub=values,
            A_eq=equal if len(zero) else None,
            b_eq=-zero if len(zero) else None,
            bounds=[(-box, box)] * n + [(0.0, None)],
            method="highs",
        )
        if solved.status != 0:
            return np.zeros(n)
        here, v = m.merit(z[:n], weight), np.asarray(solved.x[:n], dtype=float)
        for _ in range(c.LINEAR_HALVINGS):
            if m.merit(v, weight) < here:
                return v
            v = v / c.LINEAR_SHORTER
        return np.zeros(n)

    def _rows(self, v: Floats) -> tuple[Floats, Floats]:
        frame, scale = self._models.frame, self._models.data.scale
        values, jacobian = self._fs.values_and_jacobian(frame.design(scale * v))
        with np.errstate(invalid="ignore", over="ignore"):  # undefined there, or infinitely steep
            return values, np.nan_to_num((jacobian @ frame.factor) * scale, posinf=0.0, neginf=0.0)

    def _at(self, v: Floats) -> tuple[Floats, Floats]:
        """Rows over their sizes, and slopes; the last ones are remembered."""
        key = v.tobytes()
        if self._seen[0] != key:
            self._seen = (key, self._rows(v))
        values, slopes = self._seen[1]
        return values / self._sizes, slopes / self._sizes[:, None]

    def _above(self, z: Floats) -> Floats:
        """Everything that has to be at least zero."""
        v, fs = z[:-1], self._fs
        values, _ = self._at(v)
        return np.concatenate(
            (
                values[self._low] - (fs.lower / self._sizes)[self._low],
                (fs.upper / self._sizes)[self._high] - values[self._high],
                z[-1] - self._models.excess(v) - self._margins,
                [(self.radius**2 - v @ v) / self.radius],
            )
        )

    def _above_slopes(self, z: Floats) -> Floats:
        v, m = z[:-1], self._models
        _, slopes = self._at(v)
        limits = np.zeros((0, len(v)))
        if m.constraints is not None:
            limits = m.sides.sign[:, None] * m.constraints.slopes(v)[m.sides.index]
        explicit = np.concatenate((slopes[self._low], -slopes[self._high]))
        rows = np.concatenate((explicit, -limits, [-2 * v / self.radius]))
        last = np.zeros(len(rows))
        last[len(explicit) : len(explicit) + len(limits)] = 1.0
        return np.column_stack((rows, last))

    def _zero(self, z: Floats) -> Floats:
        values, _ = self._at(z[:-1])
        return np.asarray(values[self._equal] - self._middle / self._sizes[self._equal])

    def _zero_slopes(self, z: Floats) -> Floats:
        slopes = self._at(z[:-1])[1][self._equal]
        return np.column_stack((slopes, np.zeros(len(slopes))))
