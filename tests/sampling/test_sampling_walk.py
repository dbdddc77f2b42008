"""Rows at many points, the manifold of the equalities, and walks that become uniform."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.model import compile_model
from archeng.sampling.manifold import EqualityManifold, RowEvaluator, equality_manifold
from archeng.sampling.walk import FeasibleWalk

NONE = np.zeros(0, dtype=np.intp)


def torus(large: float = 1.0, small: float = 0.4) -> Model:
    model = Model("torus")
    x = model.variable("x", shape=3, lower=-2, upper=2)
    across = x[0] ** 2 + x[1] ** 2
    model.subject_to((across + x[2] ** 2 + large**2 - small**2) ** 2 == 4 * large**2 * across)
    return model


def mixed() -> Model:
    model = Model("mixed")
    x = model.variable("x", shape=3, lower=-2, upper=2)
    model.subject_to(x[0] + 2 * x[1] <= 3)
    model.subject_to(ca.log(x[0]) + x[2] ** 2 <= 1)
    model.subject_to(x[1] * x[2] >= -1)
    return model


def manifold_of(model: Model, points) -> EqualityManifold:
    fs = compile_model(model)
    return equality_manifold(RowEvaluator(fs), fs.scale, np.array(points, dtype=float))


def walked(model: Model, start, steps: int, count: int = 2000, unlimited=NONE, seed: int = 1):
    walk = FeasibleWalk(
        manifold_of(model, [start]),
        np.repeat([np.array(start, dtype=float)], count, axis=0),
        np.array(unlimited, dtype=np.intp),
        np.random.default_rng(seed),
    )
    for step in range(steps):
        walk.step(learn=step < steps // 2)
    assert walk._rows.hold(walk.points).all()
    return walk.points


@pytest.mark.parametrize("k", [1, 7, 8, 32, 75])
def test_rows_at_many_points_are_those_at_each(k: int) -> None:
    fs = compile_model(mixed())
    x = np.random.default_rng(1).uniform(-2, 2, (k, 3))
    rows = RowEvaluator(fs)
    single = np.array([fs.values(p) for p in x])
    assert rows.values(x).tobytes() == single.tobytes()
    np.testing.assert_array_equal(rows.hold(x), [fs.is_feasible(p) for p in x])


def test_undefined_rows_do_not_hold() -> None:
    fs = compile_model(mixed())
    x = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert RowEvaluator(fs).hold(x).tolist() == [False, True]


def test_gradients_of_chosen_rows() -> None:
    fs = compile_model(mixed())
    x = np.random.default_rng(1).uniform(0.1, 2, (40, 3))
    chosen = np.array([1, 3, 5])
    values, jacobian = RowEvaluator(fs).gradients(x, chosen)
    for k in range(40):
        v, J = fs.values_and_jacobian(x[k])
        np.testing.assert_allclose(values[k], v[chosen], rtol=1e-14)
        np.testing.assert_array_equal(jacobian[k], J[chosen])


def test_dependent_equalities_count_once() -> None:
    model = Model()
    x = model.variable("x", shape=3, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x) == 1)
    model.subject_to(2 * ca.sumsqr(x) == 2)
    model.subject_to(x[0] == x[1])
    manifold = manifold_of(model, [[0.5, 0.5, np.sqrt(0.5)]])
    assert manifold.dimension == 1
    assert manifold.curved


def test_thin_rows_are_equalities() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x), lower=1, upper=1 + 1e-5)
    model.subject_to(x[0] + x[1], lower=-5, upper=5)
    assert manifold_of(model, [[1.0, 0.0]]).dimension == 1


def test_points_near_the_manifold_come_onto_it() -> None:
    manifold = manifold_of(torus(), [[1.4, 0.0, 0.0]])
    x = np.random.default_rng(1).normal(size=(50, 3)) * 0.1 + [1.4, 0, 0]
    _, _, on = manifold.residuals(manifold.nearby(x))
    assert on.mean() > 0.9
    assert manifold.residuals(x)[2].mean() < 0.1


def test_torus_gets_the_surface_measure() -> None:
    """The density is R + r cos t at the angle t around the tube: the mean of cos t is r / 2R.

    If every step that ends on the torus were accepted, it would be 0.30.
    """
    x = walked(torus(1.0, 0.7), [1.7, 0, 0], 40, count=4000)
    around = (np.hypot(x[:, 0], x[:, 1]) - 1) / 0.7
    assert around.mean() == pytest.approx(0.35, abs=3 * 0.67 / np.sqrt(4000))
    assert np.abs(x.mean(axis=0)).max() < 4 * 0.75 / np.sqrt(4000)


def test_sphere_cut_by_bounds_and_an_inequality() -> None:
    """On the unit sphere each coordinate is uniform (Archimedes), here between -0.2 and 0.5."""
    model = Model()
    x = model.variable("x", shape=3, lower=[-1.5, -1.5, -0.2], upper=[1.5, 1.5, 1.5])
    model.subject_to(ca.sumsqr(x) == 1)
    model.subject_to(ca.exp(x[2]) <= np.exp(0.5))
    z = walked(model, [1, 0, 0], 50)[:, 2]
    counts, _ = np.histogram(z, bins=7, range=(-0.2, 0.5))
    assert counts.sum() == 2000
    assert np.abs(counts - 2000 / 7).max() < 4.5 * np.sqrt(2000 / 7)


def test_simplex_from_a_corner() -> None:
    model = Model()
    x = model.variable("x", shape=8, lower=0, upper=1)
    model.subject_to(ca.sum1(x) == 1)
    start = np.zeros(8)
    start[0] = 1
    points = walked(model, start, 120)
    np.testing.assert_allclose(points.mean(axis=0), 1 / 8, atol=4 * 0.11 / np.sqrt(2000))
    np.testing.assert_allclose(points.var(axis=0), 7 / (64 * 9), rtol=0.25)
    np.testing.assert_allclose(points.sum(axis=1), 1, atol=1e-6)


def test_ball_from_its_edge() -> None:
    model = Model()
    x = model.variable("x", shape=4, lower=-1, upper=1)
    model.subject_to(ca.sumsqr(x) <= 0.04)
    points = walked(model, [0.2, 0, 0, 0], 60)
    radius = np.linalg.norm(points, axis=1) / 0.2
    assert (radius**4).mean() == pytest.approx(0.5, abs=4 * 0.29 / np.sqrt(2000))  # uniform
    assert np.abs(points.mean(axis=0)).max() < 4 * 0.09 / np.sqrt(2000)


def test_variables_without_limits_are_normal() -> None:
    model = Model()
    model.variable("x", shape=2, start=[100, -100], scale=[1, 5])
    points = walked(model, [100, -100], 60, unlimited=[0, 1])
    np.testing.assert_allclose(points.mean(axis=0), [100, -100], atol=4 * 5 / np.sqrt(2000))
    np.testing.assert_allclose(points.std(axis=0), [1, 5], rtol=0.1)


def test_pieces_get_shares_by_area() -> None:
    """Two discs with areas 4 : 1; half of the points begin in each."""
    model = Model()
    x = model.variable("x", shape=2, lower=-10, upper=10)
    model.subject_to(ca.fmin(ca.sumsqr(x - 5) - 0.04, ca.sumsqr(x + 5) - 0.01) <= 0)
    manifold = manifold_of(model, [[5.0, 5.0]])
    rng = np.random.default_rng(1)
    begin = np.where(np.arange(1000)[:, None] % 2, 5.0, -5.0) + 0.05 * rng.uniform(-1, 1, (1000, 2))
    walk = FeasibleWalk(manifold, begin, NONE, rng)
    for _ in range(60):
        walk.step(learn=False)
    assert np.mean(walk.points[:, 0] > 0) == pytest.approx(0.8, abs=4 * 0.4 / np.sqrt(1000))
