"""`sample_feasible`: many different designs that satisfy everything, equalities included."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

import archeng
from archeng import Design, Model, Settings
from archeng.errors import InfeasibleModelError, ModelError, SettingsError


def points(model: Any, n: int, **options: Any) -> NDArray[np.float64]:
    designs = archeng.sample_feasible(model, n, **{"seed": 1, **options})
    assert all(isinstance(d, Design) for d in designs)
    return np.array([d.x for d in designs])


def least_distance(x: NDArray[np.float64]) -> float:
    gaps = np.linalg.norm(x[:, None] - x[None], axis=2)
    return float(gaps[np.triu_indices(len(x), 1)].min())


def ring() -> Model:
    model = Model("ring")
    x = model.variable("x", shape=2, lower=-3, upper=3)
    model.subject_to(ca.sumsqr(x), lower=4, upper=5, name="ring")
    model.subject_to(x[0] + x[1] >= -1, name="cut")
    return model


def circle() -> Model:
    """Sphere intersected with a plane: a circle of radius sqrt(4 - 1/3) around (1, 1, 1) / 3."""
    model = Model("circle")
    x = model.variable("x", shape=3, lower=-3, upper=3)
    model.subject_to(ca.sumsqr(x) == 4, name="sphere")
    model.subject_to(ca.sum1(x) == 1, name="plane")
    return model


def test_inequalities() -> None:
    x = points(ring(), 40)
    assert x.shape == (40, 2)
    square = np.sum(x**2, axis=1)
    assert np.all((square >= 4 * (1 - 1e-12)) & (square <= 5 * (1 + 1e-12)))
    assert np.all(x.sum(axis=1) >= -1 - 1e-12)
    assert np.all(np.abs(x) <= 3)
    for row in x:
        assert ring().violations(row).maximum == 0
    assert least_distance(x) > 0.02
    angles = np.arctan2(x[:, 1], x[:, 0])
    assert np.ptp(angles) > np.pi  # they go around, not just along one side


def test_equality_manifold() -> None:
    x = points(circle(), 30)
    assert x.shape == (30, 3)
    assert np.all(np.abs(np.sum(x**2, axis=1) - 4) <= 1e-6 * (1 + 1e-9))
    assert np.all(np.abs(x.sum(axis=1) - 1) <= 1e-6 * (1 + 1e-9))
    assert least_distance(x) > 0.01
    centred = x - 1 / 3
    np.testing.assert_allclose(np.linalg.norm(centred, axis=1), np.sqrt(4 - 1 / 3), rtol=1e-5)
    u, v = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    angles = np.sort(np.arctan2(centred @ u, centred @ v))
    gaps = np.diff([*angles, angles[0] + 2 * np.pi])
    assert gaps.max() < np.pi / 2  # all around the circle


def test_box_only_and_fixed_variables() -> None:
    model = Model()
    model.variable("x", shape=2, lower=[0, 10], upper=[1, 20])
    model.variable("c", lower=5, upper=5)
    x = points(model, 20)
    assert np.all(x[:, 2] == 5)
    assert np.all((x[:, :2] >= [0, 10]) & (x[:, :2] <= [1, 20]))
    assert np.all(np.ptp(x[:, :2], axis=0) > [0.5, 5])  # both variables count, whatever their unit


@pytest.mark.parametrize("curved", [False, True])
def test_one_variable(curved: bool) -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=4)
    if curved:
        model.subject_to(x**2 >= 1)
    values = points(model, 10)[:, 0]
    assert np.all((values >= (1 if curved else 0)) & (values <= 4))
    assert np.ptp(values) > 1.5


def test_model_without_rows() -> None:
    model = Model()
    model.variable("x", shape=2, start=[100, -100], scale=[1, 5])
    x = points(model, 10)
    assert x.shape == (10, 2)
    np.testing.assert_allclose(x.mean(axis=0), [100, -100], atol=10)


@pytest.mark.parametrize("n", [1, 2, 7, np.int64(3)])
def test_number_of_points(n: Any) -> None:
    assert len(points(circle(), n)) == n


def test_seed_reproduces_and_different_seeds_differ() -> None:
    first, second = points(ring(), 8, seed=3), points(ring(), 8, seed=3)
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != points(ring(), 8, seed=4).tobytes()


def test_designs_are_by_name() -> None:
    (design,) = archeng.sample_feasible(ring(), 1, seed=1)
    assert design["x"].shape == (2,)


def test_opti_and_nlp() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(0, x, 1))
    opti.subject_to(x[0] + x[1] == 1)
    sums = points(opti, 5).sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=1.001e-6)
    y = ca.SX.sym("y", 2)
    sums = points({"x": y, "g": ca.sum1(y)}, 5, lbx=0, ubx=1, lbg=1, ubg=1).sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=1.001e-6)


def test_a_set_of_one_point_gives_points_within_the_tolerance() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x == [1, 2], name="pin")
    found = points(model, 4)
    assert 1 <= len(found) <= 4
    np.testing.assert_allclose(found, np.broadcast_to([1, 2], found.shape), atol=1.001e-6)


def test_infeasible_model_names_the_conflict() -> None:
    model = Model("impossible")
    x = model.variable("x", shape=2, lower=0, upper=1)
    model.subject_to(x[0] + x[1] >= 3, name="too much")
    with pytest.raises(InfeasibleModelError, match="too much") as caught:
        archeng.sample_feasible(model, 3, seed=1)
    assert any("too much" in c for c in caught.value.conflicts)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", None, True])
def test_bad_number(n: Any) -> None:
    with pytest.raises(SettingsError, match="n must be an integer of at least 1"):
        archeng.sample_feasible(ring(), n)


@pytest.mark.parametrize(
    ("option", "value"), [("seed", -1), ("seed", "a"), ("settings", 3), ("settings", {})]
)
def test_bad_options(option: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=option):
        archeng.sample_feasible(ring(), 2, **{option: value})


def test_unbounded_model() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0)
    model.subject_to(x[0] <= x[1])
    with pytest.raises(ModelError, match=r"x\[0\].*start= and scale="):
        archeng.sample_feasible(model, 3)


def test_settings_are_used() -> None:
    with pytest.raises(SettingsError, match="needs linear rows"):
        archeng.sample_feasible(ring(), 2, settings=Settings(repair_solver="qp"))
