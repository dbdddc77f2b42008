r"""The rows of a discrete model, with each discrete coordinate twice: a point, and its level.

The repair of a sample x asks for a design (w, y), w at levels, whose *cell* is nearest to x. Its
unknowns are the point q of the cell that is nearest, and the levels w:

.. math:: \min_{q, w} |L^{-1} (q - x)|^2 \quad\text{s.t.}\quad
   a \le r(w, q_c) \le b , \quad q_i \in \text{cell of } w_i ,

q_c the real coordinates. Here they are one vector (q, w) of n + d numbers, and the rows a feasible
set of such vectors, so that the solvers of continuous repairs can be used as they are:

==============================  ===============================================================
rows                            limits that are given with each problem
==============================  ===============================================================
bounds of real coordinates      those of the model
bounds of w (``at_levels``)     outermost levels of a node of the tree; none if w is given
bounds of q_d (``in_cells``)    ends of the cells of these levels
linear rows                     those of the model
q_d - w (``apart``)             how far cells reach from their levels; none if w is given
nonlinear rows                  those of the model
==============================  ===============================================================

If w is given it is not moved, because its part of the metric is zero: all derivatives and margins
are then those of the real coordinates alone. Otherwise its part is wide, so that moving w costs
almost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats, Integers
from archeng.model import FeasibleSet
from archeng.model.feasible_set import RowInfo, RowKind
from archeng.model.functions import FastFunction
from archeng.model.lattice import Lattice

_ONE = (0.0, 2.0)  # limits between which an equality with a sum of binaries says "exactly one"


@dataclass(frozen=True, eq=False)
class LiftedSet:
    """A discrete set, and the set of the vectors (q, w). Made by :func:`lifted`.

    Attributes
    ----------
    original, feasible_set : FeasibleSet
    lattice : Lattice
    at_levels, in_cells, apart : ndarray of int, shape (d,)
        Rows of the lifted set that belong to each discrete coordinate.
    place : ndarray of int, shape (n,)
        Where the coordinates of a design are in (q, w).
    rows : ndarray of int, shape (m,)
        Where the rows of the original set are.
    settled : ndarray of bool, shape (m,)
        Which original rows depend on discrete coordinates only.
    groups : tuple of ndarray of int
        Discrete coordinates (positions in the lattice) of which exactly one is 1, the others 0.
    """

    original: FeasibleSet
    lattice: Lattice
    feasible_set: FeasibleSet
    at_levels: Integers
    in_cells: Integers
    apart: Integers
    place: Integers
    rows: Integers
    settled: NDArray[np.bool_]
    groups: tuple[Integers, ...]

    @property
    def n(self) -> int:
        """Number of coordinates of a design."""
        return self.original.n

    def point(self, q: Floats, design: Floats) -> Floats:
        """Return (q, w) of a point q (n,) and the levels of a design (n,)."""
        return np.concatenate((q, design[self.lattice.positions]))

    def design(self, lifted: Floats) -> Floats:
        """Return the design (n,) of a vector (q, w)."""
        return lifted[self.place]

    def distribution(self, distribution: Distribution, width: Floats) -> Distribution:
        """Return the metric of (q, w), with standard deviations (d,) of w; 0: not to be moved."""
        n, sigma = self.n, distribution.sigma
        factor, inverse = np.zeros((2, n + len(width), n + len(width)))
        factor[:n, :n], inverse[:n, :n] = distribution.factor, distribution.inverse_factor
        levels = np.arange(n, n + len(width))
        factor[levels, levels] = width / sigma
        inverse[levels, levels] = np.divide(sigma, width, out=np.zeros(len(width)), where=width > 0)
        mean = self.point(distribution.mean, self.lattice.decode(distribution.mean))
        return Distribution(mean, sigma, factor, inverse)

    def settled_rows_hold(self, design: Floats) -> bool:
        """Whether the rows of discrete coordinates only hold at a design (n,)."""
        if not self._any_settled:
            return True
        fs, values = self.original, self.original.values(design)
        holds = (values >= fs.least) & (values <= fs.most)
        return bool(holds[self.settled].all())

    @cached_property
    def _any_settled(self) -> bool:
        return bool(self.settled[len(self.original.bounded) :].any())

    @cached_property
    def original_rows(self) -> dict[int, int]:
        """The original row of each row of the lifted set that has one."""
        return {int(k): j for j, k in enumerate(self.rows)}


def lifted(fs: FeasibleSet) -> LiftedSet:
    """Lift a set with discrete coordinates."""
    lattice = fs.lattice
    assert lattice is not None
    n, d, positions = fs.n, len(lattice.positions), lattice.positions
    m_b, m_l, m_n = len(fs.bounded), fs.n_linear, fs.n_nonlinear
    place = np.arange(n)
    place[positions] = n + np.arange(d)
    in_cells, apart = m_b + np.arange(d), m_b + d + m_l + np.arange(d)
    rows = np.concatenate(
        (np.arange(m_b), m_b + d + np.arange(m_l), m_b + 2 * d + m_l + np.arange(m_n))
    )
    at_levels = np.array([int(np.flatnonzero(fs.bounded == i)[0]) for i in positions])
    return LiftedSet(
        original=fs,
        lattice=lattice,
        feasible_set=_set(fs, lattice, place, rows),
        at_levels=at_levels,
        in_cells=in_cells,
        apart=apart,
        place=place,
        rows=rows,
        settled=_settled(fs, lattice),
        groups=_groups(fs, lattice),
    )


def _set(fs: FeasibleSet, lattice: Lattice, place: Integers, rows: Integers) -> FeasibleSet:
    n, positions = fs.n, lattice.positions
    d, m_b, m_l, m_n = len(positions), len(fs.bounded), fs.n_linear, fs.n_nonlinear
    unlimited = np.full(fs.m + 2 * d, np.inf)
    lower, upper = -unlimited, unlimited
    lower[rows], upper[rows] = fs.lower, fs.upper
    equality = np.zeros(fs.m + 2 * d, dtype=bool)
    equality[rows] = fs.equality
    names = [fs.free_names[i] for i in positions]
    infos = (
        *fs.rows[:m_b],
        *(RowInfo(f"cell of {name}", RowKind.BOUND, False, "") for name in names),
        *fs.rows[m_b : m_b + m_l],
        *(RowInfo(f"reach of {name}", RowKind.LINEAR, False, "") for name in names),
        *fs.rows[m_b + m_l :],
    )
    constant = np.zeros((m_b + m_l + 2 * d, n + d))
    constant[rows[: m_b + m_l][:, None], place] = fs.constant_jacobian
    constant[m_b + np.arange(d), positions] = 1.0
    last = m_b + d + m_l + np.arange(d)
    constant[last, positions], constant[last, n + np.arange(d)] = 1.0, -1.0

    x, weights = ca.MX.sym("x", n + d), ca.MX.sym("w", m_n)
    design = x[place.tolist()]
    q, w = x[positions.tolist()], x[n:]
    bounds, linear, _ = ca.vertsplit(fs.all_rows.function(design), [0, m_b, m_b + m_l, fs.m])
    values, jacobian = fs.nonlinear_rows_and_jacobian.function(design)
    select = ca.DM(n, n + d)
    for i, k in enumerate(place.tolist()):
        select[i, k] = 1.0
    jacobian = ca.project(jacobian, fs.jacobian_sparsity) @ select
    hessian = fs.nonlinear_hessian.function(design, weights)
    hessian = select.T @ ca.project(hessian, fs.hessian_sparsity) @ select
    nan = np.full(n + d, np.nan)
    return FeasibleSet(
        name=fs.name,
        variables=fs.variables,
        free=np.arange(n + d),
        template=np.zeros(n + d),
        free_names=(*fs.free_names, *(f"level of {name}" for name in names)),
        rows=infos,
        lower=lower,
        upper=upper,
        equality=equality,
        bounded=np.concatenate((place[fs.bounded], positions)),
        constant_jacobian=constant,
        n_linear=m_l + d,
        n_nonlinear=m_n,
        start=nan,
        scale=nan,
        notes=(),
        all_rows=FastFunction.of("rows", [x], [ca.vertcat(bounds, q, linear, q - w, values)]),
        nonlinear_rows_and_jacobian=FastFunction.of("jacobian", [x], [values, jacobian], (1,)),
        nonlinear_hessian=FastFunction.of("hessian", [x, weights], [hessian], (0,)),
        jacobian_sparsity=jacobian.sparsity(),
        hessian_sparsity=hessian.sparsity(),
        functions=fs.functions,
    )


def _settled(fs: FeasibleSet, lattice: Lattice) -> NDArray[np.bool_]:
    """Rows (m,) that depend on discrete coordinates only."""
    touched = np.zeros((fs.m, fs.n), dtype=bool)
    touched[: fs.m - fs.n_nonlinear] = fs.constant_jacobian != 0
    row, column = fs.jacobian_sparsity.get_triplet()
    touched[fs.m - fs.n_nonlinear + np.array(row, dtype=np.intp), np.array(column, np.intp)] = True
    return np.asarray(~touched[:, lattice.continuous].any(axis=1))


def _groups(fs: FeasibleSet, lattice: Lattice) -> tuple[Integers, ...]:
    """Find linear equalities that say that exactly one of some binaries is 1."""
    binary = np.zeros(fs.n, dtype=bool)
    binary[lattice.positions] = [np.array_equal(levels, [0.0, 1.0]) for levels in lattice.levels]
    position = {int(i): j for j, i in enumerate(lattice.positions)}
    groups = []
    for j in range(len(fs.bounded), fs.m - fs.n_nonlinear):
        members = np.flatnonzero(fs.constant_jacobian[j])
        ones = np.all(fs.constant_jacobian[j, members] == 1.0) and binary[members].all()
        if not ones or len(members) < 3:
            continue
        offset = float(fs.values(np.zeros(fs.n))[j])
        low, high = fs.lower[j] - offset, fs.upper[j] - offset
        if _ONE[0] < low <= 1.0 <= high < _ONE[1]:
            groups.append(np.array([position[int(i)] for i in members], dtype=np.intp))
    return tuple(groups)
