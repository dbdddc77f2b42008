"""Large models: the working set gives the steps and the answers of all rows."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repair_helpers import (
    NEAREST_ONLY,
    check_certificate,
    deviations,
    feasible_set,
    linear_nearest,
    metric,
    polytope,
    random_metric,
)  # fmt: skip
from scipy.optimize import NonlinearConstraint

from archeng import from_scipy
from archeng.model import Model, compile_model
from archeng.repair import Repairer, RepairKind, linearised
from archeng.repair.least_distance import LeastDistance, lower_root
from archeng.repair.linearised import SparseRows, is_large
from archeng.repair.problem import ProblemMaker
from archeng.repair.reformulation import Reformulation
from archeng.repair.step import CompiledSteps
from archeng.repair.working_set import WorkingSetSteps
from archeng.settings import Settings
from case_studies import cec2006, engineering
from case_studies.benchmarks.models import rotated_box, wind_farm
from case_studies.wind_farm.model import build_model

SPACING = 260.0
DENSE, SPARSE = 10**9, 0


def farm(turbines: int):
    """As densely filled as the case study; no start outside the circle."""
    return compile_model(wind_farm(turbines, radius=1300.0 * np.sqrt(turbines / 16)))


def layout(turbines: int, seed: int = 0) -> np.ndarray:
    """A feasible layout: a square grid in the circle, a little disturbed."""
    radius = 1300.0 * np.sqrt(turbines / 16)
    rng = np.random.default_rng(seed)
    ticks = np.arange(-radius, radius, 1.5 * SPACING)
    grid = np.array([(a, b) for a in ticks for b in ticks])
    grid = grid[np.hypot(*grid.T) < radius - 0.2 * SPACING][:turbines]
    assert len(grid) == turbines
    return (grid + rng.uniform(-0.1, 0.1, grid.shape) * SPACING).T.reshape(-1)


@pytest.fixture
def make(monkeypatch):
    """Repairers that take a model for a large or for a small one."""

    def build(fs, limit, chosen=None):
        monkeypatch.setattr(linearised, "LARGE_MODEL", limit)
        repairer = Repairer(fs, chosen)
        centre = np.zeros(fs.n)
        repairer.repair(centre, metric(centre))  # the solvers are made by the first repair
        return repairer

    return build


def dense_and_sparse(fs, make, chosen=None):
    return make(fs, DENSE, chosen), make(fs, SPARSE, chosen)


# -- which models are large -------------------------------------


def test_no_benchmark_of_the_suites_is_a_large_model():
    suites = (cec2006, engineering)
    models = [suite.problem(name).model for suite in suites for name in suite.names()]
    models += [build_model(16), wind_farm(16), rotated_box(100)]
    assert not any(is_large(compile_model(m)) for m in models)
    assert is_large(compile_model(build_model(36)))


# -- sparse derivatives -----------------------------------------


def mixed_set():
    """Bounds on some variables, linear rows, and nonlinear rows of few variables."""
    model = Model("mixed")
    x = model.variable("x", shape=5, lower=-2.0, upper=3.0)
    y = model.variable("y", shape=3, start=np.zeros(3), scale=1.0)
    model.subject_to(x[0] + 2 * y[2] <= 1)
    model.subject_to(y[0] - x[4] == 0.5)
    model.subject_to(x[1] * y[1] >= -1)
    model.subject_to(ca.exp(x[3]) + y[2] ** 2 <= 4)
    model.subject_to(ca.log(x[2]) >= -1)
    return compile_model(model)


def set_with_a_python_function():
    def function(v):
        return [v[1] ** 2 + v[2] ** 2, v[0] * v[5]]

    constraint = NonlinearConstraint(function, -np.inf, 1.0, hess=lambda v, w: _hessian(w))
    return compile_model(from_scipy(np.full(6, 0.1), bounds=[(0, 2)] * 6, constraints=constraint))


def _hessian(w):
    H = np.zeros((6, 6))
    H[1, 1] = H[2, 2] = 2 * w[0]
    H[0, 5] = H[5, 0] = w[1]
    return H


@pytest.mark.parametrize("make_set", [mixed_set, set_with_a_python_function])
def test_sparse_products_are_the_dense_ones(make_set):
    fs, rng = make_set(), np.random.default_rng(1)
    rows = SparseRows(fs)
    for _ in range(3):
        y, v, w = rng.uniform(0.1, 1, fs.n), rng.standard_normal(fs.n), rng.standard_normal(fs.m)
        L = rng.standard_normal((fs.n, fs.n))
        _, J = fs.values_and_jacobian(y)
        nonzeros = rows.nonzeros(y)
        np.testing.assert_array_equal(np.sort(nonzeros[nonzeros != 0]), np.sort(J[J != 0]))
        np.testing.assert_allclose(rows.times(nonzeros, v), J @ v, rtol=1e-13, atol=1e-14)
        some = np.array([fs.m - 1, 0, 3])
        np.testing.assert_array_equal(rows.chosen(nonzeros, some), J[some])
        assert rows.chosen(nonzeros, some[:0]).shape == (0, fs.n)
        bend = L.T @ fs.hessian(y, w) @ L
        np.testing.assert_allclose(rows.bend(y, w, L), bend, rtol=1e-12, atol=1e-12)
        one = np.where(np.arange(fs.m) == fs.m - 3, 1.0, 0.0)
        bend = L.T @ fs.hessian(y, one) @ L
        np.testing.assert_allclose(rows.bend(y, one, L), bend, rtol=1e-12, atol=1e-12)


# -- one step ---------------------------------------------------


def problems(fs, x, d):
    reformulation = Reformulation(fs, fs)
    problem = ProblemMaker(reformulation, 1e-11).make(d, x, fs.values(x))
    return problem, (problem.nearest, problem.pinned)


def check_same_look(a, b):
    assert a.satisfied == b.satisfied
    for name in ("violation", "residual", "size", "half_squared", "flattest", "steepest"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-9, abs=1e-12), name
    np.testing.assert_allclose(a.c, b.c, rtol=1e-13)


def check_same_step(a, b):
    assert (a.solved, a.relaxed, a.reflected) == (b.solved, b.relaxed, b.reflected)
    if a.solved:
        close = {"rtol": 1e-6, "atol": 1e-8 * (1 + b.longest)}
        np.testing.assert_allclose(a.d, b.d, **close)
        np.testing.assert_allclose(a.Ad, b.Ad, **close)
        np.testing.assert_allclose(a.u, b.u, rtol=1e-6, atol=1e-7 * (1 + b.largest))
        assert (a.longest, a.slope) == pytest.approx((b.longest, b.slope), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ["identity", "plain", "augmented", "reflected"])
def test_steps_are_those_with_all_rows(kind: str):
    """From points with violated rows, with and without multipliers and shifts."""
    fs, rng = farm(12), np.random.default_rng(3)
    dense, working = CompiledSteps(fs), WorkingSetSteps(fs)
    n_solved = 0
    for k in range(6):
        start = layout(12, k)
        d = random_metric(fs.n, rng, 4.0, 60.0)
        x = start + d.scaled_factor @ rng.standard_normal(fs.n)
        problem, limits = problems(fs, x, d)
        u = np.zeros(fs.m)
        near = fs.violations(x) > 0
        u[near] = 0.3 * rng.standard_normal(near.sum())
        for aims in limits:
            for steps in (dense, working):
                steps.load(problem, aims)
            for z, weights, shift in (
                (np.zeros(fs.n), 0 * u, 0.0),
                (0.3 * rng.standard_normal(fs.n), u, 0.01 * rng.standard_normal(fs.m)),
            ):
                check_same_look(working.evaluate(z, weights), dense.evaluate(z, weights))
                a, b = (steps.step(kind, shift=shift) for steps in (working, dense))
                check_same_step(a, b)
                n_solved += a.solved
    assert n_solved >= 6


def test_elastic_steps_are_those_with_all_rows():
    fs, rng = farm(12), np.random.default_rng(4)
    d = metric(np.zeros(fs.n), 100.0)
    dense, working = CompiledSteps(fs), WorkingSetSteps(fs)
    for k in range(4):
        x = 0.3 * layout(12, k) + 20.0 * rng.standard_normal(fs.n)
        problem, limits = problems(fs, x, d)
        for aims in limits:
            z = 0.1 * rng.standard_normal(fs.n)
            for steps in (dense, working):
                steps.load(problem, aims)
                steps.evaluate(z, np.zeros(fs.m))
            a, b = (steps.step("elastic", price=50.0) for steps in (working, dense))
            assert a.solved
            check_same_step(a, b)


def test_rows_that_are_undefined_leave_the_linearisation():
    fs = mixed_set()
    x = np.array([0.5, 0.5, -1.0, 0.0, 0.0, 3.0, -1.0, 2.0])  # log(x[2]) is undefined
    problem, (aims, _) = problems(fs, x, metric(np.zeros(8), 0.5))
    dense, working = CompiledSteps(fs), WorkingSetSteps(fs)
    for steps in (dense, working):
        steps.load(problem, aims)
        seen = steps.evaluate(np.zeros(8), np.zeros(fs.m))
        assert seen.violation == np.inf
        assert not seen.satisfied
    a, b = (steps.step("identity") for steps in (working, dense))
    assert a.solved
    assert b.solved
    np.testing.assert_allclose(a.d, b.d, atol=1e-9)


def test_rows_join_the_working_set_when_the_step_violates_them(monkeypatch):
    """A wall three deviations away stops the step out of a violated row."""
    calls = []
    solve = LeastDistance.__call__

    def counted(self, root, g, A, low, high):
        calls.append(len(A))
        return solve(self, root, g, A, low, high)

    monkeypatch.setattr(LeastDistance, "__call__", counted)
    A = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    fs = polytope(A, [-10.0, 3.0, 50.0])  # x0 + x1 <= -10; bounds come first: x0 >= -3, x2 <= 50
    problem, (aims, _) = problems(fs, np.zeros(3), metric(np.zeros(3)))
    working = WorkingSetSteps(fs)
    _, step = working.first_step(problem, aims, np.zeros(3))
    assert calls == [1, 2]
    assert step.solved
    np.testing.assert_allclose(step.d, [-3.0, -7.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(step.u, [-4.0, 0.0, 7.0 * np.sqrt(2)], atol=1e-8)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), k=st.integers(0, 40))
def test_quadratic_programs_satisfy_their_optimality_conditions(seed: int, n: int, k: int):
    rng = np.random.default_rng(seed)
    B, A, g = rng.standard_normal((n, n)), rng.standard_normal((k, n)), rng.standard_normal(n)
    W = B @ B.T + 0.1 * np.eye(n)
    inside = rng.standard_normal(n)
    low = A @ inside - rng.uniform(0, 1, k)
    high = np.where(rng.random(k) < 0.5, 1e30, low + rng.uniform(1, 2, k))
    root = lower_root(W)
    d, u = LeastDistance()(root, g, A, low, high)
    size = 1 + np.abs(d).max() + np.abs(u).max(initial=0)
    np.testing.assert_allclose(W @ d + g + A.T @ u, 0, atol=1e-8 * size * (1 + np.abs(W).max()))
    assert np.maximum(low - A @ d, A @ d - high).max(initial=0) < 1e-9 * size
    assert np.all(np.where(u < -1e-9, np.abs(A @ d - low), 0) < 1e-8 * size)
    assert np.all(np.where(u > 1e-9, np.abs(A @ d - high), 0) < 1e-8 * size)


def test_indefinite_matrices_have_no_root():
    assert lower_root(np.diag([1.0, -1e-3])) is None
    np.testing.assert_array_equal(lower_root(np.eye(2)), np.eye(2))


# -- whole repairs ----------------------------------------------


@pytest.mark.parametrize("sigma", [4.0, 40.0])
def test_layouts_are_repaired_as_with_all_rows(sigma: float, make):
    fs, rng = farm(20), np.random.default_rng(5)
    small, large = dense_and_sparse(fs, make)
    for k in range(6):
        start = layout(20, k)
        d = random_metric(fs.n, rng, 4.0, sigma)
        x = start + 2 * (d.scaled_factor @ rng.standard_normal(fs.n))
        a, b = large.repair(x, d, start), small.repair(x, d, start)
        check_certificate(fs, x, d, a)
        assert a.kind is b.kind
        assert a.active == b.active
        assert deviations(d, a.x, b.x) < 1e-6
        assert a.distance_squared == pytest.approx(b.distance_squared, rel=1e-6)
        np.testing.assert_allclose(a.multipliers, b.multipliers, rtol=1e-4, atol=1e-12)


def test_layouts_are_repaired_as_by_ipopt(make):
    fs, rng = farm(24), np.random.default_rng(6)
    large = make(fs, SPARSE, NEAREST_ONLY)
    ipopt = Repairer(fs, Settings(handler="arch-nearest", repair_solver="ipopt"))
    for k in range(3):
        start = layout(24, k)
        d = random_metric(fs.n, rng, 4.0, 40.0)
        x = start + 2 * (d.scaled_factor @ rng.standard_normal(fs.n))
        a, b = large.repair(x, d, start), ipopt.repair(x, d, start)
        check_certificate(fs, x, d, a)
        assert (a.solver, b.solver) == ("sqp", "ipopt")
        assert deviations(d, a.x, b.x) < 1e-5


def test_other_ways_to_move_a_point_give_the_same_answers(make):
    """Short searches from a feasible point, margins, and projections on chosen boundaries."""
    fs, rng = farm(12), np.random.default_rng(12)
    small, large = dense_and_sparse(fs, make)
    start, d = layout(12), metric(np.zeros(24), 50.0)
    for _ in range(3):
        x = start + 100.0 * rng.standard_normal(24)
        a, b = large.towards(x, d, start), small.towards(x, d, start)
        assert a.kind is b.kind is RepairKind.NEAREST
        assert deviations(d, a.x, b.x) < 1e-6
        near = large.near(x, d, start)
        assert near is not None
        assert deviations(d, near.x, a.x) < 1e-9
        rows = np.array(a.active[:2])
        sides = np.where(np.isfinite(fs.upper[rows]), 1.0, -1.0)
        p, q = (r.project(start, d, rows, sides, a.x) for r in (large, small))
        assert p.kind is q.kind is RepairKind.INTERSECTION
        assert set(rows.tolist()) <= set(p.active)
        assert deviations(d, p.x, q.x) < 1e-6
        assert deviations(d, large.inset(a.x, d).x, small.inset(a.x, d).x) < 1e-9


def test_36_turbines_need_no_ipopt():
    """With samples as wide as at the start of a run: a dozen and more violated rows."""
    fs = farm(36)
    assert is_large(fs)
    d = metric(np.zeros(fs.n), 150.0)
    repairer, rng, start = Repairer(fs), np.random.default_rng(7), layout(36)
    violated, kinds = [], set()
    for _ in range(5):
        x = start + 150.0 * rng.standard_normal(fs.n)
        r = repairer.repair(x, d, start)
        check_certificate(fs, x, d, r)
        assert r.solver == "sqp"
        violated.append(int(np.sum(fs.violations(x) > 0)))
        kinds.add(r.kind)
    assert max(violated) >= 12
    assert RepairKind.INTERSECTION in kinds


def test_all_turbines_in_one_place(make):
    """More violated rows than variables."""
    fs, d = farm(14), metric(np.zeros(28), 150.0)
    x = 0.05 * layout(14)
    assert np.sum(fs.violations(x) > 0) > fs.n
    r = make(fs, SPARSE).repair(x, d, layout(14))
    check_certificate(fs, x, d, r)
    assert r.kind is RepairKind.NEAREST


def test_equations_between_neighbours(make):
    """A chain: every link has length 1, and the points stay above a line."""
    points = 24

    def rows(v):
        x, y = v[:points], v[points:]
        links = (x[1:] - x[:-1]) ** 2 + (y[1:] - y[:-1]) ** 2
        result = [(links[i], 1.0, 1.0) for i in range(points - 1)]
        return result + [(y[i] + 0.1 * x[i], -1.0, np.inf) for i in range(points)]

    fs = feasible_set(2 * points, rows)
    small, large = dense_and_sparse(fs, make)
    rng = np.random.default_rng(8)
    straight = np.concatenate((np.arange(points) - points / 2, np.full(points, 1.5)))
    for sigma in (0.03, 0.3):
        d = random_metric(fs.n, rng, 4.0, sigma)
        x = straight + d.scaled_factor @ rng.standard_normal(fs.n)
        a, b = large.repair(x, d, straight), small.repair(x, d, straight)
        check_certificate(fs, x, d, a)
        assert a.kind is b.kind
        assert deviations(d, a.x, b.x) < 1e-5
        assert set(a.active) >= set(np.flatnonzero(fs.equality).tolist())


def sparse_polytope(n: int, m: int, rng):
    """Rows of four variables each around a point well inside."""
    A = np.zeros((m, n))
    for row in A:
        row[rng.choice(n, 4, replace=False)] = rng.standard_normal(4)
    c = rng.standard_normal(n)
    return polytope(A, A @ c + np.linalg.norm(A, axis=1) * rng.uniform(0.1, 2.0, m)), c


def test_linear_models():
    rng = np.random.default_rng(9)
    fs, c = sparse_polytope(120, 200, rng)
    assert is_large(fs)
    repairer = Repairer(fs, NEAREST_ONLY)
    for reach in (0.3, 1.0, 4.0):
        d = random_metric(fs.n, rng, 10.0)
        x = c + reach * (d.scaled_factor @ rng.standard_normal(fs.n))
        r = repairer.repair(x, d)
        check_certificate(fs, x, d, r)
        assert (r.solver, r.iterations) == ("qp", 1)
        assert deviations(d, r.x, linear_nearest(fs, x, d)) < 1e-6 * (1 + reach)


def test_boundaries_that_do_not_meet():
    """Two parallel planes are violated: no common point, so the nearest one is taken."""
    rng = np.random.default_rng(10)
    n = 150
    A, b = np.zeros((n, n)), np.full(n, 5.0)
    A[:, 0] = 1.0
    A[np.arange(n), np.maximum(np.arange(n), 2)] = 1.0
    b[1] = 6.0  # rows 0 to 2 are x0 + x2
    b[2] = 1e3
    for curved in (False, True):
        fs = feasible_set(
            n,
            lambda x, curved=curved: [
                (ca.dot(ca.DM(a), x) + (1e-3 * x[1] ** 2 if curved else 0), -np.inf, float(v))
                for a, v in zip(A, b, strict=True)
            ],
        )
        assert is_large(fs)
        x = 0.01 * rng.standard_normal(n)
        x[0] = 8.0
        d = metric(np.zeros(n))
        r = Repairer(fs).repair(x, d)
        check_certificate(fs, x, d, r)
        assert r.kind is RepairKind.NEAREST
        assert 0 in r.active
        assert not {1, 2} & set(r.active)


def test_an_affine_map_of_the_design_space_changes_nothing(make):
    """Other units, turned axes: the same repaired layout."""
    fs, rng = farm(12), np.random.default_rng(11)
    n = fs.n
    T = np.diag(10 ** rng.uniform(-2, 2, n)) @ np.kron(np.eye(n // 2), [[0.8, -0.6], [0.6, 0.8]])
    shift = 100 * rng.standard_normal(n)

    def rows(v):
        x = ca.DM(T) @ v + ca.DM(shift)
        return [
            (e, float(low), float(high))
            for e, low, high in zip(
                ca.vertsplit(fs.all_rows.function(x)), fs.lower, fs.upper, strict=True
            )
        ]

    mapped = feasible_set(n, rows)
    original, other = make(fs, SPARSE), make(mapped, SPARSE)
    inverse = np.linalg.inv(T)
    for k in range(4):
        start = layout(12, k)
        d = random_metric(n, rng, 4.0, 60.0)
        x = start + 2 * (d.scaled_factor @ rng.standard_normal(n))
        e = metric(np.zeros(n), d.sigma, inverse @ d.factor)
        a = original.repair(x, d, start)
        b = other.repair(inverse @ (x - shift), e, inverse @ (start - shift))
        assert a.kind is b.kind
        assert a.active == b.active
        assert deviations(d, a.x, T @ b.x + shift) < 1e-6
        assert a.distance_squared == pytest.approx(b.distance_squared, rel=1e-6)
