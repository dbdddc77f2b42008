"""Repairs with many variables: the same answers as those of matrices, by sparse products."""

from __future__ import annotations

import numpy as np
import pytest

from archeng import Model
from archeng.distribution import (
    Distribution,
    diagonal_distribution,
    distribution_from_covariance,
    initial_distribution,
)
from archeng.model import FeasibleSet, compile_model, feasible_set
from archeng.repair import Repairer, RepairKind, dual
from archeng.repair.many_steps import ManySteps
from archeng.settings import Settings

SAME = 1e-7  # relative difference of distances that is rounding


def sparse_model(n: int, kind: str) -> Model:
    rng, model = np.random.default_rng(n), Model(kind)
    x = model.variable("x", shape=n, lower=-2, upper=2, start=0)
    for j in range(n):
        i = int(rng.integers(n))
        if kind == "linear":
            a, b = rng.normal(size=2)
            model.subject_to(a * x[j] + b * x[i] <= 0.5, name=f"row{j}")
        elif kind == "discs":
            k = (j + 1) % n
            model.subject_to(x[j] ** 2 + x[k] ** 2 + 0.5 * x[j] * x[k] <= 0.5, name=f"row{j}")
        else:  # hyperbolas: not convex
            k = (j + 1) % n
            model.subject_to((x[j] + 3) * (x[k] + 3) >= 8 + 0.1 * (j % 3), name=f"row{j}")
    return model


def metric(n: int, dense: bool, mean: float = 0.0) -> Distribution:
    rng = np.random.default_rng(5)
    begun = initial_distribution(np.full(n, mean), 0.5 * np.exp(rng.normal(size=n) / 3))
    if not dense:
        return diagonal_distribution(begun)
    Q = rng.normal(size=(n, n)) / np.sqrt(n)
    return distribution_from_covariance(begun.mean, begun.sigma**2 * (begun.covariance + Q @ Q.T))


def repairs(fs: FeasibleSet, d: Distribution, count: int = 4, settings: Settings | None = None):
    z = np.random.default_rng(2).standard_normal((count, fs.n))
    repairer = Repairer(fs, settings)
    return [repairer.repair(x, d, np.zeros(fs.n)) for x in d.mean + d.sigma * d.steps(z)]


def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasible_set, "MANY_VARIABLES", 3)


@pytest.mark.parametrize("kind", ["linear", "discs", "hyperbolas"])
@pytest.mark.parametrize("dense", [True, False])
def test_answers_are_those_of_matrices(monkeypatch: pytest.MonkeyPatch, kind: str, dense: bool):
    n = 16
    settings = Settings(handler="arch-nearest")  # the intersection may be given up earlier
    before = repairs(compile_model(sparse_model(n, kind)), metric(n, dense), 6, settings)
    many(monkeypatch)
    fs = compile_model(sparse_model(n, kind))
    after = repairs(fs, metric(n, dense), 6, settings)
    assert isinstance(Repairer(fs).settings, Settings)
    for one, other in zip(before, after, strict=True):
        assert other.feasible
        assert fs.is_feasible(other.x)
        assert other.kkt_residual < 1e-6
        if kind != "hyperbolas":  # there may be several nearest points
            assert other.distance_squared == pytest.approx(one.distance_squared, rel=SAME)
            assert other.active == one.active


def test_the_steps_for_many_variables_are_used(monkeypatch: pytest.MonkeyPatch):
    many(monkeypatch)
    fs = compile_model(sparse_model(8, "linear"))
    repairer = Repairer(fs)
    repairer.repair(np.full(8, 1.5), metric(8, dense=False))
    assert isinstance(repairer._sqp._steps, ManySteps)


def test_proximal_steps_come_to_the_same_answer(monkeypatch: pytest.MonkeyPatch):
    many(monkeypatch)
    fs, settings = compile_model(sparse_model(16, "linear")), Settings(handler="arch-nearest")
    fast = repairs(fs, metric(16, dense=False), settings=settings)
    monkeypatch.setattr(dual._Known, "solved", lambda self, a, s, free, rows: (None, free, rows))
    monkeypatch.setattr(dual, "_by_daqp", None)  # is not needed
    slow = repairs(fs, metric(16, dense=False), settings=settings)
    for one, other in zip(fast, slow, strict=True):
        assert other.feasible
        assert other.distance_squared == pytest.approx(one.distance_squared, rel=SAME)


@pytest.mark.parametrize("dense", [True, False])
def test_daqp_is_there_where_all_at_once_does_not_end(monkeypatch: pytest.MonkeyPatch, dense: bool):
    many(monkeypatch)
    fs, settings = compile_model(sparse_model(16, "linear")), Settings(handler="arch-nearest")
    fast = repairs(fs, metric(16, dense), settings=settings)
    monkeypatch.setattr(dual, "_ITERATIONS", 1)
    slow = repairs(fs, metric(16, dense), settings=settings)
    for one, other in zip(fast, slow, strict=True):
        assert other.feasible
        assert other.distance_squared == pytest.approx(one.distance_squared, rel=SAME)


def test_rows_that_say_the_same_twice(monkeypatch: pytest.MonkeyPatch):
    many(monkeypatch)
    model = Model("twice")
    x = model.variable("x", shape=6, lower=-2, upper=2)
    for j in range(3):
        model.subject_to(x[0] + x[1] <= 1 + 1e-12 * j, name=f"same{j}")
    fs = compile_model(model)
    d = metric(6, dense=False)
    repair = Repairer(fs).repair(np.full(6, 1.5), d, np.zeros(6))
    assert repair.feasible
    assert repair.x[0] + repair.x[1] == pytest.approx(1)


def test_undefined_rows_and_rows_without_a_common_point(monkeypatch: pytest.MonkeyPatch):
    many(monkeypatch)
    model = Model("undefined")
    x = model.variable("x", shape=5, lower=-2, upper=2)
    model.subject_to(np.e ** x[0] * (x[1] + 3) <= 4, name="steep")
    model.subject_to((x[2] + 1) ** 0.5 >= 0.5 + 0.1 * x[3], name="root")
    fs = compile_model(model)
    d, point = metric(5, dense=False), np.array([1.9, 1.9, -1.9, 1.9, 0.0])
    anchor = np.array([-1.0, 0.0, 0.0, 0.0, 0.0])
    repair = Repairer(fs).repair(point, d, anchor)
    assert repair.feasible
    alone = Repairer(fs, Settings(repair_solver="ipopt")).repair(point, d, anchor)
    assert alone.solver == "ipopt"
    assert alone.distance_squared == pytest.approx(repair.distance_squared, rel=1e-6)
    model.subject_to(x[0] + x[1] >= 1, name="a")
    model.subject_to(x[0] + x[1] + 1e-9 * x[4] <= 0.5, name="b")
    fs = compile_model(model)
    assert Repairer(fs).repair(np.zeros(5), d).kind is RepairKind.FAILED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "discs"])
def test_four_hundred_variables_are_certified(kind: str):
    fs = compile_model(sparse_model(400, kind))
    for repair in repairs(fs, metric(400, dense=False, mean=0.2)):
        assert repair.kind in (RepairKind.NEAREST, RepairKind.INTERSECTION)
        assert repair.max_violation == 0
        assert repair.kkt_residual < 1e-6
        assert fs.is_feasible(repair.x)
