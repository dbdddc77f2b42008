r"""`Iterate`: the rows at a point of the SQP's search, evaluated by one compiled CasADi function.

It evaluates the rows and their whitened gradients, and says whether the iterate solves the
problem and whether a search accepts it. A step (:mod:`archeng.repair.step`) costs several times as
much, so it is computed only where the search goes on. Both functions work on the same arrays: what
the first writes, the second reads.

==========  =====================================================  ==============
symbol      meaning                                                name here
==========  =====================================================  ==============
y           design x + L z, shape (n,)                             ``y``
c_j         scaled rows r_j / norm_j, shape (m,)                   ``c``
A           scaled whitened gradients, shape (m, n)                ``A``
u           multipliers of the scaled rows, shape (m,)             ``u``
==========  =====================================================  ==============
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.model.functions import connected
from archeng.repair.problem import Problem

INFINITE = 1e30  # limits beyond this are none: DAQP's own infinity
LARGE = 1e20  # scaled rows and gradients beyond this count as undefined

Symbols = dict[str, Any]


class Iterate(NamedTuple):
    """The rows at an iterate z with multipliers u.

    Attributes
    ----------
    c : ndarray, shape (m,)
        Scaled rows at z.
    violation : float
        Sum of the scaled violations at z; infinite if a row is undefined there.
    satisfied : bool
        Every row is within its slack at z.
    residual : float
        Largest entry of z + A^T u, 0 at a solution.
    size : float
        Largest entry of z.
    half_squared : float
        |z|^2 / 2.
    flattest, steepest : float
        Shortest and longest scaled gradient at z of the rows with a multiplier.
    """

    c: Floats
    violation: float
    satisfied: bool
    residual: float
    size: float
    half_squared: float
    flattest: float
    steepest: float


class SharedArrays:
    """Arrays that the compiled functions of one feasible set read and write in place."""

    def __init__(self, feasible_set: FeasibleSet) -> None:
        n, m, k = feasible_set.n, feasible_set.m, feasible_set.m - feasible_set.n_nonlinear
        self.sizes = {
            "z": (n, 1), "u": (m, 1), "shift": (m, 1), "price": (1, 1),
            "x": (n, 1), "L": (n, n), "K": (k, n),
            "norms": (m, 1), "slack": (m, 1), "low": (m, 1), "high": (m, 1),
            "y": (n, 1), "c": (m, 1), "A": (m, n), "lengths": (m, 1), "usable": (m, 1),
            "summary": (7, 1), "d": (n, 1), "u_next": (m, 1), "Ad": (m, 1), "info": (5, 1),
        }  # fmt: skip
        self._matrices = {key: np.zeros(size, order="F") for key, size in self.sizes.items()}
        self._flat: dict[str, Any] = {
            key: a.reshape(-1, order="F") for key, a in self._matrices.items()
        }
        self._metric: object = None

    def __getitem__(self, name: str) -> Any:
        """Array of a quantity, flat."""
        return self._flat[name]

    def load(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        """Set the point, the metric, the scale and the limits for the following calls."""
        if self._metric is not problem.metric:
            self._matrices["L"][:] = problem.metric.L
            self._matrices["K"][:] = problem.metric.constant
            self._metric = problem.metric
        flat = self._flat
        flat["x"][:] = problem.x
        flat["norms"][:] = problem.norms
        flat["slack"][:] = problem.slack
        flat["low"][:] = lower
        flat["high"][:] = upper

    def symbols(self, *names: str) -> Symbols:
        """Return CasADi symbols for some quantities."""
        return {name: ca.MX.sym(name, *self.sizes[name]) for name in names}

    def connect(self, name: str, inputs: Symbols, outputs: Symbols) -> Callable[[], None]:
        """Compile a function between quantities; calling it reads and writes these arrays."""
        results = [ca.densify(value) for value in outputs.values()]
        function: Any = ca.Function(name, list(inputs.values()), results)
        flat = self._flat
        return connected(function, (flat[key] for key in inputs), (flat[key] for key in outputs))


class IterateFunction:
    """The compiled evaluation of iterates for one feasible set."""

    def __init__(self, feasible_set: FeasibleSet, arrays: SharedArrays) -> None:
        inputs = arrays.symbols("z", "u", "x", "L", "K", "norms", "slack", "low", "high")
        outputs = iterate_expressions(feasible_set, inputs)
        self._evaluate = arrays.connect("iterate", inputs, outputs)
        self._z, self._u, self._c = arrays["z"], arrays["u"], arrays["c"]
        self._summary = arrays["summary"]

    def __call__(self, z: Floats, u: Floats) -> Iterate:
        """Evaluate the rows at z with multipliers u."""
        self._z[:] = z
        self._u[:] = u
        self._evaluate()
        violation, excess, *others = self._summary.tolist()
        return Iterate(self._c.copy(), violation, excess <= 0.0, *others)


def iterate_expressions(fs: FeasibleSet, inputs: Symbols) -> Symbols:
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
    low, high = scaled_limits(inputs)
    outside = _outside(c, low, high)
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


def scaled_limits(inputs: Symbols) -> tuple[Any, Any]:
    """Limits of the scaled rows, finite."""
    low = ca.fmax(inputs["low"] / inputs["norms"], -INFINITE)
    high = ca.fmin(inputs["high"] / inputs["norms"], INFINITE)
    return low, high


def finite_rows(c: Any) -> Any:
    """Scaled rows with zeros where they are undefined."""
    return ca.if_else(ca.fabs(c) < LARGE, c, 0)


def _outside(c: Any, low: Any, high: Any) -> Any:
    """How far rows are outside their limits; negative inside."""
    c = finite_rows(c)
    return ca.fmax(c - high, low - c)
