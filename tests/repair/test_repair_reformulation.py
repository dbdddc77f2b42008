"""Rows such as products: recognised by their derivatives, repaired by their logarithm."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from repair_helpers import check_certificate, deviations, feasible_set, metric

from archeng.repair import Repairer
from archeng.repair.reformulation import homogeneous_rows, reformulated
from archeng.settings import Settings

N = 6
INF = np.inf


def product(x):
    result = 1
    for i in range(x.numel()):
        result = result * x[i]
    return result


def found_in(expression, low, high, n=N, lower=0.0, upper=10.0):
    bounds = {"lower": [lower] * n, "upper": [upper] * n}
    fs = feasible_set(n, lambda x: [(expression(x), low, high)], **bounds)
    return homogeneous_rows(fs, metric(np.ones(n)))


@pytest.mark.parametrize(
    ("name", "expression", "low", "high", "degree"),
    [
        ("product", product, 0.75, INF, N),
        ("turned round", lambda x: 0.75 - product(x), -INF, 0.0, N),
        ("scaled and shifted", lambda x: 7 + 30 * product(x), 50.0, INF, N),
        ("some of the variables", lambda x: x[0] * x[1] * x[2], 0.1, INF, 3),
        ("powers", lambda x: x[0] ** 2 * ca.sqrt(x[1]) * x[2], 0.1, INF, 3.5),
        ("about another centre", lambda x: product(x + 1), 2.0, INF, N),
        ("of linear forms", lambda x: (x[0] + x[1]) * (x[1] + 2 * x[2]) * x[3], 1.0, INF, 3),
    ],
)
def test_concave_homogeneous_rows_are_recognised(name, expression, low, high, degree):
    (row,) = found_in(expression, low, high)
    assert row.degree == pytest.approx(degree, rel=1e-5), name
    assert row.limit > 0


@pytest.mark.parametrize(
    ("name", "expression", "low", "high"),
    [
        ("the set is not convex", product, -INF, 0.75),
        ("two limits", product, 0.5, 0.75),
        ("no positive limit", product, 0.0, INF),
        ("a quadratic", lambda x: x[0] * x[1], 1.0, INF),
        ("a sum of products", lambda x: product(x) + x[0] * x[1], 1.0, INF),
        ("convex", lambda x: ca.sum1(x**3), 1.0, INF),
        ("an exponential", lambda x: ca.exp(x[0]) - x[1], 1.0, INF),
        ("a logarithm already", lambda x: ca.sum1(ca.log(x)), 0.0, INF),
    ],
)
def test_other_rows_are_left_alone(name, expression, low, high):
    assert found_in(expression, low, high) == (), name


def test_rows_are_recognised_after_an_affine_map():
    rng = np.random.default_rng(1)
    A, t = rng.standard_normal((N, N)), rng.standard_normal(N)

    fs = feasible_set(N, lambda x: [(product(ca.DM(A) @ (x - ca.DM(t))), 0.75, INF)])
    mean = np.linalg.solve(A, np.full(N, 2.0)) + t
    (row,) = homogeneous_rows(fs, metric(mean, 0.5, np.linalg.inv(A)))
    assert row.degree == pytest.approx(N, rel=1e-5)
    assert row.centre == pytest.approx(t, abs=1e-6)


def test_reformulated_rows_are_logarithms_with_exact_derivatives():
    bounds = {"lower": [0.0] * N, "upper": [10.0] * N}
    fs = feasible_set(N, lambda x: [(0.75 - product(x), -INF, 0.0)], **bounds)
    reformulation = reformulated(fs, metric(np.ones(N)))
    for scale in (1.0, 1e-6):  # the product is 1e-36 of its limit then
        x = scale * np.random.default_rng(0).uniform(0.5, 2.0, N)
        values, jacobian = reformulation.feasible_set.values_and_jacobian(x)
        hessian = reformulation.feasible_set.hessian(x, np.ones(fs.m))
        assert values[-1] == pytest.approx(-np.log(x).sum(), rel=1e-9)
        assert jacobian[-1] == pytest.approx(-1 / x, rel=1e-9)
        assert hessian == pytest.approx(np.diag(1 / x**2), rel=1e-8, abs=1e-8 / scale**2)
    assert reformulation.feasible_set.upper[-1] == pytest.approx(-np.log(0.75))
    values = reformulation.feasible_set.values(np.full(N, 0.9))
    assert reformulation.slopes(values)[-1] == pytest.approx(1 / 0.9**N)


@pytest.mark.parametrize("sigma", [2.0, 0.3, 1e-4])
def test_products_are_repaired_like_their_logarithms_and_without_ipopt(sigma):
    n = 12
    bounds = {"lower": [0.0] * n, "upper": [10.0] * n}
    written = feasible_set(n, lambda x: [(0.75 - product(x), -INF, 0.0)], **bounds)
    logarithm = feasible_set(n, lambda x: [(ca.sum1(ca.log(x)), np.log(0.75), INF)], **bounds)
    settings = Settings(repair_solver="sqp", handler="arch-nearest")
    one, other = Repairer(written, settings), Repairer(logarithm, settings)
    rng = np.random.default_rng(3)
    boundary = np.full(n, 0.75 ** (1 / n))
    for _ in range(25):
        d = metric(boundary, sigma)
        x = boundary + sigma * rng.standard_normal(n)
        first, second = one.repair(x, d), other.repair(x, d)
        check_certificate(written, x, d, first)
        assert first.feasible
        assert second.feasible
        assert deviations(d, first.x, second.x) < 1e-5


def test_multipliers_are_those_of_the_row_as_written():
    bounds = {"lower": [0.0] * 3, "upper": [10.0] * 3}
    fs = feasible_set(3, lambda x: [(product(x), 8.0, INF)], **bounds)
    d = metric(np.full(3, 1.9))
    repair = Repairer(fs).repair(np.full(3, 1.9), d)
    assert repair.x == pytest.approx(np.full(3, 2.0), rel=1e-6)
    # z + u grad = 0 with z = 0.1 in each variable and grad = 4
    assert repair.multipliers == pytest.approx([0.1 / 4], rel=1e-3)
