"""Playing a search generation by generation, and comparing two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from archeng.distribution import Distribution
from archeng.handlers.arch import adapt_alpha, advance, begin, sample_population
from archeng.model import FeasibleSet, Model, compile_model
from archeng.ranking import total_order
from archeng.repair import Repairer
from archeng.settings import Settings

INF = np.inf


@dataclass(frozen=True)
class Case:
    """An optimisation problem: rows(x) gives (expression, lower, upper), f takes a vector."""

    n: int
    rows: Callable
    f: Callable[[np.ndarray], float]
    mean: np.ndarray
    sigma: float
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Played:
    """One generation: what was sampled, repaired, adapted and ranked."""

    distribution: Distribution
    sampled: np.ndarray
    repaired: np.ndarray
    kinds: tuple[str, ...]
    alpha: float
    d_m: float
    n_active: int
    order: np.ndarray


def compiled(case: Case, rows: Callable | None = None) -> FeasibleSet:
    model = Model("case")
    x = model.variable("x", shape=case.n)
    for expression, low, high, *width in (rows or case.rows)(x):
        equal = {"tolerance": width[0] if width else case.tolerance} if low == high else {}
        model.subject_to(expression, lower=low, upper=high, **equal)
    return compile_model(model)


def play(
    fs: FeasibleSet,
    f: Callable[[np.ndarray], float],
    distribution: Distribution,
    rng,
    generations: int = 16,
    settings: Settings | None = None,
    population_size: int | None = None,
) -> list[Played]:
    settings = settings or Settings(surrogate="none")
    repairer = Repairer(fs, settings)
    anchor = repairer.repair(distribution.mean, distribution)
    assert anchor.feasible
    search = begin(distribution, anchor.x, population_size)
    result = []
    for _ in range(generations):
        search = adapt_alpha(search, repairer)
        population = sample_population(search, repairer, rng)
        repaired = [r.x for r in population.repairs]
        values = np.array(
            [f(r.x) if r.feasible else np.nan for r in population.repairs], dtype=float
        )
        order = total_order(values, population.distances_squared(), search.alpha)
        result.append(
            Played(
                search.distribution,
                population.sampled,
                np.array(repaired),
                tuple(r.kind.value for r in population.repairs),
                search.alpha,
                search.d_m,
                search.n_active,
                order,
            )
        )
        search = advance(search, population, values, settings)
    return result


def compare(
    first: list[Played],
    second: list[Played],
    A: np.ndarray | None = None,
    t: np.ndarray | None = None,
    tolerance: float = 1e-6,
) -> None:
    """The second run is the first one under y = A x + t, generation by generation.

    The intersection of curved boundaries is a nonconvex problem. Where the solver just finds
    it, or just does not, the last bit of a number may decide, and the runs part: after half of
    the generations that ends the comparison.
    """
    n = first[0].sampled.shape[1]
    A = np.eye(n) if A is None else A
    t = np.zeros(n) if t is None else t
    assert len(first) == len(second)
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        where = f"generation {k}"
        moved = b.distribution.whiten(a.sampled @ A.T + t - b.sampled)
        assert np.abs(moved).max() < tolerance, where
        if k >= len(first) // 2 and _parted(a.kinds, b.kinds):
            return
        assert a.kinds == b.kinds, where
        moved = b.distribution.whiten(a.repaired @ A.T + t - b.repaired)
        assert np.abs(moved).max() < tolerance, where
        assert a.n_active == b.n_active, where
        np.testing.assert_allclose(b.d_m, a.d_m, rtol=10 * tolerance, atol=tolerance, err_msg=where)
        np.testing.assert_allclose(b.alpha, a.alpha, rtol=1e-12, err_msg=where)
        np.testing.assert_array_equal(a.order, b.order, err_msg=where)


def _parted(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """The kinds differ in nothing but whether the intersection was found."""
    pairs = [{a, b} for a, b in zip(one, two, strict=True) if a != b]
    return bool(pairs) and all(p == {"intersection", "nearest"} for p in pairs)


def ellipsoid(n: int, seed: int, optimum) -> Callable[[np.ndarray], float]:
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    axes = 100.0 ** np.linspace(0, 1, n)
    return lambda x: float(np.sum(axes * (q @ (np.asarray(x) - optimum)) ** 2))


def _linear_rows(x):
    G = np.random.default_rng(11).standard_normal((7, 4))
    return [(ca.dot(ca.DM(g), x), -INF, 1.0) for g in G]


def _convex_rows(x):
    return [
        (ca.sumsqr(x), -INF, 2.0),
        (x[0] + 2 * x[1] - x[2], -INF, 1.0),
        (x[0] ** 2 + 3 * (x[1] - 0.3) ** 2 + x[2], -INF, 1.5),
        (ca.exp(x[2]) - x[0], -INF, 1.8),
    ]


def _nonlinear_rows(x):
    return [
        (ca.sumsqr(x), -INF, 2.0),
        (x[0] + 2 * x[1] - x[2], -INF, 1.0),
        (x[0] * x[1] + x[2], -0.8, 0.9),
    ]


def _equality_rows(x):
    return [
        (ca.sumsqr(x), 1.0, 1.0),
        (x[0] + 0.5 * ca.sin(2 * x[1]), -INF, 0.6),
    ]


CASES = {
    "linear": Case(4, _linear_rows, ellipsoid(4, 1, np.full(4, 2.0)), np.zeros(4), 0.6),
    "convex": Case(
        3, _convex_rows, ellipsoid(3, 4, np.array([1.8, 0.9, 1.2])), np.zeros(3), 0.4
    ),
    "nonlinear": Case(
        3, _nonlinear_rows, ellipsoid(3, 2, np.array([1.5, 1.0, 0.8])), np.zeros(3), 0.4
    ),
    "equality": Case(
        3, _equality_rows, ellipsoid(3, 3, np.array([2.0, 0.5, 0.3])),
        np.array([0.0, 0.8, -0.6]), 0.3, tolerance=1e-4,
    ),
}  # fmt: skip
"""Problems whose optimum lies on the boundary, so that repairs and alpha matter."""


def start_of(case: Case) -> Distribution:
    """A start whose factor is neither diagonal nor symmetric."""
    rng = np.random.default_rng(21)
    F = np.eye(case.n) + 0.3 * rng.standard_normal((case.n, case.n))
    return Distribution(case.mean, case.sigma, F, np.linalg.inv(F))
