r"""`FeasibleSet`: the compiled, immutable form of a model.

All constraints are **rows** :math:`l_j \le r_j(x) \le u_j` of the free variables x, in this
order: bounds (the row is the variable itself), linear rows, nonlinear rows. Equalities are
rows whose limits are the tolerance apart on either side.

Notation: n free variables, m rows in all, m_b bound rows, m_l linear, m_n nonlinear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from archeng.model.formulas import Formulas
from archeng.model.functions import FastFunction
from archeng.model.lattice import Lattice
from archeng.model.parameter_slopes import ParameterSlopes
from archeng.model.quantities import Parameter
from archeng.model.structure.whole import Choice, Whole
from archeng.model.variable import Floats, Variable

if TYPE_CHECKING:
    from archeng.model.structure.dependents import Dependents

MANY_VARIABLES = 150
"""Variables beyond which repairs use the structure of rows and metric, which is a diagonal."""
_WIDEST = 1e30  # between bounds farther apart there is no telling where to look: DAQP's infinity
_FAR = 1e-3  # typical changes between best design and anchor, from which on it is moved
_MANY = 1e6  # half a width in scales beyond which bounds say less than start and scale


class RowKind(StrEnum):
    """What a row is, detected symbolically."""

    BOUND = "bound"
    LINEAR = "linear"
    NONLINEAR = "nonlinear"


@dataclass(frozen=True)
class RowInfo:
    """Name, source line and kind of a row, for tables and messages.

    ``implied`` marks an inequality that can only hold at its limit, and so is an equality;
    ``chosen`` an equality whose tolerance the engineer gave.
    """

    name: str
    kind: RowKind
    equality: bool
    source: str
    implied: bool = False
    chosen: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.source})" if self.source else self.name


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows with their limits and exact derivatives. Made by :func:`archeng.model.compile_model`.

    Attributes
    ----------
    name : str
    variables : tuple of Variable
        As declared, fixed ones included.
    free : ndarray of int, shape (n,)
        Positions of the free variables in the full vector.
    template : ndarray, shape (n_full,)
        Full vector with the fixed values in place.
    free_names : tuple of str
    rows : tuple of RowInfo, length m
    lower, upper : ndarray, shape (m,)
        Limits of the rows, equalities already widened by their tolerance.
    equality : ndarray of bool, shape (m,)
    bounded : ndarray of int, shape (m_b,)
        Variable of each bound row.
    constant_jacobian : ndarray, shape (m_b + m_l, n)
        Gradients of the bound and linear rows.
    n_linear, n_nonlinear : int
    start, scale : ndarray, shape (n,)
        Declared start (NaN if none) and initial standard deviation of each free variable
        (NaN if it cannot be told).
    notes : tuple of str
        What compiling changed: dropped rows, merged bounds, eliminated variables.
    all_rows, nonlinear_rows_and_jacobian, nonlinear_hessian : FastFunction
        Exact CasADi functions of x, with dense results.
    jacobian_sparsity, hessian_sparsity : casadi.Sparsity
        Where the gradients of the nonlinear rows, and the Hessian of their sum, can be nonzero.
    functions : tuple
        Python functions behind the rows, kept alive. With any, the set cannot be pickled.
    formulas : Formulas or None
        Objective and constraints that are formulas of the simulator's outputs; None: it has none.
    parameters : tuple of Parameter
    lattice : Lattice or None
        Levels of the discrete variables; None if all are real. The rows are functions of real
        numbers all the same: between the rows of a table attributes are interpolated.
    conditions : FastFunction or None
        x to the conditions (m,) of the rows, 1 where they must hold; None if they always must.
        They are parts of the rows already.
    dependents : Dependents or None
        Variables that follow from the free ones by equations that are solved; None: all that are
        not fixed are free (:mod:`archeng.model.structure.reduced`).
    whole : Whole or None
        All variables and rows before that, the equations included.
    """

    name: str
    variables: tuple[Variable, ...]
    free: np.ndarray[tuple[int], np.dtype[np.intp]]
    template: Floats
    free_names: tuple[str, ...]
    rows: tuple[RowInfo, ...]
    lower: Floats
    upper: Floats
    equality: np.ndarray[tuple[int], np.dtype[np.bool_]]
    bounded: np.ndarray[tuple[int], np.dtype[np.intp]]
    constant_jacobian: Floats
    n_linear: int
    n_nonlinear: int
    start: Floats
    scale: Floats
    notes: tuple[str, ...]
    all_rows: FastFunction
    nonlinear_rows_and_jacobian: FastFunction
    nonlinear_hessian: FastFunction
    jacobian_sparsity: Any
    hessian_sparsity: Any
    functions: tuple[Any, ...] = ()
    formulas: Formulas | None = None
    parameters: tuple[Parameter, ...] = ()
    parameter_slopes: ParameterSlopes | None = None
    lattice: Lattice | None = None
    conditions: FastFunction | None = None
    dependents: Dependents | None = None
    whole: Whole | None = None

    @cached_property
    def n(self) -> int:
        """Number of free variables."""
        return len(self.free)

    @cached_property
    def m(self) -> int:
        """Number of rows, bounds included."""
        return len(self.rows)

    @cached_property
    def has_many(self) -> bool:
        """Whether there are so many real variables that repairs use the structure of the rows."""
        return self.n > MANY_VARIABLES and self.lattice is None and self.dependents is None

    @cached_property
    def is_linear(self) -> bool:
        """Whether every row is linear."""
        return self.n_nonlinear == 0

    def expand(self, x: Floats) -> Floats:
        """Full vector (..., n_full) of a free vector (..., n).

        Dependent variables are NaN where their equations have no solution.
        """
        full = np.empty((*x.shape[:-1], len(self.template)))
        full[...] = self.template
        full[..., self.free] = x
        if self.dependents is not None and self.whole is not None:
            for position in np.ndindex(x.shape[:-1]):
                full[(*position, self.whole.free)] = self.dependents.full(x[position])
        return full

    def reduce(self, full: Floats) -> Floats:
        """Free vector (n,) of a full vector (n_full,)."""
        return np.array(full[self.free], dtype=float)

    @property
    def choice(self) -> Choice | None:
        """Which variables are independent, for a journal; None if nothing is solved."""
        if self.dependents is None or self.whole is None:
            return None
        split, anchor = self.dependents.split, self.whole.expand(self.dependents.anchor)
        return Choice(self.whole.free[split.independent], split.equations, anchor)

    @cached_property
    def row_numbers(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Numbers (m,) of the rows by which records name them, whatever is independent."""
        if self.whole is None:
            return np.arange(self.m)
        number = {row.name: j for j, row in enumerate(self.whole.all_rows)}
        return np.array([number[row.name] for row in self.rows], dtype=np.intp)

    def begin_at(self, full: Floats) -> None:
        """Let solutions of the equations begin at a full vector, if they have one from there.

        Only a run calls it, when it begins and between generations.
        """
        if self.dependents is None or self.whole is None:
            return
        before = self.dependents.anchor
        self.dependents.move(full[self.whole.free])
        if self.dependents.start is None:
            self.dependents.move(before)

    def is_far(self, full: Floats) -> bool:
        """Whether a full vector is not where solutions of equations begin."""
        if self.dependents is None or self.whole is None:
            return False
        return self.dependents.distance(full[self.whole.free]) > _FAR

    def has_fixed(self, full: Floats) -> bool:
        """Whether the fixed variables of a full vector have their values."""
        fixed = np.ones(len(full), dtype=bool)
        fixed[self.free if self.whole is None else self.whole.free] = False
        return np.array_equal(full[fixed], self.template[fixed])

    @property
    def hidden(self) -> Any:
        """Positions of the dependent variables in the full vector; None if there are none."""
        if self.dependents is None or self.whole is None:
            return None
        return self.whole.free[self.dependents.columns]

    def reduce_gradient(self, full: Floats, gradient: Floats) -> Floats:
        """Return the derivatives (n,) by the free variables, given those by all (n_full,)."""
        own = np.array(gradient[self.free], dtype=float)
        if self.dependents is None or self.whole is None:
            return own
        found = self.dependents.solve(self.reduce(full))
        if found is None:
            return np.full_like(own, np.nan)
        return np.asarray(gradient[self.whole.free] @ found.slopes)

    def formulas_at(self, full: Floats, z: Floats) -> tuple[float, Floats]:
        """Objective and rows by the formulas, at a full vector with outputs z (q,)."""
        assert self.formulas is not None
        if self.whole is None or self.formulas.whole is None:
            return self.formulas.at(self.reduce(full), z)
        (values,) = self.formulas.whole(full[self.whole.free], z)
        return float(values[0]), values[1:]

    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper bound of each free variable, infinite where there is none."""
        low, high = self.bounds
        return low.copy(), high.copy()

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """The box, not to be changed."""
        low, high = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        low[self.bounded] = self.lower[: len(self.bounded)]
        high[self.bounded] = self.upper[: len(self.bounded)]
        return low, high

    @cached_property
    def boxed(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which variables (n,) have two bounds between which points are looked for.

        Where they are too far apart, points are looked for around the start instead.
        """
        low, high = self.bounds
        half = high / 2 - low / 2
        told = np.isfinite(self.start) & (half > _MANY * self.scale)
        return (half < _WIDEST / 2) & ~told

    @cached_property
    def values(self) -> Callable[[Floats], Floats]:
        """The function that gives the values (m,) of all rows at x; NaN where one is undefined."""
        return self.all_rows.single

    def values_and_jacobian(self, x: Floats) -> tuple[Floats, Floats]:
        """Values (m,) and gradients (m, n) of all rows at x."""
        values = self.values(x)
        if self.n_nonlinear == 0:
            return values, self.constant_jacobian
        _, jacobian = self.nonlinear_rows_and_jacobian(x)
        return values, np.concatenate((self.constant_jacobian, jacobian))

    def hessian(self, x: Floats, weights: Floats) -> Floats:
        r"""Hessian (n, n) of :math:`\sum_j w_j r_j(x)`; ``weights`` is (m,) over all rows."""
        (hessian,) = self.nonlinear_hessian(x, weights[self.m - self.n_nonlinear :])
        return hessian

    def shown_values(self, x: Floats) -> Floats:
        """Values (m,) of all rows at x, for tables: NaN where a condition is not met."""
        values = self.values(x)
        if self.conditions is None:
            return values
        return np.where(self.conditions.single(x) > 0, values, np.nan)

    def violations(self, x: Floats) -> Floats:
        """Violation (m,) of each row at x: 0 if satisfied, infinite where undefined.

        The bounds of a discrete variable are violated between its levels, too.
        """
        violations = self.violations_of(self.values(x))
        if self.lattice is not None:
            apart = np.zeros(self.n)
            apart[self.lattice.positions] = self.lattice.distances(x)
            k = len(self.bounded)
            violations[:k] = np.maximum(violations[:k], apart[self.bounded])
        return violations

    @property
    def rows_in_full(self) -> tuple[RowInfo, ...]:
        """Every row that a full vector has to satisfy: equations that are solved, too."""
        return self.rows if self.whole is None else self.whole.all_rows

    def violations_in_full(self, full: Floats) -> Floats | None:
        """Violation of each of :attr:`rows_in_full` at a full vector; None: a fixed one changed."""
        x = self.reduce(full)
        if self.whole is not None:
            violations = self.whole.violations(full)
            off = self.lattice is not None and not self.lattice.contains(x)
            return (
                np.full_like(violations, np.inf) if off and violations is not None else violations
            )
        return self.violations(x) if np.array_equal(self.expand(x), full) else None

    def still_holds(self, full: Floats) -> bool:
        """Whether a feasible point still is one, as a full vector.

        Solutions of equations may differ in their last digits from when it was certified.
        """
        return self.whole is None or not np.any(self.violations_in_full(full))

    def violations_of(self, values: Floats) -> Floats:
        """Violation (m,) of given row values (m,); infinite where a value is not finite."""
        finite = np.isfinite(values)
        safe = np.where(finite, values, 0.0)
        excess = np.maximum(self.lower - safe, safe - self.upper)
        return np.where(finite, np.maximum(excess, 0.0), np.inf)

    def holds(self, values: Floats) -> bool:
        """Whether all rows hold at these values (m,), exactly; not if one is not finite."""
        return bool(((values >= self.least) & (values <= self.most)).all())

    def holds_at(self, points: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether all rows hold at each of the points (k, n), with real variables only."""
        values = self.all_rows.many(points)
        return np.asarray(((values >= self.least) & (values <= self.most)).all(axis=1))

    @cached_property
    def least(self) -> Floats:
        """Lower limits (m,) with the largest float in the place of infinity."""
        return np.maximum(self.lower, -np.finfo(float).max)

    @cached_property
    def most(self) -> Floats:
        """Upper limits (m,) with the largest float in the place of infinity."""
        return np.minimum(self.upper, np.finfo(float).max)

    def rounding_noise(self, x: Floats) -> Floats:
        """Size (m,) of the rounding errors of each row at x, from the size of its terms."""
        values, jacobian = self.values_and_jacobian(x)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = np.abs(jacobian) @ np.abs(x) + np.abs(values)
        return np.where(np.isfinite(terms), terms, 0.0) * float(np.finfo(float).eps)

    def is_feasible(self, x: Floats) -> bool:
        """Whether every row holds at x exactly, in floating point, without any tolerance.

        All discrete coordinates must be at their levels.
        """
        if self.lattice is not None and not self.lattice.contains(x):
            return False
        return self.holds(self.values(x))
