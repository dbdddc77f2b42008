r"""Minimising models over the real coordinates, with the discrete ones held at levels.

.. math:: \min_{w, t \ge 0} \; s(x_0 + F w) + W t \quad\text{s.t.}\quad
          a_j \le r_j(x_0 + F w) \le b_j, \; c_i(x_0 + F w) \le t ,

with the models s of the objective and c of the simulated constraints. SciPy's SLSQP [K88] solves
it; the multipliers say which neighbours on the lattice may be better
(:mod:`archeng.surrogate.mixed.moves`). With other coordinates let loose it is the relaxation.

[K88] see :mod:`archeng.surrogate.constrained`.

==========  ==========================================================  ===================
symbol      meaning                                                     name here
==========  ==========================================================  ===================
x_0         a design, shape (n,)                                        ``x``
F           factor of the initial distribution, real part (n, k)        ``steps``
w, t        step and largest violation by the models                    ``w``
r, a, b     explicit rows and their limits, shape (m,)                  ``rows``
==========  ==========================================================  ===================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from archeng.distribution import Distribution, Floats, Integers
from archeng.model import FeasibleSet
from archeng.surrogate.geometry import optimizers
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.fitted import MixedModels

Prices = tuple[Floats, Floats]  # multipliers of the rows (m,), signed, and of the sides


class Effort(NamedTuple):
    """Iterations and accuracy of SciPy's SLSQP."""

    iterations: int
    accuracy: float


QUICK = Effort(*c.QUICK)
PRECISE = Effort(*c.PRECISE)


@dataclass(frozen=True, eq=False)
class Found:
    """A design (n,) with what the models say of it."""

    x: Floats
    objective: float  # by the model
    violation: float  # largest one of the explicit rows, as a distance, and of the models' sides
    explicit: float  # of the explicit rows alone
    prices: Prices | None = None

    @property
    def feasible(self) -> bool:
        """Whether all rows hold, but for what a repair takes away."""
        return self.violation <= c.SATISFIED

    def better_than(self, other: Found, least: float = 0.0) -> bool:
        """Whether it is: by the violation first, then by the objective."""
        if self.feasible != other.feasible:
            return self.feasible
        if not self.feasible:
            return self.violation < (1 - c.SATISFIED) * other.violation
        return self.objective < other.objective - least


class Fibres:
    """Minimises models over some coordinates of designs, with the others held."""

    def __init__(
        self, fs: FeasibleSet, wide: Distribution, models: MixedModels, radius: float = np.inf
    ) -> None:
        assert fs.lattice is not None
        self.fs, self.models, self.radius = fs, models, radius
        self.factor = wide.scaled_factor
        self.real = fs.lattice.continuous
        self.centre = models.models.frame.design(np.zeros(models.features.size))
        self._levels = fs.lattice.indices(self.centre)
        self._deviations = np.sqrt(np.sum(wide.scaled_factor**2, axis=1))
        _, jacobian = fs.values_and_jacobian(self.centre)
        with np.errstate(invalid="ignore", over="ignore"):
            sizes = np.linalg.norm(jacobian @ self.factor, axis=1)
        self.sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
        self.weight = c.WEIGHT * models.models.steepness
        self.equal = fs.equality
        self.low = np.isfinite(fs.lower) & ~fs.equality
        self.high = np.isfinite(fs.upper) & ~fs.equality

    def near(self, X: Floats) -> Floats:
        """Return those of designs (k, n) that are within the radius, or one level apart, each."""
        lattice = self.fs.lattice
        assert lattice is not None
        if not len(X) or np.isinf(self.radius):
            return X
        far = np.abs(X - self.centre) > self.radius * self._deviations
        far[:, lattice.positions] &= np.abs(lattice.indices(X) - self._levels) > 1
        far[:, lattice.categories] = False
        return np.asarray(X[~far.any(axis=1)])

    def at(self, x: Floats) -> Found:
        """Return what there is to know about a design as it is."""
        return self.all_at(x[None])[0]

    def all_at(self, X: Floats) -> list[Found]:
        """Return what there is to know about designs (k, n) as they are."""
        fs, objectives = self.fs, self.models.objectives(X)
        values = np.array([fs.values(x) for x in X]).reshape(len(X), fs.m)
        with np.errstate(over="ignore"):
            explicit = (fs.violations_of(values) / self.sizes).max(axis=1, initial=0.0)
        objectives = np.where(np.isfinite(objectives), objectives, np.inf)
        if not len(self.models.margins):
            return [
                Found(x, f, e, e)
                for x, f, e in zip(X, objectives.tolist(), explicit.tolist(), strict=True)
            ]
        simulated = self.models.excesses(X).max(axis=1, initial=0.0)
        worst = np.fmax(explicit, simulated)
        columns = (v.tolist() for v in (objectives, worst, explicit))
        return [Found(x, f, w, e) for x, f, w, e in zip(X, *columns, strict=True)]

    def lagrangian(self, X: Floats, prices: Prices) -> Floats:
        """Return objective plus priced rows (k,) at designs (k, n): low where it may pay."""
        rows, sides = prices
        values = self.models.objectives(X)
        limits = np.where(rows > 0, self.fs.upper, self.fs.lower)
        active = np.flatnonzero(rows)
        for k, x in enumerate(X):
            gaps = self.fs.values(x)[active] - limits[active]
            values[k] += float(rows[active] @ gaps)
        if len(sides):
            values += self.models.excesses(X) @ sides
        return np.where(np.isfinite(values), values, np.inf)

    def solve(self, x: Floats, free: Integers | None = None, effort: Effort = QUICK) -> Found:
        """Return the best design with the coordinates ``free``, by default the real ones, free."""
        free = self.real if free is None else free
        if not len(free):
            return self.at(x)
        problem = _Problem(self, x, free)
        if problem.hopeless:
            return self.at(x)
        y, prices = problem.solve(effort)
        return replace(self.at(y), prices=prices)


class _Problem:
    """The problem above as functions of (w, t) for SLSQP; the last point is remembered."""

    def __init__(self, fibres: Fibres, x: Floats, free: Integers) -> None:
        self._f, self._x = fibres, x
        self._steps = np.zeros((len(x), len(free)))
        self._steps[free] = fibres.factor[np.ix_(free, free)]
        offset = (fibres.centre - x)[free]
        self._centre = np.linalg.solve(fibres.factor[np.ix_(free, free)], offset)
        self._along = fibres.models.features.along(self._steps)
        self._n, self._sides = len(free), len(fibres.models.excess(x))
        self._t = 1 if self._sides else 0
        self._seen: tuple[bytes, tuple[Floats, ...]] = (b"", ())
        values, slopes = self._at(np.zeros(self._n))[:2]
        flat = (np.abs(slopes) <= np.finfo(float).tiny).all(axis=1) & np.isfinite(values)
        fs = fibres.fs
        outside = fs.violations_of(values * fibres.sizes) / fibres.sizes > c.SATISFIED
        self.hopeless = bool((flat & outside).any())
        self._low, self._high = fibres.low & ~flat, fibres.high & ~flat
        self._equal = fibres.equal & ~flat
        middle = np.where(fs.equality, (fs.lower + fs.upper) / 2, 0.0)
        self._middle = (middle / fibres.sizes)[self._equal]
        self._lower, self._upper = fs.lower / fibres.sizes, fs.upper / fibres.sizes
        steep = float(np.linalg.norm(self._at(np.zeros(self._n))[3]))
        self._unit = steep if 0 < steep < np.inf else 1.0

    def solve(self, effort: Effort) -> tuple[Floats, Prices]:
        """Return the design where SLSQP ends, and the multipliers."""
        z = np.zeros(self._n + self._t)
        z[: self._n] = np.clip(0.0, self._centre - self._f.radius, self._centre + self._f.radius)
        if self._t:
            z[-1] = max(float(self._f.models.excess(self._x).max()), 0.0)
        constraints = [{"type": "ineq", "fun": self._above, "jac": self._above_slopes}]
        if self._equal.any():
            constraints.append({"type": "eq", "fun": self._zero, "jac": self._zero_slopes})
        w, radius = self._centre, self._f.radius
        bounds = [(a - radius, a + radius) for a in w.tolist()] + [(0.0, np.inf)] * self._t
        with np.errstate(all="ignore"):
            solved = optimizers().minimize(
                self._objective,
                z,
                jac=self._objective_slope,
                constraints=constraints,
                bounds=bounds,
                method="SLSQP",
                options={"maxiter": effort.iterations, "ftol": effort.accuracy},
            )
        w = np.asarray(solved.x[: self._n], dtype=float)
        w = w if np.all(np.isfinite(w)) else np.zeros(self._n)
        low, high = self._f.fs.bounds
        y = np.clip(self._x + self._steps @ w, low, high)
        return y, self._prices(np.asarray(solved.multipliers, dtype=float))

    def _prices(self, multipliers: Floats) -> Prices:
        """Return the multipliers in units of rows and sides."""
        prices = np.nan_to_num(multipliers, nan=0.0, posinf=0.0, neginf=0.0)
        prices = np.clip(prices, -c.WEIGHT_MULTIPLIER, c.WEIGHT_MULTIPLIER) * self._unit
        rows, sizes = np.zeros(self._f.fs.m), self._f.sizes
        k = int(self._equal.sum())
        rows[self._equal] = -prices[:k] / sizes[self._equal]
        low, high = int(self._low.sum()), int(self._high.sum())
        rows[self._low] -= prices[k : k + low] / sizes[self._low]
        rows[self._high] += prices[k + low : k + low + high] / sizes[self._high]
        return rows, prices[k + low + high : k + low + high + self._sides]

    def _at(self, w: Floats) -> tuple[Floats, ...]:
        """Rows over sizes and slopes, objective's value and slope, sides and slopes."""
        key = w.tobytes()
        if self._seen[0] != key or not self._seen[1]:
            f, x = self._f, self._x + self._steps @ w
            values, jacobian = f.fs.values_and_jacobian(x)
            with np.errstate(all="ignore"):
                slopes = np.nan_to_num(
                    (jacobian @ self._steps) / f.sizes[:, None], posinf=0.0, neginf=0.0
                )
            parts = values / f.sizes, slopes, *f.models.local(x, self._along)
            self._seen = key, parts
        return self._seen[1]

    def _objective(self, z: Floats) -> float:
        value = float(self._at(z[: self._n])[2]) / self._unit
        return value + (self._f.weight / self._unit * float(z[-1]) if self._t else 0.0)

    def _objective_slope(self, z: Floats) -> Floats:
        slope = self._at(z[: self._n])[3] / self._unit
        return np.append(slope, self._f.weight / self._unit) if self._t else slope

    def _above(self, z: Floats) -> Floats:
        values, *_, sides, _ = self._at(z[: self._n])
        explicit = (
            values[self._low] - self._lower[self._low],
            self._upper[self._high] - values[self._high],
        )
        return np.concatenate((*explicit, z[-1] - sides)) if self._t else np.concatenate(explicit)

    def _above_slopes(self, z: Floats) -> Floats:
        _, slopes, *_, sides = self._at(z[: self._n])
        explicit = np.concatenate((slopes[self._low], -slopes[self._high]))
        if not self._t:
            return explicit
        rows = np.concatenate((explicit, -sides))
        last = np.zeros(len(rows))
        last[len(explicit) :] = 1.0
        return np.column_stack((rows, last))

    def _zero(self, z: Floats) -> Floats:
        return np.asarray(self._at(z[: self._n])[0][self._equal] - self._middle)

    def _zero_slopes(self, z: Floats) -> Floats:
        slopes = self._at(z[: self._n])[1][self._equal]
        return np.column_stack((slopes, np.zeros(len(slopes)))) if self._t else slopes
