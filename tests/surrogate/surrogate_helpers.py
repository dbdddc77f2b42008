"""Designs, feasible sets and functions shared by the tests of the models of the objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from archeng.distribution import Floats
from archeng.model import FeasibleSet, Model, compile_model
from archeng.outcomes import PastCalls
from archeng.repair import Repairer
from archeng.surrogate import Frame
from archeng.surrogate.data import Data
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.minimise import Minimum, lowest

seeds = st.integers(0, 2**32 - 1)
moderate = settings(deadline=None, max_examples=20, derandomize=True)
few = settings(deadline=None, max_examples=10, derandomize=True)


def coefficients(n: int) -> int:
    """Of a quadratic function of n variables."""
    return (n + 1) * (n + 2) // 2


def designs(rng: np.random.Generator, p: int, n: int) -> Floats:
    """Designs (p, n) around the origin, which is the first of them."""
    A = rng.standard_normal((p, n))
    A[0] = 0
    return A


class Quadratic:
    """c + g v + v H v / 2 with random coefficients, or given ones."""

    def __init__(self, rng: np.random.Generator, n: int, convex: bool = False) -> None:
        self.constant = float(rng.standard_normal())
        self.gradient = rng.standard_normal(n)
        H = rng.standard_normal((n, n))
        self.hessian = H @ H.T + 0.1 * np.eye(n) if convex else (H + H.T) / 2

    def __call__(self, v: Floats) -> Any:
        """At a point (n,) or at points (k, n)."""
        return self.constant + v @ self.gradient + 0.5 * np.sum((v @ self.hessian) * v, axis=-1)

    def model(self) -> Interpolant:
        """The same function as a model."""
        n = len(self.gradient)
        empty = np.zeros((1, n)), np.zeros(1)
        return Interpolant(self.constant, self.gradient, self.hessian, *empty, 0.0, 0.0)


def normalised(f: Floats) -> Floats:
    """0 at the best, 1 at the median."""
    return (f - f.min()) / (np.median(f) - f.min())


def values(model: Interpolant, points: Floats) -> Floats:
    return np.array([model.value(v) for v in points])


def random_frame(rng: np.random.Generator, centre: Floats, condition: float = 10.0) -> Frame:
    """Coordinates that are neither orthogonal nor of one unit."""
    n = len(centre)
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    F = (u * condition ** np.linspace(-0.5, 0.5, n)) @ v if n > 1 else np.array([[0.7]])
    return Frame(centre, F, np.linalg.inv(F))


def plain_frame(centre: Any) -> Frame:
    centre = np.asarray(centre, dtype=float)
    return Frame(centre, np.eye(len(centre)), np.eye(len(centre)))


def feasible_set(
    n: int,
    rows: Callable[[Any], Sequence[tuple[Any, float, float]]] | None = None,
    lower: Any = -4.0,
    upper: Any = 4.0,
) -> FeasibleSet:
    """Compile a model of one vector; ``rows(x)`` gives (expression, lower, upper)."""
    return compile_model(vector_model(n, rows, lower, upper))


def vector_model(
    n: int,
    rows: Callable[[Any], Sequence[tuple[Any, float, float]]] | None = None,
    lower: Any = -4.0,
    upper: Any = 4.0,
) -> Model:
    model = Model("test")
    x = model.variable("x", shape=n, lower=lower, upper=upper)
    for expression, low, high in rows(x) if rows else ():
        width = 1e-6 if low == high else None
        model.subject_to(expression, lower=low, upper=high, tolerance=width)
    return model


def random_polytope(rng: np.random.Generator, n: int) -> FeasibleSet:
    """Half-spaces around the origin, and bounds."""
    normals = rng.standard_normal((n + 1, n))
    limits = np.linalg.norm(normals, axis=1) * rng.uniform(0.3, 2, n + 1)
    return feasible_set(
        n,
        lambda x: [
            (ca.dot(ca.DM(a), x), -np.inf, float(b)) for a, b in zip(normals, limits, strict=True)
        ],
    )


def least(fs: FeasibleSet, f: Callable[[Floats], float], starts: Sequence[Floats]) -> float:
    """Least value of a function over a feasible set by SciPy, the best of several starts."""
    low, high = np.isfinite(fs.lower), np.isfinite(fs.upper)

    def inside(x: Floats) -> Floats:
        v = fs.values(x)
        return np.concatenate(((v - fs.lower)[low], (fs.upper - v)[high]))

    best = np.inf
    for start in starts:
        answer = scipy_minimize(
            f,
            start,
            method="SLSQP",
            constraints={"type": "ineq", "fun": inside},
            options={"ftol": 1e-14, "maxiter": 300},
        )
        if inside(answer.x).min() > -1e-7:
            best = min(best, float(answer.fun))
    assert np.isfinite(best)
    return best


def differences(f: Callable[[Floats], Floats], at: Floats, h: float = 1e-5) -> Floats:
    """Derivatives (..., n) by central differences."""
    return np.stack([(f(at + s) - f(at - s)) / (2 * h) for s in h * np.eye(len(at))], axis=-1)


def known_of(points: Floats, f: Callable[[Floats], float]) -> PastCalls:
    return PastCalls(points, np.array([f(x) for x in points], dtype=float))


def minimise(
    model: Any, frame: Frame, scale: float, repairer: Repairer, start: Floats, radius: float
) -> Minimum | None:
    """The minimum that is found from one start."""
    return lowest(model, frame, scale, repairer, [start], radius)


def data_of(A: Floats, y: Floats) -> Data:
    """Designs (p, n) and normalised objectives (p,) as a model gets them."""
    return Data(A, y, 1.0, 0.0, 1.0, np.zeros((len(y), 0)))
