r"""`Dependents`: the dependent variables as a function of the independent ones, by Newton's method.

With x = (u, v) the equations h(u, v) = c define v(u). Derivatives follow from those of the
equations and of the other rows r [NW06 ch. 15]:

.. math::
    V &= \mathrm dv/\mathrm du = -h_v^{-1} h_u , \qquad
    \mathrm dr/\mathrm du = r_u + r_v V , \\
    \nabla^2_u (w^T r) &= T^T \nabla^2_x (w^T r + \mu^T h) \, T , \qquad
    T = \mathrm dx/\mathrm du , \quad h_v^T \mu = - r_v^T w .

v(u) is a *pure* function: Newton's method always begins at the tangent of one known solution, the
*anchor*, never where it was last. So a design is the same bit for bit whoever computes it. Only
the run moves the anchor, between generations, to its best design. A step is shortened until the
next one is shorter than it, in typical changes of the variables: a test that does not depend on
the units of the equations [D04 sec. 3.3]. Where that fails and u is between its bounds, u is
approached along the line from the anchor.

==========  ====================================================  =====================
symbol      meaning                                               name here
==========  ====================================================  =====================
N, p, n     free, dependent and independent variables, N = p + n
u           independent variables, shape (n,)                     ``u``
v           dependent ones, shape (p,), in the order of blocks
h, c        equations and what they are equal to, shape (p,)
V           shape (p, n)                                          ``tangent``
T           shape (N, n)                                          ``slopes``
mu          multipliers of the equations, shape (p,)              ``adjoint``
s           typical changes of the variables, shape (N,)          ``scale``
==========  ====================================================  =====================

The equations are solved in block-triangular order by CasADi's sparse QR.

[NW06] Nocedal and Wright 2006, doi:10.1007/978-0-387-40065-5.
[D04] P. Deuflhard, Newton Methods for Nonlinear Problems, Springer, 2004,
doi:10.1007/978-3-642-23899-4.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.functions import FastFunction
from archeng.model.structure.incidence import Blocks, Indices, block_triangular
from archeng.model.structure.system import RowSystem
from archeng.model.variable import Floats

_ITERATIONS = 30  # of Newton's method
_LEAST_DAMPING = 1 / 64  # of a step, below which Newton's method fails
_SHORTER = 0.25  # share of the step taken by which the next one has to be shorter
_QUADRATIC = 1e-3  # ratio of two steps from which on convergence is known to be quadratic
_SOLVED = 1e-12  # length of the last step, in typical changes
_ROUNDING = 32 * float(np.finfo(float).eps)  # the same, relative to the variables
_SNAP = 1e-11  # distance beyond a bound, in typical changes, that is rounding
_WITHIN = 0.5  # share of its tolerance that an equation may use up
_PIECES = 16  # into which the line from the anchor is cut at most
_KEPT = 16  # points that are remembered: the same ones are asked for several things
_SOLVER = "qr"


@dataclass(frozen=True, eq=False)
class Split:
    """Which variables are dependent, and by which equations.

    Attributes
    ----------
    independent, dependent : ndarray of int, shape (n,) and (p,)
        Positions among the free variables.
    equations : ndarray of int, shape (p,)
        Rows that are solved for the dependent ones.
    """

    independent: Indices
    dependent: Indices
    equations: Indices


class Solution:
    """A point x = (u, v(u)) with all rows there (M,); derivatives when they are asked for."""

    def __init__(self, owner: Dependents, x: Floats, rows: Floats) -> None:
        self._owner, self.x, self.rows = owner, x, rows

    @cached_property
    def tangent(self) -> Floats:
        """V (p, n); NaN where the equations are singular."""
        return self._owner.tangent(self.x)

    @cached_property
    def slopes(self) -> Floats:
        """T (N, n)."""
        split = self._owner.split
        T = np.zeros((len(self.x), len(split.independent)))
        T[split.independent, np.arange(len(split.independent))] = 1.0
        T[self._owner.columns] = self.tangent
        return T

    def curvature(self, gradient: Floats, weights: Floats) -> Floats:
        """Hessian (n, n) by u of a function of x with a gradient (N,).

        Of its own second derivatives it has those of rows with ``weights`` (M,), if it is a sum
        of them; the rest is for the caller to add.
        """
        owner = self._owner
        weights = weights.copy()
        weights[owner.rows] = owner.adjoint(self.x, gradient[owner.columns])
        T = self.slopes
        return np.asarray(T.T @ (owner.system.hessian.matrix(self.x, weights) @ T))


class Dependents:
    """Solves the equations for the dependent variables.

    Parameters
    ----------
    system : RowSystem
    split : Split
    middle, half : ndarray, shape (M,)
        What equations are equal to, and their tolerance.
    scale : ndarray, shape (N,)
    anchor : ndarray, shape (N,)
        Where Newton's method begins: a point at which the equations hold, or nearly.
    bounds : pair of ndarray, shape (N,)
        Of the variables; beyond those of the independents less is done to find a solution.

    Attributes
    ----------
    blocks : Blocks
        The order in which the equations can be solved.
    rows, columns : ndarray of int, shape (p,)
        Equations and dependent variables in that order.
    about : tuple
        What it was made of, with the present anchor.
    """

    def __init__(
        self,
        system: RowSystem,
        split: Split,
        middle: Floats,
        half: Floats,
        scale: Floats,
        anchor: Floats,
        bounds: tuple[Floats, Floats],
    ) -> None:
        self.about = system, split, middle, half, scale, anchor, bounds
        self.system, self.split, self.anchor, self.scale = system, split, anchor, scale
        pattern = system.jacobian.pattern.tocsr()
        self.blocks: Blocks = block_triangular(pattern[split.equations][:, split.dependent])
        self.rows: Indices = split.equations[self.blocks.rows]
        self.columns: Indices = split.dependent[self.blocks.columns]
        self._middle, self._half = middle[self.rows], half[self.rows]
        self._scale = scale[self.columns]
        self._low, self._high = (side[split.independent] for side in bounds)
        self._least, self._most = (side[self.columns] for side in bounds)
        self._points: OrderedDict[bytes, Solution | None] = OrderedDict()

    def solve(self, u: Floats) -> Solution | None:
        """Return the solution at u (n,); None if there is none, or none was found."""
        key = u.tobytes()
        if key in self._points:
            self._points.move_to_end(key)
            return self._points[key]
        with np.errstate(all="ignore"):
            found = self._solved(u) if np.all(np.isfinite(u)) else None
        self._points[key] = found
        if len(self._points) > _KEPT:
            self._points.popitem(last=False)
        return found

    def full(self, u: Floats) -> Floats:
        """Return x (N,) at u (n,); the dependent variables are NaN if there is no solution."""
        found = self.solve(u)
        if found is not None:
            return found.x
        x = np.full(self.system.n, np.nan)
        x[self.split.independent] = u
        return x

    def move(self, anchor: Floats) -> None:
        """Begin at another solution (N,) from now on, with the same independent variables."""
        if np.array_equal(anchor, self.anchor):
            return
        self.anchor = anchor
        self.about = (*self.about[:-2], anchor, self.about[-1])
        self._points.clear()
        self.__dict__.pop("start", None)

    def distance(self, x: Floats) -> float:
        """How far the independents of x (N,) are from those of the anchor, in typical changes."""
        own = self.split.independent
        return float(np.abs((x[own] - self.anchor[own]) / self.scale[own]).max())

    @cached_property
    def start(self) -> Solution | None:
        """The solution at the anchor; None if there is none."""
        with np.errstate(all="ignore"):
            return self._newton(self.anchor.copy())

    # -- derivatives ----------------------------------------------------------------------

    def tangent(self, x: Floats) -> Floats:
        """V (p, n) at a solution x (N,); NaN if the equations are singular there."""
        (V,) = called(self._tangent, x)
        return V

    def adjoint(self, x: Floats, gradient: Floats) -> Floats:
        """Return mu (p,) at x (N,), given r_v^T w (p,) as ``gradient``."""
        (mu,) = called(self._adjoint, x, gradient)
        return mu

    @cached_property
    def equations(self) -> Any:
        """X to h - c, h_v and h_u, sparse."""
        x, g = self.system.symbolic
        h = g[self.rows.tolist()] - ca.DM(self._middle)
        v, u = x[self.columns.tolist()], x[self.split.independent.tolist()]
        return ca.Function("equations", [x], [h, ca.jacobian(h, v), ca.jacobian(h, u)])

    @cached_property
    def _step(self) -> FastFunction:
        """X to the step of Newton's method, its length, and how large rounding can be."""
        x, scale = ca.MX.sym("x", self.system.n), ca.DM(self._scale)
        gap, by_v, _ = self.equations(x)
        step = ca.solve(by_v, -gap, _SOLVER)
        size = ca.norm_inf(x[self.columns.tolist()] / scale)
        return FastFunction.of("step", [x], [step, ca.vertcat(ca.norm_inf(step / scale), size)])

    @cached_property
    def _tangent(self) -> FastFunction:
        x = ca.MX.sym("x", self.system.n)
        _, by_v, by_u = self.equations(x)
        return FastFunction.of("tangent", [x], [ca.solve(by_v, -ca.densify(by_u), _SOLVER)], (0,))

    @cached_property
    def _adjoint(self) -> FastFunction:
        x, w = ca.MX.sym("x", self.system.n), ca.MX.sym("w", len(self.rows))
        return FastFunction.of("adjoint", [x, w], [self.solved_transposed(x, -w)])

    def solved_transposed(self, x: Any, right: Any) -> Any:
        """Return h_v^-T times a right-hand side (p,), at x (N,), as an expression."""
        _, by_v, _ = self.equations(x)
        return ca.solve(by_v.T, right, _SOLVER)

    # -- Newton's method ------------------------------------------------------------------

    def _solved(self, u: Floats) -> Solution | None:
        start = self.start
        if start is None:
            return None
        if np.array_equal(u, start.x[self.split.independent]):
            return start
        found = self._from(start, u)
        if found is not None or np.any(u < self._low) or np.any(u > self._high):
            return found
        return self._along_the_line(start, u)

    def _from(self, start: Solution, u: Floats) -> Solution | None:
        """Solve at u, beginning at the tangent of a solution."""
        du = u - start.x[self.split.independent]
        x = start.x.copy()
        x[self.columns] += start.tangent @ du
        x[self.split.independent] = u
        return self._newton(x)

    def _along_the_line(self, start: Solution, u: Floats) -> Solution | None:
        """Approach u from the anchor in pieces as long as Newton's method allows."""
        first = start.x[self.split.independent]
        here, done, piece = start, 0.0, 0.25
        for _ in range(_PIECES):
            to = min(done + piece, 1.0)
            there = self._from(here, u if to == 1.0 else first + to * (u - first))
            if there is None and piece < 1 / _PIECES:
                return None
            if there is None:
                piece /= 4
            elif to == 1.0:
                return there
            else:
                here, done, piece = there, to, 2 * piece
        return None

    def _newton(self, x: Floats) -> Solution | None:
        """Newton's method for the dependent variables of x (N,), which is changed."""
        columns = self.columns
        step, length, least = self._next(x)
        expected = length
        for _ in range(_ITERATIONS):
            if not np.isfinite(length):
                return None
            if expected <= least:
                x[columns] += step
                return self._accepted(x)
            before, damping = x[columns], 1.0
            while True:
                x[columns] = before + damping * step
                next_step, next_length, least = self._next(x)
                if next_length <= max((1.0 - _SHORTER * damping) * length, least):
                    break
                damping /= 2
                if damping < _LEAST_DAMPING:
                    return None
            # Steps that have become short by a square become short by the same square again.
            ratio = next_length / length
            expected = next_length * (ratio * ratio if ratio < _QUADRATIC else 1.0)
            step, length = next_step, next_length
        return None

    def _next(self, x: Floats) -> tuple[Floats, float, float]:
        """Return the step (p,) of Newton's method from x (N,), its length, and the least length.

        The length is infinite if there is no step.
        """
        step, numbers = called(self._step, x)
        length, size = numbers.tolist()
        return step, length if math.isfinite(length) else math.inf, max(_SOLVED, _ROUNDING * size)

    def _accepted(self, x: Floats) -> Solution | None:
        """Return the solution if all equations hold well within their tolerances.

        Variables that are beyond a bound by rounding only are put onto it.
        """
        v = x[self.columns]
        inside = np.clip(v, self._least, self._most)
        x[self.columns] = np.where(np.abs(inside - v) <= _SNAP * self._scale, inside, v)
        rows = self.system.values(x)
        gap = np.abs(rows[self.rows] - self._middle)
        return Solution(self, x, rows) if np.all(gap <= _WITHIN * self._half) else None

    def __reduce__(self) -> Any:
        return Dependents, self.about


def called(function: FastFunction, *arguments: Floats) -> list[Floats]:
    """Call a function that solves linear equations; NaN if they are singular."""
    answers = function(*arguments)
    return [np.full_like(a, np.nan) for a in answers] if function.failed else answers
