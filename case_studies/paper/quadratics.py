r"""Linearly constrained quadratics in three coordinate systems [SA22 subsec:test-problem].

In the coordinates of the box, x, every problem is f(x) = x^T G x with lb <= x <= ub. In other
coordinates y, with x = P y, it is f(P y) with the linear rows lb <= P y <= ub.

==================  =====================================  ==============================
function            G                                      optimum x*
==================  =====================================  ==============================
sphere              I                                      [0, 1, ...]
ellipsoid           diag(10^{6 (i-1)/(n-1)})               [0, 1, ...]
rotated ellipsoid   Q^T diag(...) Q, angle pi/6            [0.37, 1, ...] for n = 20
==================  =====================================  ==============================

==================  =====================================
system              P
==================  =====================================
BOX                 I
rotBox              Q, angle pi/4
illrotBox           Q^T diag(1, 10, ...) Q, angle pi/4
==================  =====================================

Q is block diagonal with blocks [[c, s], [-s, c]]: it turns the axes counter-clockwise, which is
the direction that gives the optimum stated in the paper (the other one gives -0.37).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from archeng import Model

Floats = NDArray[np.float64]

FUNCTIONS = ("sphere", "ellipsoid", "rotated ellipsoid")
SYSTEMS = ("BOX", "rotBox", "illrotBox")
UNCONSTRAINED = "unconstrained"
"""A fourth system: the coordinates of the box, but without the box; the optimum is 0."""

SIGMA0 = 1.25
WIDTH = 5.0


@dataclass(frozen=True, eq=False)
class Quadratic:
    """One problem in one coordinate system; vectors are in these coordinates unless noted.

    Attributes
    ----------
    function, system : str
        See `FUNCTIONS` and `SYSTEMS`.
    P, P_inverse : ndarray, shape (n, n)
        To the coordinates of the box and back.
    lower, upper : ndarray, shape (n,)
        The box, in its own coordinates.
    root : ndarray, shape (n, n)
        R, with G = R^T R.
    slope : ndarray, shape (n,)
        Gradient of f at the optimum, in the coordinates of the box: the multipliers of the
        lower bounds.
    model : archeng.Model
        One vector variable ``x``. BOX has bounds, the others linear rows.
    hessian : ndarray, shape (n, n)
        H, the second derivative of the objective.
    x_star, f_star : ndarray of shape (n,), float
        The optimum.
    covariance : ndarray, shape (n, n)
        sigma0^2 C0, the argument ``sigma=`` of :class:`archeng.Run`.
    """

    function: str
    system: str
    P: Floats
    P_inverse: Floats
    lower: Floats
    upper: Floats
    root: Floats
    slope: Floats
    model: Model
    hessian: Floats
    x_star: Floats
    f_star: float
    covariance: Floats

    @property
    def n(self) -> int:
        """Dimension."""
        return len(self.x_star)

    def objective(self, design: Mapping[str, Any] | ArrayLike) -> float:
        """Return f at a design."""
        z = self.root @ (self.P @ np.asarray(design, dtype=float))
        return float(z @ z)

    def excess(self, design: Mapping[str, Any] | ArrayLike) -> float:
        """Return f - f* without the cancellation of the difference.

        At the optimum of the ellipsoids f is of the order 1e6, so that its rounding hides a
        criterion of 1e-8 and less. To the search the constant makes no difference.
        """
        d = self.P @ (np.asarray(design, dtype=float) - self.x_star)
        z = self.root @ d
        return float(self.slope @ d + z @ z)

    def start(self, rng: np.random.Generator) -> Floats:
        """Draw an initial mean: the middle of the box plus a uniform vector in [-1, 1]^n."""
        middle = _lower(self.n) + WIDTH / 2
        return self.P_inverse @ (middle + rng.uniform(-1.0, 1.0, self.n))

    def criterion(self, mean: Floats) -> float:
        """Return (m - x*)^T H (m - x*), the measure of progress."""
        difference = mean - self.x_star
        return float(difference @ self.hessian @ difference)

    def satisfied_share(self, mean: Floats) -> float:
        """Return r_feas, the share of the n intervals [lb_i, ub_i] that contain [P m]_i."""
        x = self.P @ mean
        return float(np.mean((self.lower <= x) & (x <= self.upper)))


def quadratic(function: str, system: str, n: int, *, matched: bool = True) -> Quadratic:
    """Build a problem.

    Parameters
    ----------
    function : {"sphere", "ellipsoid", "rotated ellipsoid"}
    system : {"BOX", "rotBox", "illrotBox", "unconstrained"}
    n : int
        Dimension, even.
    matched : bool
        Whether C0 = I in BOX [SA22 subsec:settings]; otherwise C0 = I in illrotBox
        [SA22 sec:lin-prob-general]. The other systems have the same distribution, transformed.
    """
    if n < 2 or n % 2:
        raise ValueError(f"n must be even and positive, got {n}.")
    P, P_inverse = _transformation(system, n)
    R = _root(function, n)
    G = R.T @ R
    x_star, slope = np.zeros(n), np.zeros(n)
    if system != UNCONSTRAINED:
        x_star, slope = _box_optimum(G)
    C0 = np.eye(n)
    if not matched:
        P_ill, _ = _transformation("illrotBox", n)
        C0 = P_ill @ P_ill.T
    lower, upper = _lower(n), _lower(n) + WIDTH
    if system == UNCONSTRAINED:
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    return Quadratic(
        function=function,
        system=system,
        P=P,
        P_inverse=P_inverse,
        lower=lower,
        upper=upper,
        root=R,
        slope=slope,
        model=_model(f"{function}, {system}, n = {n}", system, P, P_inverse, lower, upper),
        hessian=_symmetric(2.0 * P.T @ G @ P),
        x_star=P_inverse @ x_star,
        f_star=float(x_star @ G @ x_star),
        covariance=_symmetric(SIGMA0**2 * P_inverse @ C0 @ P_inverse.T),
    )


def _model(
    name: str, system: str, P: Floats, P_inverse: Floats, lower: Floats, upper: Floats
) -> Model:
    n = len(P)
    model = Model(name)
    if system == "BOX":
        model.variable("x", shape=n, lower=lower, upper=upper)
        return model
    middle = P_inverse @ (_lower(n) + WIDTH / 2)
    x = model.variable("x", shape=n, start=middle, scale=SIGMA0)
    if system != UNCONSTRAINED:
        model.subject_to(ca.DM(P) @ x, lower=lower, upper=upper, name="box")
    return model


def _root(function: str, n: int) -> Floats:
    """Matrix R with f(x) = |R x|^2 in the coordinates of the box."""
    if function == "sphere":
        return np.eye(n)
    root = np.diag(10.0 ** (3.0 * np.arange(n) / (n - 1)))
    if function == "ellipsoid":
        return root
    if function == "rotated ellipsoid":
        return root @ _rotation(np.pi / 6, n)
    raise ValueError(f"There is no function {function!r}; there are {', '.join(FUNCTIONS)}.")


def _transformation(system: str, n: int) -> tuple[Floats, Floats]:
    """P and its inverse."""
    if system in ("BOX", UNCONSTRAINED):
        return np.eye(n), np.eye(n)
    Q = _rotation(np.pi / 4, n)
    if system == "rotBox":
        return Q, Q.T
    if system == "illrotBox":
        D = np.tile([1.0, 10.0], n // 2)
        return Q.T @ np.diag(D) @ Q, Q.T @ np.diag(1 / D) @ Q
    raise ValueError(f"There is no coordinate system {system!r}; there are {', '.join(SYSTEMS)}.")


def _box_optimum(G: Floats) -> tuple[Floats, Floats]:
    """Optimum x* and gradient there, in the coordinates of the box.

    They follow from the KKT conditions of each 2 x 2 block. The second coordinate is at its
    lower bound 1, with the multiplier 2 (g22 - g12^2 / g11) > 0. The first is stationary,
    g11 x1 + g12 = 0, and strictly between its bounds.
    """
    odd, even = np.arange(0, len(G), 2), np.arange(1, len(G), 2)
    x, slope = np.ones(len(G)), np.zeros(len(G))
    x[odd] = -G[odd, even] / G[odd, odd]
    slope[even] = 2.0 * (G[even, even] - G[odd, even] ** 2 / G[odd, odd])
    return x, slope


def _rotation(angle: float, n: int) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.kron(np.eye(n // 2), np.array([[c, s], [-s, c]]))


def _lower(n: int) -> Floats:
    """Lower bounds of the box, [-1, 1, -1, 1, ...]."""
    return np.tile([-1.0, 1.0], n // 2)


def _symmetric(matrix: Floats) -> Floats:
    return (matrix + matrix.T) / 2
