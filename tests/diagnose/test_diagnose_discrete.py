"""Diagnosis of models with discrete variables, against trying all combinations."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model
from archeng.diagnose import Conflict, level_tree
from archeng.diagnose.intervals import EmptyError, box_and_rows, contracted
from archeng.diagnose.level_tree import LevelTree
from archeng.diagnose.limits import system_of
from archeng.diagnose.oracle import Oracle

SECTIONS = [
    {"name": "IPE 80", "area": 7.6, "I": 80.0},
    {"name": "IPE 100", "area": 10.3, "I": 171.0},
    {"name": "IPE 120", "area": 13.2, "I": 318.0},
]


def parity(most: int = 30) -> Model:
    model = Model("parity")
    x, y = (model.integer(name, lower=0, upper=most) for name in "xy")
    model.subject_to(2 * x + 4 * y == 7, name="sum")
    model.subject_to(x + y <= 20, name="other")
    return model


def knapsack() -> Model:
    """6 a + 10 b with a, b up to 3 is never 23, 24 or 25."""
    model = Model("knapsack")
    n = model.integer("n", lower=0, upper=3, shape=2)
    model.subject_to(6 * n[0] + 10 * n[1] >= 23, name="at least")
    model.subject_to(6 * n[0] + 10 * n[1] <= 25, name="at most")
    model.subject_to(n[0] + n[1] <= 6, name="idle")
    return model


def no_part() -> Model:
    model = Model("no part")
    s = model.catalogue("section", SECTIONS)
    length = model.variable("L", lower=2, upper=4)
    model.subject_to(s["area"] <= 9, name="weight")
    model.subject_to(s["I"] >= 50 * length, name="stiffness")
    return model


def one_hot() -> Model:
    """One of three, with 1, 3 or 5 of something; four are asked for."""
    model = Model("one hot")
    b = model.binary("b", shape=3)
    model.subject_to(b[0] + b[1] + b[2] == 1, name="one")
    model.subject_to(b[0] + 3 * b[1] + 5 * b[2] == 4, name="four")
    return model


def rows_of(model: Model) -> dict[str, tuple[ca.Function, float, float]]:
    return {
        name: (ca.Function("r", [model.symbols], [row.expression]), low, high)
        for c in model.constraints
        for name, row, low, high in zip(c.row_names(), c.rows, *c.limits(), strict=True)
    }


def flat(model: Model, witness) -> np.ndarray:
    """Flat numbers of values by the names of scalar variables."""
    domains = [v.domain for v in model.variables for _ in range(v.size)]
    names = model.element_names()
    return np.array([d.number(n, witness[n]) for n, d in zip(names, domains, strict=True)])


def at_level(model: Model, name: str, value: float) -> bool:
    """Whether a number is one that a scalar variable may take."""
    for v in model.variables:
        for label, low, high in zip(v.element_names(), v.lower, v.upper, strict=True):
            if label == name:
                return v.domain.violation(value, low, high) == 0
    raise KeyError(name)


def check_minimal(model: Model, conflict: Conflict) -> None:
    """Each member has a point at which all other members hold: rows, and values at levels."""
    rows, names = rows_of(model), model.element_names()
    assert conflict.minimal
    for member in conflict.members:
        x = flat(model, member.witness)
        for other in conflict.members:
            if other is member:
                continue
            if other.kind == "discrete":
                assert at_level(model, other.name, x[names.index(other.name)]), (member, other)
            else:
                function, low, high = rows[other.name]
                value = float(function(x))
                assert low - 1e-5 <= value <= high + 1e-5, (member.name, other.name, value)


@pytest.mark.parametrize(
    ("model", "rows", "variables", "proof"),
    [
        (parity(), {"sum"}, {"x", "y"}, "trying all combinations"),
        (parity(10**4), {"sum"}, {"x", "y"}, "a common divisor"),
        (knapsack(), {"at least", "at most"}, {"n[0]", "n[1]"}, "trying all combinations"),
        (no_part(), {"weight", "stiffness"}, {"section"}, "branch and bound"),
        (one_hot(), {"one", "four"}, {"b[0]", "b[1]", "b[2]"}, "trying all combinations"),
    ],
    ids=["parity", "large parity", "knapsack", "catalogue", "one hot"],
)
def test_a_conflict_by_discrete_values_is_named(model, rows, variables, proof):
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert diagnosis.design is None
    assert diagnosis.proof == proof
    [conflict] = diagnosis.conflicts
    assert set(conflict.rows) == rows
    assert set(conflict.discrete) <= variables
    assert conflict.discrete
    check_minimal(model, conflict)
    text = str(diagnosis)
    assert "because of the values that" in text
    assert f"proved by {proof}" in text


def test_the_smallest_changes_are_those_of_the_nearest_design():
    members = {m.name: m for m in archeng.diagnose(knapsack()).conflict.members}
    assert members["at least"].alone.limit == pytest.approx(22)  # 6 * 2 + 10
    assert members["at most"].alone.limit == pytest.approx(26)  # 6 + 2 * 10
    moved = [m for m in members.values() if m.change is not None]
    assert len(moved) == 1
    [row] = [m for m in archeng.diagnose(parity()).conflict.members if m.kind == "row"]
    assert row.change.limit in (pytest.approx(6), pytest.approx(8))


def test_changes_with_real_variables_are_as_small_as_possible():
    members = {m.name: m for m in archeng.diagnose(no_part()).conflict.members}
    assert members["weight"].alone.limit == pytest.approx(10.3, abs=1e-6)
    assert members["stiffness"].alone.by == pytest.approx(20, abs=1e-4)  # 50 * 2 - 80
    assert "between IPE 80 and IPE 100" in members["section"].note


def test_a_changed_model_is_feasible():
    model = Model("knapsack")
    n = model.integer("n", lower=0, upper=3, shape=2)
    model.subject_to(6 * n[0] + 10 * n[1] >= 22, name="at least")
    model.subject_to(6 * n[0] + 10 * n[1] <= 25, name="at most")
    assert archeng.diagnose(model).design == {"n[0]": 2, "n[1]": 1}


def test_a_wider_bound_that_would_do_is_named():
    notes = " ".join(m.note for m in archeng.diagnose(knapsack()).conflict.members)
    assert "upper bound of n[0] 3 -> 4 would do" in notes  # 6 * 4 = 24


def test_a_conflict_of_the_relaxation_is_diagnosed_as_ever():
    model = Model("too much")
    n = model.integer("n", lower=0, upper=3)
    model.subject_to(2 * n >= 7, name="needs")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict.names == ("needs", "n <= 3 (bound)")
    assert diagnosis.conflict.discrete == ()


def test_a_value_that_the_bounds_leave_out_is_a_conflict():
    model = Model("between")
    t = model.choice("t", [4, 5, 6, 8])
    model.subject_to(t >= 6.5, name="thick")
    model.subject_to(t <= 7.5, name="thin")
    conflict = archeng.diagnose(model).conflict
    assert set(conflict.rows) == {"thick", "thin"}
    assert conflict.discrete == ("t",)
    assert "with " in conflict.members[-1].note


def test_designs_have_the_values_that_were_written():
    model = Model("beam")
    n = model.integer("n", lower=1, upper=6)
    s = model.catalogue("section", SECTIONS)
    x = model.variable("x", lower=0, upper=2)
    model.subject_to(n * x >= 5, name="a")
    model.subject_to(s["area"] >= 8, name="b")
    diagnosis = archeng.diagnose(model)
    assert isinstance(diagnosis.design["n"], int)
    assert diagnosis.design["section"] in ("IPE 100", "IPE 120")
    assert model.violations(flat(model, diagnosis.design)).maximum == 0
    assert {f.name: f.text for f in diagnosis.unusable} == {"n": "1, 2", "section": "IPE 80"}
    assert "values that no design can take:\n  n: 1, 2\n  section: IPE 80" in str(diagnosis)
    assert "2 of the variables are discrete" in str(diagnosis)
    assert diagnosis.to_dict()["discrete_variables"] == 2


def test_nothing_is_said_of_discrete_values_in_a_model_of_real_ones():
    model = Model("real")
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(x**2 <= 0.5, name="row")
    diagnosis = archeng.diagnose(model)
    assert "discrete" not in str(diagnosis)
    assert not {"discrete_variables", "unusable"} & diagnosis.to_dict().keys()


def random_model(rng: np.random.Generator) -> Model:
    """Three integers of a few values, two linear rows and perhaps a curved one, all narrow."""
    model = Model("random")
    n = model.integer("n", lower=0, upper=4, shape=3)
    for k in range(2):
        a = rng.integers(-4, 7, size=3)
        middle = float(a @ rng.uniform(0, 4, size=3))
        half = float(rng.uniform(0.05, 0.9))
        row = sum(int(c) * n[i] for i, c in enumerate(a) if c)
        if not isinstance(row, int):
            model.subject_to(row, lower=middle - half, upper=middle + half, name=f"row {k}")
    if rng.random() < 0.5:
        model.subject_to(n[0] * n[1] + n[2] ** 2 <= float(rng.uniform(2, 20)), name="curved")
    return model


def brute_force(model: Model) -> list[np.ndarray]:
    points = [np.array(z, float) for z in itertools.product(range(5), repeat=3)]
    return [z for z in points if model.violations(z).maximum == 0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_the_verdict_is_that_of_trying_all(seed):
    model = random_model(np.random.default_rng(seed))
    diagnosis, good = archeng.diagnose(model), brute_force(model)
    assert diagnosis.feasible == bool(good)
    if good:
        assert model.violations(flat(model, diagnosis.design)).maximum == 0
        for finding in diagnosis.unusable:
            i = model.element_names().index(finding.name)
            values = {int(text) for text in finding.text.split(", ")}
            assert not values & {int(z[i]) for z in good}
    elif diagnosis.conflict.discrete:
        check_minimal(model, diagnosis.conflict)


def tree_of(model: Model) -> LevelTree:
    """A tree that may not try all combinations one by one."""
    rng = np.random.default_rng(0)
    system = system_of(model.relaxed(), rng)
    oracle = Oracle(system, system.sample(100, rng), rng)
    tree = LevelTree(oracle, {i: np.arange(5.0) for i in range(3)})
    tree.__dict__["listed"] = None
    return tree


@pytest.mark.parametrize("seed", range(40))
def test_the_tree_answers_like_trying_all(seed, monkeypatch):
    monkeypatch.setattr(level_tree, "_divides", lambda question, row: False)
    model = random_model(np.random.default_rng(1000 + seed))
    tree = tree_of(model)
    answer, good = tree.ask(tree.system.everything, [0, 1, 2], 5000), brute_force(model)
    assert (answer.point is not None) == bool(good)
    if good:
        assert any(np.array_equal(answer.point, z) for z in good)
    else:
        assert answer.proof == "branch and bound"


@pytest.mark.parametrize("seed", range(30))
def test_a_common_divisor_is_claimed_only_of_what_is_impossible(seed):
    rng = np.random.default_rng(seed)
    step, low = int(rng.integers(2, 6)), float(rng.uniform(0, 40))
    model = Model("divisor")
    n = model.integer("n", lower=-1, upper=3, shape=3)
    a = step * rng.integers(1, 4, size=3)
    row = sum(int(c) * n[i] for i, c in enumerate(a)) + 1
    model.subject_to(row, lower=low, upper=low + float(rng.uniform(0.5, step)), name="row")
    tree = tree_of(model)
    tree.levels.update({i: np.arange(-1.0, 4.0) for i in range(3)})
    answer = tree.ask(tree.system.everything, [0, 1, 2], 5000)
    points = itertools.product(range(-1, 4), repeat=3)
    good = any(model.violations(np.array(z, float)).maximum == 0 for z in points)
    assert (answer.point is not None) == good
    if not good:
        assert answer.proof in ("a common divisor", "branch and bound")


def test_interval_arithmetic_rounds_to_levels():
    model = Model("inwards")
    n = model.integer("n", lower=0, upper=9)
    t = model.choice("t", [4, 5, 6, 8, 10])
    model.subject_to(n, lower=2.2, upper=6.9, name="range")
    model.subject_to(t * 2 >= 13, name="thick")
    system = system_of(model.relaxed(), np.random.default_rng(0))
    box, rows = box_and_rows(system, system.everything)
    levels = {0: np.arange(10.0), 1: np.array([4.0, 5, 6, 8, 10])}
    assert contracted(box, rows, levels) == [(3.0, 6.0), (8.0, 10.0)]
    real = contracted(box, rows)
    assert real[0] == pytest.approx((2.2, 6.9))
    assert real[1] == pytest.approx((6.5, 10))
    with pytest.raises(EmptyError):
        contracted([(2.2, 2.8), (4.0, 10.0)], rows, levels)


def test_symbols_of_the_other_kind_of_casadi():
    model = Model("mx", symbols="MX")
    n = model.integer("n", lower=0, upper=3, shape=2)
    model.subject_to(6 * n[0] + 10 * n[1] >= 23, name="at least")
    model.subject_to(6 * n[0] + 10 * n[1] <= 25, name="at most")
    conflict = archeng.diagnose(model).conflict
    assert set(conflict.rows) == {"at least", "at most"}
    assert set(conflict.discrete) == {"n[0]", "n[1]"}


def test_a_conflict_of_real_numbers_says_so():
    model = Model("too much")
    n = model.integer("n", lower=0, upper=3)
    model.subject_to(2 * n >= 7, name="needs")
    assert "there is none, even if all variables could be real numbers" in str(
        archeng.diagnose(model)
    )


def test_a_table_with_one_row_is_fixed():
    model = Model("one row")
    s = model.catalogue("s", SECTIONS[:1])
    x = model.variable("x", lower=0, upper=10)
    model.subject_to(s["area"] * x >= 20, name="area")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.feasible
    assert diagnosis.notes == ("variable s is fixed at IPE 80",)


def test_the_ends_of_a_list_are_no_bounds_to_be_changed():
    model = Model("heavy")
    s = model.catalogue("section", SECTIONS)
    b = model.binary("b")
    model.subject_to(s["area"] + 2 * b >= 20, name="area")
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert diagnosis.conflict.names == ("area",)
    assert "b is 0 or 1" in diagnosis.conflict.assumed
    [member] = diagnosis.conflict.members
    assert member.change.limit == pytest.approx(15.2)
