"""The explicit constraints of a model as other optimisers want them, and two ways to judge them.

Everything is in the free variables x (n,) of the compiled model. The rows are those of the model
without the bounds, linear ones first; an equality is a two-sided row, its tolerance apart on
either side. Large rows are scaled down, because most methods compare or add violations: as in
IPOPT, a row that typically changes by more than 100 across the box is divided such that it
changes by 100.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from archeng.model import FeasibleSet, Model, compile_model
from case_studies.peers.recorder import Floats

SLACK = 1e-8
"""How far outside a limit a design of a peer may be and still count as feasible.

In units of the row, times its limit where that is larger than 1.
"""

UNDEFINED = 1e10
"""Violation of a row that has no value at a design."""

LARGE = 100.0
"""Change across the box from which a row is scaled down, IPOPT's ``nlp_scaling_max_gradient``."""

SAMPLES = 100
"""Points at which the typical size of a row is measured."""


class Constraints:
    """Rows with limits, derivatives and one-sided forms.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The compiled model.
    watch : callable, optional
        Called at every evaluation; it may raise to stop the method that evaluates.

    Attributes
    ----------
    lower, upper : ndarray, shape (n,)
        The box.
    scale : ndarray, shape (m,)
        What the rows of the model are divided by.
    row_lower, row_upper : ndarray, shape (m,)
        Limits of the rows, equalities with their tolerance.
    exact_lower, exact_upper : ndarray, shape (m,)
        The same with equal limits for equalities, for methods that know what those are.
    n_linear : int
        The first so many rows are linear.
    equalities : bool
        Whether there are any.
    """

    def __init__(self, feasible_set: FeasibleSet, watch: Callable[[], None] = lambda: None) -> None:
        fs = self._fs = feasible_set
        self._watch, self._first = watch, len(fs.bounded)
        self.lower, self.upper = fs.box()
        self.scale = row_scales(fs)
        self.row_lower = fs.lower[self._first :] / self.scale
        self.row_upper = fs.upper[self._first :] / self.scale
        self.n_linear = fs.n_linear
        self.equalities = bool(fs.equality.any())
        equal = fs.equality[self._first :]
        with np.errstate(invalid="ignore"):
            middle = (self.row_lower + self.row_upper) / 2
        self.exact_lower = np.where(equal, middle, self.row_lower)
        self.exact_upper = np.where(equal, middle, self.row_upper)
        self._above = np.isfinite(self.row_upper)
        self._below = np.isfinite(self.row_lower)

    @property
    def m(self) -> int:
        """Return the number of rows."""
        return len(self.row_lower)

    def values(self, x: Floats) -> Floats:
        """Values (m,) of the rows; a row that is undefined counts as far outside."""
        self._watch()
        values = self._fs.values(np.asarray(x, dtype=float))[self._first :] / self.scale
        outside = np.where(self._above, self.row_upper + UNDEFINED, self.row_lower - UNDEFINED)
        return np.where(np.isfinite(values), values, outside)

    def jacobian(self, x: Floats) -> Floats:
        """Gradients (m, n) of the rows, from CasADi; 0 where undefined."""
        self._watch()
        _, jacobian = self._fs.values_and_jacobian(np.asarray(x, dtype=float))
        scaled = jacobian[self._first :] / self.scale[:, None]
        return np.nan_to_num(scaled, posinf=0.0, neginf=0.0)

    def hessian(self, x: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) of the weighted sum of the rows; weights (m,). 0 where undefined."""
        self._watch()
        padded = np.concatenate((np.zeros(self._first), weights / self.scale))
        hessian = self._fs.hessian(np.asarray(x, dtype=float), padded)
        return np.nan_to_num(hessian, posinf=0.0, neginf=0.0)

    def linear_part(self) -> tuple[Floats, Floats]:
        """Matrix (k, n) and constants (k,) of the linear rows."""
        rows = slice(self._first, self._first + self.n_linear)
        middle = (self.lower + self.upper) / 2
        scale = self.scale[: self.n_linear]
        matrix = self._fs.constant_jacobian[rows] / scale[:, None]
        return matrix, self._fs.values(middle)[rows] / scale - matrix @ middle

    def excess(self, x: Floats) -> Floats:
        """One-sided rows: at most 0 where satisfied. Two-sided rows give two of them."""
        values = self.values(x)
        return np.concatenate(
            (
                (values - self.row_upper)[self._above],
                (self.row_lower - values)[self._below],
            )
        )

    @property
    def n_excess(self) -> int:
        """Return the number of one-sided rows."""
        return int(self._above.sum() + self._below.sum())


def row_scales(feasible_set: FeasibleSet) -> Floats:
    """Return what each row (m,) is divided by: 1 for rows that are not large."""
    return np.maximum(1.0, typical_changes(feasible_set) / LARGE)


def typical_changes(feasible_set: FeasibleSet) -> Floats:
    """Median change (m,) of each row across the box: the gradient times the width of the box.

    The points are random, but always the same. 1 for a row without a finite, positive one.
    """
    low, high = feasible_set.box()
    first, rng = len(feasible_set.bounded), np.random.default_rng(0)
    changes = []
    with np.errstate(all="ignore"):
        for _ in range(SAMPLES):
            _, jacobian = feasible_set.values_and_jacobian(rng.uniform(low, high))
            changes.append(np.linalg.norm(jacobian[first:] * (high - low), axis=1))
        table = np.array(changes)
        table[~np.isfinite(table)] = np.nan
        known = np.isfinite(table).any(axis=0)
        medians = np.ones(table.shape[1])
        medians[known] = np.nanmedian(table[:, known], axis=0)
    return np.where(medians > 0, medians, 1.0)


def within_slack(feasible_set: FeasibleSet) -> Callable[[Floats], bool]:
    """Return the judge of the peers: no row and no bound violated by more than `SLACK`."""
    limits = np.abs(np.array([feasible_set.lower, feasible_set.upper]))
    largest = np.where(np.isfinite(limits), limits, 0.0).max(axis=0)
    most = SLACK * np.maximum(1.0, np.where(feasible_set.equality, 1.0, largest))
    return lambda x: bool((feasible_set.violations(x) <= most).all())


def exactly(feasible_set: FeasibleSet) -> Callable[[Floats], bool]:
    """Return the judge of archeng: every row and bound holds in floating point."""
    return feasible_set.is_feasible


def strict_model(model: Model, tolerance: float = 1e-6) -> Model:
    """Return a copy of a model of SX symbols with this tolerance for all equalities."""
    copy = same_variables(model)
    copy.add_constraints([replace(c, tolerance=tolerance) for c in model.constraints])
    return copy


def same_variables(model: Model) -> Model:
    """Return a model with the variables of another one (of SX symbols), and nothing else."""
    copy, symbols, done = Model(model.name), model.symbols, 0
    for variable in model.variables:
        rows, columns = {0: (1, 1), 1: (*variable.shape, 1)}.get(
            len(variable.shape), variable.shape
        )
        piece = symbols[done : done + variable.size]
        copy.add(ca.reshape(piece, rows, columns), variable)
        done += variable.size
    return copy


def compiled(model: Model) -> FeasibleSet:
    """Compile a model; every variable needs two bounds, as most peers demand."""
    fs = compile_model(model)
    low, high = fs.box()
    if not np.isfinite(np.concatenate((low, high))).all():
        raise ValueError(f"Model {model.name!r}: every variable needs two finite bounds.")
    return fs
