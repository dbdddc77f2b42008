"""Iterates and steps of the SQP: they agree with the formulas, and with each other."""

from __future__ import annotations

import casadi as ca
import numpy as np
from repair_helpers import feasible_set, random_metric

from archeng.model import FeasibleSet
from archeng.repair.problem import Metric, ProblemMaker
from archeng.repair.reformulation import reformulated
from archeng.repair.step import CompiledSteps

N = 3


def ball_and_plane() -> FeasibleSet:
    return feasible_set(
        N, lambda x: [(ca.sum1(x), -np.inf, 1.0), (ca.sumsqr(x), 0.1, 2.0)], lower=-2, upper=2
    )


def loaded(fs: FeasibleSet, seed: int = 0) -> tuple[CompiledSteps, Metric, np.ndarray, np.ndarray]:
    """Steps with the problem of a point outside; its metric, point and row scales."""
    rng = np.random.default_rng(seed)
    distribution = random_metric(N, rng)
    x = 2 * rng.standard_normal(N)
    problem = ProblemMaker(reformulated(fs, distribution), 1e-9).make(distribution, x, fs.values(x))
    steps = CompiledSteps(fs)
    steps.load(problem, problem.nearest)
    return steps, problem.metric, x, problem.norms


def test_an_iterate_has_rows_gradients_and_the_lagrangian() -> None:
    fs, rng = ball_and_plane(), np.random.default_rng(1)
    steps, metric, x, norms = loaded(fs)
    z, u = rng.standard_normal(N), rng.standard_normal(fs.m)
    iterate = steps.evaluate(z, u)
    values, jacobian = fs.values_and_jacobian(x + metric.L @ z)
    A = jacobian @ metric.L / norms[:, None]
    np.testing.assert_allclose(iterate.c, values / norms, rtol=1e-12)
    np.testing.assert_allclose(steps.arrays["A"].reshape((fs.m, N), order="F"), A, atol=1e-12)
    assert np.isclose(iterate.residual, np.abs(z + A.T @ u).max(), rtol=1e-12)
    assert np.isclose(iterate.half_squared, z @ z / 2)
    lengths = np.linalg.norm(A, axis=1)
    np.testing.assert_allclose((iterate.flattest, iterate.steepest), (lengths.min(), lengths.max()))
    low, high = steps.arrays["low"] / norms, steps.arrays["high"] / norms
    outside = np.maximum(np.maximum(low - iterate.c, iterate.c - high), 0)
    assert np.isclose(iterate.violation, outside.sum())


def test_without_multipliers_of_curved_rows_all_kinds_are_the_same_step() -> None:
    fs = ball_and_plane()
    steps, _, _, _ = loaded(fs)
    u = np.zeros(fs.m)
    u[: fs.m - fs.n_nonlinear] = 0.7
    steps.evaluate(np.array([0.1, -0.4, 0.2]), u)
    identity, plain, augmented = (steps.step(kind) for kind in ("identity", "plain", "augmented"))
    assert identity.solved
    for other in (plain, augmented):
        np.testing.assert_array_equal(other.d, identity.d)
        np.testing.assert_array_equal(other.u, identity.u)


def test_multipliers_of_curved_rows_change_the_step() -> None:
    fs = ball_and_plane()
    steps, _, _, _ = loaded(fs)
    u = np.zeros(fs.m)
    u[-1] = 2.0
    steps.evaluate(np.array([0.1, -0.4, 0.2]), u)
    identity, plain = (steps.step(kind) for kind in ("identity", "plain"))
    assert plain.solved
    assert not np.allclose(plain.d, identity.d)


def test_undefined_rows_leave_the_linearisation() -> None:
    fs = feasible_set(N, lambda x: [(ca.log(x[0]), -1.0, np.inf), (ca.sum1(x), -np.inf, 1.0)])
    steps, metric, x, _ = loaded(fs)
    z = np.linalg.solve(metric.L, np.array([-1.0, 0.0, 0.0]) - x)
    iterate = steps.evaluate(z, np.zeros(fs.m))
    assert iterate.violation == np.inf
    assert not iterate.satisfied
    assert steps.arrays["usable"].tolist() == [1.0, 0.0]
    assert np.all(np.isfinite(steps.arrays["A"]))
