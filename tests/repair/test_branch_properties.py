"""What every repair of a discrete model promises, whatever the sample."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from branch_helpers import NEAREST, diagonal_metric, full_metric, nearest, random_set
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng.codec import decode, encode
from archeng.model import FeasibleSet, Model, compile_model
from archeng.repair import MixedRepairer, Repair, Repairer, RepairKind, make_repairer
from archeng.repair.lifted import lifted

PLATES = [4, 5, 6, 8, 10, 12]


@cache
def plates(increasing: bool = False) -> FeasibleSet:
    """Bolts, a plate from a list, and a real length; with the rows as they are or their exp."""
    model = Model("plates")
    n = model.integer("bolts", lower=4, upper=16)
    t = model.choice("plate", PLATES)
    y = model.variable("length", lower=0, upper=10)
    for row, least in ((n * t / 10 + y, 9.0), (20 - n - 0.5 * y, 6.0)):
        model.subject_to(ca.exp(0.2 * row) >= float(np.exp(0.2 * least)) if increasing
                         else row >= least)  # fmt: skip
    return compile_model(model)


@cache
def repairer() -> Repairer:
    return make_repairer(plates())


METRIC = full_metric(3, 3, size=1.5)
samples = st.tuples(*(st.floats(-3.0, 20.0) for _ in range(3))).map(lambda x: np.round(x, 9))


def test_who_repairs_depends_on_the_lattice() -> None:
    assert isinstance(make_repairer(plates()), MixedRepairer)
    model = Model("real")
    model.subject_to(model.variable("x", lower=0, upper=1, shape=2)[0] >= 0.5)
    assert type(make_repairer(compile_model(model))) is Repairer


@settings(max_examples=60, deadline=None)
@given(x=samples)
def test_answers_are_designs_and_zero_means_rounding_is_enough(x) -> None:
    fs = plates()
    r = repairer().repair(x, METRIC)
    assert r.feasible
    assert fs.is_feasible(r.x)
    assert fs.lattice.contains(r.x)
    assert r.max_violation == 0.0
    rounded = fs.lattice.decode(x)
    enough = fs.is_feasible(rounded)
    assert (r.distance_squared == 0.0) == enough
    if enough:
        assert r.kind is RepairKind.FEASIBLE
        assert np.array_equal(r.x, rounded)
    else:
        assert r.kind in (RepairKind.NEAREST, RepairKind.INTERSECTION)


@settings(max_examples=25, deadline=None)
@given(x=samples)
def test_repairs_move_with_the_units_of_the_real_coordinates(x) -> None:
    """The length in other units and with an offset: the same levels, the length moved with it."""
    model = Model("moved")
    n = model.integer("bolts", lower=4, upper=16)
    t = model.choice("plate", PLATES)
    u = model.variable("length", lower=7, upper=257)
    y = (u - 7) / 25
    model.subject_to(n * t / 10 + y >= 9)
    model.subject_to(20 - n - 0.5 * y >= 6)
    scale, shift = np.diag([1.0, 1.0, 25.0]), np.array([0.0, 0.0, 7.0])
    F = scale @ METRIC.factor
    moved = replace(METRIC, factor=F, inverse_factor=np.linalg.inv(F))
    a = nearest(plates(), x, METRIC)
    b = nearest(compile_model(model), scale @ x + shift, moved)
    assert b.distance_squared == pytest.approx(a.distance_squared, rel=1e-6, abs=1e-9)
    assert scale @ a.x + shift == pytest.approx(b.x, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_increasing_functions_of_rows_change_nothing(seed: int) -> None:
    x = np.random.default_rng(seed).uniform([2, 3, -1], [18, 13, 6])
    a, b = nearest(plates(), x, METRIC), nearest(plates(increasing=True), x, METRIC)
    assert a.x[:2].tolist() == b.x[:2].tolist()
    assert b.distance_squared == pytest.approx(a.distance_squared, rel=1e-5, abs=1e-7)


def test_the_same_answer_whatever_was_repaired_before_and_wherever() -> None:
    fs = random_set(4, 3, 2, curved=True)
    metric = full_metric(fs.n, 4, size=2.0)
    points = np.random.default_rng(4).uniform(-2, 6, (8, fs.n))
    together = make_repairer(fs).repair_all(points, metric)
    elsewhere = make_repairer(pickle.loads(pickle.dumps(fs)))
    for x, r in reversed(list(zip(points, together, strict=True))):
        alone = elsewhere.repair(x, metric)
        assert alone.x.tobytes() == r.x.tobytes()
        assert alone.distance_squared == r.distance_squared
        assert (alone.kind, alone.proven, alone.active) == (r.kind, r.proven, r.active)


def _materials(rows: int = 3) -> FeasibleSet:
    model = Model("materials")
    table = {f"m{k}": {"strength": 10.0 * (k + 1)} for k in range(rows)}
    material = model.category("material", table)
    y = model.variable("y", lower=0, upper=5)
    model.subject_to(material["strength"] * y >= 60)
    return compile_model(model)


def test_a_category_changes_if_that_is_cheaper() -> None:
    """Row 0 needs y = 6, more than there is; row 1 y = 3; row 2 y = 2."""
    fs = _materials()
    cheap = replace(diagonal_metric([1, 1]), change_costs={0: np.array([9.0, 0.5, 4.0])})
    r = make_repairer(fs).repair(np.array([0.0, 2.5]), cheap)
    assert r.x[0] == 1.0
    assert r.x[1] == pytest.approx(3.0)
    assert r.distance_squared == pytest.approx(0.5 + 0.25)
    dear = replace(cheap, change_costs={0: np.array([9.0, 5.0, 4.0])})
    r = make_repairer(fs).repair(np.array([0.0, 2.5]), dear)
    assert r.x.tolist() == [2.0, 2.5]
    assert r.distance_squared == pytest.approx(4.0)
    assert r.proven


def test_without_costs_any_other_row_costs_the_same() -> None:
    r = make_repairer(_materials()).repair(np.array([0.0, 2.5]), diagonal_metric([1, 1]))
    assert r.x.tolist() == [2.0, 2.5]
    assert r.distance_squared == pytest.approx(2 * np.log(3))
    stays = make_repairer(_materials()).repair(np.array([1.0, 2.5]), diagonal_metric([1, 1]))
    assert stays.x[0] == 1.0
    assert stays.distance_squared == pytest.approx(0.25)


def test_only_categories_work_too() -> None:
    model = Model("names")
    a = model.category("a", {f"a{k}": {"cost": float(k)} for k in range(4)})
    b = model.category("b", {f"b{k}": {"cost": float(k)} for k in range(4)})
    model.subject_to(a["cost"] + b["cost"] >= 5)
    costs = {0: np.array([0.0, 3.0, 3.0, 2.0]), 1: np.array([0.0, 3.0, 1.0, 9.0])}
    metric = replace(diagonal_metric([1, 1]), change_costs=costs)
    r = make_repairer(compile_model(model)).repair(np.array([0.0, 0.0]), metric)
    assert r.x.tolist() == [3.0, 2.0]
    assert r.distance_squared == pytest.approx(3.0)
    assert r.proven


def _groups(k: int = 6) -> FeasibleSet:
    model = Model("one of each")
    a, b = model.binary("a", shape=k), model.binary("b", shape=k)
    y = model.variable("y", lower=0, upper=4)
    cost = ca.DM(np.arange(k, dtype=float))
    model.subject_to(ca.sum1(a) == 1)
    model.subject_to(ca.sum1(b) == 1)
    model.subject_to(ca.dot(cost, a) + ca.dot(cost, b) + y >= 8)
    return compile_model(model)


def test_groups_of_which_one_is_chosen_are_found_and_split_as_a_whole() -> None:
    fs = _groups()
    groups = lifted(fs).groups
    assert [g.tolist() for g in groups] == [list(range(6)), list(range(6, 12))]
    rng = np.random.default_rng(1)
    mixed = make_repairer(fs, NEAREST)
    for _ in range(4):
        x = rng.uniform(0, 1, fs.n)
        s = rng.uniform(0.3, 1.5, fs.n)
        r = mixed.repair(x, diagonal_metric(s))
        assert r.proven
        assert r.x[:6].sum() == r.x[6:12].sum() == 1.0
        expected = min(
            sum(max(0.5 - v if on else v - 0.5, 0.0) ** 2 / w**2
                for v, w, on in zip(x, s, np.r_[np.eye(6)[i], np.eye(6)[j]], strict=False))
            + max(8.0 - i - j - x[12], 0.0) ** 2 / s[12] ** 2
            for i in range(6) for j in range(6) if 8 - i - j <= 4
        )  # fmt: skip
        assert r.distance_squared == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_no_integers_between_the_rows_is_said_with_a_reason() -> None:
    model = Model("gap")
    n = model.integer("n", lower=0, upper=5)
    y = model.variable("y", lower=0, upper=1)
    model.subject_to(2 * n + 0.1 * y, lower=3.2, upper=3.8)
    fs = compile_model(model)
    r = make_repairer(fs).repair(np.array([1.7, 0.5]), diagonal_metric([1, 1]))
    assert r.kind is RepairKind.FAILED
    assert r.max_violation > 0
    assert "levels" in r.reason


def test_the_anchor_is_an_answer_if_there_is_no_other(monkeypatch) -> None:
    fs, anchor = plates(), np.array([12.0, 8.0, 1.0])
    assert fs.is_feasible(anchor)
    mixed = make_repairer(fs)
    monkeypatch.setattr(type(mixed._cells), "nearest", lambda *_: None)
    r = mixed.repair(np.array([4.0, 4.0, 0.0]), METRIC, anchor)
    assert r.feasible
    assert np.array_equal(r.x, anchor)
    assert not r.proven


def test_searches_from_a_design_keep_its_levels() -> None:
    fs, mixed = plates(), make_repairer(plates())
    start = np.array([8.0, 10.0, 3.0])
    assert fs.is_feasible(start)
    x = np.array([5.2, 4.4, 0.1])
    near, moved = mixed.near(x, METRIC, start), mixed.towards(x, METRIC, start)
    assert near is not None
    for y in (near.x, moved.x, mixed.inset(start, METRIC).x):
        assert y[:2].tolist() == [8.0, 10.0]
        assert fs.is_feasible(y)
    assert near.x[2] == pytest.approx(1.0)
    row = np.array([fs.m - 1]) if fs.rows[-1].kind == "nonlinear" else np.array([fs.m - 2])
    held = mixed.project(x, METRIC, row, np.array([-1.0]), np.array([8.0, 10.0, 1.0]))
    assert held.feasible
    assert held.x[:2].tolist() == [8.0, 10.0]
    assert held.x[2] == pytest.approx(1.0)


def test_rows_without_a_real_coordinate_may_be_reached_exactly() -> None:
    """No margin inside: n = 3 at most, and nothing to move."""
    model = Model("exact")
    n, b = model.integer("n", lower=0, upper=9), model.binary("b")
    y = model.variable("y", lower=0, upper=1)
    model.subject_to(2 * n + b <= 6)
    model.subject_to(b * y <= 0)
    model.subject_to(n + y >= 3)
    fs = compile_model(model)
    r = nearest(fs, [7.0, 0.0, 0.4], diagonal_metric([1, 1, 1]))
    assert r.x.tolist() == [3.0, 0.0, 0.4]
    assert r.distance_squared == pytest.approx(3.5**2)


def test_open_repairs_are_stored_and_others_as_they_always_were() -> None:
    x = np.zeros(1)
    proven = Repair(RepairKind.NEAREST, x, 1.0, 0.0, 0.0, (), "qp", 1)
    stored = encode(proven)
    assert not {"proven", "reason"} & stored.keys()
    assert decode(Repair, {**stored, "x": x}).proven
    unproven = encode(replace(proven, proven=False))
    assert unproven["proven"] is False
    assert not decode(Repair, {**unproven, "x": x}).proven
