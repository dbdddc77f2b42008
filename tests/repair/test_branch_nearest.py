"""Repairs of discrete models are the nearest ones: compared with listing, Bonmin and SCIP."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from branch_helpers import diagonal_metric, full_metric, listed_distance, nearest, random_set

from archeng.model import Model, compile_model
from archeng.repair import MixedRepairer, make_repairer
from archeng.settings import Settings


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize(("d", "c"), [(1, 1), (2, 1), (3, 0), (2, 2)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_nearest_cell_is_found_and_proven(seed: int, d: int, c: int, curved: bool) -> None:
    fs = random_set(seed, d, c, curved)
    metric = full_metric(fs.n, seed, size=0.7)
    rng = np.random.default_rng(seed)
    for x in rng.uniform(-1, 5, (3, fs.n)):
        expected = listed_distance(fs, x, metric)
        r = nearest(fs, x, metric)
        assert r.feasible == np.isfinite(expected)
        assert r.proven
        if r.feasible:
            assert fs.is_feasible(r.x)
            assert r.distance_squared == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 22))
def test_the_nearest_cell_of_larger_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fs = random_set(seed, int(rng.integers(3, 5)), int(rng.integers(0, 3)), bool(seed % 2))
    metric = full_metric(fs.n, seed, size=float(np.exp(rng.uniform(-1.5, 1.0))))
    for x in rng.uniform(-1, 5, (2, fs.n)):
        expected, r = listed_distance(fs, x, metric), nearest(fs, x, metric)
        assert r.feasible == np.isfinite(expected)
        if r.feasible:
            assert r.distance_squared == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_tree_agrees_with_the_list_where_nothing_is_real() -> None:
    """Few designs are listed; the tree must say the same of them."""
    fs = random_set(5, 4, 0)
    metric = full_metric(fs.n, 5)
    by_list, by_tree = MixedRepairer(fs), MixedRepairer(fs)
    by_tree._designs = None
    for x in np.random.default_rng(5).uniform(-1, 5, (20, fs.n)):
        a, b = by_list.repair(x, metric), by_tree.repair(x, metric)
        assert a.proven
        assert b.proven
        assert a.distance_squared == pytest.approx(b.distance_squared, rel=1e-6, abs=1e-9)


def _integers(d: int, seed: int):
    """Integers and two real variables in a ball and a half-space, with the formulas."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(d + 2)
    model = Model("integers")
    x = ca.vertcat(
        model.integer("z", lower=0, upper=6, shape=d),
        model.variable("y", lower=-2, upper=8, shape=2),
    )
    model.subject_to(ca.dot(ca.DM(a), x) <= float(3 * a.sum() - 2.0))
    model.subject_to(ca.sumsqr(x - 3) <= 2.0 * (d + 2))
    return compile_model(model), a


def _bonmin(d: int, a, x, s) -> float:
    """The same problem by Bonmin: q, levels w and real y; outermost cells have no end."""
    w, y, q = ca.SX.sym("w", d), ca.SX.sym("y", 2), ca.SX.sym("q", d)
    p = ca.vertcat(w, y)
    cost = ca.sumsqr((q - x[:d]) / s[:d]) + ca.sumsqr((y - x[d:]) / s[d:])
    rows = ca.vertcat(ca.dot(ca.DM(a), p), ca.sumsqr(p - 3), q - w)
    options = {
        "discrete": [True] * d + [False] * (2 + d),
        "print_time": False,
        "error_on_fail": False,
        "bonmin": {"algorithm": "B-BB", "print_level": 0, "bb_log_level": 0, "nlp_log_level": 0},
    }
    nlp = {"x": ca.vertcat(w, y, q), "f": cost, "g": rows}
    solver = ca.nlpsol("s", "bonmin", nlp, options)
    inside = np.clip(x[:d], -0.5, 6.5)  # the samples are not beyond the outermost cells
    assert np.array_equal(inside, x[:d])
    result = solver(
        x0=[3] * (2 * d + 2),
        lbx=[0] * d + [-2, -2] + [-np.inf] * d,
        ubx=[6] * d + [8, 8] + [np.inf] * d,
        lbg=[-np.inf, -np.inf] + [-0.5] * d,
        ubg=[float(3 * a.sum() - 2.0), 2.0 * (d + 2)] + [0.5] * d,
    )
    return float(result["f"])


@pytest.mark.parametrize("seed", [1, 2])
def test_bonmin_agrees(seed: int) -> None:
    d = 4
    fs, a = _integers(d, seed)
    s = np.linspace(0.6, 1.5, d + 2)
    for x in np.random.default_rng(seed).uniform(0.0, 6.0, (2, d + 2)):
        r = nearest(fs, x, diagonal_metric(s))
        assert r.proven
        assert r.distance_squared == pytest.approx(_bonmin(d, a, x, s), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("seed", [3, 4])
def test_scip_agrees(seed: int) -> None:
    scip = pytest.importorskip("pyscipopt")
    d = 8
    fs, a = _integers(d, seed)
    s = np.linspace(0.6, 1.5, d + 2)
    x = np.random.default_rng(seed).uniform(0.0, 6.0, d + 2)
    m = scip.Model()
    m.hideOutput()
    m.setParam("limits/gap", 1e-7)
    w = [m.addVar(vtype="I", lb=0, ub=6) for _ in range(d)]
    y = [m.addVar(lb=-2, ub=8) for _ in range(2)]
    q = [m.addVar(lb=-1, ub=7) for _ in range(d)]
    total, p = m.addVar(lb=0), [*w, *y]
    m.addCons(scip.quicksum(float(a[i]) * p[i] for i in range(d + 2)) <= 3 * a.sum() - 2.0)
    m.addCons(scip.quicksum((v - 3) * (v - 3) for v in p) <= 2.0 * (d + 2))
    for i in range(d):
        m.addCons(q[i] - w[i] <= 0.5)
        m.addCons(w[i] - q[i] <= 0.5)
    terms = [(v - x[i]) * (v - x[i]) / s[i] ** 2 for i, v in enumerate([*q, *y])]
    m.addCons(scip.quicksum(terms) <= total)
    m.setObjective(total)
    m.optimize()
    r = nearest(fs, x, diagonal_metric(s))
    assert r.proven
    assert r.distance_squared == pytest.approx(m.getObjVal(), rel=1e-4, abs=1e-5)


def test_the_node_limit_is_kept_and_said() -> None:
    """With one node nothing is proven, and the answer is feasible and no nearer."""
    fs = random_set(2, 4, 2, curved=True)
    metric = full_metric(fs.n, 7, size=3.0)
    limited = make_repairer(fs, Settings(handler="arch-nearest", repair_nodes=1))
    unproven = 0
    for x in np.random.default_rng(7).uniform(-2, 6, (30, fs.n)):
        r = limited.repair(x, metric)
        unproven += not r.proven
        if r.feasible:
            assert fs.is_feasible(r.x)
            assert r.distance_squared >= nearest(fs, x, metric).distance_squared - 1e-6
    assert unproven > 3
