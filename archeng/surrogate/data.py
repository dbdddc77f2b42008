"""The designs that a model is fitted to: near the best one, well spread, in scaled coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats, Integers
from archeng.model import Formulas
from archeng.outcomes import Lessons, Limits, PastCalls, Teacher
from archeng.ranking import violation_order
from archeng.surrogate import constants as c
from archeng.surrogate.composite import CompositeFit, fit_composite
from archeng.surrogate.fit import Kernels


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u = F^{-1} (x - centre), in which lengths are measured."""

    centre: Floats  # (n,)
    factor: Floats  # (n, n), or its diagonal (n,) where models are of many variables
    inverse: Floats  # of the factor

    def coordinates(self, x: Floats) -> Floats:
        """U of a design (n,) or of designs (k, n)."""
        return self._lengths(x - self.centre)

    def design(self, u: Floats) -> Floats:
        """X of coordinates (n,)."""
        return self.centre + (self.factor * u if self.factor.ndim == 1 else self.factor @ u)

    def designs(self, points: Floats) -> Floats:
        """Return the designs (k, n) of points (k, n): they are designs."""
        return points

    def distance(self, x: Floats) -> float:
        """Length of u."""
        return float(np.linalg.norm(self.coordinates(x)))

    def nearest(self, x: Floats, points: Floats) -> float:
        """Return the distance of a design (n,) from the nearest of some points (k, n)."""
        gaps = self._lengths(points - x)
        return float(np.sqrt(np.min(np.sum(gaps**2, axis=1))))

    def _lengths(self, d: Floats) -> Floats:
        return d * self.inverse if self.inverse.ndim == 1 else d @ self.inverse.T

    def metric(self, deviation: float = 1.0) -> Distribution:
        """Return the metric of repairs in this frame, as a distribution."""
        return Distribution(self.centre, deviation, self.factor, self.inverse)


def frame_at(wide: Distribution, centre: Floats) -> Frame:
    """Return the frame of the initial search distribution around a design (n,)."""
    return Frame(centre, wide.scaled_factor, wide.inverse_factor / wide.sigma)


@dataclass(frozen=True, eq=False)
class OutputData:
    """What the simulator returned for the same designs."""

    formulas: Formulas
    X: Floats  # designs (p, n)
    Z: Floats  # outputs (p, q)
    step: Floats  # design per unit of v, (n, n)
    slopes: Floats | None = None  # of the outputs (p, q, n), NaN where not given; None: nowhere
    lessons: Lessons | None = None  # the nearest ones of earlier runs

    def taken(self, chosen: NDArray[np.bool_]) -> OutputData:
        """Return some of them."""
        slopes = None if self.slopes is None else self.slopes[chosen]
        return replace(self, X=self.X[chosen], Z=self.Z[chosen], slopes=slopes)


@dataclass(frozen=True, eq=False)
class Data:
    """Designs around the centre of a frame, scaled for a model."""

    A: Floats  # coordinates v = u / scale (p, n); `select` puts the centre first
    y: Floats  # objectives (f - best) / spread (p,): 0 at the best, 1 at the median
    scale: float  # length of u that is one in v
    best: float
    spread: float
    simulated: Floats  # values of the simulated constraints (p, m)
    outputs: OutputData | None = None  # of models with formulas
    teachers: tuple[Teacher, ...] = ()  # the nearest rows of others; their points are v, too
    own: int | None = None  # how many of the rows, the first ones, are ours; None: all
    wide: bool = False  # whether models in many variables are fitted

    @cached_property
    def kernels(self) -> Kernels:
        """Kernel matrices of the designs."""
        return Kernels(self.A)

    @cached_property
    def composite(self) -> CompositeFit | None:
        """Models of the outputs; None if the model has none."""
        o = self.outputs
        if o is None:
            return None
        if o.lessons is None:
            return fit_composite(o.formulas, self.kernels, o.X, o.Z, o.step, o.slopes)
        lessons = o.lessons
        inverse = np.linalg.pinv(o.step)
        taught = np.column_stack(((lessons.points - o.X[0]) @ inverse.T, lessons.apart))
        own = np.column_stack((self.A, np.zeros((len(self.A), lessons.apart.shape[1]))))
        kernels = Kernels(np.concatenate((own, taught)))
        return fit_composite(
            o.formulas, kernels, o.X, o.Z, o.step, taught=(lessons.points, lessons.outputs)
        )

    def trimmed(self, warning: NDArray[np.bool_] | None = None) -> Data:
        """Return the better two thirds: without what may lie beyond a cliff of the objective.

        Of others, ``warning`` (p,), it is known only that they are as bad as the worst of these.
        """
        most = float(np.quantile(self.y, c.DATA_TRIMMED))
        good = self.y <= most
        if warning is not None:
            good = good | warning
        return replace(
            self,
            A=self.A[good],
            y=np.minimum(self.y[good], most),
            simulated=self.simulated[good],
            outputs=None if self.outputs is None else self.outputs.taken(good),
        )

    def taken(self, chosen: NDArray[np.bool_]) -> Data:
        """Return some of the designs, the centre among them, normalised anew."""
        y = self.y[chosen]
        spread = _median(y) or float(y.max()) or 1.0
        return replace(
            self,
            A=self.A[chosen],
            y=y / spread,
            spread=self.spread * spread,
            simulated=self.simulated[chosen],
        )

    def along(self, axes: Floats) -> Data:
        """Return the same designs in coordinates along orthonormal axes (k, n)."""
        outputs = self.outputs
        if outputs is not None:
            outputs = replace(outputs, step=outputs.step @ axes.T)
        return replace(self, A=self.A @ axes.T, outputs=outputs)


def select(
    frame: Frame,
    past: PastCalls,
    formulas: Formulas | None = None,
    most: int | None = None,
    taught: bool = False,
    wide: bool = False,
) -> Data | None:
    """Take the nearest designs to the centre, nearly coincident ones once, not too many.

    ``taught``: teachers may help with the models; ``wide``: if there are neither these nor
    formulas, models in many variables are fitted, to more designs. None if neither the objectives
    nor the simulated constraints differ.
    """
    usable = np.abs(past.objectives) < c.DATA_HUGE  # not NaN either
    if not usable.any():
        return None
    u, f = frame.coordinates(past.points[usable]), past.objectives[usable]
    distances = np.sqrt(np.sum(u**2, axis=1))
    informative = _informative(distances, f)
    u, f, distances = u[informative], f[informative], distances[informative]
    n = u.shape[1]
    wide = wide and are_many(n, formulas, past)
    if wide:
        most = most or most_designs_in_many(n)
    chosen = _net(u, distances, most or most_designs(n), c.WIDE_NET if wide else 2.0)
    f, u = f[chosen], u[chosen]
    taken = past.taken(np.flatnonzero(usable)[informative][chosen])
    simulated = taken.simulated
    lessons = None if formulas is None else _nearest_lessons(frame, past.lessons)
    best, spread = float(f.min()), spread_of(f)
    if spread <= 0 and (lessons is not None or np.ptp(simulated, axis=0).any()):
        spread = max(abs(best), 1.0) if lessons is not None else 1.0
    teachers = _nearest_rows(frame, past) if taught else ()
    if spread <= 0:
        spread = max((_spread_of(teacher) for teacher in teachers), default=0.0)
    scale = _median(distances[chosen])
    if scale == 0 and teachers:
        scale = max(_median(np.linalg.norm(t.points, axis=1)) for t in teachers)
    if scale == 0 and lessons is not None:
        scale = _median(np.sqrt(np.sum(frame.coordinates(lessons.points) ** 2, axis=1)))
    if not (spread > 0 and scale > 0 and np.isfinite(spread)):
        return None
    outputs = None
    if formulas is not None:
        step = scale * frame.factor
        X = frame.designs(taken.points)
        outputs = OutputData(formulas, X, taken.outputs, step, taken.slopes, lessons)
    teachers = tuple(replace(t, points=t.points / scale) for t in teachers)
    A, y = u / scale, (f - best) / spread
    return Data(A, y, scale, best, spread, simulated, outputs, teachers, wide=wide)


def _nearest_rows(frame: Frame, past: PastCalls) -> tuple[Teacher, ...]:
    """Return the rows of teachers that are nearest to the centre, their points as coordinates."""
    found = []
    for teacher in past.teachers:
        u, m = frame.coordinates(teacher.points), past.simulated.shape[1]
        most = max(most_designs(u.shape[1]), c.TEACHER_ROWS)
        nearest = _net(u, np.linalg.norm(u, axis=1), most)
        rows = teacher.taken(nearest)
        simulated = rows.simulated if rows.simulated.size else np.full((len(rows), m), np.nan)
        found.append(replace(rows, points=u[nearest], simulated=simulated))
    return tuple(found)


def _spread_of(teacher: Teacher) -> float:
    """Return how far the objectives of a teacher are above its best one; 0 if they are unknown."""
    f = teacher.objectives[np.abs(teacher.objectives) < c.DATA_HUGE]
    return _median(f) - float(f.min()) if len(f) else 0.0


def _nearest_lessons(frame: Frame, lessons: Lessons | None) -> Lessons | None:
    """Return those lessons that are nearest to the centre, in design and parameters."""
    if lessons is None:
        return None
    lengths = np.sum(frame.coordinates(lessons.points) ** 2, axis=1)
    lengths = lengths + np.sum(lessons.apart**2, axis=1)
    nearest = np.argsort(lengths, kind="stable")[: most_designs(lessons.points.shape[1])]
    return Lessons(lessons.points[nearest], lessons.outputs[nearest], lessons.apart[nearest])


def best_position(past: PastCalls, limits: Limits, begin: int = 0) -> int | None:
    """Position of the best design since a call: the least violating one if all violate."""
    usable = np.flatnonzero(np.isfinite(past.objectives[begin:])) + begin
    if len(usable) == 0:
        return None
    violations = limits.violations(past.simulated[usable])
    return int(usable[violation_order(past.objectives[usable], violations)[0]])


def slopes_known(centre: Floats, past: PastCalls, formulas: Formulas | None) -> bool:
    """Whether the simulator gave all slopes at a known design (n,) that matter.

    Then designs around it say nothing new about them.
    """
    if past.slopes is None or formulas is None or not formulas.objective:
        return False
    here = int(np.argmin(np.sum((past.points - centre) ** 2, axis=1)))
    used = formulas.uses.any(axis=0)
    complete = len(formulas.rows) == past.simulated.shape[1]
    return complete and bool(np.isfinite(past.slopes[here][used]).all())


def _median(a: Floats) -> float:
    """Median of a few numbers, sooner than NumPy's."""
    ordered, half = np.sort(a), len(a) // 2
    return float(ordered[half] if len(a) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _informative(distances: Floats, f: Floats) -> NDArray[np.bool_]:
    """Whether designs (p,) are to be used: not those next to the centre that differ by rounding.

    A search that has arrived piles up designs there; a model fitted to their rounding errors would
    promise gains for ever.
    """
    centre = int(np.argmin(distances))
    blurred = is_rounding(distances, f, float(f[centre]))
    blurred[centre] = False
    return np.asarray(np.logical_not(blurred), dtype=np.bool_)


def is_rounding(distances: Any, f: Any, least: float) -> Any:
    """Whether objectives at these distances from the best one, ``least``, differ by rounding."""
    return (distances < c.DATA_CLOSE) & (np.abs(f - least) <= c.DATA_ROUNDING * np.abs(least))


def spread_of(f: Floats) -> float:
    """Return how far objectives (p,) are above the best one: the median, or the worst one."""
    spread = _median(f) - float(f.min())
    return spread if spread > 0 else float(f.max() - f.min())


def are_many(n: int, formulas: Formulas | None, past: PastCalls) -> bool:
    """Whether models in many variables are fitted: without formulas and teachers."""
    return n >= c.WIDE_FROM and formulas is None and not past.teachers


def most_designs(n: int) -> int:
    """Return how many designs a model is fitted to at most.

    A fifth more than a quadratic has coefficients, as long as that is cheap.
    """
    coefficients = (n + 1) * (n + 2) // 2
    return max(2 * n + 3, min(int(c.DATA_SURPLUS * coefficients) + 2, c.DATA_MOST))


def most_designs_in_many(n: int) -> int:
    """Return how many designs a model in many variables is fitted to at most."""
    return max(2 * n + 3, min(c.WIDE_DESIGNS * n, c.WIDE_MOST))


def _net(u: Floats, distances: Floats, most: int, among: float = 2.0) -> Integers:
    """Positions of the nearest designs that keep a distance from each other.

    They are chosen from the nearest ones, ``among`` times as many.
    """
    order = np.argsort(distances, kind="stable")[: int(among * most)]
    near, lengths = u[order], distances[order] ** 2
    squared = lengths[:, None] + lengths[None, :] - 2 * (near @ near.T)
    close = squared <= c.DATA_GAP**2 * lengths  # column: too close to the row
    np.fill_diagonal(close, False)
    left_out = np.zeros(len(order), dtype=bool)
    for k in np.flatnonzero(close.any(axis=1)):
        if not left_out[k]:
            left_out[k + 1 :] |= close[k, k + 1 :]  # those farther away
    return np.asarray(order[~left_out][:most], dtype=np.intp)
