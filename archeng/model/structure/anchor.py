r"""The first solution of the equations of a model, from the values that the engineer gave.

In this order: Newton's method for all dependent variables at once; block after block, as
flowsheets are initialised by hand; and IPOPT, for the point nearest to the given values at which
all rows hold,

.. math:: \min_x \tfrac12 |(x - x_0) / s|^2
          \quad\text{s.t.}\quad l \le x \le u, \; a \le g(x) \le b .

The last is also asked if the equations have a solution there that violates other rows: a run
begins at a feasible design if it can.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from archeng.blas import one_thread
from archeng.model.structure.dependents import Dependents, Split
from archeng.model.structure.system import RowSystem
from archeng.model.variable import Floats

logger = logging.getLogger("archeng")

_ITERATIONS = 300  # of IPOPT
_BLOCK_ITERATIONS = 30  # of Newton's method for one block
_MOST_BLOCKS = 3000  # that are solved one after the other
_CLOSE = 1e-6  # step of a block that is solved, in typical changes
_IPOPT: dict[str, Any] = {"print_level": 0, "sb": "yes", "max_iter": _ITERATIONS, "tol": 1e-9}


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of all variables (N,) and all rows (M,), and where the search begins.

    ``equality`` (M,) says which rows are meant to be equal to the middle of their limits.
    """

    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
    equality: Any
    first: Floats
    scale: Floats

    @property
    def middle(self) -> Floats:
        """What equalities are equal to, (M,)."""
        with np.errstate(invalid="ignore"):
            return np.where(self.equality, (self.row_low + self.row_high) / 2, np.nan)

    @property
    def half(self) -> Floats:
        """Tolerances of the equalities, (M,)."""
        with np.errstate(invalid="ignore"):
            return np.where(self.equality, (self.row_high - self.row_low) / 2, np.nan)

    def dependents(self, system: RowSystem, split: Split, anchor: Floats) -> Dependents:
        """Return the dependent variables of a split."""
        bounds = self.low, self.high
        return Dependents(system, split, self.middle, self.half, self.scale, anchor, bounds)

    def hold(self, x: Floats, rows: Floats) -> bool:
        """Whether every bound and row holds."""
        inside = np.all((x >= self.low) & (x <= self.high))
        return bool(inside and np.all((rows >= self.row_low) & (rows <= self.row_high)))


def find_anchor(system: RowSystem, split: Split, limits: Limits) -> Floats | None:
    """Return a point (N,) at which the equations hold, and all rows if there is one; or None."""
    solved = _solved(system, split, limits, limits.first)
    if solved is None:
        by_blocks = _by_blocks(system, split, limits)
        solved = None if by_blocks is None else _solved(system, split, limits, by_blocks)
    if solved is not None and limits.hold(solved, system.values(solved)):
        return solved
    feasible = nearest_feasible(system, limits, limits.first)
    if feasible is None and solved is not None:
        feasible = nearest_feasible(system, limits, solved)
    return solved if feasible is None else feasible


def _solved(system: RowSystem, split: Split, limits: Limits, x: Floats) -> Floats | None:
    """Solve for all dependent variables at once, beginning at x (N,)."""
    found = limits.dependents(system, split, x).start
    return None if found is None else found.x


@np.errstate(all="ignore")
def _by_blocks(system: RowSystem, split: Split, limits: Limits) -> Floats | None:
    """Solve block after block, each from the given values; None if one cannot be solved."""
    middle = limits.middle
    dependents = limits.dependents(system, split, limits.first)
    if len(dependents.blocks) > _MOST_BLOCKS:
        return None
    symbols, rows = system.symbolic
    each = ca.vertsplit(rows)
    x = limits.first.copy()
    for block in dependents.blocks:
        equations, columns = split.equations[block.rows], split.dependent[block.columns]
        g = ca.vertcat(*(each[int(j)] for j in equations))
        unknown = ca.vertcat(*(symbols[int(i)] for i in columns))
        function: Any = ca.Function("block", [symbols], [g, ca.jacobian(g, unknown)])
        if not _solve_block(function, x, columns, middle[equations], limits):
            logger.debug("block of %d equations was not solved", len(equations))
            return None
    return x


def _solve_block(function: Any, x: Floats, columns: Any, middle: Floats, limits: Limits) -> bool:
    """Newton's method for the unknowns of one block, within their bounds; x is changed."""
    scale = limits.scale[columns]
    for _ in range(_BLOCK_ITERATIONS):
        values, jacobian = (np.asarray(part.full(), dtype=float) for part in function.call([x]))
        gap = values.reshape(-1) - middle
        if not (np.all(np.isfinite(gap)) and np.all(np.isfinite(jacobian))):
            return False
        step, *_ = np.linalg.lstsq(jacobian * scale, -gap, rcond=None)
        there = np.clip(x[columns] + step * scale, limits.low[columns], limits.high[columns])
        moved = float(np.abs((there - x[columns]) / scale).max())
        x[columns] = there
        if moved <= _CLOSE:
            return float(np.abs(step).max()) <= _CLOSE
    return False


@one_thread
def nearest_feasible(system: RowSystem, limits: Limits, first: Floats) -> Floats | None:
    """Return the point nearest to ``first`` at which all rows hold, by IPOPT; None without one."""
    x, g = system.symbolic
    distance = ca.sumsqr((x - ca.DM(first)) / ca.DM(limits.scale)) / 2
    options: Any = {
        "ipopt": _IPOPT, "print_time": False, "error_on_fail": False, "show_eval_warnings": False
    }  # fmt: skip
    try:
        solver = ca.nlpsol("anchor", "ipopt", {"x": x, "f": distance, "g": g}, options)
        answer = solver(
            x0=np.clip(first, limits.low, limits.high),
            lbx=limits.low, ubx=limits.high,
            lbg=np.where(limits.equality, limits.middle, limits.row_low),
            ubg=np.where(limits.equality, limits.middle, limits.row_high),
        )  # fmt: skip
    except RuntimeError:
        return None
    one_thread.look_again()
    point = np.asarray(answer["x"], dtype=float).reshape(-1)
    good = solver.stats()["return_status"] in ("Solve_Succeeded", "Solved_To_Acceptable_Level")
    return point if good and np.all(np.isfinite(point)) else None
