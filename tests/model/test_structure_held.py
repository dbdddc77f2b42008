"""Reduced sets with their discrete variables held."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from archeng import Model, Settings
from archeng.distribution import Distribution
from archeng.model import FeasibleSet, compile_model
from archeng.model.fibre import fibre
from archeng.repair import Repairer


def mixed() -> FeasibleSet:
    """An integer, two real variables, 34 that follow, two of them from the integer alone."""
    model = Model("mixed")
    n = model.integer("n", lower=1, upper=5, start=2)
    u = model.variable("u", shape=2, lower=0, upper=2, start=[0.4, 0.6])
    w = model.variable("w", shape=34, lower=-80, upper=80)
    for i in range(32):
        model.subject_to(w[i] + 0.1 * w[i] ** 3 == n * u[0] - 0.1 * i * u[1] ** 2, name=f"w{i}")
    for i in (32, 33):
        model.subject_to(w[i] + 0.1 * w[i] ** 3 == i * n, name=f"w{i}")
    model.subject_to(w[0] * u[1] <= 1.5, name="product")
    model.subject_to(u[0] + u[1] + 0.1 * n <= 2.5, name="sum")
    model.subject_to(w[32] + w[33] <= 40, name="of the integer")
    return compile_model(model)


def whole(level: float, y: Any) -> Any:
    return np.array([level, *y])


@pytest.mark.parametrize("level", [1.0, 3.0, 5.0])
def test_rows_and_derivatives_are_those_of_the_whole_set(level: float) -> None:
    fs = mixed()
    assert fs.dependents is not None
    assert fs.free_names == ("n", "u[0]", "u[1]")
    held = fibre(fs, whole(level, fs.start[1:]))
    assert held.free_names == ("u[0]", "u[1]")
    assert held.lattice is None
    names = [row.name for row in fs.rows]
    kept = [names.index(row.name) for row in held.rows]
    assert kept == sorted(kept)
    gone = set(names) - {row.name for row in held.rows}
    assert gone == {"bounds of n", "bounds of w[32]", "bounds of w[33]", "of the integer"}
    weights = np.random.default_rng(1).standard_normal(held.m)
    spread = np.zeros(fs.m)
    spread[kept] = weights
    for y in ([0.4, 0.6], [1.2, 0.3], [0.1, 1.7]):
        at = np.array(y)
        full = fs.expand(whole(level, y))
        assert held.expand(at).tobytes() == full.tobytes()
        values, J = fs.values_and_jacobian(whole(level, y))
        mine, slopes = held.values_and_jacobian(at)
        np.testing.assert_array_equal(mine, values[kept])
        np.testing.assert_allclose(slopes, J[kept][:, 1:], rtol=1e-9, atol=1e-12)
        H = fs.hessian(whole(level, y), spread)[1:, 1:]
        np.testing.assert_allclose(held.hessian(at, weights), H, rtol=1e-8, atol=1e-10)
    again = pickle.loads(pickle.dumps(held))
    assert again.values(at).tobytes() == held.values(at).tobytes()


def test_it_does_not_matter_when_it_was_made() -> None:
    """A run keeps some and makes others again; either way solutions are those of the whole set."""
    fs = mixed()
    early, y = fibre(fs, whole(3.0, [0.4, 0.6])), np.array([0.9, 0.5])
    fs.begin_at(fs.expand(whole(3.0, [1.1, 0.2])))
    late = fibre(fs, whole(3.0, [0.7, 0.7]))
    assert early.values(y).tobytes() == late.values(y).tobytes()
    assert (
        early.values(y)[-1] == fs.values(whole(3.0, y))[[r.name for r in fs.rows].index("product")]
    )


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
def test_repairs_leave_the_held_ones_alone(solver: Any) -> None:
    fs = mixed()
    held = fibre(fs, whole(3.0, [0.4, 0.6]))
    d = Distribution(np.array([0.4, 0.6]), 0.5, np.eye(2), np.eye(2))
    repairer = Repairer(held, Settings(repair_solver=solver, handler="arch-nearest"))
    for y in ([1.9, 1.9], [1.5, 1.2], [2.4, 0.2]):
        r = repairer.repair(np.array(y), d, np.array([0.4, 0.6]))
        assert r.feasible
        assert r.solver == solver
        full = held.expand(r.x)
        assert full[0] == 3.0
        assert fs.is_feasible(whole(3.0, r.x))
        assert not np.any(fs.violations_in_full(full))
        grid = np.stack(np.meshgrid(*[np.linspace(0, 2, 81)] * 2), axis=-1).reshape(-1, 2)
        near = grid[np.sum((grid - y) ** 2, axis=1) < np.sum((r.x - y) ** 2) * (1 - 1e-4)]
        assert not any(fs.is_feasible(whole(3.0, p)) for p in near)  # nothing nearer on a grid
