r"""One SQP step as a single compiled CasADi function.

From what a look has found at an iterate z with multipliers u (:mod:`archeng.repair.look`) the
function builds the quadratic model of the repair problem and solves it by DAQP, all without
returning to Python in between.

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
c_j         scaled rows r_j / norm_j, shape (m,)                   ``c``
A           scaled whitened gradients, shape (m, n)                ``A``
u           multipliers of the scaled rows, shape (m,)             ``u``
W           I + sum_j u_j d2c_j, shape (n, n)                      ``W``
d           step, shape (n,)                                       ``d``
==========  =====================================================  ==============

W is indefinite where rows curve away, even next to a solution. Adding the squares of the
linearised active rows, :math:`\tau |A_S d - b_S|^2`, changes nothing on the tangent space of
those rows but makes W convex there [NW06 ch. 17]. If that is not enough, DAQP cannot factor
it, and the step is taken again with the negative eigenvalues of W reflected.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.look import (
    INFINITE,
    LARGE,
    Look,
    LookFunction,
    Memory,
    Symbols,
    finite_rows,
    looked,
    scaled_limits,
)
from archeng.repair.problem import Problem

REACH = 30.0  # longest step that the quadratic program has to foresee, in deviations
WEIGHT = 10.0  # of the squares of the active rows in W, relative to its curvature
LEAST_EIGENVALUE = 0.05  # of W after reflection
_CONVEXIFY: Any = {
    "strategy": "eigen-reflect", "margin": LEAST_EIGENVALUE, "max_iter_eig": 500
}  # fmt: skip
QP_OPTIONS: Any = {
    "error_on_fail": False,
    "print_time": False,
    "daqp": {"primal_tol": 2e-13, "dual_tol": 1e-12},
}

Kind = Literal["straight", "plain", "augmented", "reflected", "elastic"]


class Step(NamedTuple):
    """The step from an iterate z.

    Attributes
    ----------
    d, u : ndarray, shapes (n,) and (m,)
        Step and its multipliers.
    Ad : ndarray, shape (m,)
        Predicted change of the scaled rows along the step.
    unsteady : float
        Largest entry of the gradient of the quadratic model at the step, 0 if solved exactly.
    longest, largest : float
        Largest entries of the step and of its multipliers.
    slope : float
        Derivative of |z|^2 / 2 along the step.
    solved : bool
        The quadratic program was solved: the step satisfies the linearised rows (unless they
        were relaxed) and is stationary.
    relaxed : bool
        The step comes from the elastic program.
    reflected : bool
        Negative eigenvalues of W were reflected.
    """

    d: Floats
    u: Floats
    Ad: Floats
    unsteady: float
    longest: float
    largest: float
    slope: float
    solved: bool
    relaxed: bool
    reflected: bool


class StepFunction:
    """The compiled step for one feasible set, from the last look.

    ``kind`` says how W is made convex: not at all (``plain``), by the squares of the active rows
    (``augmented``, right next to a solution), or by reflecting its negative eigenvalues
    (``reflected``, anywhere). Without multipliers of nonlinear rows W is the identity, and
    ``straight`` saves computing it; ``elastic`` does so, too, and relaxes the violated rows.
    If all rows are linear, the function needs no look: it uses z as it is in the memory.
    """

    def __init__(self, feasible_set: FeasibleSet, memory: Memory, kind: Kind) -> None:
        self._memory = memory
        self._relaxed, self._reflected = kind == "elastic", kind == "reflected"
        inputs = memory.symbols("z", "u", "shift", "price", "L", "norms", "low", "high")
        if feasible_set.is_linear:
            inputs |= memory.symbols("x", "K", "slack")
            found = looked(feasible_set, inputs)
        else:
            found = memory.symbols("y", "c", "A", "lengths", "usable")
            inputs |= found
        self._evaluate = memory.connect("step", inputs, _step(feasible_set, inputs | found, kind))
        self._shift, self._price = memory["shift"], memory["price"]
        self._d, self._u, self._Ad = memory["d"], memory["u_next"], memory["Ad"]
        self._info = memory["info"]

    def __call__(self, shift: Floats | float, price: float) -> Step:
        """Return the step; the arguments are those of :meth:`CompiledSteps.step`."""
        self._shift[:] = shift
        self._price[:] = price
        try:
            self._evaluate()
        except RuntimeError:  # the eigenvalue iteration did not converge
            self._d[:] = np.nan
            self._info[:2] = np.inf
        infeasible, unsteady, longest, largest, slope = self._info.tolist()
        return Step(
            self._d.copy(),
            self._u.copy(),
            self._Ad.copy(),
            unsteady,
            longest,
            largest,
            slope,
            is_solved(infeasible, unsteady, longest, price),
            self._relaxed,
            self._reflected,
        )


def is_solved(infeasible: float, unsteady: float, longest: float, price: float) -> bool:
    """Whether a step solves its quadratic program; the solver's own status is not asked."""
    return infeasible <= 1e-9 * (1.0 + longest) and unsteady <= 1e-5 * (1.0 + price)


def _step(fs: FeasibleSet, known: Symbols, kind: Kind) -> Symbols:
    """Return the step as expressions of what is known."""
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    z, u, L, norms = known["z"], known["u"], known["L"], known["norms"]
    A, usable, shift, price = known["A"], known["usable"], known["shift"], known["price"]
    c = finite_rows(known["c"])
    low, high = scaled_limits(known)
    lba, uba = low - c - shift, high - c - shift
    keep_low = keep_high = usable
    if m_n:
        # Sides of rows that are not pinned and that no step of reasonable length can reach leave
        # the linearisation; the merit function sees them.
        reach, pinned = REACH * known["lengths"], high - low < 1
        keep_low = ca.logic_and(usable, ca.logic_or(pinned, lba > -reach))
        keep_high = ca.logic_and(usable, ca.logic_or(pinned, uba < reach))
    lba = ca.if_else(keep_low, ca.fmax(lba, -INFINITE), -INFINITE)
    uba = ca.if_else(keep_high, ca.fmin(uba, INFINITE), INFINITE)
    W, g = ca.MX.eye(n), z
    if kind not in ("straight", "elastic"):
        curvature = fs.nonlinear_hessian.function(known["y"], (u / norms)[m - m_n :])
        bend = L.T @ ca.project(curvature, fs.hessian_sparsity) @ L
        bend = ca.if_else(ca.norm_fro(bend) < LARGE, bend, 0)
        W = W + bend
        if kind == "augmented":
            tau, aim = _active_rows(u, A, lba, uba, bend)
            W = W + A.T @ (ca.repmat(tau, 1, n) * A)
            g = z - A.T @ (tau * aim)
        W = (W + W.T) / 2
        if kind == "reflected":
            W = ca.convexify(ca.densify(W), _CONVEXIFY)
    W = ca.densify(W)
    if kind == "elastic":
        excess = ca.fmax(ca.fmax(c - high, low - c), 0)
        d, u_next = _elastic_qp(n, m, W, g, A, lba, uba, excess, price)
    else:
        d, u_next = _plain_qp(n, m, W, g, A, lba, uba)
    Ad = A @ d
    infeasible = ca.mmax(ca.fmax(lba - Ad, Ad - uba))
    info = ca.vertcat(
        ca.MX(0) if kind == "elastic" else infeasible,
        ca.norm_inf(W @ d + g + (u_next.T @ A).T),
        ca.norm_inf(d),
        ca.norm_inf(u_next),
        ca.dot(z, d),
    )
    return {"d": d, "u_next": u_next, "Ad": Ad, "info": info}


def _active_rows(u: Any, A: Any, lba: Any, uba: Any, bend: Any) -> tuple[Any, Any]:
    """Weights tau and right-hand sides b_S of the squares of the active rows."""
    aim = ca.if_else(u > 0, uba, lba)
    active = ca.logic_and(ca.fabs(u) > 0, ca.fabs(aim) < LARGE)
    size = ca.norm_fro(bend)
    length_squared = ca.fmax(ca.sum2(A * A), 1e-12)
    tau = active * (size > 1e-3) * WEIGHT * (1 + size) / length_squared
    return tau, ca.if_else(tau > 0, aim, 0)


def _plain_qp(n: int, m: int, W: Any, g: Any, A: Any, lba: Any, uba: Any) -> tuple[Any, Any]:
    shapes = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(m, n)}
    qp = ca.conic("qp", "daqp", shapes, QP_OPTIONS)
    solution = qp(h=W, g=g, a=ca.densify(A), lba=lba, uba=uba, lbx=-ca.inf, ubx=ca.inf)
    return solution["x"], solution["lam_a"]


def _elastic_qp(
    n: int, m: int, W: Any, g: Any, A: Any, lba: Any, uba: Any, excess: Any, price: Any
) -> tuple[Any, Any]:
    """Relax the rows that are violated now by one common t >= 0, at a price.

    low - t <= A d <= high + t, as two one-sided rows each.
    """
    shapes = {"h": ca.Sparsity.dense(n + 1, n + 1), "a": ca.Sparsity.dense(2 * m + 1, n + 1)}
    qp = ca.conic("qp", "daqp", shapes, QP_OPTIONS)
    relax = excess > 0
    rows = ca.vertcat(
        ca.horzcat(A, relax),
        ca.horzcat(A, -relax),
        ca.horzcat(ca.MX(1, n), ca.MX(1)),
    )
    infinite = ca.DM.ones(m) * INFINITE
    solution = qp(
        h=ca.densify(ca.diagcat(W, ca.MX(1))),
        g=ca.vertcat(g, price),
        a=ca.densify(rows),
        lba=ca.vertcat(lba, -infinite, 0),
        uba=ca.vertcat(infinite, uba, INFINITE),
        lbx=-ca.inf,
        ubx=ca.inf,
    )
    return solution["x"][:n], solution["lam_a"][:m] + solution["lam_a"][m : 2 * m]


class CompiledSteps:
    """Looks and steps for the repairs of one feasible set, compiled on first use.

    Parameters
    ----------
    feasible_set : FeasibleSet
    """

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._memory = Memory(feasible_set)
        self._steps: dict[Kind, StepFunction] = {}
        self._look: LookFunction | None = None

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        self._memory.load(problem, lower, upper)

    def look(self, z: Floats, u: Floats) -> Look:
        """Look at z (n,) with multipliers u (m,)."""
        if self._look is None:
            self._look = LookFunction(self._set, self._memory)
        return self._look(z, u)

    def first_step(self, z: Floats) -> Step:
        """Return the step from z (n,) without multipliers; linear models need no look for it."""
        if self._set.is_linear:
            self._memory["z"][:] = z
        else:
            self.look(z, np.zeros(self._set.m))
        return self.step("straight")

    def step(self, kind: Kind, *, shift: Floats | float = 0.0, price: float = 0.0) -> Step:
        """Return the step from where the last look was.

        ``shift`` (m,) is added to the linearised rows (second-order correction); ``price`` is
        that of relaxing the rows, in the elastic program.
        """
        if kind not in self._steps:
            self._steps[kind] = StepFunction(self._set, self._memory, kind)
        return self._steps[kind](shift, price)
