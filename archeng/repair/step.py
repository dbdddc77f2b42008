r"""One SQP step as a single compiled CasADi function.

From the rows and gradients at an iterate z with multipliers u (:mod:`archeng.repair.iterate`) the
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

[NW06] Nocedal and Wright 2006, doi:10.1007/978-0-387-40065-5.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.repair.iterate import (
    INFINITE,
    LARGE,
    Iterate,
    IterateFunction,
    SharedArrays,
    Symbols,
    finite_rows,
    iterate_expressions,
    scaled_limits,
)
from archeng.repair.problem import Problem

REACH = 30.0  # longest step that the quadratic program has to foresee, in deviations
WEIGHT = 10.0  # of the squares of the active rows in W, relative to its curvature
LEAST_EIGENVALUE = 0.05  # of W after reflection
CURVED = 1e-3  # norm of the curvature in W below which the active rows need no squares
SHORTEST_SQUARED = 1e-12  # squared length of a gradient that the squares of the rows divide by
_PINNED = 1  # distance of the limits of a pinned row, in deviations, at most
_INFEASIBLE = 1e-9  # violation of a linearised row, relative to the step, that is rounding
_UNSTEADY = 1e-5  # gradient of the quadratic model at a step that solves it, at most
_CONVEXIFY: Any = {
    "strategy": "eigen-reflect", "margin": LEAST_EIGENVALUE, "max_iter_eig": 500
}  # fmt: skip
QP_OPTIONS: Any = {
    "error_on_fail": False,
    "print_time": False,
    "daqp": {"primal_tol": 2e-13, "dual_tol": 1e-12},
}

StepKind = Literal["identity", "plain", "augmented", "reflected", "elastic"]


class SqpStep(NamedTuple):
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
    """The compiled step for one feasible set, from the iterate evaluated last.

    ``kind`` says how W is made convex: not at all (``plain``), by the squares of the active rows
    (``augmented``, right next to a solution), or by reflecting its negative eigenvalues
    (``reflected``, anywhere). Without multipliers of nonlinear rows W is the identity, and
    ``identity`` saves computing it; ``elastic`` does so, too, and relaxes the violated rows.
    If all rows are linear, no iterate needs to be evaluated before.
    """

    def __init__(self, feasible_set: FeasibleSet, arrays: SharedArrays, kind: StepKind) -> None:
        self._relaxed, self._reflected = kind == "elastic", kind == "reflected"
        inputs = arrays.symbols("z", "u", "shift", "price", "L", "norms", "low", "high")
        if feasible_set.is_linear:
            inputs |= arrays.symbols("x", "K", "slack")
            rows = iterate_expressions(feasible_set, inputs)
        else:
            rows = arrays.symbols("y", "c", "A", "lengths", "usable")
            inputs |= rows
        self._evaluate = arrays.connect("step", inputs, _step(feasible_set, inputs | rows, kind))
        self._shift, self._price = arrays["shift"], arrays["price"]
        self._d, self._u, self._Ad = arrays["d"], arrays["u_next"], arrays["Ad"]
        self._info = arrays["info"]

    def __call__(self, shift: Floats | float, price: float) -> SqpStep:
        """Return the step; the arguments are those of :meth:`CompiledSteps.step`."""
        self._shift[:] = shift
        self._price[:] = price
        try:
            self._evaluate()
        except RuntimeError:  # the eigenvalue iteration did not converge
            self._d[:] = np.nan
            self._info[:2] = np.inf
        infeasible, unsteady, longest, largest, slope = self._info.tolist()
        return SqpStep(
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
    return infeasible <= _INFEASIBLE * (1.0 + longest) and unsteady <= _UNSTEADY * (1.0 + price)


def _step(fs: FeasibleSet, inputs: Symbols, kind: StepKind) -> Symbols:
    """Return the step as expressions of the rows and gradients at the iterate."""
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    z, u, L, norms = inputs["z"], inputs["u"], inputs["L"], inputs["norms"]
    A, usable, shift, price = inputs["A"], inputs["usable"], inputs["shift"], inputs["price"]
    c = finite_rows(inputs["c"])
    low, high = scaled_limits(inputs)
    lba, uba = low - c - shift, high - c - shift
    keep_low = keep_high = usable
    if m_n:
        # Sides of rows that are not pinned and that no step of reasonable length can reach leave
        # the linearisation; the merit function sees them.
        reach, pinned = REACH * inputs["lengths"], high - low < _PINNED
        keep_low = ca.logic_and(usable, ca.logic_or(pinned, lba > -reach))
        keep_high = ca.logic_and(usable, ca.logic_or(pinned, uba < reach))
    lba = ca.if_else(keep_low, ca.fmax(lba, -INFINITE), -INFINITE)
    uba = ca.if_else(keep_high, ca.fmin(uba, INFINITE), INFINITE)
    W, g = ca.MX.eye(n), z
    if kind not in ("identity", "elastic"):
        curvature = fs.nonlinear_hessian.function(inputs["y"], (u / norms)[m - m_n :])
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
    length_squared = ca.fmax(ca.sum2(A * A), SHORTEST_SQUARED)
    tau = active * (size > CURVED) * WEIGHT * (1 + size) / length_squared
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
    """Iterates and steps for the repairs of one feasible set, compiled on first use.

    Parameters
    ----------
    feasible_set : FeasibleSet
    """

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        self._arrays = SharedArrays(feasible_set)
        self._steps: dict[StepKind, StepFunction] = {}
        self._iterate: IterateFunction | None = None

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        self._arrays.load(problem, lower, upper)

    def evaluate(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate the rows at z (n,) with multipliers u (m,)."""
        if self._iterate is None:
            self._iterate = IterateFunction(self._set, self._arrays)
        return self._iterate(z, u)

    def first_step(self, z: Floats) -> SqpStep:
        """Return the step from z (n,) without multipliers."""
        if self._set.is_linear:
            self._arrays["z"][:] = z
        else:
            self.evaluate(z, np.zeros(self._set.m))
        return self.step("identity")

    def step(self, kind: StepKind, *, shift: Floats | float = 0.0, price: float = 0.0) -> SqpStep:
        """Return the step from the iterate evaluated last.

        ``shift`` (m,) is added to the linearised rows (second-order correction); ``price`` is
        that of relaxing the rows, in the elastic program.
        """
        if kind not in self._steps:
            self._steps[kind] = StepFunction(self._set, self._arrays, kind)
        return self._steps[kind](shift, price)
