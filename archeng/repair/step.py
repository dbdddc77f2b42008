r"""One SQP step as a single compiled CasADi function.

At an iterate z with multipliers u the function evaluates the rows and their whitened
gradients, builds the quadratic model of the repair problem and solves it by DAQP, all without
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
from archeng.repair.problem import Problem

INFINITE = 1e30  # DAQP's own infinity
LARGE = 1e20
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

Hessian = Literal["plain", "augmented", "reflected", "none"]


class Step(NamedTuple):
    """What is known at an iterate z, and the step from there.

    Attributes
    ----------
    d, u : ndarray, shapes (n,) and (m,)
        Step and its multipliers.
    c, Ad : ndarray, shape (m,)
        Scaled rows at z, and their predicted change along the step.
    violation : float
        Sum of the scaled violations at z; infinite if a row is undefined there.
    satisfied : bool
        Every row is within its slack at z.
    residual : float
        Largest entry of z + A^T u for the multipliers given, 0 at a solution.
    unsteady : float
        Largest entry of the gradient of the quadratic model at the step, 0 if solved exactly.
    longest, largest, size : float
        Largest entries of the step, of its multipliers, and of z.
    half_squared, slope : float
        |z|^2 / 2, and its derivative along the step.
    flattest, steepest : float
        Shortest and longest scaled gradient at z of the rows with a multiplier.
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
    c: Floats
    Ad: Floats
    violation: float
    satisfied: bool
    residual: float
    unsteady: float
    longest: float
    largest: float
    size: float
    half_squared: float
    slope: float
    flattest: float
    steepest: float
    solved: bool
    relaxed: bool
    reflected: bool


class StepFunction:
    """The compiled step for one feasible set.

    ``hessian`` says how W is made convex: not at all, by the squares of the active rows
    (right next to a solution), or by reflecting its negative eigenvalues (anywhere); with
    ``none`` no step is computed, only what is known at z.
    ``elastic`` relaxes the violated rows.
    """

    def __init__(
        self, feasible_set: FeasibleSet, *, hessian: Hessian = "plain", elastic: bool = False
    ) -> None:
        self.elastic = elastic
        self._reflected = hessian == "reflected"
        function = _build(feasible_set, hessian, elastic)
        self._buffer, self._evaluate = function.buffer()
        shapes = [function.size_in(i) for i in range(function.n_in())]
        self._in = {
            function.name_in(i): np.zeros(shapes[i], order="F") for i in range(function.n_in())
        }
        self._flat: dict[str, Any] = {k: a.reshape(-1, order="F") for k, a in self._in.items()}
        self._out: dict[str, Any] = {
            function.name_out(i): np.zeros(function.size_out(i)[0]) for i in range(function.n_out())
        }
        for i, array in enumerate(self._flat.values()):
            self._buffer.set_arg(i, memoryview(array))
        for i, array in enumerate(self._out.values()):
            self._buffer.set_res(i, memoryview(array))
        self._metric: object = None

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        values = self._in
        if self._metric is not problem.metric:
            values["L"][:] = problem.metric.L
            values["K"][:] = problem.metric.constant
            self._metric = problem.metric
        flat = self._flat
        flat["x"][:] = problem.x
        flat["norms"][:] = problem.norms
        flat["slack"][:] = problem.slack
        flat["low"][:] = lower
        flat["high"][:] = upper

    def __call__(
        self,
        z: Floats,
        u: Floats,
        *,
        shift: Floats | float = 0.0,
        price: float = 0.0,
    ) -> Step:
        """Evaluate at z with multipliers u.

        ``shift`` (m,) is added to the linearised rows (second-order correction); ``price`` is
        that of relaxing the rows, in the elastic program.
        """
        flat, out = self._flat, self._out
        flat["z"][:] = z
        flat["u"][:] = u
        flat["shift"][:] = shift
        flat["price"][:] = price
        out["d"][:] = np.nan
        try:
            self._evaluate()
        except RuntimeError:  # the eigenvalue iteration did not converge
            out["info"][3:5] = np.inf
        (
            violation, excess, residual, infeasible, unsteady, longest, largest, size,
            half_squared, slope, flattest, steepest,
        ) = out["info"].tolist()  # fmt: skip
        return Step(
            out["d"].copy(),
            out["u_next"].copy(),
            out["c"].copy(),
            out["Ad"].copy(),
            violation,
            excess <= 0.0,
            residual,
            unsteady,
            longest,
            largest,
            size,
            half_squared,
            slope,
            flattest,
            steepest,
            is_solved(infeasible, unsteady, longest, price),
            self.elastic,
            self._reflected,
        )


def is_solved(infeasible: float, unsteady: float, longest: float, price: float) -> bool:
    """Whether a step solves its quadratic program; the solver's own status is not asked."""
    return infeasible <= 1e-9 * (1.0 + longest) and unsteady <= 1e-5 * (1.0 + price)


def _build(fs: FeasibleSet, hessian: Hessian, elastic: bool) -> Any:
    """Build the function (z, u, shift, price; x, L, K, norms, slack, low, high) -> step."""
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    z, u, shift = ca.MX.sym("z", n), ca.MX.sym("u", m), ca.MX.sym("shift", m)
    price = ca.MX.sym("price")
    x, L, K = ca.MX.sym("x", n), ca.MX.sym("L", n, n), ca.MX.sym("K", m - m_n, n)
    norms, slack = ca.MX.sym("norms", m), ca.MX.sym("slack", m)
    lower, upper = ca.MX.sym("low", m), ca.MX.sym("high", m)
    low = ca.fmax(lower / norms, -INFINITE)
    high = ca.fmin(upper / norms, INFINITE)

    y = x + L @ z
    c = fs.all_rows.function(y) / norms
    gradients = K
    if m_n:
        _, jacobian = fs.nonlinear_rows_and_jacobian.function(y)
        gradients = ca.vertcat(K, ca.project(jacobian, fs.jacobian_sparsity) @ L)
    A = gradients / ca.repmat(norms, 1, n)

    # Rows that are undefined, or infinitely steep, at z leave the linearisation.
    defined = ca.fabs(c) < LARGE
    usable = ca.logic_and(defined, ca.sum2(ca.fabs(A)) < LARGE)
    if m_n:
        A = ca.if_else(ca.repmat(usable, 1, n), A, 0)
    c_safe = ca.if_else(defined, c, 0)
    outside = ca.fmax(c_safe - high, low - c_safe)
    excess = ca.fmax(outside, 0)
    violation = ca.if_else(ca.mmin(defined) > 0.5, ca.sum1(excess), ca.inf)
    outside = ca.if_else(defined, outside - slack, 1.0)

    lba, uba = low - c_safe - shift, high - c_safe - shift
    keep_low = keep_high = usable
    if m_n:
        # So do sides of rows that are not pinned and that no step of reasonable length can
        # reach; the merit function sees them.
        reach, pinned = REACH * ca.sqrt(ca.sum2(A * A)), high - low < 1
        keep_low = ca.logic_and(usable, ca.logic_or(pinned, lba > -reach))
        keep_high = ca.logic_and(usable, ca.logic_or(pinned, uba < reach))
    lba = ca.if_else(keep_low, ca.fmax(lba, -INFINITE), -INFINITE)
    uba = ca.if_else(keep_high, ca.fmin(uba, INFINITE), INFINITE)
    W, g = ca.MX.eye(n), z
    if m_n and hessian != "none":
        curvature = fs.nonlinear_hessian.function(y, (u / norms)[m - m_n :])
        bend = L.T @ curvature @ L
        bend = ca.if_else(ca.norm_fro(bend) < LARGE, bend, 0)
        W = W + bend
        if hessian == "augmented":
            tau, aim = _active_rows(u, A, lba, uba, bend)
            W = W + A.T @ (ca.repmat(tau, 1, n) * A)
            g = z - A.T @ (tau * aim)
        W = (W + W.T) / 2
        if hessian == "reflected":
            W = ca.convexify(ca.densify(W), _CONVEXIFY)
    W = ca.densify(W)

    if hessian == "none":
        d, u_next = ca.DM.zeros(n), u
    else:
        solve = _elastic_qp if elastic else _plain_qp
        d, u_next = solve(n, m, W, g, A, lba, uba, excess, price)
    Ad = A @ d
    infeasible = ca.mmax(ca.fmax(lba - Ad, Ad - uba))
    unsteady = ca.norm_inf(W @ d + g + A.T @ u_next)
    if elastic:
        infeasible = ca.MX(0)
    lengths, held = ca.sqrt(ca.sum2(A * A)), ca.fabs(u) > 0
    info = ca.vertcat(
        violation,
        ca.mmax(outside),
        ca.norm_inf(z + A.T @ u),
        infeasible,
        unsteady,
        ca.norm_inf(d),
        ca.norm_inf(u_next),
        ca.norm_inf(z),
        ca.dot(z, z) / 2,
        ca.dot(z, d),
        ca.mmin(ca.if_else(held, lengths, 1)),
        ca.mmax(ca.if_else(held, lengths, 1)),
    )
    inputs = {
        "z": z, "u": u, "shift": shift, "price": price, "x": x, "L": L, "K": K,
        "norms": norms, "slack": slack, "low": lower, "high": upper,
    }  # fmt: skip
    outputs = {"d": d, "u_next": u_next, "c": c, "Ad": Ad, "info": info}
    return ca.Function(
        "step",
        list(inputs.values()),
        [ca.densify(o) for o in outputs.values()],
        list(inputs),
        list(outputs),
    )


def _active_rows(u: Any, A: Any, lba: Any, uba: Any, bend: Any) -> tuple[Any, Any]:
    """Weights tau and right-hand sides b_S of the squares of the active rows."""
    aim = ca.if_else(u > 0, uba, lba)
    active = ca.logic_and(ca.fabs(u) > 0, ca.fabs(aim) < LARGE)
    size = ca.norm_fro(bend)
    length_squared = ca.fmax(ca.sum2(A * A), 1e-12)
    tau = active * (size > 1e-3) * WEIGHT * (1 + size) / length_squared
    return tau, ca.if_else(tau > 0, aim, 0)


def _plain_qp(
    n: int, m: int, W: Any, g: Any, A: Any, lba: Any, uba: Any, excess: Any, price: Any
) -> tuple[Any, Any]:
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
