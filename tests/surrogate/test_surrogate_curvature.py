"""The multiplier of the trust region, exact steps, several starts, fits of several objectives."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import (
    Quadratic,
    designs,
    feasible_set,
    few,
    minimise,
    plain_frame,
    random_polytope,
    seeds,
)

from archeng.distribution import Distribution, Floats
from archeng.repair import Repairer
from archeng.surrogate.curvature import Approximation, Curvature
from archeng.surrogate.data import _net
from archeng.surrogate.fit import Kernels, fit, fit_all, make_system
from archeng.surrogate.minimise import lowest
from archeng.surrogate.priors import PRIORS


def approximation(rng: np.random.Generator, n: int, convex: bool) -> Approximation:
    """Of a random quadratic at the centre of a set without rows."""
    q = Quadratic(rng, n, convex=convex)
    curvature = Curvature(plain_frame(np.zeros(n)), 1.0, Repairer(feasible_set(n)))
    found = curvature.at(np.zeros(n), np.zeros(n), 5 * q.gradient, q.hessian)
    assert found is not None
    return found


@few
@given(seed=seeds)
def test_the_pull_is_found_in_a_few_trials(seed: int) -> None:
    """Within the radius and near it, where the minimum without a pull is far outside."""
    near = approximation(np.random.default_rng(seed), 4, convex=True)
    free = near.minimum(0.0, 0.0, thorough=False)
    assert free is not None
    radius = 0.2 * float(np.linalg.norm(free.x))
    outside: list[tuple[float, float]] = [(0.0, float(np.linalg.norm(free.x)))]
    inside, pull = None, 0.0
    for _ in range(6):
        pull = near.pull(outside, inside, radius, 0.0)
        found = near.minimum(pull, 0.0, thorough=False)
        assert found is not None
        length = float(np.linalg.norm(found.x))
        if length > radius:
            outside.append((pull, length))
        else:
            inside = (pull, length)
            if length > 0.8 * radius:
                break
    assert inside is not None
    assert 0.8 * radius < inside[1] <= radius
    assert near.exact(pull, 0.0)


def test_a_model_is_convex_with_enough_pull() -> None:
    near = approximation(np.random.default_rng(1), 4, convex=False)
    least = float(near.axes.eigenvalues[0])
    assert least < 0
    assert not near.convex(-0.9 * least)
    assert near.convex(-1.1 * least)
    assert not near.exact(0.0, 0.0)


def counted(repairer: Repairer, monkeypatch: pytest.MonkeyPatch) -> list[Floats]:
    """Return the points that are projected from now on."""
    points: list[Floats] = []
    near = repairer.near

    def counting(x: Floats, d: Distribution, start: Floats):  # type: ignore[no-untyped-def]
        points.append(x)
        return near(x, d, start)

    monkeypatch.setattr(repairer, "near", counting)
    return points


def test_one_projection_for_a_convex_quadratic(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one start, whatever others there are; the minimum is that of any start."""
    rng = np.random.default_rng(3)
    repairer = Repairer(random_polytope(rng, 3))
    model, frame = Quadratic(rng, 3, convex=True).model(), plain_frame(np.zeros(3))
    starts = [np.zeros(3), np.full(3, 0.05)]
    alone = minimise(model, frame, 1.0, repairer, starts[1], 1e3)
    points = counted(repairer, monkeypatch)
    found = lowest(model, frame, 1.0, repairer, starts, 1e3)
    assert found is not None
    assert alone is not None
    assert len(points) == 1
    assert found.value == pytest.approx(alone.value, rel=1e-6, abs=1e-9)


def test_many_starts_find_the_lowest_of_two_valleys() -> None:
    """Concave along the first variable: the lower end, though most starts lead to the other."""
    q = Quadratic(np.random.default_rng(0), 2)
    q.gradient, q.hessian = np.array([0.5, 0.0]), np.diag([-1.0, 1.0])
    fs = feasible_set(2, lambda x: [(ca.sumsqr(x), -np.inf, 9.0)])
    starts = [np.array([0.8 + 0.1 * k, 0.1]) for k in range(11)] + [np.array([-1.0, 0.5])]
    found = lowest(q.model(), plain_frame(np.zeros(2)), 1.0, Repairer(fs), starts, np.inf)
    assert found is not None
    assert fs.is_feasible(found.x)
    assert found.x[0] == pytest.approx(-3, abs=0.05)


def test_near_is_towards_without_a_record() -> None:
    rng = np.random.default_rng(5)
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), -np.inf, 4.0), (x[0] + x[1], -np.inf, 1.0)])
    repairer, d = Repairer(fs), Distribution(np.zeros(3), 1.0, np.eye(3), np.eye(3))
    for _ in range(5):
        x = 3 * rng.standard_normal(3)
        near, repair = repairer.near(x, d, np.zeros(3)), repairer.towards(x, d, np.zeros(3))
        assert near is not None
        assert near.x.tobytes() == repair.x.tobytes()
        assert near.nearest


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_one_factorisation_fits_as_many_do(prior) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(7)
    A, Y = designs(rng, 14, 3), rng.standard_normal((14, 3))
    kernels = Kernels(A)
    system = make_system(kernels, prior, Y[:, 0])
    assert system is not None
    for found, y in zip(fit_all(system, Y), Y.T, strict=True):
        single = fit(kernels, y, prior, system.variances)
        assert found is not None
        assert single is not None
        np.testing.assert_allclose(found.solution, single.solution, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(found.errors, single.errors, rtol=1e-5, atol=1e-8)


@few
@given(seed=seeds)
def test_designs_that_are_too_close_to_a_nearer_one_are_left_out(seed: int) -> None:
    """The same as one after the other."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((12, 2))
    u = np.concatenate((u, u + 0.02 * rng.standard_normal((12, 2))))
    distances = np.linalg.norm(u, axis=1)
    chosen: list[int] = []
    for i in np.argsort(distances, kind="stable"):
        gaps = np.linalg.norm(u[chosen] - u[i], axis=1)
        if np.all(gaps > 0.02 * distances[i]) and len(chosen) < 15:
            chosen.append(int(i))
    assert _net(u, distances, 15).tolist() == chosen
