"""The quadratics of the paper, against formulas written down anew and a QP solver."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.model import compile_model
from case_studies.paper.quadratics import FUNCTIONS, SYSTEMS, UNCONSTRAINED, quadratic

EVERYWHERE = pytest.mark.parametrize(
    ("function", "system", "n"),
    [(f, s, n) for f in FUNCTIONS for s in SYSTEMS for n in (4, 20, 50)],
)


def box_to(system: str, y: Any, n: int) -> Any:
    """x = P y, pair by pair, as a CasADi expression; illrotBox is Q^T D Q."""
    half = np.sqrt(0.5)
    parts = []
    for i in range(0, n, 2):
        a, b = y[i], y[i + 1]
        if system == "rotBox":
            a, b = half * (a + b), half * (b - a)
        elif system == "illrotBox":
            u, v = half * (a + b), 10 * half * (b - a)
            a, b = half * (u - v), half * (u + v)
        parts += [a, b]
    return ca.vertcat(*parts)


def value(function: str, x: Any, n: int) -> Any:
    """f(x) in the coordinates of the box, as a CasADi expression."""
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    total = 0
    for i in range(0, n, 2):
        pair = x[i], x[i + 1]
        if function == "rotated ellipsoid":
            pair = c * x[i] + s * x[i + 1], c * x[i + 1] - s * x[i]
        for k, z in enumerate(pair, start=i):
            total += (1.0 if function == "sphere" else 10 ** (6 * k / (n - 1))) * z**2
    return total


@EVERYWHERE
def test_optimum_is_that_of_a_qp_solver(function: str, system: str, n: int) -> None:
    p = quadratic(function, system, n)
    y = ca.SX.sym("y", n)
    x = box_to(system, y, n)
    lower = np.tile([-1.0, 1.0], n // 2)
    qp = {"x": y, "f": value(function, x, n), "g": x}
    found = ca.qpsol("solver", "daqp", qp)(lbg=lower, ubg=lower + 5)
    solution = np.array(found["x"]).ravel()
    assert p.x_star == pytest.approx(solution, rel=1e-9, abs=1e-9)
    assert p.f_star == pytest.approx(float(found["f"]), rel=1e-12)
    hessian = np.array(ca.DM(ca.evalf(ca.hessian(qp["f"], y)[0])))
    assert p.hessian == pytest.approx(hessian, rel=1e-12, abs=1e-12 * np.abs(hessian).max())


def test_optima_are_those_of_the_paper() -> None:
    assert np.allclose(quadratic("sphere", "BOX", 20).x_star, np.tile([0, 1], 10))
    assert np.allclose(quadratic("ellipsoid", "BOX", 50).x_star, np.tile([0, 1], 25))
    rotated = quadratic("rotated ellipsoid", "BOX", 20).x_star
    assert np.round(rotated, 2) == pytest.approx(np.tile([0.37, 1], 10))


@EVERYWHERE
def test_systems_are_the_same_problem(function: str, system: str, n: int) -> None:
    p, box = quadratic(function, system, n), quadratic(function, "BOX", n)
    fs, box_fs = compile_model(p.model), compile_model(box.model)
    assert len(fs.lower) == len(box_fs.lower) == n
    rng = np.random.default_rng(n)
    for _ in range(5):
        x = rng.uniform(-3, 8, n)
        y = p.P_inverse @ x
        assert np.array(ca.evalf(box_to(system, ca.DM(y), n))).ravel() == pytest.approx(x)
        assert p.objective(y) == pytest.approx(box.objective(x), rel=1e-10)
        assert p.excess(y) == pytest.approx(p.objective(y) - p.f_star, rel=1e-7)
        assert p.criterion(y) == pytest.approx(box.criterion(x), rel=1e-9)
        assert p.satisfied_share(y) == box.satisfied_share(x)
        assert fs.violations(y) == pytest.approx(box_fs.violations(x), abs=1e-10)


@EVERYWHERE
def test_initial_distribution_is_the_same_one(function: str, system: str, n: int) -> None:
    for matched in (True, False):
        p = quadratic(function, system, n, matched=matched)
        box = quadratic(function, "BOX", n, matched=matched)
        assert p.P @ p.covariance @ p.P.T == pytest.approx(box.covariance, abs=1e-9)
        start = p.start(np.random.default_rng(3))
        assert p.P @ start == pytest.approx(box.start(np.random.default_rng(3)))
        assert p.satisfied_share(start) == 1.0
        assert compile_model(p.model).is_feasible(start)
        run = archeng.Run(p.model, p.excess, seed=1, start=start, sigma=p.covariance)
        d = run.distribution
        assert d.sigma**2 * d.covariance == pytest.approx(p.covariance, rel=1e-9, abs=1e-9)
        assert d.mean == pytest.approx(start)
        run.close()


def test_covariances_are_those_of_the_paper() -> None:
    ill = quadratic("sphere", "illrotBox", 4)
    assert quadratic("sphere", "BOX", 4).covariance == pytest.approx(1.25**2 * np.eye(4))
    mismatched = quadratic("sphere", "illrotBox", 4, matched=False)
    assert mismatched.covariance == pytest.approx(1.25**2 * np.eye(4))
    box = quadratic("sphere", "BOX", 4, matched=False).covariance
    assert box == pytest.approx(1.25**2 * ill.P @ ill.P.T)
    assert np.linalg.cond(box) == pytest.approx(100)


def test_excess_is_exact_where_the_difference_is_not() -> None:
    p = quadratic("ellipsoid", "BOX", 20)
    x = p.x_star.copy()
    x[0] = 1e-6  # the weight of this coordinate is 1
    assert p.excess(x) == pytest.approx(1e-12, rel=1e-9)
    assert p.criterion(x) == pytest.approx(2e-12, rel=1e-9)
    assert p.excess(p.x_star) == 0.0


def test_satisfied_share_counts_coordinates() -> None:
    p = quadratic("sphere", "BOX", 4)
    assert p.satisfied_share(np.array([0.0, 0.9, 4.1, 1.0])) == 0.5


def test_unconstrained_problem_has_its_optimum_at_zero() -> None:
    p = quadratic("ellipsoid", UNCONSTRAINED, 4)
    assert (p.f_star, p.x_star.tolist()) == (0.0, [0.0] * 4)
    assert len(p.model.constraints) == 0
    assert p.satisfied_share(np.full(4, 1e9)) == 1.0
    assert p.excess([1, 1, 1, 1]) == pytest.approx(1 + 1e2 + 1e4 + 1e6)


@pytest.mark.parametrize(
    ("function", "system", "n", "message"),
    [
        ("sphere", "BOX", 5, "even"),
        ("cone", "BOX", 4, "no function 'cone'"),
        ("sphere", "ball", 4, "no coordinate system 'ball'"),
    ],
)
def test_what_does_not_exist_is_refused(function: str, system: str, n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quadratic(function, system, n)
