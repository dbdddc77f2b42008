r"""The best step under models of objective and constraints, over the exact feasible set.

With models s of the objective and :math:`c_j` of the sides of the simulated constraints
(satisfied if :math:`c_j \le 0`, with gradients of one at the centre), the step solves

.. math:: \min_{v, t \ge 0} \; s(v) + w t \quad\text{s.t.}\quad c_j(v) + m_j \le t, \;
          |v| \le r, \; \text{all explicit rows at } v,

an exact penalty of the largest violation: where the limits can be met, and w exceeds the sum of
the multipliers, they are. Margins :math:`m_j` allow for errors of the models. An objective that is
the largest of several pieces :math:`s_i` is a further unknown e with :math:`s_i(v) \le e`. SciPy's
SLSQP [K88] solves it with exact derivatives; the answer is repaired onto the feasible set.

[K88] D. Kraft, A software package for sequential quadratic programming, report DFVLR-FB 88-28, 1988
(the report has no DOI; SciPy's documentation of SLSQP cites it).

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
v           coordinates of the models, shape (n,)                       ``v``
t           largest violation, as a distance                            ``z[n]``
e           largest piece of the objective, if there are several        ``z[n + 1]``
w           weight of the violation, in slopes of the objective         ``weight``
r           trust region, in coordinates of the models                  ``radius``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.surrogate import constants as c
from archeng.surrogate.choice import slope_at
from archeng.surrogate.geometry import optimizers
from archeng.surrogate.models import Models


class Step(NamedTuple):
    """A step by the models, to a design x (n,)."""

    x: Floats
    gain: float  # of the merit, in units of the objective
    weight: float  # of the violation in it, in slopes of the objective
    expected: Floats  # simulated constraints (m,)


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
    """The problem above, as functions of z = (v, t), or (v, t, e) if the objective has pieces."""

    def __init__(self, models: Models, fs: FeasibleSet, radius: float, margins: Floats) -> None:
        self._models, self._fs, self.radius = models, fs, radius
        self._n, self._pieces = len(models.frame.centre), models.has_pieces
        wanted = np.maximum((margins / models.units)[models.side_of], c.MARGIN_INSIDE * radius)
        self._margins = np.minimum(wanted, c.MARGIN_LARGEST * radius)
        values, slopes = self._rows(np.zeros(self._n))
        sizes_ = np.linalg.norm(slopes, axis=1)
        self._sizes = np.where((sizes_ > 0) & np.isfinite(sizes_), sizes_, 1.0)
        reach = 2 * radius
        gap = radius * (1 + np.sum(np.abs(slopes), axis=1) / self._sizes)
        near_low = (values - fs.lower) / self._sizes <= np.maximum(reach, gap)
        near_high = (fs.upper - values) / self._sizes <= np.maximum(reach, gap)
        linear = np.arange(fs.m) < fs.m - fs.n_nonlinear
        if fs.m > c.MANY_ROWS:
            far = c.FAR_ROW * np.maximum(reach, gap)
            near_low |= (values - fs.lower) / self._sizes <= far
            near_high |= (fs.upper - values) / self._sizes <= far
            linear[:] = True
        self._low = np.isfinite(fs.lower) & ~fs.equality & (near_low | ~linear)
        self._high = np.isfinite(fs.upper) & ~fs.equality & (near_high | ~linear)
        self._equal = fs.equality
        self._middle = (fs.lower + fs.upper)[fs.equality] / 2
        self._seen: tuple[bytes, tuple[Floats, Floats]] = (b"", (values, slopes))

    def solve(self, weight: float, begin: Floats) -> tuple[Floats, float]:
        """Return v (n,) where SLSQP ends, be it a solution or not, and the multipliers' sum."""
        n, m = self._n, self._models
        z = np.append(begin, (m.excess(begin) + self._margins).max(initial=0.0))
        if self._pieces:
            z = np.append(z, m.objective.value(begin) / m.steepness)
        constraints = [{"type": "ineq", "fun": self._above, "jac": self._above_slopes}]
        if self._equal.any():
            constraints.append({"type": "eq", "fun": self._zero, "jac": self._zero_slopes})
        with np.errstate(all="ignore"):
            solved = optimizers().minimize(
                lambda z: self._objective(z) + weight * z[n],
                z,
                jac=lambda z: self._objective_slope(z, weight),
                constraints=constraints,
                bounds=self._bounds(self.radius),
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
        n, m = self._n, self._models
        z = np.zeros(n + 1 + self._pieces)
        if self._pieces:
            z[-1] = m.objective.value(z[:n]) / m.steepness
        values, slopes = self._above(z)[:-1], self._above_slopes(z)[:-1]
        zero, equal = self._zero(z), self._zero_slopes(z)
        moved = -slopes @ np.where(np.arange(len(z)) > n, z, 0.0)  # e is not measured from here
        cost = self._objective_slope(z, weight)
        if not all(np.isfinite(part).all() for part in (cost, slopes, values, zero, equal)):
            return np.zeros(n)  # a formula whose slope is not defined here
        solved = optimizers().linprog(
            cost,
            A_ub=-slopes,
            b_ub=values + moved,
            A_eq=equal if len(zero) else None,
            b_eq=-zero if len(zero) else None,
            bounds=self._bounds(self.radius / np.sqrt(n)),
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

    def _bounds(self, radius: float) -> list[tuple[float, float]]:
        unbounded = [(-np.inf, np.inf)] if self._pieces else []
        return [(-radius, radius)] * self._n + [(0.0, np.inf), *unbounded]

    def _objective(self, z: Floats) -> float:
        m = self._models
        return float(z[-1]) if self._pieces else m.objective.value(z[: self._n]) / m.steepness

    def _objective_slope(self, z: Floats, weight: float) -> Floats:
        m, n = self._models, self._n
        if self._pieces:
            return np.append(np.zeros(n), (weight, 1.0))
        return np.append(slope_at(m.objective, z[:n]) / m.steepness, weight)

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
        v, fs, m = z[: self._n], self._fs, self._models
        values, _ = self._at(v)
        pieces = z[-1] - m.objective_pieces(v)[0] if self._pieces else np.zeros(0)
        return np.concatenate(
            (
                values[self._low] - (fs.lower / self._sizes)[self._low],
                (fs.upper / self._sizes)[self._high] - values[self._high],
                z[self._n] - m.excess(v) - self._margins,
                pieces,
                [(self.radius**2 - v @ v) / self.radius],
            )
        )

    def _above_slopes(self, z: Floats) -> Floats:
        v, m = z[: self._n], self._models
        _, slopes = self._at(v)
        limits = m.excess_slopes(v)
        pieces = -m.objective_pieces(v)[1] if self._pieces else np.zeros((0, len(v)))
        explicit = np.concatenate((slopes[self._low], -slopes[self._high]))
        rows = np.concatenate((explicit, -limits, pieces, [-2 * v / self.radius]))
        last = np.zeros((len(rows), 1 + self._pieces))
        last[len(explicit) : len(explicit) + len(limits), 0] = 1.0
        last[len(rows) - 1 - len(pieces) : -1, 1:] = 1.0
        return np.column_stack((rows, last))

    def _zero(self, z: Floats) -> Floats:
        values, _ = self._at(z[: self._n])
        return np.asarray(values[self._equal] - self._middle / self._sizes[self._equal])

    def _zero_slopes(self, z: Floats) -> Floats:
        slopes = self._at(z[: self._n])[1][self._equal]
        return np.column_stack((slopes, np.zeros((len(slopes), 1 + self._pieces))))
