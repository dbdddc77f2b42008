"""All solvers of the ladder give the same repaired points."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from repair_helpers import (
    check_certificate,
    deviations,
    feasible_set,
    metric,
    polytope,
    random_metric,
)

from archeng.repair import Repairer, RepairKind
from archeng.settings import Settings


def linear_model(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    m = int(rng.integers(2, 2 * n + 2))
    A = rng.standard_normal((m, n))
    c = rng.standard_normal(n)
    b = A @ c + np.linalg.norm(A, axis=1) * rng.uniform(0.1, 1.0, m)
    bounds = {"lower": c - rng.uniform(0.2, 2, n), "upper": c + rng.uniform(0.2, 2, n)}
    return polytope(A, b, **(bounds if seed % 2 else {})), c, random_metric(n, rng, 10.0), rng


def linear_model_with_equality(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    A, E = rng.standard_normal((n, n)), rng.standard_normal((2, n))
    c = rng.standard_normal(n)
    b = A @ c + rng.uniform(0.1, 1.0, n)

    def rows(x):
        result = [(ca.dot(ca.DM(a), x), -np.inf, float(v)) for a, v in zip(A, b, strict=True)]
        return result + [(ca.dot(ca.DM(e), x), float(e @ c), float(e @ c)) for e in E]

    return feasible_set(n, rows), c, random_metric(n, rng, 10.0), rng


def nonlinear_model(seed: int):
    """Convex rows of several kinds, so that the nearest point is unique."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    c = rng.uniform(-0.3, 0.3, n)
    w = rng.uniform(0.3, 1.5, n)
    a = rng.standard_normal(n)

    def rows(x):
        return [
            (ca.dot(ca.DM(w), (x - ca.DM(c)) ** 2), -np.inf, 1.0),
            (ca.sum1(ca.exp(0.5 * (x - ca.DM(c)))), -np.inf, n + 0.3),
            (ca.dot(ca.DM(a), x), -np.inf, float(a @ c) + 0.2),
            (x[0] ** 4 + x[1], -np.inf, float(c[0] ** 4 + c[1]) + 0.5),
        ]

    return feasible_set(n, rows, lower=-2, upper=1.2), c, random_metric(n, rng, 5.0, 0.7), rng


FAMILIES = {
    "linear": (linear_model, ("auto", "qp", "sqp", "ipopt")),
    "linear with equality": (linear_model_with_equality, ("auto", "qp", "sqp", "ipopt")),
    "nonlinear": (nonlinear_model, ("auto", "sqp", "ipopt")),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(8))
def test_solvers_agree_on_the_nearest_point(family: str, seed: int):
    make, solvers = FAMILIES[family]
    fs, c, d, rng = make(seed)
    repairers = {
        s: Repairer(fs, Settings(repair_solver=s, handler="arch-nearest")) for s in solvers
    }
    for reach in (0.3, 1.0, 3.0):
        x = c + reach * (d.scaled_factor @ rng.standard_normal(fs.n))
        found = {s: r.repair(x, d) for s, r in repairers.items()}
        for r in found.values():
            check_certificate(fs, x, d, r)
            assert deviations(d, r.x, found["ipopt"].x) < 1e-6
            assert r.kind is found["ipopt"].kind
            assert r.distance_squared == pytest.approx(
                found["ipopt"].distance_squared, rel=1e-5, abs=1e-9
            )


@pytest.mark.parametrize("seed", range(8))
def test_solvers_agree_on_the_intersection_of_planes(seed: int):
    fs, c, d, rng = linear_model(seed)
    repairers = {s: Repairer(fs, Settings(repair_solver=s)) for s in ("auto", "qp", "sqp", "ipopt")}
    for reach in (0.5, 1.0, 2.0):
        x = c + reach * (d.scaled_factor @ rng.standard_normal(fs.n))
        found = {s: r.repair(x, d) for s, r in repairers.items()}
        for r in found.values():
            check_certificate(fs, x, d, r)
            assert r.kind is found["qp"].kind
            assert deviations(d, r.x, found["qp"].x) < 1e-6


def test_the_record_names_the_solver():
    x, d = np.array([3.0, 4.0]), metric([0, 0])
    ball = feasible_set(2, lambda v: [(ca.sumsqr(v), -np.inf, 1.0)])
    plane = polytope([[1.0, 1.0]], [1.0])
    for fs, choice, name in (
        (plane, "auto", "qp"),
        (plane, "qp", "qp"),
        (plane, "sqp", "qp"),
        (plane, "ipopt", "ipopt"),
        (ball, "auto", "sqp"),
        (ball, "sqp", "sqp"),
        (ball, "ipopt", "ipopt"),
    ):
        r = Repairer(fs, Settings(repair_solver=choice)).repair(x, d)
        assert r.solver == name
        check_certificate(fs, x, d, r)
    assert Repairer(ball).repair(np.zeros(2), d).solver == "none"


def test_iteration_limit_of_ipopt_is_obeyed():
    ball = feasible_set(2, lambda v: [(ca.sumsqr(v), -np.inf, 1.0)])
    chosen = Settings(repair_solver="ipopt", ipopt_max_iterations=1, handler="arch-nearest")
    r = Repairer(ball, chosen).repair(np.array([30.0, 40.0]), metric([0, 0]))
    assert r.iterations <= 1
    assert r.kind is RepairKind.FAILED or ball.is_feasible(r.x)


def test_anchor_does_not_change_an_easy_repair():
    fs, c, d, rng = nonlinear_model(3)
    repairer = Repairer(fs)
    for _ in range(5):
        x = c + 2 * (d.scaled_factor @ rng.standard_normal(fs.n))
        without, with_anchor = repairer.repair(x, d), repairer.repair(x, d, c)
        assert without.x.tobytes() == with_anchor.x.tobytes()


def test_anchor_rescues_a_point_where_the_gradient_vanishes():
    """At the centre of a sphere no direction leads out; a known feasible point does."""
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), 1.0, np.inf)])
    d = metric(np.zeros(3))
    r = Repairer(fs).repair(np.zeros(3), d, np.array([0.0, 3.0, 0.0]))
    check_certificate(fs, np.zeros(3), d, r)
    assert r.distance_squared == pytest.approx(1.0, rel=1e-6)
