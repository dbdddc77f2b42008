r"""Iterates and steps of the SQP, each a single compiled CasADi function.

An iterate z with multipliers u is *evaluated*: its rows and their whitened gradients, whether it
solves the problem and whether a search accepts it. A *step* from there builds the quadratic model
of the repair problem and solves it by DAQP. It costs several times as much, so it is computed
only where the search goes on. All functions work on the same arrays: what the first writes, the
others read.

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
y           design x + L z, shape (n,)                             ``y``
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

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.model.functions import connected
from archeng.repair.problem import Metric, Problem, RowLimits

INFINITE = 1e30  # limits beyond this are none: DAQP's own infinity
LARGE = 1e20  # scaled rows and gradients beyond this count as undefined
REACH = 30.0  # longest step that the quadratic program has to foresee, in deviations
WEIGHT = 10.0  # of the squares of the active rows in W, relative to its curvature
LEAST_EIGENVALUE = 0.05  # of W after reflection
CURVED = 1e-3  # norm of the curvature in W below which the active rows need no squares
SHORTEST_SQUARED = 1e-12  # squared length of a gradient that the squares of the rows divide by
PINNED = 1  # distance of the limits of a pinned row, in deviations, at most
_INFEASIBLE = 1e-9  # violation of a linearised row, relative to the step, that is rounding
_UNSTEADY = 1e-5  # gradient of the quadratic model at a step that solves it, at most
_CONVEXIFY: Any = {
    "strategy": "eigen-reflect", "margin": LEAST_EIGENVALUE, "max_iter_eig": 500
}  # fmt: skip
_QP_OPTIONS: Any = {
    "error_on_fail": False,
    "print_time": False,
    "daqp": {"primal_tol": 2e-13, "dual_tol": 1e-12},
}

Symbols = dict[str, Any]
StepKind = Literal["identity", "plain", "augmented", "reflected", "elastic"]


class Iterate(NamedTuple):
    """An iterate and its rows."""

    z: Floats  # whitened displacement, shape (n,)
    u: Floats  # multipliers, shape (m,)
    c: Floats  # scaled rows, shape (m,)
    violation: float  # sum of the scaled violations; infinite if a row is undefined
    satisfied: bool  # every row is within its slack
    residual: float  # largest entry of z + A^T u, 0 at a solution
    size: float  # largest entry of z
    half_squared: float  # |z|^2 / 2
    flattest: float  # shortest scaled gradient of the rows with a multiplier
    steepest: float  # longest one


class Glance(NamedTuple):
    """What the search looks at before it accepts an iterate; see `Iterate`."""

    z: Floats
    u: Floats
    c: Floats
    violation: float
    half_squared: float


class SqpStep(NamedTuple):
    """The step from an iterate z."""

    d: Floats  # shape (n,)
    u: Floats  # multipliers, shape (m,)
    Ad: Floats  # predicted change of the scaled rows along the step, shape (m,)
    unsteady: float  # largest entry of the gradient of the quadratic model, 0 if solved exactly
    longest: float  # largest entry of the step
    largest: float  # largest entry of its multipliers
    slope: float  # derivative of |z|^2 / 2 along the step
    solved: bool  # it satisfies the linearised rows (unless relaxed) and is stationary
    relaxed: bool  # it comes from the elastic program
    reflected: bool  # negative eigenvalues of W were reflected


class CompiledSteps:
    """Iterates and steps for the repairs of one feasible set, compiled on first use.

    Attributes
    ----------
    arrays : dict
        What the compiled functions read and write, by name; matrices flat, column by column.
    """

    def __init__(self, feasible_set: FeasibleSet) -> None:
        self._set = feasible_set
        n, m, k = feasible_set.n, feasible_set.m, feasible_set.m - feasible_set.n_nonlinear
        self._shapes = {
            "z": (n, 1), "u": (m, 1), "shift": (m, 1), "price": (1, 1),
            "x": (n, 1), "L": (n, n), "K": (k, n),
            "norms": (m, 1), "slack": (m, 1), "low": (m, 1), "high": (m, 1),
            "y": (n, 1), "c": (m, 1), "A": (m, n), "lengths": (m, 1), "usable": (m, 1),
            "summary": (7, 1), "d": (n, 1), "u_next": (m, 1), "Ad": (m, 1), "info": (5, 1),
        }  # fmt: skip
        self.arrays: dict[str, Any] = {
            name: np.zeros(rows * columns) for name, (rows, columns) in self._shapes.items()
        }
        self._functions: dict[str, Callable[[], None]] = {}
        self._metric: Metric | None = None

    def load(self, problem: Problem, limits: RowLimits) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        arrays, metric = self.arrays, problem.metric
        if self._metric is not metric:
            arrays["L"][:] = metric.L.reshape(-1, order="F")
            arrays["K"][:] = metric.constant.reshape(-1, order="F")
            self._metric = metric
        arrays["x"][:] = problem.x
        arrays["norms"][:] = problem.norms
        arrays["slack"][:] = problem.slack
        arrays["low"][:], arrays["high"][:] = limits

    def evaluate(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate the rows at z (n,) with multipliers u (m,)."""
        arrays = self.arrays
        arrays["z"][:] = z
        arrays["u"][:] = u
        self._function("iterate")()
        violation, excess, *others = arrays["summary"].tolist()
        return Iterate(z, u, arrays["c"].copy(), violation, excess <= 0.0, *others)

    def glance(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate what the search looks at; here, everything."""
        return self.evaluate(z, u)

    def settled(self, there: Glance) -> Iterate:
        """Return the iterate of a glance."""
        return self.evaluate(there.z, there.u)

    def first_step(
        self, problem: Problem, limits: RowLimits, z: Floats
    ) -> tuple[Iterate | None, SqpStep]:
        """Load a problem and return the iterate z (n,) without multipliers, and the step from it.

        If all rows are linear, the step sees them by itself and there is no iterate.
        """
        self.load(problem, limits)
        self.arrays["z"][:] = z
        here = None if self._set.is_linear else self.evaluate(z, np.zeros(self._set.m))
        return here, self.step("identity")

    def step(self, kind: StepKind, *, shift: Floats | float = 0.0, price: float = 0.0) -> SqpStep:
        """Return the step from the iterate evaluated last.

        ``kind`` says how W is made convex: not at all (``plain``), by the squares of the active
        rows (``augmented``, right next to a solution), or by reflecting its negative eigenvalues
        (``reflected``, anywhere). Without multipliers of nonlinear rows W is the identity, and
        ``identity`` saves computing it; ``elastic`` does so, too, and relaxes the violated rows,
        at a ``price``. ``shift`` (m,) is added to the linearised rows (second-order correction).
        """
        arrays, evaluate = self.arrays, self._function(kind)
        arrays["shift"][:] = shift
        arrays["price"][:] = price
        try:
            evaluate()
        except RuntimeError:  # the eigenvalue iteration did not converge
            arrays["d"][:] = np.nan
            arrays["info"][:2] = np.inf
        infeasible, unsteady, longest, largest, slope = arrays["info"].tolist()
        return SqpStep(
            d=arrays["d"].copy(),
            u=arrays["u_next"].copy(),
            Ad=arrays["Ad"].copy(),
            unsteady=unsteady,
            longest=longest,
            largest=largest,
            slope=slope,
            solved=is_solved(infeasible, unsteady, longest, price),
            relaxed=kind == "elastic",
            reflected=kind == "reflected",
        )

    def _function(self, name: Literal["iterate"] | StepKind) -> Callable[[], None]:
        """Return the function that evaluates an iterate, or one kind of step, on the arrays."""
        if name in self._functions:
            return self._functions[name]
        symbols: Symbols = {key: ca.MX.sym(key, *size) for key, size in self._shapes.items()}
        rows = symbols
        if name == "iterate" or self._set.is_linear:
            rows = _iterate(self._set, symbols)
        outputs = rows if name == "iterate" else _step(self._set, symbols | rows, name)
        results = [ca.densify(value) for value in outputs.values()]
        function: Any = ca.Function(name, list(symbols.values()), results)
        given = (self.arrays[key] for key in outputs)
        self._functions[name] = connected(function, self.arrays.values(), given)
        return self._functions[name]


def _iterate(fs: FeasibleSet, inputs: Symbols) -> Symbols:
    """Return rows, gradients and the numbers of an `Iterate` as expressions of the inputs."""
    n, m_n = fs.n, fs.n_nonlinear
    z, u, L, norms = inputs["z"], inputs["u"], inputs["L"], inputs["norms"]
    y = inputs["x"] + L @ z
    c = fs.all_rows.function(y) / norms
    gradients = inputs["K"]
    if m_n:
        _, jacobian = fs.nonlinear_rows_and_jacobian.function(y)
        gradients = ca.vertcat(gradients, ca.project(jacobian, fs.jacobian_sparsity) @ L)
    A = gradients / ca.repmat(norms, 1, n)

    # Rows that are undefined, or infinitely steep, at z leave the linearisation.
    defined, lengths = ca.fabs(c) < LARGE, ca.sqrt(ca.sum2(A * A))
    usable = ca.logic_and(defined, lengths < LARGE)
    lengths = ca.if_else(usable, lengths, 0)
    if m_n:
        A = ca.if_else(ca.repmat(usable, 1, n), A, 0)
    finite, low, high = _scaled(c, inputs)
    outside = ca.fmax(finite - high, low - finite)
    violation = ca.if_else(ca.mmin(defined) > 0.5, ca.sum1(ca.fmax(outside, 0)), ca.inf)
    outside = ca.if_else(defined, outside - inputs["slack"], 1.0)
    held = ca.fabs(u) > 0
    summary = ca.vertcat(
        violation,
        ca.mmax(outside),
        ca.norm_inf(z + (u.T @ A).T),
        ca.norm_inf(z),
        ca.dot(z, z) / 2,
        ca.mmin(ca.if_else(held, lengths, 1)),
        ca.mmax(ca.if_else(held, lengths, 1)),
    )
    return {"y": y, "c": c, "A": A, "lengths": lengths, "usable": usable, "summary": summary}


def _scaled(c: Any, inputs: Symbols) -> tuple[Any, Any, Any]:
    """Scaled rows, with zeros where they are undefined, and their limits, finite."""
    low = ca.fmax(inputs["low"] / inputs["norms"], -INFINITE)
    high = ca.fmin(inputs["high"] / inputs["norms"], INFINITE)
    return ca.if_else(ca.fabs(c) < LARGE, c, 0), low, high


def is_solved(infeasible: float, unsteady: float, longest: float, price: float) -> bool:
    """Whether a step solves its quadratic program; the solver's own status is not asked."""
    return infeasible <= _INFEASIBLE * (1.0 + longest) and unsteady <= _UNSTEADY * (1.0 + price)


def _step(fs: FeasibleSet, inputs: Symbols, kind: StepKind) -> Symbols:
    """Return the step as expressions of the rows and gradients at the iterate."""
    n, m, m_n = fs.n, fs.m, fs.n_nonlinear
    z, u, L, norms = inputs["z"], inputs["u"], inputs["L"], inputs["norms"]
    A, usable, shift, price = inputs["A"], inputs["usable"], inputs["shift"], inputs["price"]
    c, low, high = _scaled(inputs["c"], inputs)
    lba, uba = low - c - shift, high - c - shift
    keep_low = keep_high = usable
    if m_n:
        # Sides of rows that are not pinned and that no step of reasonable length can reach leave
        # the linearisation; the merit function sees them.
        reach, pinned = REACH * inputs["lengths"], high - low < PINNED
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
        relax = ca.fmax(ca.fmax(c - high, low - c), 0) > 0
        d, u_next = _elastic_qp(W, g, A, lba, uba, relax, price)
    else:
        d, u_next = daqp(W, g, A, lba, uba)
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


def daqp(
    W: Any, g: Any, A: Any, lba: Any, uba: Any, *, proximal: float | None = None
) -> tuple[Any, Any]:
    """Minimum d of d^T W d / 2 + g^T d with lba <= A d <= uba, and the multipliers of the rows.

    A W that is only semidefinite needs proximal steps, with a weight.
    """
    shapes = {"h": ca.Sparsity.dense(*W.shape), "a": ca.Sparsity.dense(*A.shape)}
    options = _QP_OPTIONS
    if proximal is not None:
        options = {**options, "daqp": {**options["daqp"], "eps_prox": proximal}}
    qp = ca.conic("qp", "daqp", shapes, options)
    W, A = ca.densify(W), ca.densify(A)
    solution = qp(h=W, g=g, a=A, lba=lba, uba=uba, lbx=-ca.inf, ubx=ca.inf)
    return solution["x"], solution["lam_a"]


def _elastic_qp(
    W: Any, g: Any, A: Any, lba: Any, uba: Any, relax: Any, price: Any
) -> tuple[Any, Any]:
    """Relax the rows that are violated now by one common t >= 0, at a price.

    low - t <= A d <= high + t, as two one-sided rows each.
    """
    m, n = A.shape
    one, infinite = ca.MX(1), ca.DM.ones(m) * INFINITE
    d, u = daqp(
        ca.diagcat(W, one),
        ca.vertcat(g, price),
        ca.vertcat(ca.horzcat(A, relax), ca.horzcat(A, -relax), ca.horzcat(ca.MX(1, n), one)),
        ca.vertcat(lba, -infinite, 0),
        ca.vertcat(infinite, uba, INFINITE),
    )
    return d[:n], u[:m] + u[m : 2 * m]
