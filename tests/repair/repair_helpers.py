"""Models, metrics and checks shared by the tests of the repair operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from scipy.optimize import minimize, nnls

from archeng.distribution import Distribution
from archeng.model import FeasibleSet, Model, compile_model
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings

NEAREST_ONLY = Settings(handler="arch-nearest")


def feasible_set(
    n: int,
    rows: Callable[[ca.SX], Sequence[tuple[ca.SX, float, float]]] | None = None,
    *,
    lower=None,
    upper=None,
    tolerance: float = 1e-6,
) -> FeasibleSet:
    """Compile a model of one vector variable; ``rows(x)`` gives (expression, lower, upper)."""
    model = Model("test")
    x = model.variable("x", shape=n, lower=lower, upper=upper)
    for expression, low, high in rows(x) if rows else ():
        width = tolerance if low == high else None
        model.subject_to(expression, lower=low, upper=high, tolerance=width)
    return compile_model(model)


def polytope(A, b, **bounds) -> FeasibleSet:
    """A x <= b."""
    return feasible_set(
        np.shape(A)[1],
        lambda x: [(ca.dot(ca.DM(a), x), -np.inf, float(v)) for a, v in zip(A, b, strict=True)],
        **bounds,
    )


def metric(mean, sigma: float = 1.0, factor=None) -> Distribution:
    mean = np.asarray(mean, dtype=float)
    F = np.eye(len(mean)) if factor is None else np.asarray(factor, dtype=float)
    return Distribution(mean, sigma, F, np.linalg.inv(F))


def random_metric(n: int, rng: np.random.Generator, condition: float = 10.0, sigma: float = 1.0):
    """A metric whose factor has the given condition number and no symmetry."""
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    axes = condition ** np.linspace(-0.5, 0.5, n) if n > 1 else np.ones(1)
    return metric(np.zeros(n), sigma, (u * axes) @ v)


def fix(fs: FeasibleSet, x, d: Distribution | None = None, settings: Settings | None = None, **kw):
    """Repair one point with a new repairer."""
    x = np.asarray(x, dtype=float)
    return Repairer(fs, settings).repair(x, metric(np.zeros(fs.n)) if d is None else d, **kw)


def deviations(d: Distribution, a, b) -> float:
    """Mahalanobis distance."""
    return float(np.linalg.norm(d.whiten(np.asarray(a) - np.asarray(b))))


def active_names(fs: FeasibleSet, r: Repair) -> set[str]:
    """Names of the active rows (their order depends on which are linear)."""
    return {fs.rows[j].name for j in r.active}


def check_certificate(fs: FeasibleSet, x, d: Distribution, r: Repair, kkt: float = 1e-3) -> None:
    """What every repaired point must satisfy."""
    assert r.feasible, r
    assert r.kind is not RepairKind.FAILED
    assert fs.is_feasible(r.x)
    assert r.max_violation == 0.0
    assert np.all(fs.violations(r.x) == 0.0)
    assert np.all(np.isfinite(r.x))
    assert 0 <= r.kkt_residual <= kkt
    exact = float(np.sum(d.whiten(np.asarray(x) - r.x) ** 2))
    assert r.distance_squared == exact or abs(r.distance_squared - exact) <= 1e-9 * exact
    assert all(isinstance(j, int) and 0 <= j < fs.m for j in r.active)
    if r.kind is RepairKind.FEASIBLE:
        assert r.distance_squared == 0.0
        assert (r.solver, r.iterations) == ("none", 0)
    else:
        assert r.distance_squared > 0
        assert r.active
        assert r.iterations >= 1


def slsqp_nearest(fs: FeasibleSet, x, d: Distribution, starts) -> np.ndarray:
    """Nearest feasible point by SciPy's SLSQP in whitened coordinates, best of several starts.

    Rows are scaled by their whitened gradients at the last start.
    """
    L = d.scaled_factor
    low, high = np.isfinite(fs.lower), np.isfinite(fs.upper)
    _, J = fs.values_and_jacobian(np.asarray(starts[-1], dtype=float))
    size = np.maximum(np.linalg.norm(J @ L, axis=1), 1e-300)

    def rows(z):
        v = fs.values(x + L @ z)
        return np.concatenate((((v - fs.lower) / size)[low], ((fs.upper - v) / size)[high]))

    def jacobian(z):
        _, J = fs.values_and_jacobian(x + L @ z)
        G = J @ L / size[:, None]
        return np.concatenate((G[low], -G[high]))

    best = None
    for start in starts:
        result = minimize(
            lambda z: 0.5 * z @ z,
            d.whiten(np.asarray(start) - x),
            jac=lambda z: z,
            method="SLSQP",
            constraints={"type": "ineq", "fun": rows, "jac": jacobian},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        if rows(result.x).min() > -1e-8 and (best is None or result.fun < best.fun):
            best = result
    assert best is not None
    return x + L @ best.x


def linear_nearest(fs: FeasibleSet, x, d: Distribution) -> np.ndarray:
    """Nearest point of a set with linear rows: least distance programming by NNLS.

    Lawson and Hanson, Solving Least Squares Problems, chapter 23: the point of least norm with
    G z >= h is -r[:n] / r[n], r the residual of the nonnegative least squares problem
    [G^T; h^T] u = (0, ..., 0, 1).
    """
    values, J = fs.values_and_jacobian(np.asarray(x, dtype=float))
    low, high = np.isfinite(fs.lower), np.isfinite(fs.upper)
    G = np.concatenate((J[low], -J[high])) @ d.scaled_factor
    h = np.concatenate(((fs.lower - values)[low], (values - fs.upper)[high]))
    size = np.linalg.norm(G, axis=1)
    G, h = G / size[:, None], h / size
    unit = max(np.abs(h).max(), 1e-300)
    E = np.concatenate((G.T, h[None, :] / unit))
    f = np.append(np.zeros(fs.n), 1.0)
    u, _ = nnls(E, f, maxiter=1000)
    r = E @ u - f
    return x + d.scaled_factor @ (-unit * r[:-1] / r[-1])
