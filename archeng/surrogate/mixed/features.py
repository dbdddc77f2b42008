r"""Coordinates in which models see mixed designs.

Real and ordered coordinates are measured in deviations of the initial search distribution. A
category of k rows becomes k coordinates of which the chosen one is one and the others are zero,
and one for each of its attributes that are numbers, standardised: rows with similar attributes are
near to each other, and each may still differ by its name.

The design is a linear function of the features, :math:`x = x_0 + D (\phi - \phi_0)`, since the
number of a row is the sum of k times its k-th coordinate: formulas of designs are functions of
features as they are.

==========  ==========================================================  ===================
symbol      meaning                                                     name here
==========  ==========================================================  ===================
x           design, shape (n,)                                          ``x``
phi         features, shape (q,)                                        ``features``
D           design per unit of the features, shape (n, q)               ``decoding``
==========  ==========================================================  ===================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet, Variable
from archeng.outcomes import PastCalls
from archeng.surrogate.data import Frame


@dataclass(frozen=True, eq=False)
class FeatureFrame(Frame):
    """A frame whose points are features; ``factor`` is D, ``inverse`` the identity."""

    designed: Floats  # the design (n,) at the centre

    def design(self, u: Floats) -> Floats:
        """Design (n,) at coordinates u (q,)."""
        return self.designed + self.factor @ u

    def designs(self, points: Floats) -> Floats:
        """Designs (k, n) of features (k, q)."""
        return np.asarray(self.designed + (points - self.centre) @ self.factor.T)


class Features:
    """Turns designs into features."""

    def __init__(self, feasible_set: FeasibleSet, wide: Distribution) -> None:
        lattice = feasible_set.lattice
        assert lattice is not None
        self._numeric, n = lattice.numeric, feasible_set.n
        block = np.ix_(self._numeric, self._numeric)
        self._factor = wide.scaled_factor[block]
        self._inverse = np.linalg.inv(self._factor) if len(self._numeric) else self._factor
        self._categories = [
            (int(i), _rows(_variable_of(feasible_set, int(i)), levels))
            for i, levels, ordered in zip(
                lattice.positions, lattice.levels, lattice.ordered, strict=True
            )
            if not ordered
        ]
        self._levels = {
            int(i): levels for i, levels in zip(lattice.positions, lattice.levels, strict=True)
        }
        sizes = [rows.shape[1] for _, rows in self._categories]
        self.size = len(self._numeric) + sum(sizes)
        self.decoding = np.zeros((n, self.size))
        self.decoding[self._numeric, : len(self._numeric)] = self._factor
        first = len(self._numeric)
        for (i, _), size in zip(self._categories, sizes, strict=True):
            levels = self._levels[i]
            self.decoding[i, first : first + len(levels)] = levels
            first += size

    def of(self, X: Floats) -> Floats:
        """Features (k, q) of designs (k, n), or (q,) of one (n,)."""
        parts = [X[..., self._numeric] @ self._inverse.T]
        for i, rows in self._categories:
            parts.append(rows[np.searchsorted(self._levels[i], X[..., i])])
        return np.concatenate(parts, axis=-1)

    def along(self, steps: Floats) -> Floats:
        """Return steps (q, k) of the features for steps (n, k) of designs; categories are held."""
        along = np.zeros((self.size, steps.shape[1]))
        along[: len(self._numeric)] = self._inverse @ steps[self._numeric]
        return along

    def frame(self, x: Floats) -> FeatureFrame:
        """Return the frame around a design (n,)."""
        return FeatureFrame(self.of(x), self.decoding, np.eye(self.size), x)

    def calls(self, past: PastCalls) -> PastCalls:
        """Return past calls with features in the place of designs.

        Without slopes, which are of real variables, and without lessons of earlier runs.
        """
        teachers = tuple(replace(t, points=self.of(t.points)) for t in past.teachers)
        return replace(
            past, points=self.of(past.points), slopes=None, lessons=None, teachers=teachers
        )


def gaps(features: Features, past: PastCalls, X: Floats) -> tuple[Floats, float]:
    """Return distances (k,) of designs (k, n) from known ones, and what is usual among these."""
    known = features.of(past.points)
    between = np.linalg.norm(known[:, None] - known[None], axis=2)
    np.fill_diagonal(between, np.inf)
    usual = float(np.median(between.min(axis=1)))
    apart = np.linalg.norm(features.of(X)[:, None] - known[None], axis=2).min(axis=1)
    return apart, usual if 0 < usual < np.inf else 1.0


def _variable_of(fs: FeasibleSet, i: int) -> Variable:
    """Return the variable to which a free coordinate belongs."""
    left = int(fs.free[i])
    for variable in fs.variables:
        if left < variable.size:
            return variable
        left -= variable.size
    raise IndexError(i)


def _rows(variable: Variable, levels: Floats) -> Floats:
    """Features (k, ...) of the rows of a category: which one it is, and its attributes."""
    one_hot = np.eye(len(levels))
    table = variable.domain.table
    assert table is not None
    columns = [table.numbers(variable.name, c)[levels.astype(int)] for c in table.numeric_columns]
    varied = [c for c in columns if np.ptp(c) > 0]
    if not varied:
        return one_hot
    attributes = np.stack([(c - c.mean()) / c.std() for c in varied], axis=1)
    return np.concatenate((one_hot, attributes), axis=1)
