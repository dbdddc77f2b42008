"""Repairs of models with dependent variables, with IPOPT over all variables as the referee."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repair_helpers import check_certificate, deviations, metric, random_metric
from structure_models import CASES, Case, Vector, tolerances

from archeng import Model
from archeng.distribution import Distribution
from archeng.model import FeasibleSet, compile_model
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings

EDGE = {"auto": 1.0, "sqp": 1.0, "ipopt": 1e-3}
"""Share by which a repair may be farther than needed where the equations become singular.

Newton's method for the dependent variables fails before that edge is reached, and only IPOPT over
all variables goes on.
"""


@cache
def compiled(name: str) -> tuple[Case, FeasibleSet, dict[str, float]]:
    case = CASES[name]
    model = case.model(named=case.independent)
    return case, compile_model(model), tolerances(model)


@cache
def repairer(name: str, solver: Any = "auto") -> Repairer:
    fs = compiled(name)[1]
    return Repairer(fs, Settings(repair_solver=solver, handler="arch-nearest"))


def spread(fs: FeasibleSet, seed: int, condition: float = 5.0) -> Distribution:
    """A metric in typical changes of the independents, with correlations."""
    rng = np.random.default_rng(seed)
    base = random_metric(fs.n, rng, condition)
    F = np.diag(fs.scale) @ base.factor
    return metric(fs.start, 0.5, F)


def referee(case: Case, fs: FeasibleSet, u: Vector, d: Distribution, starts: list[Vector]) -> float:
    """Least distance of a feasible design to u, best of several starts (full vectors)."""
    x = ca.MX.sym("x", len(case.names))
    written = case.formulas(case.at(x), ca)
    limits = list(written.limits.values())
    g = ca.vertcat(*written.equations.values(), *(v for v, _, _ in limits))
    zeros = [0.0] * len(written.equations)
    inverse = ca.DM(np.linalg.inv(d.scaled_factor))
    f = ca.sumsqr(inverse @ (x[fs.free.tolist()] - ca.DM(u)))
    quiet = {
        "print_time": False, "error_on_fail": False, "show_eval_warnings": False,
        "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10, "bound_relax_factor": 0.0},
    }  # fmt: skip
    solver = ca.nlpsol("referee", "ipopt", {"x": x, "f": f, "g": g}, quiet)
    low, high = case.bounds()
    best = np.inf
    for start in starts:
        answer = solver(
            x0=start, lbx=low, ubx=high,
            lbg=zeros + [a for _, a, _ in limits], ubg=zeros + [b for _, _, b in limits],
        )  # fmt: skip
        if solver.stats()["success"]:
            best = min(best, float(answer["f"]))
    return float(np.sqrt(best))


def check(name: str, u: Vector, d: Distribution, r: Repair) -> None:
    """Feasible by every row at the full vector, and by NumPy; a certificate if u has a solution.

    Otherwise the nearest design may be where the equations become singular: that is no row, so the
    conditions of a nearest point say nothing.
    """
    case, fs, allowed = compiled(name)
    if np.all(np.isfinite(fs.expand(u))):
        check_certificate(fs, u, d, r)
    assert r.feasible
    full = fs.expand(r.x)
    assert not np.any(fs.violations_in_full(full))
    assert case.offences(full, allowed) == []


# -- feasible --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), reach=st.floats(0.1, 6.0))
def test_every_repair_is_feasible_in_full(name: str, seed: int, reach: float) -> None:
    case, fs, allowed = compiled(name)
    d, rng = spread(fs, seed), np.random.default_rng(seed)
    u = d.mean + reach * (d.scaled_factor @ rng.standard_normal(fs.n))
    r = repairer(name).repair(u, d, fs.start)
    check(name, u, d, r)
    if case.offences(fs.expand(u), allowed) == []:
        assert r.kind is RepairKind.FEASIBLE
        assert r.x.tobytes() == u.tobytes()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_point_is_that_of_every_solver_and_of_a_referee(name: str, seed: int) -> None:
    case, fs, _ = compiled(name)
    d, rng = spread(fs, seed), np.random.default_rng(seed)
    tried = 0
    for _ in range(40):
        u = d.mean + d.scaled_factor @ rng.standard_normal(fs.n) * rng.uniform(0.3, 1.5)
        answers = {s: repairer(name, s).repair(u, d, fs.start) for s in ("auto", "sqp", "ipopt")}
        if answers["auto"].kind is RepairKind.FEASIBLE:
            continue
        tried += 1
        lengths = {}
        for solver, r in answers.items():
            check(name, u, d, r)
            assert r.kind is RepairKind.NEAREST
            lengths[solver] = deviations(d, u, r.x)
        starts = [fs.expand(fs.start), fs.expand(answers["auto"].x)]
        least = referee(case, fs, u, d, starts)
        solved = np.all(np.isfinite(fs.expand(u)))
        for solver, length in lengths.items():
            near = 1e-5 if solved else EDGE[solver]
            assert length == pytest.approx(least, rel=near, abs=1e-6), (solver, u)
        if tried == 4:
            break
    assert tried


def test_a_point_without_a_solution_is_repaired_too() -> None:
    """Beyond the circle the rows are not numbers; the nearest design has x = 1."""
    _, fs, _ = compiled("circle")
    d = metric(fs.start, 1.0)
    for x in (1.05, 1.3, 5.0):
        u = np.array([x, 0.2])
        assert np.isnan(fs.expand(u)[1])
        r = repairer("circle").repair(u, d, fs.start)
        check("circle", u, d, r)
        assert 0.99 < r.x[0] <= 1 + 1e-6
        assert r.x[1] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("name", CASES)
def test_repairs_are_the_same_bits_in_another_order(name: str) -> None:
    _, fs, _ = compiled(name)
    d = spread(fs, 3)
    points = d.mean + np.random.default_rng(3).standard_normal((8, fs.n)) @ d.scaled_factor.T
    one = [r.x.tobytes() for r in Repairer(fs).repair_all(points, d, fs.start)]
    other = Repairer(compile_model(CASES[name].model(named=CASES[name].independent)))
    two = [r.x.tobytes() for r in other.repair_all(points[::-1], d, fs.start)]
    assert one == two[::-1]


# -- onto the intersection -------------------------------------------------------------------


def corner() -> Model:
    """A corner of two bounds of dependents, at u = (1, 0.5)."""
    model = Model("corner")
    u = model.variable("u", shape=2, lower=-5, upper=5, start=0.0)
    w = model.variable("w", shape=32, lower=-200, upper=[1, 1, *[200] * 30], start=0.0)
    model.subject_to(w[0] == u[0] ** 3, name="first")
    model.subject_to(w[1] == u[0] * u[1] + 0.5 * u[1] + 0.25, name="second")
    for i in range(2, 32):
        model.subject_to(w[i] == i * u[0] - u[1], name=f"w{i}")
    model.independent(u)
    return model


def test_pinned_rows_that_meet_give_the_intersection() -> None:
    fs = compile_model(corner())
    r = Repairer(fs).repair(np.array([1.6, 1.5]), metric(np.zeros(2)))
    assert r.kind is RepairKind.INTERSECTION
    assert r.x == pytest.approx([1.0, 0.5], abs=1e-6)
    assert {fs.rows[j].name for j in r.active} == {"bounds of w[0]", "bounds of w[1]"}
    assert not np.any(fs.violations_in_full(fs.expand(r.x)))
    one = Repairer(fs).repair(np.array([1.6, 0.0]), metric(np.zeros(2)))
    assert {fs.rows[j].name for j in one.active} == {"bounds of w[0]"}
    assert one.x == pytest.approx([1.0, 0.0], abs=1e-6)


def test_a_set_without_a_feasible_point_gives_failures() -> None:
    model = corner()
    u = model.symbols[:2]
    model.subject_to(u[0] ** 2 + u[1] ** 2 <= -1, name="impossible")
    fs = compile_model(model)
    assert fs.dependents is not None
    r = Repairer(fs).repair(np.array([0.3, 0.2]), metric(np.zeros(2)))
    assert r.kind is RepairKind.FAILED
    assert not r.feasible
    assert r.max_violation > 0.9


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
def test_rows_of_settled_variables_are_left_out(solver: Any) -> None:
    """An inequality of variables that equations determine alone has no place among the rows."""
    model = corner()
    a = model.variable("a", lower=0, upper=9, start=1)
    b = model.variable("b", lower=0, upper=9, start=4)
    model.subject_to(a + b == 5, name="total")
    model.subject_to(a * b == 6, name="area")
    model.subject_to(a**2 - b <= 2, name="order")
    fs = compile_model(model)
    assert "order" not in {row.name for row in fs.rows}
    r = Repairer(fs, Settings(repair_solver=solver, handler="arch-nearest")).repair(
        np.array([1.6, 1.5]), metric(np.zeros(2)), np.zeros(2)
    )
    assert r.solver == solver
    check_certificate(fs, [1.6, 1.5], metric(np.zeros(2)), r)
    full = fs.expand(r.x)
    assert full[-2:] == pytest.approx([2, 3])
    assert not np.any(fs.violations_in_full(full))
