"""Minimal conflicts: what is named, what is not, proofs and witnesses."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from diagnose_helpers import assert_minimal

import archeng
from archeng.diagnose import Diagnosis
from archeng.diagnose.designs import DesignSearch
from archeng.model import Model


def box(n: int = 3, lower: float = 0.0, upper: float = 10.0) -> tuple[Model, list]:
    model = Model("box")
    return model, [model.variable(f"x{i}", lower=lower, upper=upper) for i in range(n)]


def conflict_of(model: Model) -> set[str]:
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert diagnosis.design is None
    assert len(diagnosis.conflicts) == 1
    assert_minimal(model, diagnosis.conflicts[0])
    return set(diagnosis.conflicts[0].names)


def test_a_pair_of_linear_rows_and_nothing_else() -> None:
    model, (x, y, z) = box()
    model.subject_to(x + y <= 4, name="low")
    model.subject_to(x + y + z >= 1, name="innocent")
    model.subject_to(2 * x + 2 * y >= 9, name="high")
    model.subject_to(x * y <= 50, name="curved")
    assert conflict_of(model) == {"low", "high"}
    assert archeng.diagnose(model).proof == "linear program"


def test_a_row_and_the_bounds_it_needs() -> None:
    model, (x, y, _) = box()
    model.subject_to(x + y >= 25, name="sum")
    assert conflict_of(model) == {"sum", "x0 <= 10 (bound)", "x1 <= 10 (bound)"}


def test_bounds_that_are_not_needed_are_not_named() -> None:
    model, (x, y, z) = box(lower=1.0)
    model.subject_to(x - y >= 3, name="ahead")
    model.subject_to(y - z >= 3, name="behind")
    model.subject_to(z - x >= -5, name="around")
    assert conflict_of(model) == {"ahead", "behind", "around"}


def test_signs_are_taken_for_granted_and_said() -> None:
    model, (x, y, _) = box(lower=0.5)
    model.subject_to(x * y <= 1, name="product")
    model.subject_to(x + y >= 1, name="innocent")
    model.subject_to(x * y >= 3, name="other")
    model.subject_to(x + 1 <= -y, name="negative")
    conflicts = archeng.diagnose(model).conflicts
    assert {frozenset(c.names) for c in conflicts} == {
        frozenset({"product", "other"}),
        frozenset({"negative"}),
    }
    (negative,) = [c for c in conflicts if c.names == ("negative",)]
    assert set(negative.assumed) == {"x0 >= 0", "x1 >= 0"}


def test_nonlinear_rows_are_proved_by_intervals() -> None:
    model, (x, y, _) = box(lower=0.1)
    model.subject_to(ca.exp(x) * y <= 1, name="small")
    model.subject_to(y >= 2, name="y large")
    model.subject_to(x**2 + y**2 <= 150, name="innocent")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict is not None
    assert set(diagnosis.conflict.names) == {"small", "y large"}
    assert diagnosis.conflict.assumed == ("x0 >= 0",)
    assert diagnosis.conflict.proof == diagnosis.proof == "interval arithmetic"


def test_terms_that_cancel_are_proved_by_a_linear_program() -> None:
    model, (x, y, z) = box()
    model.subject_to(x * y - ca.sin(z) >= 2, name="one")
    model.subject_to(ca.sin(z) - ca.sqrt(x + 1) >= -2, name="two")
    model.subject_to(ca.sqrt(x + 1) - x * y >= 0.5, name="three")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict is not None
    assert set(diagnosis.conflict.names) == {"one", "two", "three"}
    assert diagnosis.conflict.proof == "linear program"
    assert_minimal(model, diagnosis.conflict)


def test_without_a_proof_the_text_says_so() -> None:
    model = Model("waves")
    x = [model.variable(f"x{i}", lower=-4, upper=4) for i in range(2)]
    model.subject_to(ca.erf(x[0] * x[1]) + ca.atan2(x[0], x[1]) >= 5, name="far")
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert diagnosis.proof == ""
    assert diagnosis.attempts > 20
    assert f"NONE FOUND in {diagnosis.attempts} searches" in str(diagnosis)
    assert "no proof" in str(diagnosis)


def test_equalities_that_contradict_each_other() -> None:
    model, (x, y, z) = box()
    model.subject_to(x + y == 5, name="first")
    model.subject_to(y + z == 7, name="second")
    model.subject_to(x + 2 * y + z == 13, name="sum of both")
    model.subject_to(x * z <= 30, name="innocent")
    assert conflict_of(model) == {"first", "second", "sum of both"}


def test_two_conflicts_that_share_nothing() -> None:
    model, (x, y, z) = box()
    w = model.variable("w", lower=0, upper=10)
    model.subject_to(x + y <= 1, name="a1")
    model.subject_to(x + y >= 2, name="a2")
    model.subject_to(z * w <= 1, name="b1")
    model.subject_to(z * w >= 20, name="b2")
    found = {frozenset(c.names) for c in archeng.diagnose(model).conflicts}
    assert found == {frozenset({"a1", "a2"}), frozenset({"b1", "b2"})}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("x0 >= 12", {"planted", "x0 <= 10 (bound)"}),  # merged with the bounds by the compiler
        ("k >= 4", {"planted"}),  # constant once the fixed variable is put in
        ("k * x0 >= 40", {"planted", "x0 <= 10 (bound)"}),  # linear once it is
    ],
)
def test_what_the_compiler_refuses_is_diagnosed(row: str, named: set[str]) -> None:
    model, (x0, _, _) = box()
    k = model.variable("k", lower=3, upper=3)
    model.subject_to(eval(row, {"x0": x0, "k": k}), name="planted")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict is not None
    assert set(diagnosis.conflict.names) == named
    assert ("k = 3 (fixed)" in diagnosis.conflict.assumed) is ("k" in row)


def test_models_in_which_nothing_is_free() -> None:
    for limit, feasible in ((8, True), (10, False)):
        model = Model("fixed")
        k = model.variable("k", lower=3, upper=3)
        model.subject_to(k**2 >= limit, name="square")
        diagnosis = archeng.diagnose(model)
        assert diagnosis.feasible is feasible
        assert diagnosis.free_variables == 0
        if not feasible:
            assert diagnosis.conflicts[0].names == ("square",)
    with pytest.raises(archeng.errors.ModelError, match="no variables"):
        archeng.diagnose(Model("empty"))


def test_a_row_that_is_undefined_where_the_others_hold() -> None:
    model, (x, y, _) = box()
    model.subject_to(ca.log(x - 12) + y <= 3, name="log")
    model.subject_to(x * y <= 50, name="innocent")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict is not None
    assert set(diagnosis.conflict.names) == {"log", "x0 <= 10 (bound)"}
    (log,) = [m for m in diagnosis.conflict.members if m.name == "log"]
    assert "undefined" in log.note
    assert "logarithm" in log.note
    assert log.alone is None  # no other limit would help
    assert any("log" in f.name and "100 %" in f.text for f in diagnosis.undefined)


def test_constraints_that_leave_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DesignSearch, "last_resort", lambda search, k, rng: np.zeros((0, 3)))
    model, (x, y, _) = box()
    model.subject_to(x + y <= 1, name="low")
    model.subject_to(x + y >= 1 + 1e-10, name="high")
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    assert set(diagnosis.conflicts[0].names) == {"low", "high"}
    assert all("no room" in m.note for m in diagnosis.conflicts[0].members)


def test_a_bound_far_away_is_still_found_to_be_needed() -> None:
    """Without the upper bound of the width it takes 140 times as much, but then it works."""
    model = Model("bracket")
    width = model.variable("width", lower=20, upper=80)
    thick = model.variable("thickness", lower=4, upper=20)
    model.subject_to(9e5 / (width * thick**2) <= 0.2, name="stress")
    assert conflict_of(model) == {"stress", "width <= 80 (bound)", "thickness <= 20 (bound)"}


def test_same_seed_same_diagnosis() -> None:
    def diagnosis(seed: int) -> Diagnosis:
        model, (x, y, z) = box()
        model.subject_to(x * y + z**2 >= 3, name="curved")
        model.subject_to(x + y + z <= 9, name="flat")
        return archeng.diagnose(model, seed=seed)

    assert diagnosis(1) == diagnosis(1)
    assert diagnosis(1) != diagnosis(2)


def test_witnesses_are_certificates() -> None:
    model, (x, y, z) = box()
    model.subject_to(x**2 + y**2 <= 4, name="disc")
    model.subject_to(x + y + z >= 9, name="far")
    model.subject_to(z <= 3, name="flat")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.conflict is not None
    assert_minimal(model, diagnosis.conflict)
    disc = diagnosis.conflict.members[0]
    assert disc.witness is not None
    assert disc.witness["x0"] ** 2 + disc.witness["x1"] ** 2 > 4
