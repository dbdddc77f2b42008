"""Smallest changes in the units of the rows, and hints at slips of units."""

from __future__ import annotations

import casadi as ca
import pytest

import archeng
from archeng.diagnose import Conflict
from archeng.model import Model


def conflict(model: Model) -> Conflict:
    found = archeng.diagnose(model).conflict
    assert found is not None
    return found


def test_linear_changes_are_exact() -> None:
    model = Model("linear")
    x = model.variable("x", lower=0, upper=4)
    y = model.variable("y", lower=0, upper=4)
    model.subject_to(100 * x + 100 * y >= 1000, name="demand")
    members = {m.name: m for m in conflict(model).members}
    demand = members["demand"].alone
    assert demand is not None
    assert (demand.limit, demand.by, demand.whole) == (pytest.approx(800), pytest.approx(200), True)
    for name in "xy":
        bound = members[name].alone
        assert bound is not None
        assert bound.limit == pytest.approx(6)
    moved = [m for m in members.values() if m.change is not None]
    assert len(moved) == 1  # one member is enough, whichever it is


def test_the_nonlinear_change_is_the_smallest() -> None:
    model = Model("nonlinear")
    x = model.variable("x", lower=1, upper=5)
    y = model.variable("y", lower=1, upper=5)
    model.subject_to(x**2 + y**2 <= 8, name="disc")
    model.subject_to(x + y >= 6, name="far")
    alone = {m.name: m.alone for m in conflict(model).members}
    assert alone["disc"] is not None
    assert alone["disc"].limit == pytest.approx(18, rel=1e-3)  # at x = y = 3
    assert alone["far"] is not None
    assert alone["far"].limit == pytest.approx(4, rel=1e-3)  # at x = y = 2


def test_the_change_makes_the_model_feasible() -> None:
    def build(limit: float) -> Model:
        model = Model("tank")
        r = model.variable("radius", lower=0.5, upper=1)
        h = model.variable("height", lower=0.5, upper=2)
        model.subject_to(3.14159 * r**2 * h >= 9, name="volume")
        model.subject_to(2 * 3.14159 * r * (r + h) <= limit, name="surface")
        return model

    members = {m.name: m for m in conflict(build(15)).members}
    assert set(members) == {"volume", "radius", "height"}
    assert members["height"].alone is None  # not enough: the surface is in the way
    volume = members["volume"].alone
    assert volume is not None
    assert volume.whole
    r = (15 / (2 * 3.14159) / 3) ** 0.5  # of the largest can of that surface, h = 2 r
    assert volume.limit == pytest.approx(2 * 3.14159 * r**3, rel=1e-3)
    higher = conflict(build(25))  # where the surface allows it
    (height,) = [m.alone for m in higher.members if m.name == "height"]
    assert height is not None
    assert height.limit == pytest.approx(9 / 3.14159, rel=1e-3)


def test_what_is_not_enough_for_the_whole_model_is_said() -> None:
    model = Model("two conflicts")
    x = [model.variable(f"x{i}", lower=0, upper=1) for i in range(2)]
    model.subject_to(x[0] >= 2, name="first")
    model.subject_to(x[1] >= 2, name="second")
    diagnosis = archeng.diagnose(model)
    assert len(diagnosis.conflicts) == 2
    changes = [m.alone for c in diagnosis.conflicts for m in c.members]
    assert all(change is not None and not change.whole for change in changes)
    assert "not yet the whole model" in str(diagnosis)


def test_equations_are_left_alone_if_a_limit_can_move() -> None:
    model = Model("balance")
    feed = model.variable("feed", lower=0, upper=100)
    product = model.variable("product", lower=0, upper=500)
    model.subject_to(product == feed, name="balance")
    model.subject_to(product >= 130, name="demand")
    moved = [m.name for m in conflict(model).members if m.change is not None]
    assert moved in (["demand"], ["feed"])


@pytest.mark.parametrize(
    ("row", "guess"),
    [
        (lambda b, h: 6e6 / (b * h**2) <= 0.2, "1000"),
        (lambda b, h: 6e6 / (b * h**2) <= 2e-4, "1e+06"),
        (lambda b, h: 2e4 / (b * h**2) >= 0.2 * b * h, "1000"),
    ],
)
def test_slips_of_units_get_a_hint(row: object, guess: str) -> None:
    model = Model("beam")
    b = model.variable("width", lower=20, upper=60)
    h = model.variable("height", lower=20, upper=60)
    assert callable(row)
    model.subject_to(row(b, h), name="slipped")
    model.subject_to(h <= 2 * b, name="shape")
    (slipped,) = [m for m in conflict(model).members if m.name == "slipped"]
    assert "check the units" in slipped.note
    assert f"a factor of {guess}:" in slipped.note


def test_no_hint_without_reason() -> None:
    model = Model("plate")
    b = model.variable("width", lower=1, upper=3)
    h = model.variable("height", lower=1, upper=3)
    model.subject_to(b * h >= 10, name="area")
    model.subject_to(ca.sqrt(b) + h <= 6, name="frame")
    assert all(m.note == "" for m in conflict(model).members)
    assert "units" not in str(archeng.diagnose(model))


def test_demands_and_labels() -> None:
    model = Model("labels")
    x = model.variable("x", lower=2, upper=3)
    y = model.variable("y", lower=-5, upper=-2)
    model.subject_to(x + y == 2, name="sum", tolerance=0.25)
    found = conflict(model)
    assert [m.label for m in found.members] == ["sum", "x <= 3 (bound)", "y <= -2 (bound)"]
    assert found.members[0].demand == "== 2 +- 0.25"
    assert found.members[0].source.startswith("test_diagnose_relaxation.py:")
    assert found.rows == ("sum",)
    change = found.members[0].alone
    assert change is not None
    assert change.limit == pytest.approx(1.25)  # the middle, with the tolerance on either side
    assert change.by == pytest.approx(0.75)
